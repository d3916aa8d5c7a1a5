package reference_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/reference"
)

func control(t interface{ Fatal(...any) }, name string) *reference.Control {
	c, err := reference.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// look shows a state as text or as a picture.
func look(t interface{ Fatal(...any) }, state *observe.State, vision bool) llm.Part {
	if !vision {
		return llm.Text(state.Text())
	}
	img := observe.Render(state, nil)
	data, err := observe.EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Image(img, data)
}

type judgments struct {
	Judgments []struct {
		ID         string  `json:"memory_id"`
		Stale      bool    `json:"is_stale"`
		Confidence float64 `json:"confidence"`
		Reasoning  string  `json:"reasoning"`
	} `json:"judgments"`
}

func judge(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, c *reference.Control, trial string, entries []memory.Entry, seen llm.Part) judgments {
	reply, err := c.Generate(context.Background(), &llm.Request{
		Trial: trial, Slot: "window0/batch0",
		Parts: []llm.Part{llm.Text("Which are stale? Reply with {\"judgments\": […]}\n"), seen, llm.Text(memory.Lines(entries))},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out judgments
	if err := json.Unmarshal([]byte(reply.Text), &out); err != nil {
		t.Fatalf("%v in %s", err, reply.Text)
	}
	if len(out.Judgments) != len(entries) {
		t.Fatalf("%d judgments for %d entries", len(out.Judgments), len(entries))
	}
	return out
}

func step(t interface{ Fatal(...any) }, c *reference.Control, trial string, state *observe.State, entries []memory.Entry) lake.Action {
	reply, err := c.Generate(context.Background(), &llm.Request{
		Trial: trial, Slot: "step1",
		Parts: []llm.Part{llm.Text(memory.Lines(entries)), look(t, state, false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Action string }
	if err := json.Unmarshal([]byte(reply.Text), &out); err != nil {
		t.Fatal(err)
	}
	a, ok := lake.ParseAction(out.Action)
	if !ok {
		t.Fatal(reply.Text)
	}
	return a
}

// TestReader checks the ceiling: on any lake, in text and in pictures, it flags
// exactly the stale entries, and its steps lie on a shortest safe route.
func TestReader(t *testing.T) {
	reader := control(t, "ref/reader")
	rapid.Check(t, func(t *rapid.T) {
		cfg := instance.Config{Rows: rapid.IntRange(4, 12).Draw(t, "rows"), Cols: rapid.IntRange(4, 12).Draw(t, "cols")}
		seed := rapid.IntRange(0, 9999).Draw(t, "seed")
		in, err := instance.New(seed, rapid.SampledFrom(instance.Regimes).Draw(t, "regime"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		entries := memory.Take(seed, &in.Original)
		now := in.Final()
		state := &observe.State{Grid: now, Agent: now.Start()}
		for i, j := range judge(t, reader, "t", entries, look(t, state, rapid.Bool().Draw(t, "vision"))).Judgments {
			if j.ID != entries[i].ID || j.Stale != entries[i].Stale(&now) {
				t.Fatalf("%+v for %s, now %v", j, entries[i].Line(), now.At(entries[i].Pos))
			}
		}
		dist := now.Distances(now.Goal())
		at := now.Start()
		for at != now.Goal() {
			state.Agent = at
			next := now.Move(at, step(t, reader, "t", state, entries))
			if dist[next.Row*now.NumCols()+next.Col] != dist[at.Row*now.NumCols()+at.Col]-1 {
				t.Fatalf("walks from %v to %v on\n%v", at, next, &now)
			}
			at = next
		}
	})
}

// TestPartialView would fail if a control claimed what it cannot see.
func TestPartialView(t *testing.T) {
	in, err := instance.New(1734, instance.L2, instance.Config{})
	if err != nil {
		t.Fatal(err)
	}
	entries := memory.Take(1734, &in.Original)
	now := in.Final()
	state := &observe.State{Grid: now, Agent: lake.Pos{Row: 3, Col: 3}, Radius: 2}
	for _, vision := range []bool{false, true} {
		for i, j := range judge(t, control(t, "ref/reader"), "t", entries, look(t, state, vision)).Judgments {
			e := &entries[i]
			if want := e.Stale(&now) && state.Sees(e.Pos); j.Stale != want {
				t.Errorf("vision %v: %s flagged %v", vision, e.Line(), j.Stale)
			}
			if !state.Sees(e.Pos) && j.Confidence != 0.5 {
				t.Errorf("vision %v: %s is out of view, judged with confidence %v", vision, e.Line(), j.Confidence)
			}
		}
	}
}

// TestBeliever checks the floor: it flags nothing, and walks by the memory
// into the hole that the memory does not know.
func TestBeliever(t *testing.T) {
	believer := control(t, "ref/believer")
	before, err := lake.Parse([]string{"SFFF", "FHHF", "FHHF", "FFFG"})
	if err != nil {
		t.Fatal(err)
	}
	entries := memory.Take(1, &before)
	now := before
	now.SetHole(lake.Pos{Row: 1, Col: 0}, true)
	state := &observe.State{Grid: now, Agent: now.Start()}
	for _, j := range judge(t, believer, "t", entries, look(t, state, false)).Judgments {
		if j.Stale {
			t.Errorf("flags %s", j.ID)
		}
	}
	if a := step(t, believer, "t", state, entries); a != lake.Down {
		t.Errorf("with the false memory it goes %v, want DOWN into the hole", a)
	}
	if a := step(t, believer, "t", state, nil); a != lake.Right {
		t.Errorf("without memory it goes %v, want RIGHT by what it sees", a)
	}
	without := append(append([]memory.Entry{}, entries[:4]...), entries[5:]...)
	if a := step(t, believer, "t", state, without); a != lake.Right {
		t.Errorf("with the false entry removed it goes %v, want RIGHT", a)
	}
}

// TestMixed checks the knob's documented probabilities over many trials.
func TestMixed(t *testing.T) {
	const name = "ref/mixed?trust=0.3&tpr=0.8&fpr=0.1&vision_tpr=0.4&vision_fpr=0.25&slip=0.2"
	mixed := control(t, name)
	before, err := lake.Parse([]string{"SFFF", "FHHF", "FHHF", "FFFG"})
	if err != nil {
		t.Fatal(err)
	}
	entries := memory.Take(1, &before)
	now := before
	now.SetHole(lake.Pos{Row: 1, Col: 0}, true)
	now.SetHole(lake.Pos{Row: 2, Col: 2}, false)
	state := &observe.State{Grid: now, Agent: now.Start()}
	const trials = 3000
	for _, vision := range []bool{false, true} {
		seen := look(t, state, vision)
		var hits, alarms, stale, valid float64
		for i := range trials {
			for k, j := range judge(t, mixed, fmt.Sprint(i), entries, seen).Judgments {
				flagged := 0.
				if j.Stale {
					flagged = 1
				}
				if entries[k].Stale(&now) {
					stale++
					hits += flagged
				} else {
					valid++
					alarms += flagged
				}
			}
		}
		tpr, fpr := 0.8, 0.1
		if vision {
			tpr, fpr = 0.4, 0.25
		}
		near(t, fmt.Sprintf("tpr, vision %v", vision), hits/stale, tpr, stale)
		near(t, fmt.Sprintf("fpr, vision %v", vision), alarms/valid, fpr, valid)
	}
	down := 0.
	for i := range trials {
		if step(t, mixed, fmt.Sprint(i), state, entries) == lake.Down {
			down++
		}
	}
	// DOWN is the memory's way; it comes from trust, or from a slip.
	near(t, "trust and slip", down/trials, 0.8*0.3+0.2/4, trials)
}

func near(t *testing.T, what string, got, want, n float64) {
	t.Helper()
	if math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("%s is %.4f over %v, want %.4f", what, got, n, want)
	}
}

// TestDetermined would fail if an answer depended on anything but prompt, slot
// and trial.
func TestDetermined(t *testing.T) {
	g, _ := lake.New(8, 8)
	seen := look(t, &observe.State{Grid: g}, false)
	entries := llm.Text(memory.Lines(memory.Take(1, &g)))
	ask := func(trial, slot string) string {
		reply, err := control(t, "ref/mixed?fpr=0.5").Generate(context.Background(), &llm.Request{
			Trial: trial, Slot: slot, Parts: []llm.Part{llm.Text(`"judgments"`), seen, entries},
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Text
	}
	if first, second := ask("a", "s"), ask("a", "s"); first != second {
		t.Error("the same call is answered in two ways")
	}
	if ask("a", "s") == ask("b", "s") || ask("a", "s") == ask("a", "r") || ask("a", "bs") == ask("ab", "s") {
		t.Error("different trials or slots share their draws")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"ref/reader":                  "ref/reader",
		"ref/mixed":                   "ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02",
		"ref/mixed?slip=0.50&trust=1": "ref/mixed?trust=1&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.5",
	} {
		if c := control(t, name); c.Name() != want {
			t.Errorf("%s is called %s, want %s", name, c.Name(), want)
		}
	}
	for name, want := range map[string]string{
		"ref/oracle":                 "there are ref/reader, ref/believer, ref/mixed",
		"ref/reader?tpr=1":           "takes no parameters",
		"ref/mixed?tpr=2":            "tpr=2: want one probability",
		"ref/mixed?tpr=NaN":          "tpr=NaN: want one probability",
		"ref/mixed?tpr=0.1&tpr=0.2":  "want one probability",
		"ref/mixed?thrust=1&trist=1": "unknown parameter thrust, trist; there are trust, tpr",
		"ref/mixed?trust=%zz":        "cannot be read",
	} {
		if _, err := reference.New(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", name, err, want)
		}
	}
}

// TestUnreadable would fail if a control made up an answer to a prompt that
// shows no lake.
func TestUnreadable(t *testing.T) {
	g, _ := lake.New(8, 8)
	listing := (&observe.State{Grid: g}).Listing()
	for name, parts := range map[string][]llm.Part{
		"cannot find an observation": {llm.Text("hello")},
		"cannot read the listing":    {llm.Text(strings.Replace(listing, "(2,2)=F", "(2,2)=X", 1))},
		"cannot find a memory entry": {llm.Text(`"judgments" ` + "\n" + listing)},
		"cannot see where the agent": {llm.Text(listing)},
	} {
		reply, err := control(t, "ref/reader").Generate(context.Background(), &llm.Request{Parts: parts})
		if err != nil || !strings.Contains(reply.Text, name) {
			t.Errorf("%s: %v, %v", name, reply, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := control(t, "ref/reader").Generate(ctx, &llm.Request{}); llm.KindOf(err) != llm.KindCanceled {
		t.Errorf("after the end of its context: %v", err)
	}
}
