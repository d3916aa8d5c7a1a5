package observe

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/spatialstale/spatialstale/lake"
)

// DecodePNG reads back, from its pixels alone, a picture that Render drew in
// the paper's theme. See Theme.Decode.
func DecodePNG(data []byte) (Scene, error) { return (*Theme)(nil).Decode(data) }

// Decode reads back a picture that Render drew in this theme, from a PNG of any
// colour model and any encoder, with labels or without. It looks at a few
// pixels of each cell: two for its type, two for the triangle, two for the
// lines. It refuses a file that is no PNG or longer than 1536 pixels on a side
// (before it makes room for the pixels), a size that is no whole number of
// cells, any other colour where it looks, a start or goal out of its corner,
// and a picture without exactly one agent.
func (t *Theme) Decode(data []byte) (Scene, error) {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Scene{}, fmt.Errorf("picture: not a readable PNG: %w", err)
	}
	if config.Width > maxPixels || config.Height > maxPixels {
		return Scene{}, fmt.Errorf("picture: %d by %d pixels; a picture of a lake has at most %d a side", config.Width, config.Height, maxPixels)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return Scene{}, fmt.Errorf("picture: not a readable PNG: %w", err)
	}
	reader := newPixelReader(img, t.orPaper())
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	size := reader.cellSize(width, height)
	if width%size != 0 || height%size != 0 {
		return Scene{}, fmt.Errorf("picture: %d by %d pixels are no whole number of cells of %d", width, height, size)
	}
	return reader.scene(height/size, width/size, size)
}

// A pixelReader tells what the theme's colours stand for.
type pixelReader struct {
	img    image.Image
	pixels *image.Paletted // img, if it has a palette
	inks   [256]uint8      // by palette index
	theme  *Theme
}

// inkForeign is the ink of a colour that the theme does not have.
const inkForeign = numInks

func newPixelReader(img image.Image, theme *Theme) *pixelReader {
	r := &pixelReader{img: img, theme: theme}
	if p, ok := img.(*image.Paletted); ok {
		r.pixels = p
		for i := range r.inks {
			r.inks[i] = inkForeign
		}
		for i, c := range p.Palette {
			r.inks[i] = theme.inkOf(c)
		}
	}
	return r
}

// inkOf returns the index of a colour among those that tell something, or
// inkForeign. Labels tell nothing; their colours may equal another's.
func (t *Theme) inkOf(c color.Color) uint8 {
	r, g, b, a := c.RGBA()
	found := color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
	for ink, known := range t.palette[:inkDark] {
		if found == known {
			return uint8(ink)
		}
	}
	return inkForeign
}

func (r *pixelReader) ink(x, y int) uint8 {
	if r.pixels != nil {
		return r.inks[r.pixels.Pix[y*r.pixels.Stride+x]]
	}
	return r.theme.inkOf(r.img.At(x, y))
}

// cellSize tells small cells from large ones: the first column's right line
// runs through what would be the lower middle of a large cell, where no label
// and no triangle reaches.
func (r *pixelReader) cellSize(width, height int) int {
	const x, y = smallCell, largeCell - 2
	if x < width && y < height && r.ink(x, y) == inkLine {
		return smallCell
	}
	return largeCell
}

func (r *pixelReader) scene(rows, cols, size int) (Scene, error) {
	grid, err := lake.New(rows, cols)
	if err != nil {
		return Scene{}, fmt.Errorf("picture: cells of %d pixels: %w", size, err)
	}
	scene := Scene{Grid: grid, Goal: grid.Goal()}
	for row := range rows {
		for col := range cols {
			p := lake.Pos{Row: row, Col: col}
			ink, agent, err := r.cell(p, size)
			if err != nil {
				return Scene{}, err
			}
			if err := scene.paint(p, ink); err != nil {
				return Scene{}, err
			}
			if agent && scene.HasAgent {
				return Scene{}, fmt.Errorf("picture: there are agents at %v and at %v", scene.Agent, p)
			}
			if agent {
				scene.Agent, scene.HasAgent = p, true
			}
		}
	}
	if !scene.HasAgent {
		return Scene{}, fmt.Errorf("picture: there is no agent on its %d rows by %d columns", rows, cols)
	}
	return scene, nil
}

// cell returns what a cell is filled with, and whether the agent is on it.
func (r *pixelReader) cell(p lake.Pos, size int) (ink uint8, agent bool, err error) {
	x, y := p.Col*size, p.Row*size
	if p.Col > 0 && r.ink(x, y+size/2) != inkLine {
		return 0, false, r.foreign(p, x, y+size/2, "the line on its left")
	}
	if p.Row > 0 && r.ink(x+size/2, y) != inkLine {
		return 0, false, r.foreign(p, x+size/2, y, "the line above it")
	}
	// The lower corners, left and right of the triangle.
	const inset = 3
	bottom := y + size - inset
	ink = r.ink(x+inset, bottom)
	if ink < inkFrozen || ink > inkUnseen {
		return 0, false, r.foreign(p, x+inset, bottom, "a cell's colour")
	}
	if r.ink(x+size-inset, bottom) != ink {
		return 0, false, r.foreign(p, x+size-inset, bottom, "the same colour as on its left")
	}
	// Near both ends of the triangle's base, beside any question mark.
	top, height := triangleSpan(size)
	base := y + top + height - 2
	out := 5 * size / smallCell
	left, right := r.ink(x+size/2-out, base), r.ink(x+size/2+out, base)
	if left != inkAgent && left != ink {
		return 0, false, r.foreign(p, x+size/2-out, base, "the cell's colour or the agent's")
	}
	if right != left {
		return 0, false, r.foreign(p, x+size/2+out, base, "the same colour as on the left")
	}
	return ink, left == inkAgent, nil
}

// foreign is the error for a pixel that has not the colour it should have.
func (r *pixelReader) foreign(p lake.Pos, x, y int, want string) error {
	red, green, blue, _ := r.img.At(x, y).RGBA()
	return fmt.Errorf("picture: cell %v: pixel x=%d y=%d is #%02X%02X%02X, want %s", p, x, y, red>>8, green>>8, blue>>8, want)
}

// paint makes a cell what its colour says.
func (s *Scene) paint(p lake.Pos, ink uint8) error {
	switch ink {
	case inkUnseen:
		s.hide(p)
	case inkHole:
		s.Grid.SetHole(p, true)
	}
	if got := s.ink(p); got != ink {
		return fmt.Errorf("picture: cell %v has the colour of %s, want that of %s", p, inkNames[ink], inkNames[got])
	}
	return nil
}
