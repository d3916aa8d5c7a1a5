package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A tally is the recorder of a run: it passes everything on to the store, and
// gathers on the way what the tables and the progress line need, so that the
// run need not be read again.
type tally struct {
	*store.Writer
	now       func() time.Time
	total     int
	began     time.Time
	mu        sync.Mutex
	collector *analysis.Collector
	done      int
	failed    int
	before    int // of the done ones, those from before this run of the program
}

func newTally(w *store.Writer, e *env, s *study.Study, instances []record.Instance) (*tally, error) {
	t := &tally{Writer: w, now: e.now, total: s.NumTrials(), began: e.now(), collector: &analysis.Collector{}}
	for spec := range s.Specs() {
		if err := t.collector.Expect(spec); err != nil {
			return nil, err
		}
	}
	for i := range instances {
		if err := t.collector.AddInstance(instances[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Trial implements study.Recorder.
func (t *tally) Trial(ctx context.Context, rec *record.Trial) error {
	if err := t.Writer.Trial(ctx, rec); err != nil {
		return err
	}
	return t.note(rec)
}

// note counts a trial, made now or before.
func (t *tally) note(rec *record.Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	if rec.Outcome == record.Failed {
		t.failed++
	}
	return t.collector.AddTrial(rec)
}

// Progress is written this often: on a terminal over the same line, elsewhere
// as lines of their own.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 5 * time.Second
)

// showProgress writes how far the run is until the returned function is
// called, which waits for the last word.
func (t *tally) showProgress(w io.Writer) (stop func()) {
	every, begin, end := plainEvery, "", "\n"
	if isTerminal(w) {
		every, begin, end = terminalEvery, "\r\x1b[K", ""
	}
	quit, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(w, begin, t.progress(), end)
			case <-quit:
				fmt.Fprint(w, begin, t.progress(), "\n")
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-finished
	}
}

func (t *tally) progress() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := t.now().Sub(t.began)
	line := fmt.Sprintf("%d of %d trials in %.1f s", t.done, t.total, took.Seconds())
	if t.failed > 0 {
		line += fmt.Sprintf(", %d failed", t.failed)
	}
	if made := t.done - t.before; made > 0 && t.done < t.total {
		left := time.Duration(float64(took) / float64(made) * float64(t.total-t.done))
		line += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return line
}
