package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/store"
)

// ResumeOptions are Options for a run that goes on. Dir is not used.
type ResumeOptions struct {
	Options
	// Set are settings, as KEY=VALUE, that the run must have; one that differs is
	// refused.
	Set []string
	// Add makes the run larger by settings; all that it has must stay.
	Add []string
	// Prompts is the folder of prompt files that the run was made with, where it
	// does not hold them itself; others are refused.
	Prompts string
	// Methods are addresses by the names of methods, as in "auditor/mine": where
	// those are now that the study asks over HTTP. What they are must be the same.
	Methods map[string]string
	// RetryErrors makes failed trials again; their finished calls are kept.
	RetryErrors bool
}

// ErrFinished is the error of Resume for a run in which nothing is left to do.
var ErrFinished = errors.New("the run is finished: nothing to do")

// Resume goes on with a run: finished trials are kept, and an unfinished one is
// made again up to where it was from its finished calls. What the options leave
// open stays as it was.
func Resume(ctx context.Context, dir string, o ResumeOptions) (*Session, error) {
	stored, err := Open(dir)
	if err != nil {
		return nil, err
	}
	s, finished, err := prepareResume(stored, &o)
	if err := errors.Join(err, stored.Close()); err != nil {
		return nil, err
	}
	if finished {
		return nil, ErrFinished
	}
	how := store.Resumption{RetryErrors: o.RetryErrors}
	m := stored.Manifest()
	if err := s.open(m.Models); err != nil {
		return nil, err
	}
	if err := s.checkSight(ctx); err != nil {
		return nil, err
	}
	how.Sync = s.precious()
	if len(o.Add) > 0 {
		instances, err := s.study.Instances()
		if err != nil {
			return nil, err
		}
		larger, err := s.manifest(instances)
		if err != nil {
			return nil, err
		}
		larger.Created = m.Created
		how.Extend = &store.Extension{Manifest: larger, Plan: s.study.Specs(), Instances: instances}
	}
	w, err := store.Resume(dir, how)
	if err != nil {
		return nil, err
	}
	return s, s.begin(ctx, w)
}

// prepareResume reads what the run says of itself, and compares it with what is
// asked.
func prepareResume(stored *Stored, o *ResumeOptions) (s *Session, finished bool, err error) {
	m := stored.Manifest()
	replayed := stored.notReplayed()
	if replayed != nil && len(o.Add) > 0 {
		return nil, false, replayed
	}
	st, err := stored.Study()
	if err != nil {
		return nil, false, err
	}
	asked := st.Clone()
	for _, setting := range o.Set {
		if err := asked.Set(setting); err != nil {
			return nil, false, UsageError{err}
		}
	}
	if diff := st.Differences(asked); len(diff) > 0 {
		return nil, false, UsageError{fmt.Errorf("the run's settings are the run's; it differs from what is asked:\n%s\nleave the setting out, or make a new run", strings.Join(diff, "\n"))}
	}
	prompts, err := stored.Prompts(o.Prompts)
	if err != nil {
		return nil, false, err
	}
	missing, err := stored.Missing()
	if err != nil || missing == 0 && len(o.Add) == 0 && !o.RetryErrors {
		return nil, true, err
	}
	if replayed != nil {
		return nil, false, replayed
	}
	if len(o.Add) > 0 {
		larger, err := st.Enlarge(o.Add)
		if err != nil {
			return nil, false, UsageError{err}
		}
		if err := NameStudy(larger); err != nil {
			return nil, false, err
		}
		if err := errors.Join(larger.Lacks(st), larger.Check()); err != nil {
			return nil, false, UsageError{err}
		}
		st = larger
	}
	if err := st.MoveMethods(o.Methods); err != nil {
		return nil, false, UsageError{err}
	}
	if err := o.Options.with(m.Execution); err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(stored.Dir, batchesName)); err == nil && o.Batches == nil {
		o.Batches = &Batches{} // some may still be collected
	}
	before, err := readSpent(stored.Dir)
	if err != nil && o.Budget != nil {
		return nil, false, err
	}
	if o.Budget == nil && before.Budget != nil {
		o.Budget = new(price.USD(*before.Budget))
	}
	if s, err = newSession(st, nil, o.Options); err != nil {
		return nil, false, err
	}
	s.dir, s.prompts = stored.Dir, prompts
	return s, false, nil
}
