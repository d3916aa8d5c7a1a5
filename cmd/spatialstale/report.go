package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/store"
)

type reportCmd struct {
	Runs   []string `arg:"" name:"run" help:"Run folder; several are taken together when no trial is in two of them."`
	Format string   `enum:"text,md,csv,json" default:"text" help:"Form of the tables: text, md, csv or json."`
	Table  []string `placeholder:"ID,…" help:"Show only these tables, as in deaths,exposure; all unless given."`
	Out    string   `placeholder:"DIR" help:"Write a file for each table into this folder; required for csv."`
}

// Run shows every table of finished, stopped or running runs.
func (c *reportCmd) Run(e *env) error {
	if c.Format == "csv" && c.Out == "" {
		return usageError{errors.New("csv is a file for each table; give --out DIR")}
	}
	collector := &analysis.Collector{}
	read := runReader{collector: collector, runOf: map[string]string{}}
	for _, dir := range c.Runs {
		if err := read.run(dir); err != nil {
			return err
		}
	}
	tables, err := chosen(collector.All(), c.Table)
	if err != nil {
		return usageError{err}
	}
	if c.Out == "" {
		return printTables(e.stdout, tables, c.Format)
	}
	names, err := report.Files(c.Out, tables, c.Format)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if len(t.Rows) == 0 {
			fmt.Fprintf(e.stderr, "no file for %s, which needs %s\n", t.ID, t.Need)
		}
	}
	for _, name := range names {
		fmt.Fprintln(e.stdout, name)
	}
	return nil
}

// chosen returns the tables with the given ids in their own order, all of them
// for none.
func chosen(tables []analysis.Table, ids []string) ([]analysis.Table, error) {
	if len(ids) == 0 {
		return tables, nil
	}
	var known []string
	for i := range tables {
		known = append(known, tables[i].ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("unknown table %q; there are %s", id, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(tables, func(t analysis.Table) bool { return !slices.Contains(ids, t.ID) }), nil
}

// A runReader reads runs into one collector.
type runReader struct {
	collector *analysis.Collector
	runOf     map[string]string // trial → the run that plans it
}

func (r *runReader) run(dir string) error {
	run, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	for spec, err := range run.Plan() {
		if err != nil {
			return err
		}
		if other, ok := r.runOf[spec.Key]; ok {
			return fmt.Errorf("trial %s is in both %s and %s, so they cannot be taken together; report them one at a time", spec.Key, other, dir)
		}
		r.runOf[spec.Key] = dir
		if err := r.collector.Expect(spec); err != nil {
			return fmt.Errorf("%s: %w; report the runs one at a time", dir, err)
		}
	}
	for in, err := range run.Instances() {
		if err != nil {
			return err
		}
		if err := r.collector.AddInstance(in); err != nil {
			return fmt.Errorf("%s: %w; report the runs one at a time", dir, err)
		}
	}
	for t, err := range run.Trials() {
		if err != nil {
			return err
		}
		if err := r.collector.AddTrial(t); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}
