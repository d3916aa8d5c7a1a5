package gym

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

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
	Reset   []byte `json:"reset"`   // uint32: episodes that begin anew in place of a step, ascending
	Seeds   []byte `json:"seeds"`   // uint64: their seeds
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
	s.show(a, i)
}

// show writes where an episode's agent is.
func (s *session) show(a *manyAnswer, i int) {
	w := &s.many[i].walk
	binary.LittleEndian.PutUint16(a.Agent[2*i:], uint16(w.At.Row*w.Grid.NumCols()+w.At.Col))
}

// appendFlips writes the changed cells of an episode.
func (s *session) appendFlips(to []byte, i int, flips []record.Flip) []byte {
	for _, f := range flips {
		cell := f.Pos[0]*s.many[i].walk.Grid.NumCols() + f.Pos[1]
		for _, v := range []int{i, cell, int(code(lake.Cell(f.To[0])))} {
			to = binary.LittleEndian.AppendUint32(to, uint32(v))
		}
	}
	return to
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
	anew, err := s.checkSteps(q)
	if err != nil {
		return nil, err
	}
	places := make([]*place, len(anew))
	for i := range anew {
		seed := binary.LittleEndian.Uint64(q.Seeds[8*i:])
		if seed > math.MaxInt {
			return nil, fmt.Errorf("seed %d: the largest is %d", seed, math.MaxInt)
		}
		if places[i], err = s.place(int(seed)); err != nil {
			return nil, err
		}
	}
	a := newManyAnswer(len(s.many))
	// Episodes know nothing of each other: the processors share them, each a run
	// of neighbours, so that the changed cells come in order.
	parts := min(runtime.GOMAXPROCS(0), 1+len(s.many)/256)
	flips := make([][]byte, parts)
	var work sync.WaitGroup
	for part := range parts {
		from, to := part*len(s.many)/parts, (part+1)*len(s.many)/parts
		first, _ := slices.BinarySearch(anew, from)
		work.Go(func() {
			next := first
			for i := from; i < to; i++ {
				if next < len(anew) && anew[next] == i {
					s.begin(a, i, places[next])
					next++
					continue
				}
				flips[part] = s.appendFlips(flips[part], i, s.move(a, i, actions[q.Actions[i]]))
			}
		})
	}
	work.Wait()
	a.Flips = append(a.Flips, slices.Concat(flips...)...) // never null
	return a, nil
}

// checkSteps refuses a request that cannot be carried out whole, and returns the
// episodes that begin anew.
func (s *session) checkSteps(q *stepManyRequest) ([]int, error) {
	switch {
	case s.many == nil:
		return nil, errors.New("step_many before reset_many")
	case len(q.Actions) != len(s.many):
		return nil, fmt.Errorf("%d actions for %d episodes", len(q.Actions), len(s.many))
	case len(q.Reset)%4 != 0 || len(q.Seeds)%8 != 0 || len(q.Reset)/4 != len(q.Seeds)/8:
		return nil, fmt.Errorf("%d bytes of episodes to reset and %d of seeds; they have 4 and 8 bytes each", len(q.Reset), len(q.Seeds))
	}
	anew := make([]int, len(q.Reset)/4)
	last := -1
	for k := range anew {
		i := int(binary.LittleEndian.Uint32(q.Reset[4*k:]))
		if i <= last || i >= len(s.many) {
			return nil, fmt.Errorf("episode %d to reset: they come in ascending order, from 0 to %d", i, len(s.many)-1)
		}
		anew[k], last = i, i
	}
	next := 0
	for i := range s.many {
		switch {
		case next < len(anew) && anew[next] == i:
			next++
		case s.many[i].over:
			return nil, fmt.Errorf("episode %d has ended; reset it", i)
		case int(q.Actions[i]) >= len(actions):
			return nil, fmt.Errorf("action %d of episode %d: there are 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP", q.Actions[i], i)
		}
	}
	return anew, nil
}

// move makes one step of an episode and returns the flips that came with it.
func (s *session) move(a *manyAnswer, i int, action lake.Action) []record.Flip {
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
	s.show(a, i)
	return applied
}
