package llm

import (
	"context"

	"github.com/spatialstale/spatialstale/record"
)

// Past finds finished calls.
type Past interface {
	// Lookup returns the finished call of a slot, nil when there is none.
	Lookup(ctx context.Context, trial, slot string) (*record.Call, error)
}

// Replay returns a model that answers from finished calls, each to its own slot
// and no other, and asks nobody. Its error wraps ErrMissing where there is no
// answer and ErrChanged where the answer is to another request. The name is the
// model's in the record.
func Replay(name string, past Past) Model {
	return &wrapped{nil, func(ctx context.Context, req *Request) (*Reply, error) {
		call, err := past.Lookup(ctx, req.Trial, req.Slot)
		switch {
		case err != nil:
			return nil, err
		case call == nil:
			return nil, MissingError(req)
		}
		reply, err := serve(call, name, req.PromptSum())
		if err != nil {
			return nil, err
		}
		reply.Took = call.Latency
		return reply, nil
	}}
}
