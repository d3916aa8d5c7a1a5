package run

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// Calls bounds the model calls of trials that are alike: exactly for a
// detection, between a least and a most for an episode, whose length is the
// model's.
type Calls struct {
	Task     string     `json:"task"`
	Model    string     `json:"model"`
	Modality string     `json:"modality"`
	Regime   string     `json:"regime"`
	Strategy string     `json:"strategy"`
	Size     study.Size `json:"size"`
	Framing  string     `json:"framing"`
	Batch    int        `json:"batch"`
	Trials   int        `json:"trials"`
	Least    int        `json:"least"` // calls of all the trials together
	Most     int        `json:"most"`
}

// CallsOf counts the calls that the plan's trials will make, grouped by all that
// tells trials apart but seed and episode, in plan order. Asking again for what
// a reply leaves out is in Most.
func CallsOf(s *study.Study) ([]Calls, error) {
	type group struct {
		record.Spec
		by study.Strategy
	}
	worlds := newWorlds(s, 1)
	at := map[group]int{}
	var out []Calls
	for t := range s.Plan() {
		w, err := worlds.get(&t)
		if err != nil {
			return nil, err
		}
		g := group{t.Spec, t.By}
		g.Key, g.Seed, g.Episode = "", 0, 0
		i, ok := at[g]
		if !ok {
			i = len(out)
			at[g] = i
			out = append(out, Calls{
				Task: t.Task, Model: t.Model, Modality: t.Modality, Regime: t.Regime, Strategy: t.Strategy,
				Size: study.Size{Rows: t.Rows, Cols: t.Cols}, Framing: t.Framing, Batch: t.Batch,
			})
		}
		least, most := callsOf(s, &t, w)
		out[i].Trials++
		out[i].Least += least
		out[i].Most += most
	}
	return slices.Clip(out), nil
}

// callsOf bounds the calls of one trial.
func callsOf(s *study.Study, t *study.Trial, w *world) (least, most int) {
	audit := 0 // calls of one audit
	entries := len(w.entries)
	if t.Task == record.Detect {
		entries = len(w.asked)
	}
	switch {
	case t.By.Batches():
		audit = (entries + t.By.Batch - 1) / t.By.Batch
	case t.By.AsksModel(): // all in one call
		audit = 1
	}
	again := audit
	if s.Again && t.By.Auditor != study.AuditTranscript {
		again = 2 * audit
	}
	in := w.Instances[t.Regime]
	if t.Task == record.Detect {
		n := len(in.Windows())
		return n * audit, n * again
	}
	budget := in.Original.StepBudget()
	audits := 1
	if t.By.When == study.OnSight { // at the least what is in view at first, in one call
		return 1 + min(audit, 1), budget + budget*again
	}
	if t.By.When == study.OnEvent {
		for _, e := range in.Events {
			if e.Step < budget {
				audits++
			}
		}
	}
	return 1 + audit, budget + audits*again
}
