package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/analysis"
)

// A table is laid out as text is, in so many letters: what a page of
// \footnotesize holds, and what one of two columns holds. TeX measures the rest.
const (
	latexPage   = 100
	latexColumn = 48
	latexLines  = 46 // of a page, caption and notes with them
)

// latexFloats is how many tables may wait for their place: TeX holds only so
// many back.
const latexFloats = 8

//go:embed assets/tables.tex
var latexSource string

var latexTemplate = template.Must(template.New("tables").Delims("<<", ">>").Funcs(textFuncs).Funcs(template.FuncMap{
	"tex": latexText, "name": func(c *analysis.Cell) string { return sectionName(c) + tagOf(c) },
}).Parse(latexSource))

// LaTeX writes tables for a paper, with the rules of booktabs: the best in bold,
// warnings and notes below. Where a table is wider than a page, its columns of
// least importance are left out and named; where it is higher, it goes on in
// further tables, which unlike a longtable work in two columns as well. A caption
// says what the table shows; where the paper has the like of it is a comment, as
// the numbers are not the paper's. Tables without rows are named in comments, each
// with what it needs. Its errors are those of w.
func LaTeX(w io.Writer, tables []analysis.Table) error {
	with, absent := split(tables)
	var out []*latexTable
	for i, t := range with {
		out = append(out, latexTableOf(t, i%latexFloats == latexFloats-1))
	}
	return fill(w, latexTemplate, out, absent)
}

// A latexTable is a table as the template takes it.
type latexTable struct {
	*layout
	Clear       bool   // a page ends before it
	Environment string // of one column of a page, or over both
	Caption     string
	Parts       []latexPart
	Apart       bool // the notes are behind the table: no part has room for them
}

// A latexPart is the rows that a page holds.
type latexPart struct {
	Bodies []body
	Notes  bool // they are below these rows
}

func latexTableOf(t *analysis.Table, clear bool) *latexTable {
	all := layoutOf(t)
	out := &latexTable{layout: all.fit(latexPage), Clear: clear, Environment: "table", Caption: strings.TrimSpace(t.Title + ". " + all.Intro())}
	if out.layout == nil { // labels that no folding makes narrow: TeX scales them
		out.layout = all.with(all.shown, all.heads, bare, nil)
	}
	letters := latexColumn
	if out.width() > latexColumn {
		out.Environment, letters = "table*", latexPage
	}
	out.divide(latexLines-4-len(out.Caption)/letters, letters)
	return out
}

// divide makes parts that fit in so many lines; the names of sections and rules
// take lines too.
func (t *latexTable) divide(free, letters int) {
	from := 0
	for _, b := range t.bodies(0, len(t.Rows)) {
		for i, r := range b.Rows {
			height := len(r.lines())
			if i == 0 && b.Section != nil {
				height += 2
			}
			if height > free && r.At > from {
				t.Parts = append(t.Parts, latexPart{t.bodies(from, r.At), false})
				from, free = r.At, latexLines-6
			}
			free -= height
		}
	}
	notes := 0
	for _, note := range slices.Concat(t.Warnings, t.Notes, t.Left) {
		notes += 1 + len(note)/letters
	}
	t.Apart = notes > max(free, 0)
	t.Parts = append(t.Parts, latexPart{t.bodies(from, len(t.Rows)), notes > 0 && !t.Apart})
}

// Format is the columns' alignment; a label that text would fold TeX folds too.
func (t *latexTable) Format() string {
	var b strings.Builder
	for _, c := range t.Columns {
		switch {
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
