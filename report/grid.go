package report

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// gutter is the space between columns, sectionIndent that before the rows of a
// section.
const (
	gutter        = 2
	sectionIndent = 2
)

// A grid is a view with the widths of its columns.
type grid struct {
	*view
	section int          // column whose values head the sections; -1 for none
	density density      // of its cells
	columns []gridColumn // one for each of view.cols, without the section's
}

// A gridColumn is a column with its measures in terminal cells.
type gridColumn struct {
	*analysis.Column
	index    int // in the table
	headings []string
	cells    []shown
	lead     int
	tail     int // with the space before it
	remark   int
	width    int
	folded   bool // cells wider than width go on in further lines
}

// Labels are folded into no less than this, which still holds a word.
const leastFold, greatestFold = 12, 40

// fit returns the fullest grid that is no wider than width, and what it had to
// leave out: columns, by their headings, and after long labels have been folded
// the standard deviations. The grid is nil when there is none.
func fit(v *view, width int) (*grid, []string) {
	if g := measure(v, v.cols, sectionThatRepeats(v), roomy); g.width() <= width {
		return g, nil
	}
	section := sectionOf(v)
	for d := roomy; d < tight; d++ {
		if g := measure(v, v.cols, section, d); g.width() <= width {
			return g, nil
		}
	}
	cols := slices.Clone(v.cols)
	var left []string
	for {
		g := measure(v, cols, section, tight)
		if g.width() <= width {
			return g, left
		}
		drop := leastImportant(v, cols)
		if drop < 0 {
			if g := fold(v, cols, section, tight, width); g != nil {
				return g, left
			}
			if g := fold(v, cols, section, bare, width); g != nil {
				return g, append(left, "standard deviations (±)")
			}
			return nil, nil
		}
		left = append(left, fullHeading(&v.table.Columns[cols[drop]]))
		cols = slices.Delete(cols, drop, drop+1)
	}
}

// fold returns the grid with labels folded no more than it takes; nil when that
// does not suffice.
func fold(v *view, cols []int, section int, d density, width int) *grid {
	g := measure(v, cols, section, d)
	for limit := greatestFold; limit >= leastFold; limit-- {
		for i := range g.columns {
			c := &g.columns[i]
			if c.Kind != analysis.Label || c.width <= limit || slices.ContainsFunc(c.headings, func(h string) bool { return widthOf(h) > limit }) {
				continue
			}
			c.width, c.folded = limit, true
		}
		if g.width() <= width {
			return g
		}
	}
	return nil
}

// sectionOf returns the column that makes sections, -1 when there is none.
func sectionOf(v *view) int {
	for _, i := range v.cols {
		if v.table.Columns[i].Section {
			return i
		}
	}
	return -1
}

// sectionThatRepeats is sectionOf where any two neighbouring rows share a
// section: sections of a row each are better told in a column.
func sectionThatRepeats(v *view) int {
	col := sectionOf(v)
	for r := 1; col >= 0 && r < len(v.table.Rows); r++ {
		if v.table.Rows[r][col].Label == v.table.Rows[r-1][col].Label {
			return col
		}
	}
	return -1
}

// leastImportant returns the place in cols of the column to leave out next,
// -1 when all must stay.
func leastImportant(v *view, cols []int) int {
	place, priority := -1, 0
	for i, c := range cols {
		if p := v.table.Columns[c].Priority; p > 0 && p >= priority {
			place, priority = i, p
		}
	}
	return place
}

// measure lays out the given columns of a view.
func measure(v *view, cols []int, section int, d density) *grid {
	g := &grid{view: v, section: section, density: d}
	for _, i := range cols {
		if i == section {
			continue
		}
		c := gridColumn{Column: &v.table.Columns[i], index: i}
		for _, row := range v.table.Rows {
			s := show(c.Column, &row[i], d)
			c.cells = append(c.cells, s)
			c.lead = max(c.lead, widthOf(s.lead))
			if n := widthOf(s.tail); n > 0 {
				if !s.joined {
					n++
				}
				c.tail = max(c.tail, n)
			}
			if n := widthOf(s.remark); n > 0 {
				c.remark = max(c.remark, n+1)
			}
		}
		body := c.lead + c.tail + c.remark
		c.headings = foldHeading(c.Heading, body)
		c.width = body
		for _, h := range c.headings {
			c.width = max(c.width, widthOf(h))
		}
		g.columns = append(g.columns, c)
	}
	for _, span := range g.spans() {
		if short := widthOf(span.name) - span.width; span.name != "" && short > 0 {
			g.columns[span.last].width += short
		}
	}
	return g
}

// foldHeading breaks a heading that is wider than its column's body into two
// lines, where a space lets it.
func foldHeading(h string, body int) []string {
	best := []string{strings.ReplaceAll(h, "\u00a0", " ")}
	least := widthOf(h)
	for i, r := range h {
		if least <= body {
			break
		}
		if r != ' ' {
			continue
		}
		first, second := h[:i], h[i+1:]
		if n := max(widthOf(first), widthOf(second)); n < least {
			least = n
			best = []string{strings.ReplaceAll(first, "\u00a0", " "), strings.ReplaceAll(second, "\u00a0", " ")}
		}
	}
	return best
}

// centred puts a heading over the middle of cells that have two parts, and
// over their edge otherwise.
func (c *gridColumn) centred(heading string) string {
	if c.tail > 0 {
		heading = pad(heading, (c.width+widthOf(heading)+1)/2, analysis.Right)
		return pad(heading, c.width, analysis.Left)
	}
	return pad(heading, c.width, c.Align)
}

// A span is a run of columns under one group heading.
type span struct {
	name  string
	width int
	last  int // its last column
}

func (g *grid) spans() []span {
	var spans []span
	for i := range g.columns {
		c := &g.columns[i]
		if n := len(spans); n > 0 && c.Group != "" && spans[n-1].name == c.Group {
			spans[n-1].width += gutter + c.width
			spans[n-1].last = i
			continue
		}
		spans = append(spans, span{c.Group, c.width, i})
	}
	return spans
}

func (g *grid) indent() int {
	if g.section >= 0 {
		return sectionIndent
	}
	return 0
}

// width returns the widest line's width.
func (g *grid) width() int {
	w := g.indent()
	for i := range g.columns {
		if i > 0 {
			w += gutter
		}
		w += g.columns[i].width
	}
	if g.section >= 0 {
		for _, row := range g.table.Rows {
			w = max(w, widthOf(sectionName(&row[g.section]))+sectionTag(&row[g.section]))
		}
	}
	return w
}

func sectionName(c *analysis.Cell) string { return clean(c.Display()) }

// sectionTag returns the width that a section's tag takes.
func sectionTag(c *analysis.Cell) int {
	if c.Tag == "" {
		return 0
	}
	return 3 + widthOf(c.Tag)
}

// pad aligns text in a field.
func pad(s string, width int, align analysis.Align) string {
	space := strings.Repeat(" ", max(0, width-widthOf(s)))
	if align == analysis.Right {
		return space + s
	}
	return s + space
}

// text lines the parts of a cell up with those above and below.
func (c *gridColumn) text(s shown) string {
	if c.Align == analysis.Left {
		return pad(s.String(), c.width, analysis.Left)
	}
	tail := s.tail
	if tail != "" && !s.joined {
		tail = " " + tail
	}
	remark := s.remark
	if remark != "" {
		remark = " " + remark
	}
	side := analysis.Right
	if s.hung {
		side = analysis.Left
	}
	return pad(pad(s.lead, c.lead, analysis.Right)+pad(tail, c.tail, side)+pad(remark, c.remark, analysis.Left), c.width, analysis.Right)
}

// grid writes a grid: headings, then rows, a blank line before each section.
func (p *printer) grid(g *grid) {
	rule := strings.Repeat("─", g.width())
	p.groupHeadings(g)
	p.headings(g)
	p.line(p.style(dim, rule))
	indent := strings.Repeat(" ", g.indent())
	for r, row := range g.table.Rows {
		starts := g.starts(r, 0)
		if starts && r > 0 {
			p.line("")
		}
		if starts {
			p.sectionHead(&row[g.section])
		}
		for _, fields := range g.row(r, starts || r == 0) {
			p.line(indent + strings.Join(fields, strings.Repeat(" ", gutter)))
		}
	}
	p.line(p.style(dim, rule))
}

// row returns the lines of a row, each with a field for every column: one line
// unless labels are folded. What repeats is said again where a section starts.
func (g *grid) row(r int, starts bool) [][]string {
	parts := make([][]string, len(g.columns))
	lines := 1
	for i := range g.columns {
		c := &g.columns[i]
		s := c.cells[r]
		if !starts && g.repeated(r, i) {
			s = shown{}
		}
		parts[i] = []string{c.text(s)}
		if c.folded {
			parts[i] = wrap(s.String(), c.width)
		}
		lines = max(lines, len(parts[i]))
	}
	out := make([][]string, lines)
	for l := range out {
		for i, part := range parts {
			field := ""
			if l < len(part) {
				field = part[l]
			}
			out[l] = append(out[l], pad(field, g.columns[i].width, g.columns[i].Align))
		}
	}
	return out
}

// repeated reports whether column i and all label columns before it say the
// same as in the row above, so that saying it again would only hide what
// changes. The last of the labels is always said.
func (g *grid) repeated(r, i int) bool {
	if i >= g.lastLabel() {
		return false
	}
	for j := range i + 1 {
		if c := &g.columns[j]; c.Kind != analysis.Label || c.cells[r] != c.cells[r-1] {
			return false
		}
	}
	return true
}

// lastLabel is the column that names a row: the last label before its numbers.
func (g *grid) lastLabel() int {
	last := -1
	for i := range g.columns {
		if g.columns[i].Kind != analysis.Label {
			break
		}
		last = i
	}
	return last
}

// starts reports whether a section begins at a row; with the first row that is
// shown, one begins again.
func (g *grid) starts(r, first int) bool {
	if g.section < 0 {
		return false
	}
	rows := g.table.Rows
	return r == first || rows[r][g.section].Label != rows[r-1][g.section].Label
}

func (p *printer) sectionHead(c *analysis.Cell) {
	line := p.style(sectionOn, sectionName(c))
	if c.Tag != "" {
		line += p.style(dim, " ("+c.Tag+")")
	}
	p.line(line)
}

// groupHeadings writes the headings that several columns share, if any.
func (p *printer) groupHeadings(g *grid) {
	spans := g.spans()
	if !slices.ContainsFunc(spans, func(s span) bool { return s.name != "" }) {
		return
	}
	var fields []string
	for _, s := range spans {
		if s.name == "" {
			fields = append(fields, strings.Repeat(" ", s.width))
			continue
		}
		field := s.name
		if rest := s.width - widthOf(field) - 1; rest > 0 {
			field += " " + strings.Repeat("─", rest)
		}
		fields = append(fields, pad(field, s.width, analysis.Left))
	}
	p.line(p.style(dim, strings.Repeat(" ", g.indent())+strings.TrimRight(strings.Join(fields, strings.Repeat(" ", gutter)), " ")))
}

// headings writes the columns' headings.
func (p *printer) headings(g *grid) {
	for _, line := range g.headingLines() {
		for i := range line {
			line[i] = g.columns[i].centred(line[i])
		}
		p.line(p.style(bold, strings.TrimRight(strings.Repeat(" ", g.indent())+strings.Join(line, strings.Repeat(" ", gutter)), " ")))
	}
}

// headingLines returns the columns' headings at the bottom of as many lines as
// the tallest needs.
func (g *grid) headingLines() [][]string {
	tallest := 0
	for i := range g.columns {
		tallest = max(tallest, len(g.columns[i].headings))
	}
	lines := make([][]string, tallest)
	for l := range lines {
		lines[l] = make([]string, len(g.columns))
		for i := range g.columns {
			c := &g.columns[i]
			if k := l - (tallest - len(c.headings)); k >= 0 {
				lines[l][i] = c.headings[k]
			}
		}
	}
	return lines
}
