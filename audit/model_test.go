package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spatialstale/spatialstale/llm"
)

// A reader is a model that reads the prompt as it was sent, and judges each
// entry by a rule of the test.
type reader struct {
	// rule gives the verdict on the text of an entry, from the lines of the
	// observation; "" leaves it out of the answer.
	rule  func(entry, observation string) string
	calls atomic.Int64

	mu      sync.Mutex
	prompts []string
}

var entryLine = regexp.MustCompile(`(?m)^\[(m\d+)\] (".*")$`)

func (r *reader) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	r.calls.Add(1)
	var prompt strings.Builder
	for i := range req.Parts {
		prompt.WriteString(req.Parts[i].Text())
	}
	r.mu.Lock()
	r.prompts = append(r.prompts, prompt.String())
	r.mu.Unlock()
	_, rest, _ := strings.Cut(prompt.String(), "The observation:\n")
	observation, entries, _ := strings.Cut(rest, "\nThe entries:\n")
	var judgments []map[string]any
	for _, m := range entryLine.FindAllStringSubmatch(entries, -1) {
		var text string
		if err := json.Unmarshal([]byte(m[2]), &text); err != nil {
			return nil, err
		}
		if verdict := r.judge(text, observation); verdict != "" {
			judgments = append(judgments, map[string]any{"memory_id": m[1], "reasoning": "so the rule", "verdict": verdict, "confidence": 0.9, "correction": "now: " + text})
		}
	}
	answer, err := json.Marshal(map[string]any{"judgments": judgments})
	if err != nil {
		return nil, err
	}
	in, out := len(prompt.String())/4, len(answer)/4
	return &llm.Reply{Text: string(answer), Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: &in, OutputTokens: &out}}, nil
}

// lamp is an entry of the check.
var lamp = regexp.MustCompile(`^The lamp with the number \d+ is \w+\.$`)

func (r *reader) judge(text, observation string) string {
	if lamp.MatchString(text) {
		if strings.Contains(observation, "| "+text+"\n") {
			return "valid"
		}
		return "stale"
	}
	return r.rule(text, observation)
}

// gone judges an entry stale when the observation says of its first word that it
// is gone, valid when the observation repeats it, else not covered.
func gone(entry, observation string) string {
	subject, _, _ := strings.Cut(entry, " ")
	switch {
	case strings.Contains(observation, subject+" is gone"):
		return "stale"
	case strings.Contains(observation, entry):
		return "valid"
	}
	return "not_covered"
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("thing%d is here", i)
	}
	return out
}
