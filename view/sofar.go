package view

import (
	"bytes"
	"html/template"
	"time"

	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/results"
	"github.com/spatialstale/spatialstale/run"
)

// What a run comes to is made in the background, one run at a time, and kept until
// it is written to again; a run under way is read again when this takes a small
// part of the time only.
const (
	soFarEvery  = 3 * time.Second // between two readings of a run under way, at least
	soFarShare  = 10              // of this many seconds one may go into reading
	soFarTrials = 20_000          // planned; of larger runs the report is asked for
)

// A soFar is what a run comes to by now.
type soFar struct {
	Findings []string
	Tables   template.HTML // the first of its results

	of    time.Time // when the run was last written to
	next  time.Time // when it may be read again
	asked bool      // it waits to be read
}

// shownTables are those of a run's page; the report has all.
var shownTables = []string{"headline", "detection", "navigation-text", "navigation-vision"}

// soFar returns what a run comes to, as far as it is known, and has it read when
// that has become old.
func (v *Viewer) soFar(l *run.Listed) soFar {
	if l.Err != nil || l.Done == 0 || l.Planned > soFarTrials {
		return soFar{}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := v.comes[l.Dir]
	if kept == nil {
		kept = &soFar{}
		v.comes[l.Dir] = kept
	}
	if !kept.asked && !kept.of.Equal(l.Updated) && time.Now().After(kept.next) {
		kept.asked = true
		v.working.Go(func() { v.read(*l) })
	}
	return *kept
}

// read makes what a run comes to.
func (v *Viewer) read(l run.Listed) {
	v.reading.Lock()
	defer v.reading.Unlock()
	if v.ctx.Err() != nil {
		return
	}
	begin := time.Now()
	now := comesTo(l.Dir)
	now.of, now.next = l.Updated, time.Now().Add(max(soFarEvery, soFarShare*time.Since(begin)))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.comes[l.Dir] = &now
}

// comesTo reads what a run comes to; nothing where it cannot be read just now.
func comesTo(dir string) (now soFar) {
	frame, err := results.Read([]string{dir}, "", nil)
	if err != nil {
		return now
	}
	for _, f := range frame.Summary().Findings {
		now.Findings = append(now.Findings, f.Text)
	}
	tables := frame.Tables()
	var b bytes.Buffer
	for _, id := range shownTables {
		for i := range tables {
			if tables[i].ID == id && len(tables[i].Rows) > 0 && report.TableHTML(&b, &tables[i]) != nil {
				return now
			}
		}
	}
	now.Tables = template.HTML(b.String())
	return now
}
