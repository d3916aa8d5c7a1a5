package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/stats"
)

// A flagTestRow compares how often SAFE claims are flagged on holes and on cells
// that are safe.
type flagTestRow struct {
	*detectionGroup
	paired
	deadly, safe pair // over all entries: flagged, of how many
	pooled       stats.TwoProportionResult
}

// FlagTest tests whether a SAFE claim is flagged more often where the cell has
// become a hole than where it is safe (paper, Figure 4): by seed, and as two
// proportions of all entries, which takes every entry as independent.
func (c *Collector) FlagTest() Table {
	tests := c.tests()
	groups := withPooled(c.detection.sorted(nil, c.byModelRegimeModality))
	var rows []*flagTestRow
	for _, g := range groups {
		row := &flagTestRow{detectionGroup: g, deadly: flagged(g, saysSafe, 1), safe: flagged(g, saysSafe, 0)}
		if row.deadly.of == 0 || row.safe.of == 0 {
			continue
		}
		row.pairFlags(c.seedsOf(g))
		rows = append(rows, row)
	}
	inParallel(len(rows), func(i int) {
		r := rows[i]
		r.test(tests.Bootstrap, true)
		r.pooled = sure(stats.TwoProportions(stats.Count{Hits: r.deadly.count, N: r.deadly.of}, stats.Count{Hits: r.safe.count, N: r.safe.of}, stats.TwoProportionOptions{}))
	})
	kept := make([]*detectionGroup, len(rows))
	all := make([]*paired, len(rows))
	for i, r := range rows {
		kept[i], all[i] = r.detectionGroup, &r.paired
	}
	short := c.modelNames()
	t := Table{
		ID:    "flags-test",
		Title: "Are false SAFE claims flagged more often than true ones?",
		Paper: "Figure 4",
		About: "The flag rate of SAFE claims on cells that have become holes less that on cells that are safe, tested by seed. Fisher and χ² compare all entries of all seeds at once, as if each were independent of the others.",
		Need:  "detections: spatialstale run --task detect",
	}
	of := func(r *flagTestRow) *paired { return &r.paired }
	var defs []definition[flagTestRow]
	for _, d := range detectionLabels(groups, short) {
		defs = append(defs, definition[flagTestRow]{d.Column, func(r *flagTestRow) Cell { return d.cell(r.detectionGroup) }})
	}
	defs = append(defs, []definition[flagTestRow]{
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *flagTestRow) Cell { return r.seedsCell() }},
		{Column{Key: "deadly", Heading: "on holes", Unit: "share of such entries", Kind: Share, Decimals: 3, Brief: true, DataOnly: true}, func(r *flagTestRow) Cell { return r.deadly.cell() }},
		{Column{Key: "safe", Heading: "on safe cells", Unit: "share of such entries", Kind: Share, Decimals: 3, Brief: true, DataOnly: true}, func(r *flagTestRow) Cell { return r.safe.cell() }},
	}...)
	defs = append(defs, testColumns("difference", "difference of shares", false, of)...)
	number := func(key, heading, unit string, v func(*stats.TwoProportionResult) *float64) definition[flagTestRow] {
		return definition[flagTestRow]{Column{Key: key, Heading: heading, Unit: unit, Kind: Number, Decimals: 3, DataOnly: true}, func(r *flagTestRow) Cell { return Cell{Value: v(&r.pooled)} }}
	}
	defs = append(defs, []definition[flagTestRow]{
		{Column{Key: "p_fisher", Heading: "Fisher\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3}, func(r *flagTestRow) Cell {
			return Cell{Value: r.pooled.FisherP, Method: "Fisher’s exact test over all entries", Warnings: r.pooled.Warnings}
		}},
		{Column{Key: "p_chi_square", Heading: "χ²\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3, Priority: 4}, func(r *flagTestRow) Cell {
			return Cell{Value: r.pooled.ChiSquareP, Method: "Pearson’s chi-square test over all entries, without Yates’ correction", Warnings: r.pooled.Warnings}
		}},
		number("chi_square", "χ²", "chi-square", func(p *stats.TwoProportionResult) *float64 { return p.ChiSquare }),
		number("odds_ratio", "odds ratio", "ratio", func(p *stats.TwoProportionResult) *float64 { return p.OddsRatio }),
		number("phi", "φ", "correlation", func(p *stats.TwoProportionResult) *float64 { return p.Phi }),
	}...)
	defs = append(defs, lossColumns(rows, of)...)
	fill(&t, defs, rows)
	if len(rows) > 0 {
		t.Warnings = append(progressWarnings(unpooled(kept), "detection runs", progressOfDetection), lostSeeds(all, "")...)
		t.Notes = testNotes(tests.Bootstrap, "", 0)
		t.Notes = append(t.Notes, "These p-values belong to no declared family and are not adjusted. L1+L2: both regimes of a seed together, as in the paper.")
		t.Notes = append(t.Notes, reachNotes(all, tests.Family.Alpha)...)
		t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	}
	t.footnote()
	t.Notes = append(t.Notes, modelNotes(kept, short)...)
	return t
}

// seedsOf returns a group's tallies by seed: one each, or one of either regime
// in a pooled group.
func (c *Collector) seedsOf(g *detectionGroup) map[int][]*detectionTally {
	out := make(map[int][]*detectionTally)
	regimes := []string{g.regime}
	if g.regime == spotAndCluster {
		regimes = []string{"L1", "L2"}
	}
	for _, regime := range regimes {
		for seed, d := range c.detection[withRegime(g.setting, regime)] {
			out[seed] = append(out[seed], d)
		}
	}
	return out
}

// pairFlags pairs the flag rates of SAFE claims by seed, A on safe cells and B
// on holes.
func (p *paired) pairFlags(seeds map[int][]*detectionTally) {
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		p.pairUp(seed, flagRate(seeds[seed], 0), flagRate(seeds[seed], 1))
	}
}

// flagRate is how often a seed's SAFE claims are flagged, stale or not. It can
// be anything where a detection is lost, because nothing then tells how many
// such claims there were.
func flagRate(detections []*detectionTally, stale int) seedValue {
	var sum pair
	for _, d := range detections {
		if d.lost() > 0 {
			return seedValue{bound: anyShare(), lost: true}
		}
		f := d.flags[saysSafe][stale]
		sum.plus(pair{f.flagged, f.entries})
	}
	v := sum.cell().Value
	return seedValue{v, bound{v, v}, false}
}
