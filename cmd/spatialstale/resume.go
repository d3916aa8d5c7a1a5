package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

type resumeCmd struct {
	Dir         string   `arg:"" name:"run" type:"run" help:"Run folder, or latest."`
	Add         []string `sep:"none" placeholder:"KEY=VALUE" help:"Make the run larger: a setting as in a study file, such as seeds=100, models=[ref/reader, ref/messy] or navigation.episodes=8. All that the run has must stay."`
	Set         []string `sep:"none" placeholder:"KEY=VALUE" help:"Check that the run has this setting; one that differs is refused."`
	Prompts     string   `placeholder:"DIR" help:"The folder of prompt files that the run was made with, if it was made with one."`
	Method      []string `sep:"none" placeholder:"NAME=URL" help:"Where a method of the study is now that is asked over HTTP, as in auditor/mine=http://127.0.0.1:9000/."`
	RetryErrors bool     `help:"Make failed trials again; their finished calls are kept."`

	executionFlags `group:"How the study is run:"`
	modelFlags     `group:"How models are reached (docs/models.md):"`
}

// Run goes on with a run, as it was begun unless a flag says otherwise. A
// finished one is shown again.
func (c *resumeCmd) Run(e *env) error {
	e.watchSignals()
	models, failed, planned, err := c.look()
	if err != nil {
		return err
	}
	o, err := c.options(&c.modelFlags, models)
	if err != nil {
		return err
	}
	o.Now = e.now
	methods := map[string]string{}
	for _, m := range c.Method {
		name, address, ok := strings.Cut(m, "=")
		if !ok {
			return usageError{fmt.Errorf("--method %s: write it as NAME=URL, as in auditor/mine=http://127.0.0.1:9000/", m)}
		}
		methods[name] = address
	}
	session, err := e.begin(func(ctx context.Context) (*run.Session, error) {
		return run.Resume(ctx, c.Dir, run.ResumeOptions{Options: o, Prompts: c.Prompts, Set: c.Set, Add: c.Add, Methods: methods, RetryErrors: c.RetryErrors})
	})
	if errors.Is(err, run.ErrFinished) {
		c.say(e, "%s is finished: nothing to do\n", c.Dir)
		if err := c.results(e, c.Dir, false); err != nil || failed == 0 {
			return err
		}
		return stoppedError{failedTrials(c.Dir, failed, planned, nil)}
	}
	if err != nil {
		return err
	}
	if all, _ := session.Progress(); all.Limit != nil && c.Budget == nil {
		c.say(e, "Within the run's budget of %v for all its sessions together; --budget USD sets another.\n", *all.Limit)
	}
	c.say(e, "Going on with study %s in %s\n", session.Study().Name, c.Dir)
	return c.follow(e, session)
}

// goOn is Run for a run that is to be one of a study: another is refused.
func (c *resumeCmd) goOn(e *env, want *study.Study) error {
	stored, err := run.Open(c.Dir)
	if err != nil {
		return err
	}
	s, err := stored.Described()
	if err := errors.Join(err, stored.Close()); err != nil {
		return err
	}
	if diff := s.Differences(want); len(diff) > 0 {
		return usageError{fmt.Errorf("the run in %s is another than what is asked:\n%s", c.Dir, strings.Join(diff, "\n"))}
	}
	return c.Run(e)
}

// look returns what the run will have as models, how many of its trials have
// failed, and how many are planned.
func (c *resumeCmd) look() (models []string, failed, planned int, err error) {
	stored, err := run.Open(c.Dir)
	if err != nil {
		return nil, 0, 0, err
	}
	defer stored.Close()
	s, err := stored.Described()
	if err != nil {
		return nil, 0, 0, err
	}
	if failed, err = stored.Failed(); err != nil {
		return nil, 0, 0, err
	}
	if larger, err := s.Enlarge(c.Add); err == nil { // what is wrong with it is said when it is done
		s = larger
	}
	return s.Models, failed, stored.Manifest().Trials, nil
}
