package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
)

// results prints the tables of a run to whoever still reads them. After a
// session it also writes the run's page, and says where everything else is.
func (f *executionFlags) results(e *env, dir string, after bool) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	read := newRunReader()
	if err := read.price(f.Prices); err != nil {
		return err
	}
	if err := read.run(stored.Run, dir); err != nil {
		return err
	}
	format := f.Format
	if f.JSON {
		format = "json"
	}
	if err := printTables(e.stdout, endTables(read.collector), format); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if !after {
		return nil
	}
	f.say(e, "\nRun folder: %s\n%sAll its tables: spatialstale report %s\nIts records as files: spatialstale export %s --format jsonl --out DIR\n",
		dir, leavePage(stored, read.collector), dir, dir)
	return nil
}

// pagedTrials is the size of a run that gets its page at once. A larger one
// waits for report, which has more to read.
const pagedTrials = 50_000

// leavePage writes the page of a run into its folder and returns a line that
// says where it is. A run is no worse for a page that cannot be written.
func leavePage(stored *run.Stored, c *analysis.Collector) string {
	later := "spatialstale report " + stored.Dir + " --format html"
	if stored.Manifest().Trials > pagedTrials {
		return "Its page, with figures and replays: " + later + "\n"
	}
	path, err := runPage(stored.Dir, c)
	if err != nil {
		return fmt.Sprintf("Its page could not be written: %v. Try again with: %s\n", err, later)
	}
	return "Its page, with figures and replays: " + path + "\n"
}

// endTables are the tables at the end of a run: the short set, and those of what
// the study varies.
func endTables(c *analysis.Collector) []analysis.Table {
	tables := c.Tables()
	for _, t := range []analysis.Table{c.Batch(), c.Score(), c.Framing(), c.Sizes(), c.Models(), c.Costs()} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func printTables(w io.Writer, tables []analysis.Table, format string) error {
	switch format {
	case "md":
		return report.Markdown(w, tables)
	case "json":
		return report.JSON(w, tables)
	case "latex":
		return report.LaTeX(w, tables)
	}
	return report.Text(w, tables, report.TextOptions{Width: terminalWidth(w), Color: isTerminal(w) && os.Getenv("NO_COLOR") == ""})
}

// readPrices returns the prices of a file, or those that ship for "".
func readPrices(file string) (*price.List, error) {
	if file == "" {
		return price.Shipped(), nil
	}
	return price.Read(file)
}

// pricesOf returns the prices for a run: a file's, or those that it was made
// with and the list's for what it does not know.
func pricesOf(list *price.List, file string, models []record.ModelInfo) (*price.List, error) {
	if file != "" {
		return list, nil
	}
	return run.PricesOf(list, models)
}

// paidTrials finds the settings of the trials whose calls are paid for, a spec
// for each setting.
type paidTrials struct {
	of     map[string]*record.Spec // by trial
	shared map[record.Spec]*record.Spec
}

// add makes a trial known.
func (p *paidTrials) add(spec record.Spec) {
	if p.of == nil {
		p.of, p.shared = map[string]*record.Spec{}, map[record.Spec]*record.Spec{}
	}
	key := spec.Key
	spec.Key, spec.Seed, spec.Episode = "", 0, 0
	if p.shared[spec] == nil {
		p.shared[spec] = &spec
	}
	p.of[key] = p.shared[spec]
}

// tell hands a call to the tables; nothing for one that nobody pays for.
func (p *paidTrials) tell(to *analysis.Collector, c *record.Call, cost *price.Cost) {
	spec := p.of[c.Trial]
	if spec == nil {
		return
	}
	call := analysis.PaidCall{Input: c.InputTokens, Cached: c.CachedTokens, Output: c.OutputTokens, Reasoning: c.ReasoningTokens, Latency: c.Latency}
	if cost != nil {
		call.Cost, call.Inexact = new(int64(cost.USD)), cost.AtLeast || cost.AtMost
	}
	to.AddCall(spec, &call)
}
