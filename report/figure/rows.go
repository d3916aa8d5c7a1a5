package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/spatialstale/spatialstale/analysis"
)

// Measures of charts of rows, in points.
const (
	barHeight = 8.0
	barGap    = 1.0
	rowGap    = 5.0
	tickRoom  = 10.0 // below the axis, for its numbers
	mostTicks = 6
)

// A rowsChart has a row for each category and in it a bar or a dot for each
// series, along one axis of numbers.
type rowsChart struct {
	*analysis.Panel
	names  float64 // room to the left for the names of categories; 0 for none
	labels float64 // room to the right for the labels of points
}

// rowHeight returns the height of each category: of its bars, or of its name.
func (c *rowsChart) rowHeight() float64 {
	lines := 1
	for _, k := range c.Categories {
		lines = max(lines, len(categoryLines(k, mostNames)))
	}
	return max(float64(c.lanes())*(barHeight+barGap), float64(lines)*label.line()) + rowGap
}

// lanes is how many series a row has side by side.
func (c *rowsChart) lanes() int { return max(1, len(c.Series)) }

func (c *rowsChart) height(float64) float64 {
	return float64(len(c.Categories)) * c.rowHeight()
}

func (c *rowsChart) axisHeight() float64 { return tickRoom + label.line() + 2 }

func (c *rowsChart) draw(s *sheet, x, y, width, _ float64) {
	length := width - c.labels
	place := func(v float64) float64 {
		return x + length*math.Min(1, math.Max(0, (v-c.X.Min)/(c.X.Max-c.X.Min)))
	}
	each := c.rowHeight()
	bottom := y + c.height(width)
	c.axis(s, place, y, bottom)
	for i, k := range c.Categories {
		top := y + float64(i)*each
		if i > 0 {
			s.line(pen{s.theme.Faint, 0.4, nil}, x-min(c.names, 4), top, x+width, top)
		}
		if c.names > 0 {
			lines := categoryLines(k, mostNames)
			at := top + (each-float64(len(lines))*label.line())/2 + label.size*0.95
			for j, line := range lines {
				color := s.theme.Ink
				if k.Tag != "" && j == len(lines)-1 {
					color = s.theme.Dim
				}
				s.write(label, color, x-besideNames, at, right, line)
				at += label.line()
			}
		}
	}
	used := float64(c.lanes()) * (barHeight + barGap)
	for lane, series := range c.Series {
		st := styleOf(series.Key, s.theme)
		for _, pt := range series.Points {
			top := y + float64(pt.Category)*each + (each-used)/2 + float64(lane)*(barHeight+barGap)
			c.mark(s, st, series.Mark, &pt, place, top)
			s.write(tiny, s.theme.Ink, x+length+4, top+barHeight*0.8, left, pt.Label)
		}
	}
	// The line that bars begin at lies over them.
	s.line(pen{s.theme.Ink, 0.7, nil}, place(max(0, c.X.Min)), y, place(max(0, c.X.Min)), bottom)
}

// mark draws one value, with its whiskers, in the lane below top.
func (c *rowsChart) mark(s *sheet, st style, how analysis.Mark, pt *analysis.Point, place func(float64) float64, top float64) {
	mid := top + barHeight/2
	zero := place(max(0, c.X.Min))
	if pt.X == nil {
		s.write(tiny, s.theme.Dim, zero+3, top+barHeight*0.8, left, "– undefined")
		return
	}
	at := place(*pt.X)
	if how == analysis.Bars {
		s.bar(st, min(zero, at), top, math.Abs(at-zero), barHeight)
		if math.Abs(at-zero) < 1 {
			// Nothing to see its colour by: a chip beside the axis.
			s.rect(st.fill, pen{s.theme.Ink, 0.5, nil}, zero-4, top+1, 3, barHeight-2)
		}
		if pt.XRange != nil {
			s.whisker(place(pt.XRange.Low), place(pt.XRange.High), mid, 2.1)
		}
		return
	}
	if pt.XRange != nil {
		s.whisker(place(pt.XRange.Low), place(pt.XRange.High), mid, 2.1)
	}
	r := 2.8
	if how == analysis.Discs {
		r = barHeight / 2 * math.Sqrt(float64(pt.N)/float64(mostUnits(c.Panel)))
	}
	s.point(st, at, mid, r)
}

// mostUnits returns the greatest N of a disc.
func mostUnits(p *analysis.Panel) int {
	n := 1
	for _, s := range p.Series {
		if s.Mark == analysis.Discs {
			for _, pt := range s.Points {
				n = max(n, pt.N)
			}
		}
	}
	return n
}

// whisker draws an interval along x. It is cased, so that it shows on dark bars
// and over hatching.
func (s *sheet) whisker(low, high, y, cap float64) {
	for _, p := range []pen{{s.theme.Ground, 2.4, nil}, {s.theme.Ink, 0.9, nil}} {
		s.lines(p, [4]float64{low, y, high, y}, [4]float64{low, y - cap, low, y + cap}, [4]float64{high, y - cap, high, y + cap})
	}
}

// axis draws grid lines, numbers and the label of the axis.
func (c *rowsChart) axis(s *sheet, place func(float64) float64, top, bottom float64) {
	span := place(c.X.Max) - place(c.X.Min)
	for _, t := range ticksOf(&c.X, span) {
		s.line(pen{s.theme.Faint, 0.5, nil}, place(t.Value), top, place(t.Value), bottom)
		s.write(ticks, s.theme.Ink, place(t.Value), bottom+8, middle, t.Label)
	}
	s.line(pen{s.theme.Ink, 0.5, nil}, place(c.X.Min), bottom, place(c.X.Max), bottom)
	for _, g := range c.Guides {
		if len(g.Line) > 0 {
			s.line(pen{s.theme.Ink, 0.5, []float64{2, 2}}, place(g.Line[0][0]), top, place(g.Line[0][0]), bottom)
		}
	}
	s.write(label, s.theme.Ink, (place(c.X.Min)+place(c.X.Max))/2, bottom+tickRoom+label.size, middle, c.X.Label)
}

// gap is the room between the numbers of an axis, in points.
const gap = 7.0

// ticksOf returns the numbers that an axis of that length in points has room
// for.
func ticksOf(a *analysis.Axis, length float64) []plot.Tick {
	fit := func(step float64) (out []plot.Tick) {
		first := math.Ceil(a.Min/step - 1e-9)
		for i := first; i*step <= a.Max+1e-9*step; i++ {
			v := i * step
			out = append(out, plot.Tick{Value: v, Label: number(v, step)})
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10(a.Max-a.Min))-1)
	for {
		for _, k := range []float64{1, 2, 2.5, 5} {
			out := fit(step * k)
			room := 0.0
			for _, t := range out {
				room = max(room, ticks.width(t.Label))
			}
			// Neighbours are a step apart, however much of the axis the ticks span.
			if apart := length * step * k / (a.Max - a.Min); len(out) <= mostTicks && apart >= room+gap {
				return out
			}
		}
		step *= 10
	}
}

// number writes a tick with no more digits than its step has.
func number(v, step float64) string {
	digits := 0
	for digits < 6 && math.Abs(step*math.Pow10(digits)-math.Round(step*math.Pow10(digits))) > 1e-6 {
		digits++
	}
	if v == 0 {
		v = 0 // never −0
	}
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	if v < 0 {
		return "−" + text
	}
	return text
}
