package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// pageName is the file that a finished run's page is written to, in its folder.
const pageName = "report.html"

// A pageMaker gathers what a page shows from runs that stay open until it is
// written.
type pageMaker struct {
	trials report.Trials
	runs   []*run.Stored
	dirs   []string
}

// Close closes the runs.
func (m *pageMaker) Close() {
	for _, stored := range m.runs {
		stored.Close()
	}
}

// gather returns a run as a frame reads it: the page takes the trials that the
// frame does as they pass, so that a run is read once. Closing the run is the
// page's.
func (m *pageMaker) gather(stored *run.Stored, dir string, f *analysis.Frame) analysis.Source {
	m.runs, m.dirs = append(m.runs, stored), append(m.dirs, dir)
	return &gathered{stored, dir, m, f}
}

// A gathered is a run whose trials go to a page as they are read.
type gathered struct {
	*run.Stored
	dir   string
	page  *pageMaker
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
func (m *pageMaker) name(i int) string {
	if dir := m.dirs[i]; dir != "." && !filepath.IsAbs(dir) {
		return dir
	}
	abs, err := filepath.Abs(m.dirs[i])
	if err != nil {
		return m.dirs[i]
	}
	return filepath.Base(abs)
}

func (m *pageMaker) add(t *record.Trial) error {
	i := len(m.runs) - 1
	return m.trials.Add(m.name(i), t, func() ([]*record.Call, error) { return m.runs[i].TrialCalls(t.Key) })
}

// page returns the page of everything gathered.
func (m *pageMaker) page(summary analysis.Summary, tables []analysis.Table, figures []analysis.Figure) *report.Page {
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

// writePage writes a page into a file. With replace, one that is there gives
// way once the new one is whole; otherwise it stays and is an error.
func writePage(path string, p *report.Page, replace bool) (size int64, err error) {
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
