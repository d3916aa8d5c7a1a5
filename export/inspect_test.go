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
