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
// contrastTable the one that says what lost trials could change in it,
// sightTable the one of images against text.
const (
	headlineTable = "headline"
	contrastTable = "contrasts"
	sightTable    = "vision-text"
)

// headlineLines bounds the lines of a card; the table behind it has them all.
const headlineLines = 90

// An htmlHeadline is one of the questions that a page answers first: a contrast
// with a line for each model and regime that the run plans, whatever came out
// and whatever was lost.
type htmlHeadline struct {
	Title, Asks, Contrast string
	Shows                 string // which lines there are and what they rest on, in words
	Table                 string // id of the table behind it
	Need                  string // why there are no lines
	Models                []htmlForest
	Low, Zero, High       string // of the axis
	Lossy                 bool   // some line has lost trials
}

// An htmlForest is the lines of one model.
type htmlForest struct {
	Name, Tag, Full string
	Mean            string // over its lines, in words; empty when one of them has lost trials
	Lines           []htmlForestLine
}

type htmlForestLine struct {
	Label, Value, Interval, P string
	Lost                      string        // what lost trials took and could change, in words
	Bar                       template.HTML // numbers only
}

// A bound is what a mean difference over all planned seeds could be, whatever
// had come of the lost trials; nil where that is not known.
type bound struct{ least, most *float64 }

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
		bounds := boundsBehind(t, tableByID(tables, contrastTable), "success")
		for _, a := range asked {
			h := htmlHeadline{Title: a.title, Asks: a.about, Table: t.ID, Need: clean(t.Need)}
			h.lines(t, "success_", bounds, func(row []analysis.Cell) bool { return asks >= 0 && row[asks].Label == a.asks })
			out = append(out, h)
		}
	}
	if t := tableByID(tables, sightTable); t != nil {
		h := htmlHeadline{Title: "Text against vision", Asks: "F1 of the same detector on the same lakes, seen as a picture, less F1 read as text.", Contrast: "vision − text", Table: t.ID, Need: clean(t.Need)}
		h.lines(t, "", boundsOf(t), func([]analysis.Cell) bool { return true })
		out = append(out, h)
	}
	return out
}

// boundsOf returns the bounds that stand in the rows of a table.
func boundsOf(t *analysis.Table) []bound {
	out := make([]bound, len(t.Rows))
	least, most := columnByKey(t, "difference_least"), columnByKey(t, "difference_most")
	if least < 0 || most < 0 {
		return out
	}
	for r, row := range t.Rows {
		out[r] = bound{row[least].Value, row[most].Value}
	}
	return out
}

// boundsBehind returns the bounds of a table's rows from another table, which
// has a row for each of them and measure.
func boundsBehind(t, from *analysis.Table, measure string) []bound {
	out := make([]bound, len(t.Rows))
	if from == nil {
		return out
	}
	// A row is known by the labels that both tables have.
	var here, there []int
	for i := range t.Columns {
		if k := columnByKey(from, t.Columns[i].Key); k >= 0 && t.Columns[i].Kind == analysis.Label && from.Columns[k].Kind == analysis.Label {
			here, there = append(here, i), append(there, k)
		}
	}
	name := func(row []analysis.Cell, cols []int) string {
		var parts []string
		for _, i := range cols {
			parts = append(parts, row[i].Label)
		}
		return fmt.Sprintf("%q", parts)
	}
	at := columnByKey(from, "measure")
	known := map[string]bound{}
	for r, b := range boundsOf(from) {
		if row := from.Rows[r]; at >= 0 && row[at].Label == measure {
			known[name(row, there)] = b
		}
	}
	for r, row := range t.Rows {
		out[r] = known[name(row, here)]
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

// lines adds the rows that fit, also those that lost all their pairs; the
// columns of the difference have keys with a prefix.
func (h *htmlHeadline) lines(t *analysis.Table, prefix string, bounds []bound, fits func([]analysis.Cell) bool) {
	model, contrast, seeds := columnByKey(t, "model"), columnByKey(t, "contrast"), columnByKey(t, "seeds")
	difference, interval := columnByKey(t, prefix+"difference"), columnByKey(t, prefix+"interval")
	p := columnByKey(t, prefix+"p")
	if holm := columnByKey(t, "p_holm"); p < 0 || holm >= 0 && prefix == "" {
		p = holm
	}
	if model < 0 || seeds < 0 || difference < 0 || interval < 0 {
		return
	}
	v := viewOf(t)
	var rows []int
	for r, row := range t.Rows {
		if fits(row) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return
	}
	h.Need = ""
	all := len(rows)
	if all > headlineLines {
		rows = rows[:headlineLines]
	}
	lossy := func(r int) bool { return t.Rows[r][seeds].Count < t.Rows[r][seeds].Of }
	reach := 0.1
	for _, r := range rows {
		row := t.Rows[r]
		ends := []*float64{row[difference].Value, row[interval].Low, row[interval].High}
		if lossy(r) {
			ends = append(ends, bounds[r].least, bounds[r].most)
		}
		for _, x := range ends {
			if x != nil {
				reach = math.Max(reach, math.Abs(*x))
			}
		}
	}
	reach = math.Ceil(reach*4) / 4
	col := &t.Columns[difference]
	for k, r := range rows {
		row := t.Rows[r]
		if k == 0 || t.Rows[rows[k-1]][model].Label != row[model].Label {
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
		line := htmlForestLine{Label: strings.Join(labels, " · "), Value: dash, Interval: dash}
		if d := row[difference].Value; d != nil {
			line.Value = signed(show(col, &row[difference], roomy).lead, *d)
			line.Interval = show(&t.Columns[interval], &row[interval], roomy).lead
		}
		var whole bound
		if lossy(r) {
			h.Lossy, whole = true, bounds[r]
			line.Lost = lostWords(&row[seeds], &bounds[r], col.Decimals)
		}
		line.Bar = forestBar(&row[difference], &row[interval], whole, reach)
		if p >= 0 && row[p].Value != nil {
			line.P = "Holm p " + honest(*row[p].Value, 3)
			line.Value += row[p].Mark
		}
		m := &h.Models[len(h.Models)-1]
		m.Lines = append(m.Lines, line)
	}
	if len(rows) == all { // or else the last model's lines are not whole
		h.means(t, rows, seeds, difference)
	}
	h.Shows = shownWords(t, rows, seeds, all)
	short := func(x float64) string { return strings.TrimSuffix(strings.TrimRight(decimal(x, 2), "0"), ".") }
	h.Low, h.Zero, h.High = short(-reach), "0", "+"+short(reach)
}

// lostWords say how many seeds a line rests on, and what the difference over
// all planned ones could be.
func lostWords(seeds *analysis.Cell, b *bound, decimals int) string {
	words := fmt.Sprintf("%d/%d seeds whole", seeds.Count, seeds.Of)
	if seeds.Count == 0 {
		words = fmt.Sprintf("all pairs lost (0/%d seeds)", seeds.Of)
	}
	if b.least == nil || b.most == nil {
		return words
	}
	end := func(x float64) string { return signed(decimal(x, decimals), x) }
	return fmt.Sprintf("%s; bounds %s to %s", words, end(*b.least), end(*b.most))
}

// shownWords say which lines a card has and on how many seeds they rest.
func shownWords(t *analysis.Table, rows []int, seeds, all int) string {
	few, many := t.Rows[rows[0]][seeds], 0
	lossy := false
	for _, r := range rows {
		c := t.Rows[r][seeds]
		if c.Count < few.Count {
			few = c
		}
		many = max(many, c.Count)
		lossy = lossy || c.Count < c.Of
	}
	lines := "Every planned setting, in the plan’s order"
	if len(rows) < all {
		lines = fmt.Sprintf("The first %d of %s planned settings, in the plan’s order", len(rows), thousands(all))
	}
	switch {
	case lossy:
		return lines + "; seeds with a lost trial are in no difference."
	case few.Count == many:
		return lines + ", on " + counted(many, "seed") + "."
	}
	return fmt.Sprintf("%s, on %d to %d seeds.", lines, few.Count, many)
}

// means says of each model the mean over its lines, if none has lost trials: a
// mean over what happened to be left would not be that of the plan.
func (h *htmlHeadline) means(t *analysis.Table, rows []int, seeds, difference int) {
	at := 0
	decimals := t.Columns[difference].Decimals
	for i := range h.Models {
		m := &h.Models[i]
		var values []float64
		for range m.Lines {
			row := t.Rows[rows[at]]
			if d := row[difference].Value; d != nil && row[seeds].Count >= row[seeds].Of {
				values = append(values, *d)
			}
			at++
		}
		if len(values) < len(m.Lines) || len(values) < 2 {
			continue
		}
		sum := 0.0
		for _, x := range values {
			sum += x
		}
		mean, least, most := sum/float64(len(values)), slices.Min(values), slices.Max(values)
		number := func(x float64) string { return signed(decimal(x, decimals), x) }
		m.Mean = fmt.Sprintf("mean of %d: %s", len(values), number(mean))
		if number(least) != number(most) {
			m.Mean += fmt.Sprintf("; range %s to %s", number(least), number(most))
		}
	}
}

// signed puts a plus before what is above zero.
func signed(s string, x float64) string {
	if x > 0 && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}

// forestBar draws a difference and its interval on an axis from -reach to
// reach, and below them the bounds that lost trials leave.
func forestBar(difference, interval *analysis.Cell, whole bound, reach float64) template.HTML {
	const width, margin = 200.0, 6.0
	x := func(v float64) float64 { return width/2 + v/reach*(width/2-margin) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="forest" viewBox="0 0 %.0f 18" preserveAspectRatio="none" aria-hidden="true"><path class="zero" d="M%.0f 0V18"/>`, width, width/2)
	if whole.least != nil && whole.most != nil {
		fmt.Fprintf(&b, `<path class="whole-span" d="M%.1f 15H%.1f"/>`, x(*whole.least), x(*whole.most))
	}
	if difference.Value == nil {
		b.WriteString(`</svg>`)
		return template.HTML(b.String())
	}
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
