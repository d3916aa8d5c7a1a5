package stats

import (
	"math"
)

// A Count is how many of N things had a property: flags raised among entries.
type Count struct{ Hits, N int }

func (c Count) check(arg string) error {
	if c.N < 0 || c.Hits < 0 || c.Hits > c.N {
		return badArg(arg, "is %d of %d; hits must lie between 0 and n", c.Hits, c.N)
	}
	return nil
}

func (c Count) rate() float64 { return float64(c.Hits) / float64(c.N) }

// ProportionResult is a rate with its interval.
type ProportionResult struct {
	Basis
	Rate     *float64  `json:"rate"`
	Interval *Interval `json:"interval"`
}

// Wilson returns a rate with Wilson's score interval (1927), which stays inside
// [0, 1] and has a width at rates of 0 and 1. It assumes independent trials:
// entries of one seed are not, so across seeds the cluster bootstrap is the
// honest interval. level 0 means 0.95. Errors: *InputError.
func Wilson(c Count, level float64) (ProportionResult, error) {
	level, err := orDefault("level", level, 0.95)
	if err != nil {
		return ProportionResult{}, err
	}
	if err := c.check("count"); err != nil {
		return ProportionResult{}, err
	}
	var res ProportionResult
	res.Method, res.N, res.NUsed = "Wilson score interval", c.N, c.N
	if c.N == 0 {
		res.warn(TooFew, "nothing was counted: the rate is undefined")
		return res, nil
	}
	res.Rate = ptr(c.rate())
	low, high := wilson(c, normalTwoSided(level))
	res.Interval = &Interval{low, high, level, "Wilson score"}
	return res, nil
}

// wilson returns the rates at which the observed one lies z standard errors
// away.
func wilson(c Count, z float64) (low, high float64) {
	n, hits, misses := float64(c.N), float64(c.Hits), float64(c.N-c.Hits)
	shift := z*z/2 + z*math.Sqrt(hits*misses/n+z*z/4)
	// The smaller root by way of the larger one: no nearly equal numbers are
	// subtracted. The upper end is the lower end of the misses.
	return hits * hits / n / (hits + shift), 1 - misses*misses/n/(misses+shift)
}

// TwoProportionOptions are the choices of [TwoProportions].
type TwoProportionOptions struct {
	Alternative Alternative // of Fisher's test: Greater means that a's rate is greater
	Level       float64     // of the interval; 0 means 0.95
	Yates       bool        // continuity correction of the chi-square test
}

// TwoProportionResult compares two rates.
type TwoProportionResult struct {
	Basis
	Alternative Alternative `json:"alternative"`
	RateA       *float64    `json:"rate_a"`
	RateB       *float64    `json:"rate_b"`
	Difference  *float64    `json:"difference"` // RateA - RateB
	// Interval of the difference, by Newcombe's method from two Wilson
	// intervals (1998, his method 10).
	Interval *Interval `json:"interval"`
	// OddsRatio is the sample's, nil where it would divide by zero.
	OddsRatio *float64 `json:"odds_ratio"`
	// FisherP is Fisher's exact test: for two sides, the tables that are no
	// more likely than the observed one, as in SciPy and R.
	FisherP *float64 `json:"fisher_p"`
	// ChiSquare is Pearson's statistic with 1 degree of freedom, ChiSquareP
	// its two-sided p-value; nil when a whole row or column is empty.
	ChiSquare  *float64 `json:"chi_square"`
	ChiSquareP *float64 `json:"chi_square_p"`
	// Phi is the correlation of the two yes/no variables, in [-1, 1].
	Phi *float64 `json:"phi"`
}

// TwoProportions compares the rates of two groups, such as how often a SAFE
// claim is flagged on a cell that kills and on one that does not (Figure 4).
// Fisher's test is the default one to read, chi-square stands beside it. Both
// take every judgment as independent; for a claim across seeds, test per-seed
// differences of the two rates with [SignFlip] as well. Errors: *InputError.
func TwoProportions(a, b Count, opt TwoProportionOptions) (TwoProportionResult, error) {
	var res TwoProportionResult
	alt, err := orTwoSided(opt.Alternative)
	if err != nil {
		return res, err
	}
	level, err := orDefault("level", opt.Level, 0.95)
	if err != nil {
		return res, err
	}
	if err := a.check("a"); err != nil {
		return res, err
	}
	if err := b.check("b"); err != nil {
		return res, err
	}
	res.Alternative = alt
	res.N, res.NUsed = a.N+b.N, a.N+b.N
	res.Method = "Fisher's exact test; Pearson's chi-square test"
	if opt.Yates {
		res.Method += " with Yates' correction"
	}
	if a.N > 0 {
		res.RateA = ptr(a.rate())
	}
	if b.N > 0 {
		res.RateB = ptr(b.rate())
	}
	if a.N == 0 || b.N == 0 {
		res.warn(TooFew, "one of the groups is empty: nothing can be compared")
		return res, nil
	}
	res.Difference = ptr(a.rate() - b.rate())
	res.Interval = newcombe(a, b, level)
	res.FisherP = ptr(fisher(a, b, alt))
	if *res.FisherP < underflow {
		res.warn(Underflow, "Fisher's p is below 1e-300, where numbers lose their digits")
	}
	if den := float64(a.N-a.Hits) * float64(b.Hits); den > 0 {
		res.OddsRatio = ptr(float64(a.Hits) * float64(b.N-b.Hits) / den)
	}
	res.chiSquare(a, b, opt.Yates)
	return res, nil
}

// newcombe combines the two rates' Wilson intervals.
func newcombe(a, b Count, level float64) *Interval {
	z := normalTwoSided(level)
	lowA, highA := wilson(a, z)
	lowB, highB := wilson(b, z)
	ra, rb := a.rate(), b.rate()
	d := ra - rb
	return &Interval{
		d - math.Hypot(ra-lowA, highB-rb),
		d + math.Hypot(highA-ra, rb-lowB),
		level, "Newcombe",
	}
}

func (r *TwoProportionResult) chiSquare(a, b Count, yates bool) {
	n := float64(a.N + b.N)
	hits := float64(a.Hits + b.Hits)
	misses := n - hits
	if hits == 0 || misses == 0 {
		r.warn(Constant, "both rates are %g: chi-square and phi are undefined", a.rate())
		return
	}
	na, nb := float64(a.N), float64(b.N)
	least := math.Min(na, nb) * math.Min(hits, misses) / n
	if least < 5 {
		r.warn(LowExpected, "a cell of the table expects only %.2g: read Fisher's p, not chi-square's", least)
	}
	off := float64(a.Hits)*(nb-float64(b.Hits)) - float64(b.Hits)*(na-float64(a.Hits)) // n·(observed-expected)
	den := na * nb * hits * misses
	r.Phi = ptr(off / math.Sqrt(den))
	size := math.Abs(off)
	if yates {
		size -= math.Min(n/2, size)
	}
	x := n * size / na / nb * size / hits / misses
	r.ChiSquare, r.ChiSquareP = ptr(x), ptr(chiSquareTail1(x))
	if *r.ChiSquareP < underflow {
		r.warn(Underflow, "chi-square's p is below 1e-300, where numbers lose their digits")
	}
}

// fisher sums hypergeometric probabilities of a's hits given the margins. They
// are built by ratios from the most likely table and normalised by their own
// sum, so that no large factorials are subtracted.
func fisher(a, b Count, alt Alternative) float64 {
	hits := a.Hits + b.Hits
	low, high := max(0, hits-b.N), min(hits, a.N)
	mode := (a.N + 1) * (hits + 1) / (a.N + b.N + 2)
	mode = max(low, min(high, mode))

	p := make([]float64, high-low+1)
	p[mode-low] = 1
	up := func(k int) float64 { // p[k+1]/p[k]
		return float64(a.N-k) * float64(hits-k) / (float64(k+1) * float64(b.N-hits+k+1))
	}
	for k := mode; k < high; k++ {
		p[k+1-low] = p[k-low] * up(k)
	}
	for k := mode; k > low; k-- {
		p[k-1-low] = p[k-low] / up(k-1)
	}
	observed := p[a.Hits-low]
	var sum, total float64
	// Smallest first: from both ends towards the mode.
	add := func(k int) {
		v := p[k-low]
		total += v
		switch {
		case alt == Less && k <= a.Hits, alt == Greater && k >= a.Hits,
			alt == TwoSided && v <= observed*(1+tableNoise):
			sum += v
		}
	}
	for k := low; k < mode; k++ {
		add(k)
	}
	for k := high; k >= mode; k-- {
		add(k)
	}
	return math.Min(1, sum/total)
}

// tableNoise is how much less likely than the observed table another must be,
// relatively, to count as less likely: a mirrored table is exactly as likely,
// and rounding must not leave it out.
const tableNoise = 1e-10
