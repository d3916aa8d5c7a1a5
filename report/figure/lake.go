package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// mostLake is the height of a lake in points.
const mostLake = 236

// The colours of a lake, paler than those that models see, so that routes stand
// out. They are the same in every theme, as a photograph is.
var (
	ice     = color.NRGBA{0xDE, 0xEB, 0xF5, 255}
	cellInk = color.Gray{26} // no colour of the screen
	cellGap = color.Gray{254}
	cells   = []struct {
		kind  rune
		color color.Color
	}{{'H', color.NRGBA{0x38, 0x38, 0x38, 255}}, {'S', color.NRGBA{0xA9, 0xD3, 0xB8, 255}}, {'G', color.NRGBA{0xEE, 0xD2, 0x8A, 255}}}
)

// The colours of what underlines cells whose entry is stale: by thaw, by freeze,
// which is broken into dashes.
var thawInk, freezeInk = color.NRGBA{0xE6, 0x9F, 0x00, 255}, color.NRGBA{0x00, 0x72, 0xB2, 255}

// ends are the marks of how routes end.
var ends = map[string]string{record.Death: "cross", record.Success: "disc", record.Timeout: "square"}

// sideOf returns the side of a lake's cells in a chart of a width.
func sideOf(s *analysis.Scene, width vg.Length) vg.Length {
	return min(width/vg.Length(len(s.Rows[0])), mostLake/vg.Length(len(s.Rows)))
}

// addLake fills a chart with a lake and its routes. A cell is 1 by 1, and the
// axes reach as far as the chart is larger than the lake.
func (p *page) addLake(pl *plot.Plot, s *analysis.Scene, width, height vg.Length) {
	side := sideOf(s, width)
	rows, cols := float64(len(s.Rows)), float64(len(s.Rows[0]))
	pl.Add(&plotter.Polygon{Color: ice, XYs: []plotter.XYs{box(0, 0, cols, rows)}})
	var letters []plot.Plotter
	kinds := map[rune][]plotter.XYs{}
	for r, row := range s.Rows {
		for c, kind := range row {
			left, top := float64(c), float64(r)
			kinds[kind] = append(kinds[kind], box(left, top, left+1, top+1))
			if side >= 7 && (kind == 'S' || kind == 'G') { // in the corner: routes pass through the middle
				letters = append(letters, words(lettering(min(9, 0.42*side), cellInk), left+0.05, -top-0.25, 0, string(kind)))
			}
		}
	}
	for _, k := range cells {
		pl.Add(&plotter.Polygon{Color: k.color, XYs: kinds[k.kind]})
	}
	var lines []plotter.XYs
	for r := 0.0; r < rows; r++ {
		lines = append(lines, box(0, r, cols, r+1))
	}
	for c := 0.0; c < cols; c++ {
		lines = append(lines, box(c, 0, c+1, rows))
	}
	pl.Add(&plotter.Polygon{XYs: lines, LineStyle: line(cellGap, min(0.5, 0.08*side))}) // finer where cells are small, or the lake would be white

	pl.Add(&plotter.Polygon{Color: thawInk, XYs: underlines(s.Thaw, side, 0.8)}, &plotter.Polygon{Color: freezeInk, XYs: underlines(s.Freeze, side, 0.16)})
	pl.Add(letters...)
	for i, r := range s.Routes {
		// A little aside, so that two of them show where they run together.
		shift := (float64(i) - float64(len(s.Routes)-1)/2) * min(4.5/side.Points(), 0.24)
		var at plotter.XYs
		for _, c := range r.Cells {
			at = append(at, plotter.XY{X: float64(c[1]) + 0.5 + shift, Y: -(float64(c[0]) + 0.5 + shift)})
		}
		for _, style := range p.routeLines(r.Key, side) {
			pl.Add(&plotter.Line{XYs: at, LineStyle: style})
		}
		end := at[len(at)-1]
		pl.Add(p.mark(ends[r.Outcome], p.color(r.Key), end.X, end.Y, inside(0.24*side, 2.2, 5)))
	}
	pl.X.Min, pl.X.Max = 0, float64(width/side)
	pl.Y.Min, pl.Y.Max = -float64(height/side), 0
}

// box is a rectangle of a lake, whose rows go down.
func box(left, top, right, bottom float64) plotter.XYs {
	return plotter.XYs{{X: left, Y: -top}, {X: right, Y: -top}, {X: right, Y: -bottom}, {X: left, Y: -bottom}}
}

// underlines marks cells at their lower edge, by dashes as long as told.
func underlines(cells []record.Pos, side vg.Length, dash float64) (boxes []plotter.XYs) {
	width := max(0.2, 1.2/side.Points())
	for _, cell := range cells {
		middle := float64(cell[0]) + 0.82
		for at := 0.1; at < 0.8; at += dash + 0.1 {
			left := float64(cell[1]) + at
			boxes = append(boxes, box(left, middle-width/2, left+dash, middle+width/2))
		}
	}
	return boxes
}

// routeLines are how a route is drawn: cased, so that pale colours show on ice.
func (p *page) routeLines(key string, side vg.Length) []draw.LineStyle {
	width := min(1.9, 0.4*side)
	return []draw.LineStyle{line(cellInk, 1.6*width), line(p.color(key), width, p.styles[key].Dashes...)}
}

// addLakeLegend adds what drawings of lakes need: routes, how they end, stale
// cells.
func (p *page) addLakeLegend(add func(key, name string, marks ...plot.Thumbnailer)) {
	var all analysis.Scene
	for _, panel := range p.Panels {
		if s := panel.Scene; s != nil {
			all.Routes = append(all.Routes, s.Routes...)
			all.Thaw, all.Freeze = append(all.Thaw, s.Thaw...), append(all.Freeze, s.Freeze...)
		}
	}
	for _, r := range all.Routes {
		lines := p.routeLines(r.Key, 8)
		add("route "+r.Key, r.Name, &plotter.Line{LineStyle: lines[0]}, &plotter.Line{LineStyle: lines[1]})
	}
	for _, o := range record.Outcomes {
		if slices.ContainsFunc(all.Routes, func(r analysis.Route) bool { return r.Outcome == o.Name }) {
			add("end "+o.Name, record.Outcomes.Legend(o.Name), p.mark(ends[o.Name], dim, 0, 0, markRadius))
		}
	}
	if len(all.Thaw) > 0 {
		add("stale thaw", "stale: thaw (SAFE, now a hole)", &plotter.Polygon{Color: thawInk})
	}
	if len(all.Freeze) > 0 {
		add("stale freeze", "stale: freeze (DANGER, now safe)", &plotter.Line{LineStyle: line(freezeInk, 3.2, 2.6, 1.6)})
	}
}
