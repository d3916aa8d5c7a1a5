package stats

import "math"

// JackknifeOptions are the choices of [Jackknife].
type JackknifeOptions struct {
	Level float64 // of the interval; 0 means 0.95
}

// JackknifeResult is the outcome of [Jackknife].
type JackknifeResult struct {
	Basis
	// SE is the standard error; nil for fewer than 2 units.
	SE *float64 `json:"se"`
	// Interval is the estimate plus and minus Student's t times SE; nil where SE
	// is nil or 0.
	Interval *Interval `json:"interval"`
}

// Jackknife gives a statistic of n units a standard error and an interval from
// the n values that it has when one unit at a time is left out (Tukey 1958). It
// suits means, their differences and ratios, and shares over pooled entries,
// where each unit is a cluster; not extremes or medians. For a mean it is the t
// interval. Errors: *InputError.
func Jackknife(estimate float64, leftOut []float64, opt JackknifeOptions) (JackknifeResult, error) {
	r := JackknifeResult{Basis: Basis{Method: "delete-one jackknife, Student's t", N: len(leftOut), NUsed: len(leftOut)}}
	if err := checkScalar("estimate", estimate); err != nil {
		return r, err
	}
	if err := checkFinite("leftOut", leftOut); err != nil {
		return r, err
	}
	level, err := orDefault("Level", opt.Level, 0.95)
	if err != nil {
		return r, err
	}
	n := float64(len(leftOut))
	if n < 2 {
		r.warn(TooFew, "%s; a jackknife takes 2", plural(len(leftOut), "unit"))
		return r, nil
	}
	mean, sum := Mean(leftOut), 0.0
	for _, x := range leftOut {
		sum += (x - mean) * (x - mean)
	}
	se := math.Sqrt((n - 1) / n * sum)
	r.SE = &se
	if se <= 1e-12*math.Max(1, math.Abs(estimate)) {
		r.warn(Constant, "leaving any unit out changes nothing")
		return r, nil
	}
	half := studentQuantile((1-level)/2, n-1) * se
	r.Interval = &Interval{estimate - half, estimate + half, level, r.Method}
	return r, nil
}
