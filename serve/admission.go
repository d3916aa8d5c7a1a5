package serve

import (
	"context"
	"net/http"
	"sync/atomic"
)

// An admission lets a number of audits through at once, and a number wait.
type admission struct {
	limits   Limits
	stopping <-chan struct{} // closed once nobody who waits need be let in
	turns
}

// turns are those that are taken, and how many wait for one.
type turns struct {
	taken   chan struct{}
	waiting *atomic.Int64
}

func newTurns(n int) turns { return turns{make(chan struct{}, n), new(atomic.Int64)} }

func newAdmission(l Limits, stopping <-chan struct{}) *admission {
	return &admission{l, stopping, newTurns(l.Audits)}
}

func (a *admission) running() int { return len(a.taken) }

// enter waits for a turn of the account, then for one of the service. Its error
// is a fault that says when to come again, or that of ctx.
func (a *admission) enter(ctx context.Context, who *account) (leave func(), err error) {
	full := func(status int, text string) error {
		return &fault{status: status, text: text, retry: retryPause}
	}
	if who.turns.waiting.Add(1) > int64(a.limits.WaitingEach) {
		who.turns.waiting.Add(-1)
		return nil, full(http.StatusTooManyRequests, "this token has too many audits that wait for their turn")
	}
	defer who.turns.waiting.Add(-1)
	if a.waiting.Add(1) > int64(a.limits.Waiting) {
		a.waiting.Add(-1)
		return nil, full(http.StatusServiceUnavailable, "too many audits wait for their turn")
	}
	defer a.waiting.Add(-1)
	ctx, cancel := context.WithTimeoutCause(ctx, a.limits.Time, full(http.StatusServiceUnavailable, "no turn came: the service is busy"))
	defer cancel()
	for i, t := range []turns{who.turns, a.turns} {
		select {
		case t.taken <- struct{}{}:
			continue
		case <-a.stopping:
			err = full(http.StatusServiceUnavailable, "the service is stopping")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if i > 0 {
			<-who.turns.taken
		}
		return nil, err
	}
	return func() {
		<-a.taken
		<-who.turns.taken
	}, nil
}
