package stats

import (
	"fmt"
	"math"
	"sort"
)

// HolmResult is a family of hypotheses, adjusted.
type HolmResult struct {
	Basis
	Alpha float64 `json:"alpha"`
	// Adjusted has one entry a hypothesis, in the order given; nil where there
	// was no p-value. An adjusted p at or below any level is significant at
	// that level in the whole family.
	Adjusted []*float64 `json:"adjusted"`
	// Reject says which hypotheses are rejected at Alpha.
	Reject []bool `json:"reject"`
}

// Holm adjusts the p-values of one declared family for multiple testing
// (Holm 1979), which keeps the chance of any false rejection at alpha without
// assuming anything about how the tests depend on each other. alpha 0 means
// 0.05.
//
// A hypothesis without a p-value (nil) stays a member: the family was declared
// before the run, and what could not be tested must not make the rest easier.
// Errors: *InputError for a p-value outside [0, 1].
func Holm(ps []*float64, alpha float64) (HolmResult, error) {
	alpha, err := orDefault("alpha", alpha, 0.05)
	if err != nil {
		return HolmResult{}, err
	}
	res := HolmResult{Alpha: alpha, Adjusted: make([]*float64, len(ps)), Reject: make([]bool, len(ps))}
	res.N = len(ps)
	var order []int
	for i, p := range ps {
		if p == nil {
			continue
		}
		if !(*p >= 0 && *p <= 1) {
			return HolmResult{}, &InputError{"p-values", i, *p, "a probability from 0 to 1 is needed"}
		}
		order = append(order, i)
	}
	res.NUsed = len(order)
	res.Method = fmt.Sprintf("Holm's adjustment over %d hypotheses", res.N)
	if missing := res.N - res.NUsed; missing > 0 {
		res.warn(MissingInFamily, "%d of the family's %d hypotheses have no p-value; they still count in the adjustment", missing, res.N)
	}
	sort.SliceStable(order, func(a, b int) bool { return *ps[order[a]] < *ps[order[b]] })
	running := 0.0
	for k, i := range order {
		running = math.Max(running, math.Min(1, float64(res.N-k)**ps[i]))
		res.Adjusted[i] = ptr(running)
		res.Reject[i] = running <= alpha
	}
	return res, nil
}
