package price

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
)

// A Budget keeps what a run may cost within a limit, over all its models and
// sessions. Before an attempt begins it sets aside the most that this can cost:
// a token for each byte of the prompt, the provider's rule for its pictures, and
// the output cap. It is safe for concurrent use.
type Budget struct {
	limit USD // most for none

	mu        sync.Mutex
	keep      func(Balance) error
	state     Balance
	queue     []*claim // attempts that wait, first come, first served
	exhausted error    // why no further attempt begins
}

// A Balance says what of a budget is spent or set aside.
type Balance struct {
	Spent    USD // on answers, by their tokens
	Lost     USD // at most, on attempts whose answer or tokens were never seen
	Reserved USD // at most, for attempts under way
	Overruns int // answers that cost more than was set aside for them

	// Unseen and Blind count attempts of which not even the most is known, for
	// want of a price or a cap: those that may have been billed though nobody saw
	// an answer, and those under way.
	Unseen, Blind int
}

// Most returns the most that can have been spent, without Unseen and Blind.
func (s *Balance) Most() USD { return s.Spent.plus(s.Lost).plus(s.Reserved) }

// A claim is an attempt that waits for its money.
type claim struct {
	name string
	need bound
	held bool          // what it needs is counted as lost, from an earlier session
	back USD           // of that, what was taken back
	turn chan struct{} // closed when it may begin, or err says why not
	err  error
}

// NewBudget returns a budget with a limit, nil for none.
func NewBudget(limit *USD) *Budget {
	p := &Budget{limit: most}
	if limit != nil {
		p.limit = *limit
	}
	return p
}

// Open says what earlier sessions spent, and who keeps the balance
// from now on: keep is told before an attempt begins and after it ended, and its
// error stops the run. It may be nil. Open belongs before the first attempt.
func (p *Budget) Open(earlier Balance, keep func(Balance) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.keep = earlier, keep
}

// Balance returns the balance of now.
func (p *Budget) Balance() Balance {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Limit returns the budget's limit; false when it has none.
func (p *Budget) Limit() (USD, bool) { return p.limit, p.limit != most }

// Terms are what a model's requests cost beside what they hold.
type Terms struct {
	Detail string // asked for of pictures
	Extra  int    // bytes that are added to each request
	// Twice says that the client may have to ask once more to tell whether an
	// answer counts (llm.Reply.Besides).
	Twice bool
	// Held reports whether an earlier session set money aside for this request,
	// which a batch may still answer; nil for never. That money is used again.
	Held func(*llm.Request) bool
}

// For returns the budget as the budget of one model. The price is nil where it is
// not known.
func (p *Budget) For(name string, price *Price, terms Terms) llm.Budget {
	return &modelBudget{p, name, price, terms}
}

type modelBudget struct {
	budget *Budget
	name   string
	price  *Price
	terms  Terms
}

// Reserve implements llm.Budget.
func (b *modelBudget) Reserve(ctx context.Context, req *llm.Request) (func(*llm.Reply, error), error) {
	need := bound{known: true}
	var err error
	in := *b
	in.price = b.price.In(req.Batch)
	if in.price == nil {
		err = errors.New("the list of prices does not have it")
	} else {
		need.usd, err = in.price.MaxCost(req, b.terms)
	}
	if err != nil {
		if _, limited := b.budget.Limit(); limited {
			return nil, fmt.Errorf("%w: %s: %w", llm.ErrBudget, b.name, err)
		}
		need = bound{}
	}
	held := func() bool { return b.terms.Held != nil && b.terms.Held(req) }
	c := &claim{name: b.name, need: need, held: held(), turn: make(chan struct{})}
	if err := b.budget.reserve(ctx, c); err != nil {
		return nil, err
	}
	return func(reply *llm.Reply, err error) {
		if reply != nil && reply.Batch != "" {
			in.price = b.price.In(true)
		}
		bill := in.bill(need, reply, err)
		if llm.Unbilled(err) && held() { // another batch may have it
			bill.lost = c.back
		}
		b.budget.settle(need, bill)
	}, nil
}

// A bound is the most that an attempt can cost, where that is known.
type bound struct {
	usd   USD
	known bool
}

// A bill is what an attempt came to.
type bill struct {
	spent, lost USD
	unseen      bool // it may have been billed, nobody knows how much
}

func (b *modelBudget) bill(need bound, reply *llm.Reply, err error) bill {
	var e *llm.Error
	switch {
	case err != nil && llm.Unbilled(err):
		return bill{}
	case b.price != nil && errors.As(err, &e) && e.Answered:
		return bill{lost: b.most(need, &e.Usage)}
	case err != nil || reply == nil:
		return bill{lost: need.usd, unseen: !need.known}
	case b.price == nil: // the stored answer has its tokens, for a later list
		return bill{unseen: reply.Besides != nil}
	}
	cost := b.price.Cost(reply.Usage)
	out := bill{spent: cost.USD}
	if cost.AtLeast { // what is not known counts as if it had cost the most
		out.lost = max(0, need.usd-cost.USD)
	}
	if reply.Besides != nil {
		out.lost = out.lost.plus(b.most(need, reply.Besides))
	}
	return out
}

// most is the most that an answer of which no record stays can have cost.
func (b *modelBudget) most(need bound, u *llm.Usage) USD {
	cost := b.price.Cost(*u)
	if cost.AtLeast {
		return max(need.usd, cost.USD)
	}
	return cost.USD
}

// reserve waits for the money.
func (p *Budget) reserve(ctx context.Context, c *claim) error {
	p.mu.Lock()
	p.queue = append(p.queue, c)
	p.admit()
	p.mu.Unlock()
	quit := llm.Quit(ctx)
	select {
	case <-c.turn:
	case <-quit.Done():
	case <-ctx.Done():
	}
	switch { // also where its turn came at the same moment
	case quit.Err() != nil:
		return p.giveUp(c, context.Cause(quit))
	case ctx.Err() != nil:
		return p.giveUp(c, &llm.Error{Kind: llm.KindCanceled, Model: c.name, Message: "given up while waiting for the budget", Err: context.Cause(ctx)})
	}
	return c.err
}

// giveUp takes a claim back, also one that was granted meanwhile.
func (p *Budget) giveUp(c *claim, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.queue {
		if other == c {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			p.state.Lost = p.state.Lost.plus(c.back)
			p.admit()
			return err
		}
	}
	if c.err == nil {
		p.state.release(c.need)
		p.state.Lost = p.state.Lost.plus(c.back)
		p.told()
		p.admit()
	}
	return err
}

// setAside and release count an attempt among those under way.
func (s *Balance) setAside(need bound) {
	s.Reserved += need.usd
	if !need.known {
		s.Blind++
	}
}

func (s *Balance) release(need bound) {
	s.Reserved -= need.usd
	if !need.known {
		s.Blind--
	}
}

// admit lets in those at the head of the queue for whom there is money. When
// there is not enough for the first, and would not be if all calls under way
// cost nothing, the budget is exhausted, and everybody is told.
func (p *Budget) admit() {
	for len(p.queue) > 0 {
		c := p.queue[0]
		if c.held {
			c.held = false
			c.back = min(p.state.Lost, c.need.usd)
			p.state.Lost -= c.back
			if !c.need.known {
				p.state.Unseen = max(0, p.state.Unseen-1)
			}
		}
		switch {
		case p.exhausted != nil:
		case p.state.Most().plus(c.need.usd) <= p.limit:
			p.state.setAside(c.need)
			if !p.told() {
				p.state.release(c.need)
			}
		case p.state.Spent.plus(p.state.Lost).plus(c.need.usd) > p.limit:
			p.exhausted = &ExhaustedError{Limit: p.limit, Balance: p.state, Model: c.name, Next: c.need.usd}
		default:
			return
		}
		if c.err = p.exhausted; c.err != nil {
			p.state.Lost = p.state.Lost.plus(c.back)
		}
		close(c.turn)
		p.queue = p.queue[1:]
	}
}

// told tells keep the balance; after a failure no further attempt begins.
func (p *Budget) told() bool {
	if p.keep == nil {
		return true
	}
	err := p.keep(p.state)
	if err != nil && p.exhausted == nil {
		p.exhausted = fmt.Errorf("%w: what the run spends cannot be kept: %w", llm.ErrJournal, err)
	}
	return err == nil
}

// settle gives back what was set aside and books what it came to.
func (p *Budget) settle(need bound, b bill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.release(need)
	p.state.Spent = p.state.Spent.plus(b.spent)
	p.state.Lost = p.state.Lost.plus(b.lost)
	if need.known && b.spent > need.usd {
		p.state.Overruns++
	}
	if b.unseen {
		p.state.Unseen++
	}
	p.told()
	p.admit()
}

// An ExhaustedError says that the next call could cost more than is left. It wraps
// llm.ErrBudget.
type ExhaustedError struct {
	Limit   USD
	Balance Balance // at that moment
	Model   string  // whose call it was
	Next    USD     // the most that it could cost
}

// Error says what was spent and what the next call could cost.
func (e *ExhaustedError) Error() string {
	text := fmt.Sprintf("the budget of %v: %v spent", e.Limit, e.Balance.Spent)
	if e.Balance.Lost > 0 {
		text += fmt.Sprintf(", up to %v on calls whose answer nobody saw or could use", e.Balance.Lost)
	}
	if e.Balance.Reserved > 0 {
		text += fmt.Sprintf(", up to %v for calls under way", e.Balance.Reserved)
	}
	return text + fmt.Sprintf("; the next call of %s could cost %v", e.Model, e.Next)
}

// Unwrap returns llm.ErrBudget.
func (e *ExhaustedError) Unwrap() error { return llm.ErrBudget }

// Bytes of a request beside its parts, in tokens at most: roles and marks
// around the messages, and what a provider writes around a schema.
const (
	tokensAround      = 1024
	tokensSchemaBytes = 2 // a byte of a schema
)

// MaxCost returns the most that one attempt at a request can cost. It is an error
// when that is unknown: no output cap, no rule for pictures, or a longer prompt
// than the price is for.
func (p *Price) MaxCost(req *llm.Request, terms Terms) (USD, error) {
	if req.Params.MaxTokens == nil {
		return 0, fmt.Errorf("%s has no cap on its output tokens, so that it could cost anything; give one with --max-tokens", req.Slot)
	}
	input, likely := tokensAround+terms.Extra, tokensAround
	for i := range req.Parts {
		part := &req.Parts[i]
		if !part.IsImage() {
			input += len(part.Text()) // no tokenizer makes two tokens of one byte
			if p.UpTo > 0 {
				likely += llm.EstimateTokens(part.Text()).High
			}
			continue
		}
		width, height := part.Size()
		if p.Images == nil {
			return 0, errors.New("the list of prices has no rule for the tokens of its pictures")
		}
		tokens := p.Images.Of(width, height, terms.Detail).High
		input, likely = input+tokens, likely+tokens
	}
	if p.UpTo > 0 && likely > p.UpTo {
		return 0, fmt.Errorf("%s may have %d tokens, and the list of prices has one for up to %d", req.Slot, likely, p.UpTo)
	}
	if req.Schema != nil {
		input += tokensSchemaBytes * len(req.Schema.Sent())
	}
	r := p.rates()
	once := max(r.input, r.cached, r.written).of(input).plus(r.output.of(*req.Params.MaxTokens))
	if terms.Twice {
		return once.plus(once), nil
	}
	return once, nil
}
