package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spatialstale/spatialstale/export"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

type scoreCmd struct {
	Verdicts string `arg:"" help:"File of verdicts, a JSON object a line (docs/datasets.md)."`
	Dataset  string `required:"" placeholder:"DIR" help:"The dataset folder that was judged (see dataset)."`
	Name     string `placeholder:"NAME" help:"What judged it, in tables; the file's name unless given."`
	Out      string `placeholder:"DIR" help:"Run folder to make; runs/NAME-TIME unless given."`
	Format   string `enum:"text,md,json" default:"text" help:"Form of the tables: text, md or json."`
	JSON     bool   `name:"json" help:"For programs: progress as JSON lines on the standard error, tables as JSON."`
}

// Run makes a run of verdicts that were made elsewhere, and prints its tables.
func (c *scoreCmd) Run(e *env) error {
	e.watchSignals()
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(c.Verdicts), filepath.Ext(c.Verdicts))
	}
	verdicts, err := run.ReadVerdicts(c.Verdicts)
	if err != nil {
		return err
	}
	all, err := export.ReadDataset(c.Dataset)
	if err != nil {
		return err
	}
	s, unanswered, err := verdicts.Study(c.Name, all)
	if err != nil {
		return err
	}
	o := run.Options{Dir: c.Out, Now: e.now, Programs: map[string]llm.Model{}}
	for name := range s.Methods() {
		o.Programs[name] = verdicts
	}
	session, err := e.begin(func(ctx context.Context) (*run.Session, error) { return run.Start(ctx, s, o) })
	if err != nil {
		return err
	}
	show := executionFlags{Format: c.Format, JSON: c.JSON}
	show.say(e, "%s: verdicts on %s, into %s\n", c.Name, describeLakes(s), session.Dir())
	if unanswered > 0 {
		show.say(e, "%s of these without a verdict: their entries count as unanswered\n", count(unanswered, "window"))
	}
	return show.follow(e, session)
}

// describeLakes counts what a study is on.
func describeLakes(s *study.Study) string {
	return count(len(s.Seeds), "seed") + " under " + count(len(s.Regimes), "regime")
}
