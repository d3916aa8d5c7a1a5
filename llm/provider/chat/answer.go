package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A completion is what is read of a server's answer. Servers differ in much
// else, and none of it may spoil a reply that was paid for.
type completion struct {
	Model   text `json:"model"`
	Choices []struct {
		Message struct {
			Content          content `json:"content"`
			Refusal          text    `json:"refusal"`
			ReasoningContent text    `json:"reasoning_content"`
			Reasoning        text    `json:"reasoning"`
		} `json:"message"`
		FinishReason text            `json:"finish_reason"`
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage usage           `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// A text is a string, or empty where something else stands.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// A content is a message's content: a string, or parts of text and thinking.
type content struct {
	given    bool // not null, and of a form that is known
	text     string
	thinking string
}

// UnmarshalJSON never fails.
func (c *content) UnmarshalJSON(b []byte) error {
	var s string
	if bytes.HasPrefix(b, []byte(`"`)) && json.Unmarshal(b, &s) == nil {
		*c = content{given: true, text: s}
		return nil
	}
	type part struct {
		Type     text            `json:"type"`
		Text     text            `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	var parts []part
	if !bytes.HasPrefix(b, []byte(`[`)) || json.Unmarshal(b, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		c.given = c.given || p.Type == "text"
		c.text += string(p.Text)
		var thought text
		_ = thought.UnmarshalJSON(p.Thinking)
		var thoughts []part
		if json.Unmarshal(p.Thinking, &thoughts) == nil {
			for _, t := range thoughts {
				thought += t.Text
			}
		}
		c.thinking += string(thought)
	}
	return nil
}

// A usage counts tokens under the names that servers use.
type usage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
}

// UnmarshalJSON never fails.
func (u *usage) UnmarshalJSON(b []byte) error {
	type plain usage
	var p plain
	if json.Unmarshal(b, &p) == nil {
		*u = usage(p)
	}
	return nil
}

// A count is a number of tokens, nil where none stands that can be one.
type count struct{ n *int }

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(b []byte) error {
	var f float64
	if bytes.Equal(b, []byte("null")) || json.Unmarshal(b, &f) != nil || f != math.Trunc(f) || f < 0 || f > 1e9 {
		return nil
	}
	n := int(f)
	c.n = &n
	return nil
}

func (c count) or(d count) *int {
	if c.n != nil {
		return c.n
	}
	return d.n
}

// readAnswer reads a server's answer. The error is a *fault where the server
// says that it failed, another where the answer cannot be read.
func readAnswer(a *provider.Answer) (*llm.Reply, error) {
	body := bytes.TrimSpace(bytes.TrimPrefix(a.Body, []byte("\ufeff")))
	if a.Status/100 != 2 {
		return nil, readRefusal(a, body)
	}
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, unreadable(a, body, err)
	}
	if isSet(c.Error) {
		return nil, errorMember(c.Error)
	}
	if len(c.Choices) == 0 {
		if f := findFault(body); f.said() {
			return nil, f
		}
		return nil, malformed("an answer without choices")
	}
	choice := &c.Choices[0]
	m := &choice.Message
	if isSet(choice.Error) {
		return nil, errorMember(choice.Error)
	}
	reply := &llm.Reply{
		Text:      m.Content.text,
		Reasoning: string(m.ReasoningContent),
		Finish:    finish(string(choice.FinishReason)),
		Usage:     llm.Usage{InputTokens: c.Usage.Prompt.or(c.Usage.Input), OutputTokens: c.Usage.Completion.or(c.Usage.Output)},
		Model:     string(c.Model),
	}
	if reply.Reasoning == "" {
		reply.Reasoning = string(m.Reasoning)
	}
	if reply.Reasoning == "" {
		reply.Reasoning = m.Content.thinking
	}
	if reply.Text == "" && m.Refusal != "" {
		reply.Text = string(m.Refusal)
	}
	switch {
	case reply.Finish == finishFailed:
		return nil, &fault{message: "the server ended the reply itself: " + string(choice.FinishReason)}
	case reply.Text != "", m.Content.given, reply.Reasoning != "":
	case reply.Finish == llm.FinishLength, reply.Finish == llm.FinishContentFilter:
	default:
		return nil, malformed("a reply without content")
	}
	return reply, nil
}

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// finishFailed stands for the words with which a server gives up on a reply.
const finishFailed llm.Finish = "\x00failed"

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch strings.ToLower(word) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence":
		return llm.FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filter", "content_filtered", "sensitive", "safety":
		return llm.FinishContentFilter
	case "error", "network_error", "abort", "insufficient_system_resource":
		return finishFailed
	}
	return llm.Finish(word)
}

// markCut marks a reply that is as long as the cap as cut, because some servers
// say stop of it.
func markCut(r *llm.Reply, most *int) {
	if out := r.Usage.OutputTokens; most != nil && out != nil && *out >= *most && (r.Finish == llm.FinishStop || r.Finish == "") {
		r.Finish = llm.FinishLength
	}
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// unreadable says what an answer is that is no completion.
func unreadable(a *provider.Answer, body []byte, err error) error {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0:
		return malformed("an empty answer")
	case isPage(body):
		return malformed("a web page in place of an answer" + pageTitle(body))
	case kind == "text/event-stream", bytes.HasPrefix(body, []byte("data:")), bytes.HasPrefix(body, []byte("event:")):
		return malformed("a stream in place of an answer")
	case !utf8.Valid(body):
		return malformed(fmt.Sprintf("an answer that is no text, of type %q", kind))
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return malformed("an answer in JSON that is no completion")
	}
	return malformed(fmt.Sprintf("an answer that is not readable as JSON: %v", err))
}

func isPage(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 200)])
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<head"))
}

// pageTitle returns ", titled …" for a page that has a title.
func pageTitle(body []byte) string {
	m := title.FindSubmatch(body[:min(len(body), 4096)])
	if m == nil {
		return ""
	}
	return fmt.Sprintf(", titled %q", strings.TrimSpace(html.UnescapeString(string(m[1]))))
}

type malformed string

func (m malformed) Error() string { return string(m) }
