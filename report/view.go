package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// dash stands for what is undefined.
const dash = "–"

// A view is what people are shown of a table: some of its columns, and a
// sentence for those that say the same in every row.
type view struct {
	table  *analysis.Table
	cols   []int  // indices of the columns shown, in order
	lifted string // such as "modality text, 50 seeds"; may be empty
}

// viewOf leaves out what is for programs, and lifts labels and counts that
// never change out of the rows.
func viewOf(t *analysis.Table) *view {
	v := &view{table: t}
	var lifted []string
	for i := range t.Columns {
		col := &t.Columns[i]
		switch {
		case col.DataOnly:
		case v.constant(i):
			value := show(col, &t.Rows[0][i], roomy).String()
			if col.Kind == analysis.Label {
				lifted = append(lifted, heading(col)+" "+value)
			} else {
				lifted = append(lifted, value+" "+countedAs(value, heading(col)))
			}
		default:
			v.cols = append(v.cols, i)
		}
	}
	v.lifted = strings.Join(lifted, ", ")
	return v
}

// countedAs is a heading behind a count: one seed is no seeds.
func countedAs(value, heading string) string {
	if value == "1" {
		return strings.TrimSuffix(heading, "s")
	}
	return heading
}

// constant reports whether a column can be lifted: it is no result and no
// section, and all of several rows agree.
func (v *view) constant(i int) bool {
	col := &v.table.Columns[i]
	if col.Section || len(v.table.Rows) < 2 || col.Kind != analysis.Label && col.Kind != analysis.Count {
		return false
	}
	first := show(col, &v.table.Rows[0][i], roomy)
	for _, row := range v.table.Rows[1:] {
		if show(col, &row[i], roomy) != first {
			return false
		}
	}
	return true
}

// heading returns a column's heading with ordinary spaces.
func heading(col *analysis.Column) string { return strings.ReplaceAll(col.Heading, "\u00a0", " ") }

// fullHeading is a heading that does without the one above it.
func fullHeading(col *analysis.Column) string {
	if col.Group == "" {
		return heading(col)
	}
	return col.Group + " " + heading(col)
}

// A shown is a cell as people see it, in three parts that line up below each
// other: a number, what qualifies it, and a remark.
type shown struct {
	lead, tail, remark string
	joined             bool // no space between lead and tail
	hung               bool // the tail is marks, which line up at their start
}

// String returns the cell's text without any padding.
func (s shown) String() string {
	out := s.lead
	if s.tail != "" && !s.joined {
		out += " "
	}
	out += s.tail
	if s.remark != "" {
		out += " " + s.remark
	}
	return out
}

// A density is how closely cells are set.
type density int

const (
	roomy    density = iota
	noCounts         // without the count behind a share
	tight            // also without spaces around ±
	bare             // also without what is behind ±
)

// bestSign marks the best where nothing can be bold.
const bestSign = "*"

// show formats a cell, with a sign behind the best of its part of the table.
func show(col *analysis.Column, c *analysis.Cell, d density) shown {
	s := showPlain(col, c, d)
	if c.Best {
		s.remark = strings.TrimPrefix(s.remark+" "+bestSign, " ")
	}
	return s
}

// showPlain formats a cell for a form that can be bold.
func showPlain(col *analysis.Column, c *analysis.Cell, d density) shown {
	switch col.Kind {
	case analysis.Label:
		return shown{lead: clean(c.Display())}
	case analysis.Verdict:
		if c.Label == "" {
			return shown{lead: dash}
		}
		return shown{lead: clean(c.Display()), tail: superscripts(c.Footnotes), joined: true, hung: true}
	case analysis.Interval:
		return showInterval(col, c)
	case analysis.Count:
		if c.Of > c.Count {
			return shown{lead: fmt.Sprintf("%d/%d", c.Count, c.Of)}
		}
		return shown{lead: strconv.Itoa(c.Count)}
	}
	if c.Value == nil {
		return shown{lead: cmp.Or(clean(c.Short), dash), tail: superscripts(c.Footnotes), joined: true, hung: true}
	}
	decimals := decimalsOf(col, c)
	s := shown{lead: decimal(*c.Value, decimals)}
	switch col.Kind {
	case analysis.Number:
		s.tail, s.joined, s.hung = superscripts(c.Footnotes), c.Footnotes != "", c.Footnotes != ""
		return s
	case analysis.PValue: // none is 0: it was too small for a float64
		return shown{lead: honest(max(*c.Value, math.SmallestNonzeroFloat64), decimals), tail: c.Mark + superscripts(c.Footnotes), joined: true, hung: true}
	case analysis.Mean, analysis.Rate, analysis.Paired:
		if col.Brief {
			s.lead = honest(*c.Value, decimals)
		} else if c.SD != nil && d < bare {
			s.tail = "± " + decimal(*c.SD, decimals)
			if d >= tight {
				s.tail, s.joined = "±"+decimal(*c.SD, decimals), true
			}
		}
		if c.Undefined > 0 {
			s.remark = fmt.Sprintf("n=%d", c.N)
		}
	case analysis.Share:
		behind := c.Count
		switch {
		case col.Base:
			behind = c.Of
		case c.Count == 0:
			return shown{lead: "0"}
		}
		s.lead = honest(*c.Value, decimals)
		if !col.Brief && d < noCounts {
			s.tail = fmt.Sprintf("(%d)", behind)
		}
	case analysis.Average:
		if !col.Brief {
			s.tail = fmt.Sprintf("(%d)", c.N)
		}
	}
	if c.Footnotes != "" {
		s.remark += superscripts(c.Footnotes)
	}
	return s
}

// decimalsOf returns how many decimals people are shown of a cell.
func decimalsOf(col *analysis.Column, c *analysis.Cell) int {
	if c.Decimals != 0 {
		return max(c.Decimals, 0)
	}
	return col.Decimals
}

// showInterval writes "[−0.120, 0.043]".
func showInterval(col *analysis.Column, c *analysis.Cell) shown {
	notes := superscripts(c.Footnotes)
	if c.Low == nil || c.High == nil {
		return shown{lead: dash, tail: notes, joined: true, hung: true}
	}
	decimals := decimalsOf(col, c)
	return shown{lead: "[" + decimal(*c.Low, decimals) + ", " + decimal(*c.High, decimals) + "]", tail: notes, joined: true, hung: true}
}

// superscripts raises the letters of footnotes.
func superscripts(letters string) string { return raised.Replace(letters) }

var raised = strings.NewReplacer("a", "ᵃ", "b", "ᵇ", "c", "ᶜ", "d", "ᵈ", "e", "ᵉ", "f", "ᶠ", "g", "ᵍ", "h", "ʰ", "i", "ⁱ", "j", "ʲ",
	"k", "ᵏ", "l", "ˡ", "m", "ᵐ", "n", "ⁿ", "o", "ᵒ", "p", "ᵖ", "r", "ʳ", "s", "ˢ", "t", "ᵗ", "u", "ᵘ", "v", "ᵛ", "w", "ʷ", "x", "ˣ", "y", "ʸ", "z", "ᶻ")

// decimal rounds to a number of decimals, with a minus sign that is longer
// than a hyphen; nothing becomes -0.
func decimal(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	rest, negative := strings.CutPrefix(s, "-")
	if !negative {
		return s
	}
	if strings.Trim(rest, "0.") == "" {
		return rest
	}
	return "−" + rest
}

// honest is decimal, but a share that is not quite none or all does not look
// like it.
func honest(x float64, decimals int) string {
	s := decimal(x, decimals)
	unit := math.Pow10(-decimals)
	switch {
	case x > 0 && s == decimal(0, decimals):
		return "<" + decimal(unit, decimals)
	case x < 1 && s == decimal(1, decimals):
		return ">" + decimal(1-unit, decimals)
	}
	return s
}
