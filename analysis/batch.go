package analysis

import (
	"cmp"
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// varying keeps the rows that differ from another one only in what blank takes
// out of their settings.
func varying[R any](rows []R, of func(R) setting, blank func(*setting)) []R {
	rest := func(r R) setting {
		s := of(r)
		blank(&s)
		return s
	}
	seen := make(map[setting]int)
	for _, r := range rows {
		seen[rest(r)]++
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r R) bool { return seen[rest(r)] < 2 })
}

// Batch tells what the number of entries a call does to an audit (paper,
// appendix E, Table 5). It has rows when a run audits with several.
func (c *Collector) Batch() Table {
	groups := c.detection.sorted(func(s setting) bool { return s.batch > 0 && s.strategy != scoreStrategy }, func(x, y setting) int {
		return cmp.Or(
			c.plan.compareModels(x.model, y.model),
			c.plan.compareRegimes(x.regime, y.regime),
			compareModalities(x.modality, y.modality),
			compareNames(x.framing, y.framing, framingOrder, nil),
			c.plan.compareRest(x, y),
		)
	})
	groups = varying(groups, func(g *detectionGroup) setting { return g.setting }, func(s *setting) { s.batch = 0 })
	t := Table{
		ID:    "batch",
		Title: "Batch size: entries a call",
		Paper: "Table 5",
		About: "The same audit with the memory cut into batches of different size. Fewer entries a call cost more calls; whether they find more is the question.",
		Need:  "audits with several batch sizes: spatialstale run batch",
	}
	short := c.modelNames()
	defs := detectionLabels(groups, short)
	for i := range defs {
		if defs[i].Key == "batch" {
			defs[i].DataOnly = false
		}
	}
	defs = append(defs, finishedSeeds()...)
	defs = append(defs, []definition[detectionGroup]{
		{Column{Key: "f1", Heading: "F1", Unit: "share", Kind: Mean, Decimals: 3}, scoreOver(record.Counts.F1)},
		{Column{Key: "precision", Heading: "precision", Unit: "share", Kind: Mean, Decimals: 3}, scoreOver(record.Counts.Precision)},
		{Column{Key: "recall", Heading: "recall", Unit: "share", Kind: Mean, Decimals: 3}, scoreOver(record.Counts.Recall)},
		{Column{Key: "calls_per_audit", Heading: "calls an audit", Unit: "calls", Kind: Average, Decimals: 1, Brief: true},
			func(g *detectionGroup) Cell {
				return averageOf(total(g.seeds, (*detectionTally).allCalls), total(g.seeds, func(d *detectionTally) int { return d.asking.audits }))
			}},
		{Column{Key: "unanswered", Heading: "no answer", Unit: "share of entries judged", Kind: Share, Decimals: 3}, unansweredShare},
		{Column{Key: "mended", Heading: "replies mended", Unit: "share of calls", Kind: Share, Decimals: 3, Priority: 1}, mendedShare},
	}...)
	defs = append(defs, c.priceColumns(groups)...)
	defs = append(defs, []definition[detectionGroup]{
		paperColumn(c, groups, "paper_f1", "F1", inPaper, "share", "batch-f1"),
		paperColumn(c, groups, "paper_calls", "calls", inPaper, "calls", "batch-calls"),
	}...)
	calls := &defs[len(defs)-1]
	calls.Decimals, calls.Priority = 0, 2
	fill(&t, defs, groups)
	t.Notes = append([]string{noteSD}, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	t.Notes = append(t.Notes, "calls an audit: model calls behind one window, with those that asked once more. replies mended: the share of calls whose reply needed a repair to be read.")
	if len(groups) > 0 && c.priceColumns(groups) == nil {
		t.Notes = append(t.Notes, "An audit’s tokens, dollars and seconds stand here for models with a server: spatialstale run batch --model openai/gpt-4o. Controls take no tokens and cost nothing.")
	}
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func (d *detectionTally) allCalls() int { return d.asking.calls }

func unansweredShare(g *detectionGroup) Cell {
	n := counted(g)
	return shareOf(n.Unanswered, n.Judged())
}

func mendedShare(g *detectionGroup) Cell {
	return shareOf(total(g.seeds, func(d *detectionTally) int { return d.asking.mended }), total(g.seeds, (*detectionTally).allCalls))
}
