package stats

import (
	"math"
)

// A SpearmanError says which standard error Spearman's interval uses on
// Fisher's z scale.
type SpearmanError string

// The standard errors for Spearman's rho.
const (
	// BonettWright is sqrt((1+rho²/2)/(n-3)) (Bonett and Wright 2000). Default.
	BonettWright SpearmanError = "bonett-wright"
	// Fieller is sqrt(1.06/(n-3)) (Fieller, Hartley and Pearson 1957).
	Fieller SpearmanError = "fieller"
	// PlainFisher is sqrt(1/(n-3)), Pearson's; too narrow for a strong rho.
	PlainFisher SpearmanError = "fisher"
)

// CorrelationOptions are the choices of [Pearson] and [Spearman].
type CorrelationOptions struct {
	Alternative   Alternative
	Level         float64       // of the interval; 0 means 0.95
	SpearmanError SpearmanError // "" means BonettWright; not used by Pearson
}

// CorrelationResult is the outcome of [Pearson] and [Spearman].
type CorrelationResult struct {
	Basis
	Alternative Alternative `json:"alternative"`
	// R is the coefficient in [-1, 1]; nil for fewer than 3 pairs and where
	// one side does not vary.
	R *float64 `json:"r"`
	// P is from the t distribution with N-2 degrees of freedom.
	P *float64 `json:"p"`
	// Interval is two-sided, by Fisher's z; nil for fewer than 4 pairs and for
	// R of exactly 1 or -1.
	Interval *Interval `json:"interval"`
}

// Pearson is the linear correlation of pairs. Its p-value is exact for normal
// data; the unit of a pair should be a unit of sampling (a seed), not a trial.
// Errors: *InputError.
func Pearson(x, y []float64, opt CorrelationOptions) (CorrelationResult, error) {
	c, err := newCorrelation("Pearson correlation", x, y, &opt)
	if err != nil || c.Warned(TooFew) {
		return c, err
	}
	c.correlate(x, y, opt.Level, func(float64) float64 { return 1 })
	return c, nil
}

// Spearman is the rank correlation of pairs: Pearson's on mid-ranks. Its
// p-value is an approximation that is rough below 10 pairs. Errors:
// *InputError.
func Spearman(x, y []float64, opt CorrelationOptions) (CorrelationResult, error) {
	c, err := newCorrelation("Spearman correlation", x, y, &opt)
	if err != nil || c.Warned(TooFew) {
		return c, err
	}
	var variance func(rho float64) float64 // times n-3
	switch opt.SpearmanError {
	case "", BonettWright:
		opt.SpearmanError = BonettWright
		variance = func(rho float64) float64 { return 1 + rho*rho/2 }
	case Fieller:
		variance = func(float64) float64 { return 1.06 }
	case PlainFisher:
		variance = func(float64) float64 { return 1 }
	default:
		return CorrelationResult{}, badArg("spearman error", "is %q; %q, %q or %q is needed",
			opt.SpearmanError, BonettWright, Fieller, PlainFisher)
	}
	rx, ry := rank(x), rank(y)
	rx.warnNear(&c.Basis)
	ry.warnNear(&c.Basis)
	c.correlate(rx.ranks, ry.ranks, opt.Level, variance)
	if c.Interval != nil {
		c.Interval.Method += ", " + string(opt.SpearmanError) + " standard error"
	}
	if c.R != nil && c.N < 10 {
		c.warn(SmallSample, "the p-value of a rank correlation is rough below 10 pairs, and there are %d", c.N)
	}
	return c, nil
}

// newCorrelation checks the input and fills in what does not depend on it.
func newCorrelation(method string, x, y []float64, opt *CorrelationOptions) (CorrelationResult, error) {
	var c CorrelationResult
	var err error
	if c.Alternative, err = orTwoSided(opt.Alternative); err != nil {
		return CorrelationResult{}, err
	}
	if opt.Level, err = orDefault("level", opt.Level, 0.95); err != nil {
		return CorrelationResult{}, err
	}
	if err := checkPairs("x", x, "y", y); err != nil {
		return CorrelationResult{}, err
	}
	c.Method, c.N, c.NUsed = method+", t distribution", len(x), len(x)
	if c.N < 3 {
		c.warn(TooFew, "%s: a correlation needs at least 3", plural(c.N, "pair"))
	}
	return c, nil
}

// correlate sets R, P and Interval; zVariance is the variance of Fisher's z
// times n-3, as a function of R.
func (c *CorrelationResult) correlate(x, y []float64, level float64, zVariance func(float64) float64) {
	u, okX := direction(x)
	v, okY := direction(y)
	if !okX || !okY {
		name := "x"
		if okX {
			name = "y"
		}
		c.warn(Constant, "%s does not vary: the correlation is undefined", name)
		return
	}
	var dot, apart, together float64
	for i := range u {
		dot += u[i] * v[i]
		apart += (u[i] - v[i]) * (u[i] - v[i])    // 2(1-r)
		together += (u[i] + v[i]) * (u[i] + v[i]) // 2(1+r)
	}
	if math.Min(apart, together) < 1e-28 {
		c.R, c.P = ptr(math.Copysign(1, dot)), ptr(0)
		if c.Alternative == Greater && dot < 0 || c.Alternative == Less && dot > 0 {
			c.P = ptr(1)
		}
		c.warn(Perfect, "the correlation is exactly %g: it has no interval, and its p is 0 or 1 by definition", *c.R)
		return
	}
	r := math.Max(-1, math.Min(1, dot))
	c.R = ptr(r)
	df := float64(c.N - 2)
	// t² is df·r²/(1-r²); (1-r)(1+r) from distances has no cancellation.
	t := r * math.Sqrt(df/(apart*together/4))
	switch c.Alternative {
	case Greater:
		c.P = ptr(studentTail(t, df))
	case Less:
		c.P = ptr(studentTail(-t, df))
	default:
		c.P = ptr(2 * studentTail(math.Abs(t), df))
	}
	if *c.P < underflow {
		c.warn(Underflow, "p is below 1e-300, where numbers lose their digits")
	}
	if c.N < 4 {
		c.warn(TooFew, "%d pairs: Fisher's interval needs at least 4", c.N)
		return
	}
	z := math.Log(together/apart) / 2 // atanh(r)
	half := normalTwoSided(level) * math.Sqrt(zVariance(r)/float64(c.N-3))
	c.Interval = &Interval{math.Tanh(z - half), math.Tanh(z + half), level, "Fisher z"}
}

// direction returns x minus its mean, scaled to length 1; false when x does not
// vary by more than rounding.
func direction(x []float64) ([]float64, bool) {
	largest := 0.0
	for _, v := range x {
		largest = math.Max(largest, math.Abs(v))
	}
	if largest == 0 {
		return nil, false
	}
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = v / largest // keeps squares from overflowing
	}
	mean := Mean(d)
	spread := 0.0
	for i := range d {
		d[i] -= mean
		spread = math.Max(spread, math.Abs(d[i]))
	}
	if spread < roundingNoise {
		return nil, false
	}
	norm := 0.0
	for i := range d {
		d[i] /= spread
		norm += d[i] * d[i]
	}
	norm = math.Sqrt(norm)
	for i := range d {
		d[i] /= norm
	}
	return d, true
}
