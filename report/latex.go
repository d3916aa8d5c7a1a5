package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/analysis"
)

// latexHead says what a document needs to take the tables in.
const latexHead = "% Tables of a report, to be taken in with \\input. They fit the lines of\n% \\documentclass{article} with its own margins. The document needs\n% \\usepackage{booktabs}, \\usepackage{longtable} and \\usepackage{graphicx}"

// LaTeX writes tables for a paper, with the rules of booktabs: the best in bold,
// warnings and notes below. A table that is higher than a page is a longtable,
// one that is wider than a line has smaller type, folded words, or a page that
// lies. Tables without rows are named in comments, each with what it needs. Its
// errors are those of w.
func LaTeX(w io.Writer, tables []analysis.Table) error {
	var body bytes.Buffer
	out := bufio.NewWriter(&body)
	with, without := split(tables)
	landscape := false
	for _, t := range with {
		out.WriteByte('\n')
		landscape = writeLaTeX(out, t) || landscape
	}
	if len(without) > 0 {
		out.WriteString("\n% " + absentTitle + ":\n")
		for _, t := range without {
			out.WriteString("% " + clean(need(t)) + "\n")
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	head := latexHead
	if bytes.Contains(body.Bytes(), []byte(ragged)) {
		head += ",\n% for folded words \\usepackage{array}"
	}
	if landscape {
		head += ",\n% for pages that lie \\usepackage{pdflscape}"
	}
	head += ".\n"
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	_, err := body.WriteTo(w)
	return err
}

// writeLaTeX writes a table, and reports whether it needs a page that lies.
func writeLaTeX(out *bufio.Writer, t *analysis.Table) (landscape bool) {
	v := viewOf(t)
	g := measure(v, v.cols, sectionOf(v), roomy)
	words := caption(t, v)
	p := planLaTeX(g, words)
	high := latexLength
	if p.landscape {
		high = latexLine
		out.WriteString("\\begin{landscape}\n")
	}
	caption := "\\caption{" + latexText(words) + "}\\label{tab:" + t.ID + "}"
	switch long := p.height(g, words) > high; {
	case long && p.shrunk: // a longtable cannot be scaled: it is cut into tables that can
		for from := 0; from < len(t.Rows); from += shrunkRows {
			to := min(from+shrunkRows, len(t.Rows))
			if from > 0 {
				caption = "\\caption[]{" + latexText(t.Title+", continued.") + "}"
			}
			p.table(out, g, caption, from, to, to == len(t.Rows))
		}
	case long:
		p.longtable(out, g, caption)
	default:
		p.table(out, g, caption, 0, len(t.Rows), true)
	}
	if p.landscape {
		out.WriteString("\\end{landscape}\n")
	}
	return p.landscape
}

// shrunkRows is the number of rows of each part of a table that is cut.
const shrunkRows = 20

// table writes some rows as a table of their own. TeX measures it: in a document
// with narrower lines it is scaled down.
func (p *latexPlan) table(out *bufio.Writer, g *grid, caption string, from, to int, notes bool) {
	out.WriteString("\\begin{table}[htbp]\n\\centering\n" + caption + "\n")
	fmt.Fprintf(out, "\\%s\\setlength{\\tabcolsep}{%gpt}\n\\sbox0{\\begin{tabular}{@{}%s@{}}\n\\toprule\n", p.name, p.gap/2, p.format(g))
	writeLaTeXHead(out, g)
	for r := from; r < to; r++ {
		p.row(out, g, r, r == from, true)
	}
	out.WriteString("\\bottomrule\n\\end{tabular}}%\n\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n")
	if notes {
		writeLaTeXNotes(out, g.table)
	}
	out.WriteString("\\end{table}\n")
}

// longtable writes all rows as a table that goes on over pages.
func (p *latexPlan) longtable(out *bufio.Writer, g *grid, caption string) {
	fmt.Fprintf(out, "{\\%s\\setlength{\\tabcolsep}{%gpt}\\setlength{\\LTcapwidth}{\\linewidth}\n\\begin{longtable}{@{}%s@{}}\n%s\\\\\n\\toprule\n", p.name, p.gap/2, p.format(g), caption)
	writeLaTeXHead(out, g)
	out.WriteString("\\midrule\n\\endfirsthead\n\\toprule\n")
	writeLaTeXHead(out, g)
	out.WriteString("\\midrule\n\\endhead\n")
	for r := range g.table.Rows {
		p.row(out, g, r, r == 0, false)
	}
	out.WriteString("\\bottomrule\n\\end{longtable}}\n")
	writeLaTeXNotes(out, g.table)
}

// row writes a row and before it, where a section begins, the section's name.
func (p *latexPlan) row(out *bufio.Writer, g *grid, r int, first, rule bool) {
	row := g.table.Rows[r]
	section := g.section >= 0 && (first || row[g.section].Label != g.table.Rows[r-1][g.section].Label)
	if first && rule || section && !first {
		out.WriteString("\\midrule\n")
	}
	if section {
		cell := &row[g.section]
		name := cell.Display()
		if cell.Tag != "" {
			name += " (" + cell.Tag + ")"
		}
		if width := p.width; p.text(name)*1.06 <= width { // italics are wider
			fmt.Fprintf(out, "\\multicolumn{%d}{@{}l}{\\textit{%s}}\\\\\n", len(g.columns), latexText(name))
		} else {
			fmt.Fprintf(out, "\\multicolumn{%d}{@{}%s@{}}{\\textit{%s}}\\\\\n", len(g.columns), foldedColumn(width), latexText(name))
		}
	}
	cells := make([]string, len(g.columns))
	for i, c := range g.columns {
		cell := &row[c.index]
		text := latexText(showPlain(c.Column, cell, roomy).String())
		if cell.Best {
			text = "\\textbf{" + text + "}"
		}
		cells[i] = text
	}
	out.WriteString(strings.Join(cells, " & ") + "\\\\\n")
}

// caption is a table's title, its place in the paper and what it says.
func caption(t *analysis.Table, v *view) string {
	parts := []string{t.Title + "."}
	if place := paperPlace(t); place != "" {
		parts[0] = t.Title + " (" + place + ")."
	}
	parts = append(parts, t.About)
	if v.lifted != "" {
		parts = append(parts, "In every row: "+v.lifted+".")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
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
	headings := make([]string, len(g.columns))
	for i, c := range g.columns {
		headings[i] = latexText(heading(c.Column))
	}
	out.WriteString(strings.Join(headings, " & ") + "\\\\\n")
}

// writeLaTeXNotes writes what stands below a table.
func writeLaTeXNotes(out *bufio.Writer, t *analysis.Table) {
	if len(t.Warnings)+len(t.Notes) == 0 {
		return
	}
	out.WriteString("\\par\\smallskip\n\\noindent\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n")
	for _, warning := range t.Warnings {
		out.WriteString("\\textbf{" + latexText(warning) + "}\\par\n")
	}
	for _, note := range t.Notes {
		out.WriteString(latexText(note) + "\\par\n")
	}
	out.WriteString("\\end{minipage}\n")
}

// latexText escapes text for LaTeX. Letters that a plain document has no sign
// for are written by their number. A long word, which is a model's name or an
// address, may break behind the marks in it.
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
	last := rune(0)
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
		if long && strings.ContainsRune("/-_:&?=@", r) {
			b.WriteString("\\allowbreak{}")
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
