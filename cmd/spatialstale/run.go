package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type runCmd struct {
	studyFlags
	Concurrency int    `placeholder:"N" help:"Trials in progress at once; as many as there are processors unless given. No result depends on it."`
	Prompts     string `placeholder:"DIR" help:"Take prompt files from this folder in place of those that ship."`
	Out         string `placeholder:"DIR" help:"Run folder to make; runs/STUDY-TIME unless given."`
	Format      string `enum:"text,md,json" default:"text" help:"Form of the tables: text, md or json."`
}

// Run makes the run folder, runs the study and prints its tables.
func (c *runCmd) Run(e *env) error {
	s, err := c.build()
	if err != nil {
		return err
	}
	models, infos, err := openModels(s)
	if err != nil {
		return err
	}
	prompts := study.DefaultPrompts()
	if c.Prompts != "" {
		if prompts, err = study.ReadPrompts(c.Prompts); err != nil {
			return err
		}
	}
	instances, err := s.Instances()
	if err != nil {
		return err
	}
	manifest, err := makeManifest(e, s, infos, prompts, instances)
	if err != nil {
		return err
	}
	dir := c.Out
	if dir == "" {
		dir = filepath.Join("runs", s.Name+"-"+e.now().Format("20060102-150405"))
	}
	w, err := store.Create(dir, manifest, s.Specs(), instances, store.Options{})
	if err != nil {
		return err
	}
	t, err := newTally(w, e, s, instances)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	fmt.Fprintf(e.stderr, "Study %s: %d trials of %s on %s, into %s\n",
		s.Name, s.NumTrials(), count(len(s.Models), "model"), count(len(s.Seeds), "seed"), dir)
	stopProgress := t.showProgress(e.stderr)
	sum, runErr := study.Run(e.ctx, s, study.Options{
		Models:      models,
		Recorder:    t,
		Prompts:     prompts,
		Concurrency: c.concurrency(),
		Now:         e.now,
	})
	stopProgress()
	if err := w.Close(); err != nil && runErr == nil {
		runErr = err
	}
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return fmt.Errorf("%w\n%d of %d trials are in %s", runErr, sum.Finished, sum.Planned, dir)
	}
	if err := printTables(e.stdout, t.collector.Tables(), c.Format); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "\nRun folder: %s\nIts records as files: spatialstale export %s --format jsonl --out DIR\n", dir, dir)
	switch {
	case runErr != nil:
		return stoppedError{fmt.Errorf("stopped after %d of %d trials; the finished ones are in %s", sum.Finished+sum.Failed, sum.Planned, dir)}
	case sum.Failed > 0:
		return stoppedError{fmt.Errorf("%d of %d trials failed and are in no table; the first: %w", sum.Failed, sum.Planned, sum.FirstError)}
	}
	return nil
}

func (c *runCmd) concurrency() int {
	if c.Concurrency > 0 {
		return c.Concurrency
	}
	return runtime.GOMAXPROCS(0)
}

// count writes "1 seed", "2 seeds".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func makeManifest(e *env, s *study.Study, models []record.ModelInfo, prompts study.Prompts, instances []record.Instance) (record.Manifest, error) {
	config, err := json.Marshal(s)
	if err != nil {
		return record.Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	m := record.Manifest{
		Version:   record.Version,
		Program:   version(),
		Go:        runtime.Version(),
		Created:   e.now().UTC(),
		Study:     config,
		Models:    models,
		Prompts:   prompts.Sums(),
		Instances: map[string]string{},
		Trials:    s.NumTrials(),
	}
	for i := range instances {
		in := &instances[i]
		b, err := json.Marshal(in)
		if err != nil {
			return m, fmt.Errorf("manifest: %w", err)
		}
		sum := sha256.Sum256(b)
		m.Instances[fmt.Sprintf("%d/%dx%d/%s", in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime)] = hex.EncodeToString(sum[:])
	}
	return m, nil
}

func printTables(w io.Writer, tables []analysis.Table, format string) error {
	switch format {
	case "md":
		return report.Markdown(w, tables)
	case "json":
		return report.JSON(w, tables)
	}
	return report.Text(w, tables, report.TextOptions{Width: terminalWidth(w), Color: isTerminal(w) && os.Getenv("NO_COLOR") == ""})
}
