package lake

import "fmt"

// An Action is one of the four deterministic moves. Gymnasium numbers them
// LEFT=0 DOWN=1 RIGHT=2 UP=3; this project writes and reads names only.
type Action uint8

// The four actions, in the order the paper lists them.
const (
	Up Action = iota
	Down
	Left
	Right
)

// Actions lists the four actions in the order the paper gives them.
var Actions = [4]Action{Up, Down, Left, Right}

var actionNames = [4]string{"UP", "DOWN", "LEFT", "RIGHT"}

// String returns "UP", "DOWN", "LEFT" or "RIGHT".
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// ParseAction returns the action with exactly that upper-case name.
func ParseAction(name string) (Action, bool) {
	for i, n := range actionNames {
		if n == name {
			return Action(i), true
		}
	}
	return 0, false
}

// Toward returns the cell next to p in the direction of a, on the grid or not.
func (p Pos) Toward(a Action) Pos {
	switch a {
	case Up:
		p.Row--
	case Down:
		p.Row++
	case Left:
		p.Col--
	case Right:
		p.Col++
	}
	return p
}

// Move returns where action a leads from p: the neighbouring cell, or p itself
// when that lies off the grid (the move is spent all the same, as in
// Gymnasium).
func (g *Grid) Move(p Pos, a Action) Pos {
	if q := p.Toward(a); g.Contains(q) {
		return q
	}
	return p
}

// An Outcome is how a walk stands after a move.
type Outcome uint8

// The outcomes of the paper's section 3.1, with the rewards of its section 5.1.
// Ongoing and Timeout both carry reward 0; the caller counts the steps, so Move and Judge never say Timeout.
const (
	Ongoing Outcome = iota
	Success
	Death
	Timeout
)

var outcomeNames = [4]string{"ongoing", "success", "death", "timeout"}

// String returns "ongoing", "success", "death" or "timeout".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Reward returns +1 for Success, -1 for Death and 0 otherwise.
func (o Outcome) Reward() int {
	switch o {
	case Success:
		return 1
	case Death:
		return -1
	}
	return 0
}

// Judge returns Success at the goal, Death at a hole and Ongoing elsewhere.
func (g *Grid) Judge(p Pos) Outcome {
	switch {
	case g.IsHole(p):
		return Death
	case p == g.Goal():
		return Success
	}
	return Ongoing
}

// StepBudget returns the number of moves an episode may take:
// ceil(50*(rows+cols-2)/14), which is the paper's 50 on the 8x8 grid (section 5.1). Random
// walks of the memory are capped at the same number.
func (g *Grid) StepBudget() int { return (50*(g.rows+g.cols-2) + 13) / 14 }
