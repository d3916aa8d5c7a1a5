package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// A Trace is one trial with the instance it was made on.
type Trace struct {
	Trial    *record.Trial
	Instance *record.Instance
}

// TraceOptions say how a trace is written.
type TraceOptions struct {
	Color bool // pictures of the lake in colour, for a terminal
}

// Write writes the trial step by step: what changed, what the agent was shown of
// its memory, what it did, and what came of it; for a detection, what was
// judged wrongly or not at all in each window.
func (tr *Trace) Write(w io.Writer, opts TraceOptions) error {
	t := &traceWriter{Trace: tr, color: opts.Color, agent: "@", route: "·", entries: map[record.Pos]*record.MemoryEntry{}}
	if t.color {
		t.agent, t.route = "▲", "•"
	}
	for i := range tr.Instance.Memory {
		e := &tr.Instance.Memory[i]
		t.entries[e.Pos] = e
	}
	var err, errAfter error
	t.original, err = lake.Parse(tr.Instance.Rows)
	t.grid, errAfter = lake.Parse(tr.Instance.RowsAfter)
	if err := errors.Join(err, errAfter); err != nil {
		return fmt.Errorf("trial %s: its instance: %w", tr.Trial.Key, err)
	}
	if len(tr.Instance.Events) > 0 {
		t.grid = t.original
	}
	t.heading()
	if tr.Trial.Task == record.Detect {
		t.detection()
	} else {
		t.episode()
	}
	_, err = io.WriteString(w, t.out.String())
	return err
}

// A traceWriter writes a trial down as the lake changes.
type traceWriter struct {
	*Trace
	color        bool
	agent, route string // what stands for them in a picture
	out          strings.Builder
	original     lake.Grid
	grid         lake.Grid // as it is at this point of the trial
	entries      map[record.Pos]*record.MemoryEntry
}

func (t *traceWriter) say(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

func (t *traceWriter) heading() {
	s := &t.Trial.Spec
	t.say("Trial %s: %s\n%s, seed %d", s.Key, clean(s.Model), s.Regime, s.Seed)
	if s.Task == record.Navigate {
		t.say(", navigation from %s, %s, episode %d", s.Modality, record.Strategies.Label(s.Strategy), s.Episode)
	} else {
		t.say(", detection from %s by %s", s.Modality, record.Strategies.Label(s.Strategy))
	}
	if s.Framing != "neutral" {
		t.say(", framing %s", s.Framing)
	}
	t.say("\n\n")
}

// picture draws the lake with the agent and the route behind it.
func (t *traceWriter) picture(title string, agent lake.Pos, route []lake.Pos) {
	t.say("%s\n", title)
	if t.color {
		t.say("%s", observe.ANSI(&observe.State{Grid: t.grid, Agent: agent}, route))
		return
	}
	for r, row := range t.grid.Rows() {
		t.say("  ")
		for c := range row {
			mark := " "
			switch p := (lake.Pos{Row: r, Col: c}); {
			case p == agent:
				mark = t.agent
			case slices.Contains(route, p):
				mark = t.route
			}
			t.say("%s%c ", mark, row[c])
		}
		t.say("\n")
	}
}

func (t *traceWriter) episode() {
	place := t.grid.Start()
	t.picture("The lake as the agent finds it ("+t.agent+" agent):", place, nil)
	if lies := t.lies(); len(lies) > 0 && t.Trial.Strategy != record.Strategies[0].Name {
		t.say("\nOf its memory, this no longer holds:\n")
		for _, e := range lies {
			t.say("  [%s] %s\n", e.ID, e.Text)
		}
	}
	t.say("\n")
	route := []lake.Pos{place}
	for i := range t.Trial.Steps {
		s := &t.Trial.Steps[i]
		t.changes(s)
		for k := range t.Trial.Windows {
			if w := &t.Trial.Windows[k]; w.Step == s.T-1 {
				t.audit(w, "      ")
			}
		}
		t.step(s)
		place = at(s.Next)
		route = append(route, place)
	}
	t.say("\n")
	t.picture("The end ("+t.agent+" agent, "+t.route+" its route):", place, route)
	t.say("\n%s\n", t.end())
	if n := t.Trial.Fallbacks(); n > 0 {
		t.say("The fallback chose %s of these.\n", counted(n, "step"))
	}
}

// lies lists the entries that the lake, as it is now, makes false.
func (t *traceWriter) lies() []*record.MemoryEntry {
	var out []*record.MemoryEntry
	for i := range t.Instance.Memory {
		e := &t.Instance.Memory[i]
		if t.stale(e.Pos) {
			out = append(out, e)
		}
	}
	return out
}

// stale reports whether the lake, as it is now, makes a cell's entry false.
func (t *traceWriter) stale(p record.Pos) bool {
	return t.grid.IsHole(at(p)) != t.original.IsHole(at(p))
}

func at(p record.Pos) lake.Pos { return lake.Pos{Row: p[0], Col: p[1]} }

func (t *traceWriter) changes(s *record.Step) {
	t.apply(s.Event)
	for _, f := range s.Event {
		t.say("      the lake changes: %v becomes %s\n", at(f.Pos), thing(f.To))
	}
	for _, f := range s.Dropped {
		t.say("      a change is dropped: %v would have become %s and done harm at once\n", at(f.Pos), thing(f.To))
	}
}

// apply changes the lake.
func (t *traceWriter) apply(flips []record.Flip) {
	for _, f := range flips {
		t.grid.SetHole(at(f.Pos), f.To == lake.Hole.String())
	}
}

func thing(cell string) string {
	if cell == lake.Hole.String() {
		return "a hole"
	}
	return "frozen"
}

// audit writes what an audit found, missed and flagged wrongly, entry by entry.
func (t *traceWriter) audit(w *record.Window, indent string) {
	var c record.Counts
	var entries strings.Builder
	for i := range w.Judgments {
		j := &w.Judgments[i]
		c.Add(j.Truth, j.Verdict)
		words := ""
		switch {
		case j.Verdict == record.Unanswered:
			words = "no answer"
		case j.Truth && j.Verdict == record.Valid:
			words = "missed"
		case !j.Truth && j.Verdict == record.Stale:
			words = "flagged wrongly"
		case j.Verdict == record.Stale:
			words = "found"
		default:
			continue
		}
		fmt.Fprintf(&entries, "%s  %-15s [%s] %s", indent, words, j.MemoryID, t.entries[j.Pos].Text)
		if j.Reason != "" {
			fmt.Fprintf(&entries, " — %q", j.Reason)
		}
		entries.WriteByte('\n')
	}
	t.say("%saudit %d: %d of %d entries flagged; of %d stale ones %d found, %d missed; %d valid ones flagged",
		indent, w.Index, c.TP+c.FP, c.Judged(), c.TP+c.FN, c.TP, c.FN, c.FP)
	if c.Unanswered > 0 {
		t.say("; %d without an answer", c.Unanswered)
	}
	t.say("\n%s", entries.String())
}

func (t *traceWriter) step(s *record.Step) {
	t.say("%4d  %v %-5s → %v %s", s.T, at(s.Pos), s.Action, at(s.Next), s.Cell)
	if s.Pos == s.Next {
		t.say(" (against the edge)")
	}
	if s.Fallback {
		t.say("   fallback: the reply gave no action (%s)", s.Reply)
	}
	if memory := t.memoryOf(s); memory != "" {
		t.say("   %s", memory)
	}
	t.say("\n")
}

// memoryOf says what the agent's memory holds of the cell that a step enters,
// and whether that is true; "" when it has none.
func (t *traceWriter) memoryOf(s *record.Step) string {
	e := t.entries[s.Next]
	if e == nil || s.Memory == record.MemoryNone {
		return ""
	}
	truth := "which is true"
	if t.stale(s.Next) {
		truth = "which is stale"
	}
	if slices.Contains(s.Removed, e.ID) {
		who := "the audit had removed"
		if len(t.Trial.Windows) == 0 {
			who = "its memory system had dropped"
		}
		return who + " its entry, " + e.Claim + ", " + truth
	}
	return "its memory says " + e.Claim + ", " + truth
}

// end says how the trial ended.
func (t *traceWriter) end() string {
	switch t.Trial.Outcome {
	case record.Done:
		c, f1 := t.Trial.Counts, "undefined"
		if v := c.F1(); v != nil {
			f1 = decimal(*v, 3)
		}
		return fmt.Sprintf("Over all audits: %d found, %d missed, %d flagged wrongly, %d rightly left, %d without an answer; F1 %s.",
			c.TP, c.FN, c.FP, c.TN, c.Unanswered, f1)
	case record.Success:
		return fmt.Sprintf("Success: it reached the goal after %s.", counted(len(t.Trial.Steps), "step"))
	case record.Death:
		d := t.Trial.Death
		cause, _ := record.Causes.Find(d.Cause)
		return fmt.Sprintf("Death after %s: it fell into the hole at %v. Cause %s: %s.", counted(len(t.Trial.Steps), "step"), at(d.Pos), d.Cause, cause.About)
	case record.Timeout:
		return fmt.Sprintf("Timeout: %s, and neither goal nor hole.", counted(len(t.Trial.Steps), "step"))
	}
	return "The trial failed: " + t.Trial.Error
}

func (t *traceWriter) detection() {
	next := 0
	for i := range t.Trial.Windows {
		w := &t.Trial.Windows[i]
		for ; next < len(t.Instance.Events) && t.Instance.Events[next].Step <= w.Step; next++ {
			t.apply(t.Instance.Events[next].Flips)
		}
		title := "The lake:"
		if len(t.Instance.Events) > 0 {
			title = fmt.Sprintf("The lake after the change at move %d:", w.Step)
		}
		t.picture(title, t.grid.Start(), nil)
		t.say("\n")
		t.audit(w, "")
		t.say("\n")
	}
	t.say("%s\n", t.end())
}
