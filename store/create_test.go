package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// tree lists everything below a folder with its content.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = ""
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A run is never overwritten, and a refusal leaves everything as it was.
func TestCreateRefuses(t *testing.T) {
	put := func(path, content string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			path := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func(*testing.T, string) {}
	tests := []struct {
		name   string
		before func(*testing.T, string)
		change func(*sample)
		want   error
		words  string
	}{
		{"a run", put("runs/first/run.db", "precious"), nil, ErrExists, "a run is never overwritten; choose another folder"},
		{"other files", put("runs/first/notes.txt", "precious"), nil, ErrExists, "it is not empty (notes.txt"},
		{"a run being made", put("runs/first/run.db.partial", ""), nil, ErrExists, "not empty"},
		{"a file", put("runs/first", "precious"), nil, ErrExists, "it is a file, not a folder"},
		{"a file on the way", put("runs", "precious"), nil, nil, "is a file, not a folder; choose another place"},
		{"a trial twice", nothing, func(s *sample) { s.plan[3].Key = "zz" }, nil, `trial "zz" twice`},
		{"a manifest that is no JSON", nothing, func(s *sample) { s.manifest.Study = json.RawMessage("{") }, nil, "manifest cannot be written"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			test.before(t, root)
			before := tree(t, root)
			s := newSample()
			if test.change != nil {
				test.change(s)
			}
			w, err := Create(filepath.Join(root, "runs", "first"), s.manifest, slices.Values(s.plan), s.instances, Options{})
			if err == nil {
				w.Close()
				t.Fatal("it was created")
			}
			if test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v; want %v and the words %q", err, test.want, test.words)
			}
			if d := cmp.Diff(before, tree(t, root)); d != "" {
				t.Errorf("it left traces:\n%s", d)
			}
		})
	}
}

// An empty folder that is there already is used, and stays when Create fails.
func TestCreateInAnEmptyFolder(t *testing.T) {
	s := newSample()
	dir := t.TempDir()
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := open(t, dir).Missing(); n != len(s.plan) || err != nil {
		t.Errorf("Missing() = %d, %v; want all %d", n, err, len(s.plan))
	}
}

// What Create has made is undone in the right order, and nothing else is.
func TestCreationUndo(t *testing.T) {
	root := t.TempDir()
	made, err := makeFolder(filepath.Join(root, "a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "a", "b", "c", DatabaseName)
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	made.add(file, file+"-wal")
	if err := os.WriteFile(filepath.Join(root, "a", "other"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	made.undo()
	if got := names(t, root); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("left in the root: %v", got)
	}
	if got := names(t, filepath.Join(root, "a")); !cmp.Equal(got, []string{"other"}) {
		t.Errorf("left in a: %v, want only what somebody else put there", got)
	}
}

func TestManifestFile(t *testing.T) {
	s := newSample()
	s.manifest.Trials = 0
	w, dir := s.create(t)
	data, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"a < b & c"`) {
		t.Errorf("people cannot read this:\n%s", data)
	}
	m, err := parseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	s.manifest.Trials = len(s.plan)
	if d := cmp.Diff(s.manifest, m); d != "" {
		t.Error(d)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := parseManifest([]byte(`{"version": 1}`)); err != nil {
		t.Errorf("a manifest without a study: %v", err)
	}
}

func TestPathsWithOddNames(t *testing.T) {
	s := newSample()
	for _, name := range []string{"a b", "50%", "what?mode=memory", "x#y", "ä&_pragma=z", "%41"} {
		dir := filepath.Join(t.TempDir(), name)
		w, err := Create(dir, record.Manifest{}, slices.Values(s.plan), nil, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.write(t, w, 0)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !cmp.Equal(got, []string{ManifestName, DatabaseName, lockName}) {
			t.Errorf("%s holds %v", name, got)
		}
		if n := len(collect(t, open(t, dir).Trials())); n != 1 {
			t.Errorf("%s: %d trials", name, n)
		}
	}
}

// A run that was killed while it was made leaves a folder that can be taken again;
// one that somebody makes, holds a run or other files does not.
func TestDiscard(t *testing.T) {
	s := newSample()
	dir := filepath.Join(t.TempDir(), "run")
	if err := Discard(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{partialName, partialName + "-wal", lockName, ManifestName} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Discard(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("while it is made: %v", err)
	}
	if err := errors.Join(lock.Close(), Discard(dir)); err != nil {
		t.Fatal(err)
	}
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), Discard(dir)); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(dir); err != nil {
		t.Errorf("a run was discarded: %v", err)
	} else {
		r.Close()
	}
}
