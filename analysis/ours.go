package analysis

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// An ourSide is what stands beside a published figure. It is made of the seeds
// that have lost no trial of any of the figure's cells, so that a difference is
// that of the tables of tests.
type ourSide struct {
	model    string // of ours; empty where the figure is of no single model
	value    Cell   // a mean over seeds has its SD
	interval Cell
	said     string // ours where it is no number

	whole, planned int    // the seeds that it is made of, and those that all cells plan; 0 where no trials are behind it
	bound                 // what the lost trials could make of the value; nil where nothing is lost, or where no bound is known
	setting        bool   // fixed before any trial: it is the published one or is not
	note           string // what is to be known of ours, above all why there is none
}

// A measure says in words what a published figure measures, and makes ours.
type measure struct {
	words    string
	decimals int
	ours     func(e *estimator) ourSide
}

// shares and differences are the ranges that measures have.
var (
	shares      = stats.Range{Low: 0, High: 1}
	differences = stats.Range{Low: -1, High: 1}
)

// measures are those of data/paper.yaml.
var measures = map[string]measure{
	"stale-share":       {"stale share", 3, (*estimator).staleShare},
	"stale-share-least": {"stale share, least seed", 3, staleExtreme(slices.Min)},
	"stale-share-most":  {"stale share, greatest seed", 3, staleExtreme(slices.Max)},

	"step-budget": {"step budget", 0, func(*estimator) ourSide {
		g := sure(lake.New(publishedSide, publishedSide))
		return settingOfOurs(float64(g.StepBudget()))
	}},
	"reward-success": {"reward of success", 0, rewardOf(record.Success)},
	"reward-death":   {"reward of death", 0, rewardOf(record.Death)},
	"reward-timeout": {"reward of timeout", 0, rewardOf(record.Timeout)},
	"alpha": {"α of the tests", 3, func(*estimator) ourSide {
		o := settingOfOurs(PaperAlpha)
		o.note = "the level at which Wilcoxon’s test is marked; the tests’ own is declared in the study"
		return o
	}},

	"f1": {"F1", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"f1-vision-less-text": {"F1, vision − text", 3, func(e *estimator) ourSide {
		return e.difference(e.f1(e.f, record.Vision), e.f1(e.f, record.Text))
	}},
	"best-over-worst-f1": {"F1, best model over worst", 1, (*estimator).bestOverWorst},
	"recall-text-over-vision": {"recall, text over vision", 1, func(e *estimator) ourSide {
		return e.bothModalities(func(d *detectionTally) []term { return []term{termOf(recallOf(d))} }, func(sums []term) *float64 {
			n := len(sums) / 2
			return quotientOf(together(sums[:n]).value(), together(sums[n:]).value())
		}, nil)
	}},
	"precision-pooled": {"precision, all entries", 3, func(e *estimator) ourSide {
		return e.pooled(func(d *detectionTally) pair { return pair{d.counts.TP, d.counts.TP + d.counts.FP} })
	}},
	"recall-pooled": {"recall, all entries", 3, func(e *estimator) ourSide { return e.pooled(recallOf) }},

	"success": {"success", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endSuccess)) }},
	"death":   {"death", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endDeath)) }},
	"timeout": {"timeout", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endTimeout)) }},
	"success-difference": {"success, difference", 3, func(e *estimator) ourSide {
		return e.difference(e.rates(e.f.Strategy, endSuccess), e.rates(e.f.Against, endSuccess))
	}},
	"success-difference-size": {"success, size of difference", 3, func(e *estimator) ourSide {
		return e.difference(e.rates(e.f.Strategy, endSuccess), e.rates(e.f.Against, endSuccess)).size()
	}},
	"death-reduction": {"deaths avoided, relative", 2, func(e *estimator) ourSide {
		return e.deaths(func(rate, against float64) float64 { return 1 - rate/against })
	}},
	"deaths-over": {"deaths, ratio", 1, func(e *estimator) ourSide {
		return e.deaths(func(rate, against float64) float64 { return rate / against })
	}},
	"success-greatest": {"success, greatest", 3, (*estimator).greatestSuccess},

	"steps-death":           {"steps to death", 1, func(e *estimator) ourSide { return e.steps(e.f.Strategy, endDeath) }},
	"steps-success":         {"steps to success", 1, func(e *estimator) ourSide { return e.steps(e.f.Strategy, endSuccess) }},
	"deaths-within":         {"share of deaths", 3, (*estimator).deathsWithin},
	"success-length-spread": {"steps to success, spread", 1, (*estimator).lengthSpread},

	"pearson-f1-success": {"Pearson of F1 and success", 3, func(e *estimator) ourSide {
		return e.correlation(func(x, y []float64) stats.CorrelationResult {
			return sure(stats.Pearson(x, y, stats.CorrelationOptions{}))
		})
	}},
	"spearman-f1-success-size": {"Spearman of them, its size", 3, func(e *estimator) ourSide {
		return e.correlation(func(x, y []float64) stats.CorrelationResult {
			return sure(stats.Spearman(x, y, stats.CorrelationOptions{}))
		}).size()
	}},
	"f1-of-runs-with-stale-deaths": {"F1 where stale cells kill", 3, (*estimator).f1OfStaleDeaths},

	"flag-rate-safe-deadly": {"flag rate, SAFE on hole", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 1)) }},
	"flag-rate-safe-safe":   {"flag rate, SAFE on safe", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 0)) }},
	"recall-thaw":           {"recall, thaw", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 1)) }},
	"recall-freeze":         {"recall, freeze", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysDanger, 1)) }},
	"recall-thaw-less-freeze": {"recall, thaw − freeze", 3, func(e *estimator) ourSide {
		cells := e.detections(e.f, e.f.Modality)
		return e.sums(units(cells, progressOfDetection, func(seed []*detectionTally) []term {
			var thaw, freeze pair
			for _, d := range seed {
				thaw.plus(flagsOf(saysSafe, 1)(d))
				freeze.plus(flagsOf(saysDanger, 1)(d))
			}
			return []term{termOf(thaw), termOf(freeze)}
		}), func(sums []term) *float64 { return less(sums[0].value(), sums[1].value()) }, &differences)
	}},
	"missed-thaw":   {"missed entries, thaw", 3, func(e *estimator) ourSide { return e.missed(saysSafe) }},
	"missed-freeze": {"missed entries, freeze", 3, func(e *estimator) ourSide { return e.missed(saysDanger) }},

	"batch-f1": {"F1", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"batch-f1-difference": {"F1, difference", 3, func(e *estimator) ourSide {
		base := *e.f
		base.Batch = e.f.BaseBatch
		return e.difference(e.f1(e.f, e.f.Modality), e.f1(&base, e.f.Modality))
	}},
	"batch-calls": {"calls an audit", 0, func(e *estimator) ourSide {
		o := e.sums(units(e.detections(e.f, e.f.Modality), progressOfDetection, func(seed []*detectionTally) []term {
			return []term{termOf(pair{seed[0].asking.calls, seed[0].asking.audits})}
		}), func(sums []term) *float64 { return sums[0].value() }, nil)
		// Set by the batch, but for calls that are asked once more.
		o.setting, o.interval = true, Cell{}
		return o
	}},
	"binary-f1": {"F1, yes or no", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"score-f1": {"F1 by score, from", 3, func(e *estimator) ourSide {
		k := slices.Index(thresholds[:], e.f.Threshold)
		return e.mean(averaged(e.detections(e.f, e.f.Modality), func(d *detectionTally) seedValue {
			if d.scores == nil {
				return seedValue{bound: anyShare(), lost: d.lost() > 0}
			}
			return d.value(func(record.Counts) *float64 { return d.scores.at[k].F1() })
		}))
	}},
	"stale-at-score": {"truly stale, score", 2, func(e *estimator) ourSide {
		return e.pooled(func(d *detectionTally) pair {
			if d.scores == nil {
				return pair{}
			}
			b := d.scores.bins[binOf(e.f.Threshold)]
			return pair{b.stale, b.entries}
		})
	}},

	"refusals": {"refusals", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.refused }) }},
	"hedging":  {"reasons that hedge", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.hedged }) }},
	"certain":  {"verdicts with confidence 1", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.certain }) }},

	"trace-stale-entries": {"trace: stale entries", 0, (*estimator).traceStale},
	"trace":               {"trace", 0, (*estimator).trace},
	"tokens-16x16": {"tokens of 16×16", 0, func(*estimator) ourSide {
		return ourSide{note: "records count the tokens of whole prompts, not those of the observation in them"}
	}},
}

// An estimator makes ours of one figure.
type estimator struct {
	c     *Collector
	f     *figure
	model string            // of ours
	boot  *record.Bootstrap // nil for a value alone
}

// besidePaper makes ours of a figure, from the first of the run's models that is
// the figure's and has its cells.
func (c *Collector) besidePaper(f *figure, boot *record.Bootstrap) ourSide {
	ours := measures[f.Measure].ours
	if f.Model == "" {
		return ours(&estimator{c: c, f: f, boot: boot})
	}
	o := ourSide{note: "the run has no model of this name"}
	for _, model := range c.models() {
		if !f.of(model) {
			continue
		}
		next := ours(&estimator{c, f, model, boot})
		next.model = model
		if o.model == "" || o.planned == 0 && next.planned > 0 {
			o = next
		}
	}
	return o
}

// named are the run's models that are no controls: those that a figure without a
// model is of.
func (c *Collector) named() []string {
	return slices.DeleteFunc(c.models(), func(m string) bool { return strings.HasPrefix(m, controlPrefix) })
}

// as is the same figure of another model or strategy, for its value alone.
func (e *estimator) as(model, strategy string) *estimator {
	f := *e.f
	f.Strategy = strategy
	return &estimator{c: e.c, f: &f, model: model}
}

// Why there is no value.
const (
	noCell     = "the run has no seed in all of its cells"
	noWhole    = "every seed has lost a trial of it"
	notDefined = "undefined on these seeds"
)

// explained says why a value is undefined, unless that has been said.
func (o ourSide) explained() ourSide {
	if o.value.Value != nil || o.said != "" || o.note != "" {
		return o
	}
	switch {
	case o.planned == 0:
		o.note = noCell
	case o.whole == 0:
		o.note = noWhole
	default:
		o.note = notDefined
	}
	return o
}

func settingOfOurs(x float64) ourSide { return ourSide{value: Cell{Value: &x}, setting: true} }

func rewardOf(outcome string) func(*estimator) ourSide {
	return func(*estimator) ourSide {
		t := record.Trial{Spec: record.Spec{Task: record.Navigate}, Outcome: outcome}
		return settingOfOurs(float64(*t.Reward()))
	}
}

// seedsOf returns the seeds of one cell; of several settings that fit, those of
// the first in the order of tables.
func seedsOf[T any](e *estimator, g groups[T], f *figure, modality, regime string) map[int]*T {
	var found []setting
	for s := range g {
		if s.model == e.model && s.modality == modality && s.regime == regime && f.with(&s) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return g[slices.MinFunc(found, e.c.plan.compareRest)]
}

// cellsOf returns the seeds of a figure's regimes, one a regime; nothing where
// the run lacks one.
func cellsOf[T any](e *estimator, g groups[T], f *figure, modality string) []map[int]*T {
	var cells []map[int]*T
	for _, regime := range f.Regimes {
		seeds := seedsOf(e, g, f, modality, regime)
		if seeds == nil {
			return nil
		}
		cells = append(cells, seeds)
	}
	return cells
}

func (e *estimator) detections(f *figure, modality string) []map[int]*detectionTally {
	return cellsOf(e, e.c.detection, f, modality)
}

func (e *estimator) walks(strategy string) []map[int]*episodeTally {
	f := *e.f
	f.Strategy = strategy
	return cellsOf(e, e.c.episodes, &f, f.Modality)
}

// shared returns the seeds that all cells plan, in ascending order.
func shared[T any](cells []map[int]*T) []int {
	if len(cells) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(cells[0])), func(seed int) bool {
		return slices.ContainsFunc(cells, func(seeds map[int]*T) bool { return seeds[seed] == nil })
	})
}

// averaged is a measure on every seed that all cells plan: the mean over cells.
func averaged[T any](cells []map[int]*T, read func(*T) seedValue) map[int]seedValue {
	out := make(map[int]seedValue)
	for _, seed := range shared(cells) {
		parts := make([]seedValue, len(cells))
		for i, seeds := range cells {
			parts[i] = read(seeds[seed])
		}
		out[seed] = meanValue(parts)
	}
	return out
}

// meanValue is the mean of a seed's values, undefined when one of them is, and
// lost when one of them is.
func meanValue(parts []seedValue) seedValue {
	mean := func(of func(*seedValue) *float64) *float64 {
		var xs []float64
		for i := range parts {
			x := of(&parts[i])
			if x == nil {
				return nil
			}
			xs = append(xs, *x)
		}
		return new(stats.Mean(xs))
	}
	return seedValue{
		mean(func(v *seedValue) *float64 { return v.value }),
		bound{mean(func(v *seedValue) *float64 { return v.least }), mean(func(v *seedValue) *float64 { return v.most })},
		slices.ContainsFunc(parts, func(v seedValue) bool { return v.lost }),
	}
}

// f1 is F1 of a figure's detections, over its regimes.
func (e *estimator) f1(f *figure, modality string) map[int]seedValue {
	return averaged(e.detections(f, modality), func(d *detectionTally) seedValue { return d.value(record.Counts.F1) })
}

// rates is how often episodes under a strategy came to an end, over the regimes.
func (e *estimator) rates(strategy string, end int) map[int]seedValue {
	return averaged(e.walks(strategy), func(t *episodeTally) seedValue { return t.rate(end) })
}

// meanOfWhole is the mean over whole seeds, with the bounds of the table of what lost
// trials could change; it has no interval.
func meanOfWhole(readings map[int]seedValue) (o ourSide, values []*float64) {
	var leasts, mosts []*float64
	for _, seed := range slices.Sorted(maps.Keys(readings)) {
		v := readings[seed]
		o.planned++
		leasts, mosts = append(leasts, v.least), append(mosts, v.most)
		if !v.lost {
			o.whole++
			values = append(values, v.value)
		}
	}
	o.value = overSeeds(values)
	if o.whole < o.planned {
		o.bound = bound{overSeeds(leasts).Value, overSeeds(mosts).Value}
	}
	return o, values
}

// mean is the mean of shares over seeds, with the interval that figures have.
func (e *estimator) mean(readings map[int]seedValue) ourSide {
	o, values := meanOfWhole(readings)
	o.interval = e.meanInterval(defined(values), shares)
	return o.explained()
}

// meanInterval is the interval of a mean over seeds; there is none of nothing.
func (e *estimator) meanInterval(values []float64, within stats.Range) Cell {
	if len(values) == 0 {
		return Cell{}
	}
	r := sure(stats.BootstrapMean(values, bootstrapOptions(e.boot, within)))
	return intervalCell(r.Interval, r.Warnings)
}

// difference is the mean of seeds' differences, of the pairs that the tables of
// tests have and with their interval and bounds.
func (e *estimator) difference(of, against map[int]seedValue) ourSide {
	var p paired
	for _, seed := range slices.Sorted(maps.Keys(of)) {
		if other, ok := against[seed]; ok {
			p.pairUp(seed, other, of[seed])
		}
	}
	p.differ()
	o := ourSide{value: p.differenceCell(), whole: len(p.pairs), planned: p.shared, bound: p.bounds()}
	o.interval = e.meanInterval(p.differences, differences)
	return o.explained()
}

// size is a signed estimate without its sign. What may be on both sides of 0 has
// a size from 0 on.
func (o ourSide) size() ourSide {
	fold := func(low, high *float64) (*float64, *float64) {
		if low == nil || high == nil {
			return low, high
		}
		far, near := max(math.Abs(*low), math.Abs(*high)), min(math.Abs(*low), math.Abs(*high))
		if *low < 0 && *high > 0 {
			near = 0
		}
		return &near, &far
	}
	if o.value.Value != nil {
		o.value.Value, o.value.SD = new(math.Abs(*o.value.Value)), nil
	}
	o.interval.Low, o.interval.High = fold(o.interval.Low, o.interval.High)
	o.least, o.most = fold(o.least, o.most)
	return o
}

// A term is a numerator and a denominator of a seed, or their sums over seeds.
type term struct{ num, den float64 }

func termOf(p pair) term { return term{float64(p.count), float64(p.of)} }

// one is a term whose quotient of sums is the mean over seeds.
func one(x *float64) term {
	if x == nil {
		return term{}
	}
	return term{*x, 1}
}

func (t term) value() *float64 {
	if t.den == 0 {
		return nil
	}
	return new(t.num / t.den)
}

func together(terms []term) (sum term) {
	for _, t := range terms {
		sum.num, sum.den = sum.num+t.num, sum.den+t.den
	}
	return sum
}

func quotientOf(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	return new(*a / *b)
}

func less(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a - *b)
}

// A unit is what one seed adds to a statistic of sums.
type unit struct {
	lost  bool
	terms []term
}

// units makes a unit of every seed that all cells plan.
func units[T any](cells []map[int]*T, of func(*T) *progress, terms func(seed []*T) []term) []unit {
	var out []unit
	for _, seed := range shared(cells) {
		tallies := make([]*T, len(cells))
		lost := false
		for i, seeds := range cells {
			tallies[i] = seeds[seed]
			lost = lost || of(seeds[seed]).lost() > 0
		}
		out = append(out, unit{lost, terms(tallies)})
	}
	return out
}

// sums is a statistic of the whole seeds' sums. Its interval draws whole seeds,
// as that of the figures does; where no resample differs and the statistic has a
// range, it is that of a mean of the seeds' own values.
func (e *estimator) sums(all []unit, statistic func(sums []term) *float64, within *stats.Range) ourSide {
	o := ourSide{planned: len(all)}
	var seeds [][]term
	for i := range all {
		if !all[i].lost {
			seeds = append(seeds, all[i].terms)
		}
	}
	o.whole = len(seeds)
	if o.whole == 0 {
		return o.explained()
	}
	sum := make([]term, len(seeds[0]))
	draw := func(units []int) (float64, bool) {
		clear(sum)
		for _, u := range units {
			for i, t := range seeds[u] {
				sum[i].num, sum[i].den = sum[i].num+t.num, sum[i].den+t.den
			}
		}
		v := statistic(sum)
		if v == nil {
			return 0, false
		}
		return *v, true
	}
	every := make([]int, o.whole)
	for i := range every {
		every[i] = i
	}
	v, ok := draw(every)
	if !ok {
		return o.explained()
	}
	o.value = Cell{Value: &v, N: o.whole}
	if e.boot == nil {
		return o
	}
	opt := stats.BootstrapOptions{Level: e.boot.Level, Draws: e.boot.Resamples, Seed: e.boot.Seed}
	r := sure(stats.Bootstrap(o.whole, draw, opt))
	o.interval = intervalCell(r.Interval, r.Warnings)
	if r.Interval == nil && within != nil {
		var own []float64
		for i := range seeds {
			if v, ok := draw([]int{i}); ok {
				own = append(own, v)
			}
		}
		o.interval = e.meanInterval(own, *within)
	}
	return o
}

// pooled is a share of all entries, verdicts or calls of a figure's detections
// together.
func (e *estimator) pooled(of func(*detectionTally) pair) ourSide {
	return e.sums(units(e.detections(e.f, e.f.Modality), progressOfDetection, func(seed []*detectionTally) []term {
		var p pair
		for _, d := range seed {
			p.plus(of(d))
		}
		return []term{termOf(p)}
	}), func(sums []term) *float64 { return sums[0].value() }, &shares)
}

func recallOf(d *detectionTally) pair { return pair{d.counts.TP, d.counts.TP + d.counts.FN} }

// flagsOf are the entries of one kind that were flagged.
func flagsOf(claim, stale int) func(*detectionTally) pair {
	return func(d *detectionTally) pair {
		return pair{d.flags[claim][stale].flagged, d.flags[claim][stale].entries}
	}
}

// bothModalities is a statistic of terms of the detections from text, and then of
// those from images.
func (e *estimator) bothModalities(terms func(*detectionTally) []term, statistic func([]term) *float64, within *stats.Range) ourSide {
	text, vision := e.detections(e.f, record.Text), e.detections(e.f, record.Vision)
	if text == nil || vision == nil {
		return ourSide{}.explained()
	}
	return e.sums(units(slices.Concat(text, vision), progressOfDetection, func(seed []*detectionTally) []term {
		var out []term
		for _, d := range seed {
			out = append(out, terms(d)...)
		}
		return out
	}), statistic, within)
}

// missed is the share of missed stale entries that have one claim.
func (e *estimator) missed(claim int) ourSide {
	return e.bothModalities(func(d *detectionTally) []term {
		var p pair
		for k := range d.flags {
			flags := d.flags[k][1]
			p.of += flags.entries - flags.flagged
			if k == claim {
				p.count = flags.entries - flags.flagged
			}
		}
		return []term{termOf(p)}
	}, func(sums []term) *float64 { return together(sums).value() }, &shares)
}

// deaths sets the rate of deaths under a strategy against that under another:
// the mean over regimes, on the seeds that both have in all of them.
func (e *estimator) deaths(of func(rate, against float64) float64) ourSide {
	walks, against := e.walks(e.f.Strategy), e.walks(e.f.Against)
	if walks == nil || against == nil {
		return ourSide{}.explained()
	}
	return e.sums(units(slices.Concat(walks, against), progressOfEpisodes, func(seed []*episodeTally) []term {
		var out []term
		for _, t := range seed {
			out = append(out, one(t.rate(endDeath).value))
		}
		return out
	}), func(sums []term) *float64 {
		n := len(sums) / 2
		mean := 0.0
		for i := range n {
			rate, against := sums[i].value(), sums[n+i].value()
			if rate == nil || against == nil || *against == 0 {
				return nil
			}
			mean += of(*rate, *against) / float64(n)
		}
		return &mean
	}, nil)
}

// steps is the mean length of all episodes with one end.
func (e *estimator) steps(strategy string, end int) ourSide {
	return e.sums(units(e.walks(strategy), progressOfEpisodes, func(seed []*episodeTally) []term {
		var p pair
		for _, t := range seed {
			p.plus(pair{t.steps[end], t.ends[end]})
		}
		return []term{termOf(p)}
	}), func(sums []term) *float64 { return sums[0].value() }, nil)
}

// staleShare is a row of the table of regimes.
func (e *estimator) staleShare() ourSide {
	xs := e.staleShares()
	o := ourSide{value: overSeeds(xs), whole: len(xs), planned: len(xs)}
	o.interval = e.meanInterval(defined(xs), shares)
	return o.lakesOf()
}

func staleExtreme(pick func([]float64) float64) func(*estimator) ourSide {
	return func(e *estimator) ourSide {
		xs := defined(e.staleShares())
		o := ourSide{whole: len(xs), planned: len(xs)}
		if len(xs) > 0 {
			o.value, o.note = Cell{Value: new(pick(xs)), N: len(xs)}, noteExtreme
		}
		return o.lakesOf()
	}
}

func (o ourSide) lakesOf() ourSide {
	if o.planned == 0 {
		o.note = "the run has no lakes of the regime"
	}
	return o
}

// noteExtreme says why what is the greatest or least of several has no interval.
const noteExtreme = "no interval: an extreme of the same trials that chose it"

func (e *estimator) staleShares() []*float64 {
	for _, g := range e.c.regimeGroups() {
		if e.f.isOf(g.regime) && g.rows == publishedSide && g.cols == publishedSide {
			return g.shares()
		}
	}
	return nil
}

// An extremes gathers measures that are as good as each other, for what is said
// of the greatest and the least of them.
type extremes struct {
	sides []ourSide
	names []string
	lost  []string // those that no seed is left of
}

func (x *extremes) add(name string, o ourSide) {
	switch {
	case o.value.Value != nil:
		x.sides, x.names = append(x.sides, o), append(x.names, name)
	case o.planned > 0:
		x.lost = append(x.lost, name)
	}
}

// ends returns the indices of the least and the greatest.
func (x *extremes) ends() (least, most int) {
	for i := range x.sides {
		if *x.sides[i].value.Value < *x.sides[least].value.Value {
			least = i
		}
		if *x.sides[i].value.Value > *x.sides[most].value.Value {
			most = i
		}
	}
	return least, most
}

// side is what is said of them: its seeds are those of the one that has lost the
// greatest share.
func (x *extremes) side(value *float64, note string) ourSide {
	o := ourSide{value: Cell{Value: value}, note: note}
	for i, s := range x.sides {
		if i == 0 || s.whole*o.planned < o.whole*s.planned {
			o.whole, o.planned = s.whole, s.planned
		}
	}
	o.value.N = o.whole
	if value != nil {
		o.note += "; " + noteExtreme
	}
	if len(x.lost) > 0 {
		o.note += "; without " + strings.Join(x.lost, ", ") + ", which has no whole seed"
	}
	return o
}

// bestOverWorst sets the best of the run's models against the worst.
func (e *estimator) bestOverWorst() ourSide {
	var x extremes
	for _, model := range e.c.named() {
		m := e.as(model, "")
		o, _ := meanOfWhole(m.f1(m.f, m.f.Modality))
		x.add(model, o)
	}
	if len(x.sides) < 2 {
		return x.side(nil, "it takes two models that are no controls, with all of its regimes")
	}
	worst, best := x.ends()
	v := quotientOf(x.sides[best].value.Value, x.sides[worst].value.Value)
	note := "best: " + x.names[best] + ", worst: " + x.names[worst]
	if v == nil {
		note += ", which finds nothing"
	}
	return x.side(v, note)
}

// greatestSuccess is the greatest success rate of a model in one modality, over
// regimes and the paper's strategies.
func (e *estimator) greatestSuccess() ourSide {
	var x extremes
	var leasts, mosts []float64
	lossy := false
	for _, regime := range regimeOrder {
		for _, strategy := range strategyOrder {
			m := e.as(e.model, strategy)
			m.f.Regimes = []string{regime}
			o, _ := meanOfWhole(m.rates(strategy, endSuccess))
			x.add(regime+" "+StrategyName(strategy), o)
			least, most := o.value.Value, o.value.Value
			if o.whole < o.planned {
				lossy, least, most = true, o.least, o.most
			}
			if least != nil && most != nil {
				leasts, mosts = append(leasts, *least), append(mosts, *most)
			}
		}
	}
	if len(x.sides) == 0 {
		o := ourSide{note: noCell}
		if len(x.lost) > 0 {
			o.note = noWhole
		}
		return o
	}
	_, most := x.ends()
	o := x.side(x.sides[most].value.Value, x.names[most])
	if lossy {
		o.bound = bound{new(slices.Max(leasts)), new(slices.Max(mosts))}
	}
	return o
}

// lengthSpread is how far a strategy can move the mean length of a success: the
// greatest less the least over strategies, of the model where that is the most.
func (e *estimator) lengthSpread() ourSide {
	var models extremes
	for _, model := range e.c.named() {
		var x extremes
		for _, strategy := range strategyOrder {
			m := e.as(model, strategy)
			x.add(model+" "+StrategyName(strategy), m.steps(strategy, endSuccess))
		}
		if len(x.sides) < 2 {
			continue
		}
		least, most := x.ends()
		o := x.side(less(x.sides[most].value.Value, x.sides[least].value.Value), "")
		models.add(model, o)
		models.lost = append(models.lost, x.lost...)
	}
	if len(models.sides) == 0 {
		return models.side(nil, "it takes successes of a model under two strategies, in all of its regimes")
	}
	_, most := models.ends()
	return models.side(models.sides[most].value.Value, "over the strategies of "+models.names[most])
}

// ofNamed returns the cells of all models that are no controls, those that have
// all of the figure's regimes.
func (e *estimator) ofNamed(strategy string) []map[int]*episodeTally {
	var cells []map[int]*episodeTally
	for _, model := range e.c.named() {
		cells = append(cells, e.as(model, strategy).walks(strategy)...)
	}
	return cells
}

// deathsWithin is the share of deaths that came within the figure's steps.
func (e *estimator) deathsWithin() ourSide {
	o := e.sums(units(e.ofNamed(e.f.Strategy), progressOfEpisodes, func(seed []*episodeTally) []term {
		var p pair
		for _, t := range seed {
			for i := range t.walks {
				if k := &t.walks[i]; k.end == endDeath {
					p.plus(pair{index(k.steps <= e.f.Steps), 1})
				}
			}
		}
		return []term{termOf(p)}
	}), func(sums []term) *float64 { return sums[0].value() }, &shares)
	if o.value.Value != nil {
		o.note = "the paper gives the steps and no share, so that the two have no difference"
	}
	return o
}

// f1OfStaleDeaths is F1 of the audits of episodes that died on a cell whose entry
// was stale.
func (e *estimator) f1OfStaleDeaths() ourSide {
	return e.sums(units(e.ofNamed(e.f.Strategy), progressOfEpisodes, func(seed []*episodeTally) []term {
		var sum term
		for _, t := range seed {
			for _, k := range t.inOrder() {
				if f1 := k.audits.f1(); k.onStale && k.audits.asked {
					sum = together([]term{sum, one(f1)})
				}
			}
		}
		return []term{sum}
	}), func(sums []term) *float64 { return sums[0].value() }, &shares)
}

// correlation is that of F1 of an agent's own audits with its success, seed by
// seed, as the figure of them has it.
func (e *estimator) correlation(of func(x, y []float64) stats.CorrelationResult) ourSide {
	var o ourSide
	whole := make(map[int]*episodeTally)
	for _, seeds := range e.walks(e.f.Strategy) {
		o.planned = len(seeds)
		for seed, t := range seeds {
			if t.lost() == 0 {
				whole[seed] = t
			}
		}
	}
	o.whole = len(whole)
	if o.whole == 0 {
		return o.explained()
	}
	a := associate(whole, func(k *walk) *float64 { return k.audits.f1() }, func(k *walk) float64 { return float64(index(k.end == endSuccess)) })
	r := of(a.x, a.y)
	o.value = Cell{Value: r.R, N: r.N, Undefined: a.undefined}
	o.interval = intervalCell(r.Interval, nil)
	if r.R == nil {
		o.note = "F1 or success does not vary, or there are too few seeds"
	}
	return o
}

// noteOtherLake says why a trace can only be looked at.
const noteOtherLake = "the seed’s lake is not the paper’s"

func noteNoSeed(f *figure) string { return "the run has no seed " + f.seedName() }

// traceStale is the number of stale entries of the trace's seed.
func (e *estimator) traceStale() ourSide {
	for _, regime := range e.f.Regimes {
		if w := e.c.instances[instanceKey{regime, publishedSide, publishedSide, e.f.Seed}]; w != nil {
			return ourSide{value: Cell{Value: new(float64(w.atEnd))}, note: noteOtherLake}
		}
	}
	return ourSide{note: noteNoSeed(e.f)}
}

// trace is how the first episode of the trace's seed ended.
func (e *estimator) trace() ourSide {
	for _, seeds := range e.walks(e.f.Strategy) {
		t := seeds[e.f.Seed]
		if t == nil {
			continue
		}
		o := ourSide{planned: 1, whole: index(t.lost() == 0), note: noWhole}
		if o.whole == 1 {
			k := t.inOrder()[0]
			o.said, o.note = traced(ends[k.end], k.steps), noteOtherLake
		}
		return o
	}
	return ourSide{note: noteNoSeed(e.f)}
}
