package analysis

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// stroll makes an episode that walks the given actions, whether or not there is
// ice below it.
func stroll(model, modality, regime, strategy string, seed, n int, outcome, cause string, actions ...lake.Action) *record.Trial {
	t := episode(model, strategy, seed, n, outcome, 0, 0)
	t.Modality, t.Regime = modality, regime
	t.Key = strings.Join([]string{model, modality, regime, strategy, outcome, cause}, "/")
	grid, err := lake.New(t.Rows, t.Cols)
	if err != nil {
		panic(err)
	}
	at := grid.Start()
	for i, a := range actions {
		next := grid.Move(at, a)
		t.Steps = append(t.Steps, record.Step{T: i + 1, Pos: record.Pos{at.Row, at.Col}, Action: a.String(), Next: record.Pos{next.Row, next.Col}})
		at = next
	}
	if outcome == record.Death {
		t.Death = &record.DeathRecord{Pos: record.Pos{at.Row, at.Col}, Cause: cause}
	}
	return t
}

// A walk that is kept in a quarter of a byte a step comes back as it was.
func TestWalkComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		actions := rapid.SliceOfN(rapid.SampledFrom(lake.Actions[:]), 0, 60).Draw(t, "actions")
		trial := stroll("m", record.Text, "L1", "omcd", 1, 1, record.Timeout, "", actions...)
		k := walkOf(trial, nil)
		want := []record.Pos{{0, 0}}
		for _, s := range trial.Steps {
			want = append(want, s.Next)
		}
		if got := k.cells(8, 8); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v became %v", want, got)
		}
		if len(actions) == 0 {
			return
		}
		// One that does not lead where it says, or whose lake is another, is not
		// drawn.
		i := rapid.IntRange(0, len(actions)-1).Draw(t, "step")
		trial.Steps[i].Next[0] += 8
		if walkOf(trial, nil).moves != nil {
			t.Fatal("a walk that jumps is drawn")
		}
		trial.Steps[i].Next[0] -= 8
		trial.Steps[i].Dropped = []record.Flip{{To: "H"}}
		if walkOf(trial, nil).moves != nil {
			t.Fatal("a walk on another lake than its instance's is drawn")
		}
	})
}

// The pair that is drawn is the one that the rule names, in whatever order
// trials come.
func TestPairOfRoutes(t *testing.T) {
	const died, warned = record.CauseStaleShown, record.CauseWarned
	rows := []string{"SFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"}
	after := append([]string{"SFHFFFFF"}, rows[1:]...)
	right := []lake.Action{lake.Right, lake.Right}
	down := []lake.Action{lake.Down, lake.Down, lake.Down}
	type half struct {
		model, modality, regime string
		seed, episode           int
		outcome, cause          string
	}
	raw := func(h half) *record.Trial {
		return stroll(h.model, h.modality, h.regime, "no-filter", h.seed, h.episode, h.outcome, h.cause, right...)
	}
	audited := func(h half, outcome string) *record.Trial {
		return stroll(h.model, h.modality, h.regime, "omcd", h.seed, h.episode, outcome, "", down...)
	}
	text := func(seed, episode int, outcome, cause string) half {
		return half{"a", record.Text, "L2", seed, episode, outcome, cause}
	}
	for name, tt := range map[string]struct {
		trials []*record.Trial
		want   string // a part of what the drawing says; empty for no drawing
		warns  bool
	}{
		"first by seed and episode": {[]*record.Trial{
			raw(text(5, 1, record.Death, died)), audited(text(5, 1, "", ""), record.Success),
			raw(text(3, 2, record.Death, died)), audited(text(3, 2, "", ""), record.Success),
			raw(text(3, 1, record.Death, died)), audited(text(3, 1, "", ""), record.Success),
		}, "seed 3, episode 1. NoFilter died after 2 steps, OMCD reached G after 3 steps", false},
		"what shows most goes before what comes first": {[]*record.Trial{
			raw(text(3, 1, record.Death, warned)), audited(text(3, 1, "", ""), record.Success),
			raw(text(5, 1, record.Death, died)), audited(text(5, 1, "", ""), record.Success),
		}, "seed 5, episode 1", false},
		"L2 before L1, text before images": {[]*record.Trial{
			raw(half{"a", record.Text, "L1", 1, 1, record.Death, died}), audited(half{"a", record.Text, "L1", 1, 1, "", ""}, record.Success),
			raw(half{"a", record.Vision, "L2", 1, 1, record.Death, died}), audited(half{"a", record.Vision, "L2", 1, 1, "", ""}, record.Success),
			raw(half{"a", record.Text, "L2", 3, 1, record.Death, died}), audited(half{"a", record.Text, "L2", 3, 1, "", ""}, record.Success),
		}, "a from text, L2 cluster, seed 3", false},
		"the closest, and says so": {[]*record.Trial{
			raw(text(3, 1, record.Death, died)), audited(text(3, 1, "", ""), record.Timeout),
		}, "NoFilter died after 2 steps, OMCD ran out of steps after 3 steps", true},
		"another episode is no pair": {[]*record.Trial{
			raw(text(3, 1, record.Death, died)), audited(text(3, 2, "", ""), record.Success),
		}, "", false},
		"another model is no pair": {[]*record.Trial{
			raw(text(3, 1, record.Death, died)), audited(half{"b", record.Text, "L2", 3, 1, "", ""}, record.Success),
		}, "", false},
		"an instance that is not known": {[]*record.Trial{
			raw(text(4, 1, record.Death, died)), audited(text(4, 1, "", ""), record.Success),
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var first []Figure
			for order := range uint64(6) {
				rand.New(rand.NewPCG(order, 1)).Shuffle(len(tt.trials), func(i, j int) { tt.trials[i], tt.trials[j] = tt.trials[j], tt.trials[i] })
				c := new(Collector)
				for _, seed := range []int{1, 3, 5} {
					for _, regime := range []string{"L1", "L2"} {
						if err := c.AddInstance(record.Instance{Seed: seed, Regime: regime, Rows: rows, RowsAfter: after}); err != nil {
							t.Fatal(err)
						}
					}
				}
				add(t, c, tt.trials...)
				got := []Figure{c.routesFigure(), c.traceFigure()}
				if order == 0 {
					first = got
				} else if !reflect.DeepEqual(got, first) {
					t.Fatal("the order of trials changes the drawing")
				}
			}
			f := first[0]
			if tt.want == "" {
				if len(f.Panels) > 0 || f.Need == "" {
					t.Errorf("drawn: %v", f.Feet)
				}
				return
			}
			if len(f.Panels) != 2 || !strings.Contains(f.Feet[0], tt.want) || tt.warns != (len(f.Warnings) > 0) {
				t.Fatalf("%d panels, %q, warnings %q", len(f.Panels), f.Feet, f.Warnings)
			}
			now := f.Panels[1].Scene
			if !reflect.DeepEqual(now.Thaw, []record.Pos{{0, 2}}) || len(now.Freeze) > 0 {
				t.Errorf("thaw at %v, freeze at %v", now.Thaw, now.Freeze)
			}
			if end := now.Routes[0].Cells; now.Routes[0].Key != "no-filter" || end[len(end)-1] != (record.Pos{0, 2}) {
				t.Errorf("NoFilter's route is %v", now.Routes[0])
			}
			if len(first[1].Panels) != 2 {
				t.Errorf("the trace has %d strategies of 2", len(first[1].Panels))
			}
		})
	}
}

// The lake under a route of L3 is that of the moment.
func TestLakeAsItWas(t *testing.T) {
	rows := []string{"SFFF", "FFFF", "FFFF", "FFFG"}
	w := &world{events: []record.Event{
		{Step: 5, Flips: []record.Flip{{Pos: record.Pos{1, 1}, To: "H"}}},
		{Step: 10, Flips: []record.Flip{{Pos: record.Pos{1, 1}, To: "F"}, {Pos: record.Pos{2, 2}, To: "H"}}},
	}}
	var err error
	if w.begin, err = lake.Parse(rows); err != nil {
		t.Fatal(err)
	}
	for moves, want := range map[int]string{4: "SFFF\nFFFF\nFFFF\nFFFG", 5: "SFFF\nFHFF\nFFFF\nFFFG", 9: "SFFF\nFHFF\nFFFF\nFFFG", 10: "SFFF\nFFFF\nFFHF\nFFFG"} {
		if g := w.as(moves); g.String() != want {
			t.Errorf("after %d moves the lake is\n%s\nwant\n%s", moves, g.String(), want)
		}
	}
	if g := w.after(); g.String() != "SFFF\nFFFF\nFFHF\nFFFG" {
		t.Errorf("after all changes the lake is\n%s", g.String())
	}
}
