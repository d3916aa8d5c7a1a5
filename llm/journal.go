package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// ErrJournal is wrapped by the error of a call that was answered but could not
// be kept.
var ErrJournal = errors.New("the call could not be recorded")

// A Journal keeps finished calls.
type Journal interface {
	Call(ctx context.Context, c *record.Call) error
}

// Journaled returns a model that hands every finished call to a journal before
// its reply is used. The name is the model's in the record; now tells the time,
// for latencies only.
func Journaled(m Model, name string, j Journal, now func() time.Time) Model {
	return &journaled{m, name, j, now}
}

type journaled struct {
	model   Model
	name    string
	journal Journal
	now     func() time.Time
}

func (m *journaled) Generate(ctx context.Context, req *Request) (*Reply, error) {
	began := m.now()
	reply, err := m.model.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	call := &record.Call{
		Trial:        req.Trial,
		Slot:         req.Slot,
		Purpose:      req.Purpose,
		Model:        m.name,
		Prompt:       make([]record.Part, len(req.Parts)),
		PromptSHA256: req.PromptSum(),
		Reply:        reply.Text,
		Reasoning:    reply.Reasoning,
		Finish:       string(reply.Finish),
		ServerModel:  reply.Model,
		InputTokens:  reply.Usage.InputTokens,
		OutputTokens: reply.Usage.OutputTokens,
		Latency:      m.now().Sub(began),
	}
	for i := range req.Parts {
		call.Prompt[i] = req.Parts[i].Record()
	}
	if err := m.journal.Call(ctx, call); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournal, err)
	}
	return reply, nil
}
