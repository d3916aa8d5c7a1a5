package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A sightRow compares one detector's F1 from pictures with that from text.
type sightRow struct {
	setting // from text
	paired
}

// Sight tests what seeing the lake as a picture costs a detection, against
// reading it as text (paper, section 5.2, Figure 3).
func (c *Collector) Sight() Table {
	tests := c.tests()
	var rows []*sightRow
	families := make(map[string][]*paired)
	for _, g := range c.detection.sorted(func(s setting) bool { return s.modality == record.Text }, c.byModelRegimeModality) {
		seen := g.setting
		seen.modality = record.Vision
		if c.detection[seen] == nil {
			continue
		}
		row := &sightRow{setting: g.setting}
		row.pairDetections(c.detection[g.setting], c.detection[seen], func(d *detectionTally) *float64 { return d.counts.F1() })
		if row.shared > 0 {
			rows = append(rows, row)
			families[row.model] = append(families[row.model], &row.paired)
		}
	}
	inParallel(len(rows), func(i int) { rows[i].test(tests.Bootstrap, true) })
	for _, members := range families {
		adjust(members, tests.Family.Alpha)
	}
	short := c.modelNames()
	t := Table{
		ID:    "vision-text",
		Title: "Seeing against reading: F1 from images less F1 from text",
		Paper: "Figure 3",
		About: "The same detector on the same lakes, once shown as a picture and once as text: below 0 it finds the stale entries worse by sight.",
		Need:  "detections from text and from images: spatialstale run --task detect --modality text,vision",
	}
	of := func(r *sightRow) *paired { return &r.paired }
	groups := make([]*group[struct{}], len(rows))
	all := make([]*paired, len(rows))
	for i, r := range rows {
		groups[i], all[i] = &group[struct{}]{setting: r.setting}, &r.paired
	}
	defs := []definition[sightRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *sightRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *sightRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "detector", Heading: "detector", Kind: Label}, func(r *sightRow) Cell { return strategyCell(r.strategy) }},
	}
	for _, d := range settingColumns(groups) {
		defs = append(defs, definition[sightRow]{d.Column, func(r *sightRow) Cell { return d.cell(&group[struct{}]{setting: r.setting}) }})
	}
	defs = append(defs, []definition[sightRow]{
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *sightRow) Cell { return r.seedsCell() }},
		{Column{Key: "vision", Heading: "vision", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true}, func(r *sightRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.B }) }},
		{Column{Key: "text", Heading: "text", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true}, func(r *sightRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.A }) }},
	}...)
	defs = append(defs, testColumns("difference", "difference of F1", true, of)...)
	defs = append(defs, lossColumns(rows, of)...)
	fill(&t, defs, rows)
	if len(rows) > 0 {
		t.Warnings = lostSeeds(all, true)
		t.Notes = testNotes(tests.Bootstrap, "all rows of one model", tests.Family.Alpha)
		t.Notes = append(t.Notes, reachNotes(all, tests.Family.Alpha)...)
		t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	}
	t.footnote()
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// pairDetections pairs two conditions of a detection by seed, and bounds what
// the lost ones leave of a measure that lies between 0 and 1.
func (p *paired) pairDetections(a, b map[int]*detectionTally, of func(*detectionTally) *float64) {
	var least, most []float64
	lost := false
	bounds := func(d *detectionTally) (low, high float64, ok bool) {
		if d.lost() > 0 {
			return 0, 1, true
		}
		v := of(d)
		if v == nil {
			return 0, 0, false
		}
		return *v, *v, true
	}
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		x, y := a[seed], b[seed]
		if y == nil {
			continue
		}
		p.shared++
		if x.lost() == 0 && y.lost() == 0 {
			p.pairs = append(p.pairs, SeedPair{seed, of(x), of(y)})
		}
		lost = lost || x.lost()+y.lost() > 0
		xLow, xHigh, okX := bounds(x)
		yLow, yHigh, okY := bounds(y)
		if okX && okY {
			least, most = append(least, yLow-xHigh), append(most, yHigh-xLow)
		}
	}
	if lost && len(least) > 0 {
		p.least, p.most = new(stats.Mean(least)), new(stats.Mean(most))
	}
}
