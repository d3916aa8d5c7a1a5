package store

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
