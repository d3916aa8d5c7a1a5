package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// interrupted writes the sample's calls and the given trials, and leaves the
// run as a killed process does: committed, never closed. What a crash leaves is
// copied, because this process still holds the run's lock.
func (s *sample) interrupted(t *testing.T, trials ...int) string {
	t.Helper()
	w, dir := s.create(t)
	s.write(t, w, trials...)
	if err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return crashed
}

func resume(t *testing.T, dir string, how Resumption) *Writer {
	t.Helper()
	w, err := Resume(dir, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestResume would fail if a finished call or trial were lost, or asked for
// again.
func TestResume(t *testing.T) {
	ctx := context.Background()
	s := newSample()
	dir := s.interrupted(t, 0)
	w := resume(t, dir, Resumption{})
	for i, spec := range s.plan {
		if want := s.trials[0].Key == spec.Key; w.Ended(spec.Key) != want {
			t.Errorf("trial %d: ended %v, want %v", i, w.Ended(spec.Key), want)
		}
	}
	found := 0
	for _, c := range s.calls {
		got, err := w.Lookup(ctx, c.Trial, c.Slot)
		if err != nil {
			t.Fatal(err)
		}
		if c.Trial == s.trials[0].Key {
			if got != nil {
				t.Errorf("%s/%s of a trial that has ended is found", c.Trial, c.Slot)
			}
			continue
		}
		if found++; got == nil || got.Reply != c.Reply || got.PromptSHA256 != c.PromptSHA256 || got.Model != c.Model {
			t.Errorf("%s/%s is found as %+v", c.Trial, c.Slot, got)
		}
	}
	if found == 0 {
		t.Fatal("the sample has no unfinished trial")
	}
	if c, err := w.Lookup(ctx, "aa", "step99"); c != nil || err != nil {
		t.Errorf("a call that was never made: %v, %v", c, err)
	}
	for _, i := range []int{1, 2} {
		if err := w.Trial(ctx, s.trials[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.check(t, open(t, dir))
}

// TestOneWriter would fail if two processes could write to a run, or if a dead
// one kept others out. The lock is the process's own on most systems, so the
// first writer here stands for another process.
func TestOneWriter(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	if _, err := Resume(dir, Resumption{}); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "wait until it has finished") {
		t.Errorf("a second writer: %v", err)
	}
	s.check0(t, open(t, dir)) // readers may
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := resume(t, dir, Resumption{}).Close(); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}

func (s *sample) check0(t *testing.T, r *Run) {
	t.Helper()
	if n, err := r.Missing(); n != len(s.plan) || err != nil {
		t.Errorf("%d missing, %v", n, err)
	}
}

// TestRetryErrors would fail if a failed trial stayed failed, or if its
// finished calls were lost.
func TestRetryErrors(t *testing.T) {
	ctx := context.Background()
	s := newSample()
	failed := slices.IndexFunc(s.trials, func(t *record.Trial) bool { return t.Outcome == record.Failed })
	dir := s.interrupted(t, 0, 1, 2)
	if w := resume(t, dir, Resumption{}); !w.Ended(s.trials[failed].Key) {
		t.Error("a failed trial is made again unasked")
	} else if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w := resume(t, dir, Resumption{RetryErrors: true})
	for i, trial := range s.trials {
		if w.Ended(trial.Key) != (i != failed) {
			t.Errorf("trial %d: ended %v", i, w.Ended(trial.Key))
		}
	}
	again := *s.trials[failed]
	again.Outcome, again.Error = record.Done, ""
	if err := w.Trial(ctx, &again); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, dir).Trial(again.Key); err != nil || got.Outcome != record.Done {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestExtend would fail if results or calls did not follow their trials to new
// places in a larger plan.
func TestExtend(t *testing.T) {
	ctx := context.Background()
	s := newSample()
	dir := s.interrupted(t, 0, 1, 2)
	larger := *s
	larger.plan = nil
	for i, spec := range s.plan { // a new trial before each old one
		added := spec
		added.Key, added.Episode = "new"+spec.Key, 90+i
		larger.plan = append(larger.plan, added, spec)
	}
	larger.instances = append(slices.Clone(s.instances), record.Instance{Seed: 77, Regime: "L1", Rows: []string{"SF", "FG"}, RowsAfter: []string{"SF", "FG"}, Events: []record.Event{}, Memory: []record.MemoryEntry{}})
	w := resume(t, dir, Resumption{Extend: &Extension{Manifest: s.manifest, Plan: slices.Values(larger.plan), Instances: larger.instances}})
	for _, trial := range s.trials {
		if !w.Ended(trial.Key) {
			t.Errorf("trial %s is to be made again", trial.Key)
		}
	}
	extra := &record.Trial{Version: record.Version, Spec: larger.plan[0], Outcome: record.Done}
	if err := w.Trial(ctx, extra); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	if n := r.Manifest().Trials; n != len(larger.plan) {
		t.Errorf("the manifest says %d trials", n)
	}
	larger.manifest.Trials = len(larger.plan)
	larger.trials = append([]*record.Trial{extra}, s.trials...)
	larger.check(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	// A plan that lacks a trial of the run is refused and changes nothing.
	if _, err := Resume(dir, Resumption{Extend: &Extension{Manifest: s.manifest, Plan: slices.Values(s.plan[1:]), Instances: s.instances}}); err == nil || !strings.Contains(err.Error(), "a run can only grow") {
		t.Errorf("a smaller plan: %v", err)
	}
	larger.check(t, open(t, dir))
}

// TestDurableCall would fail if an answer that was paid for could be used
// before it is committed.
func TestDurableCall(t *testing.T) {
	s := newSample()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{Sync: true, CommitAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, c := range s.calls {
		if err := w.DurableCall(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if n := len(collect(t, open(t, dir).Calls())); n != i+1 {
			t.Fatalf("%d calls are committed after the %d. was made", n, i+1)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := *s.calls[0]
	c.Slot = "step500"
	if err := w.DurableCall(ctx, &c); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(collect(t, open(t, dir).Calls())); n != len(s.calls)+1 {
		t.Errorf("a call whose wait was ended is not kept: %d calls", n)
	}
}
