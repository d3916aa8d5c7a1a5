package lake

// Connected reports whether a walk over cells that are not holes leads from
// one position to the other. Neither may be a hole.
//
// It floods whole rows at a time: a row's reachable set is one word, spread
// sideways by carrying an addition through the open cells, and sweeps down and
// up repeat until nothing is added. A cell-by-cell queue was 20 times slower
// on 64x64, where generation and change schedules spend their time here.
func (g *Grid) Connected(from, to Pos) bool {
	if !g.Contains(from) || !g.Contains(to) || g.IsHole(from) || g.IsHole(to) {
		return false
	}
	var reach [MaxSide]uint64
	mask := g.rowMask()
	reach[from.Row] = 1 << uint(from.Col)
	target := uint64(1) << uint(to.Col)
	last := g.rows - 1
	for first := true; ; first = false {
		grew := first
		above := uint64(0)
		for r := range g.rows {
			if seed := reach[r] | above; seed != 0 {
				next := spread(seed, ^g.holes[r]&mask)
				grew = grew || next != reach[r]
				reach[r] = next
			}
			above = reach[r]
		}
		if reach[to.Row]&target != 0 {
			return true
		}
		if !grew {
			return false
		}
		grew = false
		below := uint64(0)
		for r := last; r >= 0; r-- {
			if seed := reach[r] | below; seed != 0 {
				next := spread(seed, ^g.holes[r]&mask)
				grew = grew || next != reach[r]
				reach[r] = next
			}
			below = reach[r]
		}
		if reach[to.Row]&target != 0 {
			return true
		}
		if !grew {
			return false
		}
	}
}

// spread returns every open cell of a row that a run of open cells joins to a
// seed. Seeds that are not open are dropped.
func spread(seed, open uint64) uint64 {
	seed &= open
	if seed == 0 {
		return 0
	}
	// Adding the seeds to the open cells carries through each run from its
	// lowest seed to its upper end; what changed, within open, is that stretch.
	up := open &^ (open + seed)
	up |= seed
	// Toward the low end the same is done by doubling steps over open runs.
	fill := up
	run := open
	for shift := uint(1); shift < 64; shift <<= 1 {
		fill |= run & (fill >> shift)
		run &= run >> shift
	}
	return fill
}

// Solvable reports whether the goal can be reached from the start.
func (g *Grid) Solvable() bool { return g.Connected(g.Start(), g.Goal()) }

// Unreachable is the distance that Distances gives to cells without a route.
const Unreachable = -1

// Distances returns, for each cell in row-major order, the length of a
// shortest route from it to the given cell over cells that are not holes, or
// Unreachable. The walk may begin anywhere, so a hole next to the route has no
// distance of its own.
func (g *Grid) Distances(to Pos) []int {
	dist := make([]int, g.NumCells())
	for i := range dist {
		dist[i] = Unreachable
	}
	if !g.Contains(to) || g.IsHole(to) {
		return dist
	}
	queue := make([]Pos, 1, len(dist))
	queue[0] = to
	dist[to.Row*g.cols+to.Col] = 0
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		d := dist[p.Row*g.cols+p.Col]
		for _, a := range Actions {
			q := p.Toward(a)
			if !g.Contains(q) || g.IsHole(q) {
				continue
			}
			if i := q.Row*g.cols + q.Col; dist[i] == Unreachable {
				dist[i] = d + 1
				queue = append(queue, q)
			}
		}
	}
	return dist
}

// routeOrder breaks ties between equally short routes.
var routeOrder = [4]Action{Down, Right, Up, Left}

// RouteStep returns the first action of a shortest route from one position to
// the other over cells that are not holes, with ties broken in the order DOWN,
// RIGHT, UP, LEFT, and false when there is no such route or the two are equal.
// The starting cell itself may be a hole.
func (g *Grid) RouteStep(from, to Pos) (Action, bool) {
	if from == to || !g.Contains(from) {
		return 0, false
	}
	dist := g.Distances(to)
	best, found := Action(0), false
	shortest := 0
	for _, a := range routeOrder {
		q := from.Toward(a)
		if !g.Contains(q) {
			continue
		}
		if d := dist[q.Row*g.cols+q.Col]; d != Unreachable && (!found || d < shortest) {
			best, shortest, found = a, d, true
		}
	}
	return best, found
}
