package figure

import (
	"image/color"
	"math"

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

// cell draws a cell with its upper left corner at x, y: a letter of the lake,
// and whether its entry is stale by thaw (+1) or by freeze (-1).
func (s *sheet) cell(kind byte, stale int, x, y, side float64) {
	fill := color.Color(iceColor)
	switch kind {
	case 'H':
		fill = holeColor
	case 'S':
		fill = startColor
	case 'G':
		fill = goalColor
	}
	s.rect(fill, pen{white, 0.5, nil}, x, y, side, side)
	if (kind == 'S' || kind == 'G') && side >= 7 {
		l := lettering{true, min(8, side*0.42)} // in the corner: routes pass through the middle
		s.write(l, cellInk, x+side*0.08, y+side*0.06+l.size*0.8, left, string(kind))
	}
	inset := max(0.8, side*0.09)
	w := max(0.8, min(1.6, side*0.09))
	switch {
	case stale > 0:
		s.rect(nil, pen{orange, w, nil}, x+inset, y+inset, side-2*inset, side-2*inset)
	case stale < 0:
		s.rect(nil, pen{blue, w, []float64{max(1, side*0.12), max(1, side*0.1)}}, x+inset, y+inset, side-2*inset, side-2*inset)
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
	for r, row := range c.Rows {
		for col := range len(row) {
			s.cell(row[col], stale[record.Pos{r, col}], x+float64(col)*side, y+float64(r)*side, side)
		}
	}
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
