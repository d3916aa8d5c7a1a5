package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestMovedWhileWriting would fail if a Writer went on as if all were well after
// its folder was deleted or moved, or its database replaced: what it writes then
// is in no run, and every answer that is paid for is lost.
func TestMovedWhileWriting(t *testing.T) {
	for name, disturb := range map[string]func(dir string) error{
		"deleted": os.RemoveAll,
		"moved":   func(dir string) error { return os.Rename(dir, dir+"-moved") },
		"database deleted": func(dir string) error {
			return os.Remove(filepath.Join(dir, DatabaseName))
		},
		"log deleted": func(dir string) error { return os.Remove(filepath.Join(dir, DatabaseName+"-wal")) },
		"replaced by a copy": func(dir string) error {
			if err := os.CopyFS(dir+"-copy", os.DirFS(dir)); err != nil {
				return err
			}
			return errors.Join(os.RemoveAll(dir), os.Rename(dir+"-copy", dir))
		},
		"database replaced": func(dir string) error {
			path := filepath.Join(dir, DatabaseName)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", b, 0o644), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := newSample()
			w, dir := s.create(t)
			if err := w.DurableCall(ctx, s.calls[0]); err != nil {
				t.Fatal(err)
			}
			if err := disturb(dir); err != nil {
				t.Fatal(err)
			}
			before := names(t, filepath.Dir(dir))
			for what, err := range map[string]error{
				"an answer that was paid for": w.DurableCall(ctx, s.calls[1]),
				"the next":                    w.Call(ctx, s.calls[2]),
				"Close":                       w.Close(),
			} {
				if !errors.Is(err, ErrReplaced) {
					t.Errorf("%s: %v, want ErrReplaced", what, err)
				}
			}
			if after := names(t, filepath.Dir(dir)); !slices.Equal(before, after) {
				t.Errorf("closing left %v, there were %v", after, before)
			}
		})
	}
}

// A run that was replaced by another while it was written to is not touched by
// the writer that still holds the old one.
func TestReplacedByAnotherRun(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	if err := w.DurableCall(context.Background(), s.calls[0]); err != nil {
		t.Fatal(err)
	}
	other := s.interrupted(t, 0, 1, 2) // with its log
	if err := errors.Join(os.RemoveAll(dir), os.Rename(other, dir)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	if err := w.Models(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ErrReplaced) {
		t.Errorf("Close: %v, want ErrReplaced", err)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the other run was changed:\n%s", d)
	}
	s.check(t, open(t, dir))
}

// TestLockOutlivesItsFile would fail if a second writer got in where somebody has
// removed the lock file.
func TestLockOutlivesItsFile(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if again, err := Resume(dir, Resumption{}); !errors.Is(err, ErrBusy) {
		if err == nil {
			again.Close()
		}
		t.Errorf("a second writer: %v, want ErrBusy", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := resume(t, dir, Resumption{}).Close(); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}
