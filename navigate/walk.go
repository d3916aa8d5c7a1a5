package navigate

import (
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A Walk is an episode's lake and agent, without whoever decides. Each step is
// Change, an observation, and Move, in that order (SPEC 4). A copy of a Walk is
// another walk.
type Walk struct {
	Grid  lake.Grid // as it is now
	At    lake.Pos  // where the agent is
	Moves int       // made so far

	events []record.Event
	next   int // index of the next event
	strict bool
}

// NewWalk returns a walk that begins at the start. Events come in order of
// Step; a strict one applies every flip to the letter.
func NewWalk(begin lake.Grid, events []record.Event, strict bool) Walk {
	return Walk{Grid: begin, At: begin.Start(), events: events, strict: strict}
}

// Change applies the events that come after the moves made so far, and returns
// the flips that changed the lake and those that were dropped. A flip whose
// cell already is what it should become is neither: an earlier flip of the same
// cell was dropped. After a strict one the agent may stand in a hole.
func (w *Walk) Change() (applied, dropped []record.Flip) {
	for ; w.next < len(w.events) && w.events[w.next].Step == w.Moves; w.next++ {
		for _, f := range w.events[w.next].Flips {
			p, hole := lake.Pos{Row: f.Pos[0], Col: f.Pos[1]}, f.To == lake.Hole.String()
			switch {
			case w.Grid.IsHole(p) == hole:
			case !w.strict && w.harms(p, hole):
				dropped = append(dropped, f)
			default:
				w.Grid.SetHole(p, hole)
				applied = append(applied, f)
			}
		}
	}
	return applied, dropped
}

// harms reports whether a flip would hit the cell under the agent, or cut the
// agent or the start off from the goal: nobody dies without stepping.
func (w *Walk) harms(p lake.Pos, hole bool) bool {
	if p == w.At {
		return true
	}
	if !hole {
		return false
	}
	after := w.Grid
	after.SetHole(p, true)
	return !after.Solvable() || !after.Connected(w.At, after.Goal())
}

// Move makes a move and judges it.
func (w *Walk) Move(a lake.Action) lake.Outcome {
	w.At = w.Grid.Move(w.At, a)
	w.Moves++
	return w.Judge()
}

// Judge says how the walk stands: Death in a hole, Success at the goal, Timeout
// when the step budget is used up, Ongoing otherwise.
func (w *Walk) Judge() lake.Outcome {
	if o := w.Grid.Judge(w.At); o != lake.Ongoing {
		return o
	}
	if w.Moves >= w.Grid.StepBudget() {
		return lake.Timeout
	}
	return lake.Ongoing
}

// Repeat makes a step that was made before. It is an error when the step is not
// one of this walk.
func (w *Walk) Repeat(s *record.Step, outcome *lake.Outcome) error {
	a, known := lake.ParseAction(s.Action)
	if !known || pos(w.At) != s.Pos {
		return fmt.Errorf("step %d was %q from %v, which does not fit a walk at %v", s.T, s.Action, s.Pos, w.At)
	}
	if *outcome = w.Move(a); pos(w.At) != s.Next || *outcome != lake.Ongoing {
		return fmt.Errorf("step %d led to %v, and leads to %v here, where the episode is %v", s.T, s.Next, w.At, *outcome)
	}
	return nil
}
