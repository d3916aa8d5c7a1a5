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
// raises schemaVersion or layoutVersion adds a folder and leaves the others as
// they are.
func TestOldRunsStayReadable(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprintf("v%d.%d", schemaVersion, layoutVersion))
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
		if d := cmp.Diff(string(want), string(dump(t, dir))); d != "" {
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
