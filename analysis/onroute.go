package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A routeTally counts audits by where the entries' cells lie. On the route: on
// a shortest way from S to G, on the lake as it was remembered or as it was when
// the audit looked. Both are fixed before the agent has walked: where it went
// says nothing about which cells count.
type routeTally struct {
	recall [2][2]pair // stale entries flagged, by whether on the route (1) and by claim
	wrong  [2]pair    // valid entries flagged, by whether on the route
	beside pair       // stale entries flagged, of those whose cell the walk entered or came beside
}

func (r *routeTally) plus(o *routeTally) {
	for on := range r.recall {
		for claim := range r.recall[on] {
			r.recall[on][claim].plus(o.recall[on][claim])
		}
		r.wrong[on].plus(o.wrong[on])
	}
	r.beside.plus(o.beside)
}

// stale returns the stale entries that were flagged, of how many, on the route
// or off it.
func (r *routeTally) stale(on int) pair {
	p := r.recall[on][saysSafe]
	p.plus(r.recall[on][saysDanger])
	return p
}

// thaw is the same of SAFE entries alone, wherever they lie.
func (r *routeTally) thaw() pair {
	p := r.recall[0][saysSafe]
	p.plus(r.recall[1][saysSafe])
	return p
}

// auditedRoute counts a trial's audits. Without the instance it is not known where
// its entries lie, and nothing is counted.
func auditedRoute(t *record.Trial, w *world) routeTally {
	var r routeTally
	if w == nil || len(t.Windows) == 0 {
		return r
	}
	touched := closeTo(t)
	lakes := newReplay(w, t)
	for i := range t.Windows {
		win := &t.Windows[i]
		now := lakes.at(win.Step)
		route := w.route
		route.join(shortest(now))
		for k := range win.Judgments {
			j := &win.Judgments[k]
			claim, ok := claimOf(j.Claim)
			if !ok {
				continue
			}
			on, one := index(route.has(j.Pos)), pair{index(j.Verdict == record.Stale), 1}
			switch {
			case !j.Truth:
				r.wrong[on].plus(one)
			default:
				r.recall[on][claim].plus(one)
				if touched.has(j.Pos) {
					r.beside.plus(one)
				}
			}
		}
	}
	return r
}

// closeTo returns the cells that an episode's agent stood on or came beside.
func closeTo(t *record.Trial) (set cellSet) {
	for i := range t.Steps {
		for _, p := range []record.Pos{t.Steps[i].Pos, t.Steps[i].Next} {
			for _, d := range [5][2]int{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
				set.add(record.Pos{p[0] + d[0], p[1] + d[1]})
			}
		}
	}
	return set
}

// shortest returns the cells that lie on any of the shortest ways from S to G;
// none when there is no way.
func shortest(g *lake.Grid) (set cellSet) {
	fromStart, toGoal := g.Distances(g.Start()), g.Distances(g.Goal())
	length := toGoal[0]
	if length < 0 {
		return set
	}
	for i, d := range fromStart {
		if d >= 0 && toGoal[i] >= 0 && d+toGoal[i] == length {
			set.add(record.Pos{i / g.NumCols(), i % g.NumCols()})
		}
	}
	return set
}

// has reports whether a cell is in the set.
func (s *cellSet) has(p record.Pos) bool {
	return uint(p[0]) < 64 && uint(p[1]) < 64 && s[p[0]]>>p[1]&1 != 0
}

// join adds the cells of another set.
func (s *cellSet) join(o cellSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// RouteRecall tells whether the stale entries that matter are found: those
// about cells on a shortest way.
func (c *Collector) RouteRecall() Table {
	groups := c.detection.sorted(nil, c.byModelRegimeModality)
	groups = slices.DeleteFunc(groups, func(g *detectionGroup) bool {
		sum := routeSum(g)
		return sum.stale(0).of+sum.stale(1).of == 0
	})
	t := Table{
		ID:    "route-recall",
		Title: "Recall where it matters: stale entries on the way",
		About: "On the way: the cell lies on a shortest way from S to G, on the lake as it was remembered or as it is now; the agent’s own walk plays no part. A model that finds most stale entries and misses those on the way has a high F1 and a dead agent.",
		Need:  "detections and their instances: spatialstale run --task detect",
	}
	short := c.modelNames()
	const recall, wrong = "recall", "valid entries flagged"
	mean := func(key, heading string, on int) definition[detectionGroup] {
		return definition[detectionGroup]{Column{Key: key, Heading: heading, Group: recall, Unit: "share of stale entries", Kind: Mean, Decimals: 3}, func(g *detectionGroup) Cell {
			var values []*float64
			for _, d := range g.seeds {
				if d.finished > 0 {
					values = append(values, quotient(d.route.stale(on).count, d.route.stale(on).of))
				}
			}
			return overSeeds(values)
		}}
	}
	share := func(key, heading, group, unit string, dataOnly bool, of func(*routeTally) pair) definition[detectionGroup] {
		return definition[detectionGroup]{Column{Key: key, Heading: heading, Group: group, Unit: unit, Kind: Share, Decimals: 3, Base: true, DataOnly: dataOnly}, func(g *detectionGroup) Cell {
			sum := routeSum(g)
			return of(&sum).cell()
		}}
	}
	defs := append(detectionLabels(groups, short), finishedSeeds()...)
	defs = append(defs,
		mean("recall_on", "on the way", 1),
		mean("recall_off", "elsewhere", 0),
		definition[detectionGroup]{Column{Key: "difference", Heading: "difference", Group: recall, Unit: "difference of shares", Kind: Paired, Decimals: 3}, func(g *detectionGroup) Cell {
			var pairs []SeedPair
			var values []*float64
			for _, seed := range slices.Sorted(maps.Keys(c.detection[g.setting])) {
				d := c.detection[g.setting][seed]
				if d.finished == 0 {
					continue
				}
				p := SeedPair{seed, quotient(d.route.stale(0).count, d.route.stale(0).of), quotient(d.route.stale(1).count, d.route.stale(1).of)}
				pairs, values = append(pairs, p), append(values, p.Difference())
			}
			cell := overSeeds(values)
			cell.Pairs = pairs
			return cell
		}},
		share("recall_on_thaw", "thaw on the way", recall, "share of such entries", false, func(r *routeTally) pair { return r.recall[1][saysSafe] }),
		share("recall_on_freeze", "freeze on the way", recall, "share of such entries", true, func(r *routeTally) pair { return r.recall[1][saysDanger] }),
		share("fpr_on", "on the way", wrong, "share of valid entries", false, func(r *routeTally) pair { return r.wrong[1] }),
		share("fpr_off", "elsewhere", wrong, "share of valid entries", false, func(r *routeTally) pair { return r.wrong[0] }),
		share("stale_on", "stale entries that lie on the way", "", "share of stale entries", false, func(r *routeTally) pair {
			on, off := r.stale(1), r.stale(0)
			return pair{on.of, on.of + off.of}
		}),
	)
	fill(&t, defs, groups)
	t.Notes = append([]string{noteSD}, undefinedNotes(&t, "–: undefined, which is not zero: no seed has such an entry.")...)
	t.Notes = append(t.Notes,
		"An entry without an answer counts as not flagged. Means are over seeds that have such an entry; thaw and valid entries are counted over all seeds together, in brackets, where there is room, out of how many.",
		"thaw on the way: SAFE entries about a hole that lies on a shortest way, most of them on the way that the memory shows.")
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// routeSum sums a group's audits over its seeds.
func routeSum(g *detectionGroup) routeTally {
	var sum routeTally
	for _, d := range g.seeds {
		sum.plus(&d.route)
	}
	return sum
}
