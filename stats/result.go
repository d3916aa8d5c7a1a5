package stats

import (
	"fmt"
	"math"
)

// An Alternative is the hypothesis that a test sets against "no effect". The
// zero value is TwoSided.
type Alternative string

// The three alternatives, spelled as in SciPy.
const (
	TwoSided Alternative = "two-sided"
	Less     Alternative = "less"
	Greater  Alternative = "greater"
)

// Basis is what every result carries: how it was obtained, from how many
// values, and what a reader should know.
type Basis struct {
	// Method names the method that was used in the end, with its variant.
	Method string `json:"method"`
	// N is the number of units (or pairs, trials, hypotheses) given.
	N int `json:"n"`
	// NUsed is how many of them entered the computation; zero differences, for
	// example, are not used by some tests.
	NUsed int `json:"n_used"`
	// Warnings are to be shown as footnotes, in this order.
	Warnings []Warning `json:"warnings,omitempty"`
}

func (b *Basis) warn(code Code, format string, args ...any) {
	b.Warnings = append(b.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

// Warned reports whether the result carries a warning with this code.
func (b Basis) Warned(code Code) bool {
	for _, w := range b.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// A Warning is something a reader of the number should know.
type Warning struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// A Code identifies a kind of Warning for programs. The set may grow.
type Code string

// Codes of warnings.
const (
	TooFew          Code = "too-few"           // fewer values than the method needs: undefined
	SmallSample     Code = "small-sample"      // an approximation is rough at this size
	AllZero         Code = "all-zero"          // every difference is zero: no evidence either way
	ZerosDropped    Code = "zeros"             // some differences are zero; how they were handled
	Ties            Code = "ties"              // tied values; how they were handled
	NearTies        Code = "near-ties"         // values that differ by rounding only were taken as equal
	Constant        Code = "constant"          // an input does not vary: undefined
	NoVariance      Code = "no-variance"       // the differences do not vary: a t statistic is undefined
	Perfect         Code = "perfect"           // a correlation of exactly 1 or -1
	CannotReach     Code = "cannot-reach"      // the design cannot reach the level at all
	Bounded         Code = "bounded"           // a p-value known between two bounds
	MonteCarlo      Code = "monte-carlo"       // a p-value estimated by simulation
	Fallback        Code = "fallback"          // another method than the one asked for was used
	UndefinedDraws  Code = "undefined-draws"   // some bootstrap resamples had no value
	FewDraws        Code = "few-draws"         // too few resamples for this confidence level
	LowExpected     Code = "low-expected"      // a chi-square cell expects fewer than 5
	Underflow       Code = "underflow"         // a probability too small for a float64
	NegativeVar     Code = "negative-variance" // an estimated variance component is below zero
	UnequalSizes    Code = "unequal-sizes"     // clusters of different sizes
	OutsideRange    Code = "outside-range"     // a corrected value lies outside its possible range
	MissingInFamily Code = "missing-in-family" // a declared hypothesis has no p-value
)

// An Interval holds a parameter with the given confidence.
type Interval struct {
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Level  float64 `json:"level"`  // between 0 and 1, for example 0.95
	Method string  `json:"method"` // for example "BCa bootstrap"
}

// Contains reports whether x lies in the interval, ends included.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// An InputError says which argument could not be used, and why.
type InputError struct {
	Arg    string  // the argument or field, for example "differences"
	Index  int     // position in it, -1 when it is not about one element
	Value  float64 // the offending value where there is one
	Reason string  // what is wrong and what is accepted
}

func (e *InputError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("stats: %s: %s", e.Arg, e.Reason)
	}
	return fmt.Sprintf("stats: %s[%d] = %v: %s", e.Arg, e.Index, e.Value, e.Reason)
}

func badArg(arg, format string, args ...any) error {
	return &InputError{Arg: arg, Index: -1, Reason: fmt.Sprintf(format, args...)}
}

// tooLarge is where sums of squares and cubes of a few million values would
// overflow.
const tooLarge = 1e90

// checkFinite refuses NaN, infinities and numbers too large to compute with.
func checkFinite(arg string, xs []float64) error {
	for i, x := range xs {
		switch {
		case math.IsNaN(x):
			return &InputError{arg, i, x, "not a number; leave out what is missing, or say how it is bounded"}
		case math.IsInf(x, 0):
			return &InputError{arg, i, x, "infinite; a finite number is needed"}
		case math.Abs(x) > tooLarge:
			return &InputError{arg, i, x, fmt.Sprintf("too large to compute with; up to %g is accepted, rescale the data", tooLarge)}
		}
	}
	return nil
}

// checkPairs refuses unequal lengths and values that are not finite.
func checkPairs(argX string, x []float64, argY string, y []float64) error {
	if len(x) != len(y) {
		first := min(len(x), len(y))
		return &InputError{Arg: argX, Index: -1, Reason: fmt.Sprintf(
			"%d values, but %s has %d; the first without a partner is index %d", len(x), argY, len(y), first)}
	}
	if err := checkFinite(argX, x); err != nil {
		return err
	}
	return checkFinite(argY, y)
}

// checkScalar refuses a single number that is not finite.
func checkScalar(arg string, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return badArg(arg, "is %v; a finite number is needed", x)
	}
	return nil
}

// orDefault checks a probability strictly between 0 and 1; 0 means def.
func orDefault(arg string, p, def float64) (float64, error) {
	if p == 0 {
		return def, nil
	}
	if !(p > 0 && p < 1) {
		return 0, badArg(arg, "is %v; a number between 0 and 1 is needed (0 means the default, %v)", p, def)
	}
	return p, nil
}

// orTwoSided checks an alternative; the empty one means TwoSided.
func orTwoSided(a Alternative) (Alternative, error) {
	switch a {
	case "":
		return TwoSided, nil
	case TwoSided, Less, Greater:
		return a, nil
	}
	return "", badArg("alternative", "is %q; %q, %q or %q is needed", a, TwoSided, Less, Greater)
}

// ptr returns a pointer to x. A number that is not finite has no business in
// a result: it becomes nil, and the caller has warned.
func ptr(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// plural returns "1 unit" or "7 units".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
