package analysis

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A history is what is kept of an instance: the lake before, at the beginning of
// and after its changes, and what its memory claims.
type history struct {
	Seed        int
	Regime      string
	text        string // tells two different instances of one seed apart
	stale, thaw int    // cells whose hazard all changes together have turned
	atEnd       int    // entries of the memory that are false after all changes
	original    lake.Grid
	begin       lake.Grid // as an episode finds it
	after       lake.Grid
	events      []record.Event
	route       cellSet // on a shortest route of the original lake
	claims      []claim
	ids         map[string]int // entry by id; nil when the instance came without its memory
}

// A claim is what one entry of the memory says of its cell.
type claim struct {
	pos    record.Pos
	danger bool
}

// The two claims of an entry, as indices.
const (
	saysSafe = iota
	saysDanger
)

var claimNames = [2]string{"SAFE", "DANGER"}

// claimOf returns a claim's index, false for one that is none.
func claimOf(name string) (int, bool) {
	switch name {
	case claimNames[saysSafe]:
		return saysSafe, true
	case claimNames[saysDanger]:
		return saysDanger, true
	}
	return 0, false
}

// newHistory reads an instance. An entry for a cell is stale when the hazard of
// the original cell differs from that of the cell after all changes (paper,
// section 3.3). An instance that comes without its memory is taken to remember
// every cell of its original lake.
func newHistory(in *record.Instance) (*history, error) {
	where := fmt.Sprintf("instance of seed %d, regime %s", in.Seed, in.Regime)
	h := &history{Seed: in.Seed, Regime: in.Regime, events: in.Events}
	var err error
	if h.original, err = lake.Parse(in.Rows); err != nil {
		return nil, fmt.Errorf("%s: rows: %w", where, err)
	}
	if h.after, err = lake.Parse(in.RowsAfter); err != nil {
		return nil, fmt.Errorf("%s: rows_after: %w", where, err)
	}
	if h.rows() != h.after.NumRows() || h.cols() != h.after.NumCols() {
		return nil, fmt.Errorf("%s: rows is %d×%d and rows_after %d×%d", where, h.rows(), h.cols(), h.after.NumRows(), h.after.NumCols())
	}
	h.route = shortest(&h.original)
	h.begin = h.after
	if len(in.Events) > 0 {
		h.begin = h.original
	}
	for _, e := range in.Events {
		for _, f := range e.Flips {
			if !h.original.Contains(position(f.Pos)) {
				return nil, fmt.Errorf("%s: a change after move %d is at %v, off the grid", where, e.Step, position(f.Pos))
			}
		}
	}
	for i := range h.rows() * h.cols() {
		p := lake.Pos{Row: i / h.cols(), Col: i % h.cols()}
		was, is := h.original.IsHole(p), h.after.IsHole(p)
		h.stale += index(was != is)
		h.thaw += index(is && !was)
		if len(in.Memory) == 0 {
			h.claims = append(h.claims, claim{record.Pos{p.Row, p.Col}, was})
		}
	}
	if len(in.Memory) > 0 {
		h.ids = make(map[string]int, len(in.Memory))
	}
	var memory strings.Builder
	for i := range in.Memory {
		e := &in.Memory[i]
		kind, ok := claimOf(e.Claim)
		switch {
		case !h.original.Contains(position(e.Pos)):
			return nil, fmt.Errorf("%s: memory entry %s is about %v, off the grid", where, e.ID, position(e.Pos))
		case !ok:
			return nil, fmt.Errorf("%s: memory entry %s claims %q; entries claim SAFE or DANGER", where, e.ID, e.Claim)
		}
		h.ids[e.ID] = i
		h.claims = append(h.claims, claim{e.Pos, kind == saysDanger})
		fmt.Fprintf(&memory, "%q %v %d ", e.ID, e.Pos, kind)
	}
	h.atEnd = h.countFalse(&h.after)
	h.text = fmt.Sprint(in.Rows, in.RowsAfter, in.Events, memory.String())
	return h, nil
}

func (h *history) rows() int { return h.original.NumRows() }
func (h *history) cols() int { return h.original.NumCols() }

func position(p record.Pos) lake.Pos { return lake.Pos{Row: p[0], Col: p[1]} }

// falseAt reports whether entry i is false about a state of the lake.
func (h *history) falseAt(i int, g *lake.Grid) bool {
	return h.claims[i].danger != g.IsHole(position(h.claims[i].pos))
}

// countFalse returns the number of entries that are false about a state.
func (h *history) countFalse(g *lake.Grid) int {
	n := 0
	for i := range h.claims {
		n += index(h.falseAt(i, g))
	}
	return n
}

// hidden counts the entries of a memory that are kept out of the view, and
// those of them that are false; known is false when their ids mean nothing
// because the instance came without its memory.
func (h *history) hidden(trial string, removed []string, g *lake.Grid) (n, stale int, known bool, err error) {
	if h.ids == nil {
		return 0, 0, len(removed) == 0, nil
	}
	for _, id := range removed {
		i, ok := h.ids[id]
		if !ok {
			return 0, 0, false, fmt.Errorf("trial %s: the entry %s was kept out of view, but its instance's memory has none", trial, id)
		}
		n++
		stale += index(h.falseAt(i, g))
	}
	return n, stale, true, nil
}

// as returns the lake as it was after a number of moves, by the schedule.
func (h *history) as(moves int) lake.Grid {
	g := h.begin
	for _, e := range h.events {
		if e.Step <= moves {
			apply(&g, e.Flips)
		}
	}
	return g
}

// A replay follows a trial's lake from audit to audit.
type replay struct {
	history *history
	trial   *record.Trial
	grid    lake.Grid
	moves   int // how far it has come
	next    int // the next event of the schedule, or the next step
}

func newReplay(h *history, t *record.Trial) *replay {
	return &replay{history: h, trial: t, grid: h.begin}
}

// at returns the lake as an observation after the given number of moves shows
// it: by the schedule for a detection, by what was applied for an episode.
func (r *replay) at(moves int) *lake.Grid {
	if moves < r.moves {
		*r = *newReplay(r.history, r.trial)
	}
	r.moves = moves
	if r.trial.Task == record.Detect {
		for ; r.next < len(r.history.events) && r.history.events[r.next].Step <= moves; r.next++ {
			apply(&r.grid, r.history.events[r.next].Flips)
		}
		return &r.grid
	}
	for ; r.next < len(r.trial.Steps) && r.trial.Steps[r.next].T-1 <= moves; r.next++ {
		apply(&r.grid, r.trial.Steps[r.next].Event)
	}
	return &r.grid
}

func apply(g *lake.Grid, flips []record.Flip) {
	for _, f := range flips {
		g.SetHole(position(f.Pos), f.To == lake.Hole.String())
	}
}

// A cellSet is a set of cells of a grid of at most 64 by 64.
type cellSet [64]uint64

func (s *cellSet) add(p record.Pos) {
	if uint(p[0]) < 64 && uint(p[1]) < 64 {
		s[p[0]] |= 1 << p[1]
	}
}

func (s *cellSet) has(p record.Pos) bool {
	return uint(p[0]) < 64 && uint(p[1]) < 64 && s[p[0]]>>p[1]&1 != 0
}

// join adds the cells of another set.
func (s *cellSet) join(o cellSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// neighbours are a cell's four neighbours, on the grid or off it.
func neighbours(p record.Pos) [4]record.Pos {
	return [4]record.Pos{{p[0] - 1, p[1]}, {p[0] + 1, p[1]}, {p[0], p[1] - 1}, {p[0], p[1] + 1}}
}

// beside reports whether one of a cell's four neighbours is in the set.
func (s *cellSet) beside(p record.Pos) bool {
	for _, q := range neighbours(p) {
		if s.has(q) {
			return true
		}
	}
	return false
}

// shortest returns the cells that lie on any of the shortest routes from S to G;
// none when there is no route.
func shortest(g *lake.Grid) (set cellSet) {
	fromStart, toGoal := g.Distances(g.Start()), g.Distances(g.Goal())
	length := toGoal[0]
	if length < 0 {
		return set
	}
	for i, d := range fromStart {
		if d >= 0 && toGoal[i] >= 0 && d+toGoal[i] == length {
			set.add(record.Pos{i / g.NumCols(), i % g.NumCols()})
		}
	}
	return set
}

// index is 1 for true.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}
