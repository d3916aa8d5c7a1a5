package lake

// Connected reports whether a walk over cells that are not holes leads from
// one position to the other. Neither may be a hole.
//
// It floods whole rows at a time: a row's reachable set is one word, and
// sweeps down and up repeat until nothing is added. Reached sets are closed
// under sideways steps, so a row is spread again only when its neighbour brings
// it a new cell. A cell-by-cell queue was 20 times slower on 64x64, where
// generation and change schedules spend their time here.
func (g *Grid) Connected(from, to Pos) bool {
	if !g.Contains(from) || !g.Contains(to) || g.IsHole(from) || g.IsHole(to) {
		return false
	}
	if g.rows <= packedSide && g.cols <= packedSide {
		return g.connectedPacked(from, to)
	}
	var reach [MaxSide]uint64
	mask := g.rowMask()
	target := uint64(1) << uint(to.Col)
	reach[from.Row] = spread(1<<uint(from.Col), ^g.holes[from.Row]&mask)
	for grew := true; grew; {
		if reach[to.Row]&target != 0 {
			return true
		}
		grew = false
		above := uint64(0)
		for r := 0; r < g.rows; r++ {
			open := ^g.holes[r] & mask
			if fresh := above & open &^ reach[r]; fresh != 0 {
				reach[r] |= spread(fresh, open)
				grew = true
			}
			above = reach[r]
		}
		if reach[to.Row]&target != 0 {
			return true
		}
		below := uint64(0)
		for r := g.rows - 1; r >= 0; r-- {
			open := ^g.holes[r] & mask
			if fresh := below & open &^ reach[r]; fresh != 0 {
				reach[r] |= spread(fresh, open)
				grew = true
			}
			below = reach[r]
		}
	}
	return false
}

// spread returns every cell of a row that a run of open cells joins to a seed.
// Seeds must be open.
func spread(seed, open uint64) uint64 {
	// Adding the seeds to the open cells carries through each run from its
	// lowest seed to its upper end; what changed, within open, is that stretch.
	fill := open&^(open+seed) | seed
	// Toward the low end the same is done by doubling steps over open runs: bit
	// i of run says that the next shift cells from i on are open.
	run := open
	fill |= run & (fill >> 1)
	run &= run >> 1
	fill |= run & (fill >> 2)
	run &= run >> 2
	fill |= run & (fill >> 4)
	run &= run >> 4
	for shift := uint(8); run != 0; shift <<= 1 {
		fill |= run & (fill >> shift)
		run &= run >> shift
	}
	return fill
}

// packedSide is the longest side of a grid that fits one word, eight bits a
// row.
const packedSide = 8

// connectedPacked is Connected on a grid that fits one word. Both ends flood
// outward a step at a time until they meet or one of them stops growing.
func (g *Grid) connectedPacked(from, to Pos) bool {
	open := uint64(0)
	mask := g.rowMask()
	for r := g.rows - 1; r >= 0; r-- {
		open = open<<packedSide | ^g.holes[r]&mask
	}
	a := uint64(1) << uint(from.Row*packedSide+from.Col)
	b := uint64(1) << uint(to.Row*packedSide+to.Col)
	for {
		if a&b != 0 {
			return true
		}
		nextA, nextB := grow(a)&open, grow(b)&open
		if nextA == a || nextB == b {
			return false
		}
		a, b = nextA, nextB
	}
}

// grow adds to a packed set the neighbours of its cells.
func grow(set uint64) uint64 {
	const (
		leftmost  = 0x0101010101010101
		rightmost = leftmost << (packedSide - 1)
	)
	return set | set<<packedSide | set>>packedSide | set&^rightmost<<1 | set&^leftmost>>1
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
//
// It floods outward from the destination, all rows a step at a time, until the
// flood touches a neighbour of the starting cell; Distances would visit the
// whole grid and allocate.
func (g *Grid) RouteStep(from, to Pos) (Action, bool) {
	if from == to || !g.Contains(from) || !g.Contains(to) || g.IsHole(to) {
		return 0, false
	}
	var beside [4]struct {
		row int
		bit uint64 // 0 off the grid
	}
	for i, a := range routeOrder {
		if q := from.Toward(a); g.Contains(q) {
			beside[i].row, beside[i].bit = q.Row, 1<<uint(q.Col)
		}
	}
	var flood [MaxSide + 2]uint64 // row r at r+1, between two rows that stay empty
	mask := g.rowMask()
	flood[to.Row+1] = 1 << uint(to.Col)
	first, last := to.Row, to.Row // rows that the flood has touched
	for {
		for i, n := range beside {
			if flood[n.row+1]&n.bit != 0 {
				return routeOrder[i], true
			}
		}
		first, last = max(first-1, 0), min(last+1, g.rows-1)
		grew, above := false, uint64(0)
		for r := first; r <= last; r++ {
			row := flood[r+1]
			next := row | (row<<1|row>>1|above|flood[r+2])&^g.holes[r]&mask
			grew = grew || next != row
			flood[r+1] = next
			above = row
		}
		if !grew {
			return 0, false
		}
	}
}
