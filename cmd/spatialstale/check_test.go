package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck damages a run in many ways and would fail if one of them passed.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	sound := filepath.Join(root, "sound")
	if code, _, stderr := finish(t, command(t, "run", "quick", "--seeds", "1", "--model", "ref/messy", "--out", sound)); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := finish(t, command(t, "check", sound)); code != exitDone || !strings.Contains(stdout, "nothing is wrong and nothing is missing") {
		t.Fatalf("a sound run: exit %d: %s%s", code, stdout, stderr)
	}
	for name, c := range map[string]struct {
		damage string
		code   int
		want   string
	}{
		"a result swapped":    {"CREATE TEMP TABLE t AS SELECT * FROM results WHERE trial IN (0, 1); UPDATE results SET packed = (SELECT packed FROM t WHERE t.trial = 1 - results.trial), record = (SELECT record FROM t WHERE t.trial = 1 - results.trial) WHERE trial IN (0, 1)", exitFailed, "comes out otherwise"},
		"calls lost":          {"DELETE FROM calls WHERE id = 1", exitFailed, "cannot be made again"},
		"a result lost":       {"DELETE FROM results WHERE trial = 3", exitStopped, "1 trials are missing"},
		"a planned one lost":  {"DELETE FROM trials WHERE ordinal = 2", exitFailed, "its manifest says 36"},
		"an outcome changed":  {"UPDATE results SET outcome = 'error' WHERE trial = 4", exitFailed, "is listed as error"},
		"sums lost":           {"DELETE FROM sums", exitFailed, "missing in the list of sums"},
		"a kind changed":      {"UPDATE blobs SET kind = 'x' WHERE id = (SELECT min(id) FROM blobs)", exitFailed, "no kind that there is"},
		"an instance changed": {"UPDATE instances SET record = (SELECT record FROM instances WHERE ordinal = 1), packed = (SELECT packed FROM instances WHERE ordinal = 1) WHERE ordinal = 0", exitFailed, "is not what the seed gives"},
		"a sum changed":       {"UPDATE blobs SET sums = zeroblob(length(sums)) WHERE id = (SELECT min(id) FROM blobs)", exitFailed, "stored under 0000000000000000"},
		"a text changed":      {"UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'F', 'G') AS BLOB), packed = 0 WHERE id = (SELECT max(id) FROM blobs WHERE packed = 0 AND kind = 'png')", exitFailed, "picture"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", filepath.Join(dir, "run.db"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(c.damage); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, "run.db"))
			if err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := finish(t, command(t, "check", dir))
			if code != c.code || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, c.code, c.want, stdout, stderr)
			}
			if after, err := os.ReadFile(filepath.Join(dir, "run.db")); err != nil || string(after) != string(before) {
				t.Errorf("check changed the run: %v", err)
			}
		})
	}
}
