package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A sample is a small run with everything that is hard to keep: replies that are
// no UTF-8, a NUL, empty and missing values, pictures, repeated texts, a trial
// that failed and one that never ended.
type sample struct {
	manifest  record.Manifest
	plan      []record.Spec
	instances []record.Instance
	trials    []*record.Trial // in the plan's order
	calls     []*record.Call  // in the order in which Calls returns them
}

func ptr[T any](v T) *T { return &v }

func picture(content string) record.Part {
	return record.Part{Sum: sha256.Sum256([]byte("pixels" + content)), Kind: record.PartPNG, Data: []byte("\x89PNG\r\n\x1a\n" + content)}
}

func newSample() *sample {
	spec := func(key, task, regime string, seed, episode int) record.Spec {
		return record.Spec{
			Key: key, Task: task, Model: "ref/mixed?trust=0.5&tpr=1", Modality: record.Vision, Regime: regime, Seed: seed,
			Rows: 4, Cols: 5, Strategy: "omcd", Batch: 10, Framing: "neutral", Episode: episode,
		}
	}
	s := &sample{
		manifest: record.Manifest{
			Version: record.Version, Program: "v0.1.0", Go: "go1.26", Created: time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC),
			Study:  json.RawMessage(`{"name":"a < b & c","seeds":[1,2]}`),
			Models: []record.ModelInfo{{Name: "ref/mixed?trust=0.5&tpr=1", Control: true, Note: "a knob"}},
			Trials: 4,
		},
		plan: []record.Spec{
			spec("zz", record.Detect, "L3", 2, 0), spec("aa", record.Navigate, "L1", 1, 1),
			spec("mm", record.Navigate, "L2", 1, 2), spec("bb", record.Detect, "L1", 9, 0),
		},
		instances: []record.Instance{
			{
				Seed: 2, Regime: "L3", Rows: []string{"SFFFF", "FHFFF", "FFFFF", "FFFFG"}, RowsAfter: []string{"SFFFF", "FFFFF", "FFFFF", "FHFFG"},
				Events: []record.Event{{Step: 5, Flips: []record.Flip{{Pos: record.Pos{1, 1}, To: "F"}, {Pos: record.Pos{3, 1}, To: "H"}}}},
				Memory: []record.MemoryEntry{{ID: "mem_000", Claim: "SAFE", Text: "SAFE at (0,0): Start", Visited: true}, {ID: "mem_006", Pos: record.Pos{1, 1}, Claim: "DANGER", Text: "DANGER at (1,1): Hole"}},
			},
			{Seed: 1, Regime: "L1", Rows: []string{"SFFF"}, RowsAfter: []string{"SFFF"}, Events: []record.Event{}, Memory: []record.MemoryEntry{}},
		},
	}
	s.addDetection()
	s.addEpisode()
	s.trials = append(s.trials, &record.Trial{Version: 1, Spec: s.plan[2], Outcome: record.Failed, Error: "ref/x: timeout: \xff gone"})
	s.call("bb", "window0/batch0", "audit", "this trial never ended", textPart("audit"))
	return s
}

func (s *sample) addDetection() {
	t := &record.Trial{Version: 1, Spec: s.plan[0], Outcome: record.Done, Counts: record.Counts{TP: 1, FP: 2, FN: 3, TN: 4, Unanswered: 2}}
	for w := range 2 {
		t.Windows = append(t.Windows, record.Window{
			Index: w, Step: 5 * (w + 1), Visible: []string{"11100", "00111"},
			Judgments: []record.Judgment{
				{MemoryID: "mem_000", Claim: "SAFE", Verdict: record.Valid, Confidence: ptr(0.9), Reason: "<\"quoted\"> & \\ \x00 \u2028 \U0001f9ca"},
				{MemoryID: "mem_006", Pos: record.Pos{1, 1}, Claim: "DANGER", Truth: true, Verdict: record.Stale, Score: ptr(0.0), Confidence: ptr(0.9), Repairs: []string{"fence", "comma"}, StaleLogprob: ptr(-0.01), ValidLogprob: ptr(-4.6)},
				{MemoryID: "mem_019", Pos: record.Pos{3, 4}, Claim: "SAFE", Verdict: record.Unanswered},
			},
			Replies: []record.Parsed{{Slot: "window0/batch0", Outcome: "partial", Repairs: []string{"fence"}, UnknownIDs: 3}},
		})
	}
	s.trials = append(s.trials, t)
	same := picture("a lake")
	for _, slot := range []string{"window0/batch0", "window0/batch1", "window0/batch1/again", "window0/batch10", "window1/batch0"} {
		s.call("zz", slot, "audit", "reply \xff\xfe\x00 to "+slot, textPart("audit"), same, textPart("entries of "+slot))
	}
	c := s.calls[len(s.calls)-1]
	c.Reasoning, c.ServerModel, c.InputTokens, c.OutputTokens = "thinking \x80", "mixed-2026", ptr(0), ptr(1234567)
	c.CachedTokens, c.CacheWriteTokens, c.ReasoningTokens = ptr(0), ptr(7), ptr(1234566)
	c.Booleans = []record.Boolean{{At: 17, True: ptr(-0.25), False: ptr(-1.5)}, {At: 99, False: ptr(0.0)}}
}

func (s *sample) addEpisode() {
	t := &record.Trial{
		Version: 1, Spec: s.plan[1], Outcome: record.Death,
		Steps: []record.Step{
			{T: 1, Action: "DOWN", Next: record.Pos{1, 0}, Cell: "F", Event: []record.Flip{}, Dropped: []record.Flip{{Pos: record.Pos{0, 1}, To: "H"}}, Memory: record.MemoryAll, Removed: []string{}},
			{T: 2, Pos: record.Pos{1, 0}, Action: "RIGHT", Next: record.Pos{1, 1}, Cell: "H", Fallback: true, Memory: record.MemoryFiltered, Removed: []string{"mem_006"}, Visible: []string{"1"}, Reply: "refusal"},
		},
		Death: &record.DeathRecord{Pos: record.Pos{1, 1}, MemoryID: ptr("mem_006"), Cause: record.CauseFallback},
	}
	s.trials = append(s.trials, t)
	s.call("aa", "window0/batch0", "audit", "", textPart("audit"))
	s.call("aa", "step1", "step", `{"action": "DOWN"}`, textPart("walk"), textPart("here"), textPart("walk"))
	s.call("aa", "step2", "step", `{"action": "DOWN"}`, textPart("walk"), textPart("there"), textPart("walk"))
	s.call("aa", "window1/batch0", "audit", "", textPart("audit"), textPart(""))
	s.call("aa", "step10", "step", "I cannot help with that.")
	s.calls[len(s.calls)-1].PromptSHA256 = sha256.Sum256([]byte("not that of its parts"))
}

func (s *sample) call(trial, slot, purpose, reply string, prompt ...record.Part) {
	if prompt == nil {
		prompt = []record.Part{}
	}
	s.calls = append(s.calls, &record.Call{
		Trial: trial, Slot: slot, Purpose: purpose, Model: "ref/mixed?trust=0.5&tpr=1", Prompt: prompt, PromptSHA256: promptSum(prompt),
		Reply: reply, Finish: "stop", Latency: time.Duration(len(s.calls)) * 1234567,
	})
}

func (s *sample) create(t *testing.T) (*Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "first")
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, dir
}

// write writes the whole sample, trials in the order given.
func (s *sample) write(t *testing.T, w *Writer, order ...int) {
	t.Helper()
	ctx := context.Background()
	for _, call := range s.calls {
		if err := w.Call(ctx, call); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range order {
		if err := w.Trial(ctx, s.trials[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the folder of a finished sample.
func (s *sample) written(t *testing.T) string {
	t.Helper()
	w, dir := s.create(t)
	s.write(t, w, 0, 1, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
