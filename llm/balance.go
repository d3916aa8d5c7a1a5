package llm

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Waits before an address that failed is tried again: the first, doubled with each
// further failure, and the longest.
const firstOut, longestOut = time.Second, time.Minute

// Balance returns a model that is reached at several addresses, each of which the
// same answers come from. A call goes to where the fewest are under way. An address
// that fails is left out for a while, which grows as long as it fails; when all are
// out a call goes to the one whose turn comes first. A call goes on to another address
// only where the first was not even reached: any other failure may have been answered,
// and billed, and belongs to whoever counts and tries again. now tells the time.
func Balance(at []Model, now func() time.Time) Model {
	b := &balanced{now: now}
	for _, m := range at {
		b.places = append(b.places, &place{model: m})
	}
	return b
}

type balanced struct {
	now    func() time.Time
	mu     sync.Mutex
	places []*place
}

// A place is an address of a balanced model.
type place struct {
	model    Model
	calls    int       // under way
	failures int       // one after another
	out      time.Time // until when it is left out
}

// Generate implements Model.
func (b *balanced) Generate(ctx context.Context, req *Request) (*Reply, error) {
	tried := map[*place]bool{}
	for {
		p := b.begin(tried)
		tried[p] = true
		reply, err := p.model.Generate(ctx, req)
		var e *Error
		failed := errors.As(err, &e) && placeFailed(e.Kind) && ctx.Err() == nil
		if b.end(p, failed); !failed || !e.Unreached || !b.another(tried) {
			return reply, err
		}
	}
}

// placeFailed reports whether a failure is the address's, and not the request's or
// the pace's.
func placeFailed(k Kind) bool {
	return k == KindNetwork || k == KindNoServer || k == KindServer || k == KindTimeout
}

// begin chooses where a call goes.
func (b *balanced) begin(tried map[*place]bool) *place {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	var best *place
	for _, p := range b.places {
		if tried[p] {
			continue
		}
		out, bestOut := now.Before(p.out), best != nil && now.Before(best.out)
		switch {
		case best == nil, bestOut && !out,
			out && bestOut && p.out.Before(best.out),
			!out && !bestOut && p.calls < best.calls:
			best = p
		}
	}
	best.calls++
	return best
}

func (b *balanced) end(p *place, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.calls--
	if !failed {
		p.failures, p.out = 0, time.Time{}
		return
	}
	p.out = b.now().Add(min(firstOut<<min(p.failures, 10), longestOut))
	p.failures++
}

// another reports whether there is an address that is in and has not been tried.
func (b *balanced) another(tried map[*place]bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.places {
		if !tried[p] && !b.now().Before(p.out) {
			return true
		}
	}
	return false
}

// Describe implements Describer: the first address, and what any of them made us
// change.
func (b *balanced) Describe() (d Description) {
	for i, p := range b.places {
		one, _ := Describe(p.model)
		if i == 0 {
			d.Endpoint = one.Endpoint
		}
		d.Changes = append(d.Changes, one.Changes...)
	}
	return d
}
