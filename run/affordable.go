package run

import (
	"fmt"
	"math"
	"strings"

	"github.com/spatialstale/spatialstale/llm/price"
)

// Affordable says how much of a study a budget pays for.
type Affordable struct {
	USD float64 `json:"usd"`
	// Seeds that are paid for if every call costs the most, the likely and the
	// least.
	Seeds Bounds `json:"seeds"`
	Of    int    `json:"of_seeds"`
	// Unknown are models whose cost is not known; a run with a budget refuses them.
	Unknown []string `json:"unknown,omitempty"`

	total Sums
}

// AffordableWith compares a budget with estimates of a study of so many seeds. A
// run goes seed by seed, so that one that is stopped has whole seeds.
func AffordableWith(budget price.USD, estimates []Estimate, seeds int) Affordable {
	a := Affordable{USD: budget.Dollars(), Of: seeds}
	for i := range estimates {
		switch e := &estimates[i]; {
		case e.Control:
		case e.USD == nil:
			a.Unknown = append(a.Unknown, e.Model)
		default:
			a.total.add(e.Sums)
		}
	}
	paid := func(cost price.USD) int {
		if cost <= budget {
			return seeds
		}
		return int(math.Floor(float64(seeds) * budget.Dollars() / cost.Dollars()))
	}
	a.Seeds = Bounds{Least: paid(a.total.Most), Likely: paid(a.total.Likely), Most: paid(a.total.Least)}
	return a
}

// String says it in a sentence.
func (a Affordable) String() string {
	budget, _ := price.FromDollars(a.USD) // it was one
	switch {
	case len(a.Unknown) > 0:
		return fmt.Sprintf("Whether a budget of %v is enough is unknown: run refuses it without the cost of %s.", budget, strings.Join(a.Unknown, ", "))
	case budget >= a.total.Most:
		return fmt.Sprintf("A budget of %v is enough for all of it.", budget)
	case budget >= a.total.Likely:
		return fmt.Sprintf("A budget of %v is likely enough for all of it, and for %d of %d seeds in any case.", budget, a.Seeds.Least, a.Of)
	}
	return fmt.Sprintf("A budget of %v likely pays for %d of %d seeds (%d to %d). run stops there, and resume goes on with a larger one.",
		budget, a.Seeds.Likely, a.Of, a.Seeds.Least, a.Seeds.Most)
}
