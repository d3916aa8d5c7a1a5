package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// replies are the answers that other runs have recorded, for a run that asks no
// model.
type replies struct {
	runs  []*Stored
	runOf map[string]int // trial → the first run that plans it

	mu    sync.Mutex
	calls map[string]map[string]*record.Call // of trials that were looked up last, by slot
	order []string                           // of these, oldest first
}

// keptTrials is how many trials' calls are held at once: as many as can be in
// progress, and some.
const keptTrials = 256

// openReplies opens the runs whose replies are to be served.
func openReplies(dirs []string) (*replies, error) {
	r := &replies{runOf: map[string]int{}, calls: map[string]map[string]*record.Call{}}
	for i, dir := range dirs {
		stored, err := Open(dir)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.runs = append(r.runs, stored)
		for spec, err := range stored.Plan() {
			if err != nil {
				return nil, errors.Join(err, r.close())
			}
			if _, known := r.runOf[spec.Key]; !known {
				r.runOf[spec.Key] = i
			}
		}
	}
	return r, nil
}

func (r *replies) close() error {
	var errs []error
	for _, s := range r.runs {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Lookup implements llm.Past.
func (r *replies) Lookup(_ context.Context, trial, slot string) (*record.Call, error) {
	r.mu.Lock() // a run is read by one at a time
	defer r.mu.Unlock()
	calls, known := r.calls[trial]
	if !known {
		i, planned := r.runOf[trial]
		if !planned {
			return nil, nil
		}
		list, err := r.runs[i].TrialCalls(trial)
		if err != nil {
			return nil, err
		}
		calls = make(map[string]*record.Call, len(list))
		for _, c := range list {
			c.Prompt = nil
			calls[c.Slot] = c
		}
		if r.order = append(r.order, trial); len(r.order) > keptTrials {
			delete(r.calls, r.order[0])
			r.order = r.order[1:]
		}
		r.calls[trial] = calls
	}
	return calls[slot], nil
}

// checkPrompts refuses prompts with which the runs were not made: their replies
// answer other questions.
func (r *replies) checkPrompts(p study.Prompts) error {
	for _, s := range r.runs {
		m := s.Manifest()
		if err := samePrompts(m.Prompts, p.Sums()); err != nil {
			return fmt.Errorf("%s: %w", s.Dir, err)
		}
	}
	return nil
}

// origins says of the manifest of the run that is made where it comes from.
func (r *replies) origins() []record.Origin {
	var all []record.Origin
	for _, s := range r.runs {
		m := s.Manifest()
		all = append(all, record.Origin{Run: filepath.Base(filepath.Clean(s.Dir)), Program: m.Program, Created: m.Created})
	}
	return all
}

// model returns what the first of the runs that have it says of a model.
func (r *replies) model(name string) record.ModelInfo {
	for _, s := range r.runs {
		for _, m := range s.Manifest().Models {
			if m.Name == name {
				return m
			}
		}
	}
	return record.ModelInfo{Name: name}
}

// openReplayed makes the models of a replay ready: each answers what the runs have
// recorded of it.
func (s *Session) openReplayed() (err error) {
	var infos []record.ModelInfo
	for _, name := range s.study.Models {
		infos = append(infos, s.replies.model(name))
	}
	if err := s.openPrices(infos); err != nil {
		return err
	}
	for name := range s.study.Methods() {
		s.methods[name] = llm.Replay(name, s.replies)
	}
	for i, name := range s.study.Models {
		s.models[name] = llm.Replay(name, s.replies)
		if infos[i].Price, err = recordedPrice(s.prices, name); err != nil {
			return err
		}
		s.learned.add(infos[i], nil)
	}
	return nil
}

// notReplayed refuses to go on with a run that was made from replies.
func (s *Stored) notReplayed() error {
	m := s.Manifest()
	if len(m.ReplayedFrom) == 0 {
		return nil
	}
	from := m.ReplayedFrom[0]
	return fmt.Errorf("%s was made from the replies of another run (%s, of %s), and no model was asked; make it again with run --replay, or go on with that run",
		s.Dir, cmp.Or(from.Run, "?"), from.Created.Format("2006-01-02"))
}
