package record

import (
	"encoding/json"
	"strings"
)

// Names of methods, which are other programs, where calls are recorded. The
// agent "mine" of a study walks as the model "agent/mine"; the auditor or the
// memory of the strategy "mine" is "auditor/mine" or "memory/mine", and no model
// of the plan.
const (
	AgentPrefix   = "agent/"
	AuditorPrefix = "auditor/"
	MemoryPrefix  = "memory/"
)

// PersonPrefix begins the names of people who answer in a model's place.
const PersonPrefix = "human/"

// IsPlanned reports whether trials are planned for a model of that name: they
// are not for the program of a strategy.
func IsPlanned(model string) bool {
	return !strings.HasPrefix(model, AuditorPrefix) && !strings.HasPrefix(model, MemoryPrefix)
}

// IsMethod reports whether a name is that of a method.
func IsMethod(model string) bool { return strings.HasPrefix(model, AgentPrefix) || !IsPlanned(model) }

// MostCost is the largest cost in US dollars that a method can report of one
// answer.
const MostCost = 1_000_000

// Reported is what a method says its answer cost, in US dollars: the member
// "cost" of the answer. It is nil for a call of a model and where nothing, or
// nothing possible, was said.
func (c *Call) Reported() *float64 {
	if !IsMethod(c.Model) {
		return nil
	}
	var said struct {
		Cost *float64 `json:"cost"`
	}
	if json.Unmarshal([]byte(c.Reply), &said) != nil || said.Cost == nil || *said.Cost < 0 || *said.Cost > MostCost {
		return nil
	}
	return said.Cost
}
