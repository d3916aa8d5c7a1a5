package analysis

import (
	"fmt"

	"github.com/spatialstale/spatialstale/record"
)

// A parser is one way to read a stored reply.
type parser int

const (
	asRecorded parser = iota
	readNow
	readStrictly
)

var readingNames = [...]struct{ label, short string }{
	asRecorded:   {"recorded", "as recorded"},
	readNow:      {"now", "read now"},
	readStrictly: {"strict", "strictly"},
}

// A Rescoring gathers what the stored replies of a run say when they are read
// again. It belongs to a Collector that has the run's plan and trials.
type Rescoring struct {
	run        *Collector
	detections groups[rescoredTally]
	walks      groups[rereadTally]
}

// A rescoredTally holds one seed's detections of one setting, in each reading.
type rescoredTally struct {
	counts  [len(readingNames)]record.Counts
	changed [len(readingNames)]int // judgments whose verdict is not the recorded one
}

// A rereadTally counts the steps of one seed's episodes.
type rereadTally struct{ episodes, steps, otherwise int }

// NewRescoring returns an empty Rescoring of the runs in a Collector.
func NewRescoring(run *Collector) *Rescoring {
	return &Rescoring{run: run, detections: groups[rescoredTally]{}, walks: groups[rereadTally]{}}
}

// AddDetection adds a finished detection as it was recorded, as it is read now,
// and as it is read strictly. The three must be judgments of the same entries.
func (r *Rescoring) AddDetection(recorded, now, strict *record.Trial) error {
	d := r.detections.at(&recorded.Spec)
	for k, t := range [...]*record.Trial{asRecorded: recorded, readNow: now, readStrictly: strict} {
		d.counts[k] = d.counts[k].Plus(t.Counts)
		changed, err := changedVerdicts(recorded, t)
		if err != nil {
			return err
		}
		d.changed[k] += changed
	}
	return nil
}

func changedVerdicts(a, b *record.Trial) (n int, err error) {
	otherwise := fmt.Errorf("%s: its judgments are not of the entries that were recorded; the run was changed, or made by a program that asks otherwise", describe(&a.Spec))
	if len(a.Windows) != len(b.Windows) {
		return 0, otherwise
	}
	for i := range a.Windows {
		was, is := a.Windows[i].Judgments, b.Windows[i].Judgments
		if len(was) != len(is) {
			return 0, otherwise
		}
		for j := range was {
			if was[j].MemoryID != is[j].MemoryID {
				return 0, otherwise
			}
			n += index(was[j].Verdict != is[j].Verdict)
		}
	}
	return n, nil
}

// AddEpisode adds a finished episode: its steps, and how many of them would now
// be read otherwise.
func (r *Rescoring) AddEpisode(spec *record.Spec, steps, otherwise int) error {
	if otherwise > steps || otherwise < 0 {
		return fmt.Errorf("%s: %d of %d steps cannot be read otherwise", describe(spec), otherwise, steps)
	}
	over := *spec
	over.Regime = "" // steps are read alike in every regime
	w := r.walks.at(&over)
	w.episodes++
	w.steps += steps
	w.otherwise += otherwise
	return nil
}

// Tables returns what came of it: detections scored in three ways, and steps
// counted.
func (r *Rescoring) Tables() []Table { return []Table{r.scores(), r.steps()} }

// A rescoredRow is one setting in one reading.
type rescoredRow struct {
	*group[rescoredTally]
	reading parser
}

func (r *rescoredRow) score(of func(record.Counts) *float64) Cell {
	values := make([]*float64, len(r.seeds))
	for i, d := range r.seeds {
		values[i] = of(d.counts[r.reading])
	}
	return overSeeds(values)
}

func (r *rescoredRow) counted() (n record.Counts, changed int) {
	for _, d := range r.seeds {
		n = n.Plus(d.counts[r.reading])
		changed += d.changed[r.reading]
	}
	return n, changed
}

func (r *Rescoring) scores() Table {
	groups := r.detections.sorted(nil, r.run.byModelRegimeModality)
	var rows []*rescoredRow
	for _, g := range groups {
		for k := range readingNames {
			rows = append(rows, &rescoredRow{g, parser(k)})
		}
	}
	short := r.run.modelNames()
	t := Table{
		ID:    "rescore",
		Title: "Detection, from the same replies read again",
		About: "The stored replies scored as they were recorded, as today’s parser reads them, and strictly: a verdict that took any mending to read is then no answer. No model was asked.",
		Need:  "finished detections: spatialstale run --task detect",
	}
	defs := []definition[rescoredRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *rescoredRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *rescoredRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *rescoredRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "detector", Heading: "detector", Kind: Label}, func(r *rescoredRow) Cell { return strategyCell(r.strategy) }},
	}
	for _, d := range settingColumns(groups) {
		defs = append(defs, definition[rescoredRow]{d.Column, func(r *rescoredRow) Cell { return d.cell(r.group) }})
	}
	seeds := func(row *rescoredRow) Cell { return Cell{Count: len(row.seeds), Of: len(r.run.detection[row.setting])} }
	score := func(key, heading string, of func(record.Counts) *float64) definition[rescoredRow] {
		return definition[rescoredRow]{Column{Key: key, Heading: heading, Unit: "share", Kind: Mean, Decimals: 3}, func(r *rescoredRow) Cell { return r.score(of) }}
	}
	recall, precision := score("recall", "recall", record.Counts.Recall), score("precision", "precision", record.Counts.Precision)
	recall.Brief, precision.DataOnly = true, true
	defs = append(defs,
		definition[rescoredRow]{Column{Key: "reading", Heading: "reading", Kind: Label}, func(r *rescoredRow) Cell {
			return Cell{Label: readingNames[r.reading].label, Short: readingNames[r.reading].short}
		}},
		definition[rescoredRow]{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, Priority: 1}, seeds},
		score("f1", "F1", record.Counts.F1), precision, recall,
		definition[rescoredRow]{Column{Key: "unanswered", Heading: "no answer", Unit: "share of entries judged", Kind: Share, Decimals: 3}, func(r *rescoredRow) Cell {
			n, _ := r.counted()
			return shareOf(n.Unanswered, n.Judged())
		}},
		definition[rescoredRow]{Column{Key: "changed", Heading: "verdict changed", Unit: "share of entries judged", Kind: Share, Decimals: 3}, func(r *rescoredRow) Cell {
			n, changed := r.counted()
			return shareOf(changed, n.Judged())
		}})
	fill(&t, defs, rows)
	t.Notes = append([]string{noteSD}, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	t.Notes = append(t.Notes,
		"verdict changed: the share of judgments whose verdict is not the recorded one, an answer that is none now among them; in brackets, where there is room, their number.",
		"An entry without an answer counts as not flagged.")
	t.Warnings = progressWarnings(r.run.detection.sorted(nil, r.run.byModelRegimeModality), "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func (r *Rescoring) steps() Table {
	groups := r.walks.sorted(nil, r.run.byModelAndModality)
	short := r.run.modelNames()
	t := Table{
		ID:    "rescore-steps",
		Title: "Navigation: steps that would now be read otherwise",
		About: "The stored replies to steps, read again. Another action would have been another walk, so episodes are not scored again: where steps are read otherwise, their results stand for the older parser. Over all regimes.",
		Need:  "finished episodes: spatialstale run --task navigate",
	}
	type walkGroup = group[rereadTally]
	sum := func(g *walkGroup, of func(*rereadTally) int) int { return total(g.seeds, of) }
	steps := func(w *rereadTally) int { return w.steps }
	defs := append([]definition[walkGroup]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(g *walkGroup) Cell { return modelCell(g.model, short) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(g *walkGroup) Cell { return Cell{Label: g.modality} }},
		{Column{Key: "strategy", Heading: "strategy", Kind: Label}, func(g *walkGroup) Cell { return strategyCell(g.strategy) }},
	}, settingColumns(groups)...)
	defs = append(defs, []definition[walkGroup]{
		{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count}, func(g *walkGroup) Cell {
			return Cell{Count: sum(g, func(w *rereadTally) int { return w.episodes }), Of: r.plannedEpisodes(g.setting)}
		}},
		{Column{Key: "steps", Heading: "steps", Unit: "steps", Kind: Count}, func(g *walkGroup) Cell { return Cell{Count: sum(g, steps)} }},
		{Column{Key: "otherwise", Heading: "read otherwise", Unit: "share of steps", Kind: Share, Decimals: 3}, func(g *walkGroup) Cell {
			return shareOf(sum(g, func(w *rereadTally) int { return w.otherwise }), sum(g, steps))
		}},
	}...)
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: there is no step to read."), "Audits inside episodes are not read again. In brackets, where there is room, the number of steps.")
	t.Warnings = progressWarnings(r.run.episodes.sorted(nil, r.run.byModelAndModality), "episodes", progressOfEpisodes)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// plannedEpisodes counts the planned episodes of a setting in every regime.
func (r *Rescoring) plannedEpisodes(of setting) (n int) {
	for s, seeds := range r.run.episodes {
		if s.regime = of.regime; s != of {
			continue
		}
		for _, e := range seeds {
			n += e.all()
		}
	}
	return n
}
