package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledInPlace leaves a run as a process does that is killed while SQLite
// rewrites the database in place, and opens it in every way. It would fail if
// such a run could not be read or resumed.
func TestKilledInPlace(t *testing.T) {
	s := newSample()
	sound := s.written(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(sound, DatabaseName)+"?_pragma=cache_size(1)&_pragma=cache_spill(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, q := range []string{"BEGIN IMMEDIATE", "UPDATE plan SET model = hex(zeroblob(20000))", "UPDATE results SET outcome = hex(zeroblob(20000))"} {
		if _, err := conn.ExecContext(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	for name, open := range map[string]func(dir string) error{
		"read": func(dir string) error {
			r, err := Open(dir)
			if err == nil {
				s.check(t, r)
				err = r.Close()
			}
			return err
		},
		"resume": func(dir string) error {
			w, err := Resume(dir, Resumption{})
			if err == nil {
				err = w.Close()
			}
			return err
		},
	} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, DatabaseName+"-journal")); err != nil || info.Size() == 0 {
			t.Fatalf("no journal was left: %v", err)
		}
		if err := open(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Garbage in the journal's place does no harm either.
	dir := s.written(t)
	if err := os.WriteFile(filepath.Join(dir, DatabaseName+"-journal"), []byte(strings.Repeat("garbage", 99)), 0o644); err != nil {
		t.Fatal(err)
	}
	s.check(t, open(t, dir))
}

// TestLostPlan would fail if a run that has lost trials or instances were read
// as a smaller run.
func TestLostPlan(t *testing.T) {
	for _, damage := range []string{"DELETE FROM plan WHERE ordinal = 0", "DELETE FROM plan WHERE ordinal = (SELECT max(ordinal) FROM plan)"} {
		s := newSample()
		dir := s.written(t)
		db, err := sql.Open("sqlite", filepath.Join(dir, DatabaseName))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(damage); err != nil {
			t.Fatal(err)
		}
		db.Close()
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "its manifest says 4") {
			t.Errorf("%s: open: %v", damage, err)
		}
		if _, err := Resume(dir, Resumption{}); err == nil || !strings.Contains(err.Error(), "its manifest says 4") {
			t.Errorf("%s: resume: %v", damage, err)
		}
	}
}
