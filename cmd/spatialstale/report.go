package main

import (
	"github.com/spatialstale/spatialstale/results"

	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/report"
)

type reportCmd struct {
	Runs    []string `arg:"" name:"run" help:"Run folder, or latest; several are taken together; a trial that is in two of them is taken from the first."`
	Format  string   `enum:"text,md,csv,json,latex,html" default:"text" help:"Form of the tables: text, md, csv, json or latex; or html, one page with tables, figures, methods, trials and replays."`
	Table   []string `placeholder:"ID,…" help:"Show only these tables, and with --out DIR these figures, as in deaths,figure-3-detection; all unless given."`
	Out     string   `placeholder:"DIR" help:"Write a file for each table and each figure into this folder; required for csv. With html: the page's file; report.html in the run's folder unless given."`
	Figures []string `placeholder:"svg,png,pdf" enum:"svg,png,pdf,none" help:"With --out DIR: forms of the figures, svg unless given; none leaves them away. With csv or json their numbers are written beside them."`

	Prices  string `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	Rescore bool   `help:"Show what the stored replies say to today's parser, and to a strict one, instead of the tables of the run."`
	Prompts string `placeholder:"DIR" help:"With --rescore: the folder of prompt files that the run was made with, if it was made with one."`
}

// Run shows every table of finished, stopped or running runs, or what their
// replies say now.
func (c *reportCmd) Run(e *env) error {
	if c.Format == "csv" && c.Out == "" {
		return usageError{errors.New("csv is a file for each table; give --out DIR")}
	}
	if len(c.Figures) > 0 && (c.Out == "" || c.Rescore || c.Format == "html") {
		return usageError{errors.New("--figures goes with --out DIR, which takes the files; a page has them as they are, and --rescore has none")}
	}
	if c.Prompts != "" && !c.Rescore {
		return usageError{errors.New("--prompts goes with --rescore; the other tables need no prompts")}
	}
	for i, named := range c.Runs {
		dir, err := folderOf(named)
		if err != nil {
			return err
		}
		if slices.Contains(c.Runs[:i], dir) {
			return usageError{fmt.Errorf("%s is given twice", dir)}
		}
		c.Runs[i] = dir
	}
	if c.Format == "html" {
		return c.html(e)
	}
	frame, err := results.Read(c.Runs, c.Prices, nil)
	if err != nil {
		return err
	}
	all := frame.Tables
	if c.Rescore {
		again := analysis.NewRescoring(frame)
		for _, dir := range c.Runs {
			if err := rescoreRun(e, dir, c.Prompts, frame, again); err != nil {
				return err
			}
		}
		all = again.Tables
	}
	var figures []analysis.Figure
	if c.Out != "" && !c.Rescore && len(c.drawings()) > 0 {
		figures = frame.Figures()
	}
	tables, figures, err := chosen(all(), figures, c.Table)
	if err != nil {
		return usageError{err}
	}
	if c.Out == "" {
		if err := printTables(e.stdout, tables, c.Format); err != nil || c.Format != "text" || c.Rescore || len(c.Table) > 0 {
			return err
		}
		fmt.Fprintln(e.stdout)
		return printSummary(e.stdout, frame.Summary(), []string{"One table: add --table and its name, such as --table detection"})
	}
	out := report.Output{Tables: tables, Format: c.Format, Figures: figures, Drawings: c.drawings()}
	names, err := out.Write(c.Out)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if len(t.Rows) == 0 {
			fmt.Fprintf(e.stderr, "no file for %s, which needs %s\n", t.ID, t.Need)
		}
	}
	for i := range figures {
		if f := &figures[i]; len(f.Panels) == 0 {
			fmt.Fprintf(e.stderr, "no file for %s, which needs %s\n", f.ID, f.Need)
		}
	}
	for _, name := range names {
		fmt.Fprintln(e.stdout, name)
	}
	return nil
}

// html writes a page of all tables.
func (c *reportCmd) html(e *env) error {
	switch {
	case c.Rescore:
		return usageError{errors.New("--rescore has no page; leave --format html away")}
	case c.Out == "" && len(c.Runs) > 1:
		return usageError{errors.New("a page of several runs belongs to none of their folders; give --out FILE")}
	}
	maker := &results.PageMaker{}
	defer maker.Close()
	frame, err := results.Read(c.Runs, c.Prices, maker)
	if err != nil {
		return err
	}
	tables, figures, err := chosen(frame.Tables(), frame.Figures(), c.Table)
	if err != nil {
		return usageError{err}
	}
	path := c.Out
	if path == "" {
		path = filepath.Join(c.Runs[0], results.PageName)
	}
	if _, err := results.WritePage(path, maker.Page(frame.Summary(), tables, figures), c.Out == ""); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, path)
	return nil
}

// drawings returns the forms of figures that are asked for.
func (c *reportCmd) drawings() []string {
	switch {
	case slices.Contains(c.Figures, "none"):
		return nil
	case len(c.Figures) == 0:
		return []string{"svg"}
	}
	return c.Figures
}

// chosen returns the tables and figures with the given ids in their own order,
// all of them for none.
func chosen(tables []analysis.Table, figures []analysis.Figure, ids []string) ([]analysis.Table, []analysis.Figure, error) {
	if len(ids) == 0 {
		return tables, figures, nil
	}
	var known []string
	for i := range tables {
		known = append(known, tables[i].ID)
	}
	for i := range figures {
		known = append(known, figures[i].ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return nil, nil, fmt.Errorf("unknown table %q; there are %s", id, strings.Join(known, ", "))
		}
	}
	tables = slices.DeleteFunc(tables, func(t analysis.Table) bool { return !slices.Contains(ids, t.ID) })
	figures = slices.DeleteFunc(figures, func(f analysis.Figure) bool { return !slices.Contains(ids, f.ID) })
	return tables, figures, nil
}
