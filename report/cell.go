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

// A shown is a cell as people see it, in three parts that line up below each
// other: a number, what qualifies it, and a remark. The parts bring the spaces
// before them.
type shown struct {
	Lead, Tail, Remark string
	Marks              bool // the tail is marks, which line up at their start
	Best               bool // bold, or starred where nothing can be bold
}

// String returns the cell's text without any padding.
func (s shown) String() string { return s.Lead + s.Tail + s.Remark }

// starred returns the cell for a form that has no bold.
func (s shown) starred() shown {
	if s.Best {
		s.Remark += " *"
	}
	return s
}

// A density is how closely cells are set.
type density int

const (
	roomy    density = iota
	noCounts         // without the count behind a share
	tight            // also without spaces around ±
	bare             // also without what is behind ±
)

// show formats a cell.
func show(col *analysis.Column, c *analysis.Cell, d density) shown {
	s := parts(col, c, d)
	s.Best = c.Best
	return s
}

func parts(col *analysis.Column, c *analysis.Cell, d density) shown {
	decimals := max(cmp.Or(c.Decimals, col.Decimals), 0)
	notes := superscripts(c.Footnotes)
	marked := func(lead, marks string) shown { return shown{Lead: lead, Tail: marks, Marks: true} }
	switch col.Kind {
	case analysis.Label:
		return shown{Lead: clean(c.Display())}
	case analysis.Count:
		if c.Of > c.Count {
			return shown{Lead: fmt.Sprintf("%d/%d", c.Count, c.Of)}
		}
		return shown{Lead: strconv.Itoa(c.Count)}
	case analysis.Verdict:
		if c.Label == "" {
			return shown{Lead: dash}
		}
		return marked(clean(c.Display()), notes)
	case analysis.Interval:
		if c.Low == nil || c.High == nil {
			return marked(dash, notes)
		}
		return marked("["+decimal(*c.Low, decimals)+", "+decimal(*c.High, decimals)+"]", notes)
	}
	if c.Value == nil {
		return marked(cmp.Or(clean(c.Short), dash), notes)
	}
	lead, tail, remark := decimal(*c.Value, decimals), "", ""
	switch col.Kind {
	case analysis.Number:
		return marked(lead, notes)
	case analysis.PValue: // none is 0: it was too small for a float64
		return marked(honest(max(*c.Value, math.SmallestNonzeroFloat64), decimals), c.Mark+notes)
	case analysis.Mean, analysis.Rate, analysis.Paired:
		switch {
		case col.Brief:
			lead = honest(*c.Value, decimals)
		case c.SD != nil && d < tight:
			tail = " ± " + decimal(*c.SD, decimals)
		case c.SD != nil && d < bare:
			tail = "±" + decimal(*c.SD, decimals)
		}
		if c.Undefined > 0 {
			remark = fmt.Sprintf("n=%d", c.N)
		}
	case analysis.Share:
		lead = honest(*c.Value, decimals)
		behind := c.Of
		if !col.Base {
			if behind = c.Count; behind == 0 {
				return shown{Lead: "0"}
			}
		}
		if !col.Brief && d < noCounts {
			tail = fmt.Sprintf(" (%d)", behind)
		}
	case analysis.Average:
		if !col.Brief {
			tail = fmt.Sprintf(" (%d)", c.N)
		}
	}
	return shown{Lead: lead, Tail: tail, Remark: spaced(remark + notes)}
}

// spaced puts a space before what follows something else.
func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
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
