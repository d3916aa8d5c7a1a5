package figure

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// Distances of the page, in points.
const (
	margin    = 6
	inner     = Width - 2*margin
	betweenX  = 16 // columns of panels
	betweenY  = 12 // rows of panels
	swatch    = 16 // width of a legend's mark
	entryGap  = 13 // between entries of the legend
	entryLine = 14
	narrowest = 48 // chart; where panels would be narrower, fewer are in a row
)

// A page is a figure measured out: parts below each other.
type page struct {
	*analysis.Figure
	styles                   map[string]record.Style
	title, label, small, dim text.Style
	bounds                   bool // some value has bounds
	parts                    []part
	height                   vg.Length
}

// A part of the page is as wide as it, and draws itself into a canvas that is as
// high as told.
type part struct {
	height vg.Length
	draw   func(draw.Canvas)
}

// An entry is one mark of the legend with its text, and its place in the line.
type entry struct {
	plot.Legend
	left vg.Length
}

// controlsFoot stands in every figure that shows controls only.
const controlsFoot = "Built-in controls, not models of language or vision."

// arrange measures a figure out.
func arrange(f *analysis.Figure) *page {
	p := &page{
		Figure: f, styles: stylesOf(f),
		title: lettering(9.5, ink), label: lettering(8, ink), small: lettering(7, ink), dim: lettering(7, dim),
	}
	for _, panel := range f.Panels {
		for _, s := range panel.Series {
			p.bounds = p.bounds || slices.ContainsFunc(s.Points, func(pt analysis.Point) bool { return pt.XBounds != nil })
		}
	}
	p.addLegend()
	for first := 0; first < len(f.Panels); {
		last := first + 1
		for last < len(f.Panels) && !f.Panels[first].Wide && !f.Panels[last].Wide {
			last++
		}
		p.addPanels(f.Panels[first:last])
		first = last
	}
	p.addText(p.small, f.Incomplete)
	if f.Controls {
		p.addText(p.small, controlsFoot)
	}
	for _, foot := range f.Feet {
		p.addText(p.dim, foot)
	}
	p.height = 2 * margin
	for _, part := range p.parts {
		p.height += part.height
	}
	p.height = vg.Length(math.Ceil(p.height.Points()))
	return p
}

// draw draws the page.
func (p *page) draw(on vg.Canvas) {
	c := draw.NewCanvas(on, Width, p.height)
	c.SetColor(ground)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	for _, part := range p.parts {
		part.draw(draw.Crop(c, 0, 0, c.Size().Y-part.height, 0))
		c.Max.Y -= part.height
	}
}

func (p *page) addText(sty text.Style, txt string) {
	if txt == "" {
		return
	}
	txt = wrap(sty, txt, inner)
	sty.YAlign = text.YTop
	p.parts = append(p.parts, part{sty.Height(txt), func(c draw.Canvas) {
		c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, txt)
	}})
}

// addPanels puts panels into rows, as many in each as the figure asks for and as
// have room.
func (p *page) addPanels(panels []analysis.Panel) {
	across := min(p.Across, len(panels))
	block, roomy := p.block(panels, across)
	for ; !roomy; across-- {
		block, roomy = p.block(panels, across-1)
	}
	p.parts = append(p.parts, block)
}

// block measures panels out, across of them in a row, and reports whether their
// charts are wide enough.
func (p *page) block(panels []analysis.Panel, across int) (block part, roomy bool) {
	lanes := 1
	for i := range panels {
		lanes = max(lanes, len(panels[i].Series))
	}
	rows := (len(panels) + across - 1) / across
	plots := make([]*plot.Plot, rows*across) // nil at the end of a row that is not full
	for i := range panels {
		named := i%across > 0 && panels[i].Y.Label == panels[i-1].Y.Label && slices.Equal(panels[i].Categories, panels[i-1].Categories)
		plots[i] = p.chart(&panels[i], named, lanes)
	}
	align := func(c draw.Canvas) []draw.Canvas {
		tiles := draw.Tiles{Cols: across, Rows: rows, PadX: betweenX, PadY: betweenY}
		return slices.Concat(plot.Align(slices.Collect(slices.Chunk(plots, across)), tiles, c)...)[:len(panels)]
	}

	// How wide charts become does not depend on their height, nor on what is above
	// and below them; they show it in a space that is high enough. Beside names that
	// are wider than its place the library gives a chart any width, even none that
	// is a number.
	space := draw.NewCanvas(nil, inner, 10000)
	width, widest := vg.Length(inner), vg.Length(0)
	for i, cell := range align(space) {
		w := plots[i].DataCanvas(cell).Size().X
		width, widest = min(width, w), max(widest, w)
	}
	if across > 1 && !(width >= narrowest && widest-width < 1) {
		return block, false
	}
	height, highest := vg.Length(0), vg.Length(150)
	if rows > 3 {
		highest = 100 // they are so many that each must be low
	}
	for i := range panels {
		panel, pl := &panels[i], plots[i]
		pl.Title.Text = wrap(p.title, panel.Title, width)
		below := []string{wrap(p.small, panel.X.Label, width)}
		for _, remark := range panel.Remarks {
			below = append(below, wrap(p.small, remark, width))
		}
		pl.X.Label.Text = strings.Trim(strings.Join(below, "\n"), "\n")
		switch {
		case panel.Scene != nil:
			height = max(height, sideOf(panel.Scene, width)*vg.Length(len(panel.Scene.Rows)))
		case len(panel.Categories) > 0:
			height = max(height, vg.Length(pl.Y.Max-pl.Y.Min))
		default:
			height = max(height, min(width, highest))
		}
	}
	for i := range panels {
		if s := panels[i].Scene; s != nil {
			p.addLake(plots[i], s, width, height)
		}
	}
	missing := height - plots[0].DataCanvas(align(space)[0]).Size().Y
	return part{space.Max.Y + vg.Length(rows)*missing + betweenY, func(c draw.Canvas) {
		for i, cell := range align(draw.Crop(c, 0, 0, betweenY, 0)) {
			plots[i].Draw(cell)
		}
	}}, true
}

// addLegend names the series and routes of all panels, each once, in the order
// in which they come, line after line.
func (p *page) addLegend() {
	var lines [][]entry
	left := vg.Length(inner)
	seen := make(map[string]bool)
	add := func(key, name string, marks ...plot.Thumbnailer) {
		if name == "" || seen[key] {
			return
		}
		seen[key] = true
		name = short(p.label, name, inner-2*swatch)
		width := swatch + p.label.Width(" "+name)
		if left+width > inner {
			lines, left = append(lines, nil), 0
		}
		e := entry{plot.Legend{TextStyle: p.label, Top: true, Left: true, YPosition: draw.PosBottom, ThumbnailWidth: swatch}, left}
		e.Add(name, marks...)
		lines[len(lines)-1] = append(lines[len(lines)-1], e)
		left += width + entryGap
	}
	p.addLakeLegend(add)
	for _, panel := range p.Panels {
		for _, s := range panel.Series {
			if s.Mark == analysis.Bars && len(panel.Categories) > 0 {
				add(s.Key, s.Name, p.bar(s.Key, 0, 0))
			} else {
				add(s.Key, s.Name, p.point(s.Key, 0, 0, markRadius))
			}
		}
	}
	if p.bounds {
		add("bounds", "what it could be, had lost trials gone either way", &plotter.Line{LineStyle: p.boundsLine()})
	}
	for _, line := range lines {
		p.parts = append(p.parts, part{entryLine, func(c draw.Canvas) {
			for _, e := range line {
				e.Draw(draw.Crop(c, e.left, 0, 0, 0))
			}
		}})
	}
}
