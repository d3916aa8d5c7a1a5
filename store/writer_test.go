package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

func TestWhatAWriterRefuses(t *testing.T) {
	ctx := context.Background()
	other := func(s *sample) *record.Trial {
		t := *s.trials[0]
		t.Seed++
		return &t
	}
	tests := []struct {
		name  string
		do    func(w *Writer, s *sample) error
		words string
		final bool // found only when it is written, and then nothing more is
	}{
		{"unknown trial of a call", func(w *Writer, s *sample) error { return w.Call(ctx, &record.Call{Trial: "x", Slot: "step1"}) }, `no such trial in this run: "x"`, false},
		{"unknown trial", func(w *Writer, s *sample) error {
			return w.Trial(ctx, &record.Trial{Spec: record.Spec{Key: "x"}})
		}, "no such trial", false},
		{"another trial under the same key", func(w *Writer, s *sample) error { return w.Trial(ctx, other(s)) }, "not the one that was planned", false},
		{"part without a sum", func(w *Writer, s *sample) error {
			return w.Call(ctx, &record.Call{Trial: "aa", Slot: "step7", Prompt: []record.Part{{Kind: record.PartText}}})
		}, "has no sum", false},
		{"slot twice", func(w *Writer, s *sample) error { w.Call(ctx, s.calls[0]); return w.Call(ctx, s.calls[0]) }, "call window0/batch0 of trial zz was recorded twice", true},
		{"trial twice", func(w *Writer, s *sample) error { w.Trial(ctx, s.trials[0]); return w.Trial(ctx, s.trials[0]) }, "trial zz was recorded again", true},
		{"call after its trial", func(w *Writer, s *sample) error { w.Trial(ctx, s.trials[0]); return w.Call(ctx, s.calls[0]) }, "trial zz was recorded again", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSample()
			w, dir := s.create(t)
			err := test.do(w, s)
			if test.final {
				err = w.Flush(ctx)
			}
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Fatalf("got %v, want the words %q", err, test.words)
			}
			if !test.final {
				s.write(t, w, 0, 1, 2)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				s.check(t, open(t, dir)) // and it left no trace
			}
		})
	}
}

// After a failed write nobody hangs, everybody is told, and what was committed
// before is still there.
func TestDiskFull(t *testing.T) {
	s := newShape(200)
	dir := filepath.Join(t.TempDir(), "run")
	if w, err := Create(dir, record.Manifest{}, slices.Values(s.plan), s.instances, Options{}); err != nil {
		t.Fatal(err)
	} else if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := newCommitter(filepath.Join(dir, DatabaseName), make([]bool, len(s.plan)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := c.db.queryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := c.db.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+12)); err != nil { // SQLite takes this for a full disk
		t.Fatal(err)
	}
	plan, err := newOutline(slices.Values(s.plan))
	if err != nil {
		t.Fatal(err)
	}
	w := startWriter(c, plan, Options{Queue: 2, CommitCount: 50, CommitAfter: 1 << 40})
	var failed []error
	ctx := context.Background()
	for i := range s.plan {
		trial, calls := s.records(i)
		for _, c := range calls {
			failed = append(failed, w.Call(ctx, c))
		}
		failed = append(failed, w.Trial(ctx, trial))
	}
	last := failed[len(failed)-1]
	for what, err := range map[string]error{"the last call": last, "Flush": w.Flush(ctx), "Close": w.Close(), "a second Close": w.Close(), "a call after that": w.Trial(ctx, &record.Trial{Spec: s.plan[0]})} {
		if err == nil || !strings.Contains(err.Error(), "the disk is full; make room") {
			t.Errorf("%s reports %v, want the full disk", what, err)
		}
	}
	r := open(t, dir)
	kept := collect(t, r.Trials())
	if len(kept) == 0 || len(kept) == len(s.plan) {
		t.Errorf("%d of %d trials kept, want some", len(kept), len(s.plan))
	}
	for i, trial := range kept {
		if want, _ := s.records(i); !cmp.Equal(want, trial) {
			t.Errorf("trial %d differs", i)
		}
	}
	if len(collect(t, r.CallsWithPrompts())) == 0 {
		t.Error("no calls kept")
	}
}

func TestClose(t *testing.T) {
	s := newSample()
	w, _ := s.create(t)
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	for _, err := range []error{w.Call(ctx, s.calls[0]), w.Trial(ctx, s.trials[0]), w.Flush(ctx)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
}

// Closing while workers still hand things over must neither panic nor hang, and
// must keep every call that was accepted.
func TestCloseWhileWorkersWrite(t *testing.T) {
	s := newShape(40)
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, record.Manifest{}, slices.Values(s.plan), nil, Options{Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	var (
		group    sync.WaitGroup
		mu       sync.Mutex
		accepted int
	)
	started := make(chan struct{}, len(s.plan))
	for i := range s.plan {
		_, calls := s.records(i)
		group.Go(func() {
			for _, c := range calls {
				err := w.Call(context.Background(), c)
				select {
				case started <- struct{}{}:
				default:
				}
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				accepted++
				mu.Unlock()
			}
		})
	}
	<-started
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if n := len(collect(t, open(t, dir).Calls())); n != accepted {
		t.Errorf("%d calls kept, %d accepted", n, accepted)
	}
}

// A full queue makes callers wait, but not longer than their context; what has
// room in the queue is kept even when the context has ended.
func TestContext(t *testing.T) {
	s := newSample()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Call(ctx, s.calls[0]); err != nil {
		t.Errorf("a call with room in the queue: %v", err)
	}
	if err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	other, err := connect(filepath.Join(dir, DatabaseName), writing)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.exec("BEGIN IMMEDIATE"); err != nil { // now the writer cannot
		t.Fatal(err)
	}
	var calls int
	for _, c := range s.calls[1:] {
		if err = w.Call(ctx, c); err != nil {
			break
		}
		calls++
	}
	if !errors.Is(err, context.Canceled) || calls > 2 {
		t.Errorf("after %d calls into a queue of 1: %v, want context.Canceled", calls, err)
	}
	if err := errors.Join(other.exec("ROLLBACK"), other.close()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(collect(t, open(t, dir).Calls())); n != 1+calls {
		t.Errorf("%d calls kept, want %d", n, 1+calls)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Queue: -1}, {CommitCount: -1}, {CommitAfter: -1}} {
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Create(dir, record.Manifest{}, nil, nil, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// The calls of a trial that is still open are committed with everything else.
func TestCommitByTime(t *testing.T) {
	s := newSample()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, s.manifest, slices.Values(s.plan), s.instances, Options{CommitAfter: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Call(context.Background(), s.calls[0]); err != nil {
		t.Fatal(err)
	}
	for n := 0; n == 0; { // ends with the test's deadline when nothing is ever committed
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		n = len(collect(t, r.Calls()))
		r.Close()
	}
}
