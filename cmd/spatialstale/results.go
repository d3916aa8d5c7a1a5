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
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/results"
)

// results prints what a run comes to: for people the summary, for programs the
// tables. After a session it also writes the run's page.
func (f *executionFlags) results(e *env, dir string, after bool) error {
	var page *results.PageMaker
	if after {
		page = &results.PageMaker{}
		defer page.Close()
	}
	frame, err := results.Read([]string{dir}, f.Prices, page)
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
func leavePage(dir string, f *analysis.Frame, m *results.PageMaker) string {
	const words = "Page:        "
	later := commandLine("report", dir, "--format", "html")
	if f.Planned() > pagedTrials {
		return words + later
	}
	path := filepath.Join(dir, results.PageName)
	if _, err := results.WritePage(path, m.Page(f.Summary(), f.Tables(), f.Figures()), true); err != nil {
		return fmt.Sprintf("Its page could not be written: %v. Try again with: %s", err, later)
	}
	return words + path
}

// colored reports whether w is a terminal that shows colours, and whose user wants
// them (no-color.org).
func colored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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
	return report.Text(w, tables, report.TextOptions{Width: terminalWidth(w), Color: colored(w)})
}
