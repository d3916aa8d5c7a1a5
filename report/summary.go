package report

import (
	"fmt"
	"io"
	"slices"

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
	p := newPrinter(w, opts.Width, opts.Color)
	title := p.wrapped("", s.Title)
	free := SummaryLines - len(title) - len(opts.Hints)
	lost := p.fitting(s.Lost, "! ", "more", free/2)
	var sentences []string
	for _, f := range s.Findings {
		sentences = append(sentences, f.Text)
	}
	names := p.fitting(s.Names, "", "more names", free/4)
	findings := p.fitting(sentences, "· ", "more findings", free-len(lost)-len(names))
	p.lines(bold, title)
	p.lines("", findings)
	p.lines(alarm, lost)
	p.lines(dim, names)
	for _, hint := range opts.Hints {
		p.line(clean(hint))
	}
	return p.out.Flush()
}

// fitting returns as many sentences, wrapped behind a bullet, as so many lines
// hold; the last line counts those that they do not.
func (p *printer) fitting(sentences []string, bullet, more string, lines int) []string {
	others := func(n int) string { return fmt.Sprintf("  and %s %s", thousands(n), more) }
	var all []string
	some := []string{others(len(sentences))}
	for i, s := range sentences {
		all = append(all, p.wrapped(bullet, s)...)
		if len(all) < lines {
			some = append(slices.Clone(all), others(len(sentences)-i-1))
		}
	}
	if len(all) <= lines {
		return all
	}
	return some
}
