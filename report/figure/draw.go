// Package figure draws the figures of analysis with gonum's plotting library,
// for a page (SVG), a screen (PNG) and a paper (PDF). It is next to the tables
// of report, at the end of the data flow. The charts are the library's own; what
// no plotter of it has is here: hatched bars, and lakes with routes.
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
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
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
// of Formats. A PDF needs a folder for temporary files. Otherwise errors are
// those of w.
func Draw(w io.Writer, f *analysis.Figure, format string, theme Theme) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("unknown format %q of figures; there are %v", format, Formats)
	}
	if err := check(f); err != nil {
		return fmt.Errorf("figure %s: %w", f.ID, err)
	}
	p := arrange(f, theme)
	switch format {
	case "svg":
		return writeSVG(w, f, p)
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(Width, p.height), vgimg.UseDPI(dotsPerInch))}
		p.draw(c)
		_, err := c.WriteTo(w)
		return err
	}
	if err := writePDF(w, p); err != nil {
		return fmt.Errorf("figure %s as PDF: %w", f.ID, err)
	}
	return nil
}

// writeSVG gives the library's SVG a head that a page can embed as it is (no
// prolog, scalable, named for people who hear it), with fonts of the same widths
// where Liberation Sans is not installed. They are named once, there.
func writeSVG(w io.Writer, f *analysis.Figure, p *page) error {
	c := vgsvg.New(Width, p.height)
	p.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, svg, _ := strings.Cut(b.String(), "<svg")
	_, svg, _ = strings.Cut(svg, ">")
	title := html.EscapeString(strings.Map(visible, f.Title))
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%dpt" height="%gpt" viewBox="0 0 %d %g" role="img" aria-label="%s" font-family="'Liberation Sans',Arial,Helvetica,sans-serif"><title>%s</title>%s`,
		Width, p.height.Points(), Width, p.height.Points(), title, title, inherited.Replace(svg))
	return err
}

var inherited = strings.NewReplacer("font-family:Liberation Sans;font-variant:normal;", "", "font-weight:normal;font-style:normal;", "")

// writePDF turns the panics of the library, which makes its fonts from files in
// the folder for temporary files, into errors. It logs them too, so that the
// usual one, a missing folder, is looked for first.
func writePDF(w io.Writer, p *page) (err error) {
	dir, err := os.MkdirTemp("", "spatialstale-pdf-")
	if err != nil {
		return fmt.Errorf("its fonts need a folder for temporary files; set TMPDIR to one that exists and can be written to: %w", err)
	}
	os.RemoveAll(dir)
	defer func() {
		r := recover()
		if text, ok := r.(string); ok {
			err = errors.New(text)
		} else if r != nil {
			panic(r)
		}
	}()
	withoutDates()
	c := vgpdf.New(Width, p.height)
	p.draw(latin{c})
	_, err = c.WriteTo(w)
	return err
}

// withoutDates gives PDF files a fixed date and order, so that they are the
// same whenever they are made.
var withoutDates = sync.OnceFunc(func() {
	none := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	fpdf.SetDefaultCreationDate(none)
	fpdf.SetDefaultModificationDate(none)
	fpdf.SetDefaultCatalogSort(true)
})

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
		err := checkScene(p.Scene)
		if p.Scene == nil {
			err = checkChart(p)
		}
		if err != nil {
			return fmt.Errorf("panel %d (%s): %w", i+1, p.Title, err)
		}
	}
	return nil
}

func checkChart(p *analysis.Panel) error {
	rows := len(p.Categories)
	axes := []analysis.Axis{p.X, p.Y}
	if rows > 0 {
		axes = axes[:1]
	}
	for _, a := range axes {
		if !finite(a.Min) || !finite(a.Max) || a.Min >= a.Max {
			return fmt.Errorf("axis %q goes from %v to %v", a.Label, a.Min, a.Max)
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
			for _, v := range []struct {
				axis analysis.Axis
				*analysis.Span
			}{{p.X, only(pt.X)}, {p.X, pt.XRange}, {p.X, pt.XBounds}, {p.Y, only(pt.Y)}, {p.Y, pt.YRange}} {
				slack := 1e-9 * (v.axis.Max - v.axis.Min) // for the rounding of a sum
				if v.Span != nil && !(v.axis.Min-slack <= v.Low && v.Low <= v.High && v.High <= v.axis.Max+slack) {
					return fmt.Errorf("series %s: %v to %v is not within the axis %q", s.Key, v.Low, v.High, v.axis.Label)
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

// only is the span of one value.
func only(v *float64) *analysis.Span {
	if v == nil {
		return nil
	}
	return &analysis.Span{Low: *v, High: *v}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func checkScene(s *analysis.Scene) error {
	if s == nil {
		return nil
	}
	if len(s.Rows) == 0 || len(s.Rows[0]) == 0 {
		return errors.New("the lake has no cells")
	}
	for _, r := range s.Rows {
		if len(r) != len(s.Rows[0]) {
			return errors.New("the rows of the lake differ in length")
		}
	}
	for _, route := range s.Routes {
		if len(route.Cells) == 0 {
			return fmt.Errorf("route %s has no cells", route.Name)
		}
		for _, c := range route.Cells {
			if c[0] < 0 || c[0] >= len(s.Rows) || c[1] < 0 || c[1] >= len(s.Rows[0]) {
				return fmt.Errorf("route %s leaves the lake at %v", route.Name, c)
			}
		}
	}
	return nil
}
