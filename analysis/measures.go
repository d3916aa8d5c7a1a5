package analysis

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

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
