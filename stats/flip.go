package stats

import (
	"fmt"
	"math"
)

// The null distribution that the sign-flip test and Wilcoxon's test share: n
// positive weights, each lost with probability 1/2, independently; T is the
// sum of the lost ones. Under "no effect" the sum of the negative differences
// (or of their ranks) is distributed like T, so both tests are tails of T.

// Limits of the exact computations.
const (
	maxEnumerated = 40       // weights enumerated as two halves of 2^20 sums
	maxCells      = 4 << 20  // cells of a distribution held in memory
	maxWork       = 2 << 27  // cells times weights
	boundedCells  = 1 << 20  // cells of the bounded distribution, up to 96 weights
	boundedWork   = 96 << 20 // its cells times weights beyond
)

// flipTail is P(T <= t), exact (Low == High) or between two bounds.
type flipTail struct {
	Low, High float64
	Method    string // how it was computed
	Exact     bool
}

// latticeTail returns P(T <= t) for integer weights, exactly.
func latticeTail(weights []int, t int) float64 {
	return sumTo(latticeMass(weights, t), t)
}

// latticeMass returns P(T = s) for s = 0..t by dynamic programming over the
// sums. Probabilities are halved step by step, which is exact in binary, and
// only added, so the tail keeps all its digits.
func latticeMass(weights []int, t int) []float64 {
	if t < 0 {
		return nil
	}
	total := 0
	for _, w := range weights {
		total += w
	}
	t = min(t, total)
	p := make([]float64, t+1)
	p[0] = 1
	reached := 0
	for _, w := range weights {
		reached = min(reached+w, t)
		for s := reached; s >= w; s-- {
			p[s] = (p[s] + p[s-w]) / 2
		}
		for s := min(w-1, reached); s >= 0; s-- {
			p[s] /= 2
		}
	}
	return p
}

// sumTo adds p[0..t], smallest first for the usual rising tail.
func sumTo(p []float64, t int) float64 {
	sum := 0.0
	for s := 0; s <= t && s < len(p); s++ {
		sum += p[s]
	}
	return math.Min(sum, 1)
}

// enumeratedTail returns P(T <= t) by listing the 2^(n/2) sums of each half of
// the weights in order and counting the pairs. A sum within slack of t counts.
func enumeratedTail(weights []float64, t, slack float64) float64 {
	half := len(weights) / 2
	a, b := subsetSums(weights[:half]), subsetSums(weights[half:])
	limit := t + slack
	var count uint64
	j := len(b)
	for _, x := range a {
		for j > 0 && x+b[j-1] > limit {
			j--
		}
		count += uint64(j)
	}
	return math.Ldexp(float64(count), -len(weights))
}

// subsetSums returns the sums of all subsets, ascending, by merging.
func subsetSums(weights []float64) []float64 {
	sums := make([]float64, 1, 1<<len(weights))
	next := make([]float64, 0, 1<<len(weights))
	for _, w := range weights {
		next = next[:0]
		i, j := 0, 0 // next without, next with w
		for j < len(sums) {
			if i < len(sums) && sums[i] <= sums[j]+w {
				next = append(next, sums[i])
				i++
			} else {
				next = append(next, sums[j]+w)
				j++
			}
		}
		sums, next = next, sums
	}
	return sums
}

// boundedTail returns bounds on P(T <= t). The weights are rounded to a
// lattice of so many cells; a sum then moves by at least all roundings down together and at
// most all roundings up, so the rounded tail at t less, and plus, those
// encloses the true one.
func boundedTail(weights []float64, t, slack float64, cells int) (low, high float64) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	unit := total / float64(cells)
	rounded := make([]int, len(weights))
	down, up := slack, slack
	for i, w := range weights {
		rounded[i] = int(math.Round(w / unit))
		if r := w - float64(rounded[i])*unit; r < 0 {
			down -= r
		} else {
			up += r
		}
	}
	below := int(math.Floor((t - up) / unit))
	above := int(math.Floor((t + down) / unit))
	mass := latticeMass(rounded, above)
	low, high = sumTo(mass, below), sumTo(mass, above)
	// The assignment that was observed is one of the 2^n, and counts.
	observed := math.Ldexp(1, -len(weights))
	return math.Max(low, observed), math.Max(high, observed)
}

// exactTail returns P(T <= t) by the cheapest method that is exact, and by
// bounds where none is affordable. Weights must be positive, and t the sum of
// some of them.
func exactTail(weights []float64, t float64) flipTail {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	slack := roundingNoise * total
	if unit, ks := lattice(weights); unit > 0 {
		// t is the sum of some of the weights, so a whole number of units.
		p := latticeTail(ks, int(math.Round(t/unit)))
		return flipTail{p, p, "exact by dynamic programming", true}
	}
	if len(weights) <= maxEnumerated {
		p := enumeratedTail(weights, t, slack)
		return flipTail{p, p, fmt.Sprintf("exact by enumeration of 2^%d sign patterns", len(weights)), true}
	}
	low, high := boundedTail(weights, t, slack, min(boundedCells, boundedWork/len(weights)))
	return flipTail{low, high, "bounded by dynamic programming", false}
}

// lattice finds the largest unit of which every weight is a whole multiple, up
// to rounding, and the multiples; unit 0 where there is none, or where the
// distribution on it would be too large. Rates over the same number of
// episodes have one.
func lattice(weights []float64) (unit float64, multiples []int) {
	largest := 0.0
	for _, w := range weights {
		largest = math.Max(largest, w)
	}
	if largest == 0 {
		return 0, nil
	}
	for _, w := range weights {
		unit = commonUnit(unit, w, largest*1e-9)
	}
	if largest/unit > maxCells {
		return 0, nil
	}
	// The unit comes out of a chain of remainders; fit it to all weights.
	multiples = make([]int, len(weights))
	var num, den float64
	cells := 0
	for i, w := range weights {
		multiples[i] = int(math.Round(w / unit))
		if multiples[i] == 0 { // too small for the unit, yet not zero
			return 0, nil
		}
		k := float64(multiples[i])
		num += w * k
		den += k * k
		cells += multiples[i]
	}
	if cells > maxCells || cells > maxWork/len(weights) {
		return 0, nil
	}
	unit = num / den
	var left, total float64
	for i, w := range weights {
		left += math.Abs(w - float64(multiples[i])*unit)
		total += w
	}
	if left > roundingNoise*total {
		return 0, nil
	}
	return unit, multiples
}

// commonUnit is Euclid's algorithm on numbers with noise: the greatest number
// of which a and b are whole multiples, remainders below noise counting as 0.
func commonUnit(a, b, noise float64) float64 {
	for b > noise {
		r := math.Mod(a, b)
		if b-r <= noise {
			r = 0
		}
		a, b = b, r
	}
	return a
}
