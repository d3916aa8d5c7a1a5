package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// TestTornLog cuts the log of an interrupted run at sampled bytes, as a power
// cut may, and goes on. It would fail if the run could not be opened, if what is
// found differed from what was written, or if the rest could not be added.
func TestTornLog(t *testing.T) {
	ctx := context.Background()
	s := newSample()
	w, err := Create(filepath.Join(t.TempDir(), "run"), s.manifest, slices.Values(s.plan), s.instances, Options{CommitCount: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s.write(t, w, 0, 1)
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(w.dir, DatabaseName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(log) < 10_000 {
		t.Fatalf("the log has only %d bytes", len(log))
	}
	found := map[int]bool{}
	for cut := 0; cut <= len(log); cut += len(log)/23 + 1 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("cut", cut))
		if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, DatabaseName+"-shm")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, DatabaseName+"-wal"), log[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		again := resume(t, dir, Resumption{})
		n := 0
		for _, c := range s.calls {
			past, err := again.Lookup(ctx, c.Trial, c.Slot)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			switch {
			case past == nil && !again.Ended(c.Trial):
				if err := again.Call(ctx, c); err != nil {
					t.Fatal(err)
				}
			case past != nil && (past.Reply != c.Reply || past.PromptSHA256 != c.PromptSHA256):
				t.Errorf("cut at %d: call %s/%s comes back as %+v", cut, c.Trial, c.Slot, past)
			default:
				n++
			}
		}
		found[n] = true
		for _, trial := range s.trials {
			if !again.Ended(trial.Key) {
				if err := again.Trial(ctx, trial); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := again.Close(); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		s.check(t, open(t, dir))
	}
	if len(found) < 4 {
		t.Errorf("the cuts left %d different amounts of calls; they were to hit different commits", len(found))
	}
}

// TestLiveReaders reads a run while it is written to.
func TestLiveReaders(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	r := open(t, dir)
	s.write(t, w, 0, 1, 2)
	if err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(collect(t, r.Trials())); n != 0 {
		t.Errorf("a reader sees %d trials that came after it", n)
	}
	later := open(t, dir)
	if n := len(collect(t, later.Trials())); n != 3 {
		t.Errorf("a later reader sees %d trials", n)
	}
	var failed *record.Trial
	for _, trial := range collect(t, later.Trials()) {
		if trial.Outcome == record.Failed {
			failed = trial
		}
	}
	if failed == nil {
		t.Error("the failed trial is not seen")
	}
}
