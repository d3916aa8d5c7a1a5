package analysis_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// walked is an episode on a lake without holes that makes the given actions, a
// letter each, again and again for a number of steps.
func walked(t testing.TB, strategy, actions string, steps int) *record.Trial {
	t.Helper()
	grid, err := lake.New(8, 8)
	if err != nil {
		t.Fatal(err)
	}
	trial := &record.Trial{Spec: record.Spec{Task: record.Navigate, Model: "m", Modality: record.Text, Regime: "L1", Strategy: strategy}, Outcome: record.Timeout}
	at := grid.Start()
	for i := range steps {
		a := lake.Actions[strings.IndexByte("UDLR", actions[i%len(actions)])]
		next := grid.Move(at, a)
		trial.Steps = append(trial.Steps, record.Step{T: i + 1, Pos: record.Pos{at.Row, at.Col}, Action: a.String(), Next: record.Pos{next.Row, next.Col}, Memory: record.MemoryAll})
		at = next
	}
	return trial
}

// Were a count wrong, a model that runs into a wall would look like one that
// looks for its way, or the other way round.
func TestBehaviourByHand(t *testing.T) {
	for _, tt := range []struct {
		name, actions string
		steps         int
		shares        [4]int // UP, DOWN, LEFT, RIGHT
		off, again    int
		loops         bool
		longest       int
	}{
		{"150 steps into the wall", "U", 150, [4]int{150, 0, 0, 0}, 150, 150, true, 150},
		{"straight to G", "RRRRRRRDDDDDDD", 14, [4]int{0, 7, 0, 7}, 0, 0, false, 7},
		{"to and fro", "RL", 10, [4]int{0, 0, 5, 5}, 0, 9, true, 1},
		{"round four cells", "RDLU", 8, [4]int{2, 2, 2, 2}, 0, 5, true, 1},
		{"round four cells, less than twice", "RDLU", 7, [4]int{1, 2, 2, 2}, 0, 4, false, 1},
		{"round six cells: no loop that is short", "RRDLLU", 24, [4]int{4, 4, 8, 8}, 0, 19, false, 2},
		{"along the wall and into the corner", "RRRRRRRRRRRRRRR", 15, [4]int{0, 0, 0, 15}, 8, 8, true, 15},
		{"one step less of the corner", "RRRRRRRRRRRRRR", 14, [4]int{0, 0, 0, 14}, 7, 7, false, 14},
		{"no step", "U", 0, [4]int{}, 0, 0, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row := rowOf(t, tableOf(t, byHand(t, walked(t, "no-filter", tt.actions, tt.steps)), "behaviour"), nil)
			is := func(key string, count, of int) {
				if c := row[key]; c.Count != count || c.Of != of {
					t.Errorf("%s is %d of %d, want %d of %d", key, c.Count, c.Of, count, of)
				}
			}
			for i, key := range []string{"action_up", "action_down", "action_left", "action_right"} {
				is(key, tt.shares[i], tt.steps)
			}
			is("off_grid", tt.off, tt.steps)
			is("seen_again", tt.again, tt.steps)
			is("looped", map[bool]int{true: 1}[tt.loops], 1)
			is("longest_run", tt.longest, 0)
		})
	}
}

// The drawing shows what the table has, and a wall is a full bar.
func TestBehaviourIsDrawn(t *testing.T) {
	f := byHand(t, walked(t, "no-filter", "U", 150), walked(t, "omcd", "RD", 14))
	fig := figureOf(t, f.Figures(), "figure-behaviour")
	table := tableOf(t, f, "behaviour")
	keys := []string{"action_up", "action_down", "action_left", "action_right", "off_grid", "seen_again", "looped"}
	if len(fig.Panels) != len(keys) {
		t.Fatalf("%d panels, want %d", len(fig.Panels), len(keys))
	}
	for i, p := range fig.Panels {
		for _, s := range p.Series {
			want := rowOf(t, table, map[string]string{"strategy": s.Key})[keys[i]].Value
			near(t, p.Title+" of "+s.Key, s.Points[0].X, *want)
		}
	}
	if up := fig.Panels[0].Series[0].Points[0].X; *up != 1 {
		t.Errorf("150 steps of UP are drawn as %v", *up)
	}
}

// A model at temperature 0 that sees no history repeats itself; the reader of
// such a table has to know. At another temperature, of a control, or where none
// was set, nothing is said.
func TestTemperatureZeroIsNoted(t *testing.T) {
	for _, tt := range []struct {
		model, params string
		want          bool
	}{
		{"m", `{"temperature": 0}`, true}, {"m", `{"temperature": 0.7}`, false}, {"m", `{}`, false}, {"ref/reader", `{"temperature": 0}`, false},
	} {
		f := &analysis.Frame{}
		if err := f.Begin("run", &record.Manifest{Study: json.RawMessage(`{"name": "x", "params": ` + tt.params + `}`)}); err != nil {
			t.Fatal(err)
		}
		trial := walked(t, "no-filter", "U", 9)
		trial.Key, trial.Model, trial.Rows, trial.Cols = "k", tt.model, 8, 8
		if _, err := f.Expect(trial.Spec); err != nil {
			t.Fatal(err)
		}
		if err := f.AddTrial(trial); err != nil {
			t.Fatal(err)
		}
		said := func(notes []string) bool {
			return slices.ContainsFunc(notes, func(s string) bool {
				return strings.Contains(s, "Temperature 0 meets prompts without history ("+tt.model+")")
			})
		}
		if table, fig := said(tableOf(t, f, "behaviour").Notes), said(figureOf(t, f.Figures(), "figure-behaviour").Notes); table != tt.want || fig != tt.want {
			t.Errorf("%s with %s: the table says so: %v, the figure: %v; want %v", tt.model, tt.params, table, fig, tt.want)
		}
	}
}
