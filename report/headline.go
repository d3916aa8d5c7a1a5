package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// headlineTable is the table that the cards at the top of a page are made of,
// sightTable the one of images against text.
const (
	headlineTable = "headline"
	sightTable    = "vision-text"
)

// An htmlHeadline is one of the questions that a page answers first: a contrast
// with a line for each model and regime.
type htmlHeadline struct {
	Title, Asks, Contrast string
	Most                  string // the line that is farthest from zero, in words
	Table                 string // id of the table behind it
	Need                  string // why there are no lines
	Models                []htmlForest
	Low, Zero, High       string // of the axis
}

// An htmlForest is the lines of one model.
type htmlForest struct {
	Name, Tag, Full string
	Lines           []htmlForestLine
}

type htmlForestLine struct {
	Label, Value, Interval, P string
	Bar                       template.HTML // numbers only
}

// asked says in words what the headline contrasts ask, by the words of their
// rows.
var asked = []struct{ asks, title, about string }{
	{"what stale memory costs", "The tax of stale memory", "Success with the raw memory, stale entries and all, less success without any."},
	{"what an audit gives back", "What an audit gives back", "Success with a memory that was audited in batches, less success with the raw one."},
}

// headlines makes the cards of a page.
func headlines(tables []analysis.Table) []htmlHeadline {
	var out []htmlHeadline
	if t := tableByID(tables, headlineTable); t != nil {
		asks := columnByKey(t, "asks")
		for _, a := range asked {
			h := htmlHeadline{Title: a.title, Asks: a.about, Table: t.ID, Need: clean(t.Need)}
			h.lines(t, "success_", func(row []analysis.Cell) bool { return asks >= 0 && row[asks].Label == a.asks })
			out = append(out, h)
		}
	}
	if t := tableByID(tables, sightTable); t != nil {
		h := htmlHeadline{Title: "Text against vision", Asks: "F1 of the same detector on the same lakes, seen as a picture, less F1 read as text.", Contrast: "vision − text", Table: t.ID, Need: clean(t.Need)}
		h.lines(t, "", func([]analysis.Cell) bool { return true })
		out = append(out, h)
	}
	return out
}

func tableByID(tables []analysis.Table, id string) *analysis.Table {
	if i := slices.IndexFunc(tables, func(t analysis.Table) bool { return t.ID == id }); i >= 0 {
		return &tables[i]
	}
	return nil
}

// columnByKey returns the place of a table's column, -1 for none.
func columnByKey(t *analysis.Table, key string) int {
	return slices.IndexFunc(t.Columns, func(c analysis.Column) bool { return c.Key == key })
}

// lines adds the rows that fit; the columns of the difference have keys with a
// prefix.
func (h *htmlHeadline) lines(t *analysis.Table, prefix string, fits func([]analysis.Cell) bool) {
	model, contrast := columnByKey(t, "model"), columnByKey(t, "contrast")
	difference, interval := columnByKey(t, prefix+"difference"), columnByKey(t, prefix+"interval")
	p := columnByKey(t, prefix+"p")
	if holm := columnByKey(t, "p_holm"); p < 0 || holm >= 0 && prefix == "" {
		p = holm
	}
	if model < 0 || difference < 0 || interval < 0 {
		return
	}
	v := viewOf(t)
	var rows [][]analysis.Cell
	for _, row := range t.Rows {
		if fits(row) && row[difference].Value != nil {
			rows = append(rows, row)
		}
	}
	reach := 0.1
	for _, row := range rows {
		for _, x := range []*float64{row[difference].Value, row[interval].Low, row[interval].High} {
			if x != nil {
				reach = math.Max(reach, math.Abs(*x))
			}
		}
	}
	reach = math.Ceil(reach*4) / 4
	most := -1
	for r, row := range rows {
		if n := len(h.Models); n == 0 || r > 0 && rows[r-1][model].Label != row[model].Label {
			h.Models = append(h.Models, htmlForest{Name: sectionName(&row[model]), Tag: row[model].Tag, Full: full(&row[model])})
		}
		if contrast >= 0 && h.Contrast == "" {
			h.Contrast = clean(row[contrast].Display())
		}
		var labels []string
		for _, i := range v.cols {
			if i != model && i != contrast && t.Columns[i].Kind == analysis.Label {
				word := clean(row[i].Display())
				if t.Columns[i].Key == "regime" {
					word = clean(row[i].Label) // L1, as a card has little room
				}
				labels = append(labels, word)
			}
		}
		line := htmlForestLine{
			Label: strings.Join(labels, " · "), Value: signed(show(&t.Columns[difference], &row[difference], roomy).lead, *row[difference].Value),
			Interval: show(&t.Columns[interval], &row[interval], roomy).lead, Bar: forestBar(&row[difference], &row[interval], reach),
		}
		value := line.Value
		if p >= 0 && row[p].Value != nil {
			line.P = "Holm p " + honest(*row[p].Value, 3)
			line.Value += row[p].Mark
		}
		m := &h.Models[len(h.Models)-1]
		m.Lines = append(m.Lines, line)
		if most < 0 || math.Abs(*row[difference].Value) > math.Abs(*rows[most][difference].Value) {
			most = r
			h.Most = fmt.Sprintf("%s, %s: %s %s", m.Name, line.Label, value, line.Interval)
		}
	}
	if most < 0 {
		return
	}
	h.Need = ""
	if *rows[most][difference].Value == 0 {
		h.Most = ""
	}
	short := func(x float64) string { return strings.TrimSuffix(strings.TrimRight(decimal(x, 2), "0"), ".") }
	h.Low, h.Zero, h.High = short(-reach), "0", "+"+short(reach)
}

// signed puts a plus before what is above zero.
func signed(s string, x float64) string {
	if x > 0 && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}

// forestBar draws a difference and its interval on an axis from -reach to
// reach.
func forestBar(difference, interval *analysis.Cell, reach float64) template.HTML {
	const width, margin = 200.0, 6.0
	x := func(v float64) float64 { return width/2 + v/reach*(width/2-margin) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="forest" viewBox="0 0 %.0f 18" preserveAspectRatio="none" aria-hidden="true"><path class="zero" d="M%.0f 0V18"/>`, width, width/2)
	side := "even"
	switch {
	case *difference.Value < 0:
		side = "loss"
	case *difference.Value > 0:
		side = "gain"
	}
	if interval.Low != nil && interval.High != nil {
		fmt.Fprintf(&b, `<path class="span %s" d="M%.1f 9H%.1f"/>`, side, x(*interval.Low), x(*interval.High))
	}
	// A line without length: it is drawn as a dot however the drawing is stretched.
	fmt.Fprintf(&b, `<path class="dot %s" d="M%.1f 9h0"/></svg>`, side, x(*difference.Value))
	return template.HTML(b.String())
}
