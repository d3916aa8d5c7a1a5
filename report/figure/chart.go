package figure

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spatialstale/spatialstale/analysis"
)

// Measures of charts of rows, in points. Their vertical axis is in points too.
const (
	barHeight  = 8.0
	barGap     = 1.0
	boundsRoom = 4.0 // below a bar, for what lost trials could make of it
	rowGap     = 5.0
	groupRoom  = 12.0 // for the heading of a group of rows
	mostName   = 128  // width of a category's name
	mostLabel  = 96   // width of a label beside a value
)

// markRadius is that of a point's mark.
const markRadius = 2.8

// leastBar is the length of the smallest bar as a share of its axis.
const leastBar = 0.01

// chart makes the plot of a panel. The labels of its vertical axis are left out
// when named: the chart to its left has them. lanes is how many series the chart
// of its row with the most has, so that charts beside each other meet.
func (p *page) chart(panel *analysis.Panel, named bool, lanes int) *plot.Plot {
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.Title.TextStyle, pl.Title.Padding = p.title, 2
	pl.Title.TextStyle.XAlign, pl.Title.TextStyle.YAlign = text.XCenter, text.YTop
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = p.small.Font, p.small.Font
		a.Label.TextStyle.Color, a.Tick.Label.Color, a.Color, a.Tick.Color = ink, ink, ink, ink
		a.Tick.Length = 2.5
	}
	switch {
	case panel.Scene != nil:
		pl.HideAxes()
		pl.X.Padding, pl.Y.Padding = 0, 0
		return pl // its lake needs its width
	case len(panel.Categories) > 0:
		p.rowChart(pl, panel, named, lanes)
	default:
		p.axesChart(pl, panel, named)
	}
	pl.X.Min, pl.X.Max = panel.X.Min, panel.X.Max
	return pl
}

// rowChart fills a chart with a row for each category, from the top down, and in
// it a lane for each series.
func (p *page) rowChart(pl *plot.Plot, panel *analysis.Panel, named bool, lanes int) {
	lane := barHeight + barGap
	if p.bounds {
		lane += boundsRoom
	}
	row := float64(lanes) * lane
	names := make(plot.ConstantTicks, len(panel.Categories))
	for i, c := range panel.Categories {
		names[i].Label = wrap(p.label, c.Name, mostName)
		if c.Tag != "" {
			names[i].Label += "\n" + wrap(p.label, "("+c.Tag+")", mostName)
		}
		row = max(row, p.label.Height(names[i].Label).Points())
	}
	row += rowGap

	pl.Add(&plotter.Grid{Vertical: line(faint, 0.5)})
	bottom := 0.0
	for i, c := range panel.Categories {
		if i > 0 {
			pl.Add(straight(line(faint, 0.4), panel.X.Min, bottom, panel.X.Max, bottom))
		}
		if c.Group != "" && (i == 0 || c.Group != panel.Categories[i-1].Group) {
			if !named {
				pl.Add(words(p.small, panel.X.Min, bottom-groupRoom/2, 3, short(p.small, c.Group, mostName)))
			}
			bottom -= groupRoom
		}
		names[i].Value = bottom - row/2
		bottom -= row
	}
	for _, g := range panel.Guides {
		if len(g.Line) > 0 {
			pl.Add(straight(line(ink, 0.5, 2, 2), g.Line[0][0], bottom, g.Line[0][0], 0))
		}
	}

	var whiskers, over []plot.Plotter
	for i, s := range panel.Series {
		for j := range s.Points {
			pt := &s.Points[j]
			y := names[pt.Category].Value + lane*(float64(len(panel.Series)-1)/2-float64(i)) + (lane-barHeight-barGap)/2
			// Whiskers are cased, so that they show on dark bars and over hatching.
			whiskers = append(whiskers, lying(pt.XRange, y, line(ground, 2.4), 0), lying(pt.XRange, y, p.whisker(), 4))
			whiskers = append(whiskers, lying(pt.XBounds, y-barHeight/2-boundsRoom/2, p.boundsLine(), 3))
			over = append(over, words(p.small, panel.X.Max, y, 4, short(p.small, pt.Label, mostLabel)))
			switch {
			case pt.X == nil:
				over = append(over, words(p.dim, panel.X.Min, y, 3, noValue(pt)))
			case s.Mark == analysis.Bars:
				pl.Add(p.bar(s.Key, sliver(*pt.X, panel.X), y))
			default:
				over = append(over, p.point(s.Key, inside(*pt.X, panel.X.Min, panel.X.Max), y, radius(panel, &s, pt)))
			}
		}
	}
	// The line that bars begin at lies over them.
	zero := inside(0, panel.X.Min, panel.X.Max)
	pl.Add(straight(line(ink, 0.7), zero, bottom, zero, 0))
	pl.Add(whiskers...)
	pl.Add(over...)

	pl.Y.Min, pl.Y.Max = bottom, 0
	pl.Y.Width, pl.Y.Tick.Width, pl.X.Padding, pl.Y.Padding = 0, 0, 0, 0
	pl.Y.Tick.Label.Font, pl.Y.Tick.Marker = p.label.Font, names
	if named {
		pl.Y.Tick.Marker = names[:0]
	}
}

// sliver makes a bar of nearly 0 a line on the positive side of the axis: left of
// it, it would read as a negative value.
func sliver(x float64, axis analysis.Axis) float64 {
	if least := leastBar * (axis.Max - axis.Min); math.Abs(x) < least {
		return least
	}
	return x
}

// noValue says why a row has no bar.
func noValue(pt *analysis.Point) string {
	if t := pt.Trials; t != nil && t.Finished == 0 && t.Planned > 0 {
		return fmt.Sprintf("0 of %d finished", t.Planned)
	}
	return "– undefined"
}

// axesChart fills a chart of two axes.
func (p *page) axesChart(pl *plot.Plot, panel *analysis.Panel, named bool) {
	if !named {
		pl.Y.Label.Text = wrap(p.small, panel.Y.Label, 100)
	}
	pl.Add(&plotter.Grid{Vertical: line(faint, 0.5), Horizontal: line(faint, 0.5)})
	for _, g := range panel.Guides {
		l := &plotter.Line{LineStyle: line(dim, 0.6, 1, 1.8)}
		for _, at := range g.Line {
			l.XYs = append(l.XYs, plotter.XY{X: at[0], Y: at[1]})
		}
		pl.Add(l)
		if n := len(l.XYs); n > 0 {
			pl.Add(words(p.dim, l.XYs[n-1].X, l.XYs[n-1].Y, 6, short(p.dim, g.Label, mostLabel)))
		}
	}
	middle := p.dim
	middle.XAlign = text.XCenter
	pl.Add(words(middle, (panel.X.Min+panel.X.Max)/2, (panel.Y.Min+panel.Y.Max)/2, 0, short(p.dim, panel.Empty, mostLabel)))
	var over []plot.Plotter
	for _, s := range panel.Series {
		for j := range s.Points {
			pt := &s.Points[j]
			if pt.X == nil {
				continue
			}
			x, y := inside(*pt.X, panel.X.Min, panel.X.Max), inside(*pt.Y, panel.Y.Min, panel.Y.Max)
			pl.Add(lying(pt.XRange, y, p.whisker(), 4), standing(pt.YRange, x, p.whisker(), 4))
			over = append(over, p.point(s.Key, x, y, radius(panel, &s, pt)), words(p.small, x, y, 4, short(p.small, pt.Label, mostLabel)))
		}
	}
	pl.Add(over...)
	pl.Y.Min, pl.Y.Max = panel.Y.Min, panel.Y.Max
}

// radius returns the radius of a point's mark. The area of a disc is its number of
// units, as large as the panel has room for.
func radius(panel *analysis.Panel, s *analysis.Series, pt *analysis.Point) vg.Length {
	if s.Mark != analysis.Discs {
		return markRadius
	}
	largest := 6.0
	if len(panel.Categories) > 0 {
		largest = barHeight / 2
	}
	most := 1
	for _, s := range panel.Series {
		for _, pt := range s.Points {
			if s.Mark == analysis.Discs {
				most = max(most, pt.N)
			}
		}
	}
	unit := min(2, largest/math.Sqrt(float64(most)))
	return vg.Length(max(0.8, unit*math.Sqrt(float64(pt.N))))
}

func (p *page) whisker() draw.LineStyle { return line(ink, 0.9) }

func (p *page) boundsLine() draw.LineStyle { return line(dim, 1, 2, 1) }

// lying draws an interval along X, around its middle, as a value may lie outside
// its own; nothing for none.
func lying(s *analysis.Span, y float64, style draw.LineStyle, caps vg.Length) plot.Plotter {
	if s == nil {
		return &plotter.XErrorBars{}
	}
	half := (s.High - s.Low) / 2
	return &plotter.XErrorBars{XYs: plotter.XYs{{X: s.Low + half, Y: y}}, XErrors: plotter.XErrors{{Low: half, High: half}}, LineStyle: style, CapWidth: caps}
}

// standing draws an interval along Y.
func standing(s *analysis.Span, x float64, style draw.LineStyle, caps vg.Length) plot.Plotter {
	if s == nil {
		return &plotter.YErrorBars{}
	}
	half := (s.High - s.Low) / 2
	return &plotter.YErrorBars{XYs: plotter.XYs{{X: x, Y: s.Low + half}}, YErrors: plotter.YErrors{{Low: half, High: half}}, LineStyle: style, CapWidth: caps}
}

// inside moves a value that rounding has put beyond an axis to its end.
func inside[T cmp.Ordered](v, low, high T) T { return max(low, min(high, v)) }

func straight(style draw.LineStyle, x0, y0, x1, y1 float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}}, LineStyle: style}
}

// words writes a text at the height of a point, distance to its right.
func words(sty text.Style, x, y float64, distance vg.Length, txt string) *plotter.Labels {
	sty.YAlign = text.YCenter
	return &plotter.Labels{
		XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{txt}, TextStyle: []text.Style{sty},
		Offset: vg.Point{X: distance, Y: sty.FontExtents().Descent},
	}
}
