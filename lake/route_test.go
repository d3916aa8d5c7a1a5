package lake_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"pgregory.net/rapid"
)

// If the word-wise flood lost or leaked a single cell, generation would accept
// lakes without a route or reject lakes that have one.
func TestConnectedAgreesWithPlainSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		from, to := drawPos(t, &g, "from"), drawPos(t, &g, "to")
		rows := g.Rows()
		want := rows[from.Row][from.Col] != 'H' && plainDistances(rows, to)[from.Row][from.Col] >= 0
		if got := g.Connected(from, to); got != want {
			t.Fatalf("Connected(%v, %v) = %t, want %t on\n%s", from, to, got, want, g.String())
		}
		want = plainDistances(rows, g.Goal())[0][0] >= 0
		if got := g.Solvable(); got != want {
			t.Fatalf("Solvable() = %t, want %t on\n%s", got, want, g.String())
		}
	})
}

func TestDistancesAgreeWithPlainSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		to := drawPos(t, &g, "to")
		want := plainDistances(g.Rows(), to)
		for i, got := range g.Distances(to) {
			p := lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()}
			if got != want[p.Row][p.Col] {
				t.Fatalf("distance from %v to %v is %d, want %d on\n%s", p, to, got, want[p.Row][p.Col], g.String())
			}
		}
	})
}

// The first step must be a shortest one, from a hole too, and ties must fall
// in the documented order: reference agents replay only if it never changes.
func TestRouteStepIsTheFirstShortestInOrder(t *testing.T) {
	order := []lake.Action{lake.Down, lake.Right, lake.Up, lake.Left}
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		from, to := drawPos(t, &g, "from"), drawPos(t, &g, "to")
		dist := plainDistances(g.Rows(), to)
		var want lake.Action
		nearest := -1
		for _, a := range order {
			q := from.Toward(a)
			if !g.Contains(q) {
				continue
			}
			if d := dist[q.Row][q.Col]; d >= 0 && (nearest < 0 || d < nearest) {
				want, nearest = a, d
			}
		}
		wantFound := nearest >= 0 && from != to
		got, found := g.RouteStep(from, to)
		if found != wantFound || found && got != want {
			t.Fatalf("RouteStep(%v, %v) = %v, %t; want %v, %t on\n%s", from, to, got, found, want, wantFound, g.String())
		}
	})
}

// A maze whose only route runs through every lane from end to end is the worst
// case of a flood by rows.
func TestLongestRoutes(t *testing.T) {
	for _, size := range [][2]int{{5, 5}, {5, 8}, {9, 9}, {33, 7}, {21, 64}} {
		across := snake(size[0], size[1])
		for _, rows := range [][]string{across, transpose(across)} {
			g := mustParse(t, rows...)
			lanes := (size[0] + 1) / 2
			want := lanes*(size[1]-1) + size[0] - 1
			if !g.Solvable() {
				t.Errorf("not solvable:\n%s", g.String())
				continue
			}
			if got := g.Distances(g.Goal())[0]; got != want {
				t.Errorf("%d moves from start to goal, want %d:\n%s", got, want, g.String())
			}
			if got := walk(&g); got != want {
				t.Errorf("RouteStep walks %d moves, want %d:\n%s", got, want, g.String())
			}
			g.SetHole(lake.Pos{Row: g.NumRows() / 2 &^ 1, Col: g.NumCols() / 2 &^ 1}, true)
			if g.Solvable() {
				t.Errorf("solvable though its lane is cut:\n%s", g.String())
			}
			if a, ok := g.RouteStep(g.Start(), g.Goal()); ok {
				t.Errorf("RouteStep goes %v though the lane is cut:\n%s", a, g.String())
			}
		}
	}
}

// snake returns a maze with one route: even rows are open lanes, odd rows are
// holes but for one end, right and left in turn. The number of rows is 4k+1,
// so that the last lane ends at the goal.
func snake(rows, cols int) []string {
	maze := make([]string, rows)
	for r := range maze {
		switch r % 4 {
		case 1:
			maze[r] = strings.Repeat("H", cols-1) + "F"
		case 3:
			maze[r] = "F" + strings.Repeat("H", cols-1)
		default:
			maze[r] = strings.Repeat("F", cols)
		}
	}
	maze[0] = "S" + maze[0][1:]
	maze[rows-1] = maze[rows-1][:cols-1] + "G"
	return maze
}

func transpose(rows []string) []string {
	out := make([]string, len(rows[0]))
	for c := range out {
		line := make([]byte, len(rows))
		for r := range rows {
			line[r] = rows[r][c]
		}
		out[c] = string(line)
	}
	return out
}

// walk follows RouteStep from start to goal and returns the moves it took, -1
// when it stops or does not end.
func walk(g *lake.Grid) int {
	p := g.Start()
	for n := 0; n <= g.NumCells(); n++ {
		if p == g.Goal() {
			return n
		}
		a, ok := g.RouteStep(p, g.Goal())
		if !ok {
			return -1
		}
		p = g.Move(p, a)
	}
	return -1
}

// Positions off the grid come from other people's files; route checks answer
// them instead of failing.
func TestRoutesOffTheGrid(t *testing.T) {
	g := mustParse(t, "SFFF", "FFFF", "FFFF", "FFFG")
	for _, p := range []lake.Pos{{Row: -1, Col: 0}, {Row: 0, Col: -1}, {Row: 4, Col: 0}, {Row: 0, Col: 4}, {Row: 64, Col: 64}} {
		if g.Connected(p, g.Goal()) || g.Connected(g.Start(), p) {
			t.Errorf("%v is connected with the grid", p)
		}
		if _, ok := g.RouteStep(p, g.Goal()); ok {
			t.Errorf("a route starts at %v", p)
		}
		if _, ok := g.RouteStep(g.Start(), p); ok {
			t.Errorf("a route leads to %v", p)
		}
		for i, d := range g.Distances(p) {
			if d != lake.Unreachable {
				t.Errorf("cell %d is %d moves from %v", i, d, p)
			}
		}
	}
	var none lake.Grid
	if none.Solvable() {
		t.Error("the zero grid is solvable")
	}
}

func TestRouteStepDoesNotAllocate(t *testing.T) {
	for _, side := range []int{8, 64} {
		g, err := lake.New(side, side)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { g.RouteStep(g.Start(), g.Goal()) }); n != 0 {
			t.Errorf("side %d: %v allocations a step, want none", side, n)
		}
		if n := testing.AllocsPerRun(10, func() { g.Solvable() }); n != 0 {
			t.Errorf("side %d: %v allocations a check, want none", side, n)
		}
	}
}
