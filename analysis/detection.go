package analysis

import (
	"cmp"

	"github.com/spatialstale/spatialstale/record"
)

type detectionGroup = group[detectionTally]

// Detection tells which stale entries each model finds (paper, section 5.2,
// Figure 3): per seed precision, recall and F1 with stale as the positive
// class, L3 with its windows' counts summed first, then mean and standard
// deviation over seeds. An unanswered entry counts as not flagged, as in the
// paper; its share stands beside the scores, and scores over answered entries
// alone are in the data.
func (c *Collector) Detection() Table {
	groups := c.detection.sorted(nil, c.byModelRegimeModality)
	short := c.modelNames()
	t := Table{
		ID:    "detection",
		Title: "Detection: which stale entries are found",
		Paper: "Figure 3",
		Need:  "detections: spatialstale run --task detect",
		About: "The model audits every memory entry against the current observation. Recall: the stale entries it finds; precision: its flags that are right; F1: both in one; FPR: the valid entries it flags.",
	}
	fill(&t, c.detectionColumns(groups, short), groups)
	t.Notes = append([]string{noteSD}, undefinedNotes(&t, "–: undefined, which is not zero: precision where nothing was flagged, any score where no run finished.")...)
	if anyGroup(groups, func(g *detectionGroup) bool { return g.regime == "L3" }) {
		t.Notes = append(t.Notes, "L3: a seed’s counts are summed over its audits, one after each change, before its scores.")
	}
	if anyGroup(groups, func(g *detectionGroup) bool { return counted(g).Unanswered > 0 }) {
		t.Notes = append(t.Notes, "An entry without an answer counts as not flagged; F1 of answered leaves it out. In brackets, where there is room, the number of entries.")
	}
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func progressOfDetection(d *detectionTally) *progress { return &d.progress }

// counted sums a group's counts over its seeds.
func counted(g *detectionGroup) record.Counts {
	var sum record.Counts
	for _, d := range g.seeds {
		sum = sum.Plus(d.counts)
	}
	return sum
}

// byModelRegimeModality orders tables of detections.
func (c *Collector) byModelRegimeModality(x, y setting) int {
	return cmp.Or(
		c.plan.compareModels(x.model, y.model),
		c.plan.compareRegimes(x.regime, y.regime),
		compareModalities(x.modality, y.modality),
		c.plan.compareRest(x, y),
	)
}

// detectionLabels are the label columns that tables of detections share.
func detectionLabels(groups []*detectionGroup, short map[string]string) []definition[detectionGroup] {
	return append([]definition[detectionGroup]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true},
			func(g *detectionGroup) Cell { return modelCell(g.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label},
			func(g *detectionGroup) Cell { return regimeCell(g.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label},
			func(g *detectionGroup) Cell { return Cell{Label: g.modality} }},
		{Column{Key: "detector", Heading: "detector", Kind: Label},
			func(g *detectionGroup) Cell { return strategyCell(g.strategy) }},
	}, settingColumns(groups)...)
}

// finishedSeeds is the column that says how many seeds a score rests on.
func finishedSeeds() []definition[detectionGroup] {
	return progressColumns(
		Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, Priority: 3},
		func(d *detectionTally) Cell { return Cell{Count: min(d.finished, 1), Of: 1} },
		progressOfDetection,
	)
}

func (c *Collector) detectionColumns(groups []*detectionGroup, short map[string]string) []definition[detectionGroup] {
	allAnswered := !anyGroup(groups, func(g *detectionGroup) bool { return counted(g).Unanswered > 0 })
	paper := paperColumn(c, groups, "paper_f1", "paper’s F1", "", "share", "batch-f1")
	paper.Priority = 2
	defs := append(detectionLabels(groups, short), finishedSeeds()...)
	return append(defs, []definition[detectionGroup]{
		{Column{Key: "f1", Heading: "F1", Unit: "share", Kind: Mean, Decimals: 3},
			scoreOver(record.Counts.F1)},
		paper,
		{Column{Key: "precision", Heading: "precision", Unit: "share", Kind: Mean, Decimals: 3},
			scoreOver(record.Counts.Precision)},
		{Column{Key: "recall", Heading: "recall=TPR", Unit: "share", Kind: Mean, Decimals: 3},
			scoreOver(record.Counts.Recall)},
		{Column{Key: "fpr", Heading: "FPR", Unit: "share", Kind: Mean, Decimals: 3, Brief: true},
			scoreOver(record.Counts.FPR)},
		{Column{Key: "unanswered", Heading: "no answer", Unit: "share of entries judged", Kind: Share, Decimals: 3},
			unansweredShare},
		{Column{Key: "f1_answered", Heading: "F1 of answered", Unit: "share", Kind: Mean, Decimals: 3, Brief: true, DataOnly: allAnswered, Priority: 1},
			scoreAnswered(record.Counts.F1)},
		{Column{Key: "precision_answered", Heading: "precision of answered", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true},
			scoreAnswered(record.Counts.Precision)},
		{Column{Key: "recall_answered", Heading: "recall of answered", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true},
			scoreAnswered(record.Counts.Recall)},
		{Column{Key: "coverage", Heading: "coverage", Unit: "share of entries judged", Kind: Share, Decimals: 3, DataOnly: true},
			func(g *detectionGroup) Cell {
				n := counted(g)
				return shareOf(n.Judged()-n.Unanswered, n.Judged())
			}},
		countColumn("tp", func(n record.Counts) int { return n.TP }),
		countColumn("fp", func(n record.Counts) int { return n.FP }),
		countColumn("fn", func(n record.Counts) int { return n.FN }),
		countColumn("tn", func(n record.Counts) int { return n.TN }),
	}...)
}

// scoreOver is a score's mean over the seeds that have finished.
func scoreOver(score func(record.Counts) *float64) func(*detectionGroup) Cell {
	return func(g *detectionGroup) Cell {
		var values []*float64
		for _, d := range g.seeds {
			if d.finished > 0 {
				values = append(values, score(d.counts))
			}
		}
		return overSeeds(values)
	}
}

// scoreAnswered is the same over answered entries only. Where the judgments
// are not known, neither is the score.
func scoreAnswered(score func(record.Counts) *float64) func(*detectionGroup) Cell {
	return func(g *detectionGroup) Cell {
		var values []*float64
		for _, d := range g.seeds {
			switch {
			case d.finished == 0:
			case d.opaque:
				values = append(values, nil)
			default:
				values = append(values, score(d.answered))
			}
		}
		return overSeeds(values)
	}
}

func countColumn(key string, of func(record.Counts) int) definition[detectionGroup] {
	return definition[detectionGroup]{
		Column{Key: key, Heading: key, Unit: "entries", Kind: Count, DataOnly: true},
		func(g *detectionGroup) Cell { return Cell{Count: of(counted(g))} },
	}
}
