package judge

import (
	"context"
	"fmt"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// When says at which views a session audits its memory.
type When int

// The moments of an audit. Every session audits before its first view.
const (
	Once    When = iota // never again
	OnEvent             // again at the next view after each event
)

// A Policy is what happens to entries found stale.
type Policy int

// The policies.
const (
	Remove Policy = iota // they leave the view; all others stay
)

// A Session is one agent's memory over time: it knows when to audit, and gives
// the view of the memory that follows from the latest judgments. It is not safe
// for concurrent use.
type Session struct {
	source  Source
	entries []Entry
	when    When
	policy  Policy
	windows int // audits made
	pending bool
	view    View
}

// NewSession returns a session over entries, which must not be changed.
func NewSession(source Source, entries []Entry, when When, policy Policy) *Session {
	return &Session{source: source, entries: entries, when: when, policy: policy, pending: true}
}

// A View is what an agent may remember now.
type View struct {
	Entries []Entry  // the entries that stay, in order, with their own ids
	Removed []string // the others' names, as in IDs
	Result  *Result  // the audit that was made for this view; nil when none was
}

// Due reports whether View, with the same event, would audit: an observation
// need not be made for a view that does not look at it.
func (s *Session) Due(event bool) bool {
	return s.pending || event && s.when == OnEvent
}

// View returns the memory view for an observation. event tells that something
// happened since the last view. When an audit is due it is made, as the trial's
// next window, over all entries, also those removed before; otherwise the view
// is the last one. After an error the audit is still due, in the same window.
func (s *Session) View(ctx context.Context, trial string, observation []llm.Part, event bool) (View, error) {
	if s.when != Once && s.when != OnEvent {
		return View{}, fmt.Errorf("audit: unknown moment %d", s.when)
	}
	if s.policy != Remove {
		return View{}, fmt.Errorf("audit: unknown policy %d", s.policy)
	}
	s.pending = s.Due(event)
	if !s.pending {
		return s.view, nil
	}
	res, err := s.source.Audit(ctx, Where{Trial: trial, Window: s.windows}, s.entries, observation)
	if err != nil {
		return View{}, err
	}
	if len(res.Verdicts) != len(s.entries) {
		return View{}, fmt.Errorf("audit: the source gave %d verdicts on %d entries", len(res.Verdicts), len(s.entries))
	}
	s.pending = false
	s.windows++
	s.view = View{}
	for i := range s.entries {
		if res.Verdicts[i].Status == record.Stale {
			s.view.Removed = append(s.view.Removed, res.Verdicts[i].ID)
		} else {
			s.view.Entries = append(s.view.Entries, s.entries[i])
		}
	}
	view := s.view
	view.Result = res
	return view, nil
}
