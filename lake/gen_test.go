package lake_test

import (
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"pgregory.net/rapid"
)

// drawGrid draws a grid of any size, with extra weight on the sizes where bit
// tricks go wrong (8x8 and its neighbours, 64 columns), and with few, some or
// many holes.
func drawGrid(t *rapid.T) lake.Grid {
	side := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 60), func(n int) int { return lake.MinSide + n*37%61 }),
		rapid.SampledFrom([]int{8, lake.MaxSide, 7, 9, 63, lake.MinSide}),
	)
	g, err := lake.New(side.Draw(t, "rows"), side.Draw(t, "cols"))
	if err != nil {
		t.Fatal(err)
	}
	thin := rapid.IntRange(0, 3).Draw(t, "thinnings") // holes: 1/2, 1/4, 1/8, 1/16
	for r := range g.NumRows() {
		mask := drawWord(t)
		for range thin {
			mask &= drawWord(t)
		}
		g.SetHoles(r, mask)
	}
	return g
}

// drawWord draws 64 bits. Rapid prefers small numbers, which would leave the
// right columns without holes; a product spreads them.
func drawWord(t *rapid.T) uint64 {
	return rapid.Uint64().Draw(t, "bits") * 0x9E3779B97F4A7C15
}

// drawPos draws a cell of g.
func drawPos(t *rapid.T, g *lake.Grid, label string) lake.Pos {
	return lake.Pos{
		Row: rapid.IntRange(0, 1<<16).Draw(t, label+" row") * 37 % g.NumRows(),
		Col: rapid.IntRange(0, 1<<16).Draw(t, label+" col") * 37 % g.NumCols(),
	}
}

// mustParse returns the grid with the given rows.
func mustParse(t testing.TB, rows ...string) lake.Grid {
	t.Helper()
	g, err := lake.Parse(rows)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// plainDistances is the oracle of the route checks: a breadth-first search
// over the letters of the grid that shares no code with the package. It gives
// the moves from each cell to the destination, -1 without a route.
func plainDistances(rows []string, to lake.Pos) [][]int {
	dist := make([][]int, len(rows))
	for r := range dist {
		dist[r] = make([]int, len(rows[r]))
		for c := range dist[r] {
			dist[r][c] = -1
		}
	}
	if rows[to.Row][to.Col] == 'H' {
		return dist
	}
	dist[to.Row][to.Col] = 0
	type cell struct{ r, c int }
	for queue := []cell{{to.Row, to.Col}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, next := range []cell{{at.r - 1, at.c}, {at.r + 1, at.c}, {at.r, at.c - 1}, {at.r, at.c + 1}} {
			if next.r < 0 || next.r >= len(rows) || next.c < 0 || next.c >= len(rows[0]) {
				continue
			}
			if rows[next.r][next.c] != 'H' && dist[next.r][next.c] < 0 {
				dist[next.r][next.c] = dist[at.r][at.c] + 1
				queue = append(queue, next)
			}
		}
	}
	return dist
}
