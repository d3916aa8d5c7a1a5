package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/report/figure"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// pageName is the file that a finished run's page is written to, in its folder.
const pageName = "report.html"

// A pageMaker gathers what a page shows from runs that stay open until it is
// written.
type pageMaker struct {
	trials report.Trials
	runs   []*store.Run
	names  []string
	runOf  map[string]int // trial → its run, of those that are not of the first
	lakes  map[lakeKey]*record.Instance
}

// A lakeKey names an instance: runs that are taken together agree about it.
type lakeKey struct {
	seed       int
	regime     string
	rows, cols int
}

func lakeKeyOf(s *record.Spec) lakeKey { return lakeKey{s.Seed, s.Regime, s.Rows, s.Cols} }

func newPageMaker() *pageMaker {
	return &pageMaker{runOf: map[string]int{}, lakes: map[lakeKey]*record.Instance{}}
}

// runPage writes the page of one run, whose records a collector has, into its
// folder, in place of an older one.
func runPage(dir string, c *analysis.Collector) (path string, err error) {
	run, err := store.Open(dir)
	if err != nil {
		return "", err
	}
	defer run.Close()
	m := newPageMaker()
	if err := m.gather(run, dir); err != nil {
		return "", err
	}
	page, err := m.page(c.All(), c.Figures(), false)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, pageName)
	_, err = writePage(path, page, true)
	return path, err
}

// open begins with a run; its trials follow by expect and add.
func (m *pageMaker) open(run *store.Run, dir string) {
	name := filepath.Base(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(abs) // "." has a name as well
	}
	m.runs, m.names = append(m.runs, run), append(m.names, name)
}

func (m *pageMaker) expect(s *record.Spec) { m.trials.Expect(m.name(), s) }

func (m *pageMaker) name() string { return m.names[len(m.names)-1] }

func (m *pageMaker) add(t *record.Trial) {
	m.trials.Add(m.name(), t)
	if i := len(m.runs) - 1; i > 0 {
		m.runOf[t.Key] = i
	}
}

// gather reads a whole run for the page alone.
func (m *pageMaker) gather(run *store.Run, dir string) error {
	m.open(run, dir)
	for spec, err := range run.Plan() {
		if err != nil {
			return err
		}
		m.expect(&spec)
	}
	for t, err := range run.Trials() {
		if err != nil {
			return err
		}
		m.add(t)
	}
	return nil
}

// page returns the page of everything gathered.
func (m *pageMaker) page(tables []analysis.Table, figures []analysis.Figure, all bool) (*report.Page, error) {
	p := &report.Page{Tables: tables, Trials: &m.trials, Replay: m.replay, AllReplays: all}
	for i := range figures {
		drawn, err := drawForPage(&figures[i])
		if err != nil {
			return nil, err
		}
		p.Figures = append(p.Figures, drawn)
	}
	for i, run := range m.runs {
		for in, err := range run.Instances() {
			if err != nil {
				return nil, err
			}
			m.lakes[lakeKey{in.Seed, in.Regime, len(in.Rows), len(in.Rows[0])}] = &in
		}
		one := report.PageRun{Name: m.names[i], Manifest: run.Manifest(), Prompts: map[string]string{}}
		sums := study.DefaultPrompts().Sums()
		for name, text := range study.DefaultPrompts() {
			if sums[name] == one.Manifest.Prompts[name] {
				one.Prompts[name] = text
			}
		}
		p.Runs = append(p.Runs, one)
	}
	if err := m.sent(p); err != nil {
		return nil, err
	}
	return p, nil
}

// drawForPage draws a figure for light and dark screens.
func drawForPage(f *analysis.Figure) (report.PageFigure, error) {
	out := report.PageFigure{Figure: f}
	if len(f.Panels) == 0 {
		return out, nil
	}
	for _, one := range []struct {
		into  *[]byte
		theme figure.Theme
	}{{&out.Light, figure.Light}, {&out.Dark, figure.Dark}} {
		var b bytes.Buffer
		if err := figure.Draw(&b, f, "svg", one.theme); err != nil {
			return out, fmt.Errorf("figure %s: %w", f.ID, err)
		}
		*one.into = b.Bytes()
	}
	return out, nil
}

// sent adds a prompt of each kind as it was sent: an audit and a step from
// every modality.
func (m *pageMaker) sent(p *report.Page) error {
	type kind struct {
		run            int
		task, modality string
	}
	seen := map[kind]bool{}
	for _, key := range m.trials.Chosen() {
		i := m.runOf[key]
		t, err := m.runs[i].Trial(key)
		if err != nil {
			return err
		}
		k := kind{i, t.Task, t.Modality}
		if seen[k] || t.Task == record.Navigate && t.Strategy == study.NoMemory.Name {
			continue
		}
		seen[k] = true
		calls, err := m.runs[i].TrialCalls(key)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			continue
		}
		call, about := calls[0], "an audit from "+t.Modality
		if t.Task == record.Navigate {
			about = "a step from " + t.Modality
			for _, c := range calls {
				if c.Slot == "step1" {
					call = c
				}
			}
		}
		p.Runs[i].Sent = append(p.Runs[i].Sent, report.SentPrompt{About: about, Trial: key, Slot: call.Slot, Parts: call.Prompt, Reply: call.Reply})
	}
	return nil
}

// replay reads a trial with its calls.
func (m *pageMaker) replay(key string) (*report.Replay, error) {
	run := m.runs[m.runOf[key]]
	t, err := run.Trial(key)
	if err != nil {
		return nil, err
	}
	in := m.lakes[lakeKeyOf(&t.Spec)]
	if in == nil {
		return nil, fmt.Errorf("trial %s: the run has no instance for it; the folder is damaged", key)
	}
	calls, err := run.TrialCalls(key)
	if err != nil {
		return nil, err
	}
	return &report.Replay{Story: report.Story{Trial: t, Instance: in}, Calls: calls}, nil
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
