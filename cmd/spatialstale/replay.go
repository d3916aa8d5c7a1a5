package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A replaySource is what other runs have recorded: the answers of a run that
// asks no model.
type replaySource struct {
	runs  []recordedRun
	runOf map[string]int // trial → the first run that plans it

	mu    sync.Mutex
	calls map[string]map[string]*record.Call // of trials that were looked up last, by slot
	order []string                           // of these, oldest first
}

type recordedRun struct {
	dir string
	run *store.Run
}

// keptTrials is how many trials' calls are held at once: as many as can be in
// progress, and some.
const keptTrials = 256

// openReplay opens the runs whose replies are to be served.
func openReplay(dirs []string) (*replaySource, error) {
	s := &replaySource{runOf: map[string]int{}, calls: map[string]map[string]*record.Call{}}
	for i, dir := range dirs {
		run, err := store.Open(dir)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.runs = append(s.runs, recordedRun{dir, run})
		for spec, err := range run.Plan() {
			if err != nil {
				return nil, errors.Join(err, s.close())
			}
			if _, known := s.runOf[spec.Key]; !known {
				s.runOf[spec.Key] = i
			}
		}
	}
	return s, nil
}

func (s *replaySource) close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.run.Close())
	}
	return errors.Join(errs...)
}

// Lookup implements llm.Past.
func (s *replaySource) Lookup(_ context.Context, trial, slot string) (*record.Call, error) {
	s.mu.Lock() // a run is read by one at a time
	defer s.mu.Unlock()
	calls, known := s.calls[trial]
	if !known {
		i, planned := s.runOf[trial]
		if !planned {
			return nil, nil
		}
		list, err := s.runs[i].run.TrialCalls(trial)
		if err != nil {
			return nil, err
		}
		calls = make(map[string]*record.Call, len(list))
		for _, c := range list {
			c.Prompt = nil
			calls[c.Slot] = c
		}
		if s.order = append(s.order, trial); len(s.order) > keptTrials {
			delete(s.calls, s.order[0])
			s.order = s.order[1:]
		}
		s.calls[trial] = calls
	}
	return calls[slot], nil
}

// study is that of the first run.
func (s *replaySource) study() (*study.Study, error) {
	return runnableStudy(s.runs[0].run, s.runs[0].dir)
}

// prompts refuses prompt files with which the runs were not made: their replies
// answer other questions.
func (s *replaySource) samePrompts(p study.Prompts) error {
	for _, r := range s.runs {
		if err := samePrompts(r.run.Manifest().Prompts, p.Sums()); err != nil {
			return fmt.Errorf("%s: %w", r.dir, err)
		}
	}
	return nil
}

// origins says of the manifest of the run that is made where it comes from.
func (s *replaySource) origins() []record.Origin {
	var all []record.Origin
	for _, r := range s.runs {
		m := r.run.Manifest()
		all = append(all, record.Origin{Run: filepath.Base(filepath.Clean(r.dir)), Program: m.Program, Created: m.Created})
	}
	return all
}

// model returns what the first of the runs that have it says of a model.
func (s *replaySource) model(name string) record.ModelInfo {
	for _, r := range s.runs {
		for _, m := range r.run.Manifest().Models {
			if m.Name == name {
				return m
			}
		}
	}
	return record.ModelInfo{Name: name}
}

// openReplay makes the study's models ready: each answers what the runs have
// recorded of it.
func (x *execution) openReplay(s *replaySource) (err error) {
	if err := nameModels(x.study); err != nil {
		return err
	}
	if x.prices, err = readPrices(x.flags.Prices); err != nil {
		return err
	}
	var models []record.ModelInfo
	for _, name := range x.study.Models {
		models = append(models, s.model(name))
	}
	if x.prices, err = pricesOf(x.prices, x.flags.Prices, models); err != nil {
		return err
	}
	x.replay, x.budget = s, price.NewBudget(nil)
	x.models = map[string]llm.Model{}
	for _, name := range x.study.Models {
		x.models[name] = llm.Replay(name, s)
		info := s.model(name)
		if info.Price, err = priceOf(x.prices, name); err != nil {
			return err
		}
		x.effective.add(info, nil)
	}
	return nil
}

// discard takes away a run that was to be made from recorded replies and is not
// whole, and returns the error that says so.
func (x *execution) discard(cause error) error {
	if errors.Is(cause, llm.ErrMissing) {
		cause = fmt.Errorf("the replies do not reach: %w", cause)
	}
	return errors.Join(fmt.Errorf("%w; a replay is whole or it is not, so nothing is left in %s", cause, x.dir), os.RemoveAll(x.dir))
}

// notReplayed refuses to go on with a run that was made from replies.
func notReplayed(dir string, m *record.Manifest) error {
	if len(m.ReplayedFrom) == 0 {
		return nil
	}
	from := m.ReplayedFrom[0]
	return fmt.Errorf("%s was made from the replies of another run (%s, of %s), and no model was asked; make it again with run --replay, or go on with that run",
		dir, cmp.Or(from.Run, "?"), from.Created.Format("2006-01-02"))
}
