package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// Distances of the page, in points.
const (
	margin      = 6.0
	betweenX    = 16.0 // columns of panels
	betweenY    = 10.0 // rows of panels
	legendGap   = 13.0 // between entries of the legend
	swatch      = 14.0 // width of an entry's mark
	mostNames   = 128.0
	besideNames = 7.0 // between a category's name and its bars
	aboveChart  = 3.0
)

// A layout is a figure measured out: what stands where on the page.
type layout struct {
	figure *analysis.Figure
	theme  Theme
	height float64
	legend [][]entry // rows
	names  float64   // width of the column of categories
	rows   []rowOfPanels
	feet   []foot
}

// An entry is one line of the legend.
type entry struct {
	text  string
	width float64
	draw  func(s *sheet, x, y float64) // the mark, its middle at y
}

// A rowOfPanels stand side by side and are equally high.
type rowOfPanels struct {
	panels  []*panel
	title   float64 // height of the titles
	height  float64 // of the charts
	remarks float64 // height below the charts' axes
	axis    float64 // height of ticks and the axis' label
}

// A panel is one chart with its place.
type panel struct {
	*analysis.Panel
	x, width float64
	title    []string
	remarks  []string
	chart    chart
}

// A chart fills the middle of a panel.
type chart interface {
	// height returns how high the chart is when it is that wide.
	height(width float64) float64
	// axisHeight returns the room below it.
	axisHeight() float64
	// draw draws it and what is below it.
	draw(s *sheet, x, y, width, height float64)
}

type foot struct {
	lettering
	text string
}

// controlsFoot stands in every figure that shows controls only.
const controlsFoot = "Built-in controls, not models of language or vision."

// arrange measures a figure out.
func arrange(f *analysis.Figure, theme Theme) *layout {
	l := &layout{figure: f, theme: theme}
	inner := Width - 2*margin
	y := margin
	l.legend = flow(legendOf(f, theme), inner)
	if len(l.legend) > 0 {
		y += float64(len(l.legend))*12 + 4
	}
	for i := range f.Panels {
		for _, c := range f.Panels[i].Categories {
			l.names = max(l.names, widestOf(categoryLines(c, mostNames))+besideNames)
		}
	}
	labels := labelsOf(f)
	for i, panels := range sideBySide(f) {
		row := l.row(panels, labels)
		if i > 0 {
			y += betweenY
		}
		y += row.title + row.height + row.axis + row.remarks
		l.rows = append(l.rows, row)
	}
	y += 4
	below := func(how lettering, text string) {
		for _, line := range how.wrap(text, inner) {
			l.feet = append(l.feet, foot{how, line})
		}
	}
	if f.Incomplete != "" {
		below(fineBold, f.Incomplete)
	}
	if f.Controls {
		below(fineBold, controlsFoot)
	}
	for _, text := range f.Feet {
		below(fine, text)
	}
	for _, ft := range l.feet {
		y += ft.line() + 0.5
	}
	l.height = math.Ceil(y + margin)
	return l
}

// sideBySide splits a figure's panels into rows: of Across panels, and of one
// that is wide.
func sideBySide(f *analysis.Figure) (rows [][]analysis.Panel) {
	for i := range f.Panels {
		last := len(rows) - 1
		if last < 0 || f.Panels[i].Wide || rows[last][0].Wide || len(rows[last]) == f.Across {
			rows = append(rows, nil)
			last++
		}
		rows[last] = append(rows[last], f.Panels[i])
	}
	return rows
}

// row measures panels that stand side by side; labels are those of labelsOf.
func (l *layout) row(panels []analysis.Panel, labels []float64) rowOfPanels {
	across := l.figure.Across
	if panels[0].Wide {
		across, labels = 1, []float64{widestLabel(&panels[0])}
	}
	rowNames := 0.0
	if len(panels[0].Categories) > 0 {
		rowNames = l.names
	}
	room := Width - 2*margin - rowNames - betweenX*float64(across-1)
	for _, w := range labels {
		room -= w
	}
	var row rowOfPanels
	ySide, lanes := 0.0, 1
	for i := range panels {
		lanes = max(lanes, lanesOf(&panels[i]))
		ySide = max(ySide, ySideOf(&panels[i], i == 0))
	}
	x := margin + rowNames
	for i := range panels {
		width := room/float64(across) + labels[i]
		p := &panel{Panel: &panels[i], x: x, width: width}
		x += width + betweenX
		switch {
		case p.Scene != nil:
			p.chart = &scene{p.Scene}
		case len(p.Categories) > 0:
			names := rowNames
			if i > 0 {
				names = 0
			}
			p.chart = &rowsChart{p.Panel, names, labels[i], lanes, hasBounds(l.figure)}
		default:
			p.chart = &axesChart{p.Panel, ySide, i == 0, len(l.figure.Panels) > 3*across}
		}
		p.title = headline.wrap(p.Title, width)
		for _, remark := range p.Remarks {
			p.remarks = append(p.remarks, tiny.wrap(remark, width)...)
		}
		row.panels = append(row.panels, p)
		row.title = max(row.title, float64(len(p.title))*headline.line()+aboveChart)
		row.height = max(row.height, p.chart.height(width))
		row.axis = max(row.axis, p.chart.axisHeight())
		row.remarks = max(row.remarks, float64(len(p.remarks))*tiny.line())
	}
	return row
}

// hasBounds says that lost trials could have made another of some value.
func hasBounds(f *analysis.Figure) bool {
	for i := range f.Panels {
		for _, s := range f.Panels[i].Series {
			if slices.ContainsFunc(s.Points, func(p analysis.Point) bool { return p.XBounds != nil }) {
				return true
			}
		}
	}
	return false
}

// labelsOf returns, for each column of panels, the width of the widest label
// beside a bar, so that all axes are equally long.
func labelsOf(f *analysis.Figure) []float64 {
	widest := make([]float64, f.Across)
	for _, row := range sideBySide(f) {
		for i := range row {
			if !row[i].Wide {
				widest[i] = max(widest[i], widestLabel(&row[i]))
			}
		}
	}
	return widest
}

func widestLabel(p *analysis.Panel) float64 {
	if len(p.Categories) == 0 {
		return 0
	}
	widest := 0.0
	for _, s := range p.Series {
		for _, pt := range s.Points {
			if pt.Label != "" {
				widest = max(widest, tiny.width(pt.Label)+4)
			}
		}
	}
	return widest
}

// draw draws the figure.
func (l *layout) draw(c vg.Canvas) {
	s := &sheet{Canvas: c, height: l.height, theme: l.theme}
	s.rect(l.theme.Ground, pen{}, 0, 0, Width, l.height)
	y := margin
	for _, line := range l.legend {
		x := margin
		for _, e := range line {
			e.draw(s, x+swatch/2, y+6)
			s.write(label, l.theme.Ink, x+swatch+3, y+6+label.size*0.35, left, e.text)
			x += e.width + legendGap
		}
		y += 12
	}
	if len(l.legend) > 0 {
		y += 4
	}
	for i := range l.rows {
		row := &l.rows[i]
		if i > 0 {
			y += betweenY
		}
		for _, p := range row.panels {
			base := y + row.title - aboveChart - float64(len(p.title)-1)*headline.line() - 2
			for _, line := range p.title {
				s.write(headline, l.theme.Ink, p.x, base, left, line)
				base += headline.line()
			}
			p.chart.draw(s, p.x, y+row.title, p.width, row.height)
			at := y + row.title + row.height + row.axis
			for _, line := range p.remarks {
				at += tiny.line()
				s.write(tiny, l.theme.Dim, p.x, at-1.5, left, line)
			}
		}
		y += row.title + row.height + row.axis + row.remarks
	}
	y += 4
	for _, ft := range l.feet {
		y += ft.line() + 0.5
		s.write(ft.lettering, l.theme.Dim, margin, y-2, left, ft.text)
	}
}

// flow breaks the legend into rows.
func flow(entries []entry, width float64) (rows [][]entry) {
	used := 0.0
	for _, e := range entries {
		if len(rows) == 0 || used+legendGap+e.width > width {
			rows = append(rows, nil)
			used = -legendGap
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], e)
		used += legendGap + e.width
	}
	return rows
}

// legendOf names the series and routes of all panels, each once, in the order
// in which they come.
func legendOf(f *analysis.Figure, theme Theme) []entry {
	var out []entry
	seen := make(map[string]bool)
	add := func(key, text string, draw func(s *sheet, x, y float64)) {
		if text == "" || seen[key] {
			return
		}
		seen[key] = true
		lines := label.wrap(clean(text), Width-2*margin-swatch-3)
		e := entry{text: lines[0], draw: draw}
		if len(lines) > 1 {
			e.text += "…"
		}
		e.width = swatch + 3 + label.width(e.text)
		out = append(out, e)
	}
	addScenes(add, f, theme)
	for i := range f.Panels {
		for _, sr := range f.Panels[i].Series {
			st := styleOf(sr.Key, theme)
			isBar := sr.Mark == analysis.Bars
			add(sr.Key, sr.Name, func(s *sheet, x, y float64) {
				if isBar {
					s.bar(st, x-swatch/2, y-4, swatch, 8)
				} else {
					s.point(st, x, y, 3)
				}
			})
		}
	}
	if hasBounds(f) {
		add("bounds", "what it could be, had lost trials gone either way", func(s *sheet, x, y float64) {
			s.bounds(x-swatch/2, x+swatch/2, y)
		})
	}
	return out
}

// outcomeWords explain the signs at the ends of routes.
var outcomeWords = []struct{ outcome, words string }{
	{record.Death, "died"}, {record.Success, "reached G"}, {record.Timeout, "ran out of steps"},
}

// addScenes adds to the legend what drawings of lakes need: routes, how they
// end, stale cells.
func addScenes(add func(key, text string, draw func(s *sheet, x, y float64)), f *analysis.Figure, theme Theme) {
	var routes []analysis.Route
	thaw, freeze := false, false
	for i := range f.Panels {
		if scene := f.Panels[i].Scene; scene != nil {
			routes = append(routes, scene.Routes...)
			thaw, freeze = thaw || len(scene.Thaw) > 0, freeze || len(scene.Freeze) > 0
		}
	}
	for _, r := range routes {
		add("route "+r.Key, r.Name, func(s *sheet, x, y float64) {
			s.way(styleOf(r.Key, theme), x-swatch/2-1, y, x+swatch/2+1, y)
		})
	}
	for _, o := range outcomeWords {
		if slices.ContainsFunc(routes, func(r analysis.Route) bool { return r.Outcome == o.outcome }) {
			add("end "+o.outcome, o.words, func(s *sheet, x, y float64) { s.end(theme.Dim, o.outcome, x, y, 4) })
		}
	}
	if thaw {
		add("stale thaw", "stale: thaw (SAFE, now a hole)", func(s *sheet, x, y float64) { s.cell('H', +1, x-5, y-5, 10) })
	}
	if freeze {
		add("stale freeze", "stale: freeze (DANGER, now safe)", func(s *sheet, x, y float64) { s.cell('F', -1, x-5, y-5, 10) })
	}
}

// categoryLines is how a category is written.
func categoryLines(c analysis.Category, width float64) []string {
	lines := label.wrap(clean(c.Name), width)
	if c.Tag != "" {
		lines = append(lines, "("+c.Tag+")")
	}
	return lines
}

func widestOf(lines []string) float64 {
	w := 0.0
	for _, line := range lines {
		w = max(w, label.width(line))
	}
	return w
}
