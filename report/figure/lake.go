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
	cellInk = color.Gray{25}
	cells   = []struct {
		kind  byte
		color color.Color
	}{{'H', color.NRGBA{0x38, 0x38, 0x38, 255}}, {'S', color.NRGBA{0xA9, 0xD3, 0xB8, 255}}, {'G', color.NRGBA{0xEE, 0xD2, 0x8A, 255}}}
)

// staleLines underline cells whose entry is stale: by thaw, by freeze.
func staleLines(side vg.Length) [2]draw.LineStyle {
	width := max(1.2, 0.2*side)
	return [2]draw.LineStyle{line(color.NRGBA{0xE6, 0x9F, 0x00, 255}, width), line(color.NRGBA{0x00, 0x72, 0xB2, 255}, width, 0.16*side.Points(), 0.1*side.Points())}
}

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
	pl.Add(&lake{s, side})
	for i, r := range s.Routes {
		// A little aside, so that two of them show where they run together.
		shift := (float64(i) - float64(len(s.Routes)-1)/2) * min(4.5/side.Points(), 0.24)
		at := turns(r.Cells, shift)
		for _, style := range p.routeLines(r.Key, side) {
			pl.Add(&plotter.Line{XYs: at, LineStyle: style})
		}
		pl.Add(unpadded{p.points(ends[r.Outcome], p.color(r.Key), at[len(at)-1:], []vg.Length{inside(0.24*side, 2.2, 5)})})
	}
	pl.X.Min, pl.X.Max = 0, float64(width/side)
	pl.Y.Min, pl.Y.Max = -float64(height/side), 0
}

// turns returns where a route turns: a long one crosses many cells straight on.
func turns(cells []record.Pos, shift float64) (at plotter.XYs) {
	for i, c := range cells {
		if i > 0 && i < len(cells)-1 {
			before, after := cells[i-1], cells[i+1]
			if c[0]-before[0] == after[0]-c[0] && c[1]-before[1] == after[1]-c[1] {
				continue
			}
		}
		at = append(at, plotter.XY{X: float64(c[1]) + 0.5 + shift, Y: -(float64(c[0]) + 0.5 + shift)})
	}
	return at
}

// routeLines are how a route is drawn: cased, so that pale colours show on ice.
func (p *page) routeLines(key string, side vg.Length) []draw.LineStyle {
	width := min(1.9, 0.4*side)
	return []draw.LineStyle{line(cellInk, 1.6*width), line(p.color(key), width, p.styles[key].Dashes...)}
}

// A lake draws the cells of a scene, and underlines those whose entry is stale.
// All that look the same are one path, neighbours one line of it: a lake may
// have thousands of cells, and a figure several lakes.
type lake struct {
	*analysis.Scene
	side vg.Length
}

// Plot implements plot.Plotter.
func (l *lake) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	rows, cols := len(l.Rows), len(l.Rows[0])
	stroke := func(path *vg.Path, row, from, to float64) {
		path.Move(vg.Point{X: x(from), Y: y(-row)})
		path.Line(vg.Point{X: x(to), Y: y(-row)})
	}
	c.SetColor(ice)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x(0), Y: y(float64(-rows))}, Max: vg.Point{X: x(float64(cols)), Y: y(0)}}.Path())
	for _, k := range cells {
		var runs vg.Path
		for r, row := range l.Rows {
			for from := 0; from < cols; from++ {
				to := from
				for to < cols && row[to] == k.kind {
					to++
				}
				if to > from {
					stroke(&runs, float64(r)+0.5, float64(from), float64(to))
					from = to
				}
			}
		}
		c.SetLineStyle(line(k.color, l.side))
		c.Stroke(runs)
	}
	var between vg.Path
	for r := range rows + 1 {
		stroke(&between, float64(r), 0, float64(cols))
	}
	for col := range cols + 1 {
		between.Move(vg.Point{X: x(float64(col)), Y: y(0)})
		between.Line(vg.Point{X: x(float64(col)), Y: y(float64(-rows))})
	}
	c.SetLineStyle(line(color.White, min(0.5, 0.08*l.side))) // finer where cells are small, or the lake would be white
	c.Stroke(between)
	for i, cells := range [][]record.Pos{l.Thaw, l.Freeze} {
		var path vg.Path
		for _, cell := range cells {
			stroke(&path, float64(cell[0])+0.82, float64(cell[1])+0.1, float64(cell[1])+0.9)
		}
		c.SetLineStyle(staleLines(l.side)[i])
		c.Stroke(path)
	}
	letter := lettering(min(9, 0.42*l.side), cellInk)
	for r, row := range l.Rows {
		for col := range cols {
			if kind := row[col : col+1]; l.side >= 7 && (kind == "S" || kind == "G") {
				write(c, letter, x(float64(col)+0.08), y(-float64(r)-0.04), kind) // in the corner: routes pass through the middle
			}
		}
	}
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
			add("end "+o.Name, record.Outcomes.Legend(o.Name), p.points(ends[o.Name], p.theme.Dim, nil, nil))
		}
	}
	if len(all.Thaw) > 0 {
		add("stale thaw", "stale: thaw (SAFE, now a hole)", &plotter.Line{LineStyle: staleLines(16)[0]})
	}
	if len(all.Freeze) > 0 {
		add("stale freeze", "stale: freeze (DANGER, now safe)", &plotter.Line{LineStyle: staleLines(16)[1]})
	}
}
