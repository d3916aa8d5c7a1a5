package llm

import (
	"context"
	"sync"
	"time"
)

// LimitOptions bound the calls of one model.
type LimitOptions struct {
	// Model is the model's name, for errors.
	Model string
	// InFlight is the most calls under way at once; 0 stands for 64.
	InFlight int
	// RPM is the most calls begun in a minute; 0 for no such limit. They are
	// spread evenly.
	RPM int
	// TPM is the most tokens of a minute, prompts and replies together; 0 for
	// no such limit. What a call will take is estimated, and settled by the
	// usage that the server reports. A call is let through as soon as those
	// before it are paid off, so that a minute can exceed it by one call.
	TPM int
	// Now tells the time and Sleep waits for d, with an error when ctx ends
	// before; nil for the machine's clock.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Limit returns a model whose calls wait for their turn, first come, first
// served. The limit in flight halves when the provider says that calls come too
// fast (KindRateLimit), at most once for the calls that were under way
// together, and creeps back by one for each full round of answered calls. A
// failing server does not change it. Calls in batches do not wait and do not
// count.
func Limit(m Model, opts LimitOptions) Model {
	if opts.InFlight <= 0 {
		opts.InFlight = 64
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	return &limited{
		model: m, opts: opts, output: tokensFirstReply,
		gate:  gate{most: opts.InFlight, limit: float64(opts.InFlight)},
		calls: pacer{perMinute: opts.RPM}, tokens: pacer{perMinute: opts.TPM},
	}
}

type limited struct {
	model Model
	opts  LimitOptions
	gate  gate

	mu            sync.Mutex
	calls, tokens pacer
	output        float64 // tokens of a reply to expect
}

// Unwrap returns the model that is limited.
func (m *limited) Unwrap() Model { return m.model }

func (m *limited) Generate(ctx context.Context, req *Request) (*Reply, error) {
	if req.Batch { // its pace is the provider's
		return m.model.Generate(ctx, req)
	}
	round, err := m.gate.enter(ctx)
	if err != nil {
		return nil, m.canceled(req, err)
	}
	outcome := neutral
	defer func() { m.gate.leave(outcome, round) }()
	settle, err := m.pace(ctx, req)
	if err != nil {
		return nil, m.canceled(req, err)
	}
	reply, err := m.model.Generate(ctx, req)
	switch {
	case err == nil:
		outcome = answered
		settle(&reply.Usage)
	case KindOf(err) == KindRateLimit:
		outcome = refused
	}
	return reply, err
}

func (m *limited) canceled(req *Request, cause error) error {
	return &Error{Kind: KindCanceled, Model: m.opts.Model, Slot: req.Slot, Message: "given up while waiting for its turn", Err: cause}
}

// The tokens that stand for what is not known before a call.
const (
	tokensPerImage    = 800
	tokensFirstReply  = 500
	bytesPerToken     = 4
	weightOfLastReply = 0.1
)

// pace waits until the call may begin. settle is told what it took.
func (m *limited) pace(ctx context.Context, req *Request) (settle func(*Usage), err error) {
	m.mu.Lock()
	now := m.opts.Now()
	estimate := int(m.output)
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			estimate += tokensPerImage
		} else {
			estimate += len(p.Text()) / bytesPerToken
		}
	}
	wait := max(m.calls.book(now, 1), m.tokens.book(now, estimate))
	m.mu.Unlock()
	if wait > 0 {
		err = m.opts.Sleep(ctx, wait)
	}
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls.book(now, -1)
		m.tokens.book(now, -estimate)
		return nil, err
	}
	return func(u *Usage) {
		if u.InputTokens == nil || u.OutputTokens == nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.output += weightOfLastReply * (float64(*u.OutputTokens) - m.output)
		m.tokens.book(m.opts.Now(), *u.InputTokens+*u.OutputTokens-estimate)
	}, nil
}

// A pacer spreads something over time: it may begin again once what was booked
// before is paid off. The zero rate is no limit.
type pacer struct {
	perMinute int
	free      time.Time // when all is paid off
}

// book books n, or gives n back, and returns how long what was booked before
// takes to be paid off. No more than ten minutes' worth is booked at once: a
// server may report any number of tokens.
func (p *pacer) book(now time.Time, n int) (wait time.Duration) {
	if p.perMinute == 0 {
		return 0
	}
	if p.free.Before(now) {
		p.free = now
	}
	wait = p.free.Sub(now)
	n = min(n, 10*p.perMinute)
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.perMinute) * float64(time.Minute)))
	return wait
}

// A gate lets a changing number of calls through at once.
type gate struct {
	mu      sync.Mutex
	most    int
	limit   float64 // whole calls count; between 1 and most
	inside  int
	round   int             // the number of times the limit was halved
	waiting []chan struct{} // each is closed when its call may enter
}

// What became of a call, as far as the gate cares.
type outcome int

const (
	neutral  outcome = iota
	answered         // the server kept up
	refused          // calls come too fast
)

// enter waits for a place. The round goes back to leave.
func (g *gate) enter(ctx context.Context) (round int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	g.mu.Lock()
	if len(g.waiting) == 0 && g.inside < int(g.limit) {
		g.inside++
		round = g.round
		g.mu.Unlock()
		return round, nil
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	quit := Quit(ctx)
	select {
	case <-turn:
	case <-quit.Done():
	case <-ctx.Done():
	}
	for _, over := range []context.Context{quit, ctx} { // also where its turn came at the same moment
		if over.Err() != nil {
			g.abandon(turn)
			return 0, context.Cause(over)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.round, nil
}

// abandon takes a call out of the queue; where its turn has come meanwhile, the
// place goes to the next.
func (g *gate) abandon(turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == turn {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return
		}
	}
	g.inside--
	g.admit()
}

// leave gives the place back and learns from what became of the call. A refusal
// of a call that began before the last halving is no news.
func (g *gate) leave(o outcome, round int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	switch {
	case o == answered:
		g.limit = min(float64(g.most), g.limit+1/g.limit)
	case o == refused && round == g.round:
		g.limit = max(1, float64(int(g.limit/2)))
		g.round++
	}
	g.admit()
}

// admit lets in those at the head of the queue for whom there is a place.
func (g *gate) admit() {
	for len(g.waiting) > 0 && g.inside < int(g.limit) {
		close(g.waiting[0])
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
		g.inside++
	}
}
