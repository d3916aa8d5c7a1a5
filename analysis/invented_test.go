package analysis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// An invented run looks like the paper's study on three controls, at a given
// number of seeds. Its numbers are drawn, not measured: a reader that finds
// everything, one that finds nothing, and one in between. Its records are
// consistent: claims, truth and changes are those of its instances.
type invented struct {
	models     []inventedModel
	seeds      int
	episodes   int
	modalities []string // of navigation
	vary       string   // the one thing that an ablation varies, in L1 from text; empty for the study
	fail       float64  // chance that a trial fails
	lose       float64  // chance that a trial has no record
	rng        *rand.Rand
	instances  []record.Instance
	plan       []record.Spec
	trials     []*record.Trial
}

type inventedModel struct {
	name            string
	tpr, fpr, quiet float64 // quiet: chance that a batch is not answered, and a step
	blur            float64 // share of tpr left in vision
	deadly          float64 // chance to die with stale entries in view
}

const mixedName = "ref/mixed?trust=0.7&tpr=0.9&fpr=0.02&vision_tpr=0.55&vision_fpr=0.05&slip=0.02"

var controls = []inventedModel{
	{name: "ref/reader", tpr: 1, blur: 1},
	{name: "ref/believer", deadly: 0.7},
	{name: mixedName, tpr: 0.9, fpr: 0.02, quiet: 0.02, blur: 0.6, deadly: 0.5},
}

func (v *invented) make() *invented {
	v.rng = rand.New(rand.NewPCG(7, 7))
	stale := map[string][2]int{"L1": {5, 7}, "L2": {7, 11}, "L3": {5, 14}}
	for s := range v.seeds {
		seed := 1000 + 137*s%9000
		for _, regime := range []string{"L1", "L2", "L3"} {
			if v.vary != "" && regime != "L1" {
				continue
			}
			lo, hi := stale[regime][0], stale[regime][1]
			in := v.instance(seed, 8, regime, lo+v.rng.IntN(hi-lo+1))
			for _, m := range v.models {
				if v.vary != "" {
					v.ablate(m, in)
					continue
				}
				for _, modality := range []string{record.Text, record.Vision} {
					v.detection(m, in, modality, "omcd", 10, "neutral")
				}
				for _, modality := range v.modalities {
					for _, strategy := range []string{"no-memory", "no-filter", "self-verify", "omcd", "oracle"} {
						v.walks(m, in, modality, strategy, "neutral")
					}
				}
			}
		}
	}
	return v
}

// ablate adds the trials of a study that varies one thing.
func (v *invented) ablate(m inventedModel, in *record.Instance) {
	switch v.vary {
	case "batch":
		for _, batch := range []int{1, 5, 10, 20} {
			v.detection(m, in, record.Text, "omcd", batch, "neutral")
		}
	case "score":
		v.detection(m, in, record.Text, "omcd", 10, "neutral")
		v.detection(m, in, record.Text, "score", 10, "neutral")
	case "framing":
		for _, framing := range []string{"neutral", "trusted", "warned"} {
			v.detection(m, in, record.Text, "omcd", 10, framing)
			v.walks(m, in, record.Text, "omcd", framing)
			v.walks(m, in, record.Text, "no-filter", framing)
		}
	case "sizes":
		for _, side := range []int{8, 16} {
			one := v.instance(in.Seed, side, in.Regime, 6*side*side/64)
			v.detection(m, one, record.Text, "omcd", 10, "neutral")
			v.walks(m, one, record.Text, "omcd", "neutral")
		}
	}
}

// instance makes n cells stale, three of four by thaw; in L3 by six events. It
// is made once for a seed, a regime and a size.
func (v *invented) instance(seed, side int, regime string, n int) *record.Instance {
	for i := range v.instances {
		if in := &v.instances[i]; in.Seed == seed && in.Regime == regime && len(in.Rows) == side {
			return in
		}
	}
	before, after := make([][]byte, side), make([][]byte, side)
	for r := range side {
		before[r], after[r] = slices.Repeat([]byte("F"), side), slices.Repeat([]byte("F"), side)
	}
	last := side - 1
	before[0][0], after[0][0], before[last][last], after[last][last] = 'S', 'S', 'G', 'G'
	in := record.Instance{Seed: seed, Regime: regime}
	cells := v.rng.Perm(side*side - 2)
	for i, cell := range cells[:n+side*side/8] {
		r, c := (cell+1)/side, (cell+1)%side
		switch {
		case i >= n: // a hole that stays
			before[r][c], after[r][c] = 'H', 'H'
		case v.rng.Float64() < 0.74:
			after[r][c] = 'H'
		default:
			before[r][c] = 'H'
		}
		if i < n && regime == "L3" {
			at := 5 * (1 + i*6/n)
			if k := len(in.Events); k == 0 || in.Events[k-1].Step != at {
				in.Events = append(in.Events, record.Event{Step: at})
			}
			e := &in.Events[len(in.Events)-1]
			e.Flips = append(e.Flips, record.Flip{Pos: record.Pos{r, c}, To: string(after[r][c])})
		}
	}
	for r := range side {
		in.Rows, in.RowsAfter = append(in.Rows, string(before[r])), append(in.RowsAfter, string(after[r]))
		for c := range side {
			claim := "SAFE"
			if before[r][c] == 'H' {
				claim = "DANGER"
			}
			in.Memory = append(in.Memory, record.MemoryEntry{ID: fmt.Sprintf("mem_%03d", r*side+c), Pos: record.Pos{r, c}, Claim: claim})
		}
	}
	v.instances = append(v.instances, in)
	return &v.instances[len(v.instances)-1]
}

// holes tells which cells are holes after a number of moves.
func holes(in *record.Instance, moves int) map[record.Pos]bool {
	rows := in.RowsAfter
	if len(in.Events) > 0 {
		rows = in.Rows
	}
	out := map[record.Pos]bool{}
	for r, row := range rows {
		for c := range row {
			out[record.Pos{r, c}] = row[c] == 'H'
		}
	}
	for _, e := range in.Events {
		for _, f := range e.Flips {
			if e.Step <= moves {
				out[f.Pos] = f.To == "H"
			}
		}
	}
	return out
}

func (v *invented) spec(m inventedModel, in *record.Instance, task, modality, strategy string, batch int, framing string, episode int) record.Spec {
	s := record.Spec{Task: task, Model: m.name, Modality: modality, Regime: in.Regime, Seed: in.Seed, Rows: len(in.Rows), Cols: len(in.Rows),
		Strategy: strategy, Batch: batch, Framing: framing, Episode: episode}
	s.Key = fmt.Sprintf("%s-%s-%s-%s-%d-%d-%s-%d-%s-%d", task, m.name, modality, in.Regime, in.Seed, len(in.Rows), strategy, batch, framing, episode)
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

func (v *invented) detection(m inventedModel, in *record.Instance, modality, strategy string, batch int, framing string) {
	t := &record.Trial{Version: record.Version, Spec: v.spec(m, in, record.Detect, modality, strategy, batch, framing, 0), Outcome: record.Done}
	steps := []int{0}
	if len(in.Events) > 0 {
		steps = nil
	}
	for _, e := range in.Events {
		steps = append(steps, e.Step)
	}
	for i, step := range steps {
		t.Windows = append(t.Windows, v.window(m, in, i, step, modality, strategy, batch))
	}
	count(t)
	v.keep(t)
}

func count(t *record.Trial) {
	for _, w := range t.Windows {
		for _, j := range w.Judgments {
			t.Counts.Add(j.Truth, j.Verdict)
		}
	}
}

// window invents an audit: replies of batches, and judgments as good as the
// model is.
func (v *invented) window(m inventedModel, in *record.Instance, index, step int, modality, strategy string, batch int) record.Window {
	tpr := m.tpr
	if modality == record.Vision {
		tpr *= m.blur
	}
	now := holes(in, step)
	w := record.Window{Index: index, Step: step}
	if batch == 0 {
		batch = len(in.Memory)
	}
	for first := 0; first < len(in.Memory); first += batch {
		reply := record.Parsed{Slot: fmt.Sprintf("window%d/batch%d", index, first/batch), Outcome: "answered"}
		x := v.rng.Float64()
		switch {
		case x < m.quiet/2:
			reply.Outcome = "refusal"
		case x < m.quiet:
			reply.Outcome, reply.Repairs = "partial", []string{"embedded", "truncated"}
		case x < 4*m.quiet:
			reply.Repairs = []string{"fence"}
		}
		for i, e := range in.Memory[first:min(first+batch, len(in.Memory))] {
			j := record.Judgment{MemoryID: e.ID, Pos: e.Pos, Claim: e.Claim, Truth: now[e.Pos] != (e.Claim == "DANGER"), Verdict: record.Valid, Repairs: reply.Repairs}
			p := m.fpr
			if j.Truth {
				p = tpr
			}
			if v.rng.Float64() < p {
				j.Verdict = record.Stale
			}
			switch {
			case reply.Outcome == "refusal", reply.Outcome == "partial" && i > 0:
				j.Verdict, j.Repairs = record.Unanswered, nil
			case strategy == "score":
				j.Score = new(float64(v.rng.IntN(6)) / 10)
				if j.Verdict == record.Stale {
					*j.Score += 0.5
				}
			default:
				v.reason(&j, m, now[e.Pos])
			}
			w.Judgments = append(w.Judgments, j)
		}
		w.Replies = append(w.Replies, reply)
	}
	return w
}

// reason invents a reason and a confidence.
func (v *invented) reason(j *record.Judgment, m inventedModel, hole bool) {
	says := "frozen"
	if hole == (j.Truth == (j.Verdict == record.Stale)) { // a wrong verdict comes of a wrong look
		says = "a hole"
	}
	if m.tpr == 0 {
		j.Reason, j.Confidence = "the memory says "+j.Claim, new(1.0)
		return
	}
	j.Reason = fmt.Sprintf("(%d,%d) is %s", j.Pos[0], j.Pos[1], says)
	j.Confidence = new(1.0)
	if m.quiet > 0 {
		switch v.rng.IntN(10) {
		case 0:
			j.Reason, j.Confidence = "Hard to tell, it seems unchanged.", new(0.5)
		case 1:
			j.Reason, j.Confidence = "", nil
		}
	}
}

func (v *invented) walks(m inventedModel, in *record.Instance, modality, strategy, framing string) {
	batch := 0
	if strategy == "omcd" {
		batch = 10
	}
	for episode := range v.episodes {
		t := &record.Trial{Version: record.Version, Spec: v.spec(m, in, record.Navigate, modality, strategy, batch, framing, episode+1)}
		v.walk(t, m, in)
		count(t)
		v.keep(t)
	}
}

// walk invents an episode's audit, steps and end.
func (v *invented) walk(t *record.Trial, m inventedModel, in *record.Instance) {
	deadly := m.deadly
	view, removed := record.MemoryAll, []string(nil)
	switch t.Strategy {
	case "no-memory":
		deadly *= 0.3
		view = record.MemoryNone
	case "self-verify", "omcd":
		deadly *= 1 - 0.8*m.tpr
		w := v.window(m, in, 0, 0, t.Modality, t.Strategy, t.Batch)
		t.Windows = append(t.Windows, w)
		view = record.MemoryFiltered
		for _, j := range w.Judgments {
			if j.Verdict == record.Stale {
				removed = append(removed, j.MemoryID)
			}
		}
	case "oracle":
		deadly *= 0.1
		view = record.MemoryFiltered
	}
	steps := 2*len(in.Rows) - 2 + v.rng.IntN(3)
	switch x := v.rng.Float64(); {
	case x < deadly:
		t.Outcome, steps = record.Death, 3+v.rng.IntN(9)
		v.die(t, in, removed)
	case x < deadly+0.1*m.deadly:
		t.Outcome, steps = record.Timeout, 50
	default:
		t.Outcome = record.Success
	}
	for i := range steps {
		s := record.Step{T: i + 1, Fallback: v.rng.Float64() < m.quiet/5, Memory: view, Removed: removed}
		if s.Fallback {
			s.Reply = []string{"none", "truncated", "undecided"}[v.rng.IntN(3)]
		}
		for _, e := range in.Events {
			if e.Step == i {
				s.Event = e.Flips
			}
		}
		if t.Regime == "L3" && i > 0 && i%5 == 0 && v.rng.Float64() < 0.1 {
			s.Dropped = []record.Flip{{To: "H"}}
		}
		t.Steps = append(t.Steps, s)
	}
}

// die invents a death in one of the holes of the lake after its changes.
func (v *invented) die(t *record.Trial, in *record.Instance, removed []string) {
	var deadly []record.MemoryEntry
	for _, e := range in.Memory {
		if in.RowsAfter[e.Pos[0]][e.Pos[1]] == 'H' {
			deadly = append(deadly, e)
		}
	}
	e := deadly[v.rng.IntN(len(deadly))]
	t.Death = &record.DeathRecord{Pos: e.Pos, MemoryID: &e.ID}
	gone, stale := slices.Contains(removed, e.ID), e.Claim == "SAFE"
	switch {
	case t.Strategy == "no-memory":
		t.Death.MemoryID, t.Death.Cause = nil, record.CauseNoMemory
	case v.rng.IntN(20) == 0:
		t.Death.Cause = record.CauseFallback
	case stale && gone:
		t.Death.Cause = record.CauseStaleRemoved
	case stale:
		t.Death.Cause = record.CauseStaleShown
	case gone:
		t.Death.Cause = record.CauseWarningRemoved
	default:
		t.Death.Cause = record.CauseWarned
	}
}

// collect gathers the run.
func (v *invented) collect(tb testing.TB) *analysis.Frame {
	tb.Helper()
	c := &analysis.Frame{}
	for _, s := range v.plan {
		if _, err := c.Expect(s); err != nil {
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
	return c
}

func (v *invented) all(tb testing.TB) []analysis.Table { return v.collect(tb).Tables() }

// complete is the study as it should be; broken has lost and failed trials
// and both modalities of navigation; named has a model that the paper has;
// ablation varies one thing.
func complete() *invented {
	return (&invented{models: controls, seeds: 50, episodes: 5, modalities: []string{record.Text}}).make()
}

func broken() *invented {
	return (&invented{models: controls, seeds: 6, episodes: 2, modalities: []string{record.Text, record.Vision}, fail: 0.02, lose: 0.03}).make()
}

var gpt4o = inventedModel{name: "openai/gpt-4o", tpr: 0.9, fpr: 0.02, quiet: 0.05, blur: 0.4, deadly: 0.5}

func named() *invented {
	return (&invented{models: []inventedModel{controls[0], gpt4o}, seeds: 6, episodes: 2, modalities: []string{record.Text}, fail: 0.02, lose: 0.02}).make()
}

func ablation(vary string) *invented {
	return (&invented{models: []inventedModel{controls[2], gpt4o}, seeds: 6, episodes: 2, vary: vary, fail: 0.02}).make()
}
