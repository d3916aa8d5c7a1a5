package analysis

import (
	"fmt"

	"github.com/spatialstale/spatialstale/record"
)

// readingNames are the ways in which a stored reply is read.
var readingNames = []record.Term{{Name: "recorded", Label: "as recorded"}, {Name: "now", Label: "read now"}, {Name: "strict", Label: "strictly"}}

// A Rescoring gathers what the stored replies of a run say when they are read
// again. It belongs to a Frame that has the run's plan and trials.
type Rescoring struct {
	run   *Frame
	frame Frame // a trial's rows under each reading, by its place in readingNames
	of    map[*Row]*reread
}

// A reread is what one trial's replies say in each reading.
type reread struct {
	counts    [3]record.Counts
	changed   [3]int // judgments whose verdict is not the recorded one
	otherwise int    // steps
}

// NewRescoring returns an empty Rescoring of the runs in a Frame.
func NewRescoring(run *Frame) *Rescoring { return &Rescoring{run: run, of: map[*Row]*reread{}} }

// AddDetection adds a finished detection as it was recorded, as it is read now,
// and as it is read strictly. The three must be judgments of the same entries.
func (r *Rescoring) AddDetection(recorded, now, strict *record.Trial) error {
	row, _, err := r.frame.rowOf(&recorded.Spec)
	if err != nil {
		return err
	}
	one := &reread{}
	for k, t := range []*record.Trial{recorded, now, strict} {
		one.counts[k] = t.Counts
		if one.changed[k], err = changedVerdicts(recorded, t); err != nil {
			return err
		}
	}
	row.numbers, r.of[row] = &numbers{counts: recorded.Counts}, one
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
	row, _, err := r.frame.rowOf(spec)
	if err != nil {
		return err
	}
	row.numbers, r.of[row] = &numbers{steps: int32(steps)}, &reread{otherwise: otherwise}
	return nil
}

// Tables returns what came of it: detections scored in three ways, and steps
// counted.
func (r *Rescoring) Tables() []Table {
	r.run.finish()
	r.frame.finish()
	r.frame.short = r.run.short
	reading := func(label string) (k int) {
		for i, t := range readingNames {
			if t.Name == label {
				k = i
			}
		}
		return k
	}
	read := func(key, words string, of func(record.Counts) (num, den int)) *measure {
		return &measure{key: key, words: words, unit: "share", high: 1, each: func(row *Row, label string) (int, int) { return of(r.of[row].counts[reading(label)]) }}
	}
	planned := func(g *Group) (n int) { // of the run, in all regimes where the row is over them
		for s, all := range r.run.groups {
			if s.Condition = ""; g.Regime == "" {
				s.Regime = ""
			}
			if s == g.Setting {
				p := progressOf(all)
				n += p.planned()
			}
		}
		return n
	}
	changed := &measure{key: "changed", words: "verdict changed", unit: "share of entries judged", high: 1, each: func(row *Row, label string) (int, int) {
		k := reading(label)
		return r.of[row].changed[k], r.of[row].counts[k].Judged()
	}}
	detections := r.frame.table(&spec{
		Table: Table{ID: "rescore", Title: "Detection, from the same replies read again", Topic: TopicReplies, Need: "finished " + needDetections,
			About: "The stored replies scored as they were recorded, as today’s parser reads them, and strictly: a verdict that took any repair to read is then no answer. No model was asked."},
		task: record.Detect, by: detectionDims,
		parts: func(*Frame, *Group) (names []string) {
			for _, t := range readingNames {
				names = append(names, t.Name)
			}
			return names
		},
		part: column{label("reading", "reading"), func(g *Group) Cell { return Cell{Label: g.Label, Short: readingNames[reading(g.Label)].Label} }},
		columns: func(*Frame, []*Group) []column {
			return []column{
				{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, Priority: 1}, func(g *Group) Cell { return Cell{Count: len(g.Seeds), Of: planned(g)} }},
				meanOf(read("f1", "F1", f1Of)), meanOf(read("precision", "precision", precisionOf)).hidden(), meanOf(read("recall", "recall", recallOf)).brief(),
				shareOf(read("unanswered", "no answer", func(c record.Counts) (int, int) { return c.Unanswered, c.Judged() })).in("share of entries judged"), shareOf(changed),
			}
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"verdict changed: the share of judgments whose verdict is not the recorded one, an answer that is none now among them; in brackets, where there is room, their number.", noteUnanswered}
		},
	})
	steps := r.frame.table(&spec{
		Table: Table{ID: "rescore-steps", Title: "Navigation: steps that would now be read otherwise", Topic: TopicReplies, Need: "finished " + needWalks,
			About: "The stored replies to steps, read again. Another action would have been another route, so episodes are not scored again: where steps are read otherwise, their results stand for the older parser. Over all regimes."},
		task: record.Navigate, by: []dim{byModel, byModality, byStrategy, byBatch, byFraming, bySize}, over: true, dash: "there is no step to read",
		columns: func(*Frame, []*Group) []column {
			return []column{
				{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count}, func(g *Group) Cell {
					p := progressOf(g)
					return Cell{Count: p.finished, Of: planned(g)}
				}},
				sumOf("steps", "steps", "steps", func(row *Row) int { return int(row.steps) }),
				shareOf(&measure{key: "otherwise", words: "read otherwise", unit: "share of steps", high: 1, of: func(row *Row) (int, int) { return r.of[row].otherwise, int(row.steps) }}),
			}
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"Audits inside episodes are not read again. In brackets, where there is room, the number of steps."}
		},
	})
	lost := func(task string) []string {
		return lostWarnings(r.run.grouped(nil, func(s *Setting) bool { return s.Task == task }, nil), task)
	}
	detections.Warnings, steps.Warnings = lost(record.Detect), lost(record.Navigate)
	return []Table{detections, steps}
}
