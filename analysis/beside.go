package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/stats"
)

// A besideRow is a published figure, and ours beside it.
type besideRow struct {
	*figure
	ours ourSide
}

// NotOurs is the code of the warning that a published figure has nothing of ours
// beside it, though the run has its model.
const NotOurs stats.Code = "not-ours"

// Published lists every figure of the paper with its place, and beside it ours
// where the run has the same model in the same cell. A control stands for no
// model, so a run of controls has no figure of its own here but those of the
// lake and the settings.
func (c *Collector) Published() Table {
	tests := c.tests()
	figures := published()
	rows := make([]*besideRow, len(figures))
	inParallel(len(rows), func(i int) {
		rows[i] = &besideRow{&figures[i], c.besidePaper(&figures[i], tests.Bootstrap)}
	})
	lossy := slices.ContainsFunc(rows, func(r *besideRow) bool { return r.ours.whole < r.ours.planned })
	label := func(key, heading string, of func(*besideRow) string) definition[besideRow] {
		return definition[besideRow]{Column{Key: key, Heading: heading, Kind: Label, DataOnly: true}, func(r *besideRow) Cell { return Cell{Label: of(r)} }}
	}
	number := func(key, heading string, of func(*besideRow) *float64) definition[besideRow] {
		return definition[besideRow]{Column{Key: key, Heading: heading, Kind: Number, Decimals: 3, DataOnly: true}, func(r *besideRow) Cell { return Cell{Value: of(r)} }}
	}
	seeds := func(key, heading string, of func(*ourSide) int) definition[besideRow] {
		return number(key, heading, func(r *besideRow) *float64 {
			if r.ours.planned == 0 {
				return nil
			}
			return new(float64(of(&r.ours)))
		})
	}
	reach := func(key, heading string, of func(*ourSide) *float64) definition[besideRow] {
		return definition[besideRow]{Column{Key: key, Heading: heading, Group: "if lost trials had gone", Kind: Number, Decimals: 3, DataOnly: !lossy, Priority: 2},
			func(r *besideRow) Cell { return Cell{Value: of(&r.ours), Decimals: r.places()} }}
	}
	whole := Column{Key: "whole", Heading: "seeds", Kind: Label, Align: Right, Priority: 3}
	if lossy {
		whole.Priority = 0
	}
	t := Table{
		ID:    "published",
		Title: "What the paper publishes (arXiv 2608.04574), and ours beside it",
		About: "Every figure of the paper that we know of, under the place where it stands. Ours stands beside it where the run has the same model, modality, regime and strategy on 8×8 lakes with the neutral wording.",
	}
	fill(&t, []definition[besideRow]{
		{Column{Key: "place", Heading: "place", Kind: Label, Section: true}, func(r *besideRow) Cell { return Cell{Label: r.Place} }},
		{Column{Key: "measure", Heading: "measure", Kind: Label}, func(r *besideRow) Cell { return Cell{Label: r.Measure, Short: r.words()} }},
		{Column{Key: "model", Heading: "model", Kind: Label}, func(r *besideRow) Cell { return Cell{Label: r.Model} }},
		{Column{Key: "cell", Heading: "where", Kind: Label}, func(r *besideRow) Cell { return Cell{Label: r.cell()} }},
		label("modality", "modality", func(r *besideRow) string { return r.Modality }),
		label("regimes", "regimes", func(r *besideRow) string { return strings.Join(r.Regimes, "+") }),
		label("strategy", "strategy", func(r *besideRow) string { return r.Strategy }),
		label("against", "against", func(r *besideRow) string { return r.Against }),
		{Column{Key: "published", Heading: "published", Kind: Label, Align: Right}, func(r *besideRow) Cell { return Cell{Label: r.said(), Short: r.saidInFull()} }},
		label("relation", "relation", func(r *besideRow) string { return r.Relation }),
		number("paper_value", "published value", func(r *besideRow) *float64 { return r.Value }),
		number("paper_sd", "its sd", func(r *besideRow) *float64 { return r.SD }),
		number("paper_high", "its upper end", func(r *besideRow) *float64 { return r.High }),
		number("paper_of", "entries that it is of", func(r *besideRow) *float64 {
			if r.Of == 0 {
				return nil
			}
			return new(float64(r.Of))
		}),
		label("paper_p", "its p-value", func(r *besideRow) string { return r.P }),
		label("our_model", "our model", func(r *besideRow) string { return r.ours.model }),
		{Column{Key: "ours", Heading: "ours", Kind: Mean, Decimals: 3, Brief: true}, (*besideRow).oursCell},
		label("ours_text", "ours, where it is no number", func(r *besideRow) string { return r.ours.said }),
		{Column{Key: "difference", Heading: "difference", Kind: Number, Decimals: 3}, func(r *besideRow) Cell {
			return Cell{Value: r.distance(r.ours.value.Value), Decimals: r.places()}
		}},
		{Column{Key: "interval", Heading: "interval", Kind: Interval, Decimals: 3, Priority: 1}, func(r *besideRow) Cell {
			cell := r.ours.interval
			cell.Decimals = r.places()
			return cell
		}},
		{Column{Key: "agrees", Heading: "agrees", Kind: Verdict}, func(r *besideRow) Cell { return r.verdict(&r.ours) }},
		{whole, func(r *besideRow) Cell { return Cell{Label: r.seeds()} }},
		seeds("seeds", "seeds that ours is made of", func(o *ourSide) int { return o.whole }),
		seeds("seeds_planned", "seeds that all its cells plan", func(o *ourSide) int { return o.planned }),
		reach("ours_least", "against it", func(o *ourSide) *float64 { return o.least }),
		reach("ours_most", "for it", func(o *ourSide) *float64 { return o.most }),
		label("note", "note", (*besideRow).note),
	}, rows)
	t.Warnings = lostBeside(rows)
	t.Notes = append([]string{
		"–: the run has no such model in that cell, or none that is defined there; the note of each row, in the data formats, says which.",
		fmt.Sprintf("difference: ours less the published; from a bound or a range, the distance to its nearest end, 0 where ours keeps to it. interval: of ours, %g%%, whole seeds drawn, the same as in the tables of tests and the figures; what is the greatest or least of several has none. agrees: whether the published value lies in it, or, for a bound or a range, whether ours keeps to it; a setting, whether it is the same. “about” is taken as exact. The paper’s own uncertainty is not in it.", 100*tests.Bootstrap.Level),
		"Ours is made of the seeds that have lost no trial in any cell of the figure, and so is each difference of its very pairs, as in the tables of tests. A figure of several regimes is the mean of the seed’s values over them; lengths, flag rates, missed entries, wordings and the precision and recall of all entries are over all episodes or entries of those regimes together. A figure without a model is over all models of the run that are no controls.",
		"Names are the same when the last part of ours is the paper’s, but for case and for hyphens in place of dots: openai/gpt-4o is GPT-4o. A control stands for no model.",
		"p in brackets is the paper’s, n.s. its “not significant”; “of” its number of entries.",
	}, remarks(rows)...)
	if slices.ContainsFunc(rows, func(r *besideRow) bool { return r.ours.value.Value != nil && r.ours.value.Undefined > 0 }) {
		t.Notes = append(t.Notes, "n=…: the mean rests on that many seeds; on the others it is undefined.")
	}
	t.footnote()
	return t
}

// lostBeside says how much of ours rests on fewer seeds than were planned.
func lostBeside(rows []*besideRow) []string {
	ours, fewer, none := 0, 0, 0
	for _, r := range rows {
		if r.ours.planned == 0 {
			continue
		}
		ours++
		fewer += index(r.ours.whole < r.ours.planned)
		none += index(r.ours.whole == 0)
	}
	if fewer == 0 {
		return nil
	}
	nothing := ""
	if none > 0 {
		nothing = fmt.Sprintf(", and for %s of these no seed is left", thousands(none))
	}
	return []string{fmt.Sprintf("Incomplete: of %s that the run has trials for, %s rest on fewer seeds than were planned%s, because trials failed or have no record. A seed that has lost one is in none of ours, where tables of rates count what is left of it; whole/planned is shown. Beside means of shares and their differences stands what the lost trials could change: the value over all planned seeds if they had all gone against it, or for it.",
		countOf(ours, "figure"), thousands(fewer), nothing)}
}

// remarks are what the paper says of single figures, and why the run has nothing
// beside some.
func remarks(rows []*besideRow) []string {
	var theirs, never []string
	for _, r := range rows {
		if r.Note != "" {
			addNew(&theirs, strings.TrimSpace(r.words()+" "+r.cell())+": "+r.Note)
		}
		if r.Model == "" && r.ours.value.Value == nil && r.ours.note != "" {
			addNew(&never, strings.TrimSpace(r.words()+" "+r.cell())+": "+r.ours.note)
		}
	}
	var notes []string
	if len(theirs) > 0 {
		notes = append(notes, "Of single figures of the paper. "+strings.Join(theirs, ". ")+".")
	}
	if len(never) > 0 {
		notes = append(notes, "Without ours. "+strings.Join(never, ". ")+".")
	}
	return notes
}

// oursCell shows ours, with a letter where the run has the model and yet there is
// nothing to show.
func (r *besideRow) oursCell() Cell {
	c := r.ours.value
	c.Decimals = r.places()
	if r.ours.said != "" {
		c.Short = r.ours.said
	}
	if c.Value == nil && r.ours.said == "" && r.ours.model != "" && r.ours.planned > 0 {
		c.Warnings = []stats.Warning{{Code: NotOurs, Text: r.ours.note}}
	}
	return c
}

// places is a cell's number of decimals, those of the measure.
func (f *figure) places() int { return cmp.Or(measures[f.Measure].decimals, -1) }

// seeds are those that ours is made of, whole/planned where some are lost.
func (r *besideRow) seeds() string {
	switch o := &r.ours; {
	case o.planned == 0:
		return ""
	case o.whole < o.planned:
		return fmt.Sprintf("%d/%d", o.whole, o.planned)
	default:
		return strconv.Itoa(o.whole)
	}
}

// note is what the paper says of its figure, and what is to be known of ours.
func (r *besideRow) note() string {
	if r.Note == "" || r.ours.note == "" {
		return r.Note + r.ours.note
	}
	return r.Note + "; ours: " + r.ours.note
}

// words says what the figure measures.
func (f *figure) words() string {
	words := measures[f.Measure].words
	switch {
	case f.Batch > 0 && f.BaseBatch > 0:
		words += fmt.Sprintf(", B=%d less B=%d", f.Batch, f.BaseBatch)
	case f.Batch > 0:
		words += fmt.Sprintf(", B=%d", f.Batch)
	case f.Threshold > 0:
		words += fmt.Sprintf(" %.1f", f.Threshold)
	}
	return words
}

// cell says in short where the figure holds.
func (f *figure) cell() string {
	strategy := StrategyName(f.Strategy)
	if f.Against != "" {
		strategy += " − " + StrategyName(f.Against)
	}
	regimes := strings.Join(f.Regimes, "+")
	if len(f.Regimes) == len(regimeOrder) {
		regimes = "L1–L3"
	}
	parts := []string{f.Modality, regimes, strategy}
	if f.Seed > 0 {
		parts = append(parts, "seed", f.seedName())
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// said is the figure as it was published.
func (f *figure) said() string {
	if f.Text != "" {
		return f.Text
	}
	decimals := f.decimals()
	number := func(x *float64) string {
		return strings.Replace(strconv.FormatFloat(*x, 'f', decimals, 64), "-", "−", 1)
	}
	out := number(f.Value)
	switch f.Relation {
	case "":
	case "up to":
		out += " to " + number(f.High)
	default:
		out = f.Relation + " " + out
	}
	if f.SD != nil {
		out += " ± " + number(f.SD)
	}
	return out
}

// saidInFull is the figure with what the paper puts beside it: its p-value, and
// the number of its entries.
func (f *figure) saidInFull() string {
	var beside []string
	switch f.P {
	case "":
	case "not significant":
		beside = append(beside, "n.s.")
	default:
		beside = append(beside, strings.ReplaceAll(f.P, " ", ""))
	}
	if f.Of > 0 {
		beside = append(beside, "of "+thousands(f.Of))
	}
	if len(beside) == 0 {
		return f.said()
	}
	return f.said() + " (" + strings.Join(beside, ", ") + ")"
}

// traced is how an episode ended, as the figures of traces are written.
func traced(end string, steps int) string { return fmt.Sprintf("%s, step %d", end, steps) }

// decimals is how many the figure was published with: those of its measure, or
// as few as a bound or a rough number has.
func (f *figure) decimals() int {
	most := measures[f.Measure].decimals
	if f.Relation == "" {
		return most
	}
	least := 0
	if most == 3 {
		least = 2
	}
	for _, x := range []*float64{f.Value, f.High} {
		if x != nil {
			_, digits, _ := strings.Cut(strconv.FormatFloat(*x, 'f', -1, 64), ".")
			least = max(least, len(digits))
		}
	}
	return min(least, most)
}

// distance is ours less the published value. From a bound or a range it is that
// to the end that ours is beyond, 0 where it is beyond none; so is what differs
// by rounding.
func (f *figure) distance(ours *float64) *float64 {
	if ours == nil || f.Value == nil {
		return nil
	}
	low, high := *f.Value, *f.Value
	switch f.Relation {
	case "above":
		high = math.Inf(1)
	case "below", "at most":
		low = math.Inf(-1)
	case "up to":
		high = *f.High
	}
	d := 0.0
	switch {
	case *ours < low:
		d = *ours - low
	case *ours > high:
		d = *ours - high
	}
	if math.Abs(d) < roundingOnly {
		d = 0
	}
	return &d
}

// roundingOnly is less than any difference that rates of a run can have.
const roundingOnly = 1e-9

// verdict says whether a published value lies in our interval, or ours keeps to
// a published bound; nothing where that cannot be told.
func (f *figure) verdict(o *ourSide) Cell {
	d := f.distance(o.value.Value)
	if d == nil || f.Seed > 0 || o.ruledOut() { // a trace is of another lake
		return Cell{}
	}
	said := func(yes bool) Cell {
		if yes {
			return Cell{Label: "yes"}
		}
		return Cell{Label: "no"}
	}
	switch f.Relation {
	case "above", "below":
		return said(*d == 0 && math.Abs(*o.value.Value-*f.Value) > roundingOnly)
	case "at most", "up to":
		return said(*d == 0)
	}
	switch in := &o.interval; {
	case o.setting:
		return said(math.Abs(*d) < math.Pow10(-measures[f.Measure].decimals)/2)
	case in.Low != nil:
		return said(*in.Low-roundingOnly <= *f.Value && *f.Value <= *in.High+roundingOnly)
	}
	return Cell{}
}
