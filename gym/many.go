package gym

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/record"
)

// Many episodes side by side. Arrays travel as base64 of little-endian numbers,
// which both sides read a hundred times faster than lists in JSON. What an
// episode begins with is asked for once a seed, by places; from then on only
// what changes is sent.

type placesRequest struct {
	Seeds []int `json:"seeds"`
}

type placesAnswer struct {
	Grid   []byte `json:"grid"`   // a byte a cell for each seed, as an episode begins: 0 S, 1 F, 2 H, 3 G
	Memory []byte `json:"memory"` // a byte a cell for each seed: 1 for DANGER
}

type resetManyRequest struct {
	Seeds []int `json:"seeds"` // one an episode
}

type stepManyRequest struct {
	Actions []byte `json:"actions"` // one an episode; those of Reset are not looked at
	Reset   []int  `json:"reset"`   // episodes that begin anew in place of a step, ascending
	Seeds   []int  `json:"seeds"`   // their seeds
}

type manyAnswer struct {
	Agent  []byte `json:"agent"`  // uint16 an episode: row*cols+col
	Reward []byte `json:"reward"` // int8 an episode
	Ended  []byte `json:"ended"`  // uint8 an episode: 0 goes on, 1 terminated, 2 truncated
	Flips  []byte `json:"flips"`  // three uint32 for each cell that changed: episode, row*cols+col, what it is now
}

// What Ended holds.
const (
	goesOn byte = iota
	terminated
	truncated
)

type manyEpisode struct {
	walk navigate.Walk
	over bool
}

func (s *session) askPlaces(q *placesRequest) (*placesAnswer, error) {
	places, err := s.placesOf(q.Seeds)
	if err != nil {
		return nil, err
	}
	a := &placesAnswer{Grid: []byte{}, Memory: []byte{}}
	for _, p := range places {
		g := &p.begin
		for i := range g.NumCells() {
			a.Grid = append(a.Grid, code(g.At(lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()})))
		}
		for i := range p.memory {
			var danger byte
			if p.memory[i].Claim == memory.Danger {
				danger = 1
			}
			a.Memory = append(a.Memory, danger)
		}
	}
	return a, nil
}

func (s *session) resetMany(q *resetManyRequest) (*manyAnswer, error) {
	places, err := s.placesOf(q.Seeds)
	if err != nil {
		return nil, err
	}
	s.many = make([]manyEpisode, len(q.Seeds))
	a := newManyAnswer(len(s.many))
	for i, p := range places {
		s.begin(a, i, p)
	}
	return a, nil
}

func (s *session) placesOf(seeds []int) ([]*place, error) {
	if len(seeds) > MaxMany {
		return nil, fmt.Errorf("%d seeds; there may be %d", len(seeds), MaxMany)
	}
	places := make([]*place, len(seeds))
	for i, seed := range seeds {
		var err error
		if places[i], err = s.place(seed); err != nil {
			return nil, err
		}
	}
	return places, nil
}

func newManyAnswer(n int) *manyAnswer {
	return &manyAnswer{Agent: make([]byte, 2*n), Reward: make([]byte, n), Ended: make([]byte, n), Flips: []byte{}}
}

// begin begins an episode anew. Nothing changes before the first move.
func (s *session) begin(a *manyAnswer, i int, p *place) {
	s.many[i] = manyEpisode{walk: navigate.NewWalk(p.begin, p.events, s.opts.Strict)}
	s.show(a, i, nil)
}

// show writes where an episode stands.
func (s *session) show(a *manyAnswer, i int, flips []record.Flip) {
	w := &s.many[i].walk
	cols := w.Grid.NumCols()
	binary.LittleEndian.PutUint16(a.Agent[2*i:], uint16(w.At.Row*cols+w.At.Col))
	for _, f := range flips {
		for _, v := range []int{i, f.Pos[0]*cols + f.Pos[1], int(code(lake.Cell(f.To[0])))} {
			a.Flips = binary.LittleEndian.AppendUint32(a.Flips, uint32(v))
		}
	}
}

func code(c lake.Cell) byte {
	switch c {
	case lake.Start:
		return 0
	case lake.Frozen:
		return 1
	case lake.Hole:
		return 2
	}
	return 3
}

func (s *session) stepMany(q *stepManyRequest) (*manyAnswer, error) {
	switch {
	case s.many == nil:
		return nil, errors.New("step_many before reset_many")
	case len(q.Actions) != len(s.many):
		return nil, fmt.Errorf("%d actions for %d episodes", len(q.Actions), len(s.many))
	case len(q.Reset) != len(q.Seeds):
		return nil, fmt.Errorf("%d episodes to reset and %d seeds", len(q.Reset), len(q.Seeds))
	}
	last := -1
	for _, i := range q.Reset {
		if i <= last || i >= len(s.many) {
			return nil, fmt.Errorf("episode %d to reset: they come in ascending order, from 0 to %d", i, len(s.many)-1)
		}
		last = i
	}
	anew := q.Reset
	for i := range s.many {
		switch {
		case len(anew) > 0 && anew[0] == i:
			anew = anew[1:]
		case s.many[i].over:
			return nil, fmt.Errorf("episode %d has ended; reset it", i)
		case int(q.Actions[i]) >= len(actions):
			return nil, fmt.Errorf("action %d of episode %d: there are 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP", q.Actions[i], i)
		}
	}
	places, err := s.placesOf(q.Seeds)
	if err != nil {
		return nil, err
	}
	a := newManyAnswer(len(s.many))
	anew = q.Reset
	for i := range s.many {
		if len(anew) > 0 && anew[0] == i {
			s.begin(a, i, places[len(places)-len(anew)])
			anew = anew[1:]
			continue
		}
		s.move(a, i, actions[q.Actions[i]])
	}
	return a, nil
}

// move makes one step of an episode.
func (s *session) move(a *manyAnswer, i int, action lake.Action) {
	e := &s.many[i]
	outcome := e.walk.Move(action)
	var applied []record.Flip
	if outcome == lake.Ongoing {
		applied, _ = e.walk.Change()
		outcome = e.walk.Judge()
	}
	e.over = outcome != lake.Ongoing
	a.Reward[i] = byte(int8(outcome.Reward()))
	switch outcome {
	case lake.Success, lake.Death:
		a.Ended[i] = terminated
	case lake.Timeout:
		a.Ended[i] = truncated
	}
	s.show(a, i, applied)
}
