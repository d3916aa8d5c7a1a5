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
	with, without := split(tables)
	for i, t := range with {
		if i > 0 {
			out.WriteByte('\n')
		}
		writeMarkdown(out, t)
	}
	if len(without) > 0 {
		if len(with) > 0 {
			out.WriteByte('\n')
		}
		out.WriteString("## " + absentTitle + "\n\n")
		for _, t := range without {
			out.WriteString("- " + escape(need(t.ID, t.Paper, t.Need)) + "\n")
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
	v := viewOf(t)
	about := t.About
	if v.lifted != "" {
		about += " In every row: " + v.lifted + "."
	}
	if about = strings.TrimSpace(about); about != "" {
		out.WriteString(escape(about) + "\n\n")
	}
	for _, warning := range t.Warnings {
		out.WriteString("**" + escape(warning) + "**\n\n")
	}
	writePipes(out, v)
	if len(t.Notes) > 0 {
		out.WriteByte('\n')
	}
	for _, note := range t.Notes {
		out.WriteString("- " + escape(note) + "\n")
	}
}

// writePipes writes the table itself.
func writePipes(out *bufio.Writer, v *view) {
	lines := make([][]string, 1+len(v.table.Rows))
	widths := make([]int, len(v.cols))
	for k, i := range v.cols {
		col := &v.table.Columns[i]
		lines[0] = append(lines[0], escape(fullHeading(col)))
		for r, row := range v.table.Rows {
			text := escape(showPlain(col, &row[i], roomy).String())
			if row[i].Best {
				text = "**" + text + "**"
			}
			lines[r+1] = append(lines[r+1], text)
		}
		for _, l := range lines {
			widths[k] = max(widths[k], widthOf(l[k]), 3)
		}
	}
	for r, line := range lines {
		out.WriteByte('|')
		for k, i := range v.cols {
			out.WriteString(" " + pad(line[k], widths[k], v.table.Columns[i].Align) + " |")
		}
		out.WriteByte('\n')
		if r > 0 {
			continue
		}
		out.WriteByte('|')
		for k, i := range v.cols {
			bar := strings.Repeat("-", widths[k]+1)
			if v.table.Columns[i].Align == analysis.Right {
				out.WriteString(bar + ":|")
			} else {
				out.WriteString(":" + bar + "|")
			}
		}
		out.WriteByte('\n')
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`, "\u00a0", " ")

// escape keeps text from being read as markup.
func escape(s string) string { return markdownEscapes.Replace(clean(s)) }
