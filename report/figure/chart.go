package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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

// chart makes the plot of a panel. The labels of its vertical axis are left out
// when named: the chart to its left has them. lanes is how many series the chart
// of its block with the most has, so that rows of charts beside each other meet.
func (p *page) chart(panel *analysis.Panel, named bool, lanes int) *plot.Plot {
	pl := plot.New()
	pl.BackgroundColor = nil
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = p.small.Font, p.small.Font
		a.Label.TextStyle.Handler, a.Tick.Label.Handler = sans, sans
		a.Label.TextStyle.Color, a.Tick.Label.Color, a.Color, a.Tick.Color = p.theme.Ink, p.theme.Ink, p.theme.Ink, p.theme.Ink
		a.Tick.Length = 2.5
	}
	pl.Title.TextStyle = p.title
	pl.Title.TextStyle.XAlign, pl.Title.TextStyle.YAlign, pl.Title.Padding = text.XCenter, text.YTop, 2
	switch {
	case panel.Scene != nil:
		pl.HideAxes()
		pl.X.Padding, pl.Y.Padding = 0, 0
		return pl // its lake needs its width
	case len(panel.Categories) > 0:
		p.categories(pl, panel, named, lanes)
	default:
		if !named {
			pl.Y.Label.Text = wrap(p.small, panel.Y.Label, 100)
		}
		pl.Add(&plotter.Grid{Vertical: line(p.theme.Faint, 0.5), Horizontal: line(p.theme.Faint, 0.5)})
		p.guides(pl, panel)
		p.values(pl, panel, func(_ int, pt *analysis.Point) float64 { return *pt.Y })
		pl.Y.Min, pl.Y.Max = panel.Y.Min, panel.Y.Max
	}
	pl.X.Min, pl.X.Max = panel.X.Min, panel.X.Max
	return pl
}

// categories fills a chart with a row for each category, from the top down, and in it
// a lane for each series.
func (p *page) categories(pl *plot.Plot, panel *analysis.Panel, named bool, lanes int) {
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

	pl.Add(&plotter.Grid{Vertical: line(p.theme.Faint, 0.5)})
	var headings plotter.XYLabels
	bottom := 0.0
	for i, c := range panel.Categories {
		if i > 0 {
			pl.Add(straight(line(p.theme.Faint, 0.4), panel.X.Min, bottom, panel.X.Max, bottom))
		}
		if c.Group != "" && (i == 0 || c.Group != panel.Categories[i-1].Group) {
			addText(&headings, panel.X.Min, bottom-groupRoom/2, short(p.small, c.Group, mostName))
			bottom -= groupRoom
		}
		names[i].Value = bottom - row/2
		bottom -= row
	}
	for _, g := range panel.Guides {
		if len(g.Line) > 0 {
			pl.Add(straight(line(p.theme.Ink, 0.5, 2, 2), g.Line[0][0], bottom, g.Line[0][0], 0))
		}
	}
	pl.Y.Min, pl.Y.Max = bottom, 0
	p.values(pl, panel, func(i int, pt *analysis.Point) float64 {
		return names[pt.Category].Value + lane*(float64(len(panel.Series)-1)/2-float64(i)) + (lane-barHeight-barGap)/2
	})
	pl.Y.Width, pl.Y.Tick.Width, pl.X.Padding, pl.Y.Padding = 0, 0, 0, 0
	pl.Y.Tick.Label.Font, pl.Y.Tick.Marker = p.label.Font, names[:0]
	if !named {
		pl.Y.Tick.Marker = names
		pl.Add(p.texts(p.small, headings, 3))
	}
}

// guides draws lines without data, with their labels at their ends.
func (p *page) guides(pl *plot.Plot, panel *analysis.Panel) {
	var names plotter.XYLabels
	for _, g := range panel.Guides {
		l := &plotter.Line{LineStyle: line(p.theme.Dim, 0.6, 1, 1.8)}
		for _, at := range g.Line {
			l.XYs = append(l.XYs, plotter.XY{X: at[0], Y: at[1]})
		}
		pl.Add(l)
		if n := len(l.XYs); n > 0 {
			addText(&names, l.XYs[n-1].X, l.XYs[n-1].Y, short(p.dim, g.Label, mostLabel))
		}
	}
	middle := p.dim
	middle.XAlign = text.XCenter
	var empty plotter.XYLabels
	addText(&empty, (panel.X.Min+panel.X.Max)/2, (panel.Y.Min+panel.Y.Max)/2, short(p.dim, panel.Empty, mostLabel))
	pl.Add(p.texts(p.dim, names, 6), p.texts(middle, empty, 0))
}

// values draws the points of all series with their whiskers and labels, each at
// its place along the vertical axis.
func (p *page) values(pl *plot.Plot, panel *analysis.Panel, place func(lane int, pt *analysis.Point) float64) {
	rows := len(panel.Categories) > 0
	var across, upright, bounds spans
	var over []plot.Plotter
	var labels, missing plotter.XYLabels
	for i, s := range panel.Series {
		var dots plotter.XYs
		var radii []vg.Length
		for j := range s.Points {
			pt := &s.Points[j]
			if pt.X == nil && !rows {
				continue
			}
			y, labelAt := place(i, pt), panel.X.Max
			bounds.add(pt.XBounds, func(x float64) plotter.XY { return plotter.XY{X: x, Y: y - barHeight/2 - boundsRoom/2} })
			if pt.X == nil {
				addText(&missing, panel.X.Min, y, noValue(pt))
			} else {
				x := inside(*pt.X, panel.X.Min, panel.X.Max)
				across.add(pt.XRange, func(x float64) plotter.XY { return plotter.XY{X: x, Y: y} })
				upright.add(pt.YRange, func(y float64) plotter.XY { return plotter.XY{X: x, Y: y} })
				if rows && s.Mark == analysis.Bars {
					pl.Add(p.bar(s.Key, sliver(x, panel.X), y))
				} else {
					dots, radii = append(dots, plotter.XY{X: x, Y: y}), append(radii, radius(panel, &s, pt))
				}
				if !rows {
					labelAt = x
				}
			}
			addText(&labels, labelAt, y, short(p.small, pt.Label, mostLabel))
		}
		over = append(over, p.points(p.styles[s.Key].Mark, p.color(s.Key), dots, radii))
	}
	if rows { // the line that bars begin at lies over them
		zero := inside(0, panel.X.Min, panel.X.Max)
		pl.Add(straight(line(p.theme.Ink, 0.7), zero, pl.Y.Min, zero, 0))
	}
	// Whiskers are cased, so that they show on dark bars and over hatching.
	casing, ink := line(p.theme.Ground, 2.4), line(p.theme.Ink, 0.9)
	pl.Add(across.lying(casing, 0), upright.standing(casing, 0), across.lying(ink, 4), upright.standing(ink, 4), bounds.lying(p.boundsLine(), 3))
	pl.Add(over...)
	pl.Add(p.texts(p.small, labels, 4), p.texts(p.dim, missing, 3))
}

// sliver makes a bar of nearly 0 a line on the positive side of the axis: left of
// it, it would read as a negative value.
func sliver(x float64, axis analysis.Axis) float64 {
	if least := leastBar * (axis.Max - axis.Min); math.Abs(x) < least {
		return least
	}
	return x
}

// leastBar is the length of the smallest bar as a share of its axis.
const leastBar = 0.01

// noValue says why a row has no bar.
func noValue(pt *analysis.Point) string {
	if t := pt.Trials; t != nil && t.Finished == 0 && t.Planned > 0 {
		return fmt.Sprintf("0 of %d finished", t.Planned)
	}
	return "– undefined"
}

// radius returns the radius of a point's mark. The area of a disc is its number of
// units, as large as the panel has room for.
func radius(panel *analysis.Panel, s *analysis.Series, pt *analysis.Point) vg.Length {
	if s.Mark != analysis.Discs {
		return 2.8
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

func (p *page) boundsLine() draw.LineStyle { return line(p.theme.Dim, 1, 2, 1) }

// spans are intervals along one axis, at their middles: the value that an
// interval belongs to may lie outside it.
type spans struct {
	plotter.XYs
	errors plotter.XErrors
}

func (s *spans) add(span *analysis.Span, at func(middle float64) plotter.XY) {
	if span != nil {
		half := (span.High - span.Low) / 2
		s.XYs, s.errors = append(s.XYs, at(span.Low+half)), append(s.errors, struct{ Low, High float64 }{half, half})
	}
}

func (s *spans) lying(style draw.LineStyle, caps vg.Length) plot.Plotter {
	return &plotter.XErrorBars{XYs: s.XYs, XErrors: s.errors, LineStyle: style, CapWidth: caps}
}

func (s *spans) standing(style draw.LineStyle, caps vg.Length) plot.Plotter {
	return &plotter.YErrorBars{XYs: s.XYs, YErrors: plotter.YErrors(s.errors), LineStyle: style, CapWidth: caps}
}

// inside moves a value that rounding has put beyond an axis to its end.
func inside[T cmp.Ordered](v, low, high T) T { return max(low, min(high, v)) }

func straight(style draw.LineStyle, x0, y0, x1, y1 float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}}, LineStyle: style}
}

func addText(to *plotter.XYLabels, x, y float64, label string) {
	if label != "" {
		to.XYs, to.Labels = append(to.XYs, plotter.XY{X: x, Y: y}), append(to.Labels, label)
	}
}

// texts writes each label at the height of its point, distance to its right.
func (p *page) texts(sty text.Style, at plotter.XYLabels, distance vg.Length) *plotter.Labels {
	sty.YAlign = text.YCenter
	return &plotter.Labels{
		XYs: at.XYs, Labels: at.Labels, TextStyle: slices.Repeat([]text.Style{sty}, len(at.Labels)),
		Offset: vg.Point{X: distance, Y: sty.FontExtents().Descent},
	}
}
