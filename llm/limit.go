package llm

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
// failing server does not change it.
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
	l := &limited{model: m, opts: opts, gate: gate{most: opts.InFlight, limit: float64(opts.InFlight)}}
	if opts.RPM > 0 {
		l.calls = rate.NewLimiter(rate.Limit(float64(opts.RPM)/60), 1)
	}
	if opts.TPM > 0 {
		l.tokens = newMeter(opts.TPM)
	}
	return l
}

type limited struct {
	model  Model
	opts   LimitOptions
	gate   gate
	calls  *rate.Limiter // nil without RPM
	tokens *meter        // nil without TPM
}

// Unwrap returns the model that is limited.
func (m *limited) Unwrap() Model { return m.model }

func (m *limited) Generate(ctx context.Context, req *Request) (*Reply, error) {
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

// pace waits until the call may begin. settle is told what it took.
func (m *limited) pace(ctx context.Context, req *Request) (settle func(*Usage), err error) {
	now := m.opts.Now()
	var wait time.Duration
	var call *rate.Reservation
	if m.calls != nil {
		call = m.calls.ReserveN(now, 1)
		wait = call.DelayFrom(now)
	}
	settle = func(*Usage) {}
	estimate := 0
	if m.tokens != nil {
		var debt time.Duration
		estimate, debt = m.tokens.take(now, req)
		wait = max(wait, debt)
		settle = func(u *Usage) { m.tokens.settle(m.opts.Now(), estimate, u) }
	}
	if wait > 0 {
		err = m.opts.Sleep(ctx, wait)
	}
	if err != nil {
		if call != nil {
			call.CancelAt(m.opts.Now())
		}
		if m.tokens != nil {
			m.tokens.giveBack(estimate)
		}
	}
	return settle, err
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

// A meter spreads tokens over time. It lets a call begin once the tokens of
// earlier ones are paid off, and books the call's own as a debt.
type meter struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	credit  int     // tokens booked for earlier calls but not used
	output  float64 // tokens of a reply to expect
}

// The tokens that stand for what is not known before a call.
const (
	tokensPerImage    = 800
	tokensFirstReply  = 500
	bytesPerToken     = 4
	weightOfLastReply = 0.1
)

func newMeter(tpm int) *meter {
	return &meter{
		limiter: rate.NewLimiter(rate.Limit(float64(tpm)/60), max(1, tpm/60)),
		output:  tokensFirstReply,
	}
}

// take books what a call is taken to need, and returns how long it must wait.
func (t *meter) take(now time.Time, req *Request) (estimate int, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	estimate = int(t.output)
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			estimate += tokensPerImage
		} else {
			estimate += len(p.Text()) / bytesPerToken
		}
	}
	if debt := -t.limiter.TokensAt(now); debt > 0 {
		wait = time.Duration(debt / float64(t.limiter.Limit()) * float64(time.Second))
	}
	t.book(now, estimate)
	return estimate, wait
}

// settle corrects a call's booking by what the server says that it took.
func (t *meter) settle(now time.Time, estimate int, u *Usage) {
	if u.InputTokens == nil || u.OutputTokens == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output += weightOfLastReply * (float64(*u.OutputTokens) - t.output)
	if more := *u.InputTokens + *u.OutputTokens - estimate; more > 0 {
		t.book(now, more)
	} else {
		t.credit -= more
	}
}

// giveBack undoes the booking of a call that was never made.
func (t *meter) giveBack(estimate int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credit += estimate
}

// book adds n tokens to the debt, less what there is of credit, and never more
// than ten minutes' worth at once: a server may report anything. The limiter
// takes them in pieces of its burst.
func (t *meter) book(now time.Time, n int) {
	n = min(n, int(600*t.limiter.Limit()))
	used := min(n, t.credit)
	t.credit -= used
	for n -= used; n > 0; n -= t.limiter.Burst() {
		t.limiter.ReserveN(now, min(n, t.limiter.Burst()))
	}
}
