// Package audittest is a model for tests of audits: it reads the prompt of
// package audit as it was sent, and judges each entry by a rule of the test. It
// can be asked in the process, as a Model, or over the wire, as a server of
// Chat Completions.
package audittest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A Rule gives the verdict on the text of an entry by the lines of the
// observation: "stale", "valid" or "not_covered"; "" leaves the entry out of the
// answer.
type Rule func(entry, observation string) string

// Gone is a Rule: an entry is stale when the observation says of its first word
// that it is gone, valid when the observation repeats it, else not covered.
func Gone(entry, observation string) string {
	subject, _, _ := strings.Cut(entry, " ")
	switch {
	case strings.Contains(observation, subject+" is gone"):
		return "stale"
	case strings.Contains(observation, entry):
		return "valid"
	}
	return "not_covered"
}

// A Model answers audits by a rule. The entries of known verdict that an audit
// adds are always judged right. It keeps what it was asked.
type Model struct {
	Rule  Rule
	Delay time.Duration                            // before each answer
	Turn  func(prompt string, reply *llm.Reply)    // changes an answer before it is given; nil for nothing
	Fail  func(ctx context.Context, n int64) error // fails the call of that number, from 1; nil for never

	calls   atomic.Int64
	mu      sync.Mutex
	prompts []string
}

// Calls is how often the model was asked.
func (m *Model) Calls() int64 { return m.calls.Load() }

// Prompts are the texts that it was asked, in no certain order.
func (m *Model) Prompts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.prompts...)
}

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	var prompt strings.Builder
	for i := range req.Parts {
		prompt.WriteString(req.Parts[i].Text())
	}
	return m.answer(ctx, prompt.String())
}

func (m *Model) answer(ctx context.Context, prompt string) (*llm.Reply, error) {
	n := m.calls.Add(1)
	m.mu.Lock()
	m.prompts = append(m.prompts, prompt)
	m.mu.Unlock()
	if m.Delay > 0 {
		select {
		case <-time.After(m.Delay):
		case <-ctx.Done():
			return nil, &llm.Error{Kind: llm.KindCanceled, Model: "audittest", Err: ctx.Err()}
		}
	}
	if m.Fail != nil {
		if err := m.Fail(ctx, n); err != nil {
			return nil, err
		}
	}
	text, err := m.judge(prompt)
	if err != nil {
		return nil, err
	}
	in, out := len(prompt)/4, len(text)/4
	reply := &llm.Reply{Text: text, Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: &in, OutputTokens: &out}}
	if m.Turn != nil {
		m.Turn(prompt, reply)
	}
	return reply, nil
}

// EntryLine matches an entry of a prompt: its id and its text as a JSON string.
var EntryLine = regexp.MustCompile(`(?m)^\[(m\d+)\] (".*")$`)

// lamp matches an entry of known verdict.
var lamp = regexp.MustCompile(`^The lamp with the number \d+ is \w+\.$`)

// A judgment is one of an answer.
type judgment struct {
	ID         string  `json:"memory_id"`
	Reasoning  string  `json:"reasoning"`
	Verdict    string  `json:"verdict"`
	Confidence float64 `json:"confidence"`
	Correction string  `json:"correction,omitempty"`
}

func (m *Model) judge(prompt string) (string, error) {
	_, rest, _ := strings.Cut(prompt, "The observation:\n")
	observation, entries, _ := strings.Cut(rest, "\nThe entries:\n")
	judgments := []judgment{}
	for _, found := range EntryLine.FindAllStringSubmatch(entries, -1) {
		var text string
		if err := json.Unmarshal([]byte(found[2]), &text); err != nil {
			return "", err
		}
		verdict := ""
		switch {
		case !lamp.MatchString(text):
			verdict = m.Rule(text, observation)
		case strings.Contains(observation, "| "+text+"\n"):
			verdict = "valid"
		default:
			verdict = "stale"
		}
		if verdict != "" {
			judgments = append(judgments, judgment{found[1], "so the rule", verdict, 0.9, "now: " + text})
		}
	}
	answer, err := json.Marshal(map[string]any{"judgments": judgments})
	return string(answer), err
}

// Serve serves the model by Chat Completions, under any name, until the server
// is closed. Its URL is what NAME_BASE_URL is for a model openai-api/NAME/MODEL.
func (m *Model) Serve() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Messages []struct{ Content json.RawMessage }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var prompt strings.Builder
		for _, message := range body.Messages {
			var text string
			var parts []struct{ Text string }
			if json.Unmarshal(message.Content, &text) != nil && json.Unmarshal(message.Content, &parts) == nil {
				for _, p := range parts {
					text += p.Text
				}
			}
			prompt.WriteString(text)
		}
		reply, err := m.answer(r.Context(), prompt.String())
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error()}})
			return
		}
		json.NewEncoder(w).Encode(map[string]any{
			"id": "x", "object": "chat.completion", "model": body.Model,
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply.Text}}},
			"usage":   map[string]any{"prompt_tokens": *reply.Usage.InputTokens, "completion_tokens": *reply.Usage.OutputTokens},
		})
	}))
}
