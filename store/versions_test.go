package store

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write this version's run in testdata anew; only before that version is released")

// Runs of every version so far stay readable, and say the same. A change that
// raises schemaVersion adds a folder and leaves the others as they are. v1.1 and
// v1.2 are the two layouts of records that schema 1 had.
func TestOldRunsStayReadable(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprintf("v%d", schemaVersion))
	if *update {
		if err := os.RemoveAll(current); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(current, os.DirFS(newSample().written(t))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(current, "want.json"), dump(t, current), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(current); err != nil {
		t.Errorf("this version has no run in testdata; make it with -update: %v", err)
	}
	versions, err := filepath.Glob("testdata/v*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range versions {
		want, err := os.ReadFile(filepath.Join(dir, "want.json"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(decoded(t, want), decoded(t, dump(t, dir))); d != "" {
			t.Errorf("%s reads otherwise than it did (-then +now):\n%s", dir, d)
		}
	}
}

// dump returns all that a run holds.
func dump(t *testing.T, dir string) []byte {
	t.Helper()
	r := open(t, dir)
	out, err := json.MarshalIndent(map[string]any{
		"manifest":  r.Manifest(),
		"plan":      collect(t, r.Plan()),
		"instances": collect(t, r.Instances()),
		"trials":    collect(t, r.Trials()),
		"calls":     collect(t, r.CallsWithPrompts()),
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// decoded is what a dump says, however it is spelled.
func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestUpgrade would fail if a run of version 0.1 that goes on lost anything, or
// its old database.
func TestUpgrade(t *testing.T) {
	old := filepath.Join("testdata", "v1.2")
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	// An earlier try was killed.
	if err := os.WriteFile(filepath.Join(dir, partialName), []byte("half a database"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to bring over
		if err := resume(t, dir, Resumption{}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(decoded(t, dump(t, old)), decoded(t, dump(t, dir))); d != "" {
		t.Errorf("brought over, it reads otherwise (-before +after):\n%s", d)
	}
	if v := open(t, dir).FirstFormat(); v != 1 {
		t.Errorf("it is said to have been made with format %d", v)
	}
	before, err := os.ReadFile(filepath.Join(old, DatabaseName))
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, keptName)); err != nil || !bytes.Equal(kept, before) {
		t.Errorf("the old database was not kept as it was: %v", err)
	}
	if got, want := names(t, dir), []string{ManifestName, keptName, DatabaseName, lockName, "want.json"}; !slices.Equal(got, want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}
