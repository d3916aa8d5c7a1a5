package observe_test

import (
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"pgregory.net/rapid"
)

// The paper's colours and ours, written out once more: a theme that drifts
// must fail here.
var typeColors = map[byte]string{'S': "#2E8B57", 'F': "#A8C8E8", 'H': "#202020", 'G': "#DAA520", '?': "#808080"}

const lineColor, agentColor = "#FFFFFF", "#E00000"

// Every pixel of a large-celled picture is what the specification says: a line
// between cells, the triangle, the cell's own colour, or ink where a label or a
// question mark may be.
func TestEveryPixel(t *testing.T) {
	for _, name := range []string{"8x8-start", "8x8-frozen", "8x8-hole", "8x8-goal", "8x8-radius2", "5x9", "32x12"} {
		s := goldenStates(t)[name]
		img := observe.Render(&s, nil)
		const size = 48
		rows, cols := s.Grid.NumRows(), s.Grid.NumCols()
		if b := img.Bounds(); b.Dx() != cols*size || b.Dy() != rows*size || b.Min.X != 0 || b.Min.Y != 0 {
			t.Fatalf("%s: picture of %v, want %d by %d pixels", name, b, cols*size, rows*size)
		}
		counts := map[lake.Pos]map[string]int{}
		palette := make([]string, len(img.Palette))
		for i, c := range img.Palette {
			palette[i] = hexOf(c)
		}
		for y := range rows * size {
			for x := range cols * size {
				p := lake.Pos{Row: y / size, Col: x / size}
				dx, dy := x%size, y%size
				letter := byte('?')
				if s.Sees(p) {
					letter = byte(s.Grid.At(p))
				}
				ink := "#000000"
				if letter == 'H' {
					ink = "#FFFFFF"
				}
				got := palette[img.ColorIndexAt(x, y)]
				var allowed []string
				switch {
				case dx == 0 && x > 0 || dy == 0 && y > 0:
					allowed = []string{lineColor}
				case dy < 15 && dx < 40: // the label
					allowed = []string{typeColors[letter], ink}
				case letter == '?' && dy >= 15 && dy < 42 && dx >= 15 && dx < 33: // the question mark
					allowed = []string{typeColors[letter], ink}
				case p == s.Agent && dy >= 15 && dy < 42:
					allowed = []string{typeColors[letter], agentColor}
				default:
					allowed = []string{typeColors[letter]}
				}
				if !slices.Contains(allowed, got) {
					t.Fatalf("%s: cell %v, pixel %d,%d in it is %s, want %v", name, p, dx, dy, got, allowed)
				}
				if counts[p] == nil {
					counts[p] = map[string]int{}
				}
				counts[p][got]++
			}
		}
		for p, n := range counts {
			letter := byte('?')
			if s.Sees(p) {
				letter = byte(s.Grid.At(p))
			}
			own, agent := n[typeColors[letter]], n[agentColor]
			if own < size*size/2 {
				t.Errorf("%s: cell %v has %d pixels of its own colour, fewer than half", name, p, own)
			}
			if p == s.Agent && (agent < size*size/10) || p != s.Agent && agent > 0 {
				t.Errorf("%s: cell %v has %d pixels of the agent's colour; the agent is at %v", name, p, agent, s.Agent)
			}
			if inked := size*size - own - agent; inked < 30 {
				t.Errorf("%s: cell %v has %d pixels of lines and ink: no label", name, p, inked)
			}
		}
	}
}

// The triangle is the mirror image of itself about the middle of its cell, and
// grows from one pixel to its base.
func TestTriangleIsSymmetric(t *testing.T) {
	for _, name := range []string{"8x8-frozen", "33x40"} {
		s := goldenStates(t)[name]
		img := observe.Render(&s, nil)
		size := observe.CellSize(s.Grid.NumRows(), s.Grid.NumCols())
		last := 0
		for dy := range size {
			width := 0
			for off := range size / 2 {
				y, middle := s.Agent.Row*size+dy, s.Agent.Col*size+size/2
				left, right := hexOf(img.At(middle-off, y)) == agentColor, hexOf(img.At(middle+off, y)) == agentColor
				if left != right {
					t.Fatalf("%s: row %d of the cell: %d pixels from the middle, red on the left %t, on the right %t", name, dy, off, left, right)
				}
				if left {
					width = 2*off + 1
				}
			}
			if width != 0 && width < last || width > last+2 {
				t.Fatalf("%s: row %d of the cell: %d red pixels under %d", name, dy, width, last)
			}
			last = max(last, width)
		}
		if 2*last <= size || 3*last > 2*size {
			t.Errorf("%s: the triangle's base is %d pixels in a cell of %d, want a half to two thirds", name, last, size)
		}
	}
}

func TestCellSize(t *testing.T) {
	for _, tt := range []struct{ rows, cols, want int }{
		{4, 4, 48}, {8, 8, 48}, {32, 32, 48}, {33, 4, 24}, {4, 33, 24}, {64, 64, 24},
	} {
		if got := observe.CellSize(tt.rows, tt.cols); got != tt.want {
			t.Errorf("%d by %d: %d pixels a cell, want %d", tt.rows, tt.cols, got, tt.want)
		}
	}
}

// An agent that decodes the picture gets the lake that was drawn, at any size.
func TestDecodeReadsWhatRenderDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{9, 20, lake.MaxSide}).Draw(t, "longest side")
		s := drawState(t, most)
		img := observe.Render(&s, nil)
		size := observe.CellSize(s.Grid.NumRows(), s.Grid.NumCols())
		if b := img.Bounds(); b.Dx() != size*s.Grid.NumCols() || b.Dy() != size*s.Grid.NumRows() {
			t.Fatalf("picture of %v for %d by %d cells", b, s.Grid.NumRows(), s.Grid.NumCols())
		}
		data, err := observe.EncodePNG(img)
		if err != nil {
			t.Fatal(err)
		}
		got, err := observe.DecodePNG(data)
		if err != nil {
			t.Fatalf("%v, reading %d by %d with the agent at %v, radius %d", err, s.Grid.NumRows(), s.Grid.NumCols(), s.Agent, s.Radius)
		}
		if want := s.Scene(); got != want {
			t.Fatalf("read back\n%s\nagent %v; want\n%s\nagent %v", plainListing(&got), got.Agent, plainListing(&want), want.Agent)
		}
	})
}

func TestThemes(t *testing.T) {
	s := observe.State{Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}, Radius: 4}
	colors := observe.PaperColors()
	colors.Frozen, colors.Hole, colors.Line = colors.Hole, colors.Frozen, colors.DarkInk
	theme, err := observe.NewTheme(colors)
	if err != nil {
		t.Fatal(err)
	}
	data, err := observe.EncodePNG(observe.Render(&s, theme))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := theme.Decode(data); err != nil || got != s.Scene() {
		t.Errorf("the theme reads its own picture as %v, %v", got, err)
	}
	if _, err := new(observe.Theme).Decode(data); err == nil {
		t.Error("the paper's theme reads another theme's picture")
	}

	for want, spoil := range map[string]func(*observe.Colors){
		"frozen cells and holes have the same colour": func(c *observe.Colors) { c.Hole = c.Frozen },
		"lines and the agent have the same colour":    func(c *observe.Colors) { c.Agent = c.Line },
		"the goal, {218 165 32 128}, is not opaque":   func(c *observe.Colors) { c.Goal.A = 0x80 },
		"dark labels, {0 0 0 0}, is not opaque":       func(c *observe.Colors) { c.DarkInk = color.RGBA{} },
	} {
		colors := observe.PaperColors()
		spoil(&colors)
		if _, err := observe.NewTheme(colors); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
