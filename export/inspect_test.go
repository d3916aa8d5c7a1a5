package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// inspectRun adds a manifest, a plan and prompts to a run in memory.
type inspectRun struct {
	*memoryRun
	plan     []record.Spec
	manifest record.Manifest
}

func newInspectRun() *inspectRun {
	r := &inspectRun{memoryRun: newSample(), manifest: record.Manifest{
		Program: "v0.1.0", Created: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Study: json.RawMessage(`{}`), Prompts: map[string]string{},
	}}
	for _, t := range r.trials {
		r.plan = append(r.plan, t.Spec)
	}
	return r
}

func (r *inspectRun) Manifest() record.Manifest                        { return r.manifest }
func (r *inspectRun) Plan() iter.Seq2[record.Spec, error]              { return sequence(r.plan, nil) }
func (r *inspectRun) CallsWithPrompts() iter.Seq2[*record.Call, error] { return r.Calls() }

func logsOf(t *testing.T, dir string) []string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.eval"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	return logs
}

// Sizes stand in the local headers, where the viewer looks for them, and every
// file is JSON.
func TestInspectArchives(t *testing.T) {
	run, dir := newInspectRun(), t.TempDir()
	if err := Inspect(run, dir); err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, path := range logsOf(t, dir) {
		if base := filepath.Base(path); !strings.HasPrefix(base, "2026-11-30T01-02-03+00-00_spatialstale-") || strings.Count(base, "_") != 2 {
			t.Errorf("a log is called %s", base)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if archive.Comment != "" {
			t.Errorf("a comment: %q", archive.Comment)
		}
		names := map[string]bool{}
		for _, f := range archive.File {
			names[f.Name] = true
			if f.Flags&8 != 0 {
				t.Errorf("%s: its sizes stand behind the data", f.Name)
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r) // checks the sum as well
			if err != nil || !json.Valid(body) {
				t.Errorf("%s: %v", f.Name, err)
			}
			if strings.HasPrefix(f.Name, "samples/") {
				samples++
			}
		}
		for _, want := range []string{"_journal/start.json", "_journal/summaries/1.json", "summaries.json", "header.json"} {
			if !names[want] {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
	if samples != len(run.trials) {
		t.Errorf("%d samples of %d trials", samples, len(run.trials))
	}
	again := t.TempDir()
	if err := Inspect(run, again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tree(t, dir), tree(t, again)); d != "" {
		t.Error("other bytes the second time")
	}
	if err := Inspect(run, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an export was overwritten: %v", err)
	}
}

// Inspect's own library reads the logs, and finds what the JSON lines say.
func TestInspectReads(t *testing.T) {
	exe := python(t)
	run, logs, lines := newInspectRun(), filepath.Join(t.TempDir(), "logs"), filepath.Join(t.TempDir(), "lines")
	run.calls[0].InputTokens, run.calls[0].OutputTokens, run.calls[0].CachedTokens = ptr(100), ptr(7), ptr(60)
	run.calls[0].Reasoning, run.calls[0].Finish = "thinking", "length"
	if err := errors.Join(Inspect(run, logs), JSONL(run, lines)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "testdata/read_inspect.py", logs, lines).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A change of the lake is told before the audit that sees it, and once; the
// sample begins with the first call and ends with the last.
func TestInspectOrder(t *testing.T) {
	run := newInspectRun()
	trial := run.trials[1] // its lake changes before step 6, which an audit precedes
	calls := []*record.Call{}
	for _, slot := range []string{"window0/batch0", "step1", "step2", "step3", "step4", "step5", "window1/batch0", "window1/batch1", "step6"} {
		calls = append(calls, &record.Call{Trial: trial.Key, Slot: slot, Reply: slot, Prompt: []record.Part{{Kind: record.PartText, Data: []byte("of " + slot)}}})
	}
	s := newSampleOf(&evalLog{logKey: logKey{trial.Task, trial.Model}}, trial, calls, nil)
	var told []string
	for _, e := range s.Events {
		switch e := e.(type) {
		case spanBegin:
			told = append(told, e.Name)
		case modelEvent:
			told = append(told, "call")
		case infoEvent:
			if data := e.Data.(map[string]any); data["lake changes"] != nil {
				told = append(told, "change")
			} else if data["kept out of the memory view"] != nil {
				told = append(told, "kept out")
			}
		}
	}
	want := strings.Fields("window0 call step1 call step2 call step3 call step4 call step5 call window1 change call call step6")
	want = append(want, "kept out", "call")
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	if got := *s.Input.([]chatMessage)[0].Content.([]content)[0].Text; got != "of window0/batch0" {
		t.Errorf("the input is the prompt %s", got)
	}
	if s.Output.Completion != "step6" {
		t.Errorf("the output is that of %s", s.Output.Completion)
	}
}

// archived returns a file of a log.
func archived[T any](t *testing.T, log, name string) T {
	t.Helper()
	archive, err := zip.OpenReader(log)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	f, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var v T
	if err := json.NewDecoder(f).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// idents are all that Inspect takes for an identity, of a run's logs.
func idents(t *testing.T, run *inspectRun) (runs, all map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	if err := Inspect(run, dir); err != nil {
		t.Fatal(err)
	}
	runs, all = map[string]bool{}, map[string]bool{}
	add := func(id string) {
		if id == "" || all[id] {
			t.Errorf("%q twice, or nothing", id)
		}
		all[id] = true
	}
	for _, log := range logsOf(t, dir) {
		eval := archived[evalHeader](t, log, "header.json").Eval
		runs[eval.RunID] = true
		add(eval.EvalID)
		for _, sum := range archived[[]sampleSummary](t, log, "summaries.json") {
			s := archived[struct {
				UUID     string
				Messages []struct{ ID string }
				Events   []struct{ Event, UUID, ID string }
			}](t, log, fmt.Sprintf("samples/%s_epoch_%d.json", sum.ID, sum.Epoch))
			if sum.UUID != s.UUID {
				t.Errorf("a sample is %s, and %s in the summary", s.UUID, sum.UUID)
			}
			add(s.UUID)
			for _, m := range s.Messages {
				add(m.ID)
			}
			for _, e := range s.Events {
				add(e.UUID)
				if e.Event == "span_begin" {
					add(e.ID)
				}
			}
		}
	}
	return runs, all
}

// Inspect's tables drop a sample, a message or an event whose id they have seen:
// the logs of two runs of one study may lie in one folder. A run keeps its ids
// as it grows, and its logs are one run.
func TestInspectIdentities(t *testing.T) {
	first, second, replay, grown := newInspectRun(), newInspectRun(), newInspectRun(), newInspectRun()
	second.manifest.Created = first.manifest.Created.Add(time.Nanosecond)
	replay.manifest.ReplayedFrom = []record.Origin{{Run: "first", Created: first.manifest.Created}}
	grown.manifest.Study, grown.manifest.Program, grown.manifest.Trials = json.RawMessage(`{"name": "larger"}`), "v0.2.0", 99
	runs, seen := idents(t, first)
	if len(runs) != 1 {
		t.Errorf("one run is %d", len(runs))
	}
	for _, other := range []*inspectRun{second, replay} {
		otherRuns, all := idents(t, other)
		for id := range all {
			if seen[id] || runs[id] {
				t.Errorf("%s is in both runs", id)
			}
		}
		if len(otherRuns) != 1 {
			t.Errorf("one run is %d", len(otherRuns))
		}
	}
	if _, all := idents(t, grown); !maps.Equal(all, seen) {
		t.Error("a run has other ids after it has grown")
	}
}

// Different trials are different samples, whatever their strategies are called;
// a name that nothing else would have stays as it reads.
func TestInspectSampleIDs(t *testing.T) {
	plain := record.Spec{Task: "detect", Model: "m", Modality: "text", Regime: "L1", Seed: 7, Rows: 8, Cols: 8, Strategy: "omcd", Batch: 10, Framing: "neutral"}
	with := func(strategy string, batch int, framing string) record.Spec {
		s := plain
		s.Strategy, s.Batch, s.Framing = strategy, batch, framing
		return s
	}
	var ids sampleIDs
	specs := []record.Spec{
		plain, with("omcd", 10, "warned"), with("omcd_warned", 10, "neutral"), with("x_b5", 10, "neutral"), with("x", 5, "neutral"),
		with("x_epoch_y", 10, "neutral"), with("x-epoch-y", 10, "neutral"), with("a/b", 10, "neutral"), with("a_epoch__epoch_b", 10, "neutral"),
	}
	for i := range specs {
		ids.add(&specs[i])
	}
	if err := ids.settle(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range specs {
		id := ids.of(&specs[i])
		if seen[id] || strings.Contains(id, "/") || strings.Contains(id, "_epoch_") || id != ids.list[i] {
			t.Errorf("a sample is called %q", id)
		}
		seen[id] = true
	}
	for i, want := range map[int]string{0: "seed7_L1_text_omcd", 7: "seed7_L1_text_a-b"} {
		if ids.list[i] != want {
			t.Errorf("%s, want %s", ids.list[i], want)
		}
	}
	again := plain
	again.Key = "another"
	ids = sampleIDs{}
	ids.add(&plain)
	ids.add(&again)
	if err := ids.settle(); err == nil || !strings.Contains(err.Error(), "trial another") {
		t.Errorf("two trials are one sample: %v", err)
	}
}

// An audit in which an episode failed stands where it was made, and before it
// what was to change on the lake.
func TestInspectFailedAudit(t *testing.T) {
	run := newInspectRun()
	whole := run.trials[1]
	trial := &record.Trial{Version: 1, Spec: whole.Spec, Outcome: record.Failed, Error: "m at window1/batch1: no answer", Windows: whole.Windows[:1]}
	calls := []*record.Call{}
	for _, slot := range []string{"window0/batch0", "step1", "step2", "step3", "step4", "step5", "window1/batch0"} {
		calls = append(calls, &record.Call{Trial: trial.Key, Slot: slot, Reply: slot})
	}
	s := newSampleOf(&evalLog{logKey: logKey{trial.Task, trial.Model}}, trial, calls, &run.instances[1])
	var told []string
	for _, e := range s.Events {
		switch e := e.(type) {
		case spanBegin:
			told = append(told, e.Name)
		case infoEvent:
			if flips := e.Data.(map[string]any)["lake changes"]; flips != nil {
				told = append(told, fmt.Sprint("change ", flips))
			}
		case errorEvent:
			told = append(told, e.Error.Message)
		}
	}
	want := strings.Fields("window0 step1 step2 step3 step4 step5 window1")
	want = append(want, "change [{[2 0] H} {[2 3] F}]", trial.Error)
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	if s.Output.Completion != "window1/batch0" {
		t.Errorf("the output is that of %s", s.Output.Completion)
	}
}

// A log's status is what Inspect would give it, and its viewer finds the words
// of an error where it looks for them.
func TestInspectStatus(t *testing.T) {
	const failure = "ref/mixed at step2: timeout: no answer in 60 s"
	for status, change := range map[string]func(*inspectRun){
		"error":     func(*inspectRun) {},
		"cancelled": func(r *inspectRun) { r.trials = append(r.trials[:2:2], r.trials[3:]...) }, // one failed, and one has not ended
		"success": func(r *inspectRun) {
			last := len(r.trials) - 1
			r.trials, r.plan = r.trials[:last], r.plan[:last]
		},
	} {
		run, dir := newInspectRun(), t.TempDir()
		change(run)
		if err := Inspect(run, dir); err != nil {
			t.Fatal(err)
		}
		for _, log := range logsOf(t, dir) {
			h := archived[evalHeader](t, log, "header.json")
			if strings.Contains(log, "detect") {
				if h.Status != "success" || h.Error != nil {
					t.Errorf("no detection failed, and its log is %s: %v", h.Status, h.Error)
				}
				continue
			}
			if h.Status != status || (h.Error != nil) != (status == "error") {
				t.Errorf("the log is %s with the error %v, want %s", h.Status, h.Error, status)
			}
			if words := "1 of 5 trials failed; the first: " + failure; h.Error != nil && *h.Error != *newEvalError(words) {
				t.Errorf("the log's error is %+v", h.Error)
			}
			if status != "error" {
				continue
			}
			s := archived[struct {
				Error  evalError
				Events []struct{ Error *evalError }
			}](t, log, "samples/seed1734_L1_text_no-memory_4x4_epoch_4.json")
			if want := (evalError{failure, failure, failure}); s.Error != want || *s.Events[len(s.Events)-1].Error != want {
				t.Errorf("the sample's error is %+v", s)
			}
		}
	}
}

// Contents have the fields of their kind, also when a text is empty.
func TestInspectContents(t *testing.T) {
	for _, c := range []struct {
		is   content
		want string
	}{
		{textContent(""), `{"type":"text","text":""}`},
		{reasoningContent(""), `{"type":"reasoning","reasoning":""}`},
		{content{Type: "image", Image: "attachment://0f", Detail: "auto"}, `{"type":"image","image":"attachment://0f","detail":"auto"}`},
	} {
		if got, err := json.Marshal(c.is); err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}

// What a run asked of its model, and how sure the model was, are in its logs:
// without them nobody could tell two temperatures apart.
func TestInspectTellsWhatWasAsked(t *testing.T) {
	manifest := record.Manifest{
		Study: json.RawMessage(`{"params": {"temperature": 0, "top_p": 0.9, "max_tokens": 700, "thinking": 64, "logprobs": true}}`),
		Models: []record.ModelInfo{
			{Name: "a"}, {Name: "ref/mixed", Control: true},
			{Name: "b", Settings: &record.ModelSettings{ExtraBody: json.RawMessage(`{"min_p":0.1}`)},
				Changes: []record.ParamChange{{Param: "temperature"}, {Param: "max_tokens", Instead: "max_completion_tokens"}}},
		},
	}
	for model, want := range map[string]string{
		"a":         `{"logprobs":true,"max_tokens":700,"reasoning_tokens":64,"temperature":0,"top_p":0.9}`,
		"b":         `{"extra_body":{"min_p":0.1},"logprobs":true,"max_tokens":700,"reasoning_tokens":64,"top_p":0.9}`,
		"ref/mixed": `{}`,
	} {
		config, err := generateConfig(&manifest, model)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(config); err != nil || string(got) != want {
			t.Errorf("%s was asked with %s, %v; want %s", model, got, err, want)
		}
	}
	manifest.Study = json.RawMessage(`{"params": 7}`)
	if _, err := generateConfig(&manifest, "a"); err == nil {
		t.Error("a study that cannot be read is passed over")
	}

	run, dir := newInspectRun(), t.TempDir()
	spec := run.plan[0]
	run.manifest.Study, run.manifest.Models = json.RawMessage(`{"params": {"temperature": 0}}`), []record.ModelInfo{{Name: spec.Model}}
	if err := Inspect(run, dir); err != nil {
		t.Fatal(err)
	}
	said, timed := 0, 0
	for _, path := range logsOf(t, dir) {
		archive, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			in.Close()
			if f.Name == "header.json" {
				said += strings.Count(string(text), `"model_generate_config":{"temperature":0}`)
			}
			if strings.HasPrefix(f.Name, "samples/") {
				said += strings.Count(string(text), `"config":{"temperature":0}`)
				timed += strings.Count(string(text), `"metadata":{"timings":{"prompt_tokens":`)
			}
		}
		archive.Close()
	}
	if said < 2 {
		t.Errorf("the temperature is in %d places of the logs, want the header and each call", said)
	}
	if timed == 0 {
		t.Error("the server's own times are in no log")
	}
}

// The probabilities stand at the verdict's own token; one that the server did
// not give for what was said is not made up.
func TestInspectLogprobs(t *testing.T) {
	const reply = `[{"is_stale": true}, {"is_stale": false}, {"is_stale": true}]`
	at := func(word string, from int) int { return from + strings.Index(reply[from:], word) }
	first := at("true", 0)
	c := &record.Call{Reply: reply, Booleans: []record.Boolean{
		{At: first, True: ptr(-0.1), False: ptr(-2.5)}, {At: at("false", 0), False: ptr(-0.2)}, {At: at("true", first+1), False: ptr(-3.0)}, {At: 900, True: ptr(-1.0)},
	}}
	got, err := json.Marshal(logprobsOf(c))
	want := `{"content":[{"token":"true","logprob":-0.1,"top_logprobs":[{"token":"true","logprob":-0.1},{"token":"false","logprob":-2.5}]},` +
		`{"token":"false","logprob":-0.2,"top_logprobs":[{"token":"false","logprob":-0.2}]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if logprobsOf(&record.Call{Reply: reply}) != nil {
		t.Error("a call without probabilities has some")
	}
}

// A reply that was cut behind its last verdict is no failure to answer.
func TestInspectAnsweredThenCut(t *testing.T) {
	for verdict, want := range map[string]string{record.Valid: "answered, then cut", record.Unanswered: "truncated"} {
		trial := &record.Trial{Spec: record.Spec{Key: "k", Task: record.Detect, Model: "m", Batch: 10}, Outcome: record.Done, Windows: []record.Window{{
			Judgments: []record.Judgment{{MemoryID: "mem_000", Verdict: verdict}}, Replies: []record.Parsed{{Slot: "window0/batch0", Outcome: "truncated"}}}}}
		s := newSampleOf(&evalLog{logKey: logKey{trial.Task, trial.Model}}, trial, []*record.Call{{Trial: "k", Slot: "window0/batch0"}}, nil)
		var told any
		for _, e := range s.Events {
			if info, ok := e.(infoEvent); ok && info.Data.(map[string]any)["reply"] != nil {
				told = info.Data.(map[string]any)["reply"]
			}
		}
		if told != want {
			t.Errorf("with the entry %s the reply is called %v, want %s", verdict, told, want)
		}
	}
}
