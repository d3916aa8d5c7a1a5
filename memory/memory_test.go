package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/memory"
)

// TestLines pins the paper's wording of entries (SPEC 2).
func TestLines(t *testing.T) {
	g, err := lake.Parse([]string{"SFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FHFFFFFF", "FFFFFFFF", "FFFFFFFG"})
	if err != nil {
		t.Fatal(err)
	}
	entries := memory.Take(1, &g)
	for i, want := range map[int]string{
		0:  "[mem_000] SAFE at (0,0): Start - safe to stand on",
		21: "[mem_021] SAFE at (2,5): Frozen ice - safe to walk",
		41: "[mem_041] DANGER at (5,1): Hole - dangerous, do not step",
		63: "[mem_063] SAFE at (7,7): Goal - safe, the place to reach",
	} {
		if got := entries[i].Line(); got != want {
			t.Errorf("entry %d is %q, want %q", i, got, want)
		}
	}
	if got := memory.Lines(entries[:2]); got != entries[0].Line()+"\n"+entries[1].Line()+"\n" {
		t.Errorf("Lines gives %q", got)
	}
}

// TestWidth would fail if ids of a large lake did not sort as text.
func TestWidth(t *testing.T) {
	for side, want := range map[int]string{4: "mem_015", 31: "mem_960", 32: "mem_1023", 64: "mem_4095"} {
		g, err := lake.New(side, side)
		if err != nil {
			t.Fatal(err)
		}
		entries := memory.Take(1, &g)
		if got := entries[len(entries)-1].ID; got != want {
			t.Errorf("the last id of %dx%d is %s, want %s", side, side, got, want)
		}
		if got := entries[1].ID; len(got) != len(want) {
			t.Errorf("ids of %dx%d have different widths: %s, %s", side, side, got, want)
		}
	}
}

// TestMemory checks on any lake: one entry a cell, in order, its claim the
// hazard of its cell; truth equals the hazard comparison after any changes;
// what was visited could be reached without leaving the lake's rules.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := instance.Config{Rows: rapid.IntRange(4, 20).Draw(t, "rows"), Cols: rapid.IntRange(4, 20).Draw(t, "cols")}
		seed := rapid.IntRange(0, 9999).Draw(t, "seed")
		in, err := instance.New(seed, rapid.SampledFrom(instance.Regimes).Draw(t, "regime"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		g := in.Original
		entries := memory.Take(seed, &g)
		if len(entries) != g.NumCells() {
			t.Fatalf("%d entries for %d cells", len(entries), g.NumCells())
		}
		ids := map[string]bool{}
		for i, e := range entries {
			if want := (lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()}); e.Pos != want || ids[e.ID] {
				t.Fatalf("entry %d is %s at %v", i, e.ID, e.Pos)
			}
			ids[e.ID] = true
			hole := g.IsHole(e.Pos)
			if (e.Claim == memory.Danger) != hole || !strings.HasPrefix(e.Text, fmt.Sprintf("%s at %v: ", e.Claim, e.Pos)) {
				t.Fatalf("entry %+v of cell %v", e, g.At(e.Pos))
			}
			if e.Visited && hole && !bordersVisited(entries, &g, e.Pos) {
				t.Fatalf("%v was visited from nowhere", e.Pos)
			}
		}
		if !entries[0].Visited {
			t.Fatal("the start was not visited")
		}
		for _, w := range in.Windows() {
			n := 0
			for _, e := range entries {
				stale := e.Stale(&w.Grid)
				if want := (in.Original.At(e.Pos) == lake.Hole) != (w.Grid.At(e.Pos) == lake.Hole); stale != want {
					t.Fatalf("entry %s stale: %v, want %v", e.ID, stale, want)
				}
				if stale {
					n++
				}
			}
			if want := instance.NumStale(&in.Original, &w.Grid); n != want {
				t.Fatalf("%d stale entries, the grids differ in %d cells", n, want)
			}
		}
	})
}

func bordersVisited(entries []memory.Entry, g *lake.Grid, p lake.Pos) bool {
	for _, a := range lake.Actions {
		if q := p.Toward(a); g.Contains(q) && !g.IsHole(q) && entries[q.Row*g.NumCols()+q.Col].Visited {
			return true
		}
	}
	return false
}

func ExampleTake() {
	grid, _ := instance.NewGrid(1734, instance.Config{})
	entries := memory.Take(1734, &grid)
	grid.SetHole(lake.Pos{Row: 0, Col: 1}, !grid.IsHole(lake.Pos{Row: 0, Col: 1}))
	fmt.Println(entries[1].Line(), "stale:", entries[1].Stale(&grid))
	// Output: [mem_001] SAFE at (0,1): Frozen ice - safe to walk stale: true
}
