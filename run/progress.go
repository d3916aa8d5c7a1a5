package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// Progress is how far a run is, as a whole or with one of its models.
type Progress struct {
	Model    string // empty for the whole
	Took     time.Duration
	Total    int // trials planned
	Before   int // of these, ended before this session
	Done     int // ended, those before and failed ones among them
	Failed   int
	Answered int // of the finished ones, those in which the model gave any usable answer
	Calls    int // in this session, as Retries and the tokens
	Retries  int
	Input    int // tokens, where the servers said how many
	Output   int
	Spent    Spending   // by the whole run, on models that are paid for and methods that say what they cost
	Limit    *price.USD // of what the run may spend; only as a whole
	Waiting  Waiting    // calls that wait to be tried again
	Flying   Flying     // calls under way
}

// Flying says how the calls under way are, at one moment: a slow server looks
// like a dead one to anybody who cannot see that tokens come.
type Flying struct {
	Calls  int
	Oldest time.Duration // how long the one that takes longest has been under way
	Tokens int           // pieces of their answers that came so far; none from a server that is not streamed from
}

// longCall is how long a call takes before people want to know that it lives.
const longCall = 5 * time.Second

// String says it in words, "" when none is under way.
func (f Flying) String() string {
	if f.Calls == 0 {
		return ""
	}
	text := fmt.Sprintf("%d in flight", f.Calls)
	if f.Oldest >= longCall {
		text += fmt.Sprintf(" for up to %.0f s", f.Oldest.Seconds())
		if f.Tokens > 0 {
			text += fmt.Sprintf(" with %s tokens", Short(f.Tokens))
		}
	}
	return text
}

// join adds the calls of another model.
func (f *Flying) join(g Flying) {
	f.Calls += g.Calls
	f.Tokens += g.Tokens
	f.Oldest = max(f.Oldest, g.Oldest)
}

// Rate returns trials a second in this session, 0 before the first.
func (p *Progress) Rate() float64 {
	if p.Took <= 0 {
		return 0
	}
	return float64(p.Done-p.Before) / p.Took.Seconds()
}

// Left estimates the time to the end; it is not known before the first trial.
func (p *Progress) Left() (left time.Duration, known bool) {
	made := p.Done - p.Before
	if made == 0 || p.Done >= p.Total {
		return 0, false
	}
	return time.Duration(float64(p.Took) / float64(made) * float64(p.Total-p.Done)), true
}

// Words are what there is to say beside the count of trials.
func (p *Progress) Words() string {
	var parts []string
	if r := p.Rate(); r >= 10 {
		parts = append(parts, fmt.Sprintf("%.0f/s", r))
	} else if r > 0 {
		parts = append(parts, fmt.Sprintf("%.2g/s", r))
	}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	if p.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retried", p.Retries))
	}
	if words := p.Waiting.String(); words != "" {
		parts = append(parts, words)
	}
	if words := p.Flying.String(); words != "" && p.Waiting.Calls == 0 {
		parts = append(parts, words)
	}
	if p.Input+p.Output > 0 && p.Waiting.Calls == 0 { // a row has room for one of the two
		parts = append(parts, fmt.Sprintf("%s tokens in, %s out", Short(p.Input), Short(p.Output)))
	}
	if money := p.Spent.String(); money != "" {
		if p.Limit != nil {
			money += fmt.Sprintf(" of %v", *p.Limit)
		}
		parts = append(parts, money)
	}
	if left, known := p.Left(); known {
		parts = append(parts, fmt.Sprintf("%v left", left.Round(time.Second)))
	}
	return strings.Join(parts, ", ")
}

// String is a line of progress.
func (p *Progress) String() string {
	line := fmt.Sprintf("%d of %d trials in %.1f s", p.Done, p.Total, p.Took.Seconds())
	if words := p.Words(); words != "" {
		line += ": " + words
	}
	return line
}

// Short writes a count in few characters: 950, 12k, 3.4M.
func Short(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Waiting is how many calls wait to be tried again, at one moment.
type Waiting struct {
	Calls int
	Next  time.Duration // until the first of them is tried
	Why   llm.Kind      // what the latest of them failed with
}

// String says it in words, "" when none waits.
func (w Waiting) String() string {
	next := fmt.Sprintf("%.0f s", max(1, w.Next.Round(time.Second).Seconds()))
	switch {
	case w.Calls == 0:
		return ""
	case w.Calls == 1:
		return fmt.Sprintf("%s: retrying in %s", w.Why, next)
	}
	return fmt.Sprintf("%s: %d calls wait, the next in %s", w.Why, w.Calls, next)
}

// join adds the calls of another model.
func (w *Waiting) join(v Waiting) {
	if v.Calls == 0 {
		return
	}
	if w.Calls == 0 || v.Next < w.Next {
		w.Next, w.Why = v.Next, v.Why
	}
	w.Calls += v.Calls
}

// pendingWaits are the waits of one model's calls.
type pendingWaits struct {
	until  []time.Time
	why    llm.Kind
	told   time.Time // when people were last told of one
	saying llm.Kind  // and why
}

// at drops the waits that are over and sums up the others.
func (p *pendingWaits) at(now time.Time) Waiting {
	if p == nil {
		return Waiting{}
	}
	p.until = slices.DeleteFunc(p.until, func(t time.Time) bool { return !t.After(now) })
	w := Waiting{Calls: len(p.until), Why: p.why}
	if w.Calls > 0 {
		w.Next = slices.MinFunc(p.until, time.Time.Compare).Sub(now)
	}
	return w
}

// tellWaitsEvery is how often people are told in full why calls of one model
// wait. In between, the progress counts them.
const tellWaitsEvery = time.Minute

// A tracker is the recorder of a session: it passes everything on to the store,
// counts it, and tells of it.
type tracker struct {
	*store.Writer
	now    func() time.Time
	began  time.Time
	events *feed
	paid   map[string]bool
	prices *price.List

	mu      sync.Mutex
	all     Progress
	models  map[string]*Progress
	order   []string                 // of the models
	pending map[string]*pendingWaits // by model
	flights map[string]*llm.InFlight // by model; not changed
}

func newTracker(w *store.Writer, s *study.Study, events *feed, now func() time.Time) *tracker {
	t := &tracker{Writer: w, now: now, began: now(), events: events, models: map[string]*Progress{}, order: s.Models, pending: map[string]*pendingWaits{}}
	t.all.Total = s.NumTrials()
	for _, name := range s.Models {
		t.models[name] = &Progress{Model: name, Total: s.TrialsOf(name)}
	}
	return t
}

// count changes the progress of a model and of the whole.
func (t *tracker) count(model string, change func(*Progress)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.all)
	if m := t.models[model]; m != nil {
		change(m)
	}
}

// Trial implements Recorder.
func (t *tracker) Trial(ctx context.Context, rec *record.Trial) error {
	if err := t.Writer.Trial(ctx, rec); err != nil {
		return err
	}
	t.ended(rec, false)
	t.events.tell(Event{Kind: TrialEnded, Trial: rec})
	return nil
}

// ended counts a trial, made now or before.
func (t *tracker) ended(rec *record.Trial, before bool) {
	t.count(rec.Model, func(p *Progress) {
		p.Done++
		if before {
			p.Before++
		}
		switch {
		case rec.Outcome == record.Failed:
			p.Failed++
		case answered(rec):
			p.Answered++
		}
	})
}

// answered reports whether a trial holds any answer of its model that could be
// used.
func answered(t *record.Trial) bool {
	for i := range t.Steps {
		if !t.Steps[i].Fallback {
			return true
		}
	}
	for _, w := range t.Windows {
		if len(w.Replies) == 0 {
			continue // an oracle's
		}
		if slices.ContainsFunc(w.Judgments, func(j record.Judgment) bool { return j.Verdict != record.Unanswered }) {
			return true
		}
	}
	return false
}

// silent lists the models with a server that have finished trials, and in none
// of them an answer.
func (t *tracker) silent() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, name := range t.order {
		if p := t.models[name]; !IsControl(name) && p.Done > p.Failed && p.Answered == 0 {
			names = append(names, name)
		}
	}
	return names
}

// Call implements Recorder.
func (t *tracker) Call(ctx context.Context, c *record.Call) error {
	t.called(c)
	return t.Writer.Call(ctx, c)
}

// DurableCall implements Recorder.
func (t *tracker) DurableCall(ctx context.Context, c *record.Call) error {
	t.called(c)
	return t.Writer.DurableCall(ctx, c)
}

func (t *tracker) called(c *record.Call) {
	t.count(c.Model, func(p *Progress) {
		p.Calls++
		p.Input += said(c.InputTokens)
		p.Output += said(c.OutputTokens)
	})
	t.spend(c)
}

// spend counts what a call costs, one of now or of an earlier session.
func (t *tracker) spend(c *record.Call) {
	if t.paid[c.Model] || c.Reported() != nil {
		t.count(c.Model, func(p *Progress) { p.Spent.add(UsageOf(c), CostOf(t.prices, c)) })
	}
}

// wait notes that a call waits to be tried again.
func (t *tracker) wait(w llm.Wait) {
	model := w.Err.Model
	t.count(model, func(p *Progress) { p.Retries++ })
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pending[model]
	if p == nil {
		p = &pendingWaits{}
		t.pending[model] = p
	}
	now := t.now()
	p.at(now)
	p.until = append(p.until, now.Add(w.For))
	p.why = w.Err.Kind
	if p.told.IsZero() || now.Sub(p.told) >= tellWaitsEvery || p.saying != p.why && now.Sub(p.told) >= tellWaitsEvery/6 {
		p.told, p.saying = now, p.why
		t.events.tell(Event{Kind: Notice, Text: w.String()})
	}
}

// progress returns how far the run is, as a whole and by model.
func (t *tracker) progress() (all Progress, models []Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	all, took := t.all, now.Sub(t.began)
	all.Took = took
	for _, name := range t.order {
		p := *t.models[name]
		p.Took, p.Waiting = took, t.pending[name].at(now)
		if flights := t.flights[name]; flights != nil {
			s := flights.Snapshot()
			p.Flying = Flying{Calls: s.Calls, Tokens: s.Tokens}
			if s.Calls > 0 {
				p.Flying.Oldest = now.Sub(s.Oldest)
			}
		}
		all.Flying.join(p.Flying)
		all.Waiting.join(p.Waiting)
		models = append(models, p)
	}
	return all, models
}
