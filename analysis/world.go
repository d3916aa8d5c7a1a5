package analysis

import (
	"crypto/sha256"
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

type digest [sha256.Size]byte

type instanceKey struct {
	regime     string
	rows, cols int
	seed       int
}

// A world is what is kept of an instance: the lake before, at the beginning of
// and after its changes, and what its memory claims.
type world struct {
	sum         digest // tells two different instances of one seed apart
	stale, thaw int    // cells whose hazard all changes together have turned
	atEnd       int    // entries of the memory that are false after all changes
	original    lake.Grid
	begin       lake.Grid // as an episode finds it
	events      []record.Event
	route       cellSet // on a shortest way of the original lake
	claims      []claim
	roster      *roster // nil when the instance came without its memory
}

// A claim is what one entry of the memory says of its cell.
type claim struct {
	row, col uint8
	danger   bool
}

// A roster tells which entry has which id. Instances of one size share theirs.
type roster struct {
	ids   []string
	index map[string]int
}

// worldOf returns the world of a trial, nil when its instance was not added.
func (c *Collector) worldOf(s *record.Spec) *world {
	return c.instances[instanceKey{s.Regime, s.Rows, s.Cols, s.Seed}]
}

// AddInstance adds an instance. Its entry for a cell is stale when the hazard of
// the original cell differs from that of the cell after all changes (paper,
// section 3.3). The same instance may come again; another one under the same
// seed, regime and size is an error. An instance that comes without its memory
// is taken to remember every cell of its original lake.
func (c *Collector) AddInstance(in record.Instance) error {
	where := fmt.Sprintf("instance of seed %d, regime %s", in.Seed, in.Regime)
	before, err := lake.Parse(in.Rows)
	if err != nil {
		return fmt.Errorf("%s: rows: %w", where, err)
	}
	after, err := lake.Parse(in.RowsAfter)
	if err != nil {
		return fmt.Errorf("%s: rows_after: %w", where, err)
	}
	if before.NumRows() != after.NumRows() || before.NumCols() != after.NumCols() {
		return fmt.Errorf("%s: rows is %d×%d and rows_after %d×%d", where, before.NumRows(), before.NumCols(), after.NumRows(), after.NumCols())
	}
	w := &world{original: before, begin: after, route: shortest(&before)}
	if len(in.Events) > 0 {
		w.begin = before
	}
	for _, e := range in.Events {
		for _, f := range e.Flips {
			if !before.Contains(position(f.Pos)) {
				return fmt.Errorf("%s: a change after move %d is at %v, off the grid", where, e.Step, position(f.Pos))
			}
		}
		w.events = append(w.events, record.Event{Step: e.Step, Flips: append([]record.Flip(nil), e.Flips...)})
	}
	if err := w.remember(&in); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	w.roster = c.rosterOf(&in)
	for r := range before.NumRows() {
		for col := range before.NumCols() {
			p := lake.Pos{Row: r, Col: col}
			was, is := before.IsHole(p), after.IsHole(p)
			if was != is {
				w.stale++
			}
			if is && !was {
				w.thaw++
			}
		}
	}
	w.atEnd = w.countFalse(&after)
	w.sum = w.digest(&after)
	key := instanceKey{in.Regime, before.NumRows(), before.NumCols(), in.Seed}
	if old, ok := c.instances[key]; ok && old.sum != w.sum {
		return fmt.Errorf("%s: two different instances of %d×%d", where, key.rows, key.cols)
	}
	if c.instances == nil {
		c.instances = make(map[instanceKey]*world)
	}
	c.instances[key] = w
	return nil
}

// remember takes the claims of an instance's memory.
func (w *world) remember(in *record.Instance) error {
	if len(in.Memory) == 0 {
		for r := range w.original.NumRows() {
			for col := range w.original.NumCols() {
				w.claims = append(w.claims, claim{uint8(r), uint8(col), w.original.IsHole(lake.Pos{Row: r, Col: col})})
			}
		}
		return nil
	}
	for i := range in.Memory {
		e := &in.Memory[i]
		if !w.original.Contains(position(e.Pos)) {
			return fmt.Errorf("memory entry %s is about %v, off the grid", e.ID, position(e.Pos))
		}
		kind, ok := claimOf(e.Claim)
		if !ok {
			return fmt.Errorf("memory entry %s claims %q; entries claim SAFE or DANGER", e.ID, e.Claim)
		}
		w.claims = append(w.claims, claim{uint8(e.Pos[0]), uint8(e.Pos[1]), kind == saysDanger})
	}
	return nil
}

// rosterOf returns the ids of an instance's memory.
func (c *Collector) rosterOf(in *record.Instance) *roster {
	if len(in.Memory) == 0 {
		return nil
	}
	h := sha256.New()
	for i := range in.Memory {
		fmt.Fprintf(h, "%q", in.Memory[i].ID)
	}
	sum := digest(h.Sum(nil))
	if r := c.rosters[sum]; r != nil {
		return r
	}
	r := &roster{index: make(map[string]int, len(in.Memory))}
	for i := range in.Memory {
		r.ids = append(r.ids, in.Memory[i].ID)
		r.index[in.Memory[i].ID] = i
	}
	if c.rosters == nil {
		c.rosters = make(map[digest]*roster)
	}
	c.rosters[sum] = r
	return r
}

func (w *world) digest(after *lake.Grid) digest {
	h := sha256.New()
	fmt.Fprintf(h, "%v\n\n%v\n\n%v\n%v\n", w.original.String(), after.String(), w.events, w.claims)
	if w.roster != nil {
		fmt.Fprintf(h, "%q", w.roster.ids)
	}
	return digest(h.Sum(nil))
}

func position(p record.Pos) lake.Pos { return lake.Pos{Row: p[0], Col: p[1]} }

// The two claims of an entry, as indices.
const (
	saysSafe = iota
	saysDanger
)

// claimNames are the claims as records write them.
var claimNames = [2]string{"SAFE", "DANGER"}

// claimOf returns a claim's index, false for one that is none.
func claimOf(name string) (int, bool) {
	for i, n := range claimNames {
		if n == name {
			return i, true
		}
	}
	return 0, false
}

// falseAt reports whether entry i is false about a state of the lake.
func (w *world) falseAt(i int, g *lake.Grid) bool {
	c := w.claims[i]
	return c.danger != g.IsHole(lake.Pos{Row: int(c.row), Col: int(c.col)})
}

// countFalse returns the number of entries that are false about a state.
func (w *world) countFalse(g *lake.Grid) int {
	n := 0
	for i := range w.claims {
		if w.falseAt(i, g) {
			n++
		}
	}
	return n
}

// A replay follows a trial's lake from audit to audit.
type replay struct {
	world *world
	trial *record.Trial
	grid  lake.Grid
	moves int // how far it has come
	next  int // the next event of the schedule, or the next step
}

func newReplay(w *world, t *record.Trial) *replay {
	r := &replay{world: w, trial: t}
	r.rewind()
	return r
}

func (r *replay) rewind() { r.grid, r.moves, r.next = r.world.begin, 0, 0 }

// at returns the lake as an observation after the given number of moves shows
// it: by the schedule for a detection, by what was applied for an episode.
func (r *replay) at(moves int) *lake.Grid {
	if moves < r.moves {
		r.rewind()
	}
	r.moves = moves
	if r.trial.Task == record.Detect {
		for ; r.next < len(r.world.events) && r.world.events[r.next].Step <= moves; r.next++ {
			apply(&r.grid, r.world.events[r.next].Flips)
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
