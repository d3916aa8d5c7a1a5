package export

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// memoryRun is a run that a test holds in memory.
type memoryRun struct {
	instances []record.Instance
	trials    []*record.Trial
	calls     []*record.Call
	err       error // comes after everything else
}

func sequence[T any](all []T, last error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
		if last != nil {
			var zero T
			yield(zero, last)
		}
	}
}

func (r *memoryRun) Instances() iter.Seq2[record.Instance, error] { return sequence(r.instances, nil) }
func (r *memoryRun) Trials() iter.Seq2[*record.Trial, error]      { return sequence(r.trials, nil) }
func (r *memoryRun) Calls() iter.Seq2[*record.Call, error]        { return sequence(r.calls, r.err) }

func ptr[T any](v T) *T { return &v }

var (
	before  = []string{"SFFF", "FHFH", "FFFH", "HFFG"}
	afterL1 = []string{"SFFF", "FFFH", "FFHH", "HFFG"}
	afterL3 = []string{"SFFF", "FHFH", "HFFF", "HFFG"}
)

// newSample is a small run on a lake of 4 by 4 with all that can happen: two
// regimes, a detection with every verdict, episodes with each outcome.
func newSample() *memoryRun {
	r := &memoryRun{instances: []record.Instance{
		{Seed: 1734, Regime: "L1", Rows: before, RowsAfter: afterL1, Memory: entries()},
		{Seed: 1734, Regime: "L3", Rows: before, RowsAfter: afterL3, Memory: entries(), Events: []record.Event{
			{Step: 5, Flips: []record.Flip{{Pos: record.Pos{2, 0}, To: "H"}, {Pos: record.Pos{2, 3}, To: "F"}}},
		}},
	}}
	spec := record.Spec{Model: "ref/mixed?trust=0.5&tpr=0.8&fpr=0.1", Modality: record.Text, Regime: "L1", Seed: 1734, Rows: 4, Cols: 4, Strategy: "omcd", Batch: 10, Framing: "neutral"}
	r.detection(spec)
	r.death(spec)
	r.others(spec)
	return r
}

func entries() []record.MemoryEntry {
	var all []record.MemoryEntry
	for i := range 16 {
		p := record.Pos{i / 4, i % 4}
		claim, words := "SAFE", "Frozen ice - safe to walk"
		switch before[p[0]][p[1]] {
		case 'H':
			claim, words = "DANGER", "Hole - dangerous, do not step"
		case 'S':
			words = "Start - safe to stand on"
		case 'G':
			words = "Goal - safe, the place to reach"
		}
		all = append(all, record.MemoryEntry{ID: fmt.Sprintf("mem_%03d", i), Pos: p, Claim: claim, Text: fmt.Sprintf("%s at (%d,%d): %s", claim, p[0], p[1], words), Visited: i%3 == 0})
	}
	return all
}

func (r *memoryRun) detection(spec record.Spec) {
	spec.Key, spec.Task = "1f0c8d52a1b94e07", record.Detect
	t := &record.Trial{Version: 1, Spec: spec, Outcome: record.Done}
	w := record.Window{}
	for i, e := range entries() {
		j := record.Judgment{MemoryID: e.ID, Pos: e.Pos, Claim: e.Claim, Truth: before[e.Pos[0]][e.Pos[1]] != afterL1[e.Pos[0]][e.Pos[1]], Verdict: record.Valid, Confidence: ptr(0.95), Reason: "The cell is as remembered."}
		switch i {
		case 5:
			j.Verdict, j.Confidence, j.Reason, j.Repairs = record.Stale, ptr(1.0), "remembered <hole>, now \"F\"", []string{"fence", "json-repair"}
		case 7:
			j.Verdict, j.Reason = record.Stale, "It looks frozen now."
		case 10, 12:
			j.Verdict, j.Confidence, j.Reason = record.Unanswered, nil, ""
		}
		t.Counts.Add(j.Truth, j.Verdict)
		w.Judgments = append(w.Judgments, j)
	}
	w.Replies = []record.Parsed{{Slot: "window0/batch0", Outcome: "answered", Repairs: []string{"fence", "json-repair"}}, {Slot: "window0/batch1", Outcome: "unparsed"}}
	t.Windows = []record.Window{w}
	r.trials = append(r.trials, t)
	r.call(t.Key, "window0/batch0", "audit", "```json\n{\"judgments\": [{\"memory_id\": \"mem_005\", \"is_stale\": true,}]}\n```", nil, nil)
	r.call(t.Key, "window0/batch1", "audit", "not UTF-8: \xff\x00", ptr(912), ptr(48))
}

// walk moves through a lake and returns the steps.
func walk(rows []string, memory string, moves ...string) []record.Step {
	var steps []record.Step
	at := record.Pos{}
	for i, move := range moves {
		next := at
		switch move {
		case "RIGHT":
			next[1] = min(next[1]+1, 3)
		case "LEFT":
			next[1] = max(next[1]-1, 0)
		case "DOWN":
			next[0] = min(next[0]+1, 3)
		case "UP":
			next[0] = max(next[0]-1, 0)
		}
		steps = append(steps, record.Step{T: i + 1, Pos: at, Action: move, Next: next, Cell: rows[next[0]][next[1] : next[1]+1], Memory: memory})
		at = next
	}
	return steps
}

// death is an episode that walks onto a cell whose thaw its audit has missed.
func (r *memoryRun) death(spec record.Spec) {
	spec.Key, spec.Task, spec.Regime, spec.Episode = "9be27a40c3d15f68", record.Navigate, "L3", 1
	t := &record.Trial{Version: 1, Spec: spec, Outcome: record.Death}
	for index, step := range []int{0, 5} {
		w := record.Window{Index: index, Step: step, Replies: []record.Parsed{{Slot: fmt.Sprintf("window%d/batch0", index), Outcome: "answered"}}}
		for _, e := range entries() {
			j := record.Judgment{MemoryID: e.ID, Pos: e.Pos, Claim: e.Claim, Verdict: record.Valid, Confidence: ptr(0.9), Reason: "The cell is as remembered."}
			if index == 1 {
				j.Truth = e.ID == "mem_008"
				if e.ID == "mem_003" || e.ID == "mem_011" {
					j.Verdict = record.Stale
				}
			}
			t.Counts.Add(j.Truth, j.Verdict)
			w.Judgments = append(w.Judgments, j)
		}
		t.Windows = append(t.Windows, w)
	}
	t.Steps = walk(afterL3, record.MemoryFiltered, "RIGHT", "LEFT", "DOWN", "UP", "DOWN", "DOWN")
	last := &t.Steps[5]
	last.Event = []record.Flip{{Pos: record.Pos{2, 0}, To: "H"}}
	last.Dropped = []record.Flip{{Pos: record.Pos{2, 3}, To: "F"}}
	last.Removed = []string{"mem_003", "mem_011"}
	for _, s := range t.Steps {
		r.call(t.Key, fmt.Sprintf("step%d", s.T), "step", `{"action": "`+s.Action+`"}`, nil, nil)
	}
	t.Death = &record.DeathRecord{Pos: last.Next, MemoryID: ptr("mem_008"), Cause: record.CauseStaleShown}
	r.trials = append(r.trials, t)
}

// others are episodes without memory, one for each outcome.
func (r *memoryRun) others(spec record.Spec) {
	spec.Task, spec.Strategy, spec.Batch = record.Navigate, "no-memory", 0
	for i, outcome := range []string{record.Success, record.Timeout, record.Death, record.Failed} {
		spec.Key, spec.Episode = fmt.Sprintf("42d07e1b6f8a539%d", i), i+1
		t := &record.Trial{Version: 1, Spec: spec, Outcome: outcome}
		switch outcome {
		case record.Success:
			t.Steps = walk(afterL1, record.MemoryNone, "DOWN", "DOWN", "RIGHT", "DOWN", "RIGHT", "RIGHT")
		case record.Timeout:
			t.Steps = walk(afterL1, record.MemoryNone, slices.Repeat([]string{"UP"}, 22)...)
		case record.Death:
			t.Steps = walk(afterL1, record.MemoryNone, "DOWN", "RIGHT", "RIGHT", "DOWN")
			t.Steps[2].Fallback = true
			t.Death = &record.DeathRecord{Pos: record.Pos{2, 2}, Cause: record.CauseNoMemory}
		case record.Failed:
			t.Steps = walk(afterL1, record.MemoryNone, "DOWN")
			t.Error = "ref/mixed at step2: timeout: no answer in 60 s"
		}
		r.trials = append(r.trials, t)
	}
}

func (r *memoryRun) call(trial, slot, purpose, reply string, in, out *int) {
	var timings *record.Timings // of a server that counts
	if in != nil && out != nil {
		timings = &record.Timings{PromptTokens: *in, OutputTokens: *out, Prompt: 345678 * time.Microsecond, Output: 600 * time.Millisecond}
	}
	r.calls = append(r.calls, &record.Call{Timings: timings,
		Trial: trial, Slot: slot, Purpose: purpose, Model: "ref/mixed?trust=0.5&tpr=0.8&fpr=0.1", PromptSHA256: sha256.Sum256([]byte(slot)),
		Reply: reply, Finish: "stop", InputTokens: in, OutputTokens: out, Latency: time.Duration(len(r.calls)*1000)*time.Millisecond + 12345678,
	})
}
