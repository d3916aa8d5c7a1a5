// Package observe turns one state of a lake into what an agent is shown: a
// listing in text or a picture, whole or seen from near the agent (paper,
// section 3.1). It also reads both back, as an agent that looks at nothing but
// its prompt must, and draws a lake for people at a terminal.
//
// It stands between the lake and everything that shows one: audits and
// episodes send its text and pictures to models, reports and exports draw with
// it. It knows of no memory, no model and no prompt beyond its own lines; the
// same state gives the same text and the same pixels on every machine.
package observe

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
)

// A State is what there is to observe: a lake, the agent in it, and how far
// the agent sees. States compare with == and can key a cache of observations.
type State struct {
	Grid   lake.Grid // one made by lake.New or lake.Parse
	Agent  lake.Pos  // on the grid
	Radius int       // cells farther than this many moves (Manhattan distance) are not seen; 0 or less: the whole lake is
}

// Sees reports whether the state shows the cell at p.
func (s *State) Sees(p lake.Pos) bool {
	return s.Grid.Contains(p) && (s.whole() || s.Agent.Manhattan(p) <= s.Radius)
}

// whole reports whether every cell is seen by definition.
func (s *State) whole() bool { return s.Radius <= 0 }

// Seen returns what is seen cell by cell: a string a row of the types' letters,
// with "?" for a cell that is not seen.
func (s *State) Seen() []string {
	rows := s.Grid.Rows()
	for r, mask := range s.Visible() {
		row := []byte(rows[r])
		for c := range row {
			if mask[c] == '0' {
				row[c] = '?'
			}
		}
		rows[r] = string(row)
	}
	return rows
}

// Visible returns the visibility mask for the record: a string a row, '1' for
// a cell that is seen and '0' for one that is not. It is nil without a radius.
func (s *State) Visible() []string {
	if s.whole() {
		return nil
	}
	mask := make([]string, s.Grid.NumRows())
	var line strings.Builder
	for r := range mask {
		line.Reset()
		for c := range s.Grid.NumCols() {
			if s.Sees(lake.Pos{Row: r, Col: c}) {
				line.WriteByte('1')
			} else {
				line.WriteByte('0')
			}
		}
		mask[r] = line.String()
	}
	return mask
}

// Scene returns what a reader without error gets back from the state's text or
// picture.
func (s *State) Scene() Scene {
	scene := Scene{Grid: s.Grid, Agent: s.Agent, Goal: s.Grid.Goal(), HasAgent: true}
	if s.whole() {
		return scene
	}
	for r := range s.Grid.NumRows() {
		for c := range s.Grid.NumCols() {
			if p := (lake.Pos{Row: r, Col: c}); !s.Sees(p) {
				scene.hide(p)
			}
		}
	}
	return scene
}

// A Scene is what an observation tells its reader. Scenes compare with ==.
type Scene struct {
	Grid     lake.Grid            // a cell that is not seen is never a hole here
	Unseen   [lake.MaxSide]uint64 // bit c of Unseen[r] is set when (r,c) is not seen
	Agent    lake.Pos             // meaningful when HasAgent
	Goal     lake.Pos             // the corner opposite the start, seen or not
	HasAgent bool                 // false for a listing without its position line
}

// Sees reports whether the observation shows the cell at p.
func (s *Scene) Sees(p lake.Pos) bool {
	return s.Grid.Contains(p) && s.Unseen[p.Row]>>uint(p.Col)&1 == 0
}

// hide makes the cell at p, which must lie on the grid, one that is not seen.
func (s *Scene) hide(p lake.Pos) {
	s.Unseen[p.Row] |= 1 << uint(p.Col)
	s.Grid.SetHole(p, false)
}

// Place says where the agent is, as ParseWhere read it. It refuses an agent
// off the grid and a goal that is not in its corner.
func (s *Scene) Place(agent, goal lake.Pos) error {
	if !s.Grid.Contains(agent) {
		return fmt.Errorf("observation: the agent at %v is not on the listing's %d rows by %d columns", agent, s.Grid.NumRows(), s.Grid.NumCols())
	}
	if goal != s.Goal {
		return fmt.Errorf("observation: the goal is said to be at %v; the listing's corner is %v", goal, s.Goal)
	}
	s.Agent, s.HasAgent = agent, true
	return nil
}
