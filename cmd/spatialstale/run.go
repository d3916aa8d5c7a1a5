package main

import (
	"path/filepath"

	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type runCmd struct {
	studyFlags
	executionFlags
	Prompts string `placeholder:"DIR" help:"Take prompt files from this folder in place of those that ship."`
	Out     string `placeholder:"DIR" help:"Run folder to make; runs/STUDY-TIME unless given."`
}

// Run makes the run folder, runs the study and prints its tables.
func (c *runCmd) Run(e *env) error {
	s, err := c.build()
	if err != nil {
		return err
	}
	x := execution{env: e, flags: &c.executionFlags, study: s, prompts: study.DefaultPrompts()}
	if x.models, x.infos, err = openModels(s); err != nil {
		return err
	}
	if c.Prompts != "" {
		if x.prompts, err = study.ReadPrompts(c.Prompts); err != nil {
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
	x.dir = c.Out
	if x.dir == "" {
		x.dir = filepath.Join("runs", s.Name+"-"+e.now().Format("20060102-150405"))
	}
	w, err := store.Create(x.dir, manifest, s.Specs(), instances, store.Options{Sync: x.paid() != nil})
	if err != nil {
		return err
	}
	x.say("Study %s: %d trials of %s on %s, into %s\n",
		s.Name, s.NumTrials(), count(len(s.Models), "model"), count(len(s.Seeds), "seed"), x.dir)
	return x.run(w, instances)
}
