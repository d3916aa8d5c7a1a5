package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/analysis"
)

// latexHead says what a document needs to take the tables in.
const latexHead = `% Tables of a report, to be taken in with \input. They compile in one column and
% in two, where wide ones go over both. The document needs
% \usepackage{booktabs} and \usepackage{graphicx}.
`

// A table is laid out as text is, in so many letters: what a page of
// \footnotesize holds, and what one of two columns holds. TeX measures the rest.
const (
	latexPage   = 100
	latexColumn = 48
	latexLines  = 46 // of a page, caption and notes with them
)

// LaTeX writes tables for a paper, with the rules of booktabs: the best in bold,
// warnings and notes below. Where a table is wider than a page, its columns of
// least importance are left out and named; where it is higher, it goes on in
// further tables, which unlike a longtable work in two columns as well. A caption
// says what the table shows; where the paper has the like of it is a comment, as
// the numbers are not the paper's. Tables without rows are named in comments, each
// with what it needs. Its errors are those of w.
func LaTeX(w io.Writer, tables []analysis.Table) error {
	out := bufio.NewWriter(w)
	out.WriteString(latexHead)
	with, without := split(tables)
	for i, t := range with {
		if i%latexFloats == latexFloats-1 {
			out.WriteString("\n\\clearpage % TeX holds only so many tables back\n")
		}
		latexTableOf(t).write(out)
	}
	if len(without) > 0 {
		out.WriteString("\n% " + absentTitle + ":\n")
		for _, t := range without {
			out.WriteString("% " + clean(need(t.ID, t.Paper, t.Need)) + "\n")
		}
	}
	return out.Flush()
}

// latexFloats is how many tables may wait for their place.
const latexFloats = 8

// A latexTable is a table with its columns chosen.
type latexTable struct {
	*grid
	left    []string // columns that are left out
	caption string
	width   int // in letters
}

func latexTableOf(t *analysis.Table) *latexTable {
	v := viewOf(t)
	out := &latexTable{}
	if out.grid, out.left = fit(v, latexPage); out.grid == nil { // labels that no folding makes narrow: TeX scales them
		out.grid = measure(v, v.cols, sectionOf(v), bare)
	}
	out.width = out.grid.width()
	parts := []string{t.Title + ".", t.About}
	if v.lifted != "" {
		parts = append(parts, "In every row: "+v.lifted+".")
	}
	out.caption = strings.TrimSpace(strings.Join(parts, " "))
	return out
}

// write writes a table, in parts where it is higher than a page; its notes are
// below the last.
func (t *latexTable) write(out *bufio.Writer) {
	out.WriteByte('\n')
	if t.table.Paper != "" {
		out.WriteString("% For comparison: " + clean(t.table.Paper) + " of arXiv:2608.04574.\n")
	}
	caption := "\\caption{" + latexText(t.caption) + "}\\label{tab:" + t.table.ID + "}"
	notes := t.notes()
	below := 0
	for _, note := range notes {
		below += 1 + len(note)/t.letters()
	}
	apart := below > latexLines/2 // more than a page has for them: they are text
	if apart {
		below = 0
	}
	lines := latexLines - 4 - len(t.caption)/t.letters()
	for from, n := 0, len(t.table.Rows); from < n; {
		to := t.rows(from, lines-below)
		if to < n {
			to = min(t.rows(from, lines), n-1) // the notes have the last row with them
		}
		t.part(out, caption, from, to)
		if to == n && !apart {
			writeLaTeXNotes(out, notes)
		}
		out.WriteString("\\end{" + t.environment() + "}\n")
		from, caption, lines = to, "\\caption[]{"+latexText(t.table.Title+", continued.")+"}", latexLines-4
	}
	if apart {
		writeLaTeXNotes(out, append([]string{"Notes to Table~\\ref{tab:" + t.table.ID + "}:"}, notes...))
	}
}

// rows returns the end of the rows that fit in so many lines, at least one; the
// names of their sections and rules take lines too.
func (t *latexTable) rows(from, lines int) int {
	to := from
	for ; to < len(t.table.Rows); to++ {
		lines -= len(t.row(to, true))
		if t.starts(to, from) {
			lines -= 2
		}
		if lines < 0 && to > from {
			break
		}
	}
	return to
}

// environment is that of a table over both columns of a page where one does not
// hold it.
func (t *latexTable) environment() string {
	if t.width > latexColumn {
		return "table*"
	}
	return "table"
}

// letters is how many a line of the environment holds.
func (t *latexTable) letters() int {
	if t.width > latexColumn {
		return latexPage
	}
	return latexColumn
}

// part begins a table with some of the rows; what TeX finds too wide, as in a
// document with wide margins, is scaled down.
func (t *latexTable) part(out *bufio.Writer, caption string, from, to int) {
	out.WriteString("\\begin{" + t.environment() + "}[htbp]\n\\centering\\footnotesize\n" + caption + "\\par\\smallskip\n\\sbox0{\\begin{tabular}{@{}" + t.format() + "@{}}\n\\toprule\n")
	writeLaTeXHead(out, t.grid)
	for r := from; r < to; r++ {
		section := t.starts(r, from)
		if r == from || section {
			out.WriteString("\\midrule\n")
		}
		if section {
			cell := &t.table.Rows[r][t.section]
			name := cell.Display()
			if cell.Tag != "" {
				name += " (" + cell.Tag + ")"
			}
			fmt.Fprintf(out, "\\multicolumn{%d}{@{}l}{\\textit{%s}}\\\\\n", len(t.columns), latexText(name))
		}
		t.writeRow(out, r, r == from || section)
	}
	out.WriteString("\\bottomrule\n\\end{tabular}}%\n\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n")
}

// format is the columns' alignment; a label that text would fold TeX folds too.
func (t *latexTable) format() string {
	var b strings.Builder
	for i := range t.columns {
		switch c := &t.columns[i]; {
		case c.folded:
			fmt.Fprintf(&b, "p{%dem}", (c.width+1)/2)
		case c.Align == analysis.Right:
			b.WriteByte('r')
		default:
			b.WriteByte('l')
		}
	}
	return b.String()
}

// writeRow writes a row; what repeats is said again where a section starts.
func (t *latexTable) writeRow(out *bufio.Writer, r int, starts bool) {
	cells := make([]string, len(t.columns))
	for i, c := range t.columns {
		if !starts && t.repeated(r, i) {
			continue
		}
		cell := &t.table.Rows[r][c.index]
		text := latexText(showPlain(c.Column, cell, t.density).String())
		if cell.Best {
			text = "\\textbf{" + text + "}"
		}
		cells[i] = text
	}
	out.WriteString(strings.Join(cells, " & ") + "\\\\\n")
}

// notes are what is written below a table, warnings first.
func (t *latexTable) notes() (notes []string) {
	for _, warning := range t.table.Warnings {
		notes = append(notes, "\\textbf{"+latexText(warning)+"}")
	}
	for _, note := range t.table.Notes {
		notes = append(notes, latexText(note))
	}
	if len(t.left) > 0 {
		notes = append(notes, latexText("Left out to fit the page: "+strings.Join(t.left, ", ")+"."))
	}
	return notes
}

func writeLaTeXNotes(out *bufio.Writer, notes []string) {
	if len(notes) == 0 {
		return
	}
	out.WriteString("\\par\\smallskip\n{\\footnotesize\\raggedright\n")
	for _, note := range notes {
		out.WriteString("\\noindent " + note + "\\par\n")
	}
	out.WriteString("}\n")
}

// writeLaTeXHead writes the headings, those that columns share above them.
func writeLaTeXHead(out *bufio.Writer, g *grid) {
	var above, rules []string
	grouped := false
	at := 1
	for _, s := range g.spans() {
		n := s.last - at + 2
		if s.name == "" {
			above = append(above, strings.Repeat(" & ", n-1))
		} else {
			grouped = true
			above = append(above, fmt.Sprintf("\\multicolumn{%d}{c}{%s}", n, latexText(s.name)))
			rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", at, at+n-1))
		}
		at += n
	}
	if grouped {
		out.WriteString(strings.Join(above, " & ") + "\\\\\n" + strings.Join(rules, "") + "\n")
	}
	for _, line := range g.headingLines() {
		for i := range line {
			line[i] = latexText(line[i])
		}
		out.WriteString(strings.Join(line, " & ") + "\\\\\n")
	}
}

// latexText escapes text for LaTeX. Letters that a plain document has no sign
// for are written by their number. A long word, which is a model's name or an
// address, may break behind the marks in it, or else anywhere now and then.
func latexText(s string) string {
	words := strings.Split(clean(s), " ")
	for i, word := range words {
		words[i] = latexWord(word)
	}
	return strings.Join(words, " ")
}

// longWord is the number of letters from which on a word may break.
const longWord = 24

func latexWord(s string) string {
	long := utf8.RuneCountInString(s) >= longWord
	var b strings.Builder
	last, unbroken := rune(0), 0
	for _, r := range s {
		switch {
		case r == '-' && last == '-', r == '\'' && last == '\'', r == '`' && last == '`':
			b.WriteString("{}") // two in a row would be joined into one sign
			b.WriteRune(r)
		case latexSigns[r] != "":
			b.WriteString(latexSigns[r])
		case r < 0x80 || r >= 0xa1 && r <= 0xff:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
		if unbroken++; !unicode.IsLetter(r) && !unicode.IsDigit(r) || unbroken == longWord/2 {
			if long {
				b.WriteString("\\allowbreak{}")
			}
			unbroken = 0
		}
		last = r
	}
	return b.String()
}

var latexSigns = func() map[rune]string {
	signs := map[rune]string{
		'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
		'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`, '"': `\textquotedbl{}`,
		'\u00a0': "~", '±': `$\pm$`, '×': `$\times$`, '·': `$\cdot$`, '−': `$-$`, '–': "--", '—': "---", '’': "'", '‘': "`", '“': "``", '”': "''", '…': `\ldots{}`,
		'≤': `$\le$`, '≥': `$\ge$`, '→': `$\to$`, '≈': `$\approx$`, '√': `$\surd$`, 'ρ': `$\rho$`, 'α': `$\alpha$`, 'τ': `$\tau$`, 'Δ': `$\Delta$`, '²': `$^2$`, '½': `$\frac12$`, 'χ': `$\chi$`, 'φ': `$\phi$`, 'κ': `$\kappa$`, 'σ': `$\sigma$`, 'μ': `$\mu$`, 'β': `$\beta$`, '∞': `$\infty$`, '≠': `$\ne$`, '†': `\dag{}`, '‡': `\ddag{}`, '●': `$\bullet$`, '³': `$^3$`, '¹': `$^1$`,
		'\u202f': `\,`, '\u2009': `\,`,
	}
	for r := 'a'; r <= 'z'; r++ {
		if raisedLetter := superscripts(string(r)); raisedLetter != string(r) {
			signs[[]rune(raisedLetter)[0]] = `\textsuperscript{` + string(r) + `}`
		}
	}
	return signs
}()
