package export

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the files in testdata anew")

var allNames = []string{InstancesName, TrialsName, JudgmentsName, StepsName, CallsName}

// files returns what a folder holds, with hidden files and folders.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// Other programs rely on every byte of these.
func TestGolden(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := JSONL(newSample(), dir); err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	if *update {
		for name, text := range got {
			if err := os.WriteFile(filepath.Join("testdata", name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range allNames {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("it also left %v", got)
	}
}

// A stored run exports as the records that went into it, whatever order its
// trials ended in.
func TestExportOfAStoredRun(t *testing.T) {
	want := filepath.Join(t.TempDir(), "want")
	if err := JSONL(newSample(), want); err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]int{"in the plan's order": 1, "in another order": 5} {
		t.Run(name, func(t *testing.T) {
			got := filepath.Join(t.TempDir(), "got")
			r, err := store.Open(storeSample(t, step))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := JSONL(r, got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(files(t, want), files(t, got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// storeSample writes the sample, taking every step-th trial around the plan.
func storeSample(t *testing.T, step int) string {
	t.Helper()
	s := newSample()
	var plan []record.Spec
	for _, trial := range s.trials {
		plan = append(plan, trial.Spec)
	}
	dir := filepath.Join(t.TempDir(), "run")
	w, err := store.Create(dir, record.Manifest{}, slices.Values(plan), s.instances, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx := context.Background()
	for i := range plan {
		trial := s.trials[i*step%len(plan)]
		for _, c := range s.calls {
			if c.Trial != trial.Key {
				continue
			}
			if err := w.Call(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Trial(ctx, trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A failing export leaves nothing, and one that is refused leaves everything.
func TestFailures(t *testing.T) {
	broken := newSample()
	broken.err = errors.New("blob 7 cannot be read")
	put := func(path string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			path := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("precious"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func(*testing.T, string) {}
	tests := []struct {
		name   string
		run    *memoryRun
		before func(t *testing.T, root string)
		want   error
		words  string
	}{
		{"the run cannot be read", broken, nothing, broken.err, "blob 7"},
		{"the run cannot be read, the folder was there", broken, put("out/notes.txt"), broken.err, "blob 7"},
		{"an export is there", newSample(), put("out/trials.jsonl"), fs.ErrExist, "an export never overwrites; choose another folder"},
		{"the last file is there", newSample(), put("out/calls.jsonl"), fs.ErrExist, "calls.jsonl"},
		{"a file in the folder's place", newSample(), put("out"), nil, "is a file, choose another folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			test.before(t, root)
			list := func() (all []string) {
				err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
					all = append(all, path)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			before := list()
			err := JSONL(test.run, filepath.Join(root, "out"))
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v; want %v and the words %q", err, test.want, test.words)
			}
			if d := cmp.Diff(before, list()); d != "" {
				t.Errorf("it left traces:\n%s", d)
			}
		})
	}
}

// An export goes into a folder with other files, beside them.
func TestFolderWithOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := JSONL(&memoryRun{}, dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"notes.txt": "mine"}
	for _, name := range allNames {
		want[name] = ""
	}
	if d := cmp.Diff(want, files(t, dir)); d != "" {
		t.Error(d)
	}
}

// The names and their order are the format; docs/export.md lists the same.
var fields = map[string][]string{
	InstancesName: {"seed", "regime", "rows", "rows_after", "events", "memory"},
	TrialsName: {"trial", "task", "model", "modality", "regime", "seed", "strategy", "batch", "framing", "episode", "outcome", "reward", "steps",
		"tp", "fp", "fn", "tn", "unanswered", "precision", "recall", "f1", "death", "fallbacks", "dropped_flips", "rows", "cols", "error"},
	JudgmentsName: {"trial", "window", "step", "memory_id", "pos", "claim", "truth", "verdict", "score", "confidence", "reason", "repaired", "repairs", "stale_logprob", "valid_logprob", "auditor"},
	StepsName:     {"trial", "t", "pos", "action", "next", "cell", "fallback", "event", "dropped", "memory", "removed"},
	CallsName:     {"trial", "slot", "purpose", "model", "prompt_sha256", "reply", "finish", "input_tokens", "output_tokens", "latency_ms", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "server_prompt_ms", "server_output_ms", "server_load_ms"},
}

func TestEveryLineHasTheSameFields(t *testing.T) {
	dir := t.TempDir()
	if err := JSONL(newSample(), dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range files(t, dir) {
		for _, line := range strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") {
			if d := cmp.Diff(fields[name], keys(t, line)); d != "" {
				t.Fatalf("%s, line %s\n%s", name, line, d)
			}
		}
	}
}

// keys returns a JSON object's own names in order.
func keys(t *testing.T, line string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(line))
	var names []string
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
	}
	return names
}
