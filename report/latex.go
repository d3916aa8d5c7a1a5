package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// latexHead says what a document needs to take the tables in.
const latexHead = "% Tables of a report, to be taken in with \\input. The document needs\n% \\usepackage{booktabs}, \\usepackage{longtable} and \\usepackage{graphicx}.\n"

// How much a page takes: rows of a table that is not broken, and letters of a
// line; above them the table is set as a longtable, and smaller.
const (
	latexRows    = 45
	latexLetters = 96
)

// LaTeX writes tables for a paper, with the rules of booktabs: the best in bold,
// warnings and notes below. A table with more rows than a page holds is a
// longtable. Tables without rows are named in comments, each with what it needs.
// Its errors are those of w.
func LaTeX(w io.Writer, tables []analysis.Table) error {
	out := bufio.NewWriter(w)
	out.WriteString(latexHead)
	with, without := split(tables)
	for _, t := range with {
		out.WriteByte('\n')
		writeLaTeX(out, t)
	}
	if len(without) > 0 {
		out.WriteString("\n% " + absentTitle + ":\n")
		for _, t := range without {
			out.WriteString("% " + clean(need(t)) + "\n")
		}
	}
	return out.Flush()
}

func writeLaTeX(out *bufio.Writer, t *analysis.Table) {
	v := viewOf(t)
	g := measure(v, v.cols, sectionOf(v), roomy)
	long := len(t.Rows) > latexRows
	wide := g.width() > latexLetters
	size := "small"
	switch {
	case g.width() > latexLetters*5/4:
		size = "tiny"
	case wide:
		size = "scriptsize"
	}
	caption := "\\caption{" + latexText(caption(t, v)) + "}\\label{tab:" + t.ID + "}"
	format := ""
	for _, c := range g.columns {
		format += map[analysis.Align]string{analysis.Left: "l", analysis.Right: "r"}[c.Align]
	}
	rule := func(name string) { out.WriteString("\\" + name + "\n") }
	if long {
		out.WriteString("{\\" + size + "\\setlength{\\tabcolsep}{3pt}\n\\begin{longtable}{@{}" + format + "@{}}\n" + caption + "\\\\\n")
	} else {
		out.WriteString("\\begin{table}\n\\centering\n" + caption + "\n")
		if wide {
			out.WriteString("\\resizebox{\\linewidth}{!}{%\n")
		} else {
			out.WriteString("\\small\n")
		}
		out.WriteString("\\begin{tabular}{@{}" + format + "@{}}\n")
	}
	rule("toprule")
	writeLaTeXHead(out, g)
	if long {
		rule("midrule\n\\endhead")
	}
	for r := range t.Rows {
		newSection := g.section >= 0 && (r == 0 || t.Rows[r][g.section].Label != t.Rows[r-1][g.section].Label)
		if newSection || r == 0 {
			if !long || r > 0 {
				rule("midrule")
			}
		}
		if newSection {
			cell := &t.Rows[r][g.section]
			section := cell.Display()
			if cell.Tag != "" {
				section += " (" + cell.Tag + ")"
			}
			fmt.Fprintf(out, "\\multicolumn{%d}{@{}l}{\\textit{%s}}\\\\\n", len(g.columns), latexText(section))
		}
		cells := make([]string, len(g.columns))
		for k, c := range g.columns {
			cell := &t.Rows[r][c.index]
			cells[k] = latexText(showPlain(c.Column, cell, roomy).String())
			if cell.Best {
				cells[k] = "\\textbf{" + cells[k] + "}"
			}
		}
		out.WriteString(strings.Join(cells, " & ") + "\\\\\n")
	}
	rule("bottomrule")
	switch {
	case long:
		out.WriteString("\\end{longtable}}\n")
	case wide:
		out.WriteString("\\end{tabular}}\n")
	default:
		out.WriteString("\\end{tabular}\n")
	}
	writeLaTeXNotes(out, t)
	if !long {
		out.WriteString("\\end{table}\n")
	}
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
// for are written by their number.
func latexText(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range clean(s) {
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
