package figure

import (
	"errors"
	"fmt"
	"math"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/lake"
)

// check refuses what cannot be drawn truthfully.
func check(f *analysis.Figure) error {
	if len(f.Panels) == 0 {
		return fmt.Errorf("%w; it needs %s", ErrEmpty, f.Need)
	}
	if f.Across < 1 {
		return fmt.Errorf("it has %d panels in a row", f.Across)
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		checkPanel := checkChart
		if p.Scene != nil {
			checkPanel = checkScene
		}
		if err := checkPanel(p); err != nil {
			return fmt.Errorf("panel %d (%s): %w", i+1, p.Title, err)
		}
	}
	return nil
}

func checkChart(p *analysis.Panel) error {
	rows := len(p.Categories)
	for _, a := range []analysis.Axis{p.X, p.Y} {
		if !(a.Min < a.Max) || math.IsInf(a.Max-a.Min, 0) {
			return fmt.Errorf("axis %q goes from %v to %v", a.Label, a.Min, a.Max)
		}
		if rows > 0 {
			break
		}
	}
	for _, s := range p.Series {
		for _, pt := range s.Points {
			if rows > 0 && (pt.Category < 0 || pt.Category >= rows) {
				return fmt.Errorf("series %s: a point in row %d of %d", s.Key, pt.Category, rows)
			}
			if rows == 0 && (pt.X == nil) != (pt.Y == nil) {
				return fmt.Errorf("series %s: a point with one of two values", s.Key)
			}
			err := errors.Join(on(p.X, only(pt.X)), on(p.X, pt.XRange), on(p.X, pt.XBounds), on(p.Y, only(pt.Y)), on(p.Y, pt.YRange))
			if err != nil {
				return fmt.Errorf("series %s: %w", s.Key, err)
			}
		}
	}
	for _, g := range p.Guides {
		for _, at := range g.Line {
			if sum := at[0] + at[1]; math.IsNaN(sum) || math.IsInf(sum, 0) {
				return fmt.Errorf("guide %s passes through %v", g.Label, at)
			}
		}
	}
	return nil
}

// on refuses what leaves an axis by more than the rounding of a sum.
func on(a analysis.Axis, s *analysis.Span) error {
	slack := 1e-9 * (a.Max - a.Min)
	if s == nil || a.Min-slack <= s.Low && s.Low <= s.High && s.High <= a.Max+slack {
		return nil
	}
	return fmt.Errorf("%v to %v is not within the axis %q", s.Low, s.High, a.Label)
}

// only is the span of one value.
func only(v *float64) *analysis.Span {
	if v == nil {
		return nil
	}
	return &analysis.Span{Low: *v, High: *v}
}

func checkScene(p *analysis.Panel) error {
	grid, err := lake.Parse(p.Scene.Rows)
	if err != nil {
		return err
	}
	for _, route := range p.Scene.Routes {
		if len(route.Cells) == 0 {
			return fmt.Errorf("route %s has no cells", route.Name)
		}
		for _, c := range route.Cells {
			if !grid.Contains(lake.Pos{Row: c[0], Col: c[1]}) {
				return fmt.Errorf("route %s leaves the lake at %v", route.Name, c)
			}
		}
	}
	return nil
}
