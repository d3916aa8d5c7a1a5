package method

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
)

// builtins are the methods that ship with the program, by their names: baselines
// without a model. They answer the requests of the protocol as another program
// would, and know nothing else.
var builtins = map[string]builtin{"diff": diff, "planner": planner}

// Builtins lists their names.
func Builtins() []string { return slices.Sorted(maps.Keys(builtins)) }

// A builtin answers a request.
type builtin func(r *builtinRequest) map[string]any

// builtinRequest is what a built-in method reads of a request.
type builtinRequest struct {
	Type        string           `json:"type"`
	Entries     []navigate.Entry `json:"entries"`
	Memory      struct{ Entries []navigate.Entry }
	Observation observation `json:"observation"`
	Position    [2]int      `json:"position"`
	Goal        [2]int      `json:"goal"`
	Rows        int         `json:"rows"`
	Cols        int         `json:"cols"`
}

func (b builtin) ask(_ context.Context, id string, request []byte) ([]byte, *llm.Error) {
	var r builtinRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Err: err}
	}
	answer := b(&r)
	if answer == nil {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Message: fmt.Sprintf("it answers no request of the type %q; diff is an auditor, planner an agent", r.Type)}
	}
	answer["id"] = id
	return []byte(encoded(answer)), nil
}

func (builtin) close() error { return nil }

var (
	claimPattern = regexp.MustCompile(`^(SAFE|DANGER) at \((\d+),(\d+)\)`)
	cellPattern  = regexp.MustCompile(`\((\d+),(\d+)\)=(\S)`)
)

// diff is an auditor that compares the letters of the listing with what entries
// begin with. Of a picture it reads nothing.
func diff(r *builtinRequest) map[string]any {
	if r.Type != "audit" {
		return nil
	}
	cells := map[string]string{}
	for _, m := range cellPattern.FindAllStringSubmatch(r.Observation.Text, -1) {
		cells[m[1]+","+m[2]] = m[3]
	}
	judgments := []map[string]any{}
	for _, e := range r.Entries {
		said := claimPattern.FindStringSubmatch(e.Text)
		if said == nil {
			continue
		}
		verdict, reason := "not_covered", "the cell is not seen"
		if cell := cells[said[2]+","+said[3]]; cell != "" && cell != "?" {
			verdict, reason = "stale", "the cell is "+cell
			if (cell == "H") == (said[1] == "DANGER") {
				verdict = "valid"
			}
		}
		judgments = append(judgments, map[string]any{"memory_id": e.ID, "verdict": verdict, "reasoning": reason})
	}
	return map[string]any{"method": "diff 1", "judgments": judgments}
}

// planner is an agent that takes a shortest way over cells that an entry in view
// calls SAFE, never over one called DANGER, and over as few without an entry as
// can be. It looks at nothing else.
func planner(r *builtinRequest) map[string]any {
	if r.Type != "act" {
		return nil
	}
	claims := map[[2]int]string{}
	for _, e := range r.Memory.Entries {
		if said := claimPattern.FindStringSubmatch(e.Text); said != nil {
			row, _ := strconv.Atoi(said[2])
			col, _ := strconv.Atoi(said[3])
			claims[[2]int{row, col}] = said[1]
		}
	}
	action := r.firstMove(claims)
	if action == "" { // the memory leaves no way
		action = "RIGHT"
		if r.Position[0] < r.Goal[0] {
			action = "DOWN"
		}
	}
	return map[string]any{"method": "planner 1", "action": action}
}

// moves are the actions in the order in which equal ways are preferred.
var moves = []struct {
	name        string
	down, right int
}{{"DOWN", 1, 0}, {"RIGHT", 0, 1}, {"UP", -1, 0}, {"LEFT", 0, -1}}

// firstMove is the first action of the best way to the goal, "" when there is
// none. Costs spread from the goal until none falls.
func (r *builtinRequest) firstMove(claims map[[2]int]string) string {
	unknown := r.Rows * r.Cols // dearer than any way over safe cells
	enter := func(cell [2]int) (cost int, ok bool) {
		if cell[0] < 0 || cell[0] >= r.Rows || cell[1] < 0 || cell[1] >= r.Cols || claims[cell] == "DANGER" {
			return 0, false
		}
		if claims[cell] == "SAFE" {
			return 1, true
		}
		return unknown, true
	}
	costs := map[[2]int]int{r.Goal: 0} // from each cell to the goal
	for queue := [][2]int{r.Goal}; len(queue) > 0; queue = queue[1:] {
		own, ok := enter(queue[0])
		if !ok {
			continue
		}
		through := costs[queue[0]] + own
		for _, m := range moves {
			from := [2]int{queue[0][0] - m.down, queue[0][1] - m.right}
			if _, inside := enter(from); !inside && from != r.Position {
				continue
			}
			if was, known := costs[from]; !known || through < was {
				costs[from] = through
				queue = append(queue, from)
			}
		}
	}
	best, least := "", 0
	for _, m := range moves {
		next := [2]int{r.Position[0] + m.down, r.Position[1] + m.right}
		own, ok := enter(next)
		rest, known := costs[next]
		if ok && known && (best == "" || own+rest < least) {
			best, least = m.name, own+rest
		}
	}
	return best
}
