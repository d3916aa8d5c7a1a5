package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/stats"
)

// A varianceRow is one setting's episodes on one measure, by seed.
type varianceRow struct {
	*episodeGroup
	end    int
	result stats.ClusterResult
}

// Variance tells how much of an outcome is the seed’s: how far episodes on one
// seed agree, and what a mean over them is worth (paper, section 4, Inference).
func (c *Collector) Variance() Table {
	tests := c.tests()
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	var rows []*varianceRow
	for _, g := range groups {
		for _, measure := range tests.Family.Measures {
			end := slices.Index(ends[:], measure)
			clusters := make([][]float64, len(g.seeds))
			for i, e := range g.seeds {
				clusters[i] = onesAndZeros(e.ends[end], e.finished)
			}
			rows = append(rows, &varianceRow{g, end, sure(stats.Clusters(clusters))})
		}
	}
	short := c.modelNames()
	t := Table{
		ID:    "variance",
		Title: "Variance within and between seeds",
		About: "How much of an outcome the lake decides. ICC: the share of an episode’s variance that lies between seeds, 1 where a seed always ends the same way, about 0 where episodes on one seed agree no more than those on two. reliability: the same for a seed’s mean over its episodes, which is what the tests use.",
		Need:  "episodes: spatialstale run --task navigate",
	}
	number := func(key, heading, unit string, decimals, priority int, v func(*stats.ClusterResult) *float64) definition[varianceRow] {
		return definition[varianceRow]{Column{Key: key, Heading: heading, Unit: unit, Kind: Number, Decimals: decimals, Priority: priority}, func(r *varianceRow) Cell {
			return Cell{Value: v(&r.result)}
		}}
	}
	var defs []definition[varianceRow]
	for _, d := range episodeLabels(groups, short) {
		defs = append(defs, definition[varianceRow]{d.Column, func(r *varianceRow) Cell { return d.cell(r.episodeGroup) }})
	}
	defs = append(defs, []definition[varianceRow]{
		{Column{Key: "measure", Heading: "measure", Kind: Label}, func(r *varianceRow) Cell { return Cell{Label: ends[r.end]} }},
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *varianceRow) Cell { return Cell{Count: r.result.NUsed, Of: r.result.N} }},
		{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count}, func(r *varianceRow) Cell {
			return Cell{Count: r.result.Values, Of: total(r.episodeGroup.seeds, func(e *episodeTally) int { return e.all() })}
		}},
		number("mean", "rate", "share", 3, 0, func(c *stats.ClusterResult) *float64 { return c.Mean }),
		number("within", "within seeds", "variance", 3, 2, func(c *stats.ClusterResult) *float64 { return c.Within }),
		{Column{Key: "between", Heading: "between seeds", Unit: "variance", Kind: Number, Decimals: 3, Priority: 2}, func(r *varianceRow) Cell {
			return Cell{Value: r.result.Between, Warnings: r.result.Warnings}
		}},
		number("icc", "ICC", "correlation", 2, 0, func(c *stats.ClusterResult) *float64 { return c.ICC1 }),
		number("reliability", "reliability", "correlation", 2, 0, func(c *stats.ClusterResult) *float64 { return c.ICCMean }),
		number("design_effect", "design effect", "ratio", 2, 3, func(c *stats.ClusterResult) *float64 { return c.DesignEffect }),
	}...)
	fill(&t, defs, rows)
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	if len(rows) > 0 {
		t.Notes = []string{"One-way analysis of variance over seeds; ICC is ICC(1), reliability ICC(1,k). Both are estimates and can fall below 0. design effect: how many times more variance the mean has than if all episodes were independent."}
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero: no seed has two episodes, or all ended the same way.")...)
	t.footnote()
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// onesAndZeros writes hits out of n as ones and zeros.
func onesAndZeros(hits, n int) []float64 {
	out := make([]float64, n)
	for i := range hits {
		out[i] = 1
	}
	return out
}
