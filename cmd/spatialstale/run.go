package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type runCmd struct {
	studyFlags
	executionFlags `group:"How the study is run:"`
	Dataset        string   `group:"How the study is run:" placeholder:"DIR" help:"Run on the instances of this dataset folder (see dataset) in place of those that the seeds give."`
	Replay         []string `group:"How the study is run:" sep:"none" placeholder:"RUN" help:"Ask no model: take every answer from the recorded replies of this run; repeat for several. The study is that run's unless one is named."`
	Prompts        string   `group:"How the study is run:" placeholder:"DIR" help:"Take prompt files from this folder in place of those that ship."`
	Out            string   `group:"How the study is run:" placeholder:"DIR" help:"Run folder to make; runs/STUDY-TIME unless given."`
	modelFlags     `group:"How models are reached (docs/models.md):"`
}

// Validate is called when the command line has been read.
func (c *runCmd) Validate() error {
	return errors.Join(c.executionFlags.Validate(), c.modelFlags.Validate())
}

// Run makes the run folder, runs the study and prints its tables.
func (c *runCmd) Run(e *env) error {
	e.watchSignals()
	s, source, err := c.chosen()
	if err != nil {
		return err
	}
	if source != nil {
		defer source.close()
	}
	if c.Dataset != "" {
		if err := takeDataset(s, c.Dataset); err != nil {
			return err
		}
	}
	x := execution{env: e, flags: &c.executionFlags, asking: &c.modelFlags, study: s, prompts: study.DefaultPrompts()}
	if source != nil {
		if err := c.unanswered(); err != nil {
			return err
		}
		err = x.openReplay(source)
	} else {
		err = x.open(nil)
	}
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil { // two names may turn out to be one model's
		return usageError{err}
	}
	if c.Prompts != "" {
		if x.prompts, err = study.ReadPrompts(c.Prompts); err != nil {
			return err
		}
	}
	if source != nil {
		if err := source.samePrompts(x.prompts); err != nil {
			return err
		}
	}
	instances, err := s.Instances()
	if err != nil {
		return err
	}
	manifest, err := x.manifest(instances)
	if err != nil {
		return err
	}
	w, err := x.create(c.Out, manifest, instances)
	if err != nil {
		return err
	}
	x.say("Study %s: %d trials of %s on %s, into %s\n",
		s.Name, s.NumTrials(), count(len(s.Models), "model"), count(len(s.Seeds), "seed"), x.dir)
	return x.run(w, instances)
}

// chosen returns the study, and the runs whose replies are to be served, if
// there are any.
func (c *runCmd) chosen() (*study.Study, *replaySource, error) {
	if len(c.Replay) == 0 {
		s, err := c.build()
		return s, nil, err
	}
	source, err := openReplay(c.Replay)
	if err != nil {
		return nil, nil, err
	}
	var s *study.Study
	if c.Study == "" {
		if s, err = source.study(); err == nil {
			s, err = c.change(s)
		}
	} else {
		s, err = c.build()
	}
	if err != nil {
		return nil, nil, errors.Join(err, source.close())
	}
	return s, source, nil
}

// create makes the run folder: the one asked for, or the first free one of the
// study's name and the time.
func (x *execution) create(out string, manifest record.Manifest, instances []record.Instance) (*store.Writer, error) {
	x.dir = out
	name := filepath.Join("runs", x.study.Name+"-"+x.env.now().Format("20060102-150405"))
	for i := 1; ; i++ {
		if out == "" {
			if x.dir = name; i > 1 {
				x.dir = fmt.Sprintf("%s-%d", name, i)
			}
		}
		w, err := store.Create(x.dir, manifest, x.study.Specs(), instances, store.Options{Sync: x.paid() != nil})
		if out == "" && errors.Is(err, store.ErrExists) && i < 100 {
			continue
		}
		return w, err
	}
}

// unanswered refuses flags that say what a server is sent, or may be paid, of a
// run that asks none.
func (c *runCmd) unanswered() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"budget", c.Budget != nil}, {"detail", c.Detail != ""}, {"no-schema", c.NoSchema}, {"extra-body", len(c.ExtraBody) > 0}, {"header", len(c.Header) > 0},
	} {
		if f.given {
			return usageError{fmt.Errorf("--%s says something of how models are asked, and --replay asks none; leave it out", f.name)}
		}
	}
	return nil
}
