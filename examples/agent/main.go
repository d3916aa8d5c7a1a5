// Command agent is a complete small agent with OMCD before its memory. It carries
// parcels through an office whose doors open and close while it walks. What it saw
// it remembers, and it plans by what it remembers; before each step its memory is
// audited against what it sees now.
//
//	go run ./examples/agent                        # rules alone: the doors' states are facts
//	go run ./examples/agent --no-audit             # the same walk, believing everything
//	go run ./examples/agent --model openai/gpt-4o  # a model audits, and the memory is in words
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/audit"
)

func main() {
	name := flag.String("model", "", "the model that audits; none for rules alone")
	blind := flag.Bool("no-audit", false, "believe everything that is remembered")
	seed := flag.Uint64("seed", 1, "of how the doors change")
	flag.Parse()
	var model audit.Model
	if *name != "" {
		var err error
		if model, err = audit.Open(*name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	w, err := work(context.Background(), os.Stdout, newOffice(*seed), model, !*blind)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d parcels in %d steps; walked into %d closed doors.\n", w.delivered, len(parcels), w.steps, w.bumps)
}

// The office: rooms, the doors between them, and where parcels go, one after
// another.
var (
	rooms   = []string{"hall", "kitchen", "library", "lab", "studio", "archive"}
	doors   = [][2]string{{"hall", "kitchen"}, {"hall", "library"}, {"kitchen", "lab"}, {"library", "lab"}, {"library", "studio"}, {"lab", "archive"}, {"studio", "archive"}}
	parcels = []string{"archive", "kitchen", "studio", "hall", "lab", "library", "archive", "hall"}
)

const mostSteps = 80

// An office is the agent's world.
type office struct {
	open map[[2]string]bool
	rand *rand.Rand
	room string // where the agent is
}

func newOffice(seed uint64) *office {
	o := &office{open: map[[2]string]bool{}, rand: rand.New(rand.NewPCG(seed, 0)), room: "hall"}
	for _, d := range doors {
		o.open[d] = true
	}
	return o
}

// change opens or closes a door now and then, never so that a room cannot be
// reached.
func (o *office) change() {
	d := doors[o.rand.IntN(len(doors))]
	if o.rand.IntN(3) > 0 {
		return
	}
	o.open[d] = !o.open[d]
	for _, room := range rooms {
		if route(o.room, room, func(d [2]string) bool { return o.open[d] }) == nil && room != o.room {
			o.open[d] = true
		}
	}
}

// see is what the agent sees: the doors of the room it is in.
func (o *office) see() map[[2]string]bool {
	seen := map[[2]string]bool{}
	for _, d := range doors {
		if d[0] == o.room || d[1] == o.room {
			seen[d] = o.open[d]
		}
	}
	return seen
}

// walk takes the agent through a door, unless that is closed.
func (o *office) walk(d [2]string) bool {
	if !o.open[d] {
		return false
	}
	o.room = other(d, o.room)
	return true
}

func other(d [2]string, room string) string {
	if d[0] == room {
		return d[1]
	}
	return d[0]
}

// route is the shortest way between two rooms through doors of which free is
// true: the doors in order, nil for none.
func route(from, to string, free func([2]string) bool) [][2]string {
	ways := map[string][][2]string{from: {}}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, d := range doors {
			if d[0] != queue[0] && d[1] != queue[0] || !free(d) {
				continue
			}
			next := other(d, queue[0])
			if _, known := ways[next]; !known {
				ways[next] = append(slices.Clip(ways[queue[0]]), d)
				queue = append(queue, next)
			}
		}
	}
	if len(ways[to]) == 0 {
		return nil
	}
	return ways[to]
}

// says is an entry of the memory, or a line of what is seen. As "key: value" it is
// judged without a model.
func says(d [2]string, open bool) string {
	state := "closed"
	if open {
		state = "open"
	}
	return fmt.Sprintf("door %s-%s: %s", d[0], d[1], state)
}

// A walk is what became of the work.
type walk struct{ delivered, steps, bumps int }

// work delivers the parcels.
func work(ctx context.Context, out io.Writer, o *office, model audit.Model, audited bool) (w walk, err error) {
	auditor, err := audit.New(model, audit.Options{
		RulesOnly: model == nil,
		Context:   "The entries are what a courier remembers of the doors in an office; the observation is the doors of the room that it is in.",
		// A memory of which most is stale at once is more likely the wrong view.
		MaxRemovedShare: 0.9,
	})
	if err != nil {
		return w, err
	}
	session := audit.NewSession(auditor, 0)
	var memory []audit.Memory // the agent's store: it only grows by what was seen
	for w.steps < mostSteps && w.delivered < len(parcels) {
		if o.room == parcels[w.delivered] {
			w.delivered++
			continue
		}
		o.change()
		seen := o.see()
		var lines []string
		for _, d := range doors {
			if open, ok := seen[d]; ok {
				lines = append(lines, says(d, open))
			}
		}
		if audited && len(memory) > 0 {
			text := strings.Join(lines, "\n")
			result, err := session.Audit(ctx, memory, audit.Observation{Text: text, Facts: audit.Facts(text)})
			if err != nil && !errors.Is(err, audit.ErrEscalated) {
				return w, err
			}
			for i, v := range result.Verdicts {
				if v.Action == audit.Removed {
					fmt.Fprintf(out, "%-8s forgets %q: %s\n", o.room, memory[i].Text, v.Reason)
				}
			}
			memory = result.Kept
		}
		for _, line := range lines { // it learns what it sees and does not remember
			if !slices.ContainsFunc(memory, func(m audit.Memory) bool { return m.Text == line }) {
				memory = append(memory, audit.Memory{ID: fmt.Sprint("step", w.steps), Text: line})
			}
		}
		w.steps++
		next := plan(o.room, parcels[w.delivered], memory, seen)
		if next != nil && !o.walk(*next) {
			w.bumps++
			fmt.Fprintf(out, "%-8s walks into the closed %s\n", o.room, says(*next, false))
		}
	}
	return w, nil
}

// plan is the next door on the way to a room, by what is remembered: a door is
// thought closed only if the first that is remembered of it says so. Where no way
// is known, doors out of sight are thought open; nil where that does not help.
func plan(from, to string, memory []audit.Memory, seen map[[2]string]bool) *[2]string {
	remembered := func(d [2]string) bool {
		for _, m := range memory {
			switch m.Text {
			case says(d, true):
				return true
			case says(d, false):
				return false
			}
		}
		return true
	}
	way := route(from, to, remembered)
	if way == nil {
		way = route(from, to, func(d [2]string) bool {
			_, inSight := seen[d]
			return !inSight || remembered(d)
		})
	}
	if way == nil {
		return nil
	}
	return &way[0]
}
