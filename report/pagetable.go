package report

import (
	"fmt"
	"io"
	"slices"
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
	g := measure(v, v.cols, sectionThatRepeats(v), roomy)
	out.heads(g)
	last := g.lastLabel()
	for r, row := range t.Rows {
		starts := g.starts(r, 0)
		if r == 0 || starts {
			b := pageBody{}
			if starts {
				c := &row[g.section]
				b.Section = pageCell{Lead: sectionName(c), Tag: clean(c.Tag), Full: fullName(c)}
			}
			out.Bodies = append(out.Bodies, b)
		}
		one := pageRow{Trials: trials.behind(t, row)}
		for k, col := range g.columns {
			c := pageCellOf(col.Column, &row[col.index])
			c.Head = k == last
			c.Again = r > 0 && !starts && g.repeated(r, k)
			one.Cells = append(one.Cells, c)
		}
		out.Linked = out.Linked || one.Trials != ""
		body := &out.Bodies[len(out.Bodies)-1]
		body.Rows = append(body.Rows, one)
	}
	out.Columns = len(g.columns)
	if out.Linked {
		out.Columns++
	}
	return out
}

// heads lays out the columns' headings, and above them those that they share.
func (h *pageTable) heads(g *grid) {
	for i := range g.columns {
		col := &g.columns[i]
		h.Heads = append(h.Heads, pageHead{clean(heading(col.Column)), 1, col.Align != analysis.Right})
	}
	from := 0
	for _, s := range g.spans() {
		h.Groups = append(h.Groups, pageHead{Text: clean(s.name), Span: s.last + 1 - from})
		from = s.last + 1
	}
	if !slices.ContainsFunc(h.Groups, func(g pageHead) bool { return g.Text != "" }) {
		h.Groups = nil
	}
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
