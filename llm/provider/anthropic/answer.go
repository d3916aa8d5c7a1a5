package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A message is what is read of a server's answer. Servers may differ in all
// else, and none of it may spoil a reply that was paid for.
type message struct {
	Type        provider.Text `json:"type"`
	Model       provider.Text `json:"model"`
	Content     content       `json:"content"`
	StopReason  provider.Text `json:"stop_reason"`
	StopDetails details       `json:"stop_details"`
	Usage       usage         `json:"usage"`

	Error json.RawMessage `json:"error"`
}

// A content is the list of a message's blocks, as far as they are read. Thinking
// that the server keeps to itself (redacted_thinking) has nothing for us but its
// tokens, which are in the usage; blocks of tools have nothing at all.
type content struct {
	given    bool // it is a list
	empty    bool // of nothing
	known    int  // blocks of text or thinking
	text     string
	thinking string
}

// UnmarshalJSON never fails.
func (c *content) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if !bytes.HasPrefix(b, []byte(`[`)) || json.Unmarshal(b, &list) != nil {
		return nil
	}
	*c = content{given: true, empty: len(list) == 0}
	for _, raw := range list {
		var b struct {
			Type     provider.Text   `json:"type"`
			Text     json.RawMessage `json:"text"`
			Thinking provider.Text   `json:"thinking"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			var s string
			if provider.IsSet(b.Text) && json.Unmarshal(b.Text, &s) == nil {
				c.known++
				c.text += s
			}
		case "redacted_thinking":
			c.known++
		case "thinking":
			c.known++
			if c.thinking != "" && b.Thinking != "" {
				c.thinking += "\n"
			}
			c.thinking += string(b.Thinking)
		}
	}
	return nil
}

// details say why a reply ended.
type details struct {
	Explanation provider.Text `json:"explanation"`
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

// A usage counts tokens. The input is what was neither read from the cache nor
// written to it.
type usage struct {
	Input      provider.Count `json:"input_tokens"`
	CacheRead  provider.Count `json:"cache_read_input_tokens"`
	CacheWrite provider.Count `json:"cache_creation_input_tokens"`
	Output     provider.Count `json:"output_tokens"`
	Details    outputDetails  `json:"output_tokens_details"`
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

type outputDetails struct {
	Thinking provider.Count `json:"thinking_tokens"`
}

// UnmarshalJSON never fails.
func (d *outputDetails) UnmarshalJSON(b []byte) error {
	type plain outputDetails
	var p plain
	if json.Unmarshal(b, &p) == nil {
		*d = outputDetails(p)
	}
	return nil
}

// counts returns the usage as we count it: the input is all of the prompt.
func (u *usage) counts() llm.Usage {
	all := u.Input.N
	if all != nil {
		n := *all
		for _, part := range []*int{u.CacheRead.N, u.CacheWrite.N} {
			if part != nil {
				n += *part
			}
		}
		all = &n
	}
	return llm.Usage{
		InputTokens: all, CachedTokens: u.CacheRead.N, CacheWriteTokens: u.CacheWrite.N,
		OutputTokens: u.Output.N, ReasoningTokens: u.Details.Thinking.N,
	}
}

// readAnswer reads a server's answer. The error is a *provider.Fault where the
// server says that it failed, another where the answer cannot be read.
func readAnswer(a *provider.Answer) (*llm.Reply, error) {
	if a.Status/100 != 2 {
		return nil, a.Fault()
	}
	body := a.Text()
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, a.Unreadable("message", err)
	}
	if provider.IsSet(m.Error) || m.Type == "error" {
		return nil, provider.ErrorMember(body)
	}
	reply := &llm.Reply{
		Text: m.Content.text, Reasoning: m.Content.thinking, Finish: finish(string(m.StopReason)),
		Usage: m.Usage.counts(), Model: string(m.Model),
	}
	if reply.Text == "" && reply.Finish == llm.FinishRefusal {
		reply.Text = string(m.StopDetails.Explanation)
	}
	switch {
	case !m.Content.given && m.StopReason == "":
		if f := provider.FindFault(body); f.Message != "" || f.Code != "" {
			return nil, f
		}
		return nil, provider.Malformed("an answer in JSON that is no message")
	case m.Content.known > 0:
	case reply.Finish == llm.FinishLength, reply.Finish == llm.FinishRefusal:
	case m.Content.empty && m.StopReason != "": // the model had nothing to say
	default:
		return nil, provider.Malformed("a reply without content")
	}
	return reply, nil
}

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch word {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	}
	return llm.Finish(word) // "refusal" is FinishRefusal
}
