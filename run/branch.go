package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// BranchOptions say from where an episode is continued, and under what. What is
// empty is the episode's own.
type BranchOptions struct {
	Options
	At         int      // the first step that is not the episode's own, from 1
	Strategies []string // by their names, those of the run's study or built-in ones; a trial for each
	Model      string
	Action     string // what is done at step At, whoever decides after it
}

// Branch continues an episode of a run from one step on under something else, as a
// run of its own, whose study says where it comes from (study.Branch). With another
// strategy or model the steps before stay as they were, and the memory is audited
// anew at step At where the strategy audits. Otherwise they are made again from
// their replies, and no model is asked before step At. Errors: UsageError for what
// cannot be continued, and those of Start.
func Branch(ctx context.Context, dir, trial string, o BranchOptions) (*Session, error) {
	from, err := openReplies([]string{dir})
	if err != nil {
		return nil, err
	}
	s, err := branched(from.runs[0], trial, &o)
	if err != nil {
		return nil, errors.Join(err, from.close())
	}
	o.Options.origin = from
	session, err := start(ctx, s, nil, o.Options)
	if err != nil {
		return nil, errors.Join(err, from.close())
	}
	return session, nil
}

// branched is the study of a branch.
func branched(from *Stored, key string, o *BranchOptions) (*study.Study, error) {
	refused := func(format string, args ...any) (*study.Study, error) {
		return nil, UsageError{fmt.Errorf(format, args...)}
	}
	t, err := from.Trial(key)
	if err != nil {
		return nil, err
	}
	s, err := from.Study()
	if err != nil {
		return nil, err
	}
	switch {
	case s.Branch != nil:
		return refused("%s is a branch itself; branch from %s, which it continues", from.Dir, s.Branch.Run)
	case t.Task != record.Navigate:
		return refused("trial %s is a detection; only episodes have steps to branch at", key)
	case t.Outcome == record.Failed:
		return refused("trial %s failed: %s", key, t.Error)
	case o.At < 1 || o.At > len(t.Steps):
		return refused("step %d: the episode has steps 1 to %d", o.At, len(t.Steps))
	}
	own := slices.IndexFunc(s.Navigation.Strategies, func(by study.Strategy) bool { return by.Name == t.Strategy && by.Batch == t.Batch })
	if own < 0 {
		return refused("the study of %s has no strategy %s", from.Dir, t.Strategy)
	}
	var by []study.Strategy
	for _, name := range o.Strategies {
		if name == t.Strategy {
			by = append(by, s.Navigation.Strategies[own])
			continue
		}
		i := slices.IndexFunc(s.Navigation.Strategies, func(by study.Strategy) bool { return by.Name == name })
		if i >= 0 {
			by = append(by, s.Navigation.Strategies[i])
			continue
		}
		named, err := study.NamedStrategy(name)
		if err != nil {
			return nil, UsageError{err}
		}
		by = append(by, named)
	}
	if len(by) == 0 {
		by = s.Navigation.Strategies[own : own+1]
	}
	model := t.Model
	if o.Model != "" {
		names := []string{o.Model}
		if err := NameModels(names); err != nil {
			return nil, err
		}
		model = names[0]
	}
	s = s.Clone()
	branch := &study.Branch{Run: filepath.Base(filepath.Clean(from.Dir)), Trial: t.Key, At: o.At, Action: strings.ToUpper(o.Action)}
	if model == t.Model && len(by) == 1 && by[0].Name == t.Strategy {
		for _, w := range t.Windows {
			if w.Step+1 < o.At {
				branch.Windows++
			}
		}
	} else {
		branch.Steps = t.Steps[:o.At-1]
	}
	s.Name, s.Branch, s.Models, s.Detection = "branch", branch, []string{model}, nil
	s.Seeds, s.Sizes, s.Regimes, s.Framings = []int{t.Seed}, []study.Size{{Rows: t.Rows, Cols: t.Cols}}, []instance.Regime{instance.Regime(t.Regime)}, []string{t.Framing}
	s.Navigation = &study.Navigation{Modalities: []string{t.Modality}, Strategies: by, Episodes: 1}
	s.Agents, s.Tests = agentsOf(s, model), record.Tests{} // one case tests nothing
	return s, nil
}

// agentsOf are the agents that still walk.
func agentsOf(s *study.Study, model string) map[string]*study.Method {
	name := strings.TrimPrefix(model, record.AgentPrefix)
	if m := s.Agents[name]; m != nil && study.IsAgent(model) {
		return map[string]*study.Method{name: m}
	}
	return nil
}

// A fork answers the calls before a branch from what the episode's own were
// answered, and asks a model for the rest.
type fork struct {
	before llm.Model
	after  llm.Model
	of     *study.Branch
	same   bool // the rest is asked in the episode's name too: a control draws as it did there
}

// Generate implements llm.Model.
func (f *fork) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	own := *req
	own.Trial = f.of.Trial
	if f.past(req.Slot) {
		return f.before.Generate(ctx, &own)
	}
	if f.same {
		return f.after.Generate(ctx, &own)
	}
	return f.after.Generate(ctx, req)
}

// past reports whether a call was made before the branch.
func (f *fork) past(slot string) bool {
	var n int
	if _, err := fmt.Sscanf(slot, "step%d", &n); err == nil {
		return n < f.of.At
	}
	if _, err := fmt.Sscanf(slot, "window%d/", &n); err == nil {
		return n < f.of.Windows
	}
	return false
}

// forks puts a fork around each model and method of a branch that goes on with
// what an episode had.
func (s *Session) forks() {
	b := s.study.Branch
	if b == nil || len(b.Steps) > 0 {
		return
	}
	var past llm.Past = noPast{}
	if s.options.origin != nil {
		past = s.options.origin
	}
	for _, all := range []map[string]llm.Model{s.models, s.methods} {
		for name, m := range all {
			all[name] = &fork{before: llm.Replay(name, past), after: m, of: b, same: IsControl(name)}
		}
	}
}

// noPast is that of a branch that goes on after an interruption: what was served
// from the other run stands in its own by then.
type noPast struct{}

// Lookup implements llm.Past.
func (noPast) Lookup(context.Context, string, string) (*record.Call, error) { return nil, nil }
