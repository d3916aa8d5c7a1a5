package analysis

import (
	"cmp"
	"maps"
	"slices"
)

// A regimeGroup is one row of the regime table, its instances by seed.
type regimeGroup struct {
	regime     string
	rows, cols int
	instances  []*world
}

func (g *regimeGroup) cells() int { return g.rows * g.cols }

func (g *regimeGroup) shares() []*float64 {
	out := make([]*float64, len(g.instances))
	for i, in := range g.instances {
		out[i] = quotient(in.stale, g.cells())
	}
	return out
}

func (g *regimeGroup) stale() int {
	n := 0
	for _, in := range g.instances {
		n += in.stale
	}
	return n
}

// published returns the paper's figure for the row, nil when it has none.
func (g *regimeGroup) published(measure string) *figure {
	if g.rows != publishedSide || g.cols != publishedSide {
		return nil
	}
	return publishedFigure(func(f *figure) bool { return f.Measure == measure && f.isOf(g.regime) })
}

// Regimes tells how much of the memory each regime makes stale, beside the
// paper's figures (section 3.4, Table 1).
func (c *Collector) Regimes() Table {
	t := Table{
		ID:    "regimes",
		Title: "Regimes: how much of the memory is stale",
		Paper: "Table 1",
		Need:  "instances",
		About: "A memory holds one entry a cell. An entry is stale when the lake’s changes made it false about danger. Shares are of all entries; in L3, after the last change.",
	}
	groups := c.regimeGroups()
	fill(&t, regimeColumns(groups), groups)
	t.Notes = []string{
		noteSD,
		"thaw: of the stale entries, those that say SAFE where the cell now kills; the others warn of a hole that is gone. In brackets, where there is room, their number over all seeds.",
		"The paper’s figures: arXiv 2608.04574, section 3.4 and appendix A, 50 seeds on 8×8 grids.",
	}
	return t
}

// regimeGroups returns the instances by regime and size.
func (c *Collector) regimeGroups() []*regimeGroup {
	keys := slices.SortedFunc(maps.Keys(c.instances), func(a, b instanceKey) int {
		return cmp.Or(
			c.plan.compareRegimes(a.regime, b.regime),
			cmp.Compare(a.rows*a.cols, b.rows*b.cols),
			cmp.Compare(a.rows, b.rows),
			cmp.Compare(a.seed, b.seed),
		)
	})
	var groups []*regimeGroup
	for _, k := range keys {
		last := len(groups) - 1
		if last < 0 || groups[last].regime != k.regime || groups[last].rows != k.rows || groups[last].cols != k.cols {
			groups = append(groups, &regimeGroup{regime: k.regime, rows: k.rows, cols: k.cols})
			last++
		}
		groups[last].instances = append(groups[last].instances, c.instances[k])
	}
	return groups
}

func regimeColumns(groups []*regimeGroup) []definition[regimeGroup] {
	oneSize := !slices.ContainsFunc(groups, func(g *regimeGroup) bool {
		return g.rows != groups[0].rows || g.cols != groups[0].cols
	})
	noPaper := !slices.ContainsFunc(groups, func(g *regimeGroup) bool { return g.published("stale-share") != nil })
	extreme := func(pick func(a, b *world) bool) func(*regimeGroup) Cell {
		return func(g *regimeGroup) Cell {
			best := g.instances[0]
			for _, in := range g.instances[1:] {
				if pick(in, best) {
					best = in
				}
			}
			return Cell{Value: quotient(best.stale, g.cells())}
		}
	}
	paper := func(measure string) func(*regimeGroup) Cell {
		return func(g *regimeGroup) Cell {
			c := paperCell(g.published(measure))
			if c.SD != nil {
				c.N = publishedSeeds
			}
			return c
		}
	}
	const ours, theirs = "stale share", "in the paper"
	return []definition[regimeGroup]{
		{Column{Key: "regime", Heading: "regime", Kind: Label},
			func(g *regimeGroup) Cell { return regimeCell(g.regime) }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, Align: Right, DataOnly: oneSize},
			func(g *regimeGroup) Cell { return gridCell(g.rows, g.cols) }},
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count},
			func(g *regimeGroup) Cell { return Cell{Count: len(g.instances)} }},
		{Column{Key: "stale_share", Heading: "mean\u00a0±\u00a0sd", Group: ours, Unit: "share", Kind: Mean, Decimals: 3},
			func(g *regimeGroup) Cell { return overSeeds(g.shares()) }},
		{Column{Key: "stale_share_min", Heading: "min", Group: ours, Unit: "share", Kind: Number, Decimals: 3},
			extreme(func(a, b *world) bool { return a.stale < b.stale })},
		{Column{Key: "stale_share_max", Heading: "max", Group: ours, Unit: "share", Kind: Number, Decimals: 3},
			extreme(func(a, b *world) bool { return a.stale > b.stale })},
		{Column{Key: "paper_stale_share", Heading: "mean\u00a0±\u00a0sd", Group: theirs, Unit: "share", Kind: Mean, Decimals: 3, DataOnly: noPaper},
			paper("stale-share")},
		{Column{Key: "paper_stale_share_min", Heading: "min", Group: theirs, Unit: "share", Kind: Number, Decimals: 3, DataOnly: noPaper, Priority: 1},
			paper("stale-share-least")},
		{Column{Key: "paper_stale_share_max", Heading: "max", Group: theirs, Unit: "share", Kind: Number, Decimals: 3, DataOnly: noPaper, Priority: 1},
			paper("stale-share-most")},
		{Column{Key: "thaw_share", Heading: "thaw", Unit: "share of stale entries", Kind: Share, Decimals: 3},
			func(g *regimeGroup) Cell {
				thaw := 0
				for _, in := range g.instances {
					thaw += in.thaw
				}
				return shareOf(thaw, g.stale())
			}},
		{Column{Key: "stale_entries", Heading: "stale entries", Unit: "entries", Kind: Count, DataOnly: true},
			func(g *regimeGroup) Cell { return Cell{Count: g.stale()} }},
		{Column{Key: "entries", Heading: "entries", Unit: "entries", Kind: Count, DataOnly: true},
			func(g *regimeGroup) Cell { return Cell{Count: len(g.instances) * g.cells()} }},
	}
}
