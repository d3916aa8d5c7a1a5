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
	betweenY  = 8  // rows of panels
	swatch    = 16 // width of a legend's mark
	entryGap  = 13 // between entries of the legend
	entryLine = 12
	narrowest = 48 // chart; where panels would be narrower, fewer are in a row
)

// A page is a figure measured out.
type page struct {
	*analysis.Figure
	theme                    Theme
	styles                   map[string]record.Style
	title, label, small, dim text.Style
	bounds                   bool // some value has bounds
	legend                   []entry
	legendHeight             vg.Length
	blocks                   []*block
	warning, feet            string // below the panels, broken into lines
	height                   vg.Length
}

// An entry is one mark of the legend with its text, and its place.
type entry struct {
	plot.Legend
	left, down vg.Length
}

// A block is rows of panels that are equally wide and high.
type block struct {
	panels                  []*analysis.Panel
	plots                   [][]*plot.Plot
	tiles                   draw.Tiles
	titles, labels, remarks []string // of each panel, broken into lines
	height                  vg.Length
}

// controlsFoot stands in every figure that shows controls only.
const controlsFoot = "Built-in controls, not models of language or vision."

// arrange measures a figure out.
func arrange(f *analysis.Figure, theme Theme) *page {
	p := &page{
		Figure: f, theme: theme, styles: stylesOf(f),
		title: lettering(9.5, theme.Ink), label: lettering(8, theme.Ink), small: lettering(7, theme.Ink), dim: lettering(7, theme.Dim),
	}
	for _, panel := range f.Panels {
		for _, s := range panel.Series {
			p.bounds = p.bounds || slices.ContainsFunc(s.Points, func(pt analysis.Point) bool { return pt.XBounds != nil })
		}
	}
	p.addLegend()
	p.height = 2*margin + p.legendHeight
	for first := 0; first < len(f.Panels); {
		// A wide panel is a block by itself.
		last := first + 1
		for last < len(f.Panels) && !f.Panels[first].Wide && !f.Panels[last].Wide {
			last++
		}
		across := min(f.Across, last-first)
		b := p.block(f.Panels[first:last], across)
		for ; b == nil; across-- {
			b = p.block(f.Panels[first:last], across-1)
		}
		p.blocks = append(p.blocks, b)
		p.height += b.height + betweenY
		first = last
	}
	p.warning = wrap(p.small, f.Incomplete, inner)
	if f.Controls {
		p.warning = strings.TrimPrefix(p.warning+"\n"+controlsFoot, "\n")
	}
	var feet []string
	for _, foot := range f.Feet {
		feet = append(feet, wrap(p.dim, foot, inner))
	}
	p.feet = strings.Join(feet, "\n")
	p.height += heightOf(p.small, p.warning) + heightOf(p.dim, p.feet)
	p.height = vg.Length(math.Ceil(p.height.Points()))
	return p
}

// block measures panels out, across of them in a row; nil where they have no
// room.
func (p *page) block(panels []analysis.Panel, across int) *block {
	rows := (len(panels) + across - 1) / across
	b := &block{plots: make([][]*plot.Plot, rows), tiles: draw.Tiles{Cols: across, Rows: rows, PadX: betweenX}}
	lanes := 1
	for i := range panels {
		b.panels = append(b.panels, &panels[i])
		lanes = max(lanes, len(panels[i].Series))
	}
	for i := range rows * across {
		var pl *plot.Plot
		if i < len(panels) {
			named := i%across > 0 && panels[i].Y.Label == panels[i-1].Y.Label && slices.Equal(panels[i].Categories, panels[i-1].Categories)
			pl = p.chart(b.panels[i], named, lanes)
		}
		b.plots[i/across] = append(b.plots[i/across], pl)
	}

	// How wide charts become does not depend on their height, nor on what is above
	// and below them; they show it in a space that is high enough.
	space := draw.NewCanvas(nil, inner, 10000)
	placed := b.align(space)
	width := b.plots[0][0].DataCanvas(placed[0][0]).Size().X
	room := width
	for i := range panels {
		// Beside names that are wider than its place the library gives a chart any
		// width, even none that is a number.
		cell, chart := placed[i/across][i%across], b.plots[i/across][i%across].DataCanvas(placed[i/across][i%across])
		if w := chart.Size().X; across > 1 && !(w >= narrowest && w-width < 1 && width-w < 1) {
			return nil
		}
		room = max(room, width+cell.Max.X-chart.Max.X) // with the labels beside it
	}
	height, highest := vg.Length(0), vg.Length(150)
	if rows > 3 {
		highest = 100 // they are so many that each must be low
	}
	for i, panel := range b.panels {
		pl := b.plots[i/across][i%across]
		b.titles = append(b.titles, wrap(p.title, panel.Title, room))
		b.labels = append(b.labels, wrap(p.label, panel.X.Label, width))
		remarks := slices.Clone(panel.Remarks)
		for j, r := range remarks {
			remarks[j] = wrap(p.dim, r, room)
		}
		b.remarks = append(b.remarks, strings.Join(remarks, "\n"))
		b.tiles.PadTop = max(b.tiles.PadTop, heightOf(p.title, b.titles[i])+2)
		b.tiles.PadBottom = max(b.tiles.PadBottom, heightOf(p.label, b.labels[i])+heightOf(p.dim, b.remarks[i])+2)
		switch {
		case panel.Scene != nil:
			height = max(height, sideOf(panel.Scene, width)*vg.Length(len(panel.Scene.Rows)))
		case len(panel.Categories) > 0:
			height = max(height, vg.Length(pl.Y.Max-pl.Y.Min))
		default:
			height = max(height, min(width, highest))
		}
	}
	for i, panel := range b.panels {
		if panel.Scene != nil {
			p.addLake(b.plots[i/across][i%across], panel.Scene, width, height)
		}
	}
	b.tiles.PadY = b.tiles.PadTop + b.tiles.PadBottom + betweenY
	chart := b.plots[0][0].DataCanvas(b.align(space)[0][0])
	b.height = space.Max.Y + vg.Length(rows)*(height-chart.Size().Y)
	return b
}

// align divides a canvas among the plots.
func (b *block) align(c draw.Canvas) [][]draw.Canvas { return plot.Align(b.plots, b.tiles, c) }

// draw draws the page.
func (p *page) draw(on vg.Canvas) {
	m := &merger{Canvas: on}
	c := draw.NewCanvas(m, Width, p.height)
	c.SetColor(p.theme.Ground)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	for _, e := range p.legend {
		e.Draw(draw.Crop(c, e.left, 0, 0, -e.down))
	}
	c.Max.Y -= p.legendHeight
	middle := p.label
	middle.XAlign = text.XCenter
	for _, b := range p.blocks {
		c.Max.Y -= b.height
		cells := b.align(draw.Crop(c, 0, 0, c.Max.Y-c.Min.Y, b.height))
		for i := range b.panels {
			cell, pl := cells[i/b.tiles.Cols][i%b.tiles.Cols], b.plots[i/b.tiles.Cols][i%b.tiles.Cols]
			pl.Draw(cell)
			chart := pl.DataCanvas(cell)
			write(c, p.title, chart.Min.X, cell.Max.Y+heightOf(p.title, b.titles[i])+2, b.titles[i])
			write(c, middle, chart.Center().X, cell.Min.Y, b.labels[i])
			write(c, p.dim, chart.Min.X, cell.Min.Y-heightOf(p.label, b.labels[i])-2, b.remarks[i])
		}
		c.Max.Y -= betweenY
	}
	write(c, p.small, c.Min.X, c.Max.Y, p.warning)
	write(c, p.dim, c.Min.X, c.Max.Y-heightOf(p.small, p.warning), p.feet)
	m.flush()
}

// addLegend names the series and routes of all panels, each once, in the order
// in which they come, line after line.
func (p *page) addLegend() {
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
			left = 0
			p.legendHeight += entryLine
		}
		e := entry{plot.Legend{TextStyle: p.label, Top: true, Left: true, YPosition: draw.PosBottom, ThumbnailWidth: swatch}, left, p.legendHeight - entryLine}
		e.Add(name, marks...)
		p.legend = append(p.legend, e)
		left += width + entryGap
	}
	p.addLakeLegend(add)
	for _, panel := range p.Panels {
		for _, s := range panel.Series {
			if s.Mark == analysis.Bars && len(panel.Categories) > 0 {
				add(s.Key, s.Name, p.bar(s.Key))
			} else {
				add(s.Key, s.Name, p.points(p.styles[s.Key].Mark, p.color(s.Key), nil, nil))
			}
		}
	}
	if p.bounds {
		add("bounds", "what it could be, had lost trials gone either way", &plotter.Line{LineStyle: p.boundsLine()})
	}
	if len(p.legend) > 0 {
		p.legendHeight += 2
	}
}
