package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// release01 is a run that version 0.1 made, on 3 seeds with every task,
// modality, regime and strategy of the paper, and the SHA-256 of the files that
// version 0.1 exported from it.
const release01 = "../../store/testdata/release-0.1"

// keptRun copies the run of version 0.1 to where it may be changed.
func keptRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.db", "manifest.json"} {
		b, err := os.ReadFile(filepath.Join(release01, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// exportedSums returns the SHA-256 of each file that a run is exported to.
func exportedSums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "export")
	if code, _, stderr := finish(t, command(t, "export", dir, "--out", out)); code != exitDone {
		t.Fatalf("export: exit %d: %s", code, stderr)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		sums[e.Name()] = hex.EncodeToString(sum[:])
	}
	return sums
}

// release01Sums are those of the files that version 0.1 exported.
func release01Sums(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(release01, "exports.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		sum, name, _ := strings.Cut(s.Text(), "  ")
		sums[name] = sum
	}
	if len(sums) != 5 {
		t.Fatalf("exports.sha256 lists %d files, want 5", len(sums))
	}
	return sums
}

// TestReleaseRunStaysWhatItWas would fail if a run of version 0.1 could no
// longer be read, checked or resumed, or said anything else than it did.
func TestReleaseRunStaysWhatItWas(t *testing.T) {
	notShort(t)
	want := release01Sums(t)
	dir := keptRun(t)
	if d := cmp.Diff(want, exportedSums(t, dir)); d != "" {
		t.Errorf("its export is not that of version 0.1:\n%s", d)
	}
	for _, args := range [][]string{{"check", dir}, {"resume", dir}, {"report", dir}, {"check", dir}} {
		if code, stdout, stderr := finish(t, command(t, args...)); code != exitDone {
			t.Fatalf("%s: exit %d: %s%s", args[0], code, stdout, stderr)
		}
	}
	if d := cmp.Diff(want, exportedSums(t, dir)); d != "" {
		t.Errorf("resumed, its export is not that of version 0.1:\n%s", d)
	}
}

// TestReleaseRunGoesOn takes the ends of some trials away from a run of version
// 0.1 and all that a last one had begun, as a kill does. It would fail if a run
// that version 0.1 was interrupted in could not be finished, or came out
// otherwise.
func TestReleaseRunGoesOn(t *testing.T) {
	notShort(t)
	dir := keptRun(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, "run.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"DELETE FROM results WHERE trial % 5 = 2",
		"DELETE FROM calls WHERE trial = 62",
		"DELETE FROM results WHERE trial = 62",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := finish(t, command(t, "resume", dir)); code != exitDone {
		t.Fatalf("resume: exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := finish(t, command(t, "check", dir)); code != exitDone {
		t.Fatalf("check: exit %d: %s%s", code, stdout, stderr)
	}
	got, want := exportedSums(t, dir), release01Sums(t)
	for _, sums := range []map[string]string{got, want} {
		delete(sums, "calls.jsonl") // the calls made now took another time
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("finished, its export is not that of version 0.1:\n%s", d)
	}
}
