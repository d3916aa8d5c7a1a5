package stats

import (
	"math"
	"slices"
	"sort"
)

// roundingNoise is the relative distance below which two numbers count as
// equal. Arithmetic on rates (0.6-0.4 against 0.8-0.6) leaves relative errors
// near 1e-15; rates that really differ, even over a million trials, differ by
// more than 1e-7.
const roundingNoise = 1e-12

// sameValue reports whether a and b differ by rounding only. It is relative to
// the numbers themselves, so it does not depend on their scale.
func sameValue(a, b float64) bool {
	return a == b || math.Abs(a-b) <= roundingNoise*math.Max(math.Abs(a), math.Abs(b))
}

// Differences returns x[i]-y[i]. A difference that is only the rounding of its
// two operands (below 1e-12 of the larger) is exactly 0, so that two equal
// rates summed in another order are a zero and not a tiny effect. Errors:
// *InputError for unequal lengths and for values that are not finite.
func Differences(x, y []float64) ([]float64, error) {
	if err := checkPairs("x", x, "y", y); err != nil {
		return nil, err
	}
	d := make([]float64, len(x))
	for i := range x {
		if sameValue(x[i], y[i]) {
			continue
		}
		d[i] = x[i] - y[i]
	}
	return d, nil
}

// ranking is the mid-ranks of some values, and what is needed to correct for
// their ties.
type ranking struct {
	ranks  []float64 // of each value, from 1; equal values share their mean rank
	groups []int     // sizes of the groups of equal values, ascending by value
	near   int       // values counted as equal to another one although they differ by rounding
}

// rank ranks xs ascending.
func rank(xs []float64) ranking {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return xs[order[a]] < xs[order[b]] })

	r := ranking{ranks: make([]float64, len(xs))}
	for start := 0; start < len(order); {
		first := xs[order[start]]
		end := start + 1
		for end < len(order) && sameValue(xs[order[end]], first) {
			if xs[order[end]] != first {
				r.near++
			}
			end++
		}
		for _, i := range order[start:end] {
			r.ranks[i] = float64(start+1+end) / 2
		}
		r.groups = append(r.groups, end-start)
		start = end
	}
	return r
}

// tied returns how many values share their value with another.
func (r ranking) tied() int {
	n := 0
	for _, size := range r.groups {
		if size > 1 {
			n += size
		}
	}
	return n
}

// tieSum returns the sum of t³-t over groups of equal values.
func (r ranking) tieSum() float64 {
	sum := 0.0
	for _, size := range r.groups {
		t := float64(size)
		sum += t*t*t - t
	}
	return sum
}

// warnNear adds the warning about values that differ by rounding.
func (r ranking) warnNear(b *Basis) {
	if r.near > 0 {
		b.warn(NearTies, "%s differed from another by rounding only (less than 1e-12 of it) and counted as equal to it", plural(r.near, "value"))
	}
}

func sortedCopy(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}
