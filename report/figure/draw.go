// Package figure draws the figures of analysis with gonum's plotting library,
// for a page (SVG), a screen (PNG) and a paper (PDF). It stands beside the
// tables of report, at the end of the data flow.
//
// The same data give the same bytes on every machine: fonts are the library's
// own, files hold no date, nothing is drawn in the order of a map. What would
// leave its axes, or is no number, is an error and never half a drawing.
// Nothing rests on colour alone: bars differ in hatching, points in shape,
// routes in dashes, and all of them in lightness.
package figure

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/spatialstale/spatialstale/analysis"
)

// Formats are the forms in which figures are drawn.
var Formats = []string{"svg", "png", "pdf"}

// Width is the width of every figure in points: seven inches, a page of a paper
// between its margins.
const Width = 7 * 72

// dotsPerInch is the resolution of PNG files.
const dotsPerInch = 200

// ErrEmpty is the error for a figure without panels: its Need says what to run.
var ErrEmpty = errors.New("the figure has no data")

// Draw writes a figure as "svg", "png" or "pdf", Width points wide and as high
// as it must be. It is an error when the figure has no panels (ErrEmpty), when
// a value is not finite or lies outside its axis, and when the format is none
// of Formats; otherwise errors are those of w.
func Draw(w io.Writer, f *analysis.Figure, format string, theme Theme) error {
	if err := check(f); err != nil {
		return fmt.Errorf("figure %s: %w", f.ID, err)
	}
	l := arrange(f, theme)
	width, height := vg.Length(Width), vg.Length(l.height)
	switch format {
	case "svg":
		c := vgsvg.New(width, height)
		l.draw(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return err
		}
		return writeSVG(w, b.String(), f, l.height)
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
		l.draw(c)
		_, err := c.WriteTo(w)
		return err
	case "pdf":
		withoutDates()
		c := vgpdf.New(width, height)
		l.draw(latin{c})
		_, err := c.WriteTo(w)
		return err
	}
	return fmt.Errorf("unknown format %q of figures; there are %v", format, Formats)
}

// withoutDates gives PDF files a fixed date and order, so that they are the
// same whenever they are made.
var withoutDates = sync.OnceFunc(func() {
	none := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	fpdf.SetDefaultCreationDate(none)
	fpdf.SetDefaultModificationDate(none)
	fpdf.SetDefaultCatalogSort(true)
})

// latin writes text for the library's PDF, whose fonts hold the letters of
// Windows-1252 only: the minus sign becomes a dash of the same width, and a
// letter that the page has not becomes a question mark.
type latin struct{ *vgpdf.Canvas }

// svgHead is what the library writes before the drawing.
var svgHead = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)

// writeSVG gives the library's SVG a head that a page can embed as it is (no
// prolog, scalable, named for people who hear it) and fonts that stand in with
// the same widths where Liberation Sans is not installed.
func writeSVG(w io.Writer, svg string, f *analysis.Figure, height float64) error {
	title := html.EscapeString(f.Title)
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%dpt" height="%gpt" viewBox="0 0 %d %g" role="img" aria-label="%s"><title>%s</title>`,
		Width, height, Width, height, title, title)
	svg = svgHead.ReplaceAllLiteralString(svg, head)
	svg = fontNames.Replace(svg)
	_, err := io.WriteString(w, svg)
	return err
}

var fontNames = strings.NewReplacer(
	"font-family:Liberation Sans;font-variant:normal;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;",
	"font-weight:normal;font-style:normal;", "",
	"font-style:normal;", "",
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
		if err := checkPanel(p); err != nil {
			return fmt.Errorf("panel %d (%s): %w", i+1, p.Title, err)
		}
	}
	return nil
}

func checkPanel(p *analysis.Panel) error {
	if p.Scene != nil {
		return checkScene(p.Scene)
	}
	axes := []*analysis.Axis{&p.X}
	if len(p.Categories) == 0 {
		axes = append(axes, &p.Y)
	}
	for _, a := range axes {
		if !finite(a.Min) || !finite(a.Max) || a.Min >= a.Max {
			return fmt.Errorf("axis %q goes from %v to %v", a.Label, a.Min, a.Max)
		}
	}
	for _, s := range p.Series {
		for _, pt := range s.Points {
			if len(p.Categories) > 0 && (pt.Category < 0 || pt.Category >= len(p.Categories)) {
				return fmt.Errorf("series %s: a point in row %d of %d", s.Key, pt.Category, len(p.Categories))
			}
			if len(p.Categories) == 0 && (pt.X == nil) != (pt.Y == nil) {
				return fmt.Errorf("series %s: a point with one of two values", s.Key)
			}
			for _, v := range []struct {
				axis  *analysis.Axis
				value *float64
				whole *analysis.Span
			}{{&p.X, pt.X, pt.XRange}, {&p.X, pt.X, pt.XBounds}, {&p.Y, pt.Y, pt.YRange}} {
				if v.value != nil && !within(*v.value, v.axis) {
					return fmt.Errorf("series %s: %v is outside the axis %q", s.Key, *v.value, v.axis.Label)
				}
				if v.whole != nil && (!within(v.whole.Low, v.axis) || !within(v.whole.High, v.axis) || v.whole.Low > v.whole.High) {
					return fmt.Errorf("series %s: the interval %v to %v is outside the axis %q", s.Key, v.whole.Low, v.whole.High, v.axis.Label)
				}
			}
		}
	}
	for _, g := range p.Guides {
		for _, at := range g.Line {
			if !finite(at[0]) || !finite(at[1]) {
				return fmt.Errorf("guide %s passes through %v", g.Label, at)
			}
		}
	}
	return nil
}

func checkScene(s *analysis.Scene) error {
	if len(s.Rows) == 0 || len(s.Rows[0]) == 0 {
		return errors.New("the lake has no cells")
	}
	rows, cols := len(s.Rows), len(s.Rows[0])
	for _, r := range s.Rows {
		if len(r) != cols {
			return errors.New("the rows of the lake differ in length")
		}
	}
	for _, route := range s.Routes {
		if len(route.Cells) == 0 {
			return fmt.Errorf("route %s has no cells", route.Name)
		}
		for _, c := range route.Cells {
			if c[0] < 0 || c[0] >= rows || c[1] < 0 || c[1] >= cols {
				return fmt.Errorf("route %s leaves the lake at %v", route.Name, c)
			}
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// within allows for the rounding of a sum.
func within(x float64, a *analysis.Axis) bool {
	slack := 1e-9 * (a.Max - a.Min)
	return finite(x) && a.Min-slack <= x && x <= a.Max+slack
}
