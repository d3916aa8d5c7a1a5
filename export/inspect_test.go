package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
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
	plan []record.Spec
}

func newInspectRun() *inspectRun {
	r := &inspectRun{memoryRun: newSample()}
	for _, t := range r.trials {
		r.plan = append(r.plan, t.Spec)
	}
	return r
}

func (r *inspectRun) Manifest() record.Manifest {
	return record.Manifest{Program: "v0.1.0", Created: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Study: json.RawMessage(`{}`)}
}
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
