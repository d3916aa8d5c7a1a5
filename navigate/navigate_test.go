package navigate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// scripted answers with the given replies in turn, the last one for ever.
type scripted struct {
	replies  []string
	requests []*llm.Request
}

func (s *scripted) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	s.requests = append(s.requests, req)
	i := min(len(s.requests), len(s.replies)) - 1
	return &llm.Reply{Text: s.replies[i], Finish: llm.FinishStop}, nil
}

// views gives the same view at every moment and keeps the moments.
type views struct {
	view    navigate.View
	moments []navigate.Moment
}

func (v *views) View(_ context.Context, m navigate.Moment) (navigate.View, error) {
	v.moments = append(v.moments, m)
	return v.view, nil
}

type listings struct{}

func (listings) Observe(s *observe.State) ([]llm.Part, error) {
	return []llm.Part{llm.Text(s.Grid.String() + "\n")}, nil
}

func run(t *testing.T, e navigate.Episode, view navigate.View, replies ...string) (*navigate.Result, *scripted, *views) {
	t.Helper()
	model := &scripted{replies: replies}
	n, err := navigate.New(model, navigate.Options{Legend: "LEGEND\n"})
	if err != nil {
		t.Fatal(err)
	}
	e.Observer = listings{}
	v := &views{view: view}
	res, err := n.Run(context.Background(), e, v)
	if err != nil {
		t.Fatal(err)
	}
	return res, model, v
}

func grid(t *testing.T, rows ...string) lake.Grid {
	t.Helper()
	g, err := lake.Parse(rows)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var open4 = []string{"SFFF", "FFFF", "FFFF", "FFFG"}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		rows    []string
		replies []string
		outcome lake.Outcome
		steps   int
		last    record.Pos
	}{
		{"success", open4, []string{"DOWN", "DOWN", "DOWN", "RIGHT", "RIGHT", "RIGHT"}, lake.Success, 6, record.Pos{3, 3}},
		{"death", []string{"SFFF", "HFFF", "FFFF", "FFFG"}, []string{"RIGHT", "LEFT", "DOWN"}, lake.Death, 3, record.Pos{1, 0}},
		{"timeout at the wall", open4, []string{"UP"}, lake.Timeout, 22, record.Pos{0, 0}},
		{"fallback dies blind to holes", []string{"SFFF", "HFFF", "FFFF", "FFFG"}, []string{"I refuse."}, lake.Death, 1, record.Pos{1, 0}},
	} {
		res, _, _ := run(t, navigate.Episode{Begin: grid(t, c.rows...)}, navigate.View{Memory: record.MemoryNone}, c.replies...)
		if res.Outcome != c.outcome || len(res.Steps) != c.steps {
			t.Errorf("%s: %v after %d steps, want %v after %d", c.name, res.Outcome, len(res.Steps), c.outcome, c.steps)
			continue
		}
		if last := res.Steps[c.steps-1]; last.Next != c.last || last.T != c.steps {
			t.Errorf("%s: the last step is %+v", c.name, last)
		}
		if (res.Death != nil) != (c.outcome == lake.Death) {
			t.Errorf("%s: death record %v", c.name, res.Death)
		}
	}
}

// TestPrompt pins what the navigator is told: the unchanging first, then the
// memory, then the moment.
func TestPrompt(t *testing.T) {
	view := navigate.View{Memory: record.MemoryAll, Parts: []llm.Part{llm.Text("MEMORY\n")}}
	_, model, _ := run(t, navigate.Episode{Trial: "abc", Begin: grid(t, open4...)}, view, "DOWN", "DOWN", "DOWN", "RIGHT")
	var b strings.Builder
	req := model.requests[3]
	for i := range req.Parts {
		b.WriteString(req.Parts[i].Text())
	}
	text := b.String()
	order := []string{"frozen lake", "LEGEND\n", "MEMORY\n", "Current observation:\nSFFF\nFFFF\nFFFF\nFFFG\n", "Agent at (3,0). Goal at (3,3).\nSteps left: 19.\n", `"action"`}
	at := 0
	for _, want := range order {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow in the prompt:\n%s", want, text)
		}
		at += i + len(want)
	}
	if req.Slot != "step4" || req.Trial != "abc" || req.Purpose != "step" || req.Schema == nil {
		t.Errorf("request is named %q, %q, %q", req.Trial, req.Slot, req.Purpose)
	}
	// Caches are told where the memory begins and where the observation does.
	if len(req.Shared) != 2 || req.Parts[req.Shared[0]].Text() != "MEMORY\n" || !strings.HasPrefix(req.Parts[req.Shared[1]].Text(), "SFFF") {
		t.Errorf("shared %v", req.Shared)
	}
}

// TestChanges checks the order change, observe, move, judge, and the flips that
// are dropped so that nobody dies without stepping.
func TestChanges(t *testing.T) {
	events := []record.Event{
		{Step: 1, Flips: []record.Flip{{Pos: record.Pos{1, 0}, To: "H"}, {Pos: record.Pos{0, 2}, To: "H"}}}, // (1,0) is under the agent
		{Step: 2, Flips: []record.Flip{{Pos: record.Pos{1, 0}, To: "F"}}},                                   // moot: it never became a hole
		{Step: 3, Flips: []record.Flip{{Pos: record.Pos{3, 1}, To: "H"}, {Pos: record.Pos{2, 0}, To: "F"}}},
	}
	rows := []string{"SFFF", "FFFF", "FFHF", "FHFG"}
	// After move 3 the agent stands at (3,0); making (3,1) a hole is moot, it is one.
	res, _, v := run(t, navigate.Episode{Begin: grid(t, rows...), Events: events}, navigate.View{Memory: record.MemoryNone}, "DOWN", "DOWN", "DOWN", "UP", "UP", "RIGHT")
	flips := func(fs []record.Flip) string { return fmt.Sprint(fs) }
	if got := flips(res.Steps[1].Event); got != "[{[0 2] H}]" {
		t.Errorf("step 2 applied %s", got)
	}
	if got := flips(res.Steps[1].Dropped); got != "[{[1 0] H}]" {
		t.Errorf("step 2 dropped %s", got)
	}
	if len(res.Steps[2].Event)+len(res.Steps[2].Dropped)+len(res.Steps[3].Event)+len(res.Steps[3].Dropped) != 0 {
		t.Errorf("moot flips left a trace: %+v, %+v", res.Steps[2], res.Steps[3])
	}
	for i, m := range v.moments[:4] {
		if m.Step != i || m.Changed != (i == 1) {
			t.Errorf("moment %d says step %d, changed %v", i, m.Step, m.Changed)
		}
		if want := i >= 1; m.State.Grid.IsHole(lake.Pos{Row: 0, Col: 2}) != want {
			t.Errorf("moment %d sees the wrong lake", i)
		}
	}
}

// TestCutOff would fail if a change could lock the agent away from the goal.
func TestCutOff(t *testing.T) {
	rows := []string{"SFFF", "HHHF", "FFFF", "FFFG"}
	events := []record.Event{{Step: 1, Flips: []record.Flip{{Pos: record.Pos{0, 2}, To: "H"}}}}
	res, _, _ := run(t, navigate.Episode{Begin: grid(t, rows...), Events: events}, navigate.View{}, "RIGHT")
	if len(res.Steps[1].Dropped) != 1 || len(res.Steps[1].Event) != 0 {
		t.Errorf("a flip that cuts the agent off was applied: %+v", res.Steps[1])
	}
}

// TestStrict follows the schedule to the letter: the agent dies where it
// stands, without a step.
func TestStrict(t *testing.T) {
	events := []record.Event{{Step: 1, Flips: []record.Flip{{Pos: record.Pos{1, 0}, To: "H"}}}}
	g := grid(t, open4...)
	res, model, _ := run(t, navigate.Episode{Begin: g, Events: events, Strict: true, Memory: memory.Take(1, &g)}, navigate.View{Memory: record.MemoryAll}, "DOWN")
	if res.Outcome != lake.Death || len(res.Steps) != 1 || len(model.requests) != 1 {
		t.Fatalf("%v after %d steps and %d calls", res.Outcome, len(res.Steps), len(model.requests))
	}
	if res.Death.Cause != record.CauseChange || res.Death.Pos != (record.Pos{1, 0}) || *res.Death.MemoryID != "mem_004" {
		t.Errorf("death %+v", res.Death)
	}
}

// TestCauses walks into one cell under each memory view.
func TestCauses(t *testing.T) {
	ice, hole := grid(t, open4...), grid(t, "SFFF", "HFFF", "FFFF", "FFFG")
	for _, c := range []struct {
		name       string
		remembered *lake.Grid
		removed    []string
		reply      string
		want       string
	}{
		{"no memory", nil, nil, "DOWN", record.CauseNoMemory},
		{"false entry in view", &ice, nil, "DOWN", record.CauseStaleShown},
		{"false entry removed", &ice, []string{"mem_004"}, "DOWN", record.CauseStaleRemoved},
		{"true warning in view", &hole, []string{"mem_005"}, "DOWN", record.CauseWarned},
		{"true warning removed", &hole, []string{"mem_004"}, "DOWN", record.CauseWarningRemoved},
		{"fallback", &ice, nil, "no idea", record.CauseFallback},
	} {
		e := navigate.Episode{Begin: hole}
		if c.remembered != nil {
			e.Memory = memory.Take(1, c.remembered)
		}
		res, _, _ := run(t, e, navigate.View{Memory: record.MemoryFiltered, Removed: c.removed}, c.reply)
		if res.Death == nil || res.Death.Cause != c.want || (res.Death.MemoryID == nil) != (c.remembered == nil) {
			t.Errorf("%s: death %+v, want cause %s", c.name, res.Death, c.want)
		}
		if s := res.Steps[0]; s.Fallback != (c.want == record.CauseFallback) || (s.Reply != "") != s.Fallback || !slices.Equal(s.Removed, c.removed) {
			t.Errorf("%s: step %+v", c.name, s)
		}
	}
}

// TestShow: of a view in other words, entries count as removed whose claims it
// does not make, and a death goes by what it says of the cell.
func TestShow(t *testing.T) {
	ice, hole := grid(t, open4...), grid(t, "SFFF", "HFFF", "FFFF", "FFFG")
	for shown, want := range map[string]string{
		"SAFE at (1,0): seen long ago": record.CauseStaleShown,
		"UNKNOWN at (1,0)":             record.CauseStaleRemoved,
		"DANGER at (1,0): it melted":   record.CauseWarned,
		"DANGER at (2,0)":              record.CauseStaleRemoved,
		"SAFEST at (1,0)":              record.CauseStaleRemoved,
	} {
		all := memory.Take(1, &ice)
		view := navigate.Show([]navigate.Entry{{ID: "x", Text: shown}, {ID: "y", Text: all[1].Text}}, all)
		if slices.Contains(view.Removed, "mem_001") || slices.Contains(view.Removed, "mem_004") != (want != record.CauseStaleShown) || len(view.Removed) < 14 {
			t.Errorf("%s: removed %v", shown, view.Removed)
		}
		res, _, _ := run(t, navigate.Episode{Begin: hole, Memory: all}, view, "DOWN")
		if res.Death == nil || res.Death.Cause != want {
			t.Errorf("%s: death %+v, want cause %s", shown, res.Death, want)
		}
	}
}

// TestGreedy pins the fallback: the longer axis, DOWN on a tie.
func TestGreedy(t *testing.T) {
	goal := lake.Pos{Row: 7, Col: 7}
	for at, want := range map[lake.Pos]lake.Action{
		{Row: 0, Col: 0}: lake.Down, {Row: 1, Col: 0}: lake.Right, {Row: 0, Col: 1}: lake.Down,
		{Row: 7, Col: 6}: lake.Right, {Row: 6, Col: 7}: lake.Down,
	} {
		if got := navigate.Greedy(at, goal); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

// TestErrors would fail if a model's failure were taken for a step.
func TestErrors(t *testing.T) {
	boom := &llm.Error{Kind: llm.KindServer, Model: "m", Message: "boom"}
	n, err := navigate.New(failing{boom}, navigate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := n.Run(context.Background(), navigate.Episode{Begin: grid(t, open4...), Observer: listings{}}, &views{})
	if res != nil || !errors.Is(err, boom) {
		t.Errorf("got %v, %v", res, err)
	}
	if _, err := navigate.New(failing{}, navigate.Options{Prompt: "{{legend}} {{memory}} {{observation}}"}); err == nil || !strings.Contains(err.Error(), "{{position}} is missing") {
		t.Errorf("a prompt without a position: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Generate(context.Context, *llm.Request) (*llm.Reply, error) { return nil, f.err }

// TestWalk replays episodes with random replies and changes by the rules alone:
// each step's record follows from the one before.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _ := lake.New(5, 6)
		for range rapid.IntRange(0, 8).Draw(t, "holes") {
			g.SetHole(drawPos(t), true)
		}
		var events []record.Event
		for step := 1; step < 20; step += rapid.IntRange(1, 6).Draw(t, "gap") {
			e := record.Event{Step: step}
			for range rapid.IntRange(1, 3).Draw(t, "flips") {
				p := drawPos(t)
				if p == g.Start() || p == g.Goal() {
					continue
				}
				e.Flips = append(e.Flips, record.Flip{Pos: record.Pos{p.Row, p.Col}, To: rapid.SampledFrom([]string{"F", "H"}).Draw(t, "to")})
			}
			events = append(events, e)
		}
		replies := rapid.SliceOfN(rapid.SampledFrom([]string{"UP", "DOWN", "LEFT", "RIGHT", "?"}), 60, 60).Draw(t, "replies")
		n, err := navigate.New(&scripted{replies: replies}, navigate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := n.Run(context.Background(), navigate.Episode{Begin: g, Events: events, Observer: listings{}}, &views{})
		if err != nil {
			t.Fatal(err)
		}
		at := g.Start()
		for i, s := range res.Steps {
			for _, f := range s.Event {
				p := lake.Pos{Row: f.Pos[0], Col: f.Pos[1]}
				if p == at || g.IsHole(p) == (f.To == "H") {
					t.Fatalf("step %d applied %v with the agent at %v", s.T, f, at)
				}
				g.SetHole(p, f.To == "H")
			}
			a, _ := lake.ParseAction(s.Action)
			if s.Fallback != (replies[i] == "?") || !s.Fallback && s.Action != replies[i] || s.T != i+1 {
				t.Fatalf("step %+v for reply %s", s, replies[i])
			}
			next := g.Move(at, a)
			if s.Pos != (record.Pos{at.Row, at.Col}) || s.Next != (record.Pos{next.Row, next.Col}) || s.Cell != g.At(next).String() {
				t.Fatalf("step %+v from %v", s, at)
			}
			at = next
			if over := g.Judge(at) != lake.Ongoing; over != (i == len(res.Steps)-1) && !(res.Outcome == lake.Timeout && !over) {
				t.Fatalf("episode went on after %v, or ended before its end", g.Judge(at))
			}
		}
		if res.Outcome == lake.Timeout && len(res.Steps) != g.StepBudget() || res.Outcome != lake.Timeout && g.Judge(at) != res.Outcome {
			t.Fatalf("%v after %d steps at %v", res.Outcome, len(res.Steps), at)
		}
	})
}

func drawPos(t *rapid.T) lake.Pos {
	return lake.Pos{Row: rapid.IntRange(0, 4).Draw(t, "row"), Col: rapid.IntRange(0, 5).Draw(t, "col")}
}
