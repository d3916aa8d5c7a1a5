package run

import (
	"context"
	"errors"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A Replayer makes trials again from their finished calls. No model is asked:
// replies are parsed and scored, and episodes walked, by the code as it is now.
// It is safe for concurrent use when its source is.
type Replayer struct{ runner *runner }

// Past finds finished calls.
type Past interface {
	Lookup(ctx context.Context, trial, slot string) (*record.Call, error)
}

// NewReplayer returns a Replayer of a study's trials.
func NewReplayer(s *study.Study, prompts study.Prompts, past Past) (*Replayer, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	models := map[string]llm.Model{}
	for _, name := range s.Models {
		models[name] = nowhere{}
	}
	r, err := newRunner(s, Workers{Models: models, Methods: methodsOf(s, nowhere{}), Recorder: pastOnly{past}, Prompts: prompts})
	if err != nil {
		return nil, err
	}
	return &Replayer{r}, nil
}

// Trial makes one trial again. Its error wraps llm.ErrMissing when a call that
// the trial needs was never finished, and llm.ErrChanged when a call was made
// with another prompt than the trial now has.
func (r *Replayer) Trial(ctx context.Context, t *study.Trial) (*record.Trial, error) {
	rec, failure, err := r.runner.attempt(ctx, t)
	if err := errors.Join(err, failure); err != nil {
		return nil, err
	}
	return rec, nil
}

// nowhere is the model of a replay: there is none.
type nowhere struct{}

func (nowhere) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	return nil, llm.MissingError(req)
}

// pastOnly is the recorder of a replay, which keeps nothing.
type pastOnly struct{ Past }

func (pastOnly) Call(context.Context, *record.Call) error        { return nil }
func (pastOnly) DurableCall(context.Context, *record.Call) error { return nil }
func (pastOnly) Trial(context.Context, *record.Trial) error      { return nil }
