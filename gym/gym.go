// Package gym serves episodes to agents that live in another program, such as
// a Gymnasium environment in Python: a line of JSON in, a line of JSON out
// (docs/python.md). One session is one regime on lakes of one size; it plays
// one episode at a time, or many side by side.
//
// It stands where navigate asks a model, and uses the same walk. It asks
// nobody, judges no memory and records nothing.
package gym

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// Protocol is the version of the lines.
const Protocol = 1

// maxLine bounds a request, in bytes; MaxMany the episodes side by side.
const (
	maxLine = 64 << 20
	MaxMany = 1 << 20
)

// Options choose what a session plays.
type Options struct {
	Regime instance.Regime
	Config instance.Config
	Strict bool // apply every L3 flip to the letter, even under the agent
}

// actions are the four in Gymnasium's numbers for FrozenLake.
var actions = [4]lake.Action{lake.Left, lake.Down, lake.Right, lake.Up}

// A hello is the first line of a session.
type hello struct {
	Protocol int             `json:"protocol"`
	Regime   instance.Regime `json:"regime"`
	Rows     int             `json:"rows"`
	Cols     int             `json:"cols"`
	Budget   int             `json:"budget"`
	Actions  []string        `json:"actions"`
	Seeds    []int           `json:"seeds"`
}

// A request is a line from the other program. Exactly one field is set.
type request struct {
	Reset     *resetRequest     `json:"reset"`
	Step      *stepRequest      `json:"step"`
	Render    *renderRequest    `json:"render"`
	Places    *placesRequest    `json:"places"`
	ResetMany *resetManyRequest `json:"reset_many"`
	StepMany  *stepManyRequest  `json:"step_many"`
}

type resetRequest struct {
	Seed *int `json:"seed"`
}

type stepRequest struct {
	Action *int `json:"action"`
}

type renderRequest struct {
	Mode string `json:"mode"` // "text" or "rgb"
}

// An observation is the answer to a reset or a step.
type observation struct {
	Grid       []string      `json:"grid"`
	Agent      record.Pos    `json:"agent"`
	Moves      int           `json:"moves"`
	Text       string        `json:"text"`
	Event      []record.Flip `json:"event"`   // applied just before this observation
	Dropped    []record.Flip `json:"dropped"` // scheduled but not applied
	Stale      []string      `json:"stale"`   // ids of the entries that do not hold now
	Cell       string        `json:"cell"`    // type of the agent's cell
	Reward     int           `json:"reward"`
	Terminated bool          `json:"terminated"`
	Truncated  bool          `json:"truncated"`
	Outcome    string        `json:"outcome"`          // "", "success", "death" or "timeout"
	Memory     []entryLine   `json:"memory,omitempty"` // after a reset
}

type entryLine struct {
	ID    string     `json:"id"`
	Pos   record.Pos `json:"pos"`
	Claim string     `json:"claim"`
	Text  string     `json:"text"`
}

type picture struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	RGB    []byte `json:"rgb_zlib"` // rows of R, G, B, compressed
}

// A session is one conversation.
type session struct {
	opts   Options
	places map[int]*place
	one    *episode
	many   []manyEpisode
}

// An episode is the one that reset began.
type episode struct {
	place *place
	walk  navigate.Walk
	over  bool
}

// Serve answers requests from r on w until r ends. A request that cannot be
// understood or carried out is answered with {"error": …} and changes nothing;
// an error is one of the options or of reading and writing.
func Serve(r io.Reader, w io.Writer, opts Options) error {
	s := &session{opts: opts, places: map[int]*place{}}
	first, err := s.place(instance.Seeds(1)[0])
	if err != nil {
		return err
	}
	g := &first.begin
	out := bufio.NewWriterSize(w, 1<<16)
	answer := func(v any) error {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return errors.Join(enc.Encode(v), out.Flush())
	}
	h := hello{Protocol: Protocol, Regime: opts.Regime, Rows: g.NumRows(), Cols: g.NumCols(), Budget: g.StepBudget(), Seeds: instance.Seeds(50)}
	for _, a := range actions {
		h.Actions = append(h.Actions, a.String())
	}
	if err := answer(h); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		reply, err := s.handle(line)
		if err != nil {
			reply = map[string]string{"error": err.Error()}
		}
		if err := answer(reply); err != nil {
			return err
		}
	}
}

// readLine returns the next line that is not empty.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.ReadSlice('\n')
		line = append(line, chunk...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine:
			continue
		case len(line) > maxLine:
			return nil, fmt.Errorf("a request of more than %d MiB", maxLine>>20)
		case err != nil && len(bytes.TrimSpace(line)) == 0:
			return nil, err
		case len(bytes.TrimSpace(line)) == 0:
			line = line[:0]
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		return line, nil
	}
}

func (s *session) handle(line []byte) (any, error) {
	var q request
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if dec.More() {
		return nil, errors.New("the request cannot be read: more than one object in a line")
	}
	set := 0
	for _, given := range []bool{q.Reset != nil, q.Step != nil, q.Render != nil, q.Places != nil, q.ResetMany != nil, q.StepMany != nil} {
		if given {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New("a request is one of reset, step, render, places, reset_many and step_many")
	}
	switch {
	case q.Reset != nil:
		return s.reset(q.Reset)
	case q.Step != nil:
		return s.step(q.Step)
	case q.Render != nil:
		return s.render(q.Render)
	case q.Places != nil:
		return s.askPlaces(q.Places)
	case q.ResetMany != nil:
		return s.resetMany(q.ResetMany)
	}
	return s.stepMany(q.StepMany)
}

func (s *session) reset(q *resetRequest) (*observation, error) {
	if q.Seed == nil {
		return nil, errors.New("reset wants a seed")
	}
	p, err := s.place(*q.Seed)
	if err != nil {
		return nil, err
	}
	s.one = &episode{place: p, walk: navigate.NewWalk(p.begin, p.events, s.opts.Strict)}
	applied, dropped := s.one.walk.Change()
	o := s.one.observe(applied, dropped, lake.Ongoing)
	for i := range p.memory {
		e := &p.memory[i]
		o.Memory = append(o.Memory, entryLine{e.ID, record.Pos{e.Pos.Row, e.Pos.Col}, string(e.Claim), e.Text})
	}
	return o, nil
}

func (s *session) step(q *stepRequest) (*observation, error) {
	switch {
	case s.one == nil:
		return nil, errors.New("step before reset")
	case s.one.over:
		return nil, errors.New("step after the episode has ended; reset first")
	case q.Action == nil:
		return nil, errors.New("step wants an action")
	case *q.Action < 0 || *q.Action >= len(actions):
		return nil, fmt.Errorf("action %d: there are 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP", *q.Action)
	}
	e := s.one
	outcome := e.walk.Move(actions[*q.Action])
	var applied, dropped []record.Flip
	if outcome == lake.Ongoing {
		applied, dropped = e.walk.Change()
		outcome = e.walk.Judge()
	}
	e.over = outcome != lake.Ongoing
	return e.observe(applied, dropped, outcome), nil
}

func (e *episode) observe(applied, dropped []record.Flip, outcome lake.Outcome) *observation {
	state := observe.State{Grid: e.walk.Grid, Agent: e.walk.At}
	o := &observation{
		Grid: e.walk.Grid.Rows(), Agent: record.Pos{e.walk.At.Row, e.walk.At.Col}, Moves: e.walk.Moves,
		Text: state.Listing() + state.Where(), Event: full(applied), Dropped: full(dropped), Stale: []string{},
		Cell: e.walk.Grid.At(e.walk.At).String(), Reward: outcome.Reward(),
		Terminated: outcome == lake.Success || outcome == lake.Death, Truncated: outcome == lake.Timeout,
	}
	if outcome != lake.Ongoing {
		o.Outcome = outcome.String()
	}
	for i := range e.place.memory {
		if m := &e.place.memory[i]; m.Stale(&e.walk.Grid) {
			o.Stale = append(o.Stale, m.ID)
		}
	}
	return o
}

// full returns a list that is not nil.
func full(list []record.Flip) []record.Flip {
	if list == nil {
		return []record.Flip{}
	}
	return list
}

// A place is a seed's lake under the session's regime, as an episode begins.
type place struct {
	begin  lake.Grid
	events []record.Event
	memory []memory.Entry
}

// keptPlaces bounds the places that a session keeps.
const keptPlaces = 4096

func (s *session) place(seed int) (*place, error) {
	if p := s.places[seed]; p != nil {
		return p, nil
	}
	if seed < 0 {
		return nil, fmt.Errorf("seed %d: it must not be negative", seed)
	}
	in, err := instance.New(seed, s.opts.Regime, s.opts.Config)
	if err != nil {
		return nil, err
	}
	p := &place{begin: in.Begin(), events: in.Schedule(), memory: memory.Take(seed, &in.Original)}
	if len(s.places) >= keptPlaces {
		clear(s.places)
	}
	s.places[seed] = p
	return p, nil
}
