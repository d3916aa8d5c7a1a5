package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// ErrJournal is wrapped by the error of a call that was answered but could not
// be kept, or whose earlier answer could not be looked up.
var ErrJournal = errors.New("the journal of calls failed")

// ErrChanged is wrapped by the error of a call whose slot holds the answer to
// another request: another prompt, or another model.
var ErrChanged = errors.New("the journal holds the answer to another request")

// ErrMissing is wrapped by the error of a replay that has no answer for a call.
var ErrMissing = errors.New("the journal holds no answer")

// MissingError returns the error of a replay for a request without an answer.
func MissingError(req *Request) error {
	return fmt.Errorf("%w for %s of trial %s", ErrMissing, req.Slot, req.Trial)
}

// A Journal keeps finished calls. A call is found again by its trial and slot
// only, so that a refusal or a truncation is served to the slot where it
// happened and to no other.
type Journal interface {
	// Lookup returns the finished call of a slot, nil when there is none.
	Lookup(ctx context.Context, trial, slot string) (*record.Call, error)
	// Append keeps a call. For an answer that was paid for it returns when the
	// call is safe.
	Append(ctx context.Context, c *record.Call) error
}

// Journaled returns a model that serves finished calls from the journal, and
// hands every new one to it before its reply is used. The name is the model's
// in the record; now tells the time, for latencies only.
func Journaled(m Model, name string, j Journal, now func() time.Time) Model {
	return &wrapped{m, func(ctx context.Context, req *Request) (*Reply, error) {
		sum := req.PromptSum()
		past, err := j.Lookup(ctx, req.Trial, req.Slot)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrJournal, err)
		case past != nil:
			return serve(past, name, sum)
		}
		began := now()
		reply, err := m.Generate(ctx, req)
		if err != nil {
			return nil, err
		}
		call := callOf(req, reply, name, sum)
		if reply.Batch == "" {
			call.Latency = cmp.Or(reply.Took, now().Sub(began))
		}
		if err := j.Append(ctx, call); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrJournal, err)
		}
		return reply, nil
	}}
}

// callOf is a call for the record.
func callOf(req *Request, reply *Reply, name string, sum [32]byte) *record.Call {
	call := &record.Call{
		Trial:        req.Trial,
		Slot:         req.Slot,
		Purpose:      req.Purpose,
		Model:        name,
		Prompt:       make([]record.Part, len(req.Parts)),
		PromptSHA256: sum,
		Reply:        reply.Text,
		Reasoning:    reply.Reasoning,
		Finish:       string(reply.Finish),
		ServerModel:  reply.Model,
		Booleans:     reply.Booleans,
		Timings:      reply.Timings,
		Batch:        reply.Batch,

		InputTokens:      reply.Usage.InputTokens,
		CachedTokens:     reply.Usage.CachedTokens,
		CacheWriteTokens: reply.Usage.CacheWriteTokens,
		OutputTokens:     reply.Usage.OutputTokens,
		ReasoningTokens:  reply.Usage.ReasoningTokens,
	}
	for i := range req.Parts {
		call.Prompt[i] = req.Parts[i].Record()
	}
	return call
}

// serve returns a past call's reply, if it answered this very request. What
// parameters were asked for is part of the trial's key.
func serve(past *record.Call, name string, sum [32]byte) (*Reply, error) {
	if past.Model != name || past.PromptSHA256 != sum {
		return nil, fmt.Errorf("%w at %s of trial %s: it was asked of %s with prompt %x, now of %s with prompt %x; run the study again in another folder",
			ErrChanged, past.Slot, past.Trial, past.Model, past.PromptSHA256[:8], name, sum[:8])
	}
	return &Reply{
		Text:      past.Reply,
		Reasoning: past.Reasoning,
		Finish:    Finish(past.Finish),
		Usage: Usage{
			InputTokens:      past.InputTokens,
			CachedTokens:     past.CachedTokens,
			CacheWriteTokens: past.CacheWriteTokens,
			OutputTokens:     past.OutputTokens,
			ReasoningTokens:  past.ReasoningTokens,
		},
		Model:    past.ServerModel,
		Booleans: past.Booleans,
		Timings:  past.Timings,
	}, nil
}
