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

// A Theme is the paper, or the screen, that a figure is drawn on.
type Theme struct {
	Ground color.Color // behind everything
	Ink    color.Color // text, outlines, whiskers
	Faint  color.Color // grid lines
	Dim    color.Color // text that explains, bounds of what lost trials could change
}

// The themes. Light is for paper and for pages, dark pages included, which show
// it as a card.
var (
	Light = Theme{Ground: color.Gray{255}, Ink: color.Gray{25}, Faint: color.Gray{222}, Dim: color.Gray{80}}
	Dark  = Theme{Ground: color.Gray{24}, Ink: color.Gray{235}, Faint: color.Gray{66}, Dim: color.Gray{175}}
)

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

// numbered are the looks of a figure's own series, and of strategies of one's own.
var numbered = []record.Style{
	{Color: "#0072B2", Mark: "disc"},
	{Color: "#E69F00", Hatch: "rising", Mark: "triangle", Dashes: []float64{5, 2.5}},
	{Color: "#009E73", Hatch: "crossed", Mark: "diamond", Dashes: []float64{7, 2, 1.5, 2}},
	{Color: "#D55E00", Hatch: "falling", Mark: "square", Dashes: []float64{2.5, 2}},
	{Color: "#56B4E9", Hatch: "upright", Mark: "inverted", Dashes: []float64{1, 2}},
	{Color: black, Mark: "plus", Dashes: []float64{9, 3}},
	{Color: "#CC79A7", Hatch: "rising", Mark: "cross", Dashes: []float64{3, 1.5, 1, 1.5}},
	{Color: "#F0E442", Hatch: "falling", Mark: "star", Dashes: []float64{1, 1}},
}

// numberedStyle returns the n-th look, from 0. Each round through the list has
// other hatches and marks for its colours.
func numberedStyle(n int) record.Style {
	s := numbered[(n+3*(n/len(numbered)))%len(numbered)]
	s.Color = numbered[n%len(numbered)].Color
	return s
}

// stylesOf returns how the series and routes of a figure look, by key. A key
// that nobody knows, such as that of a strategy of one's own, takes the first
// colour and the first pattern of numbered that no other key of the figure has.
func stylesOf(f *analysis.Figure) map[string]record.Style {
	styles, taken := make(map[string]record.Style), make(map[string]bool)
	pattern := func(s record.Style) string { return fmt.Sprint(s.Hatch, s.Mark, s.Dashes) }
	set := func(key string, s record.Style) {
		styles[key], taken[s.Color], taken[pattern(s)] = s, true, true
	}
	var unknown []string
	add := func(key string, own record.Style) {
		if _, seen := styles[key]; seen {
			return
		}
		set(key, knownStyle(key, own))
		if styles[key].Color == "" {
			unknown = append(unknown, key)
		}
	}
	for _, p := range f.Panels {
		for _, s := range p.Series {
			add(s.Key, s.Style)
		}
		for _, r := range routesOf(p.Scene) {
			add(r.Key, r.Style)
		}
	}
	for i, key := range unknown {
		s := numberedStyle(len(numbered) + i)
		for _, n := range slices.Backward(numbered) {
			if !taken[n.Color] {
				s.Color = n.Color
			}
			if !taken[pattern(n)] {
				s.Hatch, s.Mark, s.Dashes = n.Hatch, n.Mark, n.Dashes
			}
		}
		set(key, s)
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
		return p.theme.Ink
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

// A glyph is a mark or its rim.
type glyph struct {
	mark string
	rim  bool
}

// DrawGlyph implements draw.GlyphDrawer.
func (g glyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for i, corner := range corners[g.mark] {
		if to := at.Add(vg.Point{X: corner[0] * sty.Radius, Y: corner[1] * sty.Radius}); i == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	if path == nil {
		path.Move(at.Add(vg.Point{X: sty.Radius}))
		path.Arc(at, sty.Radius, 0, 2*math.Pi)
	}
	path.Close()
	if g.rim {
		c.SetLineStyle(line(sty.Color, 0.6))
		c.Stroke(path)
	} else {
		c.Fill(path)
	}
}

// marked returns a mark and its rim.
func (p *page) marked(mark string, fill color.Color) [2]draw.GlyphStyle {
	return [2]draw.GlyphStyle{{Color: fill, Radius: 2.8, Shape: glyph{mark, false}}, {Color: p.theme.Ink, Radius: 2.8, Shape: glyph{mark, true}}}
}

// points plots marks of their own sizes.
func points(glyphs [2]draw.GlyphStyle, at plotter.XYs, radii []vg.Length) []plot.Plotter {
	var both []plot.Plotter
	for _, g := range glyphs {
		both = append(both, unpadded{&plotter.Scatter{XYs: at, GlyphStyleFunc: func(i int) draw.GlyphStyle {
			g.Radius = radii[i]
			return g
		}}})
	}
	return both
}

// unpadded is what a chart needs no more room for, so that charts beside each
// other are equally large.
type unpadded struct{ plot.Plotter }

// bars are the library's bars of a series, with the outline and the hatching of
// all of them as one path.
type bars struct {
	charts    []*plotter.BarChart
	fill, ink color.Color
	hatch     string
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var path vg.Path
	for _, chart := range b.charts {
		chart.Plot(c, p)
		ends := []vg.Length{inside(x(0), c.Min.X, c.Max.X), inside(x(chart.Values[0]), c.Min.X, c.Max.X)}
		path = append(path, b.lines(vg.Rectangle{
			Min: vg.Point{X: slices.Min(ends), Y: y(chart.XMin) - chart.Width/2},
			Max: vg.Point{X: slices.Max(ends), Y: y(chart.XMin) + chart.Width/2},
		})...)
	}
	c.SetLineStyle(line(b.ink, 0.45))
	c.Stroke(path)
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) {
	(&plotter.BarChart{Color: b.fill}).Thumbnail(c)
	c.SetLineStyle(line(b.ink, 0.45))
	c.Stroke(b.lines(c.Rectangle))
}

// hatches are how far the lines of a hatching lean, in bar heights.
var hatches = map[string][]vg.Length{"rising": {1}, "falling": {-1}, "crossed": {1, -1}, "upright": {0}}

// lines are the outline of a bar and its hatching.
func (b *bars) lines(r vg.Rectangle) vg.Path {
	const gap = 4
	path := r.Path()
	bar := draw.Canvas{Rectangle: r}
	height := r.Size().Y
	for _, lean := range hatches[b.hatch] {
		for x := r.Min.X - height + gap; x < r.Max.X+height; x += gap {
			for _, l := range bar.ClipLinesX([]vg.Point{{X: x, Y: r.Min.Y}, {X: x + lean*height, Y: r.Max.Y}}) {
				path.Move(l[0])
				path.Line(l[1])
			}
		}
	}
	return path
}

// sliver is how a bar of 0 shows: along the axis, on its positive side. Left of
// it, it would read as a negative value.
type sliver struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (sliver) DrawGlyph(c *draw.Canvas, _ draw.GlyphStyle, at vg.Point) {
	c.Fill(vg.Rectangle{Min: at.Sub(vg.Point{Y: barHeight / 2}), Max: at.Add(vg.Point{X: 1.5, Y: barHeight / 2})}.Path())
}
