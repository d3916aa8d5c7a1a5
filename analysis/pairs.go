package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A bound is the least and the most that a seed's value can be, every lost trial
// counted against it or for it. Both are nil where it is undefined, and the
// value itself where nothing is lost.
type bound struct{ least, most *float64 }

// excludes reports whether a value lies outside of the bounds, if there are any.
func (b bound) excludes(x float64) bool {
	return b.least != nil && (x < *b.least-roundingOnly || x > *b.most+roundingOnly)
}

// A seedValue is what one condition gives on one seed.
type seedValue struct {
	value *float64 // nil when it is undefined
	bound
	lost bool // some trial has no result: the value is in no test
}

// anyShare are the bounds of a rate or score of which nothing is known.
func anyShare() bound { return bound{new(0.0), new(1.0)} }

// value returns a measure of a detection that lies between 0 and 1.
func (d *detectionTally) value(of func(record.Counts) *float64) seedValue {
	if d.lost() > 0 {
		return seedValue{bound: anyShare(), lost: true}
	}
	v := of(d.counts)
	return seedValue{v, bound{v, v}, false}
}

// rate returns how often a seed's episodes came to an end.
func (e *episodeTally) rate(end int) seedValue {
	return seedValue{
		quotient(e.ends[end], e.finished),
		bound{quotient(e.ends[end], e.all()), quotient(e.ends[end]+e.lost(), e.all())},
		e.lost() > 0,
	}
}

// pairUp adds the readings of two conditions on one seed. Both must plan it. A
// seed that has lost a trial is in no test, but in the bounds.
func (p *paired) pairUp(seed int, a, b seedValue) {
	p.shared++
	if !a.lost && !b.lost {
		p.pairs = append(p.pairs, SeedPair{seed, a.value, b.value})
	}
	p.lossy = p.lossy || a.lost || b.lost
	if a.least != nil && b.least != nil {
		p.leasts = append(p.leasts, *b.least-*a.most)
		p.mosts = append(p.mosts, *b.most-*a.least)
	}
}

// pairSeeds pairs up every seed that two conditions share.
func pairSeeds[T any](p *paired, a, b map[int]*T, read func(*T) seedValue) {
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		if b[seed] != nil {
			p.pairUp(seed, read(a[seed]), read(b[seed]))
		}
	}
}

// ruledOut reports whether the mean difference of the whole seeds lies outside of
// what all shared seeds can give.
func (p *paired) ruledOut() bool {
	return len(p.differences) > 0 && p.bounds().excludes(stats.Mean(p.differences))
}

// ruledOutNotes say what it means that some differences are.
func ruledOutNotes(rows []*paired) []string {
	if !slices.ContainsFunc(rows, (*paired).ruledOut) {
		return nil
	}
	return []string{"A difference outside of what the lost trials could make of it is one that all planned seeds cannot give: the seeds without losses are not like the others."}
}

// bounds are the least and the most that the mean difference over all shared
// seeds can be; without numbers where nothing is lost.
func (p *paired) bounds() bound {
	if !p.lossy || len(p.leasts) == 0 {
		return bound{}
	}
	return bound{new(stats.Mean(p.leasts)), new(stats.Mean(p.mosts))}
}
