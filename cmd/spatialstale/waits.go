package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A waiting is how many calls wait to be tried again, at one moment.
type waiting struct {
	calls int
	next  time.Duration // until the first of them is tried
	why   llm.Kind      // what the latest of them failed with
}

// String says it in words, "" when none waits.
func (w waiting) String() string {
	switch {
	case w.calls == 0:
		return ""
	case w.calls == 1:
		return fmt.Sprintf("%s: retrying in %s", w.why, wholeSeconds(w.next))
	}
	return fmt.Sprintf("%s: %d calls wait, the next in %s", w.why, w.calls, wholeSeconds(w.next))
}

// wholeSeconds writes a wait as "45 s", the last one as "1 s".
func wholeSeconds(d time.Duration) string {
	return fmt.Sprintf("%.0f s", max(1, d.Round(time.Second).Seconds()))
}

// join adds the calls of another model.
func (w *waiting) join(v waiting) {
	if v.calls == 0 {
		return
	}
	if w.calls == 0 || v.next < w.next {
		w.next, w.why = v.next, v.why
	}
	w.calls += v.calls
}

// pendingWaits are the waits of one model's calls.
type pendingWaits struct {
	until  []time.Time
	why    llm.Kind
	told   time.Time // when the person was last told of one
	saying llm.Kind  // and why
}

// at drops the waits that are over and sums up the others.
func (p *pendingWaits) at(now time.Time) waiting {
	if p == nil {
		return waiting{}
	}
	p.until = slices.DeleteFunc(p.until, func(t time.Time) bool { return !t.After(now) })
	w := waiting{calls: len(p.until), why: p.why}
	if w.calls > 0 {
		w.next = slices.MinFunc(p.until, time.Time.Compare).Sub(now)
	}
	return w
}

// How often a person is told in full why calls of one model wait. In between,
// the progress counts them.
const tellWaitsEvery = time.Minute

// waits notes that a call waits to be tried again.
func (t *tally) waits(w llm.Wait) {
	model := w.Err.Model
	t.count(model, func(s *standing) { s.retries++ })
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
		t.notices = append(t.notices, w.String())
	}
}

// notice has a line shown in its place in the progress.
func (t *tally) notice(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, line)
}

// takeNotices returns the lines that were not yet shown.
func (t *tally) takeNotices() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.notices
	t.notices = nil
	return lines
}
