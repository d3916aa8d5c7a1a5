package report

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// A layout is a table as people are shown it: some of its columns, a sentence
// for those that say the same in every row, and maybe one column's values as
// headings of sections. Text, Markdown, LaTeX and pages print it.
type layout struct {
	*analysis.Table
	shown   []int  // the columns that people are shown, in order
	heads   int    // the one of them that makes sections; -1 for none
	Lifted  string // such as "modality text, 50 seeds"; may be empty
	section int    // heads where this layout has sections, else -1
	Columns []column
	Left    []string // what had to be left out
}

// A column is one of the table with its cells, and its measures in terminal
// cells.
type column struct {
	*analysis.Column
	at                                int // in the table
	cells                             []shown
	headings                          []string // its lines
	width                             int
	leadWidth, tailWidth, remarkWidth int
	folded                            bool // cells wider than width go on in further lines
}

const (
	gutter        = 2 // space between columns
	sectionIndent = 2 // before the rows of a section
)

// layoutOf leaves out what is for programs, and lifts labels and counts that
// never change out of the rows. The layout has all other columns, and no
// sections.
func layoutOf(t *analysis.Table) *layout {
	l := &layout{Table: t, heads: -1}
	var lifted []string
	for i := range t.Columns {
		col := &t.Columns[i]
		switch {
		case col.DataOnly:
		case !constant(t, i):
			l.shown = append(l.shown, i)
			if col.Section && l.heads < 0 {
				l.heads = i
			}
		case col.Kind == analysis.Label:
			lifted = append(lifted, heading(col)+" "+show(col, &t.Rows[0][i], roomy).String())
		default:
			lifted = append(lifted, countedAs(show(col, &t.Rows[0][i], roomy).String(), heading(col)))
		}
	}
	l.Lifted = strings.Join(lifted, ", ")
	return l.with(l.shown, -1, roomy, nil)
}

// Intro is what is said above a table.
func (l *layout) Intro() string {
	if l.Lifted == "" {
		return l.About
	}
	return strings.TrimSpace(l.About + " In every row: " + l.Lifted + ".")
}

// constant reports whether a column can be lifted: it is no result and no
// section, and all of several rows agree.
func constant(t *analysis.Table, i int) bool {
	col := &t.Columns[i]
	said := col.Kind == analysis.Label || col.Kind == analysis.Count && heading(col) == col.Unit // as in "50 seeds"
	if col.Section || len(t.Rows) < 2 || !said {
		return false
	}
	first := show(col, &t.Rows[0][i], roomy)
	return !slices.ContainsFunc(t.Rows, func(row []analysis.Cell) bool { return show(col, &row[i], roomy) != first })
}

// countedAs is a heading behind a count: one seed is no seeds.
func countedAs(count, heading string) string {
	if count == "1" {
		heading = strings.TrimSuffix(heading, "s")
	}
	return count + " " + heading
}

// heading returns a column's heading with ordinary spaces.
func heading(col *analysis.Column) string { return strings.ReplaceAll(col.Heading, "\u00a0", " ") }

// fullHeading is a heading that does without the one above it.
func fullHeading(col *analysis.Column) string {
	return strings.TrimPrefix(col.Group+" "+heading(col), " ")
}

// sectioned returns the layout with sections where any two neighbouring rows
// share one: sections of a row each are better told in a column.
func (l *layout) sectioned() *layout {
	for r := 1; r < len(l.Rows) && l.heads >= 0; r++ {
		if l.Rows[r][l.heads].Label == l.Rows[r-1][l.heads].Label {
			return l.with(l.shown, l.heads, roomy, nil)
		}
	}
	return l
}

// with returns the layout with these columns, one of which may be the sections',
// and with what they leave out.
func (l *layout) with(cols []int, section int, d density, left []string) *layout {
	out := *l
	out.section, out.Columns, out.Left = section, nil, left
	for _, i := range cols {
		if i == section {
			continue
		}
		c := column{Column: &l.Table.Columns[i], at: i}
		for r := range l.Rows {
			c.add(show(c.Column, &l.Rows[r][i], d))
		}
		body := c.leadWidth + c.tailWidth + c.remarkWidth
		c.headings = foldHeading(c.Heading, body)
		c.width = max(body, widest(c.headings))
		out.Columns = append(out.Columns, c)
	}
	for _, s := range out.spans() {
		if short := widthOf(s.Name) - s.width; s.Name != "" && short > 0 {
			out.Columns[s.To-1].width += short
		}
	}
	return &out
}

// add adds a cell below the others.
func (c *column) add(s shown) {
	c.cells = append(c.cells, s)
	s = s.starred()
	c.leadWidth = max(c.leadWidth, widthOf(s.Lead))
	c.tailWidth = max(c.tailWidth, widthOf(s.Tail))
	c.remarkWidth = max(c.remarkWidth, widthOf(s.Remark))
}

func widest(lines []string) (width int) {
	for _, l := range lines {
		width = max(width, widthOf(l))
	}
	return width
}

// foldHeading breaks a heading that is wider than its column's body into two
// lines, where a space lets it.
func foldHeading(h string, body int) []string {
	best := []string{h}
	for i, r := range h {
		if r != ' ' || widest(best) <= body {
			continue
		}
		if two := []string{h[:i], h[i+1:]}; widest(two) < widest(best) {
			best = two
		}
	}
	for i := range best {
		best[i] = strings.ReplaceAll(best[i], "\u00a0", " ")
	}
	return best
}

// A span is a run of columns under one group heading, or one column without.
type span struct {
	Name     string
	From, To int // its first and last column, from 1
	width    int
}

// Columns returns how many columns it has.
func (s span) Columns() int { return s.To - s.From + 1 }

func (l *layout) spans() (spans []span) {
	for i := range l.Columns {
		c := &l.Columns[i]
		if n := len(spans); n > 0 && c.Group != "" && spans[n-1].Name == c.Group {
			spans[n-1].To++
			spans[n-1].width += gutter + c.width
			continue
		}
		spans = append(spans, span{c.Group, i + 1, i + 1, c.width})
	}
	return spans
}

// Groups returns the headings above the columns' own; nil for none.
func (l *layout) Groups() []span {
	if spans := l.spans(); slices.ContainsFunc(spans, func(s span) bool { return s.Name != "" }) {
		return spans
	}
	return nil
}

// HeadingLines returns the columns' headings, whose last lines are beside each
// other.
func (l *layout) HeadingLines() [][]string {
	tallest := 0
	for i := range l.Columns {
		tallest = max(tallest, len(l.Columns[i].headings))
	}
	lines := make([][]string, tallest)
	for _, c := range l.Columns {
		above := make([]string, tallest-len(c.headings))
		for i, text := range append(above, c.headings...) {
			lines[i] = append(lines[i], text)
		}
	}
	return lines
}

// A body is the rows of one section, or all rows where there are no sections.
type body struct {
	Section *analysis.Cell // nil for none
	Rows    []row
}

// A row is one of the table's: its cells, and its place there.
type row struct {
	Cells []cell
	At    int
}

// A cell is one of the table at its place in a layout.
type cell struct {
	shown
	*column
	Cell *analysis.Cell
	Head bool // it names the row: the last label before the numbers
	// Again is set where the cell and all labels before it say the same as in
	// the row above, so that saying it again would only hide what changes.
	Again bool
}

// bodies returns the rows up to, but not with, one of them.
func (l *layout) bodies(from, to int) (bodies []body) {
	head := slices.IndexFunc(l.Columns, func(c column) bool { return c.Kind != analysis.Label }) - 1
	if head < -1 {
		head = len(l.Columns) - 1
	}
	for r := from; r < to; r++ {
		cells := l.Rows[r]
		starts := r == from || l.section >= 0 && cells[l.section].Label != l.Rows[r-1][l.section].Label
		if starts {
			bodies = append(bodies, body{})
		}
		b := &bodies[len(bodies)-1]
		if starts && l.section >= 0 {
			b.Section = &cells[l.section]
		}
		again := !starts
		row := row{make([]cell, len(l.Columns)), r}
		for i := range row.Cells {
			c := &l.Columns[i]
			again = again && i < head && c.cells[r] == c.cells[r-1]
			row.Cells[i] = cell{c.cells[r], c, &cells[c.at], i == head, again}
		}
		b.Rows = append(b.Rows, row)
	}
	return bodies
}

// Labels are folded into no less than leastFold, which still holds a word.
const leastFold, greatestFold = 12, 40

// fit returns the fullest layout that is no wider than width, with what it had
// to leave out: columns, by their headings, and after long labels have been
// folded the standard deviations. It is nil when there is none.
func (l *layout) fit(width int) *layout {
	ways := []*layout{l.sectioned(), l.with(l.shown, l.heads, roomy, nil), l.with(l.shown, l.heads, noCounts, nil)}
	cols := slices.Clone(l.shown)
	var left []string
	for least := 0; least >= 0; {
		ways = append(ways, l.with(cols, l.heads, tight, left))
		if least = l.leastImportant(cols); least >= 0 {
			left = append(slices.Clone(left), fullHeading(&l.Table.Columns[cols[least]]))
			cols = slices.Delete(cols, least, least+1)
		}
	}
	ways = append(ways, l.with(cols, l.heads, tight, left).fold(width))
	ways = append(ways, l.with(cols, l.heads, bare, append(left, "standard deviations (±)")).fold(width))
	if i := slices.IndexFunc(ways, func(w *layout) bool { return w.width() <= width }); i >= 0 {
		return ways[i]
	}
	return nil
}

// leastImportant returns the place in cols of the column to leave out next,
// -1 when all must stay.
func (l *layout) leastImportant(cols []int) int {
	place, priority := -1, 1
	for i, c := range cols {
		if p := l.Table.Columns[c].Priority; p >= priority {
			place, priority = i, p
		}
	}
	return place
}

// fold folds labels no more than it takes.
func (l *layout) fold(width int) *layout {
	for limit := greatestFold; limit >= leastFold && l.width() > width; limit-- {
		for i := range l.Columns {
			if c := &l.Columns[i]; c.Kind == analysis.Label && c.width > limit && widest(c.headings) <= limit {
				c.width, c.folded = limit, true
			}
		}
	}
	return l
}

// width returns the widest line's width.
func (l *layout) width() int {
	width := l.indent() + gutter*max(0, len(l.Columns)-1)
	for i := range l.Columns {
		width += l.Columns[i].width
	}
	if l.section >= 0 {
		for _, cells := range l.Rows {
			width = max(width, widthOf(sectionName(&cells[l.section])+tagOf(&cells[l.section])))
		}
	}
	return width
}

func (l *layout) indent() int {
	if l.section >= 0 {
		return sectionIndent
	}
	return 0
}

func sectionName(c *analysis.Cell) string { return clean(c.Display()) }

// tagOf is the tag behind a name, such as " (control)".
func tagOf(c *analysis.Cell) string {
	if c.Tag == "" {
		return ""
	}
	return " (" + c.Tag + ")"
}
