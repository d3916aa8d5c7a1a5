package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// SummaryLines is the most lines that Summary writes: what a screen shows at
// once.
const SummaryLines = 25

// SummaryOptions say how a summary is written. The zero value is for a file.
type SummaryOptions struct {
	Width int  // columns that no sentence exceeds; 0 means 100, and less than 24 means 24
	Color bool // mark the title and what was lost with ANSI escapes
	// Hints say where everything else is, such as "all tables:  spatialstale
	// report runs/RUN". Each is a line of its own, however wide: a command that
	// is broken in two does not work as printed.
	Hints []string
}

// Summary writes what a run comes to in plain sentences, in at most SummaryLines
// lines: the findings, what was lost, and the hints. Where the lines do not
// suffice, the last findings are left out and counted. Its errors are those of w.
func Summary(w io.Writer, s analysis.Summary, opts SummaryOptions) error {
	if opts.Width == 0 {
		opts.Width = defaultWidth
	}
	p := &printer{out: bufio.NewWriter(w), width: max(opts.Width, minWidth), color: opts.Color}
	title := wrap(clean(s.Title), p.width)
	free := SummaryLines - len(title) - len(opts.Hints)
	lost := p.fitting(s.Lost, "! ", "more", free/2)
	var sentences []string
	for _, f := range s.Findings {
		sentences = append(sentences, f.Text)
	}
	names := p.fitting(s.Names, "", "more names", free/4)
	findings := p.fitting(sentences, "· ", "more findings", free-len(lost)-len(names))
	for _, part := range []struct {
		style string
		lines []string
	}{{bold, title}, {"", findings}, {alarm, lost}, {dim, names}} {
		for _, line := range part.lines {
			p.line(p.style(part.style, line))
		}
	}
	for _, hint := range opts.Hints {
		p.line(clean(hint))
	}
	return p.out.Flush()
}

// fitting returns as many sentences, wrapped behind a bullet, as so many lines
// hold; the last line counts those that they do not.
func (p *printer) fitting(sentences []string, bullet, more string, lines int) (out []string) {
	ends := make([]int, len(sentences)) // lines up to and with each
	for i, s := range sentences {
		lead := bullet
		for _, line := range wrap(clean(s), p.width-widthOf(bullet)) {
			out = append(out, lead+line)
			lead = strings.Repeat(" ", widthOf(bullet))
		}
		ends[i] = len(out)
	}
	if len(out) <= lines {
		return out
	}
	kept := len(ends)
	for kept > 0 && ends[kept-1] >= lines {
		kept--
	}
	out = out[:0]
	if kept > 0 {
		out = out[:ends[kept-1]]
	}
	return append(out, fmt.Sprintf("  and %s %s", thousands(len(sentences)-kept), more))
}
