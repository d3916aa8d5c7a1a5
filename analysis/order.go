package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// Names that have a fixed place in tables. Any other comes after them, in the
// order of the plan.
var (
	regimeOrder   = []string{"L1", "L2", "L3"}
	modalityOrder = []string{record.Text, record.Vision}
	strategyOrder = []string{"no-memory", "no-filter", "self-verify", "omcd", "oracle"}
	framingOrder  = []string{"neutral", "trusted", "warned"}
)

// regimeNames adds the paper's word to a regime's number.
var regimeNames = map[string]string{"L1": "L1 spot", "L2": "L2 cluster", "L3": "L3 online"}

// strategyNames are the names as the paper writes them.
var strategyNames = map[string]string{
	"no-memory":   "NoMemory",
	"no-filter":   "NoFilter",
	"self-verify": "SelfVerify",
	"omcd":        "OMCD",
	"oracle":      "Oracle",
	"score":       "Score",
}

// StrategyName returns a strategy's name as the paper writes it, or the name
// itself when it is none of the paper's.
func StrategyName(name string) string {
	if paper, ok := strategyNames[name]; ok {
		return paper
	}
	return name
}

// An appearance remembers in which order a plan names things.
type appearance struct {
	models, regimes, strategies []string
}

func (a *appearance) add(s *record.Spec) {
	addNew(&a.models, s.Model)
	addNew(&a.regimes, s.Regime)
	addNew(&a.strategies, s.Strategy)
}

func addNew(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// compareNames orders names by their place in fixed, then by their place in
// planned, then by themselves.
func compareNames(x, y string, fixed, planned []string) int {
	place := func(name string) int {
		if i := slices.Index(fixed, name); i >= 0 {
			return i
		}
		if i := slices.Index(planned, name); i >= 0 {
			return len(fixed) + i
		}
		return len(fixed) + len(planned)
	}
	return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x, y))
}

func (a *appearance) compareModels(x, y string) int { return compareNames(x, y, nil, a.models) }

func (a *appearance) compareRegimes(x, y string) int {
	return compareNames(x, y, regimeOrder, a.regimes)
}

func compareModalities(x, y string) int { return compareNames(x, y, modalityOrder, nil) }

// compareRest orders settings whose model, regime and modality are the same.
func (a *appearance) compareRest(x, y setting) int {
	return cmp.Or(
		compareNames(x.strategy, y.strategy, strategyOrder, a.strategies),
		cmp.Compare(x.batch, y.batch),
		compareNames(x.framing, y.framing, framingOrder, nil),
		cmp.Compare(x.rows*x.cols, y.rows*y.cols),
		cmp.Compare(x.rows, y.rows),
	)
}

// A group is one row's trials: a setting with its seeds in ascending order.
type group[T any] struct {
	setting
	seeds []*T
}

// sorted returns the groups that keep lets pass, in the order of compare.
func (g groups[T]) sorted(keep func(setting) bool, compare func(x, y setting) int) []*group[T] {
	settings := slices.SortedFunc(maps.Keys(g), compare)
	var out []*group[T]
	for _, s := range settings {
		if keep != nil && !keep(s) {
			continue
		}
		one := &group[T]{setting: s}
		for _, seed := range slices.Sorted(maps.Keys(g[s])) {
			one.seeds = append(one.seeds, g[s][seed])
		}
		out = append(out, one)
	}
	return out
}

// modalities returns those of the episodes.
func (c *Collector) modalities() []string {
	seen := make(map[string]bool)
	for s := range c.episodes {
		seen[s.modality] = true
	}
	return slices.SortedFunc(maps.Keys(seen), compareModalities)
}

// controlPrefix begins the names of the built-in controls.
const controlPrefix = "ref/"

// longName is the length, in bytes, from which a model's parameters are left
// out of its name.
const longName = 28

// modelNames returns how each model is shown where its full name would not
// fit: its name without parameters, and a number that the notes explain.
// Numbers follow the order of all models, so that they mean the same in every
// table.
func (c *Collector) modelNames() map[string]string { return shortNames(c.models()) }

// models returns a run's models in the order of its tables.
func (c *Collector) models() []string {
	all := make(map[string]bool)
	for s := range c.detection {
		all[s.model] = true
	}
	for s := range c.episodes {
		all[s.model] = true
	}
	return slices.SortedFunc(maps.Keys(all), c.plan.compareModels)
}

// shortNames numbers long names in the order given; a name may come twice.
func shortNames(models []string) map[string]string {
	short := make(map[string]string)
	for _, name := range models {
		if short[name] != "" {
			continue
		}
		if base, _, ok := strings.Cut(name, "?"); ok && len(name) > longName {
			short[name] = fmt.Sprintf("%s [%d]", base, len(short)+1)
		}
	}
	return short
}

// modelCell shows a model.
func modelCell(name string, short map[string]string) Cell {
	c := Cell{Label: name, Short: short[name]}
	if strings.HasPrefix(name, controlPrefix) {
		c.Tag = "control"
	}
	return c
}

func regimeCell(regime string) Cell { return Cell{Label: regime, Short: regimeNames[regime]} }

func strategyCell(name string) Cell { return Cell{Label: name, Short: strategyNames[name]} }
