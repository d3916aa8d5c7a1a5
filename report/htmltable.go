package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// An htmlTable is a table as the page's template takes it.
type htmlTable struct {
	ID, Title, Place, About, Lifted string
	Warnings, Notes                 []string
	Need                            string // why there are no rows; empty when there are
	Left                            string // why rows are not shown here
	Groups                          []htmlHead
	Heads                           []htmlHead
	Bodies                          []htmlBody
	Controls                        bool // only built-in agents are in it
	Linked                          bool // some row leads to trials
	Width                           int  // columns
}

type htmlHead struct {
	Text  string
	Span  int
	Label bool
}

// An htmlBody is the rows below one section's head.
type htmlBody struct {
	Section, Tag, Full string
	Rows               []htmlRow
}

type htmlRow struct {
	Cells []htmlCell
	Links []htmlLink
}

type htmlCell struct {
	Lead, Tail, Remark string
	Tag                string
	Full               string // a name that Lead is short for
	Behind             string // what the number rests on
	Label, Head        bool   // Head: it names the row
	Again              bool   // the same as above, for the eye left out
	Text               bool   // words, not numbers
	Best               bool   // of its part of the table
}

type htmlLink struct{ To, Text, Label string }

// htmlTableOf lays a table out for a page.
func htmlTableOf(t *analysis.Table, trials *trialIndex) htmlTable {
	v := viewOf(t)
	out := htmlTable{
		ID: t.ID, Title: clean(t.Title), Place: paperPlace(t), About: clean(t.About), Lifted: clean(v.lifted),
		Warnings: cleaned(t.Warnings), Notes: cleaned(t.Notes),
	}
	if len(t.Rows) == 0 {
		return out
	}
	section := sectionOf(v)
	if section >= 0 && !repeats(v, section) {
		section = -1
	}
	var cols []int
	for _, i := range v.cols {
		if i != section {
			cols = append(cols, i)
		}
	}
	out.heads(t, cols)
	last := lastLabel(t, cols)
	for r, row := range t.Rows {
		if r == 0 || section >= 0 && row[section].Label != t.Rows[r-1][section].Label {
			b := htmlBody{}
			if section >= 0 {
				c := &row[section]
				b.Section, b.Tag, b.Full = sectionName(c), c.Tag, full(c)
			}
			out.Bodies = append(out.Bodies, b)
		}
		body := &out.Bodies[len(out.Bodies)-1]
		cells := make([]htmlCell, len(cols))
		again := len(body.Rows) > 0
		for k, i := range cols {
			cells[k] = htmlCellOf(&t.Columns[i], &row[i])
			if c := &cells[k]; c.Label {
				again = again && k < last && row[i].Label == t.Rows[r-1][i].Label
				c.Again, c.Head = again, k == last
			}
		}
		links := trials.links(t, row)
		out.Linked = out.Linked || len(links) > 0
		body.Rows = append(body.Rows, htmlRow{cells, links})
	}
	out.Controls = onlyControls(t)
	out.Width = len(cols)
	if out.Linked {
		out.Width++
	}
	return out
}

// heads lays out the columns' headings, and above them those that they share.
func (h *htmlTable) heads(t *analysis.Table, cols []int) {
	shared := false
	for _, i := range cols {
		col := &t.Columns[i]
		h.Heads = append(h.Heads, htmlHead{Text: clean(heading(col)), Span: 1, Label: col.Align != analysis.Right})
		if n := len(h.Groups); n > 0 && h.Groups[n-1].Text == col.Group {
			h.Groups[n-1].Span++
		} else {
			h.Groups = append(h.Groups, htmlHead{Text: clean(col.Group), Span: 1})
		}
		shared = shared || col.Group != ""
	}
	if !shared {
		h.Groups = nil
	}
}

// lastLabel returns the place in cols of the label that names a row, which is
// the last before the numbers begin.
func lastLabel(t *analysis.Table, cols []int) int {
	last := -1
	for k, i := range cols {
		if t.Columns[i].Kind != analysis.Label {
			break
		}
		last = k
	}
	return last
}

func htmlCellOf(col *analysis.Column, c *analysis.Cell) htmlCell {
	s := showPlain(col, c, roomy)
	out := htmlCell{Best: c.Best, Lead: s.lead, Tail: s.tail, Remark: s.remark, Label: col.Kind == analysis.Label, Text: col.Align != analysis.Right}
	if out.Label {
		out.Tag, out.Full = c.Tag, full(c)
		return out
	}
	if s.joined && s.tail != "" {
		out.Lead, out.Tail = s.lead+s.tail, ""
	}
	out.Behind = behind(col, c)
	return out
}

// behind says what a number rests on.
func behind(col *analysis.Column, c *analysis.Cell) string {
	if c.Value == nil {
		return ""
	}
	switch col.Kind {
	case analysis.Rate:
		return fmt.Sprintf("%d/%d", c.Count, c.Of)
	case analysis.Share:
		return fmt.Sprintf("%d/%d", c.Count, c.Of)
	case analysis.Mean, analysis.Paired:
		return "n=" + strconv.Itoa(c.N)
	}
	return ""
}

// full is the whole name behind a short one, "" when nothing is left out.
func full(c *analysis.Cell) string {
	if len(c.Short) == 0 || len(c.Label) <= len(c.Short) {
		return ""
	}
	return clean(c.Label)
}

func cleaned(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clean(s)
	}
	return out
}

// onlyControls reports whether every model that a table names is a built-in
// agent.
func onlyControls(t *analysis.Table) bool {
	named := false
	for i := range t.Columns {
		if t.Columns[i].Key != "model" {
			continue
		}
		for _, row := range t.Rows {
			if name := row[i].Label; name != "" && !strings.HasPrefix(name, "ref/") {
				return false
			} else if name != "" {
				named = true
			}
		}
	}
	return named
}
