package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A scene draws a lake and the routes on it.
type scene struct{ *analysis.Scene }

func (c *scene) height(width float64) float64 {
	return c.side(width) * float64(len(c.Rows))
}

// side is that of a cell.
func (c *scene) side(width float64) float64 {
	return min(width/float64(len(c.Rows[0])), 236/float64(len(c.Rows)))
}

func (c *scene) axisHeight() float64 { return 2 }

// The colours of cells, paler than those that models see, so that routes stand
// out.
var (
	iceColor   = color.NRGBA{0xDE, 0xEB, 0xF5, 255}
	holeColor  = color.NRGBA{0x38, 0x38, 0x38, 255}
	startColor = color.NRGBA{0xA9, 0xD3, 0xB8, 255}
	goalColor  = color.NRGBA{0xEE, 0xD2, 0x8A, 255}
	cellInk    = gray(25)
	white      = gray(255)
)

// fills are the colours of cells that are not ice.
var fills = []struct {
	kind byte
	fill color.Color
}{{'H', holeColor}, {'S', startColor}, {'G', goalColor}}

// cell draws one cell with its upper left corner at x, y: a letter of the lake,
// and whether its entry is stale by thaw (+1) or by freeze (-1).
func (s *sheet) cell(kind byte, stale int, x, y, side float64) {
	s.lake([]string{string(kind)}, map[record.Pos]int{{}: stale}, x, y, side)
}

// lake draws cells with the upper left corner of the first at x, y, and the
// frames of those whose entry is stale by thaw (+1) or by freeze (-1). It draws
// all that look the same at once, neighbours as one: a lake may have thousands
// of cells, and a figure several lakes.
func (s *sheet) lake(rows []string, stale map[record.Pos]int, x, y, side float64) {
	width, height := float64(len(rows[0]))*side, float64(len(rows))*side
	s.rect(iceColor, pen{}, x, y, width, height)
	for _, f := range fills {
		var path vg.Path
		for r, row := range rows {
			for from := 0; from < len(row); from++ {
				to := from
				for to < len(row) && row[to] == f.kind {
					to++
				}
				if to > from {
					s.addRect(&path, x+float64(from)*side, y+float64(r)*side, float64(to-from)*side, side)
					path.Close()
					from = to
				}
			}
		}
		if len(path) > 0 {
			s.SetColor(f.fill)
			s.Fill(path)
		}
	}
	var between [][4]float64
	for r := range len(rows) + 1 {
		at := y + float64(r)*side
		between = append(between, [4]float64{x - 0.25, at, x + width + 0.25, at})
	}
	for col := range len(rows[0]) + 1 {
		at := x + float64(col)*side
		between = append(between, [4]float64{at, y - 0.25, at, y + height + 0.25})
	}
	s.lines(pen{white, min(0.5, side*0.08), nil}, between...) // finer where cells are small, or the lake would be white
	inset := max(0.8, side*0.09)
	w := max(0.8, min(1.6, side*0.09))
	frames := map[int]*vg.Path{+1: {}, -1: {}}
	for r, row := range rows {
		for col := range len(row) {
			cellX, cellY := x+float64(col)*side, y+float64(r)*side
			if kind := row[col]; (kind == 'S' || kind == 'G') && side >= 7 {
				l := lettering{true, min(8, side*0.42)} // in the corner: routes pass through the middle
				s.write(l, cellInk, cellX+side*0.08, cellY+side*0.06+l.size*0.8, left, string(kind))
			}
			if path := frames[stale[record.Pos{r, col}]]; path != nil {
				s.addRect(path, cellX+inset, cellY+inset, side-2*inset, side-2*inset)
			}
		}
	}
	if path := frames[+1]; len(*path) > 0 {
		s.take(pen{orange, w, nil})
		s.Stroke(*path)
	}
	if path := frames[-1]; len(*path) > 0 {
		s.take(pen{blue, w, []float64{max(1, side*0.12), max(1, side*0.1)}})
		s.Stroke(*path)
	}
}

// addRect adds a rectangle to a path, a little more than once around: some
// canvases leave a notch where a path closes.
func (s *sheet) addRect(path *vg.Path, x, y, w, h float64) {
	path.Move(s.at(x, y))
	for _, corner := range [][2]float64{{x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}, {x + w, y}} {
		path.Line(s.at(corner[0], corner[1]))
	}
}

func (c *scene) draw(s *sheet, x, y, width, _ float64) {
	side := c.side(width)
	stale := make(map[record.Pos]int)
	for _, p := range c.Thaw {
		stale[p] = 1
	}
	for _, p := range c.Freeze {
		stale[p] = -1
	}
	s.lake(c.Rows, stale, x, y, side)
	for i, route := range c.Routes {
		shift := (float64(i) - float64(len(c.Routes)-1)/2) * min(4.5, side*0.24)
		c.route(s, &route, x, y, side, shift)
	}
}

// route draws an episode's way, a little aside so that two of them show where
// they run together, and a sign for how it ended.
func (c *scene) route(s *sheet, route *analysis.Route, x, y, side, shift float64) {
	st := styleOf(route.Key, s.theme)
	ink := dark(st.fill)
	var xy []float64
	for _, p := range route.Cells {
		cx, cy := x+(float64(p[1])+0.5)*side+shift, y+(float64(p[0])+0.5)*side+shift
		if n := len(xy); n >= 2 && xy[n-2] == cx && xy[n-1] == cy {
			continue // a move off the grid stays
		}
		xy = append(xy, cx, cy)
	}
	s.way(st, xy...)
	n := len(xy)
	s.end(ink, route.Outcome, xy[n-2], xy[n-1], max(2.2, min(5, side*0.24)))
}

// way draws a route's line over a light casing, which shows on holes.
func (s *sheet) way(st style, xy ...float64) {
	if len(xy) < 4 {
		return
	}
	s.line(pen{white, 3.4, nil}, xy...)
	s.line(pen{dark(st.fill), 1.9, st.dashes}, xy...)
}

// end marks where a route ended: a cross in a hole, a disc at the goal, a ring
// where time ran out.
func (s *sheet) end(ink color.Color, outcome string, x, y, r float64) {
	switch outcome {
	case record.Death:
		d := r * 0.9
		for _, p := range []pen{{white, 4.2, nil}, {ink, 2.2, nil}} {
			s.line(p, x-d, y-d, x+d, y+d)
			s.line(p, x-d, y+d, x+d, y-d)
		}
	case record.Success:
		s.circle(ink, pen{white, 1, nil}, x, y, r*0.9)
	default:
		s.circle(white, pen{ink, 1.8, nil}, x, y, r*0.8)
	}
}

// dark makes pale colours strong enough for a line on ice.
func dark(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	light := 0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)
	if light < 0.62*65535 {
		return c
	}
	f := 0.55 * 65535 / math.Max(light, 1)
	return color.NRGBA{uint8(float64(r>>8) * f), uint8(float64(g>>8) * f), uint8(float64(b>>8) * f), 255}
}
