package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// Batches say how a run asks in its providers' batches: for less money, and with
// answers that may take a day. They go on at the provider when the program ends,
// and Resume collects them. No result depends on them.
type Batches struct {
	// Steps asks the calls of episodes in batches as well, a batch for each step
	// of all that are under way. Without it they are calls of their own.
	Steps bool `json:"steps,omitempty"`
	// Poll is how often a batch is asked whether it has ended; 0 for a minute.
	Poll time.Duration `json:"poll_ns,omitempty"`
	// Most is the most calls of a batch; 0 for as many as the provider takes.
	Most int `json:"most,omitempty"`
}

// Has reports whether the calls of a task are asked in batches.
func (b *Batches) Has(task string) bool { return b != nil && (task == record.Detect || b.Steps) }

// batchesName is the file of a run folder that says which batches were submitted.
const batchesName = "batches.jsonl"

// batching returns what makes the batches; nil where there are none to be made.
func (b *Batches) batching(now func() time.Time, tell func(string)) *provider.Batching {
	if b == nil {
		return nil
	}
	o := provider.BatchOptions{Poll: b.Poll, Most: b.Most, Now: now, Tell: tell}
	if b.Poll > 0 {
		o.Linger, o.Settle = min(b.Poll, provider.DefaultLinger), 2*b.Poll
	}
	return provider.NewBatching(o)
}

// batched reports whether a model's calls of a task are asked in batches.
func (s *Session) batched(model, task string) bool {
	return s.options.batching.Takes(model) && s.options.Batches.Has(task)
}

// checkBatches refuses batches that nobody would be asked in.
func (s *Session) checkBatches() error {
	if s.options.batching == nil {
		return nil
	}
	var without []string
	takes := 0
	for name := range s.paid {
		if s.options.batching.Takes(name) {
			takes++
		} else {
			without = append(without, name)
		}
	}
	switch {
	case takes == 0:
		return UsageError{errors.New("--batch-api: none of the models is asked by OpenAI's or Anthropic's interface for batches; leave it out")}
	case s.study.Detection == nil && !s.options.Batches.Steps:
		return UsageError{errors.New("--batch-api: the study has no detection, whose calls are known before; ask the steps of episodes in batches as well with --batch-steps, a batch for each step of all episodes")}
	case len(without) > 0:
		slices.Sort(without)
		s.notice(fmt.Sprintf("%s: asked by calls of their own, at the full price; there is no interface for batches", strings.Join(without, ", ")))
	}
	return nil
}

// asked is a model as the runner asks it for a task.
func (r *runner) asked(m llm.Model, name, task string) llm.Model {
	if !r.batched(name, task) {
		return m
	}
	return &inBatches{m}
}

// inBatches is a model whose calls are asked in batches.
type inBatches struct{ llm.Model }

func (m *inBatches) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	with := *req
	with.Batch = true
	return m.Model.Generate(ctx, &with)
}
