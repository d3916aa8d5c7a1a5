package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A completion is what is read of a server's answer. Servers differ in much
// else, and none of it may spoil a reply that was paid for.
type completion struct {
	Model   provider.Text `json:"model"`
	Choices []struct {
		Message struct {
			Content          content       `json:"content"`
			Refusal          provider.Text `json:"refusal"`
			ReasoningContent provider.Text `json:"reasoning_content"`
			Reasoning        provider.Text `json:"reasoning"`
		} `json:"message"`
		FinishReason provider.Text   `json:"finish_reason"`
		Logprobs     logprobs        `json:"logprobs"`
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage usage           `json:"usage"`
	Error json.RawMessage `json:"error"`
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
		Type     provider.Text   `json:"type"`
		Text     provider.Text   `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	var parts []part
	if !bytes.HasPrefix(b, []byte(`[`)) || json.Unmarshal(b, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		c.given = c.given || p.Type == "text"
		c.text += string(p.Text)
		var thought provider.Text
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
	Prompt     provider.Count `json:"prompt_tokens"`
	Completion provider.Count `json:"completion_tokens"`
	Input      provider.Count `json:"input_tokens"`
	Output     provider.Count `json:"output_tokens"`

	OfPrompt     details `json:"prompt_tokens_details"`
	OfCompletion details `json:"completion_tokens_details"`
}

// details say what tokens were.
type details struct {
	Cached     provider.Count `json:"cached_tokens"`
	CacheWrite provider.Count `json:"cache_write_tokens"`
	Reasoning  provider.Count `json:"reasoning_tokens"`
}

// UnmarshalJSON never fails.
func (d *details) UnmarshalJSON(b []byte) error {
	type plain details
	var p plain
	if json.Unmarshal(b, &p) == nil {
		*d = details(p)
	}
	return nil
}

// counts returns the usage as we count it.
func (u *usage) counts() llm.Usage {
	return llm.Usage{
		InputTokens: either(u.Prompt, u.Input), OutputTokens: either(u.Completion, u.Output),
		CachedTokens: u.OfPrompt.Cached.N, CacheWriteTokens: u.OfPrompt.CacheWrite.N, ReasoningTokens: u.OfCompletion.Reasoning.N,
	}
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

// either returns the first count that is known.
func either(c, d provider.Count) *int {
	if c.N != nil {
		return c.N
	}
	return d.N
}

// readAnswer reads a server's answer. The error is a *provider.Fault where the server
// says that it failed, another where the answer cannot be read.
func readAnswer(a *provider.Answer) (*llm.Reply, error) {
	if a.Status/100 != 2 {
		return nil, a.Fault()
	}
	body := a.Text()
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, a.Unreadable("completion", err)
	}
	if provider.IsSet(c.Error) {
		return nil, c.begun(provider.ErrorMember(c.Error))
	}
	if len(c.Choices) == 0 {
		if f := provider.FindFault(body); f.Said() {
			return nil, f
		}
		return nil, provider.Malformed("an answer without choices")
	}
	choice := &c.Choices[0]
	m := &choice.Message
	if provider.IsSet(choice.Error) {
		return nil, c.begun(provider.ErrorMember(choice.Error))
	}
	reply := &llm.Reply{
		Text:      m.Content.text,
		Reasoning: string(m.ReasoningContent),
		Finish:    finish(string(choice.FinishReason)),
		Usage:     c.Usage.counts(),
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
		return nil, &provider.Fault{Message: "the server ended the reply itself: " + string(choice.FinishReason)}
	case reply.Text != "", m.Content.given, reply.Reasoning != "":
	case reply.Finish == llm.FinishLength, reply.Finish == llm.FinishContentFilter:
	default:
		return nil, provider.Malformed("a reply without content")
	}
	reply.Booleans = provider.Tokens(choice.Logprobs).Booleans(reply.Text)
	return reply, nil
}

// begun marks a failure that came with a part of an answer.
func (c *completion) begun(f *provider.Fault) *provider.Fault {
	f.Usage = c.Usage.counts()
	f.Begun = len(c.Choices) > 0 || f.Usage.OutputTokens != nil
	return f
}

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
