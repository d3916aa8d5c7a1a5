package lake_test

import (
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"pgregory.net/rapid"
)

// A move changes one coordinate by one, or nothing at the edge.
func TestMovesStayOnTheGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		p := drawPos(t, &g, "from")
		a := rapid.SampledFrom(lake.Actions[:]).Draw(t, "action")
		q := g.Move(p, a)
		want := p
		switch a {
		case lake.Up:
			want.Row = max(p.Row-1, 0)
		case lake.Down:
			want.Row = min(p.Row+1, g.NumRows()-1)
		case lake.Left:
			want.Col = max(p.Col-1, 0)
		case lake.Right:
			want.Col = min(p.Col+1, g.NumCols()-1)
		}
		if q != want {
			t.Fatalf("%v from %v leads to %v, want %v on %d by %d", a, p, q, want, g.NumRows(), g.NumCols())
		}
		if d := p.Manhattan(q); d != q.Manhattan(p) || d > 1 {
			t.Fatalf("%v from %v is %d away", q, p, d)
		}
	})
}

func TestJudge(t *testing.T) {
	g := mustParse(t, "SFFF", "FHFF", "FFFF", "FFFG")
	tests := []struct {
		at      lake.Pos
		outcome lake.Outcome
		name    string
		reward  int
	}{
		{g.Start(), lake.Ongoing, "ongoing", 0},
		{lake.Pos{Row: 2, Col: 2}, lake.Ongoing, "ongoing", 0},
		{lake.Pos{Row: 1, Col: 1}, lake.Death, "death", -1},
		{g.Goal(), lake.Success, "success", 1},
	}
	for _, tt := range tests {
		got := g.Judge(tt.at)
		if got != tt.outcome || got.String() != tt.name || got.Reward() != tt.reward {
			t.Errorf("at %v: %v, reward %d; want %s, %d", tt.at, got, got.Reward(), tt.name, tt.reward)
		}
	}
	if s := lake.Timeout.String(); s != "timeout" || lake.Timeout.Reward() != 0 {
		t.Errorf("Timeout is %q with reward %d, want timeout, 0", s, lake.Timeout.Reward())
	}
	if s := lake.Outcome(9).String(); s != "Outcome(9)" {
		t.Errorf("an outcome that does not exist prints %q", s)
	}
}

func TestActionNames(t *testing.T) {
	for i, want := range []string{"UP", "DOWN", "LEFT", "RIGHT"} {
		a := lake.Actions[i]
		if a.String() != want {
			t.Errorf("action %d is %v, want %s", i, a, want)
		}
		if got, ok := lake.ParseAction(want); !ok || got != a {
			t.Errorf("ParseAction(%q) = %v, %t", want, got, ok)
		}
	}
	for _, name := range []string{"", "up", "UP ", "NORTH", "0"} {
		if a, ok := lake.ParseAction(name); ok {
			t.Errorf("ParseAction(%q) = %v", name, a)
		}
	}
	if s := lake.Action(7).String(); s != "Action(7)" {
		t.Errorf("an action that does not exist prints %q", s)
	}
}

// The paper's 50 steps on 8x8, scaled with the distance from start to goal.
func TestStepBudget(t *testing.T) {
	for _, tt := range []struct{ rows, cols, want int }{
		{8, 8, 50},
		{64, 64, 450},
		{4, 4, 22},    // 21.4 rounded up
		{5, 9, 43},    // 42.9
		{9, 5, 43},    // the same, turned
		{4, 64, 236},  // 235.7
		{16, 16, 108}, // 107.1
	} {
		g, err := lake.New(tt.rows, tt.cols)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.StepBudget(); got != tt.want {
			t.Errorf("%d by %d: budget %d, want %d", tt.rows, tt.cols, got, tt.want)
		}
	}
}
