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
	return pageTemplate.ExecuteTemplate(w, "table", pageTableOf(t, nil))
}

// A pageTable is a table as the page's template takes it.
type pageTable struct {
	ID, Title, Place, About, Lifted string
	Warnings, Notes                 []string
	Groups, Heads                   []pageHead
	Bodies                          []pageBody
	Columns                         int
	Linked                          bool // some row leads to trials
}

type pageHead struct {
	Text  string
	Span  int
	Label bool
}

// A pageBody is the rows below one section's head.
type pageBody struct {
	Section pageCell // its Lead is empty for none
	Rows    []pageRow
}

type pageRow struct {
	Cells  []pageCell
	Trials string // the fragment that shows those behind it; empty for none
}

type pageCell struct {
	Lead, Tail string // a number, and what qualifies it
	Tag        string
	Full       string // a name that Lead is short for, or what a number rests on
	Label      bool   // words of the plan, not a result
	Head       bool   // it names the row
	Again      bool   // the same as above, for the eye left out
	Text       bool   // words, not numbers
	Best       bool   // of its part of the table
}

// pageTableOf lays a table out for a page, whose trials may be nil.
func pageTableOf(t *analysis.Table, trials *Trials) *pageTable {
	v := viewOf(t)
	out := &pageTable{
		ID: t.ID, Title: clean(t.Title), Place: paperPlace(t.Paper), About: clean(t.About), Lifted: clean(v.lifted),
		Warnings: cleaned(t.Warnings), Notes: cleaned(t.Notes),
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
			b := pageBody{}
			if section >= 0 {
				c := &row[section]
				b.Section = pageCell{Lead: sectionName(c), Tag: clean(c.Tag), Full: fullName(c)}
			}
			out.Bodies = append(out.Bodies, b)
		}
		body := &out.Bodies[len(out.Bodies)-1]
		one := pageRow{Trials: trials.behind(t, row)}
		again := len(body.Rows) > 0
		for k, i := range cols {
			c := pageCellOf(&t.Columns[i], &row[i])
			if c.Label {
				again = again && k < last && row[i].Label == t.Rows[r-1][i].Label
				c.Again, c.Head = again, k == last
			}
			one.Cells = append(one.Cells, c)
		}
		out.Linked = out.Linked || one.Trials != ""
		body.Rows = append(body.Rows, one)
	}
	out.Columns = len(cols)
	if out.Linked {
		out.Columns++
	}
	return out
}

// heads lays out the columns' headings, and above them those that they share.
func (h *pageTable) heads(t *analysis.Table, cols []int) {
	shared := false
	for _, i := range cols {
		col := &t.Columns[i]
		h.Heads = append(h.Heads, pageHead{Text: clean(heading(col)), Span: 1, Label: col.Align != analysis.Right})
		if n := len(h.Groups); n > 0 && h.Groups[n-1].Text == col.Group {
			h.Groups[n-1].Span++
		} else {
			h.Groups = append(h.Groups, pageHead{Text: clean(col.Group), Span: 1})
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

func pageCellOf(col *analysis.Column, c *analysis.Cell) pageCell {
	s := showPlain(col, c, roomy)
	out := pageCell{Best: c.Best, Lead: s.lead, Tail: s.tail, Label: col.Kind == analysis.Label, Text: col.Align != analysis.Right}
	if s.joined {
		out.Lead, out.Tail = s.lead+s.tail, ""
	}
	if s.remark != "" {
		out.Tail = strings.TrimSpace(out.Tail + " " + s.remark)
	}
	if out.Label {
		out.Tag, out.Full = clean(c.Tag), fullName(c)
	} else {
		out.Full = behind(col, c)
	}
	return out
}

// behind says what a number rests on.
func behind(col *analysis.Column, c *analysis.Cell) string {
	switch {
	case c.Value == nil:
	case col.Kind == analysis.Rate, col.Kind == analysis.Share:
		return fmt.Sprintf("%d/%d", c.Count, c.Of)
	case col.Kind == analysis.Mean, col.Kind == analysis.Paired:
		return "n=" + strconv.Itoa(c.N)
	}
	return ""
}

// fullName is the whole name behind a short one, "" when nothing is left out.
func fullName(c *analysis.Cell) string {
	if c.Short == "" || len(c.Label) <= len(c.Short) {
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
