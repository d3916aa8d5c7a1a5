package instance

import (
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
)

// The paper's numbers for 64 cells (section 3.4, appendix A); scaled turns
// them into those of a larger or smaller lake. The ranges of accepted stale
// cells are ours, to hold the shares that the paper published.
const (
	spotsMin, spotsMax           = 5, 7
	clustersMin, clustersMax     = 2, 3
	clusterRadius                = 2 // cells, Manhattan; the same on every lake
	clusterDraws, clusterDrawMax = 12, 16
	clusterStale, clusterStaleMx = 7, 11
	eventChances                 = 9 // moments at which an event may come
	eventChance                  = 0.7
	eventDraws                   = 2
	onlineStale, onlineStaleMax  = 5, 14
)

// scaled turns a count for the paper's 64 cells into one for the grid's,
// rounded to the nearest, halves up, and at least 1.
func scaled(n int, g *lake.Grid) int {
	return max(1, (2*n*g.NumCells()+64)/128)
}

// cutsRoute reports whether making p a hole cuts every route from the start to
// the goal.
func cutsRoute(g *lake.Grid, p lake.Pos) bool {
	after := *g
	after.SetHole(p, true)
	return !after.Solvable()
}

// tryFlip flips the cell on g when it may be: it is neither the start nor the
// goal, it is not taken, and a route is left.
func tryFlip(g *lake.Grid, p lake.Pos, taken *lake.Grid) (Flip, bool) {
	if p == g.Start() || p == g.Goal() || taken.IsHole(p) {
		return Flip{}, false
	}
	f := Flip{Pos: p, Hole: !g.IsHole(p)}
	if f.Hole && cutsRoute(g, p) {
		return Flip{}, false
	}
	f.Apply(g)
	taken.SetHole(p, true)
	return f, true
}

// noneTaken returns a grid that serves as an empty set of cells.
func noneTaken(g *lake.Grid) lake.Grid {
	set, _ := lake.New(g.NumRows(), g.NumCols()) // the size is a grid's own
	return set
}

func drawCell(r *Rand, g *lake.Grid) lake.Pos {
	i := r.IntN(g.NumCells())
	return lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()}
}

// drawSpots is L1: 5 to 7 cells, each redrawn until its flip counts.
func drawSpots(r *Rand, g lake.Grid) ([]Flip, error) {
	want := scaled(r.Between(spotsMin, spotsMax), &g)
	taken := noneTaken(&g)
	flips := make([]Flip, 0, want)
	for range maxTries {
		if len(flips) == want {
			return flips, nil
		}
		if f, ok := tryFlip(&g, drawCell(r, &g), &taken); ok {
			flips = append(flips, f)
		}
	}
	return nil, fmt.Errorf("%w: %d of %d cells changed in %d draws", ErrTries, len(flips), want, maxTries)
}

// drawClusters is L2: 12 to 16 draws, with replacement, from the union of 2 or
// 3 neighbourhoods; everything is redrawn until 7 to 11 cells are stale.
func drawClusters(r *Rand, g lake.Grid) ([]Flip, error) {
	least, most := scaled(clusterStale, &g), scaled(clusterStaleMx, &g)
	for range maxTries {
		union := clusterCells(r, &g, scaled(r.Between(clustersMin, clustersMax), &g))
		draws := scaled(r.Between(clusterDraws, clusterDrawMax), &g)
		after, taken := g, noneTaken(&g)
		flips := make([]Flip, 0, draws)
		for range draws {
			if f, ok := tryFlip(&after, union[r.IntN(len(union))], &taken); ok {
				flips = append(flips, f)
			}
		}
		if n := len(flips); least <= n && n <= most {
			return flips, nil
		}
	}
	return nil, fmt.Errorf("%w: no clusters with %d to %d stale cells in %d tries", ErrTries, least, most, maxTries)
}

// clusterCells draws distinct centres, uniform over the cells that are neither
// start nor goal, and returns the cells of their neighbourhoods without start
// and goal, in row-major order.
func clusterCells(r *Rand, g *lake.Grid, clusters int) []lake.Pos {
	centres := make(map[lake.Pos]bool, clusters)
	union := noneTaken(g)
	for len(centres) < clusters {
		c := drawCell(r, g)
		if c == g.Start() || c == g.Goal() || centres[c] {
			continue
		}
		centres[c] = true
		for dr := -clusterRadius; dr <= clusterRadius; dr++ {
			for dc := -clusterRadius; dc <= clusterRadius; dc++ {
				if p := (lake.Pos{Row: c.Row + dr, Col: c.Col + dc}); c.Manhattan(p) <= clusterRadius {
					union.SetHole(p, true)
				}
			}
		}
	}
	var cells []lake.Pos
	for row := range g.NumRows() {
		for col := range g.NumCols() {
			if p := (lake.Pos{Row: row, Col: col}); union.IsHole(p) {
				cells = append(cells, p)
			}
		}
	}
	return cells
}

// EventSteps returns the moves after which an L3 event may come: the tenths of
// the step budget but the last, 5, 10, … 45 on the paper's lake.
func EventSteps(g *lake.Grid) []int {
	budget := g.StepBudget()
	steps := make([]int, eventChances)
	for i := range steps {
		steps[i] = ((i+1)*budget + 5) / 10
	}
	return steps
}

// drawSchedule is L3: at each moment, with probability 0.7, an event of 2
// draws; the schedule is redrawn until 5 to 14 cells are stale at its end. A
// later event may flip a cell back.
func drawSchedule(r *Rand, original lake.Grid) ([]Event, error) {
	least, most := scaled(onlineStale, &original), scaled(onlineStaleMax, &original)
	for range maxTries {
		g := original
		var events []Event
		for _, step := range EventSteps(&g) {
			if !r.Chance(eventChance) {
				continue
			}
			e := Event{Step: step}
			taken := noneTaken(&g)
			for range scaled(eventDraws, &g) {
				if f, ok := tryFlip(&g, drawCell(r, &g), &taken); ok {
					e.Flips = append(e.Flips, f)
				}
			}
			if len(e.Flips) > 0 {
				events = append(events, e)
			}
		}
		if n := NumStale(&original, &g); least <= n && n <= most {
			return events, nil
		}
	}
	return nil, fmt.Errorf("%w: no schedule with %d to %d stale cells in %d tries", ErrTries, least, most, maxTries)
}

// NumStale counts the cells whose hazard differs between two grids of one
// size: the stale entries of a memory of the first (section 3.3).
func NumStale(before, after *lake.Grid) int {
	n := 0
	for row := range before.NumRows() {
		for col := range before.NumCols() {
			p := lake.Pos{Row: row, Col: col}
			if before.IsHole(p) != after.IsHole(p) {
				n++
			}
		}
	}
	return n
}
