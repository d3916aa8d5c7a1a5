package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A walk is what is kept of an episode to draw its way and to set its end
// against its own audits: a quarter of a byte a step, and a few numbers.
type walk struct {
	episode int
	end     int  // index of ends
	cause   int  // of a death, as an index of causes; 0 otherwise
	onStale bool // it died on a cell whose entry was stale, as far as is known
	steps   int
	moves   []byte // four actions a byte; nil when the way cannot be drawn
	audits  auditCounts
}

// An auditCounts holds what an episode's own audits found, all of them
// together; asked is false when it made none.
type auditCounts struct {
	asked      bool
	tp, fp, fn int
	onRoute    pair // stale entries on the way flagged, of how many
}

// f1 is that of the audits, nil when nothing was stale and nothing flagged.
func (a *auditCounts) f1() *float64 {
	return record.Counts{TP: a.tp, FP: a.fp, FN: a.fn}.F1()
}

// walkOf takes what figures need of a finished episode.
func walkOf(t *record.Trial, w *world) walk {
	one := walk{episode: t.Episode, end: slices.Index(ends[:], t.Outcome), steps: len(t.Steps)}
	if t.Death != nil {
		if one.cause = slices.IndexFunc(causes, func(c cause) bool { return c.name == t.Death.Cause }); one.cause < 0 {
			one.cause = len(causes) - 1
		}
		one.onStale, _ = diedOnStale(t, w)
	}
	if len(t.Windows) > 0 {
		one.audits = auditCounts{asked: true, tp: t.Counts.TP, fp: t.Counts.FP, fn: t.Counts.FN}
	}
	one.moves = packed(t)
	return one
}

// packed packs an episode's actions. It returns nil where they do not lead
// where the record says, and where a change that was due was dropped: the lake
// under such an episode is not its instance's.
func packed(t *record.Trial) []byte {
	grid, err := lake.New(t.Rows, t.Cols)
	if err != nil || t.DroppedFlips() > 0 {
		return nil
	}
	out := make([]byte, (len(t.Steps)+3)/4)
	at := grid.Start()
	for i := range t.Steps {
		s := &t.Steps[i]
		a, ok := lake.ParseAction(s.Action)
		if !ok || position(s.Pos) != at {
			return nil
		}
		if at = grid.Move(at, a); position(s.Next) != at {
			return nil
		}
		out[i/4] |= byte(a) << (i % 4 * 2)
	}
	return out
}

// cells returns the positions of a walk on lakes of a size, from S on.
func (k *walk) cells(rows, cols int) []record.Pos {
	grid, err := lake.New(rows, cols)
	if err != nil || k.moves == nil {
		return nil
	}
	at := grid.Start()
	out := []record.Pos{{at.Row, at.Col}}
	for i := range k.steps {
		at = grid.Move(at, lake.Action(k.moves[i/4]>>(i%4*2)&3))
		out = append(out, record.Pos{at.Row, at.Col})
	}
	return out
}

// walkAt returns the walk of an episode, nil when it has none that can be
// drawn.
func (e *episodeTally) walkAt(episode int) *walk {
	i := slices.IndexFunc(e.walks, func(k walk) bool { return k.episode == episode })
	if i < 0 || e.walks[i].moves == nil {
		return nil
	}
	return &e.walks[i]
}

// inOrder returns the walks of a seed in the order of their episodes.
func (e *episodeTally) inOrder() []walk {
	return slices.SortedFunc(slices.Values(e.walks), func(a, b walk) int { return a.episode - b.episode })
}

// as returns the lake as it was after a number of moves, by the schedule.
func (w *world) as(moves int) lake.Grid {
	g := w.begin
	for _, e := range w.events {
		if e.Step <= moves {
			apply(&g, e.Flips)
		}
	}
	return g
}

// after returns the lake when all changes have been made.
func (w *world) after() lake.Grid {
	g := w.begin
	for _, e := range w.events {
		apply(&g, e.Flips)
	}
	return g
}

// scene is a state of the lake with the cells whose entries are false then.
func (w *world) scene(g *lake.Grid) *Scene {
	s := &Scene{Rows: g.Rows()}
	for i := range w.claims {
		if !w.falseAt(i, g) {
			continue
		}
		p := record.Pos{int(w.claims[i].row), int(w.claims[i].col)}
		if w.claims[i].danger {
			s.Freeze = append(s.Freeze, p)
		} else {
			s.Thaw = append(s.Thaw, p)
		}
	}
	return s
}
