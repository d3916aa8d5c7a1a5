package study

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// Calls bounds the model calls of trials that are alike: exactly for a
// detection, between a least and a most for an episode, whose length is the
// model's.
type Calls struct {
	Task     string `json:"task"`
	Model    string `json:"model"`
	Modality string `json:"modality"`
	Regime   string `json:"regime"`
	Strategy string `json:"strategy"`
	Size     Size   `json:"size"`
	Framing  string `json:"framing"`
	Batch    int    `json:"batch"`
	Trials   int    `json:"trials"`
	Least    int    `json:"least"` // calls of all the trials together
	Most     int    `json:"most"`
}

// Calls counts the calls that the plan's trials will make, grouped by all that
// tells trials apart but seed and episode, in plan order. Asking again for what
// a reply leaves out is in Most.
func (s *Study) Calls() ([]Calls, error) {
	type group struct {
		record.Spec
		by Strategy
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
				Size: Size{t.Rows, t.Cols}, Framing: t.Framing, Batch: t.Batch,
			})
		}
		least, most := s.callsOf(&t, w)
		out[i].Trials++
		out[i].Least += least
		out[i].Most += most
	}
	return slices.Clip(out), nil
}

// callsOf bounds the calls of one trial.
func (s *Study) callsOf(t *Trial, w *world) (least, most int) {
	audit := 0 // calls of one audit
	switch {
	case t.By.batches():
		audit = (len(w.entries) + t.By.Batch - 1) / t.By.Batch
	case t.By.Auditor == AuditWholeStore:
		audit = 1
	}
	again := audit
	if s.Again {
		again = 2 * audit
	}
	in := w.instances[t.Regime]
	if t.Task == record.Detect {
		n := len(in.Windows())
		return n * audit, n * again
	}
	budget := in.Original.StepBudget()
	audits := 1
	if t.By.When == OnEvent {
		for _, e := range in.Events {
			if e.Step < budget {
				audits++
			}
		}
	}
	return 1 + audit, budget + audits*again
}
