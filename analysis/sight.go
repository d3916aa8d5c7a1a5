package analysis

import "github.com/spatialstale/spatialstale/record"

// A sightRow compares one detector's F1 from pictures with that from text.
type sightRow struct {
	setting // from text
	paired
}

// sightRows pairs the detections from pictures with those from text, and tests
// them.
func (c *Collector) sightRows() (rows []*sightRow) {
	tests := c.tests()
	families := make(map[string][]*paired)
	for _, g := range c.detection.sorted(func(s setting) bool { return s.modality == record.Text }, c.byModelRegimeModality) {
		seen := g.setting
		seen.modality = record.Vision
		if c.detection[seen] == nil {
			continue
		}
		row := &sightRow{setting: g.setting}
		pairSeeds(&row.paired, c.detection[g.setting], c.detection[seen], func(d *detectionTally) seedValue { return d.value(record.Counts.F1) })
		if row.shared > 0 {
			rows = append(rows, row)
			families[row.model] = append(families[row.model], &row.paired)
		}
	}
	inParallel(len(rows), func(i int) { rows[i].test(tests.Bootstrap, true) })
	for _, members := range families {
		adjust(members, tests.Family.Alpha)
	}
	return rows
}

// Sight tests what seeing the lake as a picture costs a detection, against
// reading it as text (paper, section 5.2, Figure 3).
func (c *Collector) Sight() Table {
	tests, rows := c.tests(), c.sightRows()
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
		t.Warnings = lostSeeds(all, "")
		t.Notes = testNotes(tests.Bootstrap, "all rows of one model", tests.Family.Alpha)
		t.Notes = append(t.Notes, reachNotes(all, tests.Family.Alpha)...)
		t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	}
	t.footnote()
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
