// Package report shows the tables of analysis to people and to programs: as
// text for a terminal or a file, as Markdown, as CSV and as JSON. It is the
// last stage of the data flow.
//
// People get rounded numbers with what they need to read them; programs get
// every column in full precision. It computes no result of its own, never cuts
// a number short, and never writes an undefined value as zero: where room is
// short, whole columns are left out and named.
package report

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/spatialstale/spatialstale/analysis"
)

// cellWidth measures text in terminal cells. It does not ask the environment,
// whose locale would change tables.
var cellWidth = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

func widthOf(s string) int { return cellWidth.StringWidth(s) }

// clean makes a name safe to print: a model's name may come from anywhere, and
// must not move the cursor.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// paperPlace says where the paper has a table, "" when it has none.
func paperPlace(t *analysis.Table) string {
	if t.Paper == "" {
		return ""
	}
	return "the paper’s " + t.Paper
}
