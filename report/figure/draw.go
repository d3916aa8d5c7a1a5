// Package figure draws the figures of analysis with gonum's plotting library,
// for a page (SVG), a screen (PNG) and a paper (PDF). It is next to the tables
// of report, at the end of the data flow. Charts, lakes and their alignment are the
// library's; what no plotter of it has is here: bars with a hatching and marks
// with a rim.
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
	"image/color"
	"io"
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
	p := arrange(f)
	switch format {
	case "svg":
		return writeSVG(w, p, theme)
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

// writeSVG names the library's SVG for people who hear it, and adds fonts of the
// same widths for where Liberation Sans is not installed.
func writeSVG(w io.Writer, p *page, theme Theme) error {
	c := vgsvg.New(Width, p.height)
	p.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	title := html.EscapeString(strings.Map(visible, p.Title))
	style := ""
	if theme == Screen {
		style = darkStyle
	}
	_, err := strings.NewReplacer(
		"<g transform=\"scale(1, -1) translate(", style+"<g transform=\"scale(1, -1) translate(",
		"<svg ", `<svg role="img" aria-label="`+title+`" font-family="'Liberation Sans',Arial,Helvetica,sans-serif" `,
		"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "",
	).WriteString(w, b.String())
	return err
}

// darkStyle changes the colours of what is no data on a dark screen.
var darkStyle = func() string {
	var b strings.Builder
	b.WriteString("<style>@media (prefers-color-scheme: dark) {")
	for _, c := range []color.Gray{ground, ink, faint, dim} {
		for _, part := range []string{"fill", "stroke"} {
			fmt.Fprintf(&b, ` [style*="%s:#%02[2]X%02[2]X%02[2]X"] { %[1]s: #%02[3]X%02[3]X%02[3]X !important }`, part, c.Y, onDark[c].Y)
		}
	}
	b.WriteString(" }</style>\n")
	return b.String()
}()

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
		if r := recover(); r != nil {
			err = fmt.Errorf("the library of PDF: %v", r)
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
