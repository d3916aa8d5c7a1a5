package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// A BootstrapKind says how an interval is read off the bootstrap distribution.
type BootstrapKind string

// The kinds.
const (
	// BCa corrects for bias and skewness (Efron 1987). Default.
	BCa BootstrapKind = "bca"
	// Percentile takes the quantiles themselves.
	Percentile BootstrapKind = "percentile"
)

// ExactBound is the Method of the interval that BootstrapMean gives where all
// units are equal.
const ExactBound = "exact bound for units that are all equal"

// BootstrapOptions are the choices of the bootstrap functions.
type BootstrapOptions struct {
	Level float64       // of the interval; 0 means 0.95
	Draws int           // resamples; 0 means 9,999
	Kind  BootstrapKind // "" means BCa
	Seed  uint64
	// Range, where set, are the least and the greatest value that a unit can
	// take: {0, 1} for a rate, {-1, 1} for a difference of rates. It is used by
	// BootstrapMean when all units are equal, when resampling learns nothing.
	Range *Range
}

// A Range is the least and greatest possible value.
type Range struct{ Low, High float64 }

// BootstrapResult is an estimate with its interval.
type BootstrapResult struct {
	Basis
	// Estimate is the statistic on the units as they are.
	Estimate *float64 `json:"estimate"`
	// Interval is nil where none can be given; a Warning says why. Its Method
	// is the one that was used in the end.
	Interval *Interval `json:"interval"`
	// StandardError is the standard deviation over resamples.
	StandardError *float64 `json:"standard_error"`
	// Bias (z0) and Acceleration are BCa's corrections, nil for other kinds.
	Bias         *float64 `json:"bias"`
	Acceleration *float64 `json:"acceleration"`
	// Draws is how many resamples had a value, Undefined how many had none.
	Draws     int `json:"draws"`
	Undefined int `json:"undefined"`
}

// A Statistic computes a number from a list of unit indices, in which units
// can be repeated or absent. It returns false where the number is undefined.
type Statistic func(units []int) (float64, bool)

// BootstrapMean is the cluster bootstrap of a mean over units: whole units are
// drawn with replacement, so that the episodes of one seed stay together.
//
// The fallback is named in the result: where all units are equal (a rate of 0
// or 1 everywhere), resampling gives an interval of no width, which is not
// what the data say. Then, if Range is set, the interval is the set of means
// that remain possible when no more than a share q of all units differs, with
// q = 1-(1-Level)^(1/N), the exact upper bound on an event never seen in N
// units; without a Range there is no interval.
//
// Errors: *InputError.
func BootstrapMean(units []float64, opt BootstrapOptions) (BootstrapResult, error) {
	if err := checkFinite("units", units); err != nil {
		return BootstrapResult{}, err
	}
	if r := opt.Range; r != nil {
		for i, u := range units {
			if u < r.Low && !sameValue(u, r.Low) || u > r.High && !sameValue(u, r.High) {
				return BootstrapResult{}, &InputError{"units", i, u, fmt.Sprintf("outside the range %v to %v that was promised", r.Low, r.High)}
			}
		}
	}
	mean := func(drawn []int) (float64, bool) {
		sum := 0.0
		for _, i := range drawn {
			sum += units[i]
		}
		return sum / float64(len(drawn)), true
	}
	res, err := Bootstrap(len(units), mean, opt)
	if err != nil || len(units) == 0 {
		return res, err
	}
	if allSame(units) {
		res.Estimate = ptr(units[0])
		res.neverSeen(units[0], opt)
	}
	return res, nil
}

// BootstrapPooledMean is the cluster bootstrap of a mean over all values of
// all clusters, each value with the same weight (steps per episode, say, where
// seeds differ in how many episodes ended so). Clusters may be empty. Errors:
// *InputError; its Index is that of the cluster.
func BootstrapPooledMean(clusters [][]float64, opt BootstrapOptions) (BootstrapResult, error) {
	sums := make([]float64, len(clusters))
	for i, c := range clusters {
		if err := checkFinite(fmt.Sprintf("clusters[%d]", i), c); err != nil {
			return BootstrapResult{}, err
		}
		for _, v := range c {
			sums[i] += v
		}
	}
	return Bootstrap(len(clusters), func(drawn []int) (float64, bool) {
		var sum float64
		var n int
		for _, i := range drawn {
			sum += sums[i]
			n += len(clusters[i])
		}
		return sum / float64(n), n > 0
	}, opt)
}

// Bootstrap resamples n units with replacement and gives the interval of any
// statistic of them: a pooled recall, a correlation, a ratio. Resamples where
// the statistic is undefined are counted and left out. BCa falls back, by
// name, to the percentile interval where its corrections are undefined, and
// there is no interval where all resamples give the same value. Errors:
// *InputError, also when the statistic returns NaN or an infinity.
func Bootstrap(n int, statistic Statistic, opt BootstrapOptions) (BootstrapResult, error) {
	opt, err := opt.checked()
	if err != nil {
		return BootstrapResult{}, err
	}
	if n < 0 {
		return BootstrapResult{}, badArg("n", "is %d; a number of units is needed", n)
	}
	gen := rand.NewPCG(opt.Seed, streamBootstrap)
	return bootstrap(n, statistic, opt, func(_ int, into []int) { resample(gen, into) })
}

func (o BootstrapOptions) checked() (BootstrapOptions, error) {
	var err error
	if o.Level, err = orDefault("level", o.Level, 0.95); err != nil {
		return o, err
	}
	switch o.Kind {
	case "":
		o.Kind = BCa
	case BCa, Percentile:
	default:
		return o, badArg("kind", "is %q; %q or %q is needed", o.Kind, BCa, Percentile)
	}
	if o.Draws == 0 {
		o.Draws = 9_999
	}
	if o.Draws < 0 {
		return o, badArg("draws", "is %d; a positive number is needed (0 means 9,999)", o.Draws)
	}
	if r := o.Range; r != nil && !(r.Low < r.High && !math.IsInf(r.Low, 0) && !math.IsInf(r.High, 0)) {
		return o, badArg("range", "is %v to %v; two finite numbers, the lower first, are needed", r.Low, r.High)
	}
	return o, nil
}

// bootstrap does the work on resamples that draw fills in.
func bootstrap(n int, statistic Statistic, opt BootstrapOptions, draw func(b int, into []int)) (BootstrapResult, error) {
	var res BootstrapResult
	res.N, res.NUsed = n, n
	res.Method = fmt.Sprintf("cluster bootstrap over %s, %d resamples, seed %d", plural(n, "unit"), opt.Draws, opt.Seed)
	if n == 0 {
		res.warn(TooFew, "no units: the estimate is undefined")
		return res, nil
	}
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	estimate, ok, err := evaluate(statistic, indices, "statistic", -1)
	if err != nil {
		return BootstrapResult{}, err
	}
	if !ok {
		res.warn(Constant, "the statistic is undefined on these units")
		return res, nil
	}
	res.Estimate = ptr(estimate)

	values := make([]float64, 0, opt.Draws)
	for b := range opt.Draws {
		draw(b, indices)
		v, ok, err := evaluate(statistic, indices, "resample", b)
		if err != nil {
			return BootstrapResult{}, err
		}
		if ok {
			values = append(values, v)
		}
	}
	res.Draws, res.Undefined = len(values), opt.Draws-len(values)
	if res.Undefined > 0 {
		res.warn(UndefinedDraws, "the statistic was undefined on %d of %d resamples, which were left out", res.Undefined, opt.Draws)
	}
	if res.Undefined > opt.Draws/2 || len(values) < 2 {
		res.warn(TooFew, "it was defined on too few resamples for an interval")
		return res, nil
	}
	res.read(estimate, values, statistic, opt)
	return res, nil
}

// evaluate calls the statistic and refuses values that are not finite.
func evaluate(statistic Statistic, units []int, what string, index int) (float64, bool, error) {
	v, ok := statistic(units)
	if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, false, &InputError{what, index, v, fmt.Sprintf("the statistic returned %v; it should return false where it is undefined", v)}
	}
	return v, ok, nil
}

// read takes the interval off the bootstrap distribution.
func (r *BootstrapResult) read(estimate float64, values []float64, statistic Statistic, opt BootstrapOptions) {
	r.StandardError = ptr(StdDev(values))
	slices.Sort(values)
	if sameValue(values[0], values[len(values)-1]) {
		r.warn(Constant, "all resamples give the same value: resampling cannot give an interval")
		return
	}
	tail := (1 - opt.Level) / 2
	if float64(len(values))*tail < 5 {
		r.warn(FewDraws, "%d resamples are few for a %g%% interval: %.2g lie beyond each end", len(values), 100*opt.Level, float64(len(values))*tail)
	}
	if r.N < 10 {
		r.warn(SmallSample, "bootstrap intervals from %s tend to be too narrow", plural(r.N, "unit"))
	}
	low, high := tail, 1-tail
	method := "percentile bootstrap"
	if opt.Kind == BCa {
		if l, h, ok := r.correct(estimate, values, statistic, tail); ok {
			low, high, method = l, h, "BCa bootstrap"
		} else {
			r.warn(Fallback, "BCa's corrections are undefined here: the percentile interval is given")
		}
	}
	r.Interval = &Interval{quantile(values, low), quantile(values, high), opt.Level, method}
}

// correct returns the two probabilities at which BCa reads the distribution.
func (r *BootstrapResult) correct(estimate float64, sorted []float64, statistic Statistic, tail float64) (low, high float64, ok bool) {
	accel, ok := acceleration(r.N, statistic)
	share := shareBelow(sorted, estimate)
	if !ok || share <= 0 || share >= 1 {
		return 0, 0, false
	}
	z0 := normalQuantile(share)
	at := func(z float64) (float64, bool) {
		z += z0
		stretch := 1 - accel*z
		return normalTail(-(z0 + z/stretch)), stretch > 0
	}
	low, okLow := at(normalQuantile(tail))
	high, okHigh := at(-normalQuantile(tail))
	if !okLow || !okHigh {
		return 0, 0, false
	}
	r.Bias, r.Acceleration = ptr(z0), ptr(accel)
	return low, high, true
}

// shareBelow is the share of sorted below x, values equal to it counting half.
func shareBelow(sorted []float64, x float64) float64 {
	noise := roundingNoise * math.Max(math.Abs(x), math.Max(math.Abs(sorted[0]), math.Abs(sorted[len(sorted)-1])))
	below := sort.SearchFloat64s(sorted, x-noise)
	upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > x+noise })
	return float64(below+upTo) / float64(2*len(sorted))
}

// acceleration is BCa's skewness correction by the jackknife over units; false
// where leaving out a unit changes nothing or leaves nothing defined.
func acceleration(n int, statistic Statistic) (float64, bool) {
	if n < 2 {
		return 0, false
	}
	left := make([]float64, n)
	others := make([]int, 0, n-1)
	largest := 0.0
	for out := range left {
		others = others[:0]
		for i := range n {
			if i != out {
				others = append(others, i)
			}
		}
		v, ok := statistic(others)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, false
		}
		left[out] = v
		largest = math.Max(largest, math.Abs(v))
	}
	mean := Mean(left)
	var cubes, squares float64
	for _, v := range left {
		d := mean - v
		squares += d * d
		cubes += d * d * d
	}
	if squares <= float64(n)*(roundingNoise*largest)*(roundingNoise*largest) {
		return 0, false
	}
	return cubes / (6 * math.Pow(squares, 1.5)), true
}

// quantile interpolates linearly between the values of sorted (NumPy's and
// SciPy's default, Hyndman and Fan's type 7).
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// neverSeen replaces the interval of units that are all equal.
func (r *BootstrapResult) neverSeen(value float64, opt BootstrapOptions) {
	r.Interval = nil
	r.StandardError = nil
	if opt.Range == nil {
		return
	}
	level := opt.Level
	if level == 0 {
		level = 0.95
	}
	q := -math.Expm1(math.Log1p(-level) / float64(r.N))
	low := value - q*(value-opt.Range.Low)
	high := value + q*(opt.Range.High-value)
	r.Interval = &Interval{low, high, level, ExactBound}
	r.Method = fmt.Sprintf("mean over %s, %s", plural(r.N, "unit"), r.Interval.Method)
	r.warn(Fallback, "all %s have the value %g: the interval holds the means that remain possible when at most %.3g of all units differ (exact bound on an event never seen)",
		plural(r.N, "unit"), value, q)
}

func allSame(xs []float64) bool {
	for _, x := range xs {
		if !sameValue(x, xs[0]) {
			return false
		}
	}
	return true
}

// ClusterMeans returns the mean of each cluster (the episodes of one seed):
// the units of the paired tests. Errors: *InputError for an empty cluster,
// which has no mean; the caller decides what stands for a missing one.
func ClusterMeans(clusters [][]float64) ([]float64, error) {
	means := make([]float64, len(clusters))
	for i, c := range clusters {
		if len(c) == 0 {
			return nil, &InputError{"clusters", i, 0, "empty; a mean needs at least one value"}
		}
		if err := checkFinite(fmt.Sprintf("clusters[%d]", i), c); err != nil {
			return nil, err
		}
		means[i] = Mean(c)
	}
	return means, nil
}
