package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A Theme says what an SVG drawing does on a dark screen.
type Theme int

// The themes.
const (
	Light  Theme = iota // it stays as it is, for files and for paper
	Screen              // it follows the screen's setting, for a page
)

// The colours of what is no data.
var (
	ground = color.Gray{255} // behind everything
	ink    = color.Gray{25}  // text, outlines, whiskers
	faint  = color.Gray{222} // grid lines
	dim    = color.Gray{80}  // text that explains, bounds of what lost trials could change
)

// onDark is what these colours are on a dark screen. The colours of data stay, and
// so does a lake, as a photograph does.
var onDark = map[color.Gray]color.Gray{ground: {24}, ink: {235}, faint: {66}, dim: {175}}

// vocabularies are where the look of a key is found, unless its series brings
// its own.
var vocabularies = []record.Vocabulary{record.Strategies, record.Modalities, record.Regimes, record.Framings, record.Causes, record.Verdicts, record.Policies, record.Outcomes}

// others are the looks of keys that are no term of a vocabulary. The colours are
// Okabe and Ito's (2008), which people of all kinds of sight can tell apart;
// black is the ink of the theme.
var others = map[string]record.Style{
	"thaw":       {Color: "#D55E00", Mark: "disc"},
	"freeze":     {Color: "#56B4E9", Hatch: "rising", Mark: "square"},
	"safe":       {Color: "#D4D4D4", Mark: "triangle"},
	"danger":     {Color: "#8C8C8C", Hatch: "falling", Mark: "diamond"},
	"difference": {Color: black, Mark: "disc"},
	"ours":       {Color: "#0072B2", Mark: "disc"},
	"paper":      {Color: "#E69F00", Mark: "diamond"},
	"seeds":      {Color: "#56B4E9", Mark: "disc"},
}

const black = "#000000"

// numbered are the looks of a figure's own series. From the firstFree on they
// have colours and patterns that no strategy of the vocabulary has.
var numbered = []record.Style{
	{Color: "#0072B2", Mark: "disc"},
	{Color: "#D55E00", Hatch: "rising", Mark: "triangle", Dashes: []float64{5, 2.5}},
	{Color: "#009E73", Hatch: "crossed", Mark: "diamond", Dashes: []float64{7, 2, 1.5, 2}},
	{Color: "#F0E442", Hatch: "falling", Mark: "inverted", Dashes: []float64{2.5, 2}},
	{Color: "#CC79A7", Hatch: "upright", Mark: "square", Dashes: []float64{3, 1.5, 1, 1.5}},
	{Color: "#E69F00", Hatch: "falling", Mark: "cross", Dashes: []float64{9, 3}},
	{Color: "#56B4E9", Hatch: "upright", Mark: "star", Dashes: []float64{1, 1}},
	{Color: black, Mark: "plus", Dashes: []float64{4, 1, 1, 1}},
}

const firstFree = 5

// numberedStyle returns the n-th look, from 0. Each round through the list has
// other patterns for its colours.
func numberedStyle(n int) record.Style {
	s := numbered[(n+3*(n/len(numbered)))%len(numbered)]
	s.Color = numbered[n%len(numbered)].Color
	return s
}

// stylesOf returns how the series and routes of a figure look, by key. A key
// that nobody knows, such as that of a strategy of one's own, has the look of its
// place among such keys.
func stylesOf(f *analysis.Figure) map[string]record.Style {
	styles := make(map[string]record.Style)
	unknown := firstFree
	add := func(key string, own record.Style) {
		if _, seen := styles[key]; seen {
			return
		}
		styles[key] = knownStyle(key, own)
		if styles[key].Color == "" {
			styles[key] = numberedStyle(unknown)
			unknown++
		}
	}
	for _, p := range f.Panels {
		for _, s := range p.Series {
			add(s.Key, s.Style)
		}
		if p.Scene != nil {
			for _, r := range p.Scene.Routes {
				add(r.Key, r.Style)
			}
		}
	}
	return styles
}

// knownStyle returns the look of a key, none for one that nobody knows.
func knownStyle(key string, own record.Style) record.Style {
	if own.Color != "" {
		return own
	}
	for _, v := range vocabularies {
		if t, _ := v.Find(key); t.Style.Color != "" {
			return t.Style
		}
	}
	if n, err := strconv.Atoi(key); err == nil && n >= 1 {
		return numberedStyle(n - 1)
	}
	return others[key]
}

// color returns the colour of a key.
func (p *page) color(key string) color.Color {
	c := color.NRGBA{A: 255}
	if _, err := fmt.Sscanf(p.styles[key].Color, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil || p.styles[key].Color == black {
		return ink
	}
	return c
}

// line returns a line style with dashes in points.
func line(c color.Color, width vg.Length, dashes ...float64) draw.LineStyle {
	s := draw.LineStyle{Color: c, Width: width}
	for _, d := range dashes {
		s.Dashes = append(s.Dashes, vg.Length(d))
	}
	return s
}

// corners are those of marks, in radii from their middle; a disc has none.
// Polygons reach further than it, so that they look as large.
var corners = map[string][][2]vg.Length{
	"square":   {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
	"diamond":  {{-1.25, 0}, {0, -1.25}, {1.25, 0}, {0, 1.25}},
	"triangle": {{-1.1, -0.8}, {1.1, -0.8}, {0, 1.15}},
	"inverted": {{-1.1, 0.8}, {1.1, 0.8}, {0, -1.15}},
	"plus":     {{-0.3, -1.2}, {0.3, -1.2}, {0.3, -0.3}, {1.2, -0.3}, {1.2, 0.3}, {0.3, 0.3}, {0.3, 1.2}, {-0.3, 1.2}, {-0.3, 0.3}, {-1.2, 0.3}, {-1.2, -0.3}, {-0.3, -0.3}},
	"cross":    {{-0.6, -1.1}, {0, -0.5}, {0.6, -1.1}, {1.1, -0.6}, {0.5, 0}, {1.1, 0.6}, {0.6, 1.1}, {0, 0.5}, {-0.6, 1.1}, {-1.1, 0.6}, {-0.5, 0}, {-1.1, -0.6}},
	"star":     {{0, 1.3}, {-0.35, 0.45}, {-1.2, 0.4}, {-0.55, -0.2}, {-0.75, -1.1}, {0, -0.6}, {0.75, -1.1}, {0.55, -0.2}, {1.2, 0.4}, {0.35, 0.45}},
}

// A glyph is a mark with a rim.
type glyph struct {
	mark string
	rim  color.Color
}

// DrawGlyph implements draw.GlyphDrawer.
func (g glyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(at.Add(vg.Point{X: sty.Radius}))
	path.Arc(at, sty.Radius, 0, 2*math.Pi)
	for i, corner := range corners[g.mark] {
		if to := at.Add(vg.Point{X: corner[0] * sty.Radius, Y: corner[1] * sty.Radius}); i == 0 {
			path = nil
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	path.Close()
	c.SetColor(sty.Color)
	c.Fill(path)
	c.SetLineStyle(line(g.rim, 0.6))
	c.Stroke(path)
}

// point plots the mark of a key; its thumbnail is as large as most points are.
func (p *page) point(key string, x, y float64, radius vg.Length) *plotter.Scatter {
	return p.mark(p.styles[key].Mark, p.color(key), x, y, radius)
}

func (p *page) mark(name string, fill color.Color, x, y float64, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: plotter.XYs{{X: x, Y: y}}, GlyphStyle: draw.GlyphStyle{Color: fill, Radius: radius, Shape: glyph{name, ink}}}
}

// A bar is the library's with a hatching.
type bar struct {
	*plotter.BarChart
	hatch string
}

// bar returns a bar from 0 to x at a place of the vertical axis.
func (p *page) bar(key string, x, y float64) *bar {
	return &bar{&plotter.BarChart{Values: plotter.Values{x}, XMin: y, Width: barHeight, Color: p.color(key), LineStyle: line(ink, 0.45), Horizontal: true}, p.styles[key].Hatch}
}

// Plot implements plot.Plotter.
func (b *bar) Plot(c draw.Canvas, p *plot.Plot) {
	b.BarChart.Plot(c, p)
	x, y := p.Transforms(&c)
	ends := []vg.Length{inside(x(0), c.Min.X, c.Max.X), inside(x(b.Values[0]), c.Min.X, c.Max.X)}
	c.Rectangle = vg.Rectangle{
		Min: vg.Point{X: slices.Min(ends), Y: y(b.XMin) - b.Width/2},
		Max: vg.Point{X: slices.Max(ends), Y: y(b.XMin) + b.Width/2},
	}
	b.drawHatch(c)
}

// Thumbnail implements plot.Thumbnailer.
func (b *bar) Thumbnail(c *draw.Canvas) {
	b.BarChart.Thumbnail(c)
	b.drawHatch(*c)
}

// hatches are how far the lines of a hatching lean, in bar heights.
var hatches = map[string][]vg.Length{"rising": {1}, "falling": {-1}, "crossed": {1, -1}, "upright": {0}}

// drawHatch hatches a rectangle, with one path, as there are many lines.
func (b *bar) drawHatch(c draw.Canvas) {
	var path vg.Path
	height := c.Size().Y
	for _, lean := range hatches[b.hatch] {
		for x := c.Min.X - height; x < c.Max.X+height; x += height / 2 {
			for _, part := range c.ClipLinesX([]vg.Point{{X: x, Y: c.Min.Y}, {X: x + lean*height, Y: c.Max.Y}}) {
				path.Move(part[0])
				path.Line(part[1])
			}
		}
	}
	c.SetLineStyle(b.LineStyle)
	c.Stroke(path)
}
