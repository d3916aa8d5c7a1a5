package method

import (
	"encoding/json"
	"fmt"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/record"
)

// Step returns what makes the requests of an agent's steps
// (navigate.Options.Request). With grid the agent is sent the observation cell
// by cell as well.
func Step(grid bool) func(e *navigate.Episode, t int, m navigate.Moment, view navigate.View) (*llm.Request, error) {
	return func(e *navigate.Episode, t int, m navigate.Moment, view navigate.View) (*llm.Request, error) {
		seen, err := e.Observer.Observe(&m.State)
		if err != nil {
			return nil, err
		}
		at, goal := m.State.Agent, m.State.Grid.Goal()
		where := encoded(map[string]any{
			"step": t, "steps_left": m.State.Grid.StepBudget() - m.Step,
			"position": record.Pos{at.Row, at.Col}, "goal": record.Pos{goal.Row, goal.Col},
			"rows": m.State.Grid.NumRows(), "cols": m.State.Grid.NumCols(),
			"state": stateOf(m.Reply),
		})
		var look func() []string
		if grid {
			look = m.State.Seen
		}
		return &llm.Request{
			Trial: e.Trial, Slot: fmt.Sprintf("step%d", t), Purpose: "step",
			Parts: request(`"type":"act","memory":`+encoded(shown(e, view)), look, seen, ","+where[1:len(where)-1]),
		}, nil
	}
}

// shown is the memory as the agent may see it.
func shown(e *navigate.Episode, view navigate.View) any {
	removed := map[string]bool{}
	for _, id := range view.Removed {
		removed[id] = true
	}
	entries := []entry{}
	for i := range e.Memory {
		if !removed[e.Memory[i].ID] {
			entries = append(entries, entry{e.Memory[i].ID, e.Memory[i].Text})
		}
	}
	return map[string]any{"view": view.Memory, "entries": entries}
}

// stateOf is what an agent wants to be told again: the member "state" of its
// answer to the step before. It is part of the record, so that an episode that
// goes on after an interruption has it too.
func stateOf(answer string) json.RawMessage {
	var said struct {
		State json.RawMessage `json:"state"`
	}
	if json.Unmarshal([]byte(answer), &said) != nil || len(said.State) == 0 {
		return json.RawMessage("null")
	}
	return said.State
}
