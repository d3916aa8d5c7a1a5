package run

import (
	"context"
	"strings"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/method"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A viewer gives one episode's navigator its memory view under a strategy. It
// is where an audit's session meets the walk.
type viewer struct {
	trial     *study.Trial
	world     *world
	introduce string
	session   *judge.Session // nil when nothing is audited
	sight     *sight         // nil unless what comes into view is audited
	own       *method.Memory // nil unless a program of one's own keeps the memory
	now       observe.State  // at the view being made
	view      navigate.View  // the latest
	windows   []record.Window
}

func (r *runner) newViewer(t *study.Trial, w *world) *viewer {
	v := &viewer{trial: t, world: w, introduce: r.introduce[t.Framing]}
	switch {
	case t.By.Memory == study.MemoryNone:
		v.view = navigate.View{Memory: record.MemoryNone}
		return v
	case t.By.Memory == study.MemoryMethod:
		v.own = &method.Memory{
			Model: r.methods[t.By.Program()], Trial: t.Key, Grid: t.By.Method.IsSent(study.WantsGrid),
			Observer: &observer{w.scenery, t.Modality}, Entries: (&navigate.View{}).Entries(w.Memory),
		}
		return v
	case !t.By.Audits():
		v.view = navigate.View{Memory: record.MemoryAll, Parts: v.write(w.entries)}
		return v
	}
	var source judge.Source
	if t.By.Auditor == study.AuditOracle {
		source = judge.Labels(func(id string) bool { return w.byID[id].Stale(&v.now.Grid) })
	} else {
		source = r.auditor(t, func() *observe.State { return &v.now })
	}
	when := judge.Once
	switch t.By.When {
	case study.OnEvent:
		when = judge.OnEvent
	case study.OnSight:
		when = judge.OnEvent // of which looking tells
		v.sight = newSight(source, w)
		source = v.sight
	}
	v.session = judge.NewSession(source, w.entries, when, judge.Remove)
	return v
}

// View implements navigate.Viewer. The text of a view is made anew only when an
// audit may have changed it.
func (v *viewer) View(ctx context.Context, m navigate.Moment) (navigate.View, error) {
	if v.own != nil {
		return v.remembered(ctx, m)
	}
	if v.session == nil {
		return v.view, nil
	}
	v.now = m.State
	due := m.Changed
	if v.sight != nil {
		due = v.sight.look(&m.State)
	}
	var seen []llm.Part
	if v.session.Due(due) {
		var err error
		if seen, err = v.world.scenery.audited(v.trial.Modality, &m.State); err != nil {
			return navigate.View{}, err
		}
	}
	kept, err := v.session.View(ctx, v.trial.Key, seen, due)
	if err != nil {
		return navigate.View{}, err
	}
	if kept.Result != nil {
		audited := kept.Result
		if v.sight != nil {
			v.sight.keep(&m.State)
			audited = v.sight.audited
		}
		v.windows = append(v.windows, v.world.window(len(v.windows), m.Step, &m.State, audited))
		if rewrite := rewrites[v.trial.By.Policy]; rewrite != nil {
			v.view = v.show(v.rewritten(kept.Result.Verdicts, rewrite))
		} else {
			v.view = navigate.View{Memory: record.MemoryFiltered, Parts: v.write(kept.Entries), Removed: kept.Removed}
		}
	}
	return v.view, nil
}

// rewrites give the text of a stale entry under the policies that keep one.
var rewrites = map[study.Policy]func(e *memory.Entry, v *judge.Verdict) string{
	study.Mark:    func(e *memory.Entry, _ *judge.Verdict) string { return e.Marked() },
	study.Unknown: func(e *memory.Entry, _ *judge.Verdict) string { return e.Unknown() },
	study.Correct: func(e *memory.Entry, v *judge.Verdict) string {
		proposed := strings.TrimSpace(v.Correction)
		if _, at, ok := memory.ReadClaim(proposed); ok && at == e.Pos && !strings.ContainsAny(proposed, "\r\n") {
			return proposed
		}
		return e.Opposite()
	},
}

// rewritten is the memory with its stale entries in other words.
func (v *viewer) rewritten(verdicts []judge.Verdict, rewrite func(*memory.Entry, *judge.Verdict) string) []navigate.Entry {
	entries := (&navigate.View{}).Entries(v.world.Memory)
	for i := range entries {
		if verdicts[i].Status == record.Stale {
			entries[i].Text = rewrite(&v.world.Memory[i], &verdicts[i])
		}
	}
	return entries
}

// remembered is the view that a memory of one's own gives.
func (v *viewer) remembered(ctx context.Context, m navigate.Moment) (navigate.View, error) {
	changed, err := v.own.Remember(ctx, m)
	if err == nil && (changed || v.view.Memory == "") {
		v.view = v.show(v.own.Entries)
	}
	return v.view, err
}

// show is the view in which some entries are shown, whoever wrote them.
func (v *viewer) show(shown []navigate.Entry) navigate.View {
	view := navigate.Show(shown, v.world.Memory)
	entries := make([]judge.Entry, len(shown))
	for i, e := range shown {
		entries[i] = judge.Entry{ID: e.ID, Parts: []llm.Part{llm.Text(e.Text)}}
	}
	view.Parts = v.write(entries)
	return view
}

// write is the memory's place in the prompt: its introduction and the entries'
// lines.
func (v *viewer) write(entries []judge.Entry) []llm.Part {
	intro := llm.Text(v.introduce)
	if len(entries) == 0 {
		return []llm.Part{intro, llm.Text("(no entries)\n")}
	}
	return append([]llm.Part{intro}, writeLines(entries)...)
}
