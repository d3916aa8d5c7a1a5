package report

import (
	"bufio"
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
	if opts.Width == 0 {
		opts.Width = defaultWidth
	}
	p := &printer{out: bufio.NewWriter(w), width: max(opts.Width, minWidth), color: opts.Color}
	with, without := split(tables)
	for i, t := range with {
		if i > 0 {
			p.line("")
			p.line("")
		}
		p.table(t)
	}
	if len(without) > 0 && len(with) > 0 {
		p.line("")
		p.line("")
	}
	p.absent(without)
	return p.out.Flush()
}

// absent lists tables without rows.
func (p *printer) absent(tables []*analysis.Table) {
	if len(tables) == 0 {
		return
	}
	p.line(p.style(bold, absentTitle))
	p.line(p.style(dim, strings.Repeat("━", widthOf(absentTitle))))
	for _, t := range tables {
		p.paragraph("", "· ", need(t.ID, t.Paper, t.Need))
	}
}

// A printer writes lines. Its writer keeps the first error until the end.
type printer struct {
	out   *bufio.Writer
	width int
	color bool
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

// paragraph writes text in a style, with lines after the first indented like
// the text behind the bullet.
func (p *printer) paragraph(style, bullet, text string) {
	indent := widthOf(bullet)
	for i, l := range wrap(clean(text), p.width-indent) {
		if i > 0 {
			bullet = strings.Repeat(" ", indent)
		}
		p.line(p.style(style, bullet+l))
	}
}

func (p *printer) table(t *analysis.Table) {
	p.title(t)
	p.paragraph("", "", t.About)
	v := viewOf(t)
	if v.lifted != "" {
		p.paragraph("", "", "In every row: "+v.lifted+".")
	}
	for _, warning := range t.Warnings {
		p.paragraph(alarm, "! ", warning)
	}
	p.line("")
	g, left := fit(v, p.width)
	if g != nil {
		p.grid(g)
	} else {
		p.list(v)
	}
	if len(left) > 0 {
		p.paragraph(dim, "· ", "Left out to fit this width: "+strings.Join(left, ", ")+".")
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

// list writes each row as a list, for when not even the least table fits.
func (p *printer) list(v *view) {
	for _, row := range v.table.Rows {
		var labels []string
		for _, i := range v.cols {
			if col := &v.table.Columns[i]; col.Kind == analysis.Label {
				labels = append(labels, show(col, &row[i], roomy).String())
			}
		}
		p.paragraph(sectionOn, "", strings.Join(labels, " · "))
		for _, i := range v.cols {
			if col := &v.table.Columns[i]; col.Kind != analysis.Label {
				p.paragraph("", "  ", fullHeading(col)+": "+show(col, &row[i], tight).String())
			}
		}
		p.line("")
	}
}
