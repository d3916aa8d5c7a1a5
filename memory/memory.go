// Package memory is the agent's memory of a lake: one claim a cell, taken from
// random walks on the original grid before anything changes (paper, section
// 3.2), and the truth about each claim in a later state (section 3.3).
//
// The type that a cell had when the claim was made is kept for scoring only;
// Line, which goes into prompts, never shows it. The package does not decide
// what a model is shown.
package memory

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
)

// A Claim is what an entry says of its cell.
type Claim string

// The two claims. Start and goal are SAFE.
const (
	Safe   Claim = "SAFE"
	Danger Claim = "DANGER"
)

// NumWalks is the number of random walks behind a memory.
const NumWalks = 20

// An Entry is the claim about one cell.
type Entry struct {
	ID      string // "mem_021": row*cols+col, zero-padded to at least 3 digits
	Pos     lake.Pos
	Claim   Claim
	Text    string    // "SAFE at (2,5): Frozen ice - safe to walk"
	Visited bool      // seen on a walk; the others were completed from the grid
	Type    lake.Cell // at the snapshot; for scoring only
}

// Line returns the entry as the paper writes it into prompts:
// "[mem_021] SAFE at (2,5): Frozen ice - safe to walk".
func (e *Entry) Line() string { return "[" + e.ID + "] " + e.Text }

// Stale is the truth about the entry in state g: its hazard then differs from
// the cell's hazard now (section 3.3).
func (e *Entry) Stale(g *lake.Grid) bool { return e.Type.Hazard() != g.IsHole(e.Pos) }

// Take returns the memory of a seed's original grid: one entry a cell, in
// row-major order. Walks start at the start cell, choose uniformly among the
// four actions, and end at a hole, at the goal or at the step budget; cells
// that no walk enters are completed from the grid.
func Take(seed int, g *lake.Grid) []Entry {
	visited := walk(instance.Stream(seed, "walks"), g)
	width := max(3, len(fmt.Sprint(g.NumCells()-1)))
	entries := make([]Entry, g.NumCells())
	for i := range entries {
		p := lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()}
		cell := g.At(p)
		claim := Safe
		if cell.Hazard() {
			claim = Danger
		}
		entries[i] = Entry{
			ID:      fmt.Sprintf("mem_%0*d", width, i),
			Pos:     p,
			Claim:   claim,
			Text:    fmt.Sprintf("%s at %v: %s", claim, p, words[cell]),
			Visited: visited[i],
			Type:    cell,
		}
	}
	return entries
}

// Marked is the entry's text with the words that it may no longer hold.
func (e *Entry) Marked() string { return e.Text + " [may no longer hold]" }

// Unknown is the text in place of an entry that nobody can rely on.
func (e *Entry) Unknown() string { return fmt.Sprintf("UNKNOWN at %v", e.Pos) }

// Opposite is the text of an entry that claims the opposite: what must hold if
// this one does not, for a cell kills or it does not.
func (e *Entry) Opposite() string {
	claim, cell := Danger, lake.Hole
	if e.Claim == Danger {
		claim, cell = Safe, lake.Frozen
	}
	return fmt.Sprintf("%s at %v: %s", claim, e.Pos, words[cell])
}

// words describe a cell's type. The paper prints those of frozen cells and
// holes; those of start and goal are ours.
var words = map[lake.Cell]string{
	lake.Frozen: "Frozen ice - safe to walk",
	lake.Hole:   "Hole - dangerous, do not step",
	lake.Start:  "Start - safe to stand on",
	lake.Goal:   "Goal - safe, the place to reach",
}

// walk makes the random walks and returns which cells they entered.
func walk(r *instance.Rand, g *lake.Grid) []bool {
	visited := make([]bool, g.NumCells())
	visited[0] = true
	for range NumWalks {
		at := g.Start()
		for range g.StepBudget() {
			at = g.Move(at, lake.Actions[r.IntN(len(lake.Actions))])
			visited[at.Row*g.NumCols()+at.Col] = true
			if g.Judge(at) != lake.Ongoing {
				break
			}
		}
	}
	return visited
}

// Lines returns the entries' lines, one a line, each with its newline.
func Lines(entries []Entry) string {
	var b strings.Builder
	for i := range entries {
		b.WriteString(entries[i].Line())
		b.WriteByte('\n')
	}
	return b.String()
}
