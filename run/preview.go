package run

import (
	"context"
	"fmt"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// Requests returns the requests that one planned trial makes before a model's
// answers begin to matter: for a detection all of its first window, for an
// episode the audit before the first step, if there is one, and the first step
// as it is asked when the audit finds nothing. No model is asked.
func Requests(s *study.Study, t *study.Trial) ([]*llm.Request, error) {
	var asked sent
	alone := *s
	alone.Models = []string{t.Model}
	r, err := newRunner(&alone, Workers{
		Models:   map[string]llm.Model{t.Model: &asked},
		Methods:  methodsOf(&alone, &asked),
		Recorder: &asked,
	})
	if err != nil {
		return nil, err
	}
	w, err := r.worlds.get(t)
	if err != nil {
		return nil, err
	}
	return r.requests(t, w, &asked)
}

// methodsOf gives every method of a study the same model.
func methodsOf(s *study.Study, m llm.Model) map[string]llm.Model {
	out := map[string]llm.Model{}
	for name := range s.Methods() {
		out[name] = m
	}
	return out
}

// requests returns what Requests does. The runner's model is asked.
func (r *runner) requests(t *study.Trial, w *world, asked *sent) ([]*llm.Request, error) {
	asked.requests = nil
	ctx := context.Background()
	in := w.Instances[t.Regime]
	if t.Task == record.Detect {
		win := in.Windows()[0]
		state := observe.State{Grid: win.Grid, Agent: win.Grid.Start(), Radius: r.study.ViewRadius}
		seen, err := w.scenery.audited(t.Modality, &state)
		if err != nil {
			return nil, err
		}
		auditor := r.auditor(t, func() *observe.State { return &state })
		if _, err := auditor.Audit(ctx, judge.Where{Trial: t.Key}, w.asked, seen); err != nil {
			return nil, err
		}
		return asked.requests, nil
	}
	begin := in.Begin()
	m := navigate.Moment{State: observe.State{Grid: begin, Agent: begin.Start(), Radius: r.study.ViewRadius}}
	view, err := r.newViewer(t, w).View(ctx, m)
	if err != nil {
		return nil, err
	}
	e := navigate.Episode{Trial: t.Key, Begin: begin, Observer: &observer{w.scenery, t.Modality}}
	step, err := r.navigators[navigatorKey{t.Model, t.Modality, t.Framing}].Request(&e, 1, m, view)
	if err != nil {
		return nil, err
	}
	return append(asked.requests, step), nil
}

// sent is a model that answers nothing and keeps what it was asked.
type sent struct{ requests []*llm.Request }

func (s *sent) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	s.requests = append(s.requests, req)
	return &llm.Reply{Finish: llm.FinishStop}, nil
}

func (s *sent) Lookup(context.Context, string, string) (*record.Call, error) { return nil, nil }
func (s *sent) Call(context.Context, *record.Call) error                     { return nil }
func (s *sent) DurableCall(context.Context, *record.Call) error              { return nil }

func (s *sent) Trial(context.Context, *record.Trial) error {
	return fmt.Errorf("a preview makes no trial")
}
