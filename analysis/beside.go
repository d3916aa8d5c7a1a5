package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/stats"
)

// besidePaper computes our figures beside the paper's, each once.
type besidePaper struct {
	whole *Collector
	known map[*figure]ourSide
	left  map[int]*Collector // by the seed that is left out
}

// An ourSide is what stands beside a published figure.
type ourSide struct {
	value, interval Cell
}

// smooth are the measures that a jackknife suits, which are sums over seeds and
// what is made of them; extremes and constants are none.
func smooth(measure string) bool {
	switch measure {
	case "stale-share-least", "stale-share-most", "step-budget", "reward-success", "reward-death", "reward-timeout", "success-greatest":
		return false
	case "refusals", "hedging", "certain": // replies are not kept by seed
		return false
	}
	return true
}

func (b *besidePaper) of(f *figure) ourSide {
	if o, ok := b.known[f]; ok {
		return o
	}
	var o ourSide
	if m := measures[f.Measure]; m.ours != nil {
		o.value = m.ours(b.whole, f)
		o.value.Decimals = m.decimals
		if m.decimals == 0 {
			o.value.Decimals = -1
		}
		o.interval = b.jackknife(f, &m, o.value.Value)
		o.interval.Decimals = o.value.Decimals
	}
	b.known[f] = o
	return o
}

func (b *besidePaper) interval(f *figure) Cell { return b.of(f).interval }

// jackknife leaves out one seed at a time. A seed without which there is no
// value at all leaves no interval.
func (b *besidePaper) jackknife(f *figure, m *measure, value *float64) Cell {
	if value == nil || !smooth(f.Measure) {
		return Cell{}
	}
	var left []float64
	for _, seed := range b.whole.seedsBeside(f) {
		v := m.ours(b.without(seed), f).Value
		if v == nil {
			return Cell{}
		}
		left = append(left, *v)
	}
	r := sure(stats.Jackknife(*value, left, stats.JackknifeOptions{}))
	cell := Cell{Level: 0.95, Method: r.Method, N: r.N, Warnings: r.Warnings}
	if r.Interval != nil {
		cell.Low, cell.High = &r.Interval.Low, &r.Interval.High
	}
	return cell
}

// seedsBeside returns the seeds that a figure's model has trials of, and for one of
// the lakes alone all seeds, in ascending order.
func (c *Collector) seedsBeside(f *figure) []int {
	seeds := make(map[int]bool)
	if f.Model == "" {
		for k := range c.instances {
			if f.isOf(k.regime) {
				seeds[k.seed] = true
			}
		}
	}
	for s, by := range c.detection {
		if f.of(s.model) {
			for seed := range by {
				seeds[seed] = true
			}
		}
	}
	for s, by := range c.episodes {
		if f.of(s.model) {
			for seed := range by {
				seeds[seed] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seeds))
}

// without returns a view of the run that lacks one seed.
func (b *besidePaper) without(seed int) *Collector {
	if c := b.left[seed]; c != nil {
		return c
	}
	c := *b.whole
	c.instances = maps.Clone(c.instances)
	maps.DeleteFunc(c.instances, func(k instanceKey, _ *world) bool { return k.seed == seed })
	c.detection = b.whole.detection.without(seed)
	c.episodes = b.whole.episodes.without(seed)
	if b.left == nil {
		b.left = make(map[int]*Collector)
	}
	b.left[seed] = &c
	return &c
}

func (g groups[T]) without(seed int) groups[T] {
	out := make(groups[T], len(g))
	for s, seeds := range g {
		some := maps.Clone(seeds)
		delete(some, seed)
		if len(some) > 0 {
			out[s] = some
		}
	}
	return out
}

// distance is ours less the published value; there is none from a bound or a
// range.
func (f *figure) distance(ours Cell) Cell {
	if ours.Value == nil || f.Value == nil || f.Relation != "" && f.Relation != "about" {
		return Cell{}
	}
	return Cell{Value: new(*ours.Value - *f.Value), Decimals: ours.Decimals}
}

// verdict says whether a published value lies in our interval, or ours keeps to
// a published bound; nothing where that cannot be told.
func (f *figure) verdict(ours, interval Cell) Cell {
	if ours.Value == nil || f.Value == nil {
		return Cell{}
	}
	said := func(yes bool) Cell {
		if yes {
			return Cell{Label: "yes"}
		}
		return Cell{Label: "no"}
	}
	v := *ours.Value
	switch f.Relation {
	case "above":
		return said(v > *f.Value)
	case "below":
		return said(v < *f.Value)
	case "at most":
		return said(v <= *f.Value)
	case "up to":
		return said(*f.Value <= v && f.High != nil && v <= *f.High)
	}
	if interval.Low == nil {
		return Cell{}
	}
	return said(*interval.Low <= *f.Value && *f.Value <= *interval.High)
}
