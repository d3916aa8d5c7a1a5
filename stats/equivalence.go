package stats

import (
	"math"
)

// An EquivalenceTest names the one-sided test that [Equivalence] does twice.
type EquivalenceTest string

// The tests.
const (
	// EquivalenceT is the paired t test (Schuirmann 1987). Default.
	EquivalenceT EquivalenceTest = "t"
	// EquivalenceFlip is the sign-flip test on differences shifted by the
	// margin: exact if they are symmetric about their mean.
	EquivalenceFlip EquivalenceTest = "sign-flip"
)

// EquivalenceOptions are the choices of [Equivalence].
type EquivalenceOptions struct {
	Margin float64         // largest difference that does not matter, > 0; 0 means 0.10
	Alpha  float64         // of each one-sided test; 0 means 0.05
	Test   EquivalenceTest // "" means EquivalenceT
	Seed   uint64          // for EquivalenceFlip where it has to be simulated
	// Range is the greatest size that one difference can have, 1 for a
	// difference of rates. Then no verdict is stronger than what the units
	// could hide: see [EquivalenceResult.Hidden]. 0 leaves it open.
	Range float64
}

// EquivalenceResult is the outcome of [Equivalence].
type EquivalenceResult struct {
	Basis
	Margin float64  `json:"margin"`
	Alpha  float64  `json:"alpha"`
	Mean   *float64 `json:"mean"`
	// P is the larger of PLower and PUpper; equivalence is shown at Alpha when
	// it is at most Alpha. nil where the test is undefined.
	P *float64 `json:"p"`
	// Hidden is a lower end for P where the range of a difference is known: the
	// chance that this many units show none of those that would put the mean
	// on the nearer margin, if units that differ by the whole range were just
	// so frequent. It is exact for units that are all equal, which say nothing
	// else: it takes 29 of them to show equivalence within 0.1 at 0.05.
	Hidden *float64 `json:"hidden"`
	// PLower tests "the mean is at most -Margin", PUpper "at least +Margin".
	PLower *float64 `json:"p_lower"`
	PUpper *float64 `json:"p_upper"`
	// Equivalent is false when equivalence was not shown, which is not the
	// same as a difference shown.
	Equivalent bool `json:"equivalent"`
	// Interval is the two-sided t interval at level 1-2·Alpha, with a Range
	// widened to what the units could hide; for the t test it lies within the
	// margins exactly when Equivalent is true.
	Interval *Interval `json:"interval"`
	// Power is the chance that this design shows equivalence when the true
	// difference is 0 and the standard deviation is the observed one.
	Power *float64 `json:"power"`
}

// Equivalence tests whether the mean of paired differences lies within
// ±Margin, by two one-sided tests (TOST). The paper's Oracle–OMCD gap needs
// it: a large p-value of an ordinary test does not show that there is no gap.
//
// Where the differences do not vary (all zero, say), a t statistic is
// undefined and the sign-flip test is used instead, by name. Errors:
// *InputError.
func Equivalence(differences []float64, opt EquivalenceOptions) (EquivalenceResult, error) {
	res, err := newEquivalence(differences, &opt)
	if err != nil || res.Warned(TooFew) {
		return res, err
	}
	mean, sd := Mean(differences), StdDev(differences)
	res.Mean = ptr(mean)
	varies := sd > roundingNoise*largestSize(differences)
	if varies {
		n := float64(res.N)
		se := sd / math.Sqrt(n)
		half := studentQuantile(res.Alpha, n-1) * se
		res.Interval = &Interval{mean - half, mean + half, 1 - 2*res.Alpha, "t"}
		power := equivalencePower(res.N, sd, res.Alpha, res.Margin, 0)
		res.Power = ptr(power)
		if opt.Test == EquivalenceT {
			res.Method = "two one-sided paired t tests"
			res.PLower = ptr(studentTail((mean+res.Margin)/se, n-1))
			res.PUpper = ptr(studentTail((res.Margin-mean)/se, n-1))
			res.hide(mean, opt.Range)
			res.decide()
			return res, nil
		}
	} else if opt.Range > 0 {
		res.warn(NoVariance, "all differences are equal: what is shown is an exact bound on what units not seen could change")
		res.Method, res.PLower, res.PUpper = ExactBound, ptr(0.0), ptr(0.0)
		res.hide(mean, opt.Range)
		res.decide()
		return res, nil
	} else {
		res.warn(NoVariance, "all differences are equal: a t interval and its power are undefined")
		if opt.Test == EquivalenceT {
			res.warn(Fallback, "the t test is undefined without variation: the sign-flip test is used")
		}
	}
	return res, res.flip(differences, opt.Seed)
}

func newEquivalence(differences []float64, opt *EquivalenceOptions) (EquivalenceResult, error) {
	var res EquivalenceResult
	var err error
	if res.Alpha, err = orDefault("alpha", opt.Alpha, 0.05); err != nil {
		return res, err
	}
	if res.Alpha >= 0.5 {
		return res, badArg("alpha", "is %v; two one-sided tests need a level below 0.5", res.Alpha)
	}
	if res.Margin, err = orMargin(opt.Margin); err != nil {
		return res, err
	}
	switch opt.Test {
	case "":
		opt.Test = EquivalenceT
	case EquivalenceT, EquivalenceFlip:
	default:
		return res, badArg("test", "is %q; %q or %q is needed", opt.Test, EquivalenceT, EquivalenceFlip)
	}
	if err := checkFinite("differences", differences); err != nil {
		return res, err
	}
	if opt.Range < 0 || opt.Range > 0 && largestSize(differences) > opt.Range*(1+roundingNoise) {
		return res, badArg("range", "is %v; it must hold all differences, of which one has the size %v", opt.Range, largestSize(differences))
	}
	res.N, res.NUsed = len(differences), len(differences)
	res.Method = "two one-sided tests"
	if res.N < 2 {
		res.warn(TooFew, "%s: equivalence needs at least 2", plural(res.N, "difference"))
	}
	return res, nil
}

// orMargin checks a margin; 0 means the default.
func orMargin(margin float64) (float64, error) {
	if margin == 0 {
		return 0.10, nil
	}
	if !(margin > 0) || math.IsInf(margin, 0) {
		return 0, badArg("margin", "is %v; a positive number is needed (0 means 0.10)", margin)
	}
	return margin, nil
}

// flip does both tests by sign flips.
func (r *EquivalenceResult) flip(differences []float64, seed uint64) error {
	shift := func(by float64, alt Alternative) (SignFlipResult, error) {
		shifted := make([]float64, len(differences))
		for i, d := range differences {
			if !sameValue(d, -by) { // else rounding would leave a tiny difference
				shifted[i] = d + by
			}
		}
		return SignFlip(shifted, SignFlipOptions{Alternative: alt, Seed: seed})
	}
	lower, err := shift(r.Margin, Greater)
	if err != nil {
		return err
	}
	upper, err := shift(-r.Margin, Less)
	if err != nil {
		return err
	}
	r.Method = "two one-sided tests, lower: " + lower.Method + "; upper: " + upper.Method
	r.PLower, r.PUpper = lower.P, upper.P
	for _, w := range append(lower.Warnings, upper.Warnings...) {
		if w.Code == Bounded || w.Code == MonteCarlo || w.Code == Underflow {
			r.Warnings = append(r.Warnings, w)
		}
	}
	r.decide()
	if least := smallestP(r.N, Greater); least > r.Alpha {
		r.warn(CannotReach, "%s cannot reach %g in a sign-flip test: the smallest p is %g", plural(r.N, "unit"), r.Alpha, least)
	}
	return nil
}

// hide raises the p-values to what the units could hide: were a share q of all
// units to differ by the whole range, n units would show none of them with a
// chance of (1-q)^n. It widens the interval alike.
func (r *EquivalenceResult) hide(mean, limit float64) {
	if limit <= 0 {
		return
	}
	n := float64(r.N)
	unseen := func(room, reach float64) float64 { // from the mean to the margin, and to the end of the range
		switch {
		case room <= 0:
			return 1
		case room >= reach:
			return 0
		}
		return math.Pow(1-room/reach, n)
	}
	lower, upper := unseen(r.Margin+mean, limit+mean), unseen(r.Margin-mean, limit-mean)
	r.Hidden = ptr(math.Max(lower, upper))
	r.PLower, r.PUpper = ptr(math.Max(*r.PLower, lower)), ptr(math.Max(*r.PUpper, upper))
	share := 1 - math.Pow(r.Alpha, 1/n)
	low, high := mean-share*(limit+mean), mean+share*(limit-mean)
	if r.Interval == nil {
		r.Interval = &Interval{low, high, 1 - 2*r.Alpha, ExactBound}
	} else if low < r.Interval.Low || high > r.Interval.High {
		r.Interval = &Interval{math.Min(low, r.Interval.Low), math.Max(high, r.Interval.High), 1 - 2*r.Alpha, "t, and an exact bound on units not seen"}
	}
	if least := math.Pow(math.Max(0, 1-r.Margin/limit), n); least > r.Alpha {
		r.Power = ptr(0.0)
		needed := int(math.Ceil(math.Log(r.Alpha) / math.Log(1-r.Margin/limit)))
		r.warn(CannotReach, "%s cannot show that less than %g is hidden: it takes %d", plural(r.N, "unit"), r.Margin, needed)
	}
}

func (r *EquivalenceResult) decide() {
	r.P = ptr(math.Max(*r.PLower, *r.PUpper))
	r.Equivalent = *r.P <= r.Alpha
}

func largestSize(xs []float64) float64 {
	largest := 0.0
	for _, x := range xs {
		largest = math.Max(largest, math.Abs(x))
	}
	return largest
}
