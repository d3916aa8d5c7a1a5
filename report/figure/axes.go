package figure

import (
	"math"

	"github.com/spatialstale/spatialstale/analysis"
)

// An axesChart has two axes of numbers.
type axesChart struct {
	*analysis.Panel
	side  float64 // room to the left of the y axis
	first bool    // in its row: it has the label of the y axis
	low   bool    // there are so many that each must be low
}

// ySideOf returns the room that a panel needs to the left of its y axis.
func ySideOf(p *analysis.Panel, first bool) float64 {
	if p.Scene != nil || len(p.Categories) > 0 {
		return 0
	}
	room := 0.0
	for _, t := range ticksOf(&p.Y, 90) {
		room = max(room, ticks.width(t.Label))
	}
	if first {
		room += label.line()
	}
	return room + 4
}

func (c *axesChart) height(width float64) float64 {
	if c.low {
		return min(width-c.side, 100)
	}
	return min(width-c.side, 150)
}

// inside is the room between the frame and the ends of the axes, so that marks
// at the ends do not cover what is written there.
const inside = 6.0

func (c *axesChart) axisHeight() float64 { return tickRoom + label.line() + 2 }

func (c *axesChart) draw(s *sheet, x, y, width, height float64) {
	x, width = x+c.side, width-c.side
	scale := func(v float64, a *analysis.Axis) float64 {
		return math.Min(1, math.Max(0, (v-a.Min)/(a.Max-a.Min)))
	}
	px := func(v float64) float64 { return x + inside + (width-2*inside)*scale(v, &c.X) }
	py := func(v float64) float64 { return y + inside + (height-2*inside)*(1-scale(v, &c.Y)) }
	grid := pen{s.theme.Faint, 0.5, nil}
	for _, t := range ticksOf(&c.X, width) {
		s.line(grid, px(t.Value), y, px(t.Value), y+height)
		s.write(ticks, s.theme.Ink, px(t.Value), y+height+8, middle, t.Label)
	}
	for _, t := range ticksOf(&c.Y, height) {
		s.line(grid, x, py(t.Value), x+width, py(t.Value))
		s.write(ticks, s.theme.Ink, x-3, py(t.Value)+ticks.size*0.35, right, t.Label)
	}
	for _, g := range c.Guides {
		var xy []float64
		for _, at := range g.Line {
			xy = append(xy, px(at[0]), py(at[1]))
		}
		s.line(pen{s.theme.Dim, 0.6, []float64{1, 1.8}}, xy...)
		if n := len(xy); n >= 2 && g.Label != "" {
			w := tiny.width(g.Label)
			s.rect(s.theme.Ground, pen{}, xy[n-2]-w-3, xy[n-1]-3.5, w+2, 7)
			s.write(tiny, s.theme.Dim, xy[n-2]-2, xy[n-1]+tiny.size*0.36, right, g.Label)
		}
	}
	s.rect(nil, pen{s.theme.Ink, 0.6, nil}, x, y, width, height)
	s.write(label, s.theme.Ink, x+width/2, y+height+tickRoom+label.size, middle, c.X.Label)
	if c.first {
		s.writeUp(label, s.theme.Ink, x-c.side+label.size, y+height/2, c.Y.Label)
	}
	if c.Empty != "" {
		s.plate(label, x+(width-label.width(c.Empty))/2, y+height/2+label.size*0.35, c.Empty)
	}
	for _, series := range c.Series {
		for i := range series.Points {
			c.whiskers(s, &series.Points[i], px, py)
		}
	}
	for _, series := range c.Series {
		st := styleOf(series.Key, s.theme)
		for _, pt := range series.Points {
			if pt.X == nil {
				continue
			}
			r := 3.2
			if series.Mark == analysis.Discs {
				r = min(2, 6/math.Sqrt(float64(mostUnits(c.Panel)))) * math.Sqrt(float64(pt.N))
			}
			s.point(st, px(*pt.X), py(*pt.Y), r)
			s.write(tiny, s.theme.Ink, px(*pt.X)+r+2, py(*pt.Y)+2.3, left, pt.Label)
		}
	}
}

// whiskers draws a point's two intervals, thin, since they cross.
func (c *axesChart) whiskers(s *sheet, pt *analysis.Point, px, py func(float64) float64) {
	if pt.X == nil {
		return
	}
	p := pen{s.theme.Ink, 0.6, nil}
	if r := pt.XRange; r != nil {
		s.line(p, px(r.Low), py(*pt.Y), px(r.High), py(*pt.Y))
	}
	if r := pt.YRange; r != nil {
		s.line(p, px(*pt.X), py(r.Low), px(*pt.X), py(r.High))
	}
}
