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

// readFrame reads runs into a frame, counted by the prices of a file, or for ""
// by those that each run was made with and the list that ships.
func readFrame(dirs []string, prices string) (*analysis.Frame, error) {
	list, err := readPrices(prices)
	if err != nil {
		return nil, err
	}
	f := &analysis.Frame{}
	for _, dir := range dirs {
		if err := readRun(f, dir, list, prices != ""); err != nil {
			return nil, err
		}
	}
	return f, f.End()
}

func readRun(f *analysis.Frame, dir string, list *price.List, given bool) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	models := stored.Manifest().Models
	if !given {
		if list, err = run.PricesOf(list, models); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, m := range models {
		if !run.IsControl(m.Name) {
			f.PricedBy(list.Dated(m.Name))
		}
	}
	return f.Read(dir, stored, func(c *record.Call) (*int64, bool) {
		cost := run.CostOf(list, c)
		if cost == nil {
			return nil, false
		}
		return new(int64(cost.USD)), cost.AtLeast || cost.AtMost
	})
}

// results prints the tables of a run to whoever still reads them. After a
// session it also writes the run's page, and says where everything else is.
func (f *executionFlags) results(e *env, dir string, after bool) error {
	frame, err := readFrame([]string{dir}, f.Prices)
	if err != nil {
		return err
	}
	format := f.Format
	if f.JSON {
		format = "json"
	}
	if err := printTables(e.stdout, endTables(frame), format); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if !after {
		return nil
	}
	f.say(e, "\nRun folder: %s\n%sAll its tables: spatialstale report %s\nIts records as files: spatialstale export %s --format jsonl --out DIR\n",
		dir, leavePage(dir, frame), dir, dir)
	return nil
}

// pagedTrials is the size of a run that gets its page at once. A larger one
// waits for report, which has more to read.
const pagedTrials = 50_000

// leavePage writes the page of a run into its folder and returns a line that
// says where it is. A run is no worse for a page that cannot be written.
func leavePage(dir string, f *analysis.Frame) string {
	later := "spatialstale report " + dir + " --format html"
	if f.Planned() > pagedTrials {
		return "Its page, with figures and replays: " + later + "\n"
	}
	path, err := runPage(dir, f)
	if err != nil {
		return fmt.Sprintf("Its page could not be written: %v. Try again with: %s\n", err, later)
	}
	return "Its page, with figures and replays: " + path + "\n"
}

// endTables are the tables at the end of a run that have rows.
func endTables(f *analysis.Frame) []analysis.Table {
	short := map[string]bool{"regimes": true, "detection": true, "navigation-text": true, "navigation-vision": true, "lengths": true, "headline": true,
		"batch": true, "score": true, "framing": true, "sizes": true, "models": true, "costs": true}
	var out []analysis.Table
	for _, t := range f.Tables() {
		if short[t.ID] && len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
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
