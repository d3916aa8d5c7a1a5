package figure

import (
	"fmt"
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
	boundsGap = 3.0  // below a bar, for what lost trials could make of it
	tickRoom  = 10.0 // below the axis, for its numbers
	mostTicks = 6
)

// A rowsChart has a row for each category and in it a bar or a dot for each
// series, along one axis of numbers.
type rowsChart struct {
	*analysis.Panel
	names  float64 // room to the left for the names of categories; 0 for none
	labels float64 // room to the right for the labels of points
	lanes  int     // of the chart beside it that has most, so that rows meet
	bounds bool    // the figure has values with bounds
}

// rowHeight returns the height of each category: of its bars, or of its name.
func (c *rowsChart) rowHeight() float64 {
	lines := 1
	for _, k := range c.Categories {
		lines = max(lines, len(categoryLines(k, mostNames)))
	}
	return max(float64(c.lanes)*c.lane(), float64(lines)*label.line()) + rowGap
}

// lane returns the height that a series takes in a row.
func (c *rowsChart) lane() float64 {
	if c.bounds {
		return barHeight + barGap + boundsGap
	}
	return barHeight + barGap
}

// lanesOf is how many series a row has side by side.
func lanesOf(p *analysis.Panel) int { return max(1, len(p.Series)) }

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
	for lane, series := range c.Series {
		st := styleOf(series.Key, s.theme)
		for _, pt := range series.Points {
			top := c.top(y, pt.Category, lane)
			c.mark(s, st, series.Mark, &pt, place, top)
			s.write(tiny, s.theme.Ink, x+length+4, top+barHeight*0.8, left, pt.Label)
		}
	}
	// The line that bars begin at lies over them.
	s.line(pen{s.theme.Ink, 0.7, nil}, place(max(0, c.X.Min)), y, place(max(0, c.X.Min)), bottom)
	for lane, series := range c.Series {
		for _, pt := range series.Points {
			if pt.X == nil {
				s.plate(tiny, place(c.X.Min)+3, c.top(y, pt.Category, lane)+barHeight*0.8, noValue(&pt))
			}
		}
	}
}

// top returns where a lane of a row begins, y being the top of the chart.
func (c *rowsChart) top(y float64, row, lane int) float64 {
	used := float64(lanesOf(c.Panel)) * c.lane()
	return y + float64(row)*c.rowHeight() + (c.rowHeight()-used)/2 + float64(lane)*c.lane()
}

// noValue says why there is no bar.
func noValue(pt *analysis.Point) string {
	if t := pt.Trials; t != nil && t.Finished == 0 && t.Planned > 0 {
		return fmt.Sprintf("0 of %d finished", t.Planned)
	}
	return "– undefined"
}

// plate writes words that lines of the chart must not run through.
func (s *sheet) plate(l lettering, x, y float64, text string) {
	s.rect(s.theme.Ground, pen{}, x-1, y-0.74*l.size, l.width(text)+2, 0.96*l.size)
	s.write(l, s.theme.Dim, x, y, left, text)
}

// mark draws one value, with its whiskers, in the lane below top.
func (c *rowsChart) mark(s *sheet, st style, how analysis.Mark, pt *analysis.Point, place func(float64) float64, top float64) {
	mid := top + barHeight/2
	zero := place(max(0, c.X.Min))
	if b := pt.XBounds; b != nil {
		s.bounds(place(b.Low), place(b.High), top+barHeight+boundsGap/2)
	}
	if pt.X == nil {
		return // noValue says it
	}
	at := place(*pt.X)
	if how == analysis.Bars {
		none := math.Abs(at-zero) < sliver
		if !none {
			s.bar(st, min(zero, at), top, math.Abs(at-zero), barHeight)
		}
		if pt.XRange != nil {
			s.whisker(place(pt.XRange.Low), place(pt.XRange.High), mid, 2.1)
		}
		if none {
			// Nothing to see: a line along the axis, on its positive side, without
			// an outline that would make it a bar.
			s.rect(st.fill, pen{}, zero, top, sliver, barHeight)
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

// sliver is how wide a value of 0 is drawn, so that its series shows.
const sliver = 1.5

// bounds draws between which values a rate lies, whatever lost trials would have
// given: a pale strip, its middle at y.
func (s *sheet) bounds(low, high, y float64) {
	s.rect(s.theme.Possible, pen{s.theme.Dim, 0.4, nil}, low, y-1, max(high-low, 0.8), 2)
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
