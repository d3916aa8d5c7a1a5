package report

import (
	"bufio"
	"io"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// Markdown writes tables for people as sections with pipe tables, which are
// padded so that the file itself can be read. Tables without rows are listed at
// the end, each with what it needs. Its errors are those of w.
func Markdown(w io.Writer, tables []analysis.Table) error {
	out := bufio.NewWriter(w)
	with, absent := split(tables)
	for i, t := range with {
		if i > 0 {
			out.WriteByte('\n')
		}
		writeMarkdown(out, t)
	}
	if len(absent) > 0 {
		if len(with) > 0 {
			out.WriteByte('\n')
		}
		out.WriteString("## " + absentTitle + "\n\n")
		for _, need := range absent {
			out.WriteString("- " + escape(need) + "\n")
		}
	}
	return out.Flush()
}

func writeMarkdown(out *bufio.Writer, t *analysis.Table) {
	title := t.Title
	if place := paperPlace(t.Paper); place != "" {
		title += " (" + place + ")"
	}
	out.WriteString("## " + escape(title) + "\n\n")
	l := layoutOf(t)
	about := t.About
	if l.Lifted != "" {
		about += " In every row: " + l.Lifted + "."
	}
	if about = strings.TrimSpace(about); about != "" {
		out.WriteString(escape(about) + "\n\n")
	}
	for _, warning := range t.Warnings {
		out.WriteString("**" + escape(warning) + "**\n\n")
	}
	writePipes(out, l)
	if len(t.Notes) > 0 {
		out.WriteByte('\n')
	}
	for _, note := range t.Notes {
		out.WriteString("- " + escape(note) + "\n")
	}
}

// writePipes writes the table itself.
func writePipes(out *bufio.Writer, l *layout) {
	lines := make([][]string, 1+len(l.Rows))
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
			lines[r] = append(lines[r], pad(text, width, c.Align))
		}
		dashes := strings.Repeat("-", width+1)
		if c.Align == analysis.Right {
			rule += dashes + ":|"
		} else {
			rule += ":" + dashes + "|"
		}
	}
	for r, line := range lines {
		out.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if r == 0 {
			out.WriteString(rule + "\n")
		}
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`, "\u00a0", " ")

// escape keeps text from being read as markup.
func escape(s string) string { return markdownEscapes.Replace(clean(s)) }
