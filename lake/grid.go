// Package lake is the frozen lake of the benchmark: a rectangular grid of
// cells with the start at one corner, the goal at the opposite one and holes
// in between; the four actions; and the route checks that tell whether the
// goal can still be reached (paper, section 3.1).
//
// It is the first stage of the data flow and knows nothing of the others: no
// randomness, no memory of earlier states, no rendering. A Grid is a plain
// comparable value, so a copy is a snapshot and a Grid can key a map.
package lake

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// MinSide and MaxSide bound both sides of a Grid, in cells.
const (
	MinSide = 4
	MaxSide = 64
)

// A Cell is the type of one cell, written as in the paper.
type Cell byte

// The four cell types. Only a Hole is hazardous.
const (
	Start  Cell = 'S'
	Frozen Cell = 'F'
	Hole   Cell = 'H'
	Goal   Cell = 'G'
)

// String returns the one-letter name, "S", "F", "H" or "G".
func (c Cell) String() string { return string(rune(c)) }

// Hazard is h of the paper's section 3.3: true for a Hole, false for every
// other type.
func (c Cell) Hazard() bool { return c == Hole }

// A Pos is a cell's position; row 0 is the top row, column 0 the left column.
type Pos struct{ Row, Col int }

// String returns "(row,col)", as prompts write positions.
func (p Pos) String() string { return fmt.Sprintf("(%d,%d)", p.Row, p.Col) }

// Manhattan returns the number of moves between p and q on an empty grid.
func (p Pos) Manhattan(q Pos) int { return abs(p.Row-q.Row) + abs(p.Col-q.Col) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// A Grid is one state of a lake. Start is at (0,0) and Goal at the opposite
// corner by construction; every other cell is Frozen or a Hole. Grids compare
// with ==. The zero Grid has no cells; make one with New or Parse.
type Grid struct {
	rows, cols int
	holes      [MaxSide]uint64 // bit c of holes[r] is set when (r,c) is a hole
}

// ErrSize is wrapped by the errors for a grid whose sides are not within
// MinSide..MaxSide.
var ErrSize = errors.New("grid size out of range")

// New returns a grid without holes. Its error wraps ErrSize when a side is
// outside MinSide..MaxSide.
func New(rows, cols int) (g Grid, err error) {
	err = g.Reset(rows, cols)
	return g, err
}

// Reset makes g a grid without holes of the given size, as New does, in the
// place where it is: a Grid is half a kilobyte, and generation makes millions.
// After an error g is unchanged.
func (g *Grid) Reset(rows, cols int) error {
	if err := CheckSize(rows, cols); err != nil {
		return err
	}
	g.rows, g.cols = rows, cols
	clear(g.holes[:])
	return nil
}

// CheckSize returns nil when both sides are within MinSide..MaxSide and an
// error that wraps ErrSize otherwise.
func CheckSize(rows, cols int) error {
	if rows < MinSide || rows > MaxSide || cols < MinSide || cols > MaxSide {
		return fmt.Errorf("%w: %d rows by %d columns; each side must be %d to %d cells", ErrSize, rows, cols, MinSide, MaxSide)
	}
	return nil
}

// Parse reads a grid from its rows, one letter a cell, as Rows writes them
// (Gymnasium's desc). It refuses ragged rows, unknown letters, and a start or
// goal anywhere but in its corner.
func Parse(rows []string) (Grid, error) {
	if len(rows) == 0 {
		return Grid{}, fmt.Errorf("%w: no rows", ErrSize)
	}
	g, err := New(len(rows), len(rows[0]))
	if err != nil {
		return Grid{}, err
	}
	for r, line := range rows {
		if len(line) != g.cols {
			return Grid{}, fmt.Errorf("row %d has %d cells, row 0 has %d", r, len(line), g.cols)
		}
		for c := range line {
			p := Pos{r, c}
			switch cell := Cell(line[c]); {
			case p == g.Start() || p == g.Goal():
				if want := g.At(p); cell != want {
					return Grid{}, fmt.Errorf("cell %v is %q, want %v in that corner", p, line[c], want)
				}
			case cell == Hole:
				g.SetHole(p, true)
			case cell != Frozen:
				return Grid{}, fmt.Errorf("cell %v is %q, want F or H", p, line[c])
			}
		}
	}
	return g, nil
}

// NumRows returns the number of rows, 0 for the zero Grid.
func (g *Grid) NumRows() int { return g.rows }

// NumCols returns the number of columns, 0 for the zero Grid.
func (g *Grid) NumCols() int { return g.cols }

// NumCells returns the number of cells, N in the paper.
func (g *Grid) NumCells() int { return g.rows * g.cols }

// Start returns the position of the start, (0,0).
func (g *Grid) Start() Pos { return Pos{} }

// Goal returns the position of the goal, the corner opposite the start.
func (g *Grid) Goal() Pos { return Pos{g.rows - 1, g.cols - 1} }

// Contains reports whether p lies on the grid.
func (g *Grid) Contains(p Pos) bool {
	return uint(p.Row) < uint(g.rows) && uint(p.Col) < uint(g.cols)
}

// At returns the type of the cell at p, which must lie on the grid.
func (g *Grid) At(p Pos) Cell {
	switch {
	case g.holes[p.Row]>>uint(p.Col)&1 != 0:
		return Hole
	case p.Row == 0 && p.Col == 0:
		return Start
	case p.Row == g.rows-1 && p.Col == g.cols-1:
		return Goal
	}
	return Frozen
}

// IsHole reports whether the cell at p, which must lie on the grid, is a hole.
func (g *Grid) IsHole(p Pos) bool { return g.holes[p.Row]>>uint(p.Col)&1 != 0 }

// SetHole makes the cell at p a hole or frozen. It does nothing at the start,
// at the goal and off the grid, so that no sequence of changes can move them.
func (g *Grid) SetHole(p Pos, hole bool) {
	if !g.Contains(p) || p == g.Start() || p == g.Goal() {
		return
	}
	if hole {
		g.holes[p.Row] |= 1 << uint(p.Col)
	} else {
		g.holes[p.Row] &^= 1 << uint(p.Col)
	}
}

// SetHoles replaces a row's holes: bit c of mask stands for column c. Bits off
// the grid and those of the start and the goal are ignored. It is the fast
// path of generation.
func (g *Grid) SetHoles(row int, mask uint64) {
	mask &= g.rowMask()
	if row == 0 {
		mask &^= 1
	}
	if row == g.rows-1 {
		mask &^= 1 << uint(g.cols-1)
	}
	g.holes[row] = mask
}

// rowMask has a bit set for each column.
func (g *Grid) rowMask() uint64 { return ^uint64(0) >> uint(64-g.cols) }

// NumHoles returns the number of holes.
func (g *Grid) NumHoles() int {
	n := 0
	for r := range g.rows {
		n += bits.OnesCount64(g.holes[r])
	}
	return n
}

// Rows returns the grid as one string a row, one letter a cell (Gymnasium's
// desc). Parse reads it back.
func (g *Grid) Rows() []string {
	rows := make([]string, g.rows)
	line := make([]byte, g.cols)
	for r := range rows {
		for c := range line {
			line[c] = byte(g.At(Pos{r, c}))
		}
		rows[r] = string(line)
	}
	return rows
}

// String returns the rows joined by newlines.
func (g *Grid) String() string { return strings.Join(g.Rows(), "\n") }
