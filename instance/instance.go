package instance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
)

// A Regime is one of the paper's three kinds of change (section 3.4).
type Regime string

// The three regimes.
const (
	L1 Regime = "L1" // spot: a few single cells, before the episode
	L2 Regime = "L2" // cluster: cells of two or three neighbourhoods, before the episode
	L3 Regime = "L3" // online: cells at moments during the episode
)

// Regimes lists the three regimes in the paper's order.
var Regimes = []Regime{L1, L2, L3}

// ParseRegime returns the regime of that name; its error lists what there is.
func ParseRegime(name string) (Regime, error) {
	for _, r := range Regimes {
		if strings.EqualFold(string(r), name) {
			return r, nil
		}
	}
	return "", fmt.Errorf("unknown regime %q; there are L1 (spot), L2 (cluster) and L3 (online)", name)
}

// A Config is the lake's size and density. The zero value is the paper's: 8x8
// cells, hole fraction 0.25.
type Config struct {
	Rows, Cols   int     // 4..64 each; both 0 stand for 8
	HoleFraction float64 // probability of a hole, in (0,1); 0 stands for 0.25
}

// The paper's lake (section 3.1).
const (
	DefaultSide         = 8
	DefaultHoleFraction = 0.25
)

// withDefaults fills the zero fields and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Rows == 0 && c.Cols == 0 {
		c.Rows, c.Cols = DefaultSide, DefaultSide
	}
	if c.HoleFraction == 0 {
		c.HoleFraction = DefaultHoleFraction
	}
	if err := lake.CheckSize(c.Rows, c.Cols); err != nil {
		return c, err
	}
	if !(c.HoleFraction > 0 && c.HoleFraction < 1) {
		return c, fmt.Errorf("hole fraction %v: it must lie between 0 and 1", c.HoleFraction)
	}
	return c, nil
}

// A Flip gives a cell a new type.
type Flip struct {
	Pos  lake.Pos
	Hole bool // what the cell becomes: a hole (thaw) or frozen (freeze)
}

// Apply makes the change on g.
func (f Flip) Apply(g *lake.Grid) { g.SetHole(f.Pos, f.Hole) }

// Cell returns the type that the cell becomes.
func (f Flip) Cell() lake.Cell {
	if f.Hole {
		return lake.Hole
	}
	return lake.Frozen
}

// An Event is a change during an episode: its flips come after the agent's
// Step-th move and before the next observation.
type Event struct {
	Step  int
	Flips []Flip
}

// An Instance is one lake with the changes that one regime makes to it. The
// grid depends on the seed alone; only the changes are the regime's.
type Instance struct {
	Seed     int
	Regime   Regime
	Original lake.Grid // what the memory describes
	Changes  []Flip    // L1 and L2: made before the episode
	Events   []Event   // L3: in order of Step; each changes at least one cell
}

// A Window is one state of the lake in which the memory is audited.
type Window struct {
	Step int // moves made before it; 0 before the first
	Grid lake.Grid
}

// Begin returns the lake as it is when an episode begins.
func (in *Instance) Begin() lake.Grid {
	g := in.Original
	for _, f := range in.Changes {
		f.Apply(&g)
	}
	return g
}

// Windows returns the windows of a detection: one for L1 and L2, one after
// each event for L3 (section 3.4).
func (in *Instance) Windows() []Window {
	g := in.Begin()
	if in.Regime != L3 {
		return []Window{{0, g}}
	}
	windows := make([]Window, 0, len(in.Events))
	for _, e := range in.Events {
		for _, f := range e.Flips {
			f.Apply(&g)
		}
		windows = append(windows, Window{e.Step, g})
	}
	return windows
}

// Final returns the lake after all changes.
func (in *Instance) Final() lake.Grid {
	windows := in.Windows()
	return windows[len(windows)-1].Grid
}

// maxTries bounds every rejection loop. The paper's lake needs fewer than ten
// grids; a bound that is ever reached means that the arguments ask for a lake
// that hardly exists.
const maxTries = 20_000

// ErrTries is wrapped by the errors for arguments under which no acceptable
// grid or change was found within the tries allowed.
var ErrTries = errors.New("gave up")

// NewGrid returns the seed's lake: every cell but the corners is a hole with
// probability cfg.HoleFraction, independently; the whole grid is redrawn until
// the goal can be reached (section 3.1).
func NewGrid(seed int, cfg Config) (lake.Grid, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return lake.Grid{}, err
	}
	g, err := DrawGrid(Stream(seed, "grid"), cfg)
	if err != nil {
		return g, fmt.Errorf("seed %d: %w", seed, err)
	}
	return g, nil
}

// DrawGrid draws grids from r until one is solvable.
func DrawGrid(r *Rand, cfg Config) (g lake.Grid, err error) {
	if cfg, err = cfg.withDefaults(); err != nil {
		return g, err
	}
	if err := g.Reset(cfg.Rows, cfg.Cols); err != nil {
		return g, err
	}
	for range maxTries {
		drawHoles(r, &g, cfg.HoleFraction)
		if g.Solvable() {
			return g, nil
		}
	}
	return g, fmt.Errorf("%w: no solvable lake of %dx%d cells in %d tries at hole fraction %v; use a smaller one", ErrTries, cfg.Rows, cfg.Cols, maxTries, cfg.HoleFraction)
}

// drawHoles draws every cell. A mask serves as many rows as fit its 64 bits.
func drawHoles(r *Rand, g *lake.Grid, fraction float64) {
	cols := uint(g.NumCols())
	var mask, left uint64
	for row := range g.NumRows() {
		if left < uint64(cols) {
			mask, left = r.Mask(fraction), 64
		}
		g.SetHoles(row, mask)
		mask >>= cols
		left -= uint64(cols)
	}
}

// New returns the instance of a seed under a regime. The same arguments give
// the same instance on every machine and in every release.
func New(seed int, regime Regime, cfg Config) (*Instance, error) {
	g, err := NewGrid(seed, cfg)
	if err != nil {
		return nil, err
	}
	in := &Instance{Seed: seed, Regime: regime, Original: g}
	r := Stream(seed, "changes/"+string(regime))
	switch regime {
	case L1:
		in.Changes, err = drawSpots(r, g)
	case L2:
		in.Changes, err = drawClusters(r, g)
	case L3:
		in.Events, err = drawSchedule(r, g)
	default:
		_, err = ParseRegime(string(regime))
	}
	if err != nil {
		return nil, fmt.Errorf("seed %d, regime %s: %w", seed, regime, err)
	}
	return in, nil
}
