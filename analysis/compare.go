package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A measure says in words what a published figure measures, and computes ours
// for its cell; ours is nil for what no table of ours measures.
type measure struct {
	words    string
	decimals int
	ours     func(c *Collector, f *figure) Cell
}

// measures are those of data/paper.yaml.
var measures = map[string]measure{
	"stale-share":       {"stale share", 3, func(c *Collector, f *figure) Cell { return c.staleShare(f, "stale_share") }},
	"stale-share-least": {"stale share, least seed", 3, func(c *Collector, f *figure) Cell { return c.staleShare(f, "stale_share_min") }},
	"stale-share-most":  {"stale share, greatest seed", 3, func(c *Collector, f *figure) Cell { return c.staleShare(f, "stale_share_max") }},

	"step-budget": {"step budget", 0, func(*Collector, *figure) Cell {
		g, err := lake.New(publishedSide, publishedSide)
		if err != nil {
			return Cell{}
		}
		return Cell{Value: new(float64(g.StepBudget()))}
	}},
	"reward-success": {"reward of success", 0, rewardOf(record.Success)},
	"reward-death":   {"reward of death", 0, rewardOf(record.Death)},
	"reward-timeout": {"reward of timeout", 0, rewardOf(record.Timeout)},
	"alpha":          {"α of the tests", 3, nil},

	"f1": {"F1", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.f1(f, f.Modality)) }},
	"f1-vision-less-text": {"F1, vision − text", 3, func(c *Collector, f *figure) Cell {
		return less(c.overRegimes(f, c.f1(f, record.Vision)), c.overRegimes(f, c.f1(f, record.Text)))
	}},
	"best-over-worst-f1": {"F1, best model over worst", 1, nil},
	"recall-text-over-vision": {"recall, text over vision", 1, func(c *Collector, f *figure) Cell {
		return over(c.pooledRecall(f, record.Text), c.pooledRecall(f, record.Vision))
	}},
	"precision-pooled": {"precision, all entries", 3, func(c *Collector, f *figure) Cell {
		return c.pooled(f, f.Modality, func(n record.Counts) pair { return pair{n.TP, n.TP + n.FP} }).cell()
	}},
	"recall-pooled": {"recall, all entries", 3, func(c *Collector, f *figure) Cell { return c.pooledRecall(f, f.Modality) }},

	"success": {"success", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.rate(f, f.Strategy, endSuccess)) }},
	"death":   {"death", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.rate(f, f.Strategy, endDeath)) }},
	"timeout": {"timeout", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.rate(f, f.Strategy, endTimeout)) }},
	"success-difference": {"success, difference", 3, func(c *Collector, f *figure) Cell {
		return less(c.overRegimes(f, c.rate(f, f.Strategy, endSuccess)), c.overRegimes(f, c.rate(f, f.Against, endSuccess)))
	}},
	"success-difference-size": {"success, size of difference", 3, func(c *Collector, f *figure) Cell {
		d := less(c.overRegimes(f, c.rate(f, f.Strategy, endSuccess)), c.overRegimes(f, c.rate(f, f.Against, endSuccess)))
		if d.Value != nil {
			d.Value = new(math.Abs(*d.Value))
		}
		return d
	}},
	"death-reduction": {"deaths avoided, relative", 2, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.reduction(f)) }},
	"deaths-over": {"deaths, ratio", 1, func(c *Collector, f *figure) Cell {
		return over(c.overRegimes(f, c.rate(f, f.Strategy, endDeath)), c.overRegimes(f, c.rate(f, f.Against, endDeath)))
	}},
	"success-greatest": {"success, greatest", 3, (*Collector).greatestSuccess},

	"steps-death":           {"steps to death", 1, func(c *Collector, f *figure) Cell { return c.lengths(f, endDeath) }},
	"steps-success":         {"steps to success", 1, func(c *Collector, f *figure) Cell { return c.lengths(f, endSuccess) }},
	"most-deaths-within":    {"most deaths within steps", 0, nil},
	"success-length-spread": {"steps to success, spread", 1, nil},

	"pearson-f1-success":           {"Pearson of F1 and success", 3, nil},
	"spearman-f1-success-size":     {"Spearman of them, its size", 3, nil},
	"f1-of-runs-with-stale-deaths": {"F1 where stale cells kill", 3, nil},

	"flag-rate-safe-deadly": {"flag rate, SAFE on hole", 3, func(c *Collector, f *figure) Cell { return c.flagRate(f, saysSafe, 1).cell() }},
	"flag-rate-safe-safe":   {"flag rate, SAFE on safe", 3, func(c *Collector, f *figure) Cell { return c.flagRate(f, saysSafe, 0).cell() }},
	"recall-thaw":           {"recall, thaw", 3, func(c *Collector, f *figure) Cell { return c.flagRate(f, saysSafe, 1).cell() }},
	"recall-freeze":         {"recall, freeze", 3, func(c *Collector, f *figure) Cell { return c.flagRate(f, saysDanger, 1).cell() }},
	"recall-thaw-less-freeze": {"recall, thaw − freeze", 3, func(c *Collector, f *figure) Cell {
		return less(c.flagRate(f, saysSafe, 1).cell(), c.flagRate(f, saysDanger, 1).cell())
	}},
	"missed-thaw":   {"missed entries, thaw", 3, func(c *Collector, f *figure) Cell { return c.missed(f, saysSafe).cell() }},
	"missed-freeze": {"missed entries, freeze", 3, func(c *Collector, f *figure) Cell { return c.missed(f, saysDanger).cell() }},

	"batch-f1": {"F1", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.f1(f, f.Modality)) }},
	"batch-f1-difference": {"F1, difference", 3, func(c *Collector, f *figure) Cell {
		base := *f
		base.Batch = f.BaseBatch
		return less(c.overRegimes(f, c.f1(f, f.Modality)), c.overRegimes(&base, c.f1(&base, f.Modality)))
	}},
	"batch-calls":    {"calls an audit", 0, (*Collector).callsAnAudit},
	"binary-f1":      {"F1, yes or no", 3, func(c *Collector, f *figure) Cell { return c.overRegimes(f, c.f1(f, f.Modality)) }},
	"score-f1":       {"F1 by score, from", 3, (*Collector).scoreF1},
	"stale-at-score": {"truly stale, score", 2, (*Collector).staleAtScore},

	"refusals": {"refusals", 3, func(c *Collector, f *figure) Cell {
		return c.said(f, func(r *replyRow) pair { return pair{r.outcome("refusal"), r.calls} })
	}},
	"hedging": {"reasons that hedge", 3, func(c *Collector, f *figure) Cell {
		return c.said(f, func(r *replyRow) pair {
			s := &r.said.cells
			return pair{s[0].unsure + s[1].unsure, s[0].reasoned + s[1].reasoned}
		})
	}},
	"certain": {"verdicts with confidence 1", 3, func(c *Collector, f *figure) Cell {
		return c.said(f, func(r *replyRow) pair {
			return pair{r.said.right.certain + r.said.wrong.certain, r.said.answered()}
		})
	}},

	"trace-stale-entries": {"trace: stale entries", 0, nil},
	"trace":               {"trace", 0, nil},
	"tokens-16x16":        {"tokens of 16×16", 0, nil},
}

func rewardOf(outcome string) func(*Collector, *figure) Cell {
	return func(*Collector, *figure) Cell {
		t := record.Trial{Spec: record.Spec{Task: record.Navigate}, Outcome: outcome}
		return Cell{Value: new(float64(*t.Reward()))}
	}
}

// staleShare is a cell of the regime table.
func (c *Collector) staleShare(f *figure, key string) Cell {
	t := c.Regimes()
	col := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
	for i, g := range c.regimeGroups() {
		if f.isOf(g.regime) && g.rows == publishedSide && g.cols == publishedSide {
			return t.Rows[i][col]
		}
	}
	return Cell{}
}

// overRegimes is the mean of a measure over a figure's regimes, undefined
// unless it is defined on all of them; for one regime it is the measure.
func (c *Collector) overRegimes(f *figure, of func(regime string) Cell) Cell {
	if len(f.Regimes) == 1 {
		return of(f.Regimes[0])
	}
	sum := 0.0
	for _, regime := range f.Regimes {
		v := of(regime).Value
		if v == nil {
			return Cell{}
		}
		sum += *v
	}
	if len(f.Regimes) == 0 {
		return Cell{}
	}
	return Cell{Value: new(sum / float64(len(f.Regimes)))}
}

// less is the difference of two means, over their ratio; both undefined when
// one of them is.
func less(a, b Cell) Cell {
	if a.Value == nil || b.Value == nil {
		return Cell{}
	}
	return Cell{Value: new(*a.Value - *b.Value)}
}

func over(a, b Cell) Cell {
	if a.Value == nil || b.Value == nil || *b.Value == 0 {
		return Cell{}
	}
	return Cell{Value: new(*a.Value / *b.Value)}
}

// detections returns the detection groups of a figure's cell in one modality
// and regime: one, or none.
func (c *Collector) detections(f *figure, modality, regime string) []*detectionGroup {
	return c.detection.sorted(func(s setting) bool {
		return f.of(s.model) && s.modality == modality && s.regime == regime && f.with(&s)
	}, c.byModelRegimeModality)
}

func (c *Collector) f1(f *figure, modality string) func(regime string) Cell {
	return func(regime string) Cell {
		for _, g := range c.detections(f, modality, regime) {
			return scoreOver(record.Counts.F1)(g)
		}
		return Cell{}
	}
}

// pooled sums a share of entries over a figure's regimes; nothing when the run
// lacks one of them.
func (c *Collector) pooled(f *figure, modality string, of func(record.Counts) pair) pair {
	var p pair
	for _, regime := range f.Regimes {
		groups := c.detections(f, modality, regime)
		if len(groups) == 0 {
			return pair{}
		}
		p.plus(of(counted(groups[0])))
	}
	return p
}

func (c *Collector) pooledRecall(f *figure, modality string) Cell {
	return c.pooled(f, modality, func(n record.Counts) pair { return pair{n.TP, n.TP + n.FN} }).cell()
}

// flagRate pools the flags on entries of one kind over a figure's regimes.
func (c *Collector) flagRate(f *figure, claim, stale int) pair {
	return c.entries(f, []string{f.Modality}, claim, stale)
}

func (c *Collector) entries(f *figure, modalities []string, claim, stale int) pair {
	var p pair
	for _, modality := range modalities {
		for _, regime := range f.Regimes {
			groups := c.detections(f, modality, regime)
			if len(groups) == 0 {
				return pair{}
			}
			p.plus(flagged(groups[0], claim, stale))
		}
	}
	return p
}

// missed is the share of missed stale entries that have one claim, over both
// modalities.
func (c *Collector) missed(f *figure, claim int) pair {
	var out pair
	for k := range claimNames {
		p := c.entries(f, modalityOrder, k, 1)
		if p.of == 0 {
			return pair{}
		}
		if k == claim {
			out.count = p.of - p.count
		}
		out.of += p.of - p.count
	}
	return out
}

func (c *Collector) callsAnAudit(f *figure) Cell {
	for _, g := range c.detections(f, f.Modality, f.Regimes[0]) {
		return averageOf(total(g.seeds, (*detectionTally).allCalls), total(g.seeds, func(d *detectionTally) int { return d.asking.audits }))
	}
	return Cell{}
}

func (c *Collector) scoreF1(f *figure) Cell {
	for _, r := range scoreRows(c.detections(f, f.Modality, f.Regimes[0])) {
		if r.threshold == f.Threshold {
			return r.score(record.Counts.F1)
		}
	}
	return Cell{}
}

func (c *Collector) staleAtScore(f *figure) Cell {
	var p pair
	for _, g := range c.detections(f, f.Modality, f.Regimes[0]) {
		for _, d := range g.seeds {
			if d.scores != nil {
				b := d.scores.bins[binOf(f.Threshold)]
				p.plus(pair{b.stale, b.entries})
			}
		}
	}
	return p.cell()
}

// walks returns the episodes of a figure's model and modality under a strategy.
func (c *Collector) walks(f *figure, strategy, regime string) []*episodeGroup {
	cell := *f
	cell.Strategy = strategy
	return c.episodes.sorted(func(s setting) bool {
		return cell.of(s.model) && s.modality == f.Modality && s.regime == regime && cell.with(&s)
	}, c.byModelAndModality)
}

func (c *Collector) rate(f *figure, strategy string, end int) func(regime string) Cell {
	return func(regime string) Cell {
		for _, g := range c.walks(f, strategy, regime) {
			return rateOf(end)(g)
		}
		return Cell{}
	}
}

// reduction is the share of the other strategy's deaths that the figure's
// avoids.
func (c *Collector) reduction(f *figure) func(regime string) Cell {
	return func(regime string) Cell {
		left := over(c.rate(f, f.Strategy, endDeath)(regime), c.rate(f, f.Against, endDeath)(regime))
		if left.Value == nil {
			return Cell{}
		}
		return Cell{Value: new(1 - *left.Value)}
	}
}

// greatestSuccess is the greatest success rate of a model in one modality, over
// regimes and the paper's strategies.
func (c *Collector) greatestSuccess(f *figure) Cell {
	var best Cell
	for _, regime := range regimeOrder {
		for _, strategy := range strategyOrder {
			if one := c.rate(f, strategy, endSuccess)(regime); one.Value != nil && (best.Value == nil || *one.Value > *best.Value) {
				best = one
			}
		}
	}
	return best
}

// lengths is the mean length over all episodes of the figure's regimes with one
// end.
func (c *Collector) lengths(f *figure, end int) Cell {
	steps, episodes := 0, 0
	for _, regime := range f.Regimes {
		groups := c.walks(f, f.Strategy, regime)
		if len(groups) == 0 {
			return Cell{}
		}
		steps += total(groups[0].seeds, func(e *episodeTally) int { return e.steps[end] })
		episodes += total(groups[0].seeds, func(e *episodeTally) int { return e.ends[end] })
	}
	return averageOf(steps, episodes)
}

// said is a share of a model's detection replies, over all regimes: none for a
// figure of some.
func (c *Collector) said(f *figure, of func(*replyRow) pair) Cell {
	if len(f.Regimes) > 0 {
		return Cell{}
	}
	for _, r := range c.replyRows(func(t askedTask) bool { return t == askedDetection }) {
		if f.of(r.model) && r.modality == f.Modality {
			return of(r).cell()
		}
	}
	return Cell{}
}

// Published lists every figure of the paper with its place, and beside it ours
// where the run has the same model in the same cell. A control stands for no
// model, so a run of controls has no figure of its own here but those of the
// lake.
func (c *Collector) Published() Table {
	t := Table{
		ID:    "published",
		Title: "What the paper publishes (arXiv 2608.04574), and ours beside it",
		About: "Every figure of the paper that we know of, under the place where it stands. Ours stands beside it where the run has the same model, modality, regime and strategy on 8×8 lakes with the neutral wording.",
	}
	var rows []*figure
	for i := range published() {
		rows = append(rows, &published()[i])
	}
	beside := &besidePaper{whole: c, known: make(map[*figure]ourSide)}
	ours := func(f *figure) Cell { return beside.of(f).value }
	label := func(key, heading string, of func(*figure) string) definition[figure] {
		return definition[figure]{Column{Key: key, Heading: heading, Kind: Label, DataOnly: true}, func(f *figure) Cell { return Cell{Label: of(f)} }}
	}
	number := func(key, heading string, of func(*figure) *float64) definition[figure] {
		return definition[figure]{Column{Key: key, Heading: heading, Kind: Number, Decimals: 3, DataOnly: true}, func(f *figure) Cell { return Cell{Value: of(f)} }}
	}
	fill(&t, []definition[figure]{
		{Column{Key: "place", Heading: "place", Kind: Label, Section: true}, func(f *figure) Cell { return Cell{Label: f.Place} }},
		{Column{Key: "measure", Heading: "measure", Kind: Label}, func(f *figure) Cell { return Cell{Label: f.Measure, Short: f.words()} }},
		{Column{Key: "model", Heading: "model", Kind: Label}, func(f *figure) Cell { return Cell{Label: f.Model} }},
		{Column{Key: "cell", Heading: "where", Kind: Label}, func(f *figure) Cell { return Cell{Label: f.cell()} }},
		label("modality", "modality", func(f *figure) string { return f.Modality }),
		label("regimes", "regimes", func(f *figure) string { return strings.Join(f.Regimes, "+") }),
		label("strategy", "strategy", func(f *figure) string { return f.Strategy }),
		label("against", "against", func(f *figure) string { return f.Against }),
		{Column{Key: "published", Heading: "published", Kind: Label, Align: Right}, func(f *figure) Cell { return Cell{Label: f.said()} }},
		label("relation", "relation", func(f *figure) string { return f.Relation }),
		number("paper_value", "published value", func(f *figure) *float64 { return f.Value }),
		number("paper_sd", "its sd", func(f *figure) *float64 { return f.SD }),
		number("paper_high", "its upper end", func(f *figure) *float64 { return f.High }),
		label("paper_p", "its p-value", func(f *figure) string { return f.P }),
		{Column{Key: "ours", Heading: "ours", Kind: Mean, Decimals: 3, Brief: true}, ours},
		{Column{Key: "difference", Heading: "difference", Kind: Number, Decimals: 3}, func(f *figure) Cell { return f.distance(ours(f)) }},
		{Column{Key: "interval", Heading: "95% interval", Kind: Interval, Decimals: 3, Priority: 1}, beside.interval},
		{Column{Key: "agrees", Heading: "agrees", Kind: Verdict}, func(f *figure) Cell { return f.verdict(ours(f), beside.interval(f)) }},
		label("note", "note", func(f *figure) string { return f.Note }),
	}, rows)
	t.Notes = []string{
		"–: the run has no such model in that cell, or none of these tables measures it.",
		"difference: ours less the published. interval: of ours, by a jackknife that leaves out one seed at a time. agrees: whether the published value lies in it, or, for a bound or a range, whether ours keeps to it; “about” is taken as exact. The paper’s own uncertainty is not in it.",
		"Names are the same when the last part of ours is the paper’s, but for case and for hyphens in place of dots: openai/gpt-4o is GPT-4o. A control stands for no model.",
		"A figure of several regimes is the mean over them; lengths, flag rates, missed entries and the precision and recall of all entries are over all episodes or entries of those regimes together.",
	}
	return t
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
	return strings.Join(strings.Fields(strings.Join([]string{f.Modality, regimes, strategy}, " ")), " ")
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
