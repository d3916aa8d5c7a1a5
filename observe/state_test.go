package observe_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	g := mustParse(t, "SFFFF", "FFFFF", "FFFFF", "FFFFG")
	tests := []struct {
		name   string
		agent  lake.Pos
		radius int
		want   string
	}{
		{"whole", lake.Pos{}, 0, ""},
		{"a radius below zero is none", lake.Pos{}, -1, ""},
		{"corner", lake.Pos{}, 1, "11000 10000 00000 00000"},
		{"middle", lake.Pos{Row: 2, Col: 2}, 2, "00100 01110 11111 01110"},
		{"everything within reach", lake.Pos{}, 7, "11111 11111 11111 11111"},
	}
	for _, tt := range tests {
		s := observe.State{Grid: g, Agent: tt.agent, Radius: tt.radius}
		got := s.Visible()
		if strings.Join(got, " ") != tt.want || (got == nil) != (tt.want == "") {
			t.Errorf("%s: mask %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The record's mask, the state and the scene that a reader gets must agree on
// what was seen, or an audit would be scored on cells that nobody showed.
func TestEveryoneAgreesOnWhatIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t, lake.MaxSide)
		mask := s.Visible()
		scene := s.Scene()
		for r := range s.Grid.NumRows() {
			for c := range s.Grid.NumCols() {
				p := lake.Pos{Row: r, Col: c}
				want := s.Radius <= 0 || abs(r-s.Agent.Row)+abs(c-s.Agent.Col) <= s.Radius
				if s.Sees(p) != want || scene.Sees(p) != want || mask != nil && (mask[r][c] == '1') != want {
					t.Fatalf("agent %v, radius %d, cell %v: want seen=%t, state says %t, scene %t, mask %q",
						s.Agent, s.Radius, p, want, s.Sees(p), scene.Sees(p), mask)
				}
			}
		}
		for _, p := range []lake.Pos{{Row: -1}, {Col: -1}, {Row: s.Grid.NumRows()}, {Col: s.Grid.NumCols()}} {
			if s.Sees(p) || scene.Sees(p) {
				t.Fatalf("%v, off the grid, is seen", p)
			}
		}
	})
}

func abs(n int) int { return max(n, -n) }

// A scene must not tell what it does not show.
func TestSceneHidesHoles(t *testing.T) {
	with := observe.State{Grid: mustParse(t, "SFFF", "FFFF", "FFFH", "FFHG"), Radius: 2}
	without := observe.State{Grid: mustParse(t, "SFFF", "FFFF", "FFFF", "FFFG"), Radius: 2}
	if with.Scene() != without.Scene() {
		t.Error("two states that look the same give different scenes")
	}
	if with.Text() != without.Text() {
		t.Error("two states that look the same give different texts")
	}
}
