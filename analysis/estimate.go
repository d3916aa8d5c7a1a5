package analysis

import (
	"maps"
	"math"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

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
