package observe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"pgregory.net/rapid"
)

// paperLake is an 8x8 lake with about a quarter of its cells holes.
func paperLake(t testing.TB) lake.Grid {
	return mustParse(t,
		"SFFFHFFF",
		"FFHFFFFF",
		"FFFHFFHF",
		"HFFFFHFF",
		"FFFHFFFF",
		"FHHFFFHF",
		"FHFFHFHF",
		"FFFHFFFG",
	)
}

func mustParse(t testing.TB, rows ...string) lake.Grid {
	t.Helper()
	g, err := lake.Parse(rows)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// patterned returns a grid of the given size whose holes follow a rule, so that
// golden files need no generator.
func patterned(t testing.TB, rows, cols int) lake.Grid {
	t.Helper()
	g, err := lake.New(rows, cols)
	if err != nil {
		t.Fatal(err)
	}
	for r := range rows {
		for c := range cols {
			g.SetHole(lake.Pos{Row: r, Col: c}, (r*7+c*11+r*c)%5 == 0)
		}
	}
	return g
}

// drawState draws a state of any size from 4 to most cells a side, seen whole
// or in part. Rapid prefers small numbers, which would leave large grids and
// holes at the right out, so its numbers are spread.
func drawState(t *rapid.T, most int) observe.State {
	side := rapid.Custom(func(t *rapid.T) int {
		return lake.MinSide + rapid.IntRange(0, most-lake.MinSide).Draw(t, "n")*37%(most-lake.MinSide+1)
	})
	g, err := lake.New(side.Draw(t, "rows"), side.Draw(t, "cols"))
	if err != nil {
		t.Fatal(err)
	}
	for r := range g.NumRows() {
		g.SetHoles(r, rapid.Uint64().Draw(t, "holes")*0x9E3779B97F4A7C15)
	}
	return observe.State{
		Grid: g,
		Agent: lake.Pos{
			Row: rapid.IntRange(0, 1<<16).Draw(t, "agent row") * 37 % g.NumRows(),
			Col: rapid.IntRange(0, 1<<16).Draw(t, "agent col") * 37 % g.NumCols(),
		},
		Radius: rapid.SampledFrom([]int{0, 2, 0, 1, 5, 40, 200}).Draw(t, "radius"),
	}
}

// plainListing is the oracle of listings: what the paper's example shows, to the
// letter, for whatever a scene shows.
func plainListing(s *observe.Scene) string {
	var out strings.Builder
	for r, row := range s.Grid.Rows() {
		fmt.Fprintf(&out, "Row %d:", r)
		for c, letter := range row {
			if s.Unseen[r]>>c&1 != 0 {
				letter = '?'
			}
			fmt.Fprintf(&out, " (%d,%d)=%c", r, c, letter)
		}
		out.WriteString("\n")
	}
	return out.String()
}
