// Package results reads runs for people: into a frame of analysis, and into the
// page of report that shows it with every trial. Commands and the viewer take what
// they show from it.
//
// It computes nothing of its own and prints nothing.
package results

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// Read reads runs into a frame, counted by the prices of a file, or for ""
// by those that each run was made with and the list that ships. A page, where
// there is one, takes what it shows of them.
func Read(dirs []string, prices string, page *PageMaker) (*analysis.Frame, error) {
	list, err := Prices(prices)
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

func readRun(f *analysis.Frame, dir string, list *price.List, given bool, page *PageMaker) error {
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

// Prices returns the prices of a file, or those that ship for "".
func Prices(file string) (*price.List, error) {
	if file == "" {
		return price.Shipped(), nil
	}
	return price.Read(file)
}

// PageName is the file that a finished run's page is written to, in its folder.
const PageName = "report.html"

// A PageMaker gathers what a page shows from runs that stay open until it is
// written.
type PageMaker struct {
	trials report.Trials
	runs   []*run.Stored
	dirs   []string
}

// Close closes the runs.
func (m *PageMaker) Close() {
	for _, stored := range m.runs {
		stored.Close()
	}
}

// gather returns a run as a frame reads it: the page takes the trials that the
// frame does as they pass, so that a run is read once. Closing the run is the
// page's.
func (m *PageMaker) gather(stored *run.Stored, dir string, f *analysis.Frame) analysis.Source {
	m.runs, m.dirs = append(m.runs, stored), append(m.dirs, dir)
	return &gathered{stored, dir, m, f}
}

// A gathered is a run whose trials go to a page as they are read.
type gathered struct {
	*run.Stored
	dir   string
	page  *PageMaker
	frame *analysis.Frame
}

func (g *gathered) Instances() iter.Seq2[record.Instance, error] {
	return func(yield func(record.Instance, error) bool) {
		for in, err := range g.Stored.Instances() {
			if err == nil {
				g.page.trials.AddInstance(in)
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

func (g *gathered) Trials() iter.Seq2[*record.Trial, error] {
	return func(yield func(*record.Trial, error) bool) {
		for t, err := range g.Stored.Trials() {
			if err == nil && g.frame.Owns(g.dir, &t.Spec) {
				err = g.page.add(t)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// name is a run as commands take it where the page was made; a whole path would
// tell every reader of the page about the machine.
func (m *PageMaker) name(i int) string {
	if dir := m.dirs[i]; dir != "." && !filepath.IsAbs(dir) {
		return dir
	}
	abs, err := filepath.Abs(m.dirs[i])
	if err != nil {
		return m.dirs[i]
	}
	return filepath.Base(abs)
}

func (m *PageMaker) add(t *record.Trial) error {
	i := len(m.runs) - 1
	return m.trials.Add(m.name(i), t, func() ([]*record.Call, error) { return m.runs[i].TrialCalls(t.Key) })
}

// Page returns the page of everything gathered.
func (m *PageMaker) Page(summary analysis.Summary, tables []analysis.Table, figures []analysis.Figure) *report.Page {
	summary.Title = "Study " + summary.Title
	p := &report.Page{Summary: summary, Tables: tables, Figures: figures, Trials: &m.trials}
	for i, stored := range m.runs {
		one := report.PageRun{Name: m.name(i), Manifest: stored.Manifest(), Prompts: map[string]string{}}
		sums := study.DefaultPrompts().Sums()
		for name, text := range study.DefaultPrompts() {
			if sums[name] == one.Manifest.Prompts[name] {
				one.Prompts[name] = text
			}
		}
		p.Runs = append(p.Runs, one)
	}
	return p
}

// WritePage writes a page into a file. With replace, one that is there gives
// way once the new one is whole; otherwise it stays and is an error.
func WritePage(path string, p *report.Page, replace bool) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil && !replace {
		return 0, fmt.Errorf("%s is there already; give another name, or move it away", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*.html")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			os.Remove(f.Name())
		}
	}()
	if err := report.HTML(f, p); err != nil {
		return 0, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return 0, err
	}
	if err := f.Chmod(0o644); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return size, os.Rename(f.Name(), path)
}
