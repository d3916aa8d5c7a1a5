package main

import (
	"context"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A tally is the recorder of a run: it passes everything on to the store, and
// gathers on the way what the tables and the progress need, so that the run
// need not be read again.
type tally struct {
	*store.Writer
	now       func() time.Time
	began     time.Time
	mu        sync.Mutex
	collector *analysis.Collector
	all       standing
	models    map[string]*standing
	order     []string // of the models
	paid      map[string]bool
	prices    *price.List
	trials    paidTrials
	pending   map[string]*pendingWaits // by model
	notices   []string                 // not yet shown
}

// A standing is how far a run is, as a whole or with one model.
type standing struct {
	total   int // trials planned
	before  int // of these, ended before this run of the program
	done    int // ended, those before and failed ones among them
	failed  int
	calls   int // by this run of the program
	retries int
	input   int // tokens of these, where the servers said how many
	output  int
	spent   spending   // by the whole run, on models that are paid for
	limit   *price.USD // of what the run may spend; only as a whole
	waiting waiting    // calls that wait to be tried again
}

func newTally(w *store.Writer, e *env, s *study.Study, instances []record.Instance) (*tally, error) {
	t := &tally{Writer: w, now: e.now, began: e.now(), collector: &analysis.Collector{}, models: map[string]*standing{}, order: s.Models, pending: map[string]*pendingWaits{}}
	for _, name := range s.Models {
		t.models[name] = &standing{}
	}
	if err := t.collector.Declare(s.Tests); err != nil {
		return nil, err
	}
	for spec := range s.Specs() {
		if err := t.collector.Expect(spec); err != nil {
			return nil, err
		}
		t.all.total++
		t.models[spec.Model].total++
	}
	for i := range instances {
		if err := t.collector.AddInstance(instances[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// count changes the standing of a model and of the whole.
func (t *tally) count(model string, change func(*standing)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.all)
	if m := t.models[model]; m != nil {
		change(m)
	}
}

// Trial implements run.Recorder.
func (t *tally) Trial(ctx context.Context, rec *record.Trial) error {
	if err := t.Writer.Trial(ctx, rec); err != nil {
		return err
	}
	return t.note(rec, false)
}

// note counts a trial, made now or before.
func (t *tally) note(rec *record.Trial, before bool) error {
	t.count(rec.Model, func(s *standing) {
		s.done++
		if before {
			s.before++
		}
		if rec.Outcome == record.Failed {
			s.failed++
		}
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.collector.AddTrial(rec)
}

// Call implements run.Recorder.
func (t *tally) Call(ctx context.Context, c *record.Call) error {
	t.called(c)
	return t.Writer.Call(ctx, c)
}

// DurableCall implements run.Recorder.
func (t *tally) DurableCall(ctx context.Context, c *record.Call) error {
	t.called(c)
	return t.Writer.DurableCall(ctx, c)
}

func (t *tally) called(c *record.Call) {
	t.count(c.Model, func(s *standing) {
		s.calls++
		if c.InputTokens != nil {
			s.input += *c.InputTokens
		}
		if c.OutputTokens != nil {
			s.output += *c.OutputTokens
		}
	})
	t.spend(c)
}

// spend counts what a call costs, one of now or of an earlier session.
func (t *tally) spend(c *record.Call) {
	if !t.paid[c.Model] {
		return
	}
	cost := costOf(t.prices, c)
	t.count(c.Model, func(s *standing) { s.spent.add(usageOf(c), cost) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trials.tell(t.collector, c, cost)
}

// standings returns how far the run is, as a whole and by model, and how long
// this run of the program has taken.
func (t *tally) standings() (all standing, models []standing, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, now := t.all, t.now()
	for _, name := range t.order {
		s := *t.models[name]
		s.waiting = t.pending[name].at(now)
		all.waiting.join(s.waiting)
		models = append(models, s)
	}
	return all, models, now.Sub(t.began)
}
