package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// behaviour counts how an episode moved, whoever chose the moves.
type behaviour struct {
	actions [4]int32 // steps, by lake.Action
	off     int32    // steps off the grid: the agent stayed where it was
	again   int32    // steps to a cell where the agent had been, or that stayed
	longest int32    // steps in a row with the same action
	loops   bool     // it ends in a loop
}

// A loop is loopSteps last steps, or more, that repeat the same moves from the
// same cells after at most loopPeriod of them: two full rounds of the longest.
const loopSteps, loopPeriod = 8, 4

// behave counts an episode's moves.
func behave(steps []record.Step) (b behaviour) {
	var been cellSet
	inRow := int32(0)
	for i := range steps {
		s := &steps[i]
		been.add(s.Pos)
		if a, ok := lake.ParseAction(s.Action); ok {
			b.actions[a]++
		}
		b.off += int32(index(s.Next == s.Pos))
		b.again += int32(index(been.has(s.Next)))
		if i > 0 && steps[i-1].Action != s.Action {
			inRow = 0
		}
		inRow++
		b.longest = max(b.longest, inRow)
	}
	if len(steps) >= loopSteps {
		last := steps[len(steps)-loopSteps:]
		for period := 1; period <= loopPeriod; period++ {
			b.loops = b.loops || repeats(last, period)
		}
	}
	return b
}

func repeats(steps []record.Step, period int) bool {
	for i := period; i < len(steps); i++ {
		if a, b := &steps[i], &steps[i-period]; a.Pos != b.Pos || a.Action != b.Action {
			return false
		}
	}
	return true
}

// ofSteps is a share of the steps of episodes.
func ofSteps(key, words string, of func(*behaviour) int32) *measure {
	return &measure{key: key, words: words, unit: "share of steps", high: 1,
		of: func(r *Row) (int, int) { return int(of(&r.behaviour)), int(r.steps) }}
}

// Measures of behaviour.
var (
	actionShares = func() (out []*measure) {
		for _, a := range lake.Actions {
			out = append(out, ofSteps("action_"+strings.ToLower(a.String()), a.String(), func(b *behaviour) int32 { return b.actions[a] }))
		}
		return out
	}()
	offGrid   = ofSteps("off_grid", "off the grid", func(b *behaviour) int32 { return b.off })
	seenAgain = ofSteps("seen_again", "seen again", func(b *behaviour) int32 { return b.again })
	looped    = &measure{key: "looped", words: "ends in a loop", unit: "share of finished episodes", high: 1, rate: true, lower: true,
		of: func(r *Row) (int, int) { return index(r.behaviour.loops), 1 }}
)

// behaviourTable tells how agents walked, whatever came of it.
func (f *Frame) behaviourTable() Table {
	return f.table(&spec{
		Table: Table{ID: "behaviour", Title: "How it walked", Topic: TopicNavigation, Need: needWalks,
			About: "What agents did, whatever came of it. Shares of steps: each action; moves off the grid, which stay where they are; steps to a cell where the agent had been, or that stay. ends in a loop: episodes whose last 8 steps or more repeat the same moves from the same cells, with a period of at most 4."},
		task: record.Navigate, by: episodeDims, dash: "no step was made",
		columns: func(*Frame, []*Group) []column {
			cols := episodesColumns()
			for _, m := range actionShares {
				cols = append(cols, shareOf(m).under("action").brief())
			}
			return append(cols, shareOf(offGrid).brief(), shareOf(seenAgain).brief(), shareOf(looped),
				column{Column{Key: "longest_run", Heading: "longest run of one action", Unit: "steps", Kind: Count, Priority: 1}, func(g *Group) Cell {
					c := Cell{}
					g.any(func(r *Row) bool { c.Count = max(c.Count, int(r.behaviour.longest)); return false })
					return c
				}})
		},
		notes: func(f *Frame, groups []*Group, _ *Table) []string {
			return append(f.frozenNotes(groups), "Over all steps and episodes together, steps of the fallback too. Who returns to a cell has not yet chosen wrongly: the lake may have changed. A way from S to G on an unchanged lake needs no cell twice.")
		},
	})
}

// frozenNotes say where temperature 0 meets prompts without history.
func (f *Frame) frozenNotes(groups []*Group) []string {
	var frozen []string
	for _, g := range groups {
		if !isControl(g.Model) && slices.Contains(strings.Split(g.whole, "\n"), "params.temperature=0") {
			addNew(&frozen, f.shown(g.Model))
		}
	}
	if len(frozen) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Temperature 0 meets prompts without history (%s): the same observation gets the same answer, so one bad action repeats for ever.", joined(frozen))}
}

// behaviours are how agents walked.
func (d *drawing) behaviours() {
	d.Figure = Figure{ID: "figure-behaviour", Title: "How it walked", Topic: TopicNavigation, Need: needWalks,
		About: "Shares of all steps by action, of steps off the grid and of steps to a cell where the agent had been or that stay; and the share of episodes that end in a loop. All regimes together. A bar near 1 for one action is an agent that walks one way, whatever it sees."}
	d.show(record.Navigate, func(*Setting) bool { return true })
	if len(d.groups) == 0 {
		return
	}
	rows := d.byModel()
	if len(d.by(byModality)) > 1 {
		rows = d.by(byModel, byModality, byCondition)
	}
	d.losses = []string{nextTo}
	var panels []facet
	for _, m := range slices.Concat(actionShares, []*measure{offGrid, seenAgain, looped}) {
		panels = append(panels, facet{name: m.words, axis: m.unit, measure: m})
	}
	d.chart(chart{panels: panels, series: d.by(byStrategy), rows: rows, pooled: true})
	d.Across = len(actionShares)
	d.foot("Over all episodes of " + spread("seed", d.seeds) + ", " + joined(keys(d.by(byRegime))) + " together.")
	d.Notes = d.frame.frozenNotes(d.groups)
}
