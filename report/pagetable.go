package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// TableHTML writes one table as a fragment of a page, which page.css styles. Every
// name in it is text, never markup.
func TableHTML(w io.Writer, t *analysis.Table) error {
	return execute(w, "table", pageTableOf(t, nil))
}

// A pageTable is a table as the page's template takes it.
type pageTable struct {
	*layout
	Bodies []body
	Trials []string // of each row the fragment that shows those behind it; nil when none has one
}

// pageTableOf lays a table out for a page, whose trials may be nil.
func pageTableOf(t *analysis.Table, trials *Trials) *pageTable {
	l := layoutOf(t).sectioned()
	out := &pageTable{layout: l, Bodies: l.bodies(0, len(t.Rows))}
	links := make([]string, len(t.Rows))
	for r, row := range t.Rows {
		if links[r] = trials.behind(t, row); links[r] != "" {
			out.Trials = links
		}
	}
	return out
}

// Width returns the number of columns, with that of the trials.
func (t *pageTable) Width() int {
	if t.Trials != nil {
		return len(t.Columns) + 1
	}
	return len(t.Columns)
}

// Number is what stands out in a cell, Rest what qualifies it.
func (s shown) Number() string {
	if s.Marks {
		return s.Lead + s.Tail
	}
	return s.Lead
}

// Rest returns what Number leaves.
func (s shown) Rest() string { return strings.TrimSpace(strings.TrimPrefix(s.String(), s.Number())) }

// Full says what a number rests on, or is the whole name behind a short one; ""
// for neither.
func (f *cell) Full() string {
	switch f.Kind {
	case analysis.Label:
		return fullName(f.Cell)
	case analysis.Rate, analysis.Share:
		if f.Cell.Value != nil {
			return fmt.Sprintf("%d/%d", f.Cell.Count, f.Cell.Of)
		}
	case analysis.Mean, analysis.Paired:
		if f.Cell.Value != nil {
			return "n=" + strconv.Itoa(f.Cell.N)
		}
	}
	return ""
}

func fullName(c *analysis.Cell) string {
	if c.Short == "" || len(c.Label) <= len(c.Short) {
		return ""
	}
	return c.Label
}
