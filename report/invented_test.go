package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// An invented run looks like the paper's study on three controls, at a given
// number of seeds. Its numbers are drawn, not measured: a reader that finds
// everything, one that finds nothing, and one in between.
type invented struct {
	models     []inventedModel
	seeds      int
	episodes   int
	modalities []string // of navigation
	fail       float64  // chance that a trial fails
	lose       float64  // chance that a trial has no record
	rng        *rand.Rand
	instances  []record.Instance
	plan       []record.Spec
	trials     []*record.Trial
}

type inventedModel struct {
	name            string
	tpr, fpr, quiet float64 // quiet: chance that an entry is not answered
	blur            float64 // share of tpr left in vision
	deadly          float64 // chance to die with stale entries in view
}

const mixedName = "ref/mixed?trust=0.7&tpr=0.9&fpr=0.02&vision_tpr=0.55&vision_fpr=0.05&slip=0.02"

var controls = []inventedModel{
	{name: "ref/reader", tpr: 1, blur: 1},
	{name: "ref/believer", deadly: 0.7},
	{name: mixedName, tpr: 0.9, fpr: 0.02, quiet: 0.004, blur: 0.6, deadly: 0.5},
}

func (v *invented) make() *invented {
	v.rng = rand.New(rand.NewPCG(7, 7))
	stale := map[string][2]int{"L1": {5, 7}, "L2": {7, 11}, "L3": {5, 14}}
	for s := range v.seeds {
		seed := 1000 + 137*s%9000
		for _, regime := range []string{"L1", "L2", "L3"} {
			lo, hi := stale[regime][0], stale[regime][1]
			n := lo + v.rng.IntN(hi-lo+1)
			v.instances = append(v.instances, inventedInstance(v.rng, seed, regime, n))
			for _, m := range v.models {
				v.detections(m, seed, regime, n)
				v.walks(m, seed, regime)
			}
		}
	}
	return v
}

// inventedInstance makes n cells stale, three of four by thaw.
func inventedInstance(rng *rand.Rand, seed int, regime string, n int) record.Instance {
	before, after := make([][]byte, 8), make([][]byte, 8)
	for r := range 8 {
		before[r], after[r] = []byte("FFFFFFFF"), []byte("FFFFFFFF")
	}
	before[0][0], after[0][0], before[7][7], after[7][7] = 'S', 'S', 'G', 'G'
	for _, cell := range rng.Perm(62)[:n] {
		r, c := (cell+1)/8, (cell+1)%8
		if rng.Float64() < 0.74 {
			after[r][c] = 'H'
		} else {
			before[r][c] = 'H'
		}
	}
	in := record.Instance{Seed: seed, Regime: regime}
	for r := range 8 {
		in.Rows, in.RowsAfter = append(in.Rows, string(before[r])), append(in.RowsAfter, string(after[r]))
	}
	return in
}

func (v *invented) spec(m inventedModel, task, modality, regime, strategy string, seed, episode int) record.Spec {
	s := record.Spec{Task: task, Model: m.name, Modality: modality, Regime: regime, Seed: seed, Rows: 8, Cols: 8,
		Strategy: strategy, Framing: "neutral", Episode: episode}
	if strategy == "omcd" {
		s.Batch = 10
	}
	s.Key = fmt.Sprintf("%s-%s-%s-%s-%d-%s-%d", task, m.name, modality, regime, seed, strategy, episode)
	v.plan = append(v.plan, s)
	return s
}

// keep adds a trial, unless it gets lost; one that fails has no results.
func (v *invented) keep(t *record.Trial) {
	switch {
	case v.rng.Float64() < v.lose:
		return
	case v.rng.Float64() < v.fail:
		t = &record.Trial{Version: record.Version, Spec: t.Spec, Outcome: record.Failed, Error: "invented"}
	}
	v.trials = append(v.trials, t)
}

func (v *invented) detections(m inventedModel, seed int, regime string, stale int) {
	for _, modality := range []string{record.Text, record.Vision} {
		t := &record.Trial{Version: record.Version, Spec: v.spec(m, record.Detect, modality, regime, "omcd", seed, 0), Outcome: record.Done}
		windows := 1
		if regime == "L3" {
			windows = 6
		}
		tpr := m.tpr
		if modality == record.Vision {
			tpr *= m.blur
		}
		for w := range windows {
			win := record.Window{Index: w}
			for i := range 64 {
				j := record.Judgment{Truth: i < stale*(w+1)/windows, Verdict: record.Valid}
				p := m.fpr
				if j.Truth {
					p = tpr
				}
				if v.rng.Float64() < p {
					j.Verdict = record.Stale
				}
				if v.rng.Float64() < m.quiet {
					j.Verdict = record.Unanswered
				}
				t.Counts.Add(j.Truth, j.Verdict)
				win.Judgments = append(win.Judgments, j)
			}
			t.Windows = append(t.Windows, win)
		}
		v.keep(t)
	}
}

func (v *invented) walks(m inventedModel, seed int, regime string) {
	for _, modality := range v.modalities {
		for _, strategy := range []string{"no-memory", "no-filter", "self-verify", "omcd", "oracle"} {
			for episode := range v.episodes {
				t := &record.Trial{Version: record.Version, Spec: v.spec(m, record.Navigate, modality, regime, strategy, seed, episode+1)}
				v.walk(t, m)
				v.keep(t)
			}
		}
	}
}

// walk invents an episode's steps and end.
func (v *invented) walk(t *record.Trial, m inventedModel) {
	deadly := m.deadly
	switch t.Strategy {
	case "no-memory":
		deadly *= 0.3
	case "self-verify", "omcd":
		deadly *= 1 - 0.8*m.tpr
	case "oracle":
		deadly *= 0.1
	}
	steps := 14 + v.rng.IntN(3)
	switch x := v.rng.Float64(); {
	case x < deadly:
		t.Outcome, steps = record.Death, 3+v.rng.IntN(9)
	case x < deadly+0.1*m.deadly:
		t.Outcome, steps = record.Timeout, 50
	default:
		t.Outcome = record.Success
	}
	for i := range steps {
		s := record.Step{T: i + 1, Fallback: v.rng.Float64() < m.quiet}
		if t.Regime == "L3" && i > 0 && i%5 == 0 && v.rng.Float64() < 0.1 {
			s.Dropped = []record.Flip{{To: "H"}}
		}
		t.Steps = append(t.Steps, s)
	}
}

// tables analyses the run.
func (v *invented) tables(tb testing.TB) []analysis.Table {
	tb.Helper()
	var c analysis.Collector
	for _, s := range v.plan {
		if err := c.Expect(s); err != nil {
			tb.Fatal(err)
		}
	}
	for _, in := range v.instances {
		if err := c.AddInstance(in); err != nil {
			tb.Fatal(err)
		}
	}
	for _, t := range v.trials {
		if err := c.AddTrial(t); err != nil {
			tb.Fatal(err)
		}
	}
	return c.Tables()
}

// complete is the study as it should be; broken has lost and failed trials
// and both modalities of navigation.
func complete() *invented {
	return (&invented{models: controls, seeds: 50, episodes: 5, modalities: []string{record.Text}}).make()
}

func broken() *invented {
	return (&invented{models: controls, seeds: 6, episodes: 2, modalities: []string{record.Text, record.Vision}, fail: 0.02, lose: 0.03}).make()
}
