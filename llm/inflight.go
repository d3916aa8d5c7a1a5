package llm

import (
	"context"
	"sync"
	"time"
)

// InFlight counts the calls that are under way, for a line of progress: a slow
// server looks like a dead one to anybody who cannot see that tokens come. The
// zero value is ready; it is safe for concurrent use.
type InFlight struct {
	mu    sync.Mutex
	calls map[*flight]struct{}
}

// A flight is a call that is under way.
type flight struct {
	calls  *InFlight
	began  time.Time
	tokens int
}

// A Snapshot counts the calls under way.
type Snapshot struct {
	Calls  int
	Oldest time.Time // when the one that takes longest began; zero where there is none
	// Tokens is how many pieces of answers came so far, thinking as well. A server
	// that is not streamed from gives none before the end.
	Tokens int
}

// Watch returns a model whose calls are counted while they are under way. It
// belongs inside Limit, so that a call that waits for its turn does not count.
// now tells the time.
func (f *InFlight) Watch(m Model, now func() time.Time) Model {
	return &wrapped{m, func(ctx context.Context, req *Request) (*Reply, error) {
		c := &flight{calls: f, began: now()}
		f.mu.Lock()
		if f.calls == nil {
			f.calls = map[*flight]struct{}{}
		}
		f.calls[c] = struct{}{}
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.calls, c)
		}()
		return m.Generate(context.WithValue(ctx, flightKey{}, c), req)
	}}
}

// Snapshot counts the calls under way now.
func (f *InFlight) Snapshot() Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Snapshot{Calls: len(f.calls)}
	for c := range f.calls {
		s.Tokens += c.tokens
		if s.Oldest.IsZero() || c.began.Before(s.Oldest) {
			s.Oldest = c.began
		}
	}
	return s
}

// flightKey is the context key of a watched call.
type flightKey struct{}

// TokenCame tells whoever watches the call of this context (InFlight) that a
// piece of its answer came. Clients that stream call it.
func TokenCame(ctx context.Context) {
	if c, ok := ctx.Value(flightKey{}).(*flight); ok {
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		c.tokens++
	}
}
