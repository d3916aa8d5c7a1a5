package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// RetryOptions say how often and after what waits a failed call is tried again.
type RetryOptions struct {
	// Attempts is how often a call is tried in all; 0 stands for 8, 1 never
	// tries again.
	Attempts int
	// Unreached is how often a call is tried in all when no connection can be
	// made and no call of this model has ever had one: an address that is wrong,
	// or a server that does not run, is better said at once. 0 stands for 3.
	Unreached int
	// Slow is how often a call is tried in all that the server worked on for as
	// long as an attempt may take: the same again would hardly be faster. 0
	// stands for 2.
	Slow int
	// Base is the wait after the first failure, which doubles with each further
	// one; 0 stands for 1 s.
	Base time.Duration
	// Cap is the longest wait, also where the provider asks for a longer one;
	// 0 stands for 2 minutes.
	Cap time.Duration
	// Sleep waits for d and returns an error when ctx ends before; nil for the
	// machine's clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Jitter draws a number in [0,1) for each wait, so that calls which failed
	// together do not come back together; nil for the shared random source. It
	// shifts waits only, never a result.
	Jitter func() float64
	// Notify is told of each wait before it begins, from many goroutines; nil
	// for nobody.
	Notify func(Wait)
}

// A Wait is the pause between two attempts of a call.
type Wait struct {
	Trial    string
	Slot     string
	Attempt  int           // attempts made so far
	Attempts int           // attempts there may be
	For      time.Duration // how long
	Err      *Error        // why
}

// String says what is waited for, as in "openai/gpt-4o at step3: rate-limit:
// slow down; retrying in 45 s (attempt 2 of 8)".
func (w Wait) String() string {
	return fmt.Sprintf("%v; retrying in %s (attempt %d of %d)", w.Err, seconds(w.For), w.Attempt+1, w.Attempts)
}

// seconds writes a wait as people read it: "0.4 s", "45 s".
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// Retry returns a model that tries a call again when it failed in a way that
// may pass (Kind.Retryable). Where the provider says how long to wait it waits
// at least so long, up to Cap. A server that no call has ever reached is soon
// given up, with an error of kind no-server. Everything else, a reply that cannot be used
// among it, is returned as it came, and so is the last failure, with the number
// of attempts.
func Retry(m Model, opts RetryOptions) Model {
	if opts.Attempts <= 0 {
		opts.Attempts = 8
	}
	if opts.Unreached <= 0 {
		opts.Unreached = 3
	}
	if opts.Slow <= 0 {
		opts.Slow = 2
	}
	if opts.Base <= 0 {
		opts.Base = time.Second
	}
	if opts.Cap <= 0 {
		opts.Cap = 2 * time.Minute
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	if opts.Jitter == nil {
		opts.Jitter = rand.Float64
	}
	return &retried{model: m, opts: opts}
}

type retried struct {
	model   Model
	opts    RetryOptions
	reached atomic.Bool // some call had a connection
}

// Unwrap returns the model that is tried again.
func (m *retried) Unwrap() Model { return m.model }

func (m *retried) Generate(ctx context.Context, req *Request) (*Reply, error) {
	slow := 0
	for attempt := 1; ; attempt++ {
		reply, err := m.model.Generate(ctx, req)
		if err == nil {
			m.reached.Store(true)
			return reply, nil
		}
		var e *Error
		if !errors.As(err, &e) {
			return nil, err
		}
		switch {
		case !e.Unreached && e.Kind != KindCanceled:
			m.reached.Store(true)
		case e.Unreached && attempt >= m.opts.Unreached && !m.reached.Load():
			never := *e
			never.Kind, never.Attempts = KindNoServer, attempt
			return nil, &never
		}
		if e.Slow {
			slow++
		}
		if !e.Kind.Retryable() || attempt == m.opts.Attempts || slow >= m.opts.Slow {
			if attempt > 1 {
				tried := *e
				tried.Attempts = attempt
				return nil, &tried
			}
			return nil, err
		}
		jitter := m.opts.Jitter
		if req.Batch { // calls that failed together make one batch again
			jitter = func() float64 { return 0 }
		}
		wait := m.opts.wait(attempt, e.RetryAfter, jitter)
		if m.opts.Notify != nil {
			m.opts.Notify(Wait{req.Trial, req.Slot, attempt, m.opts.Attempts, wait, e})
		}
		if err := m.opts.Sleep(ctx, wait); err != nil {
			return nil, &Error{Kind: KindCanceled, Model: e.Model, Slot: req.Slot, Message: "given up while waiting to try again", Err: err, Attempts: attempt}
		}
	}
}

// wait returns how long to wait after so many attempts. A wait of our own is
// drawn from its upper half; one that the provider asks for is drawn out a
// little, never shortened but by the cap.
func (o *RetryOptions) wait(attempts int, asked time.Duration, jitter func() float64) time.Duration {
	own := o.Cap
	if shift := attempts - 1; shift < 32 && o.Base<<shift>>shift == o.Base {
		own = min(own, o.Base<<shift)
	}
	if asked > 0 {
		return min(o.Cap, asked+time.Duration(float64(min(o.Base, asked))*jitter()))
	}
	return own/2 + time.Duration(float64(own/2)*jitter())
}

// quitKey is the context key of WithQuit.
type quitKey struct{}

// WithQuit returns a context under which waits between attempts end when quit
// does, with its cause, while a call that is under way goes on: its answer may
// be paid for.
func WithQuit(ctx, quit context.Context) context.Context {
	return context.WithValue(ctx, quitKey{}, quit)
}

// Quit returns what WithQuit put into the context, or a context that does not
// end: what else waits before a call begins ends with it.
func Quit(ctx context.Context) context.Context {
	if quit, ok := ctx.Value(quitKey{}).(context.Context); ok {
		return quit
	}
	return context.Background()
}

// sleep waits by the machine's clock.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	quit := Quit(ctx)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-quit.Done():
		return context.Cause(quit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
