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
		memory := map[string]any{"view": view.Memory, "entries": view.Entries(e.Memory)}
		parts, err := moment(e.Observer, &m, grid, `"type":"act","memory":`+encoded(memory), stateOf(m.Reply))
		if err != nil {
			return nil, err
		}
		return &llm.Request{Trial: e.Trial, Slot: fmt.Sprintf("step%d", t), Purpose: "step", Parts: parts}, nil
	}
}

// moment makes the parts of a request about a moment of an episode, with the
// state that the method asked to be told again.
func moment(o navigate.Observer, m *navigate.Moment, grid bool, first string, state json.RawMessage) ([]llm.Part, error) {
	seen, err := o.Observe(&m.State)
	if err != nil {
		return nil, err
	}
	at, goal := m.State.Agent, m.State.Grid.Goal()
	where := encoded(map[string]any{
		"step": m.Step + 1, "steps_left": m.State.Grid.StepBudget() - m.Step,
		"position": record.Pos{at.Row, at.Col}, "goal": record.Pos{goal.Row, goal.Col},
		"rows": m.State.Grid.NumRows(), "cols": m.State.Grid.NumCols(),
		"state": state,
	})
	var look func() []string
	if grid {
		look = m.State.Seen
	}
	return request(first, look, seen, ","+where[1:len(where)-1]), nil
}

// stateOf is what a method wants to be told again: the member "state" of its
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
