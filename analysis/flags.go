package analysis

import "slices"

// spotAndCluster names the rows over L1 and L2 together, as the paper's Figure
// 4 has them.
const spotAndCluster = "L1+L2"

// withPooled adds to groups, which are sorted, one for each setting that has
// both L1 and L2.
func withPooled(groups []*detectionGroup) []*detectionGroup {
	var out []*detectionGroup
	firsts := make(map[setting]*detectionGroup)
	for _, g := range groups {
		if g.regime == "L1" {
			firsts[withRegime(g.setting, "L2")] = g
		}
	}
	var pooled []*detectionGroup
	flush := func() { out, pooled = append(out, pooled...), nil }
	for i, g := range groups {
		if i > 0 && (g.regime != groups[i-1].regime || g.model != groups[i-1].model) {
			flush()
		}
		out = append(out, g)
		if first := firsts[g.setting]; first != nil {
			one := &detectionGroup{setting: withRegime(g.setting, spotAndCluster)}
			one.seeds = append(slices.Clone(first.seeds), g.seeds...)
			pooled = append(pooled, one)
		}
	}
	flush()
	return out
}

func withRegime(s setting, regime string) setting {
	s.regime = regime
	return s
}

// Flags tells how often entries are called stale, by what they claim and
// whether that is false (paper, Figure 4).
func (c *Collector) Flags() Table {
	groups := withPooled(c.detection.sorted(nil, c.byModelRegimeModality))
	groups = slices.DeleteFunc(groups, func(g *detectionGroup) bool {
		return flagged(g, 0, 0).of+flagged(g, 0, 1).of+flagged(g, 1, 0).of+flagged(g, 1, 1).of == 0
	})
	t := Table{
		ID:    "flags",
		Title: "Flag rate, by what the entry claims and what the cell is",
		Paper: "Figure 4",
		About: "The share of entries that the model calls stale; in brackets, where there is room, of how many. A model that sees the lake flags SAFE claims on holes and DANGER claims on frozen cells, and leaves the others.",
		Need:  "detections: spatialstale run --task detect",
	}
	short := c.modelNames()
	defs := append(detectionLabels(groups, short), finishedSeeds()...)
	for i := range defs {
		if defs[i].Key == "seeds" {
			defs[i].DataOnly = true // pooled rows would show each seed twice
		}
	}
	rate := func(key, heading, group string, claim, stale int) definition[detectionGroup] {
		return definition[detectionGroup]{
			Column{Key: key, Heading: heading, Group: group, Unit: "share of such entries", Kind: Share, Decimals: 3, Base: true},
			func(g *detectionGroup) Cell { return flagged(g, claim, stale).cell() },
		}
	}
	const safe, danger = "claims SAFE, cell is", "claims DANGER, cell is"
	defs = append(defs,
		rate("safe_deadly", "hole (stale)", safe, saysSafe, 1),
		rate("safe_safe", "safe", safe, saysSafe, 0),
		rate("danger_safe", "safe (stale)", danger, saysDanger, 1),
		rate("danger_deadly", "hole", danger, saysDanger, 0),
	)
	defs = append(defs,
		paperColumn(c, groups, "paper_safe_deadly", "SAFE on a\u00a0hole", inPaper, "share of such entries", "flag-rate-safe-deadly"),
		paperColumn(c, groups, "paper_safe_safe", "SAFE on\u00a0safe", inPaper, "share of such entries", "flag-rate-safe-safe"),
	)
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: there was no such entry."),
		"An entry without an answer counts as not flagged.",
		"L1+L2: both regimes together, as in the paper. Entries of all seeds, and of all audits in L3, are counted once each; they are not independent of each other within a seed.")
	t.Warnings = progressWarnings(unpooled(groups), "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func unpooled(groups []*detectionGroup) []*detectionGroup {
	return slices.DeleteFunc(slices.Clone(groups), func(g *detectionGroup) bool { return g.regime == spotAndCluster })
}

// flagged returns how many entries of a kind were flagged, of how many.
func flagged(g *detectionGroup, claim, stale int) pair {
	var p pair
	for _, d := range g.seeds {
		f := d.flags[claim][stale]
		p.plus(pair{f.flagged, f.entries})
	}
	return p
}

// Directions tells which changes are noticed: thaw, where a SAFE cell has become
// a hole, and freeze, where a hole is gone; which way the missed ones went, and
// whether wrong flags fall beside cells that did change (paper, Figure 8,
// appendices H.2 and I).
func (c *Collector) Directions() Table {
	groups := c.detection.sorted(nil, c.byModelRegimeModality)
	groups = slices.DeleteFunc(groups, func(g *detectionGroup) bool { return flagged(g, saysSafe, 1).of+flagged(g, saysDanger, 1).of == 0 })
	t := Table{
		ID:    "directions",
		Title: "Recall by direction of change, and where wrong flags fall",
		Paper: "Figure 8",
		About: "thaw: the entry says SAFE and the cell has become a hole; freeze: it says DANGER and the hole is gone. In brackets, where there is room, the number of entries behind a share.",
		Need:  "detections with stale entries: spatialstale run --task detect",
	}
	short := c.modelNames()
	thaw := func(g *detectionGroup) pair { return flagged(g, saysSafe, 1) }
	freeze := func(g *detectionGroup) pair { return flagged(g, saysDanger, 1) }
	const recall, wrong = "recall", "wrong flags"
	defs := append(detectionLabels(groups, short), finishedSeeds()...)
	defs = append(defs, []definition[detectionGroup]{
		{Column{Key: "recall_thaw", Heading: "thaw", Group: recall, Unit: "share of stale entries of that direction", Kind: Share, Decimals: 3, Base: true},
			func(g *detectionGroup) Cell { return thaw(g).cell() }},
		{Column{Key: "recall_freeze", Heading: "freeze", Group: recall, Unit: "share of stale entries of that direction", Kind: Share, Decimals: 3, Base: true},
			func(g *detectionGroup) Cell { return freeze(g).cell() }},
		paperColumn(c, groups, "paper_recall_thaw", "thaw", inPaper, "share of stale entries of that direction", "recall-thaw"),
		paperColumn(c, groups, "paper_recall_freeze", "freeze", inPaper, "share of stale entries of that direction", "recall-freeze"),
		{Column{Key: "missed_thaw", Heading: "missed: thaw", Unit: "share of missed stale entries", Kind: Share, Decimals: 3, Base: true},
			func(g *detectionGroup) Cell {
				t, f := thaw(g), freeze(g)
				return shareOf(t.of-t.count, t.of-t.count+f.of-f.count)
			}},
		{Column{Key: "wrong_beside_stale", Heading: "beside stale", Group: wrong, Unit: "share of flags on valid entries", Kind: Share, Decimals: 3, Base: true},
			func(g *detectionGroup) Cell { return besideStale(g, false).cell() }},
		{Column{Key: "valid_beside_stale", Heading: "by chance", Group: wrong, Unit: "share of valid entries", Kind: Share, Decimals: 3, Brief: true},
			func(g *detectionGroup) Cell { return besideStale(g, true).cell() }},
		{Column{Key: "unanswered_thaw", Heading: "thaw without an answer", Unit: "entries", Kind: Count, DataOnly: true},
			func(g *detectionGroup) Cell {
				return Cell{Count: total(g.seeds, func(d *detectionTally) int { return d.flags[saysSafe][1].unanswered })}
			}},
		{Column{Key: "unanswered_freeze", Heading: "freeze without an answer", Unit: "entries", Kind: Count, DataOnly: true},
			func(g *detectionGroup) Cell {
				return Cell{Count: total(g.seeds, func(d *detectionTally) int { return d.flags[saysDanger][1].unanswered })}
			}},
	}...)
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: there was no such entry, nothing was missed, or nothing flagged wrongly."),
		"missed: thaw: of the stale entries that were not flagged, those that say SAFE; the others say DANGER. An entry without an answer counts as missed.",
		"beside stale: of the valid entries that were flagged, those whose cell has a stale one to its left or right, above or below it; by chance: the same share of all valid entries.")
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// besideStale returns how many flagged valid entries, or all valid ones, lie
// beside a stale one, of how many.
func besideStale(g *detectionGroup, all bool) pair {
	var p pair
	for _, d := range g.seeds {
		if all {
			p.plus(d.beside.valid)
		} else {
			p.plus(d.beside.flagged)
		}
	}
	return p
}
