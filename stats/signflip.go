package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// SignFlipOptions are the choices of [SignFlip]. The zero value is the
// two-sided test, exact where that is affordable.
type SignFlipOptions struct {
	Alternative Alternative
	// Simulate asks for Monte Carlo although an exact computation is
	// affordable.
	Simulate bool
	// Flips is the number of random sign patterns of a Monte Carlo run; 0
	// means 99,999.
	Flips int
	// Seed of the Monte Carlo run; it has no effect on an exact test.
	Seed uint64
}

// SignFlipResult is the outcome of [SignFlip].
type SignFlipResult struct {
	Basis
	Alternative Alternative `json:"alternative"`
	// Mean is the mean difference; nil without differences.
	Mean *float64 `json:"mean"`
	// P is the p-value: exact, the upper one of two proven bounds, or a Monte
	// Carlo estimate (k+1)/(Flips+1); the Warnings say which of the last two.
	P *float64 `json:"p"`
	// PLow and PHigh enclose the exact p-value. They are equal for an exact
	// test and nil for Monte Carlo.
	PLow  *float64 `json:"p_low"`
	PHigh *float64 `json:"p_high"`
	// PError is the standard error of a Monte Carlo P, nil otherwise.
	PError *float64 `json:"p_error"`
	// SmallestP is the smallest p-value that these differences can give with
	// any signs.
	SmallestP *float64 `json:"smallest_p"`
}

// underflow is where a float64 starts to lose digits, with some room.
const underflow = 1e-300

// defaultFlips is the number of sign patterns of a Monte Carlo run.
const defaultFlips = 99_999

// SignFlip tests whether per-unit differences are symmetric about zero, by the
// permutation test on their mean: under the null hypothesis each unit's two
// conditions could be swapped, so every pattern of signs is equally likely. It
// is the primary test of the study (the unit is the seed).
//
// Differences on a common lattice (rates over the same number of episodes) are
// exact at any affordable n, others up to 40 non-zero ones. Beyond, P is
// enclosed between two bounds (for 50 units within 0.1% of each other, within
// 1% at 1e-12) and the upper one is reported; where a simulation's standard error would be
// smaller than the distance between the bounds (hundreds of units), P is
// simulated. Zeros stay in N and change nothing.
//
// Errors: *InputError.
func SignFlip(differences []float64, opt SignFlipOptions) (SignFlipResult, error) {
	alt, err := orTwoSided(opt.Alternative)
	if err != nil {
		return SignFlipResult{}, err
	}
	if err := checkFinite("differences", differences); err != nil {
		return SignFlipResult{}, err
	}
	if opt.Flips < 0 {
		return SignFlipResult{}, badArg("flips", "is %d; a positive number is needed (0 means 99,999)", opt.Flips)
	}
	if opt.Flips == 0 {
		opt.Flips = defaultFlips
	}
	res := SignFlipResult{Alternative: alt}
	res.N = len(differences)
	res.Method = "sign-flip test on the mean difference"
	if res.N == 0 {
		res.warn(TooFew, "no differences: the test is undefined")
		return res, nil
	}
	weights, plus, minus := splitSigns(differences)
	res.NUsed = len(weights)
	res.Mean = ptr(Mean(differences))
	if res.NUsed == 0 {
		res.Method += ", exact"
		res.P, res.PLow, res.PHigh, res.SmallestP = ptr(1), ptr(1), ptr(1), ptr(1)
		res.warn(AllZero, "all %s are zero: p is 1, and the data hold no evidence either way", plural(res.N, "difference"))
		return res, nil
	}
	res.SmallestP = ptr(smallestP(res.NUsed, alt))
	if !opt.Simulate {
		tail := sidedTail(alt, plus, minus, func(t float64) flipTail { return exactTail(weights, t) })
		if tail.High-tail.Low <= simulationError(tail.High, alt, opt.Flips) {
			res.fill(tail)
			return res, nil
		}
	}
	res.simulate(weights, plus, minus, opt)
	return res, nil
}

// splitSigns returns the sizes of the non-zero differences, and the sums of
// the positive and of the negative ones.
func splitSigns(differences []float64) (sizes []float64, plus, minus float64) {
	for _, d := range differences {
		switch {
		case d > 0:
			plus += d
		case d < 0:
			minus -= d
		default:
			continue
		}
		sizes = append(sizes, math.Abs(d))
	}
	return sizes, plus, minus
}

// sidedTail makes a p-value of the tail P(T <= t): few losses speak for
// "greater". The distribution is symmetric, so "few gains" is the same tail at
// the other sum, and two sides are twice the smaller.
func sidedTail(alt Alternative, plus, minus float64, tail func(float64) flipTail) flipTail {
	switch alt {
	case Greater:
		return tail(minus)
	case Less:
		return tail(plus)
	}
	t := tail(math.Min(plus, minus))
	t.Low, t.High = math.Min(1, 2*t.Low), math.Min(1, 2*t.High)
	return t
}

func (r *SignFlipResult) fill(tail flipTail) {
	r.Method += ", " + tail.Method
	r.P, r.PLow, r.PHigh = ptr(tail.High), ptr(tail.Low), ptr(tail.High)
	if !tail.Exact {
		r.warn(Bounded, "%d differences without a common unit are too many to enumerate: p lies between %.6g and %.6g, and the upper bound is given",
			r.NUsed, tail.Low, tail.High)
	}
	if *r.P < underflow {
		r.P, r.PHigh = ptr(math.Max(*r.P, *r.SmallestP)), ptr(math.Max(*r.P, *r.SmallestP))
		r.warn(Underflow, "p is below 1e-300, where numbers lose their digits")
	}
}

// simulate fills in a Monte Carlo estimate. The observed pattern counts as one
// of the draws, so p is never 0.
func (r *SignFlipResult) simulate(weights []float64, plus, minus float64, opt SignFlipOptions) {
	flips := opt.Flips
	gen := rand.NewPCG(opt.Seed, streamFlips)
	slack := roundingNoise * (plus + minus)
	var few, many int // patterns with as few losses, with as many
	for range flips {
		lost := lostWeight(gen, weights)
		if lost <= minus+slack {
			few++
		}
		if lost >= minus-slack {
			many++
		}
	}
	count := few
	switch r.Alternative {
	case Less:
		count = many
	case TwoSided:
		count = min(few, many)
	}
	smallest := sidesOf(r.Alternative) / float64(flips+1)
	r.P = ptr(math.Min(1, float64(count+1)*smallest))
	r.PError = ptr(simulationError(*r.P, r.Alternative, flips))
	r.Method += fmt.Sprintf(", Monte Carlo with %d sign patterns, seed %d", flips, opt.Seed)
	r.warn(MonteCarlo, "p is estimated from %d random sign patterns; its standard error is %.2g and it cannot be below %.2g",
		flips, *r.PError, smallest)
}

// simulationError is the standard error of a p-value from so many flips; for
// two sides p is twice a share.
func simulationError(p float64, alt Alternative, flips int) float64 {
	sides := sidesOf(alt)
	share := p / sides
	return sides * math.Sqrt(share*(1-share)/float64(flips))
}

func sidesOf(alt Alternative) float64 {
	if alt == TwoSided {
		return 2
	}
	return 1
}

// lostWeight returns the sum of weights under one random pattern of signs.
func lostWeight(gen *rand.PCG, weights []float64) float64 {
	lost := 0.0
	var word uint64
	for i, w := range weights {
		if i%64 == 0 {
			word = gen.Uint64()
		}
		if word&1 == 1 {
			lost += w
		}
		word >>= 1
	}
	return lost
}

// smallestP is 2^-n for one side and twice that for two.
func smallestP(n int, alt Alternative) float64 {
	if alt == TwoSided {
		n--
	}
	return math.Max(math.Ldexp(1, -max(n, 0)), math.SmallestNonzeroFloat64)
}

// SmallestP returns the smallest p-value that a sign-flip test or Wilcoxon's
// signed-rank test on n units can give, when all differences point the same
// way: 2^(1-n) for two sides (10 units: 0.001953125), 2^-n for one. A level
// below it cannot be reached whatever happens. Errors: *InputError for a
// negative n.
func SmallestP(n int, alternative Alternative) (float64, error) {
	alt, err := orTwoSided(alternative)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, badArg("n", "is %d; a number of units is needed", n)
	}
	return smallestP(n, alt), nil
}

// UnitsToReach returns the smallest number of units with which those tests can
// reach the level alpha at all (two-sided 0.001: 11). Errors: *InputError for
// a level outside (0, 1).
func UnitsToReach(alpha float64, alternative Alternative) (int, error) {
	alt, err := orTwoSided(alternative)
	if err != nil {
		return 0, err
	}
	if !(alpha > 0 && alpha < 1) {
		return 0, badArg("alpha", "is %v; a number between 0 and 1 is needed", alpha)
	}
	n := 1
	for smallestP(n, alt) > alpha {
		n++
	}
	return n, nil
}
