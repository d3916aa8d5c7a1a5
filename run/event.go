package run

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// Kind says what an event is.
type Kind string

// The kinds of events.
const (
	Notice     Kind = "notice"   // something that people should know, in Text: a server that refuses a parameter, calls that wait, a model that is given up
	TrialEnded Kind = "trial"    // a trial finished or failed: Trial
	Ticked     Kind = "progress" // how far the run is: Progress and Models
	Ended      Kind = "end"      // the session is over: Progress and Models for the last time
)

// An Event is something that happened in a session, for a terminal, a page or a
// program to show. What each kind holds is said beside it.
type Event struct {
	Kind     Kind
	Text     string
	Trial    *record.Trial // must not be changed
	Progress *Progress     // of the whole
	Models   []Progress    // of each model, in the study's order
}

// String says it in a line.
func (e Event) String() string {
	switch e.Kind {
	case Notice:
		return e.Text
	case TrialEnded:
		return fmt.Sprintf("%s of %s on seed %d, %s, %s: %s", e.Trial.Task, e.Trial.Model, e.Trial.Seed, e.Trial.Regime, e.Trial.Strategy, e.Trial.Outcome)
	case Ticked, Ended:
		return e.Progress.String()
	}
	return string(e.Kind)
}

// mostPending is how many events wait for a reader at most. Of a reader that
// falls behind further, the oldest ends of trials are dropped: a run waits for
// nobody who only watches it.
const mostPending = 1024

// A feed hands events to whoever reads them.
type feed struct {
	mu      sync.Mutex
	notices []Event // all so far, for those who come late
	readers []*reader
	first   *reader // has all from the beginning, until somebody reads
	over    bool
}

type reader struct {
	pending []Event
	news    chan struct{} // holds one when something is pending, or the session is over
}

func newReader(pending []Event) *reader {
	return &reader{slices.Clone(pending), make(chan struct{}, 1)}
}

func newFeed() *feed {
	first := newReader(nil)
	return &feed{first: first, readers: []*reader{first}}
}

// tell hands an event to all readers, and waits for none.
func (f *feed) tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Kind == Notice {
		f.notices = append(f.notices, e)
	}
	for _, r := range f.readers {
		if len(r.pending) >= mostPending {
			if i := slices.IndexFunc(r.pending, func(e Event) bool { return e.Kind == TrialEnded }); i >= 0 {
				r.pending = slices.Delete(r.pending, i, i+1)
			}
		}
		r.pending = append(r.pending, e)
		r.wake()
	}
}

func (r *reader) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// end says that nothing more comes.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	for _, r := range f.readers {
		r.wake()
	}
}

// subscribe returns a reader. The first has everything from the beginning,
// later ones the notices before they came.
func (f *feed) subscribe() *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.first; r != nil {
		f.first = nil
		return r
	}
	r := newReader(f.notices)
	r.wake()
	f.readers = append(f.readers, r)
	return r
}

func (f *feed) unsubscribe(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = slices.DeleteFunc(f.readers, func(o *reader) bool { return o == r })
}

// take returns what is pending, and whether the session is over.
func (f *feed) take(r *reader) (events []Event, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, r.pending = r.pending, nil
	return events, f.over
}

// Events returns what happens in the session, in order, until it is over; the
// last is of kind Ended. Every so often an event says how far the run is; 0
// leaves these out. Several may read at once; the first has everything from the
// beginning, later ones the notices before they came. A reader that is slow, or
// leaves, holds up nothing.
func (s *Session) Events(every time.Duration) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		r := s.events.subscribe()
		defer s.events.unsubscribe(r)
		var tick <-chan time.Time
		if every > 0 {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			tick = ticker.C
			if !yield(s.event(Ticked)) {
				return
			}
		}
		for {
			select {
			case <-tick:
				if !yield(s.event(Ticked)) {
					return
				}
			case <-r.news:
				events, over := s.events.take(r)
				for _, e := range events {
					if !yield(e) {
						return
					}
				}
				if over {
					yield(s.event(Ended))
					return
				}
			}
		}
	}
}

// event is one that says how far the run is.
func (s *Session) event(kind Kind) Event {
	all, models := s.Progress()
	return Event{Kind: kind, Progress: &all, Models: models}
}

// Progress returns how far the run is, as a whole and with each of its models.
func (s *Session) Progress() (all Progress, models []Progress) { return s.tracker.progress() }
