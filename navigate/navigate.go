// Package navigate runs episodes: an agent on a lake that asks a model for one
// action a step, given the current observation and whatever view of the memory
// it is handed (paper, section 3.5).
//
// It stands between observe and record in the data flow. It declares the Viewer
// that turns an observation into a memory view and knows nothing of audits,
// strategies or regimes behind it; a schedule of changes is plain data to it.
package navigate

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// A Viewer gives the memory view for the next decision.
type Viewer interface {
	View(ctx context.Context, m Moment) (View, error)
}

// A Moment is what a Viewer sees before a decision.
type Moment struct {
	State   observe.State
	Step    int    // moves made so far
	Changed bool   // the lake changed since the last view
	Reply   string // the text of the reply to the step before; empty at the first
}

// A View is the memory as the navigator is shown it.
type View struct {
	Memory  string     // record.MemoryNone, MemoryAll or MemoryFiltered
	Parts   []llm.Part // the memory's place in the prompt; none for no memory
	Removed []string   // ids of the episode's memory whose claims are not in the view
	// Shown are the entries of the view where they are others than the episode's
	// memory without Removed; nil where they are those.
	Shown []Entry
}

// An Entry is a line of a memory view, as methods are sent it and give it.
type Entry struct {
	ID   string `json:"memory_id"`
	Text string `json:"text"`
}

// Entries returns the entries of a view of a memory.
func (v *View) Entries(all []memory.Entry) []Entry {
	if v.Shown != nil {
		return v.Shown
	}
	removed := map[string]bool{}
	for _, id := range v.Removed {
		removed[id] = true
	}
	entries := []Entry{}
	for i := range all {
		if !removed[all[i].ID] {
			entries = append(entries, Entry{all[i].ID, all[i].Text})
		}
	}
	return entries
}

// Show returns a view of a memory in which the given entries are shown, whoever
// wrote them. An entry of the memory counts as removed when none of them makes
// its claim.
func Show(entries []Entry, all []memory.Entry) View {
	type claim struct {
		memory.Claim
		lake.Pos
	}
	made := map[claim]bool{}
	for i := range entries {
		if c, at, ok := memory.ReadClaim(entries[i].Text); ok {
			made[claim{c, at}] = true
		}
	}
	v := View{Memory: record.MemoryFiltered, Shown: entries}
	for i := range all {
		if !made[claim{all[i].Claim, all[i].Pos}] {
			v.Removed = append(v.Removed, all[i].ID)
		}
	}
	return v
}

// warns reports whether the view shows an entry of its own that calls the cell
// dangerous.
func (v *View) warns(p lake.Pos) bool {
	return slices.ContainsFunc(v.Shown, func(e Entry) bool {
		c, at, ok := memory.ReadClaim(e.Text)
		return ok && c == memory.Danger && at == p
	})
}

// An Observer shows a state of the lake as the parts of a prompt, without the
// agent's position in words, which every prompt has anyway.
type Observer interface {
	Observe(s *observe.State) ([]llm.Part, error)
}

// An Episode is what happens to the agent: the lake it starts on, the changes
// to come and the memory that was taken before them.
type Episode struct {
	Trial    string // the trial's key, named in every request
	Begin    lake.Grid
	Events   []record.Event // in order of Step
	Memory   []memory.Entry // for causes of death only; nil when the agent has none
	Radius   int            // of the agent's view; 0 for the whole lake
	Strict   bool           // apply every scheduled flip to the letter, even under the agent
	Observer Observer       // shows the lake; required

	Before []record.Step       // steps that were made before, and are taken as they were
	Forced map[int]lake.Action // what is done at a step, from 1, in place of asking
}

// A Navigator is a model with the prompt it is asked with. It is safe for
// concurrent use when its model is.
type Navigator struct {
	model    llm.Model
	request  func(e *Episode, t int, m Moment, view View) (*llm.Request, error)
	template *llm.Template
	legend   []llm.Part
	params   llm.Params
}

// Prompt is the prompt file that ships with the program.
//
//go:embed prompts/navigate.txt
var Prompt string

// Options configure a Navigator.
type Options struct {
	Prompt string // a prompt file's text; empty for the one that ships
	Legend string // what the observation's signs mean
	Params llm.Params
	// Request makes the request of an episode's t-th step in place of the prompt,
	// for whoever reads no prompts; nil for the prompt.
	Request func(e *Episode, t int, m Moment, view View) (*llm.Request, error)
}

// New returns a Navigator. Its error says what is wrong with the prompt file.
func New(model llm.Model, opts Options) (*Navigator, error) {
	if opts.Prompt == "" {
		opts.Prompt = Prompt
	}
	t, err := llm.ParseTemplate(opts.Prompt, "legend", "memory", "observation", "position")
	if err != nil {
		return nil, fmt.Errorf("navigate.txt: %w", err)
	}
	return &Navigator{
		model:    model,
		request:  opts.Request,
		template: t,
		legend:   []llm.Part{llm.Text(opts.Legend)},
		params:   opts.Params,
	}, nil
}

// ActionSchema is the shape of an answer.
var ActionSchema = &llm.Schema{Name: "action", JSON: []byte(`{"type":"object","properties":{"action":{"type":"string","enum":["UP","DOWN","LEFT","RIGHT"]}},"required":["action"],"additionalProperties":false}`)}

// answerTokens are the output tokens of an ample answer: an action has ten, and
// room is left for a model that says why first.
const answerTokens = 1024

// A Result is how an episode went.
type Result struct {
	Outcome lake.Outcome // Success, Death or Timeout
	Steps   []record.Step
	Death   *record.DeathRecord
}

// Run plays one episode to its end. In each step the lake changes, the agent
// observes, moves and is judged, in that order (SPEC 4). An error of the model
// or the viewer ends the episode without a result.
func (n *Navigator) Run(ctx context.Context, e Episode, viewer Viewer) (*Result, error) {
	w := NewWalk(e.Begin, e.Events, e.Strict)
	res := &Result{Outcome: lake.Ongoing}
	said := ""
	for t := 1; res.Outcome == lake.Ongoing; t++ {
		applied, dropped := w.Change()
		if res.Outcome = w.Judge(); res.Outcome != lake.Ongoing { // only a strict schedule does that
			res.Death = e.death(&w, View{}, record.CauseChange)
			return res, nil
		}
		if t <= len(e.Before) {
			step := e.Before[t-1]
			if err := w.Repeat(&step, &res.Outcome); err != nil {
				return nil, err
			}
			res.Steps = append(res.Steps, step)
			continue
		}
		m := Moment{State: observe.State{Grid: w.Grid, Agent: w.At, Radius: e.Radius}, Step: w.Moves, Changed: len(applied) > 0, Reply: said}
		view, err := viewer.View(ctx, m)
		if err != nil {
			return nil, err
		}
		action, forced := e.Forced[t]
		reading := ""
		if !forced {
			reply, err := n.decide(ctx, &e, t, m, view)
			if err != nil {
				return nil, err
			}
			said = reply.Text
			action, reading = ParseAction(reply)
		}
		fallback := reading != ""
		if fallback {
			action = Greedy(w.At, w.Grid.Goal())
		}
		at := w.At
		res.Outcome = w.Move(action)
		res.Steps = append(res.Steps, record.Step{
			T:        t,
			Pos:      pos(at),
			Action:   action.String(),
			Next:     pos(w.At),
			Cell:     w.Grid.At(w.At).String(),
			Fallback: fallback,
			Event:    applied,
			Dropped:  dropped,
			Memory:   view.Memory,
			Removed:  view.Removed,
			Visible:  m.State.Visible(),
			Reply:    reading,
		})
		if res.Outcome == lake.Death {
			cause := ""
			if fallback {
				cause = record.CauseFallback
			}
			res.Death = e.death(&w, view, cause)
		}
	}
	return res, nil
}

// decide asks for one action.
func (n *Navigator) decide(ctx context.Context, e *Episode, t int, m Moment, view View) (*llm.Reply, error) {
	req, err := n.Request(e, t, m, view)
	if err != nil {
		return nil, err
	}
	return n.model.Generate(ctx, req)
}

// Request returns the request of an episode's t-th step, t from 1.
func (n *Navigator) Request(e *Episode, t int, m Moment, view View) (*llm.Request, error) {
	if n.request != nil {
		return n.request(e, t, m, view)
	}
	seen, err := e.Observer.Observe(&m.State)
	if err != nil {
		return nil, err
	}
	left := m.State.Grid.StepBudget() - m.Step
	fill := map[string][]llm.Part{
		"legend":      n.legend,
		"memory":      view.Parts,
		"observation": seen,
		"position":    {llm.Text(fmt.Sprintf("%sSteps left: %d.\n", m.State.Where(), left))},
	}
	return &llm.Request{
		Trial:   e.Trial,
		Slot:    fmt.Sprintf("step%d", t),
		Purpose: "step",
		Parts:   n.template.Parts(fill),
		Shared:  []int{n.template.Until(fill, "memory", "observation", "position"), n.template.Until(fill, "observation", "position")},
		Schema:  ActionSchema,
		Params:  n.params,
		Answer:  answerTokens,
	}, nil
}

// death says what the memory had to do with a death where the walk is. A cause
// that is already known stands.
func (e *Episode) death(w *Walk, view View, cause string) *record.DeathRecord {
	d := &record.DeathRecord{Pos: pos(w.At), Cause: cause}
	var entry *memory.Entry
	for i := range e.Memory {
		if e.Memory[i].Pos == w.At {
			entry = &e.Memory[i]
		}
	}
	if entry != nil {
		d.MemoryID = &entry.ID
	}
	if cause == "" {
		d.Cause = deathCause(entry, &w.Grid, &view)
	}
	return d
}

// deathCause classifies a death (SPEC 7) by the entry for the cell: whether it
// was true, and whether it was in view; or by a warning that the view has of its
// own.
func deathCause(entry *memory.Entry, g *lake.Grid, view *View) string {
	if entry == nil {
		return record.CauseNoMemory
	}
	gone := slices.Contains(view.Removed, entry.ID)
	switch stale := entry.Stale(g); {
	case stale && view.warns(entry.Pos):
		return record.CauseWarned
	case stale && gone:
		return record.CauseStaleRemoved
	case stale:
		return record.CauseStaleShown
	case gone:
		return record.CauseWarningRemoved
	}
	return record.CauseWarned
}

func pos(p lake.Pos) record.Pos { return record.Pos{p.Row, p.Col} }

// Greedy is the step of an agent whose model gave no action: along the axis
// with the larger distance to the goal, DOWN on a tie, blind to holes (SPEC 6).
func Greedy(at, goal lake.Pos) lake.Action {
	if goal.Col-at.Col > goal.Row-at.Row {
		return lake.Right
	}
	return lake.Down
}
