package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// The page of \documentclass{article} with its own margins, on letter paper or
// A4, in points: what every table must fit.
const (
	latexLine   = 345.0 // the width of a line
	latexLength = 550.0 // of a column of lines, which is a line of a page that lies
)

// A latexSize is a size of type with the letters' mean growth: small type is
// cut wider. Gap is the space between columns, \tabcolsep twice.
type latexSize struct {
	name          string
	points, wider float64
	gap           float64
	line          float64 // distance of lines
}

var latexSizes = []latexSize{
	{"small", 9, 0.975, 10, 11},
	{"footnotesize", 8, 1, 6, 9.5},
	{"scriptsize", 7, 1.085, 4, 8},
}

// A latexPlan is how a table is set.
type latexPlan struct {
	latexSize
	widths    []float64 // of columns whose text is folded, in points; 0 for the others
	width     float64   // of the whole table
	landscape bool
	shrunk    bool // it is wider than its line even so, and scaled down as a whole
}

// mostShrunk is how many lines wide a table may be, in the smallest type, that
// is scaled down to one as a whole: letters are then still of five points.
const mostShrunk = 1.35

// planLaTeX chooses how a table fits its line: in type as large as can be, then
// with long words folded, then scaled down as a whole if it is not higher than a
// page, then on a page that lies. What fits nowhere is scaled.
func planLaTeX(g *grid, caption string) latexPlan {
	plan := func(size latexSize) *latexPlan {
		p := &latexPlan{latexSize: size, widths: make([]float64, len(g.columns))}
		p.measure(g)
		return p
	}
	smallest := latexSizes[len(latexSizes)-1]
	for _, line := range []float64{latexLine, latexLength} {
		for _, size := range latexSizes {
			p := plan(size)
			p.landscape = line == latexLength
			if p.width <= line || size.name != "small" && p.fold(g, line) {
				return *p
			}
		}
		if p := plan(smallest); line == latexLine && p.width <= mostShrunk*line && p.height(g, caption) <= latexLength {
			p.shrunk = true
			return *p
		}
	}
	p := plan(smallest)
	p.landscape, p.shrunk = true, true
	return *p
}

// leastFolded is the narrowest column of folded text, in letters of mean width.
const leastFolded = 14

// fold narrows the widest columns of words until a table fits a line, and
// reports whether it does.
func (p *latexPlan) fold(g *grid, line float64) bool {
	least := leastFolded * 0.53 * p.points * p.wider
	for p.width > line {
		widest, at := least, -1
		for i := range g.columns {
			if width := p.column(g, i); g.columns[i].Align == analysis.Left && width > widest {
				widest, at = width, i
			}
		}
		if at < 0 {
			clear(p.widths)
			p.measure(g)
			return false
		}
		p.widths[at] = math.Max(least, widest-math.Max(1, math.Min(p.width-line, 10)))
		p.measure(g)
	}
	return true
}

// column returns the width of a column.
func (p *latexPlan) column(g *grid, i int) float64 {
	if p.widths[i] > 0 {
		return p.widths[i]
	}
	c := &g.columns[i]
	width := p.text(heading(c.Column))
	for _, row := range g.table.Rows {
		cell := &row[c.index]
		w := p.text(showPlain(c.Column, cell, roomy).String())
		if cell.Best {
			w *= boldWider
		}
		width = math.Max(width, w)
	}
	return width
}

// measure computes the table's width.
func (p *latexPlan) measure(g *grid) {
	widths := make([]float64, len(g.columns))
	for i := range g.columns {
		widths[i] = p.column(g, i)
	}
	at := 0
	for _, s := range g.spans() {
		room := -p.gap
		for i := at; i <= s.last; i++ {
			room += widths[i] + p.gap
		}
		// A heading over several columns makes the last of them wider.
		widths[s.last] += math.Max(0, p.text(s.name)-room)
		at = s.last + 1
	}
	p.width = -p.gap
	for _, w := range widths {
		p.width += w + p.gap
	}
}

// boldWider is how much wider bold letters are.
const boldWider = 1.17

// text returns the width of a text in points, a little too much rather than too
// little.
func (p *latexPlan) text(s string) float64 {
	width := 0.0
	for _, r := range s {
		switch {
		case r >= ' ' && r < 0x7f:
			width += cmr8[r-' ']
		case superscriptLetters[r]:
			width += 480
		case r == '\u2009', r == '\u202f':
			width += 170
		case r == '\u00a0':
			width += 354
		case r == '–', r == '’', r == '‘', r > 0xa0 && r < 0x100 && r != '×' && r != '±':
			width += 590
		case latexSigns[r] != "":
			width += 1070
		default:
			width += 4600 // its number in brackets
		}
	}
	return width / 1000 * p.points * p.wider * 1.01
}

// superscriptLetters are the letters of footnotes.
var superscriptLetters = func() map[rune]bool {
	out := map[rune]bool{}
	for r := 'a'; r <= 'z'; r++ {
		if s := superscripts(string(r)); s != string(r) {
			out[[]rune(s)[0]] = true
		}
	}
	return out
}()

// cmr8 are the widths of printable ASCII in Computer Modern Roman at 8 points,
// in thousandths of its size, from cmr8.tfm. Signs that LaTeX takes from other
// fonts are given the widest of them.
var cmr8 = [95]float64{
	354, 295, 531, 885, 531, 885, 826, 295, 413, 413, 531, 826, 295, 354, 295, 531, 531, 531, 531, 531, 531, 531, 531, 531, 531, 531, 295, 295, 826, 826, 826, 502,
	826, 796, 752, 767, 811, 723, 693, 834, 796, 383, 545, 825, 664, 973, 796, 826, 723, 826, 782, 590, 767, 796, 796, 1091, 796, 796, 649, 295, 531, 295, 531, 531,
	295, 531, 590, 472, 590, 472, 325, 531, 590, 295, 325, 561, 295, 885, 590, 531, 590, 561, 414, 419, 413, 590, 561, 767, 561, 561, 472, 531, 295, 531, 531,
}

// format returns the columns as tabular takes them.
func (p *latexPlan) format(g *grid) string {
	var b strings.Builder
	for i := range g.columns {
		switch {
		case p.widths[i] > 0:
			b.WriteString(foldedColumn(p.widths[i]))
		case g.columns[i].Align == analysis.Right:
			b.WriteByte('r')
		default:
			b.WriteByte('l')
		}
	}
	return b.String()
}

// foldedColumn is the kind of a column whose text is folded, which package array
// knows.
func foldedColumn(width float64) string {
	return fmt.Sprintf("%sp{%.0fpt}", ragged, math.Floor(width))
}

const ragged = `>{\raggedright\arraybackslash}`

// height returns how high a table is with its caption and notes, in points.
func (p *latexPlan) height(g *grid, caption string) float64 {
	height := 40.0 + 12*math.Ceil(float64(widthOf(caption))/66)
	for _, list := range [][]string{g.table.Warnings, g.table.Notes} {
		for _, note := range list {
			height += 9.5 * math.Ceil(float64(widthOf(note))/78)
		}
	}
	rows := 3 + len(g.table.Rows)
	for r := range g.table.Rows {
		if g.section >= 0 && (r == 0 || g.table.Rows[r][g.section].Label != g.table.Rows[r-1][g.section].Label) {
			rows += 2
		}
		folds := 1.0
		for i := range g.columns {
			if p.widths[i] > 0 {
				folds = math.Max(folds, math.Ceil(1.15*p.text(showPlain(g.columns[i].Column, &g.table.Rows[r][g.columns[i].index], roomy).String())/p.widths[i]))
			}
		}
		height += (folds - 1) * p.line
	}
	return height + float64(rows)*p.line
}
