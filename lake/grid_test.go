package lake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"pgregory.net/rapid"
)

func TestParseReadsWhatRowsWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		rows := g.Rows()
		if len(rows) != g.NumRows() || len(rows[0]) != g.NumCols() {
			t.Fatalf("%d rows of %d letters for a grid of %d by %d", len(rows), len(rows[0]), g.NumRows(), g.NumCols())
		}
		back, err := lake.Parse(rows)
		if err != nil {
			t.Fatalf("%v; rows\n%s", err, strings.Join(rows, "\n"))
		}
		if back != g {
			t.Fatalf("read back\n%s\nwant\n%s", back.String(), g.String())
		}
		if got := strings.Count(g.String(), "H"); got != g.NumHoles() {
			t.Fatalf("NumHoles() = %d, the rows have %d", g.NumHoles(), got)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name string
		rows []string
		size bool   // the error wraps ErrSize
		want string // a part of its text
	}{
		{"nothing", nil, true, "no rows"},
		{"too few rows", []string{"SFFF", "FFFF", "FFFG"}, true, "3 rows by 4 columns"},
		{"too few columns", []string{"SFF", "FFF", "FFF", "FFG"}, true, "4 rows by 3 columns"},
		{"too many columns", []string{"S" + strings.Repeat("F", 64), "", "", ""}, true, "65 columns"},
		{"ragged", []string{"SFFF", "FFF", "FFFF", "FFFG"}, false, "row 1 has 3 cells"},
		{"unknown letter", []string{"SFFF", "FFXF", "FFFF", "FFFG"}, false, "cell (1,2) is 'X'"},
		{"lower case", []string{"SFFF", "FFhF", "FFFF", "FFFG"}, false, "cell (1,2) is 'h'"},
		{"second start", []string{"SFFF", "FSFF", "FFFF", "FFFG"}, false, "cell (1,1) is 'S'"},
		{"start missing", []string{"FFFF", "FFFF", "FFFF", "FFFG"}, false, "cell (0,0) is 'F', want S"},
		{"goal is a hole", []string{"SFFF", "FFFF", "FFFF", "FFFH"}, false, "cell (3,3) is 'H', want G"},
		{"not ASCII", []string{"SFé", "FFFF", "FFFF", "FFFG"}, false, "cell (0,2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := lake.Parse(tt.rows)
			if err == nil {
				t.Fatal("accepted")
			}
			if errors.Is(err, lake.ErrSize) != tt.size || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q (ErrSize: %t), want %q (%t)", err, errors.Is(err, lake.ErrSize), tt.want, tt.size)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("SFFF\nFHFH\nFFFH\nHFFG")
	f.Add("SFFF\nFHFH\nFFFH\nHFFG\n")
	f.Add("S")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := lake.Parse(strings.Split(text, "\n"))
		if err == nil && g.String() != text {
			t.Fatalf("%q read as %q", text, g.String())
		}
	})
}

func TestSizes(t *testing.T) {
	for _, side := range []int{-1, 0, 3, 65, 1 << 40} {
		for _, size := range [][2]int{{side, 8}, {8, side}} {
			if g, err := lake.New(size[0], size[1]); !errors.Is(err, lake.ErrSize) || g != (lake.Grid{}) {
				t.Errorf("New(%d, %d) = %d by %d, %v; want ErrSize", size[0], size[1], g.NumRows(), g.NumCols(), err)
			}
		}
	}
	for _, size := range [][2]int{{4, 4}, {4, 64}, {64, 4}, {64, 64}, {5, 9}} {
		g, err := lake.New(size[0], size[1])
		if err != nil {
			t.Errorf("New(%d, %d): %v", size[0], size[1], err)
			continue
		}
		if g.NumCells() != size[0]*size[1] || g.Goal() != (lake.Pos{Row: size[0] - 1, Col: size[1] - 1}) {
			t.Errorf("New(%d, %d): %d cells, goal at %v", size[0], size[1], g.NumCells(), g.Goal())
		}
	}
}

// Whatever is set, on the grid or off it, start and goal stay and nothing else
// than the cell asked for changes.
func TestStartAndGoalNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			before := g
			if rapid.Bool().Draw(t, "row at once") {
				g.SetHoles(rapid.IntRange(0, g.NumRows()-1).Draw(t, "row"), drawWord(t))
			} else {
				p := lake.Pos{
					Row: rapid.IntRange(-2, lake.MaxSide+2).Draw(t, "row"),
					Col: rapid.IntRange(-2, lake.MaxSide+2).Draw(t, "col"),
				}
				if rapid.Bool().Draw(t, "a corner") {
					p = rapid.SampledFrom([]lake.Pos{g.Start(), g.Goal()}).Draw(t, "corner")
				}
				hole := rapid.Bool().Draw(t, "hole")
				g.SetHole(p, hole)
				if g.Contains(p) && p != g.Start() && p != g.Goal() {
					if g.IsHole(p) != hole {
						t.Fatalf("SetHole(%v, %t) left %v", p, hole, g.At(p))
					}
					before.SetHole(p, hole)
				}
				if g != before {
					t.Fatalf("SetHole(%v, %t) changed more than its cell", p, hole)
				}
			}
			if g.At(g.Start()) != lake.Start || g.At(g.Goal()) != lake.Goal {
				t.Fatalf("start is %v, goal is %v", g.At(g.Start()), g.At(g.Goal()))
			}
		}
	})
}

// SetHoles is the fast path of SetHole: the same grid, and equal by ==, so
// that bits off the grid cannot make two equal lakes differ as map keys.
func TestSetHolesIsSetHoleOnEachCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		slow := g
		row := rapid.IntRange(0, g.NumRows()-1).Draw(t, "row")
		mask := drawWord(t)
		g.SetHoles(row, mask)
		for c := range lake.MaxSide {
			slow.SetHole(lake.Pos{Row: row, Col: c}, mask>>uint(c)&1 != 0)
		}
		if g != slow {
			t.Fatalf("SetHoles(%d, %b) gives\n%s\nwant\n%s", row, mask, g.String(), slow.String())
		}
	})
}

func TestCells(t *testing.T) {
	g := mustParse(t, "SFHF", "FHFF", "FFFF", "HFFG")
	for p, want := range map[lake.Pos]lake.Cell{
		{}: lake.Start, {Row: 0, Col: 2}: lake.Hole, {Row: 1, Col: 1}: lake.Hole,
		{Row: 3, Col: 0}: lake.Hole, {Row: 3, Col: 3}: lake.Goal, {Row: 2, Col: 2}: lake.Frozen,
	} {
		if got := g.At(p); got != want {
			t.Errorf("cell %v is %v, want %v", p, got, want)
		}
		if got := g.At(p).Hazard(); got != g.IsHole(p) {
			t.Errorf("cell %v: hazard %t, hole %t", p, got, g.IsHole(p))
		}
	}
}

func ExampleParse() {
	g, err := lake.Parse([]string{
		"SFFF",
		"FHFH",
		"FFFH",
		"HFFG",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := g.RouteStep(g.Start(), g.Goal())
	fmt.Println(g.NumHoles(), "holes; solvable:", g.Solvable(), "- first", first)
	g.SetHole(lake.Pos{Row: 3, Col: 2}, true)
	fmt.Println("solvable:", g.Solvable())
	// Output:
	// 4 holes; solvable: true - first DOWN
	// solvable: false
}
