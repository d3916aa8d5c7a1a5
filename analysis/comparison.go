package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A counterpart is what the run has next to a published figure. A seed counts by
// what lost trials leave of it in the figure's cells, as in the tables of tests.
type counterpart struct {
	model           string // of ours; empty where the figure is of no single model
	value, interval Cell
	said            string // ours where it is no number
	used, planned   int    // the seeds that it is made of, and those that all cells plan; 0 where no trials are behind it
	lossy           bool   // some trial of them is lost
	reach           *Span  // what lost trials could make of the value; nil where nothing is lost, or where nobody can tell
	setting         bool   // fixed before any trial: it is the published one or is not
	unlike          bool   // there is none because the run is not of the paper's setting
	note            string // what is to be known of ours, above all why there is none
}

// A comparison makes ours of one published figure.
type comparison struct {
	f     *Frame
	p     publishedFigure
	model string            // of ours
	boot  *record.Bootstrap // nil for a value alone
	// unlike are the settings that keep cells of the run from those of the figure.
	unlike []string
}

// An estimate is a kind of figure: how ours is made of the run.
type estimate func(*comparison) counterpart

// A publishedMeasure is what a measure of data/paper.yaml is in words, to how
// many decimals, the least difference that matters, and how ours is made.
type publishedMeasure struct {
	words    string
	decimals int
	margin   float64 // 0 stands for the one that the study declares, of rates of outcomes
	ours     estimate
}

// publishedMeasures are those of data/paper.yaml.
var publishedMeasures = map[string]publishedMeasure{
	"stale-share":       {"stale share", 3, 0.02, staleShare},
	"stale-share-least": {"stale share, least seed", 3, 0, staleExtreme(slices.Min)},
	"stale-share-most":  {"stale share, greatest seed", 3, 0, staleExtreme(slices.Max)},

	"step-budget":    {"step budget", 0, 0, setting(stepBudgetOf(publishedSide), "")},
	"reward-success": {"reward of success", 0, 0, setting(rewardOf(record.Success), "")},
	"reward-death":   {"reward of death", 0, 0, setting(rewardOf(record.Death), "")},
	"reward-timeout": {"reward of timeout", 0, 0, setting(rewardOf(record.Timeout), "")},
	"alpha":          {"α of the tests", 3, 0, setting(PaperAlpha, "the level at which Wilcoxon’s test is marked; the tests’ own is declared in the study")},

	"f1":                      {"F1", 3, 0.05, mean(f1)},
	"f1-vision-less-text":     {"F1, vision − text", 3, 0.05, difference(f1, from(record.Vision), from(record.Text))},
	"best-over-worst-f1":      {"F1, best model over worst", 1, 0, extreme(2, models, mean(f1), over)},
	"recall-text-over-vision": {"recall, text over vision", 1, 0.5, pooled(nil, over, side{recall, from(record.Text)}, side{recall, from(record.Vision)})},
	"precision":               {"precision, mean over runs", 3, 0.1, pooled(&shares, alone, side{perRun(precision, always), here})},
	"recall":                  {"recall, mean over runs", 3, 0.1, pooled(&shares, alone, side{perRun(recall, always), here})},

	"success":                      {"success", 3, 0, mean(success)},
	"death":                        {"death", 3, 0, mean(death)},
	"timeout":                      {"timeout", 3, 0, mean(timeout)},
	"success-difference":           {"success, difference", 3, 0, difference(success, here, against)},
	"success-greatest":             {"success, greatest", 3, 0, extreme(1, regimes, extreme(1, strategies, mean(success), alone), alone)},
	"death-reduction":              {"deaths avoided, relative", 2, 0.1, perRegime(false, nil, reduction, side{death, here}, side{death, against})},
	"deaths-over":                  {"deaths, ratio", 1, 0.5, perRegime(false, nil, over, side{death, here}, side{death, against})},
	"steps-death":                  {"steps to death", 1, 1, pooled(nil, alone, side{lengths[endDeath], here})},
	"steps-success":                {"steps to success", 1, 1, pooled(nil, alone, side{lengths[endSuccess], here})},
	"deaths-within":                {"share of deaths", 3, 0, deathsWithin},
	"success-length-spread":        {"steps to success, spread", 1, 0, extreme(1, models, extreme(2, strategies, pooled(nil, alone, side{lengths[endSuccess], here}), minus), alone)},
	"f1-of-runs-with-stale-deaths": {"F1 where stale cells kill", 3, 0.05, f1OfStaleDeaths},
	"pearson-f1-success":           {"Pearson of F1 and success", 3, 0.1, correlation(stats.Pearson)},
	"spearman-f1-success":          {"Spearman of F1 and success", 3, 0.1, correlation(stats.Spearman)},

	"flag-rate-safe-deadly":   {"flag rate, SAFE on hole", 3, 0.05, pooled(&shares, alone, side{safeDeadly, here})},
	"flag-rate-safe-safe":     {"flag rate, SAFE on safe", 3, 0.01, pooled(&shares, alone, side{safeSafe, here})},
	"recall-thaw":             {"recall, thaw", 3, 0.1, pooled(&shares, alone, side{recallThaw, here})},
	"recall-freeze":           {"recall, freeze", 3, 0.1, pooled(&shares, alone, side{recallFreeze, here})},
	"recall-thaw-less-freeze": {"recall, thaw − freeze", 3, 0.1, pooled(&differences, minus, side{recallThaw, here}, side{recallFreeze, here})},
	"missed-thaw":             {"missed entries, thaw", 3, 0.1, pooled(&shares, alone, side{missed(saysSafe), bothModalities})},
	"missed-freeze":           {"missed entries, freeze", 3, 0.1, pooled(&shares, alone, side{missed(saysDanger), bothModalities})},

	"batch-f1":            {"F1", 3, 0.05, mean(f1)},
	"batch-f1-difference": {"F1, difference", 3, 0.05, difference(f1, here, func(p *publishedFigure) { p.Batch = p.BaseBatch })},
	"batch-calls":         {"calls an audit", 0, 0, fixed(pooled(nil, alone, side{callsPerAudit, here}))},
	"binary-f1":           {"F1, yes or no", 3, 0.05, mean(f1)},
	"score-f1": {"F1 by score, from", 3, 0.05, func(c *comparison) counterpart {
		return mean(score("", "", byThreshold(slices.Index(thresholds[:], c.p.Threshold)), f1Of))(c)
	}},
	"stale-at-score": {"truly stale, score", 2, 0.1, func(c *comparison) counterpart {
		return pooled(&shares, alone, side{staleOf(binOf(c.p.Threshold)), here})(c)
	}},

	"refusals": {"refusals", 3, 0.02, pooled(&shares, alone, side{refused, here})},
	"hedging":  {"responses that hedge", 3, 0.1, pooled(&shares, alone, side{hedged, here})},
	"certain":  {"verdicts with confidence 1", 3, 0.05, pooled(&shares, alone, side{certain, here})},

	"trace-stale-entries": {"trace: stale entries", 0, 0, staleOfSeed},
	"trace":               {"trace", 0, 0, trace},
	"tokens-16x16":        {"tokens of 16×16", 0, 0, nothing("records count the tokens of whole prompts, not those of the observation in them")},
}

// Measures that only published figures have.
var (
	refused = &measure{of: func(r *Row) (int, int) { return readAs(r, askedDetect, "refusal"), int(r.calls) }}
	hedged  = ofPair("", "", "", func(r *Row) pair { return r.said.hedged })
	certain = &measure{of: func(r *Row) (int, int) {
		return int(r.said.sure[0].certain + r.said.sure[1].certain), r.said.answered()
	}}
)

// perRun is the mean over runs of a measure, in billionths: each run that counts,
// and that has the measure at all, weighs as much as any other.
func perRun(m *measure, counts func(*Row) bool) *measure {
	return &measure{of: func(r *Row) (int, int) {
		v := quotient(m.of(r))
		if v == nil || !counts(r) {
			return 0, 0
		}
		return int(math.Round(*v * 1e9)), 1e9
	}}
}

func always(*Row) bool { return true }

// missed is the share of missed stale entries that have one claim.
func missed(claim int) *measure {
	return &measure{of: func(r *Row) (num, den int) {
		for k := range r.flags {
			n := int(r.flags[k][1].entries - r.flags[k][1].flagged)
			num, den = num+n*index(k == claim), den+n
		}
		return num, den
	}}
}

// staleOf is the share of the entries with scores of a bin that are stale.
func staleOf(bin int) *measure {
	return &measure{of: func(r *Row) (int, int) {
		if r.scores == nil {
			return 0, 0
		}
		p := r.scores.bins[bin].stale
		return int(p.count), int(p.of)
	}}
}

// shares and differences are the ranges that measures have.
var (
	shares      = stats.Range{Low: 0, High: 1}
	differences = stats.Range{Low: -1, High: 1}
)

// A statistic is made of one quotient, or of two.
type statistic func(q []float64) *float64

func alone(q []float64) *float64 { return &q[0] }
func minus(q []float64) *float64 {
	if d := q[0] - q[1]; math.Abs(d) >= roundingOnly {
		return &d
	}
	return new(0.0)
}
func over(q []float64) *float64 {
	if q[1] == 0 {
		return nil
	}
	return new(q[0] / q[1])
}
func reduction(q []float64) *float64 {
	if q[1] == 0 {
		return nil
	}
	return new(1 - q[0]/q[1])
}

// A side is a measure, and where it is taken: a change to the figure's own cells.
type side struct {
	m  *measure
	at func(*publishedFigure)
}

func here(*publishedFigure)             {}
func against(p *publishedFigure)        { p.Strategy = p.Against }
func bothModalities(p *publishedFigure) { p.Modality = record.Text + " " + record.Vision }
func from(modality string) func(*publishedFigure) {
	return func(p *publishedFigure) { p.Modality = modality }
}

// cells returns the groups of a side, one for each model, modality and regime;
// nothing where the run lacks one. A figure without a strategy is of detections,
// one without a model of all those that have all of its regimes.
func (c *comparison) cells(s side) (out []*Group) {
	p := c.p
	s.at(&p)
	task, models, compare := record.Detect, []string{c.model}, c.f.comparing(nil)
	if p.Strategy != "" {
		task = record.Navigate
	}
	if c.model == "" {
		models = c.f.named()
	}
	for _, model := range models {
		var cells []*Group
		wanted := 0
		for _, modality := range strings.Fields(p.Modality) {
			for _, regime := range p.Regimes {
				wanted++
				var found []*Group
				for s, g := range c.f.groups {
					if s.Task == task && s.Model == model && s.Modality == modality && s.Regime == regime && p.with(&s) {
						found = append(found, g)
					}
				}
				// Of several settings that fit, the first in the order of tables.
				slices.SortFunc(found, func(x, y *Group) int { return compare(x.Setting, y.Setting) })
				of := slices.IndexFunc(found, func(g *Group) bool { return len(c.f.unlikePaper(g)) == 0 })
				switch {
				case of >= 0:
					cells = append(cells, found[of])
				case len(found) > 0:
					for _, words := range c.f.unlikePaper(found[0]) {
						addNew(&c.unlike, words)
					}
				}
			}
		}
		if len(cells) == wanted {
			out = append(out, cells...)
		}
	}
	return out
}

// A term is a quotient of a statistic: a measure in cells that are taken
// together. By seed it is the mean over seeds of the one cell's values.
type term struct {
	m     *measure
	cells []*Group
}

// A unit is what one seed has of each term: a numerator and a denominator, and
// the least and the most that the value could be, had lost trials gone one way or
// the other.
type unit struct {
	sums        [][2]float64
	least, most []float64 // empty where nobody can tell
	lost, empty bool      // some trials are; in a cell all are
}

func (u *unit) add(t term, seed int, bySeed bool) {
	var sum [2]float64
	for _, g := range t.cells {
		v := t.m.valueOf(g, g.at(seed))
		u.lost, u.empty = u.lost || v.lost, u.empty || !v.there
		one := Group{Label: g.Label, Seeds: []Seed{{seed, g.at(seed)}}}
		num, den := one.pooled(t.m)
		sum = [2]float64{sum[0] + float64(num), sum[1] + float64(den)}
		if bySeed && v.value != nil {
			sum = [2]float64{*v.value, 1}
		}
		if bySeed && v.least != nil && v.most != nil {
			u.least, u.most = append(u.least, *v.least), append(u.most, *v.most)
		}
	}
	u.sums = append(u.sums, sum)
}

// read is the statistic of some units' sums, undefined where one quotient is.
func read(units []unit, drawn []int, of statistic) *float64 {
	if len(drawn) == 0 {
		return nil
	}
	q := make([]float64, len(units[0].sums))
	for i := range q {
		num, den := 0.0, 0.0
		for _, k := range drawn {
			num, den = num+units[k].sums[i][0], den+units[k].sums[i][1]
		}
		if den == 0 {
			return nil
		}
		q[i] = num / den
	}
	return of(q)
}

// compute is a statistic of terms, on the seeds that all cells plan and of which
// something is left in each. By seed it
// is the mean of the seeds' own values, with the interval and the bounds of the
// tables of tests. Otherwise it is that of the sums over all seeds, whose interval
// draws whole seeds; where no resample differs and it has a range, it is that of
// a mean of the seeds' own values.
func (c *comparison) compute(terms []term, sides int, of statistic, bySeed bool, within *stats.Range) (o counterpart) {
	var cells []*Group
	for _, t := range terms {
		if len(t.cells) == 0 {
			return o.explained()
		}
		cells = append(cells, t.cells...)
	}
	var units []unit
	var every []int // of units
	var own, leasts, mosts []*float64
	for i := 0; len(cells) > 0 && i < len(cells[0].Seeds); i++ {
		seed := cells[0].Seeds[i].Seed
		if slices.ContainsFunc(cells, func(g *Group) bool { return g.at(seed) == nil }) {
			continue
		}
		o.planned++
		var u unit
		for _, t := range terms {
			u.add(t, seed, bySeed)
		}
		o.lossy = o.lossy || u.lost
		if !u.empty {
			units, every = append(units, u), append(every, len(units))
			own = append(own, read(units, every[len(units)-1:], of))
		}
		if len(u.least) == len(terms) {
			for k := 1; sides == 2 && k < len(terms); k += 2 { // the second side at its most makes a difference the least
				u.least[k], u.most[k] = u.most[k], u.least[k]
			}
			leasts, mosts = append(leasts, of(u.least)), append(mosts, of(u.most))
		}
	}
	o.used = len(units)
	if o.lossy && len(leasts) > 0 {
		o.reach = &Span{Low: stats.Mean(defined(leasts)), High: stats.Mean(defined(mosts))}
	}
	if o.value = overSeeds(own); !bySeed {
		o.value = Cell{Value: read(units, every, of), N: o.used}
	}
	o = o.explained()
	if o.value.Value == nil || c.boot == nil {
		return o
	}
	var r stats.BootstrapResult
	if !bySeed {
		r = sure(stats.Bootstrap(o.used, func(drawn []int) (float64, bool) {
			if v := read(units, drawn, of); v != nil {
				return *v, true
			}
			return 0, false
		}, stats.BootstrapOptions{Level: c.boot.Level, Draws: c.boot.Resamples, Seed: c.boot.Seed}))
	}
	if r.Interval == nil && within != nil {
		r = sure(stats.BootstrapMean(defined(own), bootstrapOptions(c.boot, *within)))
	}
	o.interval = intervalCell(r.Interval, r.Warnings)
	return o
}

// perRegime is the mean over regimes of a statistic of its sides.
func perRegime(bySeed bool, within *stats.Range, of statistic, sides ...side) estimate {
	return func(c *comparison) counterpart {
		var terms []term
		n := len(c.p.Regimes)
		for i := range n {
			for _, s := range sides {
				if cells := c.cells(s); i < len(cells) {
					terms = append(terms, term{s.m, cells[i : i+1]})
				} else {
					terms = append(terms, term{})
				}
			}
		}
		return c.compute(terms, len(sides), func(q []float64) *float64 {
			sum := 0.0
			for i := 0; i < len(q); i += len(sides) {
				v := of(q[i : i+len(sides)])
				if v == nil {
					return nil
				}
				sum += *v
			}
			return new(sum / float64(n))
		}, bySeed, within)
	}
}

// mean and difference are means over seeds.
func mean(m *measure) estimate { return perRegime(true, &shares, alone, side{m, here}) }
func difference(m *measure, of, from func(*publishedFigure)) estimate {
	return perRegime(true, &differences, minus, side{m, of}, side{m, from})
}

// pooled is a statistic of the sums over all trials of its sides.
func pooled(within *stats.Range, of statistic, sides ...side) estimate {
	return func(c *comparison) counterpart {
		var terms []term
		for _, s := range sides {
			terms = append(terms, term{s.m, c.cells(s)})
		}
		return c.compute(terms, len(sides), of, false, within)
	}
}

// deathsWithin is the share of deaths that came within the figure's steps.
func deathsWithin(c *comparison) counterpart {
	o := pooled(&shares, alone, side{&measure{of: func(r *Row) (int, int) {
		return index(r.end == endDeath && int(r.steps) <= c.p.Steps), index(r.end == endDeath)
	}}, here})(c)
	if o.value.Value != nil {
		o.note = "the paper gives the steps and no share, so that the two have no difference"
	}
	return o
}

// detected returns the cells of episodes, and for each the detections of the same
// model by the same audit.
func (c *comparison) detected() (walks, audits []*Group) {
	walks = c.cells(side{success, here})
	for _, g := range walks {
		if d := c.f.detectionsOf(g.Setting); d != nil {
			audits = append(audits, d)
		}
	}
	if len(audits) < len(walks) {
		return nil, nil
	}
	return walks, audits
}

// correlation is that of F1 in detection with success, seed by seed, as the
// figure of them has it.
func correlation(of func(x, y []float64, opt stats.CorrelationOptions) (stats.CorrelationResult, error)) estimate {
	return func(c *comparison) counterpart {
		walks, audits := c.detected()
		o := c.compute([]term{{success, walks}, {f1, audits}}, 2, alone, true, nil)
		o.value, o.interval, o.reach = Cell{}, Cell{}, nil // of success itself
		if o.used == 0 {
			return o
		}
		o.note = ""
		a := c.f.associateF1(walks[0], success)
		r := sure(of(a.x, a.y, stats.CorrelationOptions{}))
		o.value, o.interval = Cell{Value: r.R, N: r.N, Undefined: a.undefined}, intervalCell(r.Interval, nil)
		if r.R == nil {
			o.note = "F1 or success does not vary, or there are too few seeds"
		}
		return o
	}
}

// f1OfStaleDeaths is the mean F1 in detection on the seeds on which an episode
// died on a cell whose entry was stale.
func f1OfStaleDeaths(c *comparison) counterpart {
	walks, audits := c.detected()
	killed := map[*Row]bool{}
	for i, g := range walks {
		for _, s := range g.Seeds {
			for _, d := range audits[i].at(s.Seed) {
				killed[d] = slices.ContainsFunc(s.Rows, func(r *Row) bool { return !r.lost() && r.onStale.count > 0 })
			}
		}
	}
	return c.compute([]term{{perRun(f1, func(r *Row) bool { return killed[r] }), audits}, {success, walks}}, 2, alone, false, &shares)
}

// setting is a number that is fixed before any trial, fixed an estimate that is.
func setting(x float64, note string) estimate {
	return func(*comparison) counterpart { return counterpart{value: Cell{Value: &x}, setting: true, note: note} }
}

func fixed(of estimate) estimate {
	return func(c *comparison) counterpart {
		o := of(c)
		o.setting, o.interval = true, Cell{}
		return o
	}
}

func rewardOf(outcome string) float64 {
	t := record.Trial{Spec: record.Spec{Task: record.Navigate}, Outcome: outcome}
	return float64(*t.Reward())
}

func stepBudgetOf(side int) float64 {
	grid := sure(lake.New(side, side))
	return float64(grid.StepBudget())
}

// nothing says why no run has a counterpart.
func nothing(note string) estimate {
	return func(*comparison) counterpart { return counterpart{note: note} }
}

// staleShares are the shares of stale entries of the figure's lakes.
func (c *comparison) staleShares() (o counterpart, shares []*float64) {
	for _, l := range c.f.lakes() {
		if shares == nil && l.ofPaper() && l.regime == strings.Join(c.p.Regimes, "+") {
			shares = l.shares()
		}
	}
	o.used, o.planned = len(shares), len(shares)
	if shares == nil {
		o.note = "the run has no lakes of the regime as the paper draws them"
	}
	return o, shares
}

func staleShare(c *comparison) counterpart {
	o, xs := c.staleShares()
	o.value = overSeeds(xs)
	if len(xs) > 0 {
		r := sure(stats.BootstrapMean(defined(xs), bootstrapOptions(c.boot, shares)))
		o.interval = intervalCell(r.Interval, r.Warnings)
	}
	return o
}

func staleExtreme(pick func([]float64) float64) estimate {
	return func(c *comparison) counterpart {
		o, xs := c.staleShares()
		if len(xs) > 0 {
			o.value, o.note = Cell{Value: new(pick(defined(xs))), N: len(xs)}, noteExtreme
		}
		return o
	}
}

// staleOfSeed is the number of stale entries of a trace's seed.
func staleOfSeed(c *comparison) counterpart {
	for _, l := range c.f.lakes() {
		for _, h := range l.instances {
			if h.Seed == c.p.Seed && l.ofPaper() && slices.Contains(c.p.Regimes, l.regime) {
				return counterpart{value: Cell{Value: new(float64(h.atEnd))}, note: noteOtherLake}
			}
		}
	}
	return counterpart{note: noCell}
}

// trace is how the first episode of a trace's seed ended.
func trace(c *comparison) counterpart {
	for _, g := range c.cells(side{nil, here}) {
		if rows := g.at(c.p.Seed); len(rows) > 0 && !rows[0].lost() {
			return counterpart{planned: 1, used: 1, note: noteOtherLake, said: fmt.Sprintf("%s, step %d", record.Outcomes[rows[0].end].Name, rows[0].steps)}
		}
	}
	return counterpart{note: noCell}
}

// Why there is no value, no interval or no verdict.
const (
	noCell        = "the run plans no seed in all of its cells"
	noneLeft      = "on every seed a cell of it has lost all trials"
	notDefined    = "undefined on these seeds"
	noteOtherLake = "the seed’s lake is not the paper’s"
	noteExtreme   = "no interval: an extreme of the same trials that chose it"
)

// explained says why a value is undefined.
func (o counterpart) explained() counterpart {
	switch {
	case o.value.Value != nil:
	case o.planned == 0:
		o.note = noCell
	case o.used == 0:
		o.note = noneLeft
	default:
		o.note = notDefined
	}
	return o
}

// extreme is a statistic of the greatest and the least of at least so many
// variants that have a value. Those of which nothing is left are named in the note;
// the seeds are those of the variant that has lost the greatest share.
func extreme(needed int, variants func(*comparison) []variant, each estimate, of statistic) estimate {
	return func(c *comparison) (o counterpart) {
		var values []float64
		var found, lost []string
		for _, v := range variants(c) {
			one := each(v.comparison)
			for _, words := range v.unlike {
				addNew(&c.unlike, words)
			}
			switch {
			case one.value.Value != nil:
				values, found = append(values, *one.value.Value), append(found, v.name)
				if len(values) == 1 || one.used*o.planned < o.used*one.planned {
					o.used, o.planned = one.used, one.planned
				}
			case one.planned > 0:
				lost = append(lost, v.name)
			}
		}
		if len(values) < needed {
			return counterpart{note: "too few of the run’s models or strategies have all of its regimes"}
		}
		most, least := slices.Max(values), slices.Min(values)
		o.value = Cell{Value: of([]float64{most, least}), N: o.used}
		o.note = "greatest: " + found[slices.Index(values, most)]
		if needed > 1 {
			o.note += ", least: " + found[slices.Index(values, least)]
		}
		o.note += "; " + noteExtreme
		if len(lost) > 0 {
			o.note += "; without " + strings.Join(lost, ", ") + ", of which nothing is left"
		}
		return o
	}
}

// A variant is the same figure of another model, strategy or regime, for its
// value alone.
type variant struct {
	name string
	*comparison
}

// models are every model of the run that is no control.
func models(c *comparison) (out []variant) {
	for _, model := range c.f.named() {
		out = append(out, variant{model, &comparison{f: c.f, p: c.p, model: model}})
	}
	return out
}

func strategies(c *comparison) (out []variant) {
	for _, s := range record.Strategies {
		one := &comparison{f: c.f, p: c.p, model: c.model}
		one.p.Strategy = s.Name
		out = append(out, variant{s.Label, one})
	}
	return out
}

func regimes(c *comparison) (out []variant) {
	for _, r := range record.Regimes {
		one := &comparison{f: c.f, p: c.p, model: c.model}
		one.p.Regimes = []string{r.Name}
		out = append(out, variant{r.Name, one})
	}
	return out
}

// named are the run's models that are no controls: those that a figure without a
// model is of.
func (f *Frame) named() []string {
	return slices.DeleteFunc(f.models(), func(m string) bool { return isControl(m) || f.rehearsed(m) })
}

// counterpartOf makes ours of a figure, from the first of the run's models that
// is the figure's and has its cells.
func (f *Frame) counterpartOf(p *publishedFigure, boot *record.Bootstrap) counterpart {
	made := func(model string) counterpart {
		c := &comparison{f: f, p: *p, model: model, boot: boot}
		o := publishedMeasures[p.Measure].ours(c)
		o.model = model
		if o.planned == 0 && o.value.Value == nil && len(c.unlike) > 0 {
			o.unlike, o.note = true, "not in the paper’s setting: "+joined(c.unlike)
		}
		return o
	}
	if p.Model == "" {
		return made("")
	}
	o := counterpart{note: "the run has no model of this name"}
	for _, model := range f.models() {
		switch {
		case !p.of(model):
			continue
		case f.rehearsed(model):
			if o.model == "" {
				o.note = "a built-in control answered in its name"
			}
			continue
		}
		if next := made(model); o.model == "" || o.planned == 0 && next.planned > 0 {
			o = next
		}
	}
	return o
}
