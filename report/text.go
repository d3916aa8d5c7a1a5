package report

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// TextOptions says how text is laid out. The zero value fits a file of 100
// columns.
type TextOptions struct {
	Width int  // columns no line exceeds; 0 means 100, and less than 24 means 24
	Color bool // mark titles, sections and notes with ANSI escapes
}

const (
	defaultWidth = 100
	minWidth     = 24
)

// Text writes tables for people, one after the other, in lines no longer than
// the width. Where a table does not fit, numbers are set closer, then columns
// of least importance are left out and named below it, then long labels are
// folded and standard deviations left out, then rows become lists.
// Tables without rows are listed at the end, each with what it needs. Its errors
// are those of w.
func Text(w io.Writer, tables []analysis.Table, opts TextOptions) error {
	p := newPrinter(w, opts.Width, opts.Color)
	with, absent := split(tables)
	for i, t := range with {
		if i > 0 {
			p.line("\n")
		}
		p.table(t)
	}
	if len(absent) == 0 {
		return p.out.Flush()
	}
	if len(with) > 0 {
		p.line("\n")
	}
	p.line(p.style(bold, absentTitle))
	p.line(p.style(dim, strings.Repeat("━", widthOf(absentTitle))))
	for _, need := range absent {
		p.paragraph("", "· ", need)
	}
	return p.out.Flush()
}

// A printer writes lines. Its writer keeps the first error until the end.
type printer struct {
	out   *bufio.Writer
	width int
	color bool
}

func newPrinter(w io.Writer, width int, color bool) *printer {
	return &printer{bufio.NewWriter(w), max(cmp.Or(width, defaultWidth), minWidth), color}
}

// Styles, as parameters of the ANSI escape for colours and weight.
const (
	bold      = "1"
	dim       = "2"
	sectionOn = "1;36"
	alarm     = "1;33"
)

func (p *printer) style(style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

func (p *printer) line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

func (p *printer) lines(style string, lines []string) {
	for _, l := range lines {
		p.line(p.style(style, l))
	}
}

func (p *printer) paragraph(style, bullet, text string) { p.lines(style, p.wrapped(bullet, text)) }

// wrapped returns the lines of a text behind a bullet, those after the first
// indented like the first.
func (p *printer) wrapped(bullet, text string) []string {
	lines := wrap(clean(text), p.width-widthOf(bullet))
	for i := range lines {
		lines[i] = bullet + lines[i]
		bullet = strings.Repeat(" ", widthOf(bullet))
	}
	return lines
}

func (p *printer) table(t *analysis.Table) {
	p.title(t)
	p.paragraph("", "", t.About)
	l := layoutOf(t)
	if l.Lifted != "" {
		p.paragraph("", "", "In every row: "+l.Lifted+".")
	}
	for _, warning := range t.Warnings {
		p.paragraph(alarm, "! ", warning)
	}
	p.line("")
	if fitting := l.fit(p.width); fitting == nil {
		p.list(l)
	} else {
		p.grid(fitting)
		if len(fitting.Left) > 0 {
			p.paragraph(dim, "· ", "Left out to fit this width: "+strings.Join(fitting.Left, ", ")+".")
		}
	}
	for _, note := range t.Notes {
		p.paragraph(dim, "· ", note)
	}
}

// title writes the title and, behind it or below it, its place in the paper.
func (p *printer) title(t *analysis.Table) {
	title, place := clean(t.Title), paperPlace(t.Paper)
	line, width := p.style(bold, title), widthOf(title)
	if place != "" {
		line += p.style(dim, " · "+place)
		width += widthOf(" · " + place)
	}
	if width <= p.width {
		p.line(line)
	} else {
		width = p.width
		p.paragraph(bold, "", title)
		p.paragraph(dim, "", place)
	}
	p.line(p.style(dim, strings.Repeat("━", width)))
}

// grid writes headings, then rows, a blank line before each section.
func (p *printer) grid(l *layout) {
	rule := p.style(dim, strings.Repeat("─", l.width()))
	if groups := l.Groups(); groups != nil {
		var fields []string
		for _, s := range groups {
			field := s.Name
			if rest := s.width - widthOf(field) - 1; field != "" && rest > 0 {
				field += " " + strings.Repeat("─", rest)
			}
			fields = append(fields, pad(field, s.width, analysis.Left))
		}
		p.fields(dim, l, fields)
	}
	for _, line := range l.HeadingLines() {
		for i := range line {
			line[i] = l.Columns[i].centred(line[i])
		}
		p.fields(bold, l, line)
	}
	p.line(rule)
	for i, b := range l.bodies(0, len(l.Rows)) {
		if i > 0 {
			p.line("")
		}
		if b.Section != nil {
			p.line(p.style(sectionOn, sectionName(b.Section)) + p.style(dim, tagOf(b.Section)))
		}
		for _, r := range b.Rows {
			for _, fields := range r.lines() {
				p.line(l.line(fields))
			}
		}
	}
	p.line(rule)
}

// fields writes a line of headings.
func (p *printer) fields(style string, l *layout, fields []string) {
	p.line(p.style(style, strings.TrimRight(l.line(fields), " ")))
}

// line sets fields beside each other.
func (l *layout) line(fields []string) string {
	return strings.Repeat(" ", l.indent()) + strings.Join(fields, strings.Repeat(" ", gutter))
}

// centred puts a heading over the middle of cells that have two parts, and
// over their edge otherwise.
func (c *column) centred(heading string) string {
	if c.tailWidth > 0 {
		heading = pad(heading, (c.width+widthOf(heading)+1)/2, analysis.Right)
		return pad(heading, c.width, analysis.Left)
	}
	return pad(heading, c.width, c.Align)
}

// lines returns the lines of a row, padded to their columns: one line unless
// labels are folded.
func (r *row) lines() (lines [][]string) {
	for i, f := range r.Cells {
		text := []string{f.text()}
		switch {
		case f.Again:
			text = []string{""}
		case f.folded:
			text = wrap(f.shown.String(), f.width)
		}
		for len(lines) < len(text) {
			lines = append(lines, make([]string, len(r.Cells)))
		}
		for k, part := range text {
			lines[k][i] = part
		}
	}
	for _, line := range lines {
		for i, f := range r.Cells {
			line[i] = pad(line[i], f.width, f.Align)
		}
	}
	return lines
}

// text lines the parts of a cell up with those above and below.
func (f *cell) text() string {
	s := f.starred()
	if f.Align == analysis.Left {
		return s.String()
	}
	tails := analysis.Right
	if s.Marks {
		tails = analysis.Left
	}
	parts := pad(s.Lead, f.leadWidth, analysis.Right) + pad(s.Tail, f.tailWidth, tails) + pad(s.Remark, f.remarkWidth, analysis.Left)
	return pad(parts, f.width, analysis.Right)
}

// pad aligns text in a field.
func pad(s string, width int, align analysis.Align) string {
	space := strings.Repeat(" ", max(0, width-widthOf(s)))
	if align == analysis.Right {
		return space + s
	}
	return s + space
}

// list writes each row as a list, for when not even the least table fits.
func (p *printer) list(l *layout) {
	for _, b := range l.bodies(0, len(l.Rows)) {
		for _, r := range b.Rows {
			var labels, values []string
			for _, f := range r.Cells {
				if f.Kind == analysis.Label {
					labels = append(labels, f.starred().String())
				} else {
					values = append(values, fullHeading(f.Column)+": "+show(f.Column, f.Cell, tight).starred().String())
				}
			}
			p.paragraph(sectionOn, "", strings.Join(labels, " · "))
			for _, v := range values {
				p.paragraph("", "  ", v)
			}
			p.line("")
		}
	}
}
