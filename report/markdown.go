package report

import (
	_ "embed"
	"io"
	"strings"
	"text/template"

	"github.com/spatialstale/spatialstale/analysis"
)

//go:embed assets/tables.md
var markdownSource string

var markdownTemplate = template.Must(template.New("tables").Funcs(textFuncs).Funcs(template.FuncMap{"plain": escape}).Parse(markdownSource))

// Markdown writes tables for people as sections with pipe tables, which are
// padded so that the file itself can be read. Tables without rows are listed at
// the end, each with what it needs. Its errors are those of w.
func Markdown(w io.Writer, tables []analysis.Table) error {
	with, absent := split(tables)
	var layouts []*layout
	for _, t := range with {
		layouts = append(layouts, layoutOf(t))
	}
	return fill(w, markdownTemplate, layouts, absent)
}

// Pipes is the table itself in Markdown.
func (l *layout) Pipes() string {
	lines := make([]string, 1+len(l.Rows))
	rule := "|"
	for i := range l.Columns {
		c := &l.Columns[i]
		cells := []string{escape(fullHeading(c.Column))}
		for _, s := range c.cells {
			text := escape(s.String())
			if s.Best {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		width := max(3, widest(cells))
		for r, text := range cells {
			lines[r] += "| " + pad(text, width, c.Align) + " "
		}
		if dashes := strings.Repeat("-", width+1); c.Align == analysis.Right {
			rule += dashes + ":|"
		} else {
			rule += ":" + dashes + "|"
		}
	}
	return lines[0] + "|\n" + rule + "\n" + strings.Join(append(lines[1:], ""), "|\n")
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`, "\u00a0", " ")

// escape keeps text from being read as markup.
func escape(s string) string { return markdownEscapes.Replace(clean(s)) }
