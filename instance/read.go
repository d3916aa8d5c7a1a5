package instance

import (
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// Read returns the instance that a record describes, whoever drew it. It wants
// the rules of section 3 that every task rests on: start and goal at their
// corners and never changed, a route between them at every moment, changes that
// change something, and rows_after as the changes leave the lake. It does not
// want what only a regime's draw promises, such as how many cells change.
func Read(rec *record.Instance) (*Instance, error) {
	regime, err := ParseRegime(rec.Regime)
	if err != nil {
		return nil, fmt.Errorf("instance of seed %d: %w", rec.Seed, err)
	}
	in := &Instance{Seed: rec.Seed, Regime: regime}
	fail := func(format string, args ...any) (*Instance, error) {
		return nil, fmt.Errorf("instance of seed %d, %s: %s", rec.Seed, regime, fmt.Sprintf(format, args...))
	}
	if rec.Seed < 0 {
		return fail("a seed is not negative")
	}
	if in.Original, err = lake.Parse(rec.Rows); err != nil {
		return fail("rows: %v", err)
	}
	after, err := lake.Parse(rec.RowsAfter)
	if err != nil {
		return fail("rows_after: %v", err)
	}
	if after.NumRows() != in.Original.NumRows() || after.NumCols() != in.Original.NumCols() {
		return fail("rows_after has another size than rows")
	}
	if !in.Original.Solvable() {
		return fail("rows: the goal cannot be reached")
	}
	if regime != L3 {
		if len(rec.Events) > 0 {
			return fail("it has events; only L3 has")
		}
		if !after.Solvable() {
			return fail("rows_after: the goal cannot be reached")
		}
		in.Changes = difference(&in.Original, &after)
		return in, nil
	}
	g, last := in.Original, 0
	for i, e := range rec.Events {
		if e.Step <= last || e.Step >= g.StepBudget() {
			return fail("event %d is after move %d; events come in ascending order, after moves 1 to %d", i+1, e.Step, g.StepBudget()-1)
		}
		if len(e.Flips) == 0 {
			return fail("event %d changes nothing", i+1)
		}
		last = e.Step
		event := Event{Step: e.Step}
		for _, f := range e.Flips {
			p := lake.Pos{Row: f.Pos[0], Col: f.Pos[1]}
			flip := Flip{Pos: p, Hole: f.To == lake.Hole.String()}
			switch {
			case f.To != lake.Hole.String() && f.To != lake.Frozen.String():
				return fail("event %d makes a cell %q; there are F and H", i+1, f.To)
			case !g.Contains(p) || p == g.Start() || p == g.Goal():
				return fail("event %d changes %v, which is start, goal or off the lake", i+1, p)
			case g.IsHole(p) == flip.Hole:
				return fail("event %d makes %v %s, which it is already", i+1, p, f.To)
			}
			flip.Apply(&g)
			event.Flips = append(event.Flips, flip)
		}
		if !g.Solvable() {
			return fail("event %d: the goal cannot be reached after it", i+1)
		}
		in.Events = append(in.Events, event)
	}
	switch {
	case len(in.Events) == 0:
		return fail("it has no event, and so no window for a detection")
	case g != after:
		return fail("rows_after is not what its events make of rows")
	}
	return in, nil
}

// difference returns the flips that make one lake of another, row by row.
func difference(before, after *lake.Grid) []Flip {
	var flips []Flip
	for row := range before.NumRows() {
		for col := range before.NumCols() {
			p := lake.Pos{Row: row, Col: col}
			if hole := after.IsHole(p); hole != before.IsHole(p) {
				flips = append(flips, Flip{p, hole})
			}
		}
	}
	return flips
}
