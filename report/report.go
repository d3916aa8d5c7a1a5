// Package report shows the tables and figures of analysis to people and to
// programs: as text for a terminal or a file, as Markdown, LaTeX, CSV and JSON,
// and as one page for a browser, on which every trial can be replayed. It is the
// last stage of the data flow.
//
// People get rounded numbers with what they need to read them; programs get
// every column in full precision. It knows no table by name, computes no result
// of its own, never cuts a number short, and never writes an undefined value as
// zero: where the width does not suffice, whole columns are left out and named.
package report

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// cellWidth measures text in terminal cells. It does not ask the environment,
// whose locale would change tables.
var cellWidth = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

func widthOf(s string) int { return cellWidth.StringWidth(s) }

// clean makes a name safe to print: a model's name may come from anywhere, and
// must not move the cursor.
func clean(s string) string {
	return strings.Map(func(r rune) rune { return harmless(r, "") }, s)
}

// harmless replaces a control character that is none of those to keep.
func harmless(r rune, keep string) rune {
	if !strings.ContainsRune(keep, r) && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
		return unicode.ReplacementChar
	}
	return r
}

// paperPlace says where the paper has a table or a figure, "" when it has none.
func paperPlace(place string) string {
	if place == "" {
		return ""
	}
	return "the paper’s " + place
}

// split returns the tables that have rows, and what those need that have none.
func split(tables []analysis.Table) (with []*analysis.Table, absent []string) {
	for i := range tables {
		if t := &tables[i]; len(t.Rows) > 0 {
			with = append(with, t)
		} else {
			absent = append(absent, need(t.ID, t.Paper, t.Need))
		}
	}
	return with, absent
}

// absentTitle heads the list of tables without rows.
const absentTitle = "Not in this run"

// textFuncs are what the templates of Markdown and LaTeX can call.
var textFuncs = template.FuncMap{"clean": clean, "join": strings.Join, "place": paperPlace, "absentTitle": func() string { return absentTitle }, "program": record.Program}

// fill writes a template of tables, and of those that are absent.
func fill[T any](w io.Writer, t *template.Template, tables []T, absent []string) error {
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		Tables []T
		Absent []string
	}{tables, absent}); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// need says what a table or a figure without data needs.
func need(id, paper, need string) string {
	out := id
	if place := paperPlace(paper); place != "" {
		out += " (" + place + ")"
	}
	if need != "" {
		out += " needs " + need + "."
	}
	return out
}

// counted writes "1 seed", "50 seeds".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
