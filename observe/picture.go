package observe

import (
	"image"

	"github.com/spatialstale/spatialstale/lake"
)

// The side of a cell in pixels: large when both sides of the grid are at most
// largeCells cells, small otherwise.
const (
	largeCell  = 48
	smallCell  = 24
	largeCells = 32
)

// CellSize returns the side in pixels of a cell in the picture of a lake: 48
// up to 32 cells a side, which is the paper's 384×384 on the 8×8 grid (section
// 3.5), 24 beyond. The picture is exactly that many pixels a
// row and a column.
func CellSize(rows, cols int) int {
	if rows <= largeCells && cols <= largeCells {
		return largeCell
	}
	return smallCell
}

// Render draws the state: a square for each cell in the colour of its type,
// 1-pixel lines between cells but none around them, a triangle over the
// agent's cell that leaves its colour and label to be seen, and each cell's
// "row,column" at its top left. Labels are left out of the whole picture where
// the longest would not fit its cell. A cell outside the view has a colour of
// its own and a question mark.
//
// A nil theme is the paper's. Every pixel is set by whole-number arithmetic,
// without smoothing. The palette is shared and must not be changed.
func Render(s *State, theme *Theme) *image.Paletted {
	t := theme.orPaper()
	scene := s.Scene()
	rows, cols := s.Grid.NumRows(), s.Grid.NumCols()
	size := CellSize(rows, cols)
	d := drawing{pix: make([]uint8, rows*size*cols*size), stride: cols * size, size: size}
	labels := labelsFit(rows, cols, size)
	inks := make([]uint8, cols)
	for r := range rows {
		for c := range inks {
			inks[c] = scene.ink(lake.Pos{Row: r, Col: c})
		}
		d.fillRow(r, inks)
		for c, ink := range inks {
			if labels {
				d.label(r, c, t.ink[ink])
			}
			if ink == inkUnseen {
				d.question(r, c, t.ink[ink])
			}
		}
	}
	if s.Grid.Contains(s.Agent) {
		d.triangle(s.Agent)
	}
	return &image.Paletted{
		Pix:     d.pix,
		Stride:  d.stride,
		Rect:    image.Rect(0, 0, d.stride, rows*size),
		Palette: t.palette,
	}
}

// ink returns the palette index that a cell is filled with.
func (s *Scene) ink(p lake.Pos) uint8 {
	if !s.Sees(p) {
		return inkUnseen
	}
	switch s.Grid.At(p) {
	case lake.Start:
		return inkStart
	case lake.Goal:
		return inkGoal
	case lake.Hole:
		return inkHole
	}
	return inkFrozen
}

// A drawing is a picture in the making: palette indices, row by row.
type drawing struct {
	pix    []uint8
	stride int
	size   int // of a cell
}

// fillRow colours a row of cells and leaves the lines above and between them.
func (d *drawing) fillRow(r int, inks []uint8) {
	top, bottom := r*d.size, (r+1)*d.size
	if r > 0 {
		top++ // the line
	}
	first := d.pix[top*d.stride : (top+1)*d.stride]
	for c, ink := range inks {
		cell := first[c*d.size : (c+1)*d.size]
		if c > 0 {
			cell = cell[1:]
		}
		for x := range cell {
			cell[x] = ink
		}
	}
	for y := top + 1; y < bottom; y++ {
		copy(d.pix[y*d.stride:], first)
	}
}

// triangle marks the agent's cell: upright, twice as steep as a diagonal so
// that its unsmoothed edges are regular, and below the label in a large cell.
func (d *drawing) triangle(at lake.Pos) {
	top, height := triangleSpan(d.size)
	middle := at.Col*d.size + d.size/2
	for i := range height {
		half := (i + 1) / 2
		row := d.pix[(at.Row*d.size+top+i)*d.stride:]
		for x := middle - half; x <= middle+half; x++ {
			row[x] = inkAgent
		}
	}
}

// triangleSpan returns the first pixel row of the triangle within a cell and
// its height, an odd number that is also the width of its base.
func triangleSpan(size int) (top, height int) {
	if size == largeCell {
		return 15, 27
	}
	return 6, 13
}
