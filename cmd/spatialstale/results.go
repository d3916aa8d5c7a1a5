package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
)

// readFrame reads runs into a frame, counted by the prices of a file, or for ""
// by those that each run was made with and the list that ships. A page, where
// there is one, takes what it shows of them.
func readFrame(dirs []string, prices string, page *pageMaker) (*analysis.Frame, error) {
	list, err := readPrices(prices)
	if err != nil {
		return nil, err
	}
	f := &analysis.Frame{}
	for _, dir := range dirs {
		if err := readRun(f, dir, list, prices != "", page); err != nil {
			return nil, err
		}
	}
	return f, f.End()
}

func readRun(f *analysis.Frame, dir string, list *price.List, given bool, page *pageMaker) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	var source analysis.Source = stored
	if page != nil {
		source = page.gather(stored, dir, f)
	} else {
		defer stored.Close()
	}
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
	return f.Read(dir, source, func(c *record.Call) (*int64, bool) {
		cost := run.CostOf(list, c)
		if cost == nil {
			return nil, false
		}
		return new(int64(cost.USD)), cost.AtLeast || cost.AtMost
	})
}

// results prints what a run comes to: for people the summary, for programs the
// tables. After a session it also writes the run's page.
func (f *executionFlags) results(e *env, dir string, after bool) error {
	var page *pageMaker
	if after {
		page = &pageMaker{}
		defer page.Close()
	}
	frame, err := readFrame([]string{dir}, f.Prices, page)
	if err != nil {
		return err
	}
	format := f.Format
	if f.JSON {
		format = "json"
	}
	hints := []string{"Run folder:  " + dir}
	if after {
		hints = append(hints, leavePage(dir, frame, page))
	}
	if format == "text" {
		err = printSummary(e.stdout, frame.Summary(), append(hints,
			"All tables:  "+commandLine("report", dir), "Records:     "+commandLine("export", dir, "--format", "jsonl", "--out", filepath.Clean(dir)+"-jsonl")))
	} else if err = printTables(e.stdout, frame.Tables(), format); after {
		f.say(e, "\n%s\n", strings.Join(hints, "\n"))
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// printSummary prints what runs come to, and where everything else is.
func printSummary(w io.Writer, s analysis.Summary, hints []string) error {
	if s.Title != "" {
		s.Title = "Study " + s.Title
	}
	return report.Summary(w, s, report.SummaryOptions{Width: terminalWidth(w), Color: colored(w), Hints: hints})
}

// plainArgument is one that every shell takes as it is.
var plainArgument = regexp.MustCompile(`^[\w./:=@%+,-]+$`)

// commandLine is a command line of this program that works as it is printed, also
// for who runs it with go run.
func commandLine(args ...string) string {
	line := "spatialstale"
	if path, err := os.Executable(); err == nil && filepath.Base(filepath.Dir(path)) == "exe" && strings.Contains(path, "go-build") {
		line = "go run ./cmd/spatialstale"
	}
	for _, a := range args {
		if !plainArgument.MatchString(a) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}

// pagedTrials is the size of a run that gets its page at once. A larger one
// waits for report, which has more to read.
const pagedTrials = 50_000

// leavePage writes the page of a run, in place of an older one, into its folder
// and returns a line that says where it is. A run is no worse for a page that
// cannot be written.
func leavePage(dir string, f *analysis.Frame, m *pageMaker) string {
	const words = "Page:        "
	later := commandLine("report", dir, "--format", "html")
	if f.Planned() > pagedTrials {
		return words + later
	}
	path := filepath.Join(dir, pageName)
	if _, err := writePage(path, m.page(f.Summary(), f.Tables(), f.Figures()), true); err != nil {
		return fmt.Sprintf("Its page could not be written: %v. Try again with: %s", err, later)
	}
	return words + path
}

func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

func printTables(w io.Writer, tables []analysis.Table, format string) error {
	switch format {
	case "md":
		return report.Markdown(w, tables)
	case "json":
		return report.JSON(w, tables)
	case "latex":
		return report.LaTeX(w, tables)
	}
	return report.Text(w, tables, report.TextOptions{Width: terminalWidth(w), Color: colored(w)})
}

// readPrices returns the prices of a file, or those that ship for "".
func readPrices(file string) (*price.List, error) {
	if file == "" {
		return price.Shipped(), nil
	}
	return price.Read(file)
}
