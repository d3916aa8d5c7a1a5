package analysis

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

//go:embed data/paper.yaml
var paperYAML []byte

// The paper's grid, number of seeds, framing and batch; the rest of its setting
// is in data/paper.yaml.
const (
	publishedSide    = 8
	publishedSeeds   = 50
	publishedFraming = "neutral"
	publishedBatch   = 10
)

// A publishedFigure is a number, or a fact, that the paper publishes;
// data/paper.yaml says what its fields mean.
type publishedFigure struct {
	Place     string
	Measure   string
	Model     string
	Models    []string
	Modality  string
	Regimes   []string
	Strategy  string
	Against   string
	Batch     int
	BaseBatch int `yaml:"base_batch"`
	Threshold float64
	Seed      int // of a trace
	Steps     int // within which something came
	Relation  string
	Value     *float64
	SD        *float64
	High      *float64
	P         string
	Of        int // entries that the value is of; 0 where it does not say
	Note      string
	Text      string
}

// A paperData is data/paper.yaml, with a figure for each model.
type paperData struct {
	Arxiv, Title string
	Setting      map[string][]string // conditions, and the values of them that are the paper's
	Figures      []publishedFigure
}

var paper = sync.OnceValue(func() (d paperData) {
	if err := yaml.UnmarshalWithOptions(paperYAML, &d, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("analysis: paper.yaml: %v", err)) // embedded: a test sees to it
	}
	var each []publishedFigure
	for _, p := range d.Figures {
		if len(p.Models) == 0 {
			each = append(each, p)
		}
		for _, m := range p.Models {
			one := p
			one.Model, one.Models = m, nil
			each = append(each, one)
		}
	}
	d.Figures = each
	return d
})

// findPublished returns the first figure that fits, nil when there is none.
func findPublished(fits func(*publishedFigure) bool) *publishedFigure {
	figures := paper().Figures
	if i := slices.IndexFunc(figures, func(p publishedFigure) bool { return fits(&p) }); i >= 0 {
		return &figures[i]
	}
	return nil
}

// publishedWhere returns the first figure that fits and is of a row's cell: the
// same model, modality, regime, strategy and batch in the paper's setting.
func (f *Frame) publishedWhere(g *Group, fits func(*publishedFigure) bool) *publishedFigure {
	if f.rehearsed(g.Model) || len(f.unlikePaper(g)) > 0 { // what a control answered is nobody's figure
		return nil
	}
	return findPublished(func(p *publishedFigure) bool {
		return fits(p) && p.of(g.Model) && p.Modality == g.Modality && strings.Join(p.Regimes, "+") == g.Regime && p.with(&g.Setting)
	})
}

// publishedFor returns the paper's exact figure for a row, nil when it has none.
func (f *Frame) publishedFor(measure string, g *Group) *publishedFigure {
	return f.publishedWhere(g, func(p *publishedFigure) bool { return p.Measure == measure && p.Relation == "" })
}

// of reports whether a model of ours is the figure's.
func (p *publishedFigure) of(model string) bool {
	return p.Model != "" && paperName(model) == paperName(p.Model)
}

// with reports whether a row's strategy and batch are those of the figure. One
// that names no strategy is of the paper's audit.
func (p *publishedFigure) with(s *Setting) bool {
	switch {
	case p.Measure == "score-f1" || p.Measure == "stale-at-score":
		return s.Strategy == scoreStrategy
	case p.Strategy != "" && s.Strategy != p.Strategy, p.Strategy == "" && s.Strategy != auditStrategy:
		return false
	}
	batch := p.Batch
	if batch == 0 {
		batch = publishedBatch
	}
	return s.Strategy != auditStrategy || s.Batch == batch
}

// unlikePaper says in which settings a group is not the paper's, in words. What
// the paper does not print, such as its prompts, counts as the paper's the way
// this program ships it.
func (f *Frame) unlikePaper(g *Group) (words []string) {
	if g.Rows != publishedSide || g.Cols != publishedSide {
		words = append(words, "lakes of "+gridCell(g.Rows, g.Cols).Short)
	}
	if g.Framing != "" && g.Framing != publishedFraming {
		words = append(words, "framing "+g.Framing)
	}
	for line := range strings.Lines(g.whole) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch known := paper().Setting; {
		case name == "server", name == "asked": // where it was asked; the rest of it is below
		case name == "strategy":
			if !slices.Contains(known[name+" "+g.Strategy], value) {
				words = append(words, "another definition of "+g.Strategy)
			}
		case strings.HasPrefix(name, "prompt "):
			if known[name] != nil && !slices.Contains(known[name], value) { // another framing has been named
				words = append(words, "another "+name)
			}
		case !slices.Contains(known[name], value):
			words = append(words, conditionWords(name, value))
		}
	}
	for _, run := range g.runs {
		for _, m := range f.runs[run].models {
			if m.Name != g.Model || m.Settings == nil {
				continue
			}
			if m.Settings.Detail != "" && g.Modality == record.Vision {
				addNew(&words, "pictures in detail "+m.Settings.Detail)
			}
			if len(m.Settings.ExtraBody) > 0 {
				addNew(&words, "requests with "+string(m.Settings.ExtraBody))
			}
		}
	}
	return words
}

// paperName makes names comparable: the last part of ours, without parameters,
// in small letters, with hyphens for dots: openai/gpt-4o is GPT-4o, and
// anthropic/claude-sonnet-4-6 is Claude-Sonnet-4.6. A control is nobody's
// stand-in and has no such name.
func paperName(model string) string {
	if isControl(model) {
		return ""
	}
	name, _, _ := strings.Cut(model, "?")
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.NewReplacer(".", "-", "_", "-", " ", "-").Replace(strings.ToLower(name))
}

// paperCell shows a figure's number; undefined for no figure.
func paperCell(p *publishedFigure) Cell {
	if p == nil {
		return Cell{}
	}
	return Cell{Value: p.Value, SD: p.SD}
}

// inPaper heads several columns of the paper's figures.
const inPaper = "in the paper"

// paperColumn shows the paper's figure next to ours, where any row has one.
func (f *Frame) paperColumn(groups []*Group, key, heading, above string, m *measure, name string) column {
	figureOf := func(g *Group) *publishedFigure { return f.publishedFor(name, g) }
	return column{Column{Key: key, Heading: heading, Group: above, Unit: m.unit, Kind: Number, Decimals: 3,
		DataOnly: !slices.ContainsFunc(groups, func(g *Group) bool { return figureOf(g) != nil })},
		func(g *Group) Cell { return paperCell(figureOf(g)) }}
}

// A publishedRow is a published figure, and ours next to it.
type publishedRow struct {
	*publishedFigure
	ours   counterpart
	margin float64 // the least difference that matters
}

// publishedTable lists every figure of the paper with its place, and next to it
// ours where the run has the same model in the same cell. A control stands for
// no model, so a run of controls has no figure of its own here but those of the
// lake and the settings.
func (f *Frame) publishedTable() Table {
	tests := f.tests()
	figures := paper().Figures
	rows := make([]*publishedRow, len(figures))
	inParallel(len(rows), func(i int) {
		p := &figures[i]
		rows[i] = &publishedRow{p, f.counterpartOf(p, tests.Bootstrap), cmp.Or(publishedMeasures[p.Measure].margin, tests.Equivalence.Margin)}
	})
	lossy := slices.ContainsFunc(rows, func(r *publishedRow) bool { return r.ours.lossy })
	type col = colOf[*publishedRow]
	text := func(key, heading string, of func(*publishedRow) string) col {
		return col{label(key, heading), func(r *publishedRow) Cell { return Cell{Label: of(r)} }}
	}
	number := func(key, heading string, of func(*publishedRow) *float64) col {
		return col{Column{Key: key, Heading: heading, Kind: Number, Decimals: 3, DataOnly: true}, func(r *publishedRow) Cell { return Cell{Value: of(r), Decimals: r.places()} }}
	}
	count := func(key, heading string, of func(*publishedRow) (n int, known bool)) col {
		return number(key, heading, func(r *publishedRow) *float64 {
			if n, known := of(r); known {
				return new(float64(n))
			}
			return nil
		})
	}
	reach := func(key, heading string, of func(*Span) float64) col {
		c := number(key, heading, func(r *publishedRow) *float64 {
			if r.ours.reach == nil {
				return nil
			}
			return new(of(r.ours.reach))
		}).under("if lost trials had gone").last(2)
		c.DataOnly = !lossy
		return c
	}
	whole := text("whole", "seeds", (*publishedRow).seeds)
	whole.Align, whole.Priority = Right, 3*index(!lossy)
	t := Table{ID: "published", Title: "What the paper publishes (arXiv 2608.04574), and ours next to it", Topic: TopicPaper,
		About: "Every figure of the paper that we know of, under the place where it stands. Ours stands next to it where the run has the same model, modality, regime and strategy in the paper’s setting: 8×8 lakes with a hole fraction of 0.25 seen as a whole, the neutral framing and the other prompts as they ship, the provider’s own sampling, no verdict asked for again, no strict schedule."}
	fill(&t, []col{
		{Column{Key: "place", Heading: "place", Kind: Label, Section: true}, func(r *publishedRow) Cell { return Cell{Label: r.Place} }},
		{label("measure", "measure"), func(r *publishedRow) Cell { return Cell{Label: r.Measure, Short: r.words()} }},
		text("model", "model", func(r *publishedRow) string { return r.Model }),
		text("cell", "where", func(r *publishedRow) string { return r.cell() }),
		text("modality", "modality", func(r *publishedRow) string { return r.Modality }).hidden(),
		text("regimes", "regimes", func(r *publishedRow) string { return strings.Join(r.Regimes, "+") }).hidden(),
		text("strategy", "strategy", func(r *publishedRow) string { return r.Strategy }).hidden(),
		text("against", "against", func(r *publishedRow) string { return r.Against }).hidden(),
		{Column{Key: "published", Heading: "published", Kind: Label, Align: Right}, func(r *publishedRow) Cell {
			return footnoted(Cell{Label: r.said(), Short: r.saidInFull()}, InPaper, r.Note)
		}},
		text("relation", "relation", func(r *publishedRow) string { return r.Relation }).hidden(),
		number("paper_value", "published value", func(r *publishedRow) *float64 { return r.Value }),
		number("paper_sd", "its sd", func(r *publishedRow) *float64 { return r.SD }),
		number("paper_high", "its upper end", func(r *publishedRow) *float64 { return r.High }),
		count("paper_of", "entries that it is of", func(r *publishedRow) (int, bool) { return r.Of, r.Of > 0 }),
		text("paper_p", "its p-value", func(r *publishedRow) string { return r.P }).hidden(),
		text("our_model", "our model", func(r *publishedRow) string { return r.ours.model }).hidden(),
		{Column{Key: "ours", Heading: "ours", Kind: Mean, Decimals: 3, Brief: true}, (*publishedRow).oursCell},
		text("ours_text", "ours, where it is no number", func(r *publishedRow) string { return r.ours.said }).hidden(),
		{Column{Key: "difference", Heading: "difference", Kind: Number, Decimals: 3}, func(r *publishedRow) Cell {
			return Cell{Value: r.distance(r.ours.value.Value), Decimals: r.places()}
		}},
		{Column{Key: "interval", Heading: "interval", Kind: Interval, Decimals: 3, Priority: 1}, func(r *publishedRow) Cell {
			c := r.ours.interval
			c.Decimals = r.places()
			return c
		}},
		number("margin", "margin", func(r *publishedRow) *float64 {
			if r.ours.interval.Low == nil {
				return nil
			}
			return &r.margin
		}),
		{Column{Key: "agrees", Heading: "verdict", Kind: Verdict}, (*publishedRow).verdict},
		whole,
		count("seeds", "seeds that ours is made of", func(r *publishedRow) (int, bool) { return r.ours.used, r.ours.planned > 0 }),
		count("seeds_planned", "seeds that all its cells plan", func(r *publishedRow) (int, bool) { return r.ours.planned, r.ours.planned > 0 }),
		reach("ours_least", "against it", func(s *Span) float64 { return s.Low }),
		reach("ours_most", "for it", func(s *Span) float64 { return s.High }),
		text("note", "note", (*publishedRow).note).hidden(),
	}, rows)
	t.Warnings = lostWarnings(f.grouped(nil, nil, nil), "")
	t.Notes = []string{
		fmt.Sprintf("difference: ours minus the published; from a bound or a range, the distance to its nearest end, 0 where ours keeps to it. interval: of ours, %g%%, whole seeds drawn, the same as in the tables of tests and the figures; what is the greatest or least of several has none. verdict: agrees, when our interval lies within the measure’s margin (in the data formats) of the published value or range; differs, when it excludes it; else, and with fewer seeds than an exact test at that level takes, too few seeds to tell. A setting agrees when it is the same. “about” is taken as exact. The paper’s own uncertainty is not in it.", 100*tests.Bootstrap.Level),
		"A seed counts by what lost trials leave of it; one with nothing left in a cell of the figure is in none of ours, and used/planned is shown. A figure of several regimes is the mean of the seed’s values over them; lengths, flag rates, missed entries and confidence are over all episodes or entries of those regimes together, precision and recall are means over runs (a run that flags nothing has no precision), hedging counts responses: a model call hedges when one of its reasons does. A figure without a model is over all models of the run that are no controls. Under “if lost trials had gone” stands the value over all planned seeds if they had all gone against it, or for it.",
		"Names are the same when the last part of ours is the paper’s, but for case and for hyphens in place of dots: openai/gpt-4o is GPT-4o. A control stands for no model.",
		"p in brackets is the paper’s, n.s. its “not significant”; “of” its number of entries.",
	}
	f.finishTable(&t, "the run has no such model in that cell, or not in the paper’s setting, or none that is defined there; the note of each row, in the data formats, says which", nil)
	return t
}

// footnoted adds a note at the letter of a cell.
func footnoted(c Cell, code stats.Code, note string) Cell {
	if note != "" {
		c.Warnings = append(c.Warnings, stats.Warning{Code: code, Text: note})
	}
	return c
}

// oursCell shows ours, with a letter where there could be something and is not.
func (r *publishedRow) oursCell() Cell {
	c := r.ours.value
	c.Decimals, c.Short = r.places(), r.ours.said
	if c.Value == nil && c.Short == "" && (r.ours.planned > 0 || r.ours.unlike || r.Model == "") {
		c = footnoted(c, NotOurs, r.ours.note)
	}
	return c
}

// seeds are those that ours is made of, used/planned where some are lost.
func (r *publishedRow) seeds() string {
	switch o := &r.ours; {
	case o.planned == 0:
		return ""
	case o.used < o.planned:
		return fmt.Sprintf("%d/%d", o.used, o.planned)
	}
	return fmt.Sprint(r.ours.used)
}

// note is what the paper says of its figure, and what is to be known of ours.
func (r *publishedRow) note() string {
	if r.Note == "" || r.ours.note == "" {
		return r.Note + r.ours.note
	}
	return r.Note + "; ours: " + r.ours.note
}

// places is a cell's number of decimals, those of the measure.
func (p *publishedFigure) places() int { return cmp.Or(publishedMeasures[p.Measure].decimals, -1) }

// words says what the figure measures.
func (p *publishedFigure) words() string {
	words := publishedMeasures[p.Measure].words
	switch {
	case p.Batch > 0 && p.BaseBatch > 0:
		return fmt.Sprintf("%s, B=%d − B=%d", words, p.Batch, p.BaseBatch)
	case p.Batch > 0:
		return fmt.Sprintf("%s, B=%d", words, p.Batch)
	case p.Threshold > 0:
		return fmt.Sprintf("%s %.1f", words, p.Threshold)
	}
	return words
}

// cell says in short where the figure holds.
func (p *publishedFigure) cell() string {
	strategy := record.Strategies.Label(p.Strategy)
	if p.Against != "" {
		strategy += " − " + record.Strategies.Label(p.Against)
	}
	regimes := strings.Join(p.Regimes, "+")
	if len(p.Regimes) == len(record.Regimes) {
		regimes = "L1–L3"
	}
	seed := ""
	if p.Seed > 0 {
		seed = fmt.Sprintf("seed %d", p.Seed)
	}
	return strings.Join(strings.Fields(strings.Join([]string{p.Modality, regimes, strategy, seed}, " ")), " ")
}

// said is the figure as it was published.
func (p *publishedFigure) said() string {
	if p.Text != "" {
		return p.Text
	}
	decimals := p.decimals()
	out := signed(*p.Value, decimals)
	switch p.Relation {
	case "":
	case "up to":
		out += " to " + signed(*p.High, decimals)
	case "within":
		out = "within ±" + out
	default:
		out = p.Relation + " " + out
	}
	if p.SD != nil {
		out += " ± " + signed(*p.SD, decimals)
	}
	return out
}

// saidInFull is the figure with what the paper puts next to it: its p-value, and
// the number of its entries.
func (p *publishedFigure) saidInFull() string {
	var more []string
	if p.P != "" {
		more = append(more, strings.NewReplacer("not significant", "n.s.", " ", "").Replace(p.P))
	}
	if p.Of > 0 {
		more = append(more, "of "+thousands(p.Of))
	}
	if len(more) == 0 {
		return p.said()
	}
	return p.said() + " (" + strings.Join(more, ", ") + ")"
}

// decimals is how many the figure was published with: those of its measure, or
// as few as a bound or a rough number has.
func (p *publishedFigure) decimals() int {
	most := publishedMeasures[p.Measure].decimals
	if p.Relation == "" {
		return most
	}
	least := 2 * index(most == 3)
	for _, x := range defined([]*float64{p.Value, p.High}) {
		_, digits, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
		least = max(least, len(digits))
	}
	return min(least, most)
}

// span is the published value or range.
func (p *publishedFigure) span() Span {
	s := Span{Low: *p.Value, High: *p.Value}
	switch p.Relation {
	case "above":
		s.High = math.Inf(1)
	case "below", "at most":
		s.Low = math.Inf(-1)
	case "up to":
		s.High = *p.High
	case "within":
		s.Low = -*p.Value
	}
	return s
}

// distance is ours minus the published value. From a bound or a range it is that
// to the end that ours is beyond, 0 where it is beyond none; so is what differs
// by rounding.
func (p *publishedFigure) distance(ours *float64) *float64 {
	if ours == nil || p.Value == nil {
		return nil
	}
	d, s := 0.0, p.span()
	if s.excludes(*ours) {
		d = *ours - max(s.Low, min(s.High, *ours))
	}
	return &d
}

// The verdicts of a comparison.
const (
	agrees  = "agrees"
	differs = "differs"
	tooFew  = "too few seeds to tell"
)

// verdict says whether ours agrees with the published value or range: it does
// when our interval lies within the measure's margin of it, and differs when the
// interval excludes it. Nothing is said of what has no interval.
func (r *publishedRow) verdict() (c Cell) {
	in := r.ours.interval
	switch {
	case r.ours.value.Value == nil || r.Value == nil || r.Seed > 0: // a trace is of another lake
	case r.ours.setting:
		x := *r.ours.value.Value
		c.Label = r.judge(Span{Low: x, High: x}, math.Pow10(-publishedMeasures[r.Measure].decimals)/2)
	case in.Low == nil:
	case in.Method != stats.ExactBound && sure(stats.SmallestP(r.ours.value.N, stats.TwoSided)) > 1-in.Level:
		c.Label = tooFew // no exact test on so few seeds reaches the interval's level
	default:
		ours := Span{Low: *in.Low, High: *in.High}
		c.Label = r.judge(ours, r.margin)
		if reach := r.ours.reach; reach != nil {
			all := Span{Low: min(ours.Low, reach.Low), High: max(ours.High, reach.High)}
			if c.Label != r.judge(all, r.margin) {
				c.Label = tooFew
				c.Warnings = append(c.Warnings, couldOverturn())
			}
		} else if r.ours.lossy {
			c = footnoted(c, LostTrials, "of what the lost trials leave; what they could make of it is not known")
		}
	}
	return c
}

func (p *publishedFigure) judge(ours Span, margin float64) string {
	paper := p.span()
	near := Span{Low: paper.Low - margin, High: paper.High + margin}
	switch {
	case !near.excludes(ours.Low) && !near.excludes(ours.High):
		return agrees
	case ours.High < paper.Low-roundingOnly || ours.Low > paper.High+roundingOnly:
		return differs
	}
	return tooFew
}
