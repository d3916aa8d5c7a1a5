package llm

import (
	"context"
	"errors"
)

// ErrBudget is wrapped by the error of a call that was not begun because it
// could have cost more than is left.
var ErrBudget = errors.New("the budget does not reach")

// A Budget sets aside what calls may cost before they begin.
type Budget interface {
	// Reserve sets aside the most that one attempt at the request can cost. It
	// waits while calls under way hold what it needs, and returns an error that
	// wraps ErrBudget when even all they could give back would not do. After
	// success settle is called once, with what became of the attempt.
	Reserve(ctx context.Context, req *Request) (settle func(reply *Reply, err error), err error)
}

// Budgeted returns a model each of whose calls is one attempt that the budget
// was asked for. It belongs inside Retry: every attempt may be paid for.
func Budgeted(m Model, b Budget) Model {
	return &wrapped{m, func(ctx context.Context, req *Request) (reply *Reply, err error) {
		settle, err := b.Reserve(ctx, req)
		if err != nil {
			return nil, err
		}
		err = errors.New("the model panicked")
		defer func() { settle(reply, err) }()
		reply, err = m.Generate(ctx, req)
		return reply, err
	}}
}

// Unbilled reports whether a failed attempt cannot have been paid for: the
// provider refused it before it wrote a word, or it never left. Of any other
// failure nobody here knows: a server that is not heard of any more may have
// written its answer.
func Unbilled(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Answered {
		return false
	}
	switch e.Kind {
	case KindAuth, KindQuota, KindUnknownModel, KindBadRequest, KindRateLimit, KindNoServer:
		return true
	}
	return e.Unreached
}
