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
		"a result swapped":    {"UPDATE results SET trial = -1 WHERE trial = 0; UPDATE results SET trial = 0 WHERE trial = 1; UPDATE results SET trial = 1 WHERE trial = -1", exitFailed, "comes out otherwise"},
		"calls lost":          {"DELETE FROM calls WHERE id = 1", exitFailed, "cannot be made again"},
		"a result lost":       {"DELETE FROM results WHERE trial = 3", exitStopped, "1 trials are missing"},
		"a planned one lost":  {"DELETE FROM plan WHERE ordinal = 2", exitFailed, "its manifest says 36"},
		"a strategy changed":  {"UPDATE plan SET strategy = 'oracle' WHERE ordinal = 2", exitFailed, "its row was changed since it was written"},
		"an outcome changed":  {"UPDATE results SET outcome = 'error' WHERE trial = 4", exitFailed, "its row was changed since it was written"},
		"a prompt lost":       {"DELETE FROM prompts WHERE id = 1", exitFailed, "refer to no row of prompts"},
		"a kind changed":      {"UPDATE blobs SET kind = 'x' WHERE id = (SELECT min(id) FROM blobs)", exitFailed, "no kind that there is"},
		"an instance changed": {"UPDATE instances SET record = (SELECT record FROM instances WHERE ordinal = 1) WHERE ordinal = 0", exitFailed, "is not what the seed gives"},
		"a cell changed":      {"UPDATE instances SET record = replace(record, 'S', 'F') WHERE ordinal = 0", exitFailed, "is not the one in the run's manifest"},
		"a sum changed":       {"UPDATE blobs SET sum = zeroblob(32) WHERE id = (SELECT min(id) FROM blobs)", exitFailed, "its sum is another"},
		"a picture changed":   {"UPDATE blobs SET file = CAST(replace(CAST(file AS TEXT), 'F', 'G') AS BLOB) WHERE id = (SELECT max(id) FROM blobs WHERE kind = 'png')", exitFailed, "picture"},
		"a trigger added":     {"CREATE TRIGGER t AFTER INSERT ON calls BEGIN DELETE FROM calls; END", exitFailed, "trigger t"},
		"a model replaced":    {"UPDATE meta SET value = replace(value, '\"name\": \"ref/messy\"', '\"name\": \"openai/gpt-4o\"')", exitFailed, "the manifest lists openai/gpt-4o"},
		"a version unknown":   {"UPDATE meta SET value = replace(value, '\"version\": 1', '\"version\": 9')", exitFailed, "version 9"},
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
