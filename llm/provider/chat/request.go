package chat

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Parameters that a server may refuse, by their names on the wire.
const (
	paramSchema        = "response_format"
	paramTemperature   = "temperature"
	paramTopP          = "top_p"
	paramTokens        = "max_tokens"
	paramCompletionCap = "max_completion_tokens"
	paramLogprobs      = "logprobs"
	paramTopLogprobs   = "top_logprobs"
)

// encode writes a request's body. sent names those of its parameters that the
// server may refuse and we could leave out.
func (c *Client) encode(req *llm.Request) (sent []string, body []byte) {
	var members []provider.Member
	add := func(param string, value any) {
		if !c.learned.Refused(param) {
			sent = append(sent, param)
			members = append(members, provider.Member{Name: param, Value: provider.Compact(value)})
		}
	}
	if n := req.Params.MaxTokens; n != nil {
		// Never without a cap: a reply could then cost anything. Both names
		// cannot be refused, see change.
		first, second := c.capNames()
		if c.learned.Refused(first) {
			first = second
		}
		add(first, *n)
	}
	if t := req.Params.Temperature; t != nil {
		add(paramTemperature, *t)
	}
	if p := req.Params.TopP; p != nil {
		add(paramTopP, *p)
	}
	if req.Params.Thinking != nil {
		c.learned.Refuse(llm.Change{Param: "thinking", Words: "the protocol has no budget; say how hard the model is to think by its own parameter, with --extra-body"})
	}
	if req.Params.Logprobs && !c.learned.Refused(paramLogprobs) { // without the switch the number is an error
		add(paramLogprobs, true)
		add(paramTopLogprobs, c.opts.topLogprobs())
	}
	if s := req.Schema; s != nil && !c.opts.Settings.NoSchema {
		add(paramSchema, responseFormat{Type: "json_schema", Schema: schema{s.Name, true, s.JSON}})
	}
	members, sent = provider.Overlay(members, c.extra, sent)
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(provider.Compact(c.opts.Model))
	b.WriteString(`,"messages":[{"role":"user","content":`)
	c.writeContent(&b, req.Parts)
	b.WriteString(`}]`)
	provider.WriteMembers(&b, members)
	b.WriteByte('}')
	return sent, b.Bytes()
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema schema `json:"json_schema"`
}

type schema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// writeContent writes the prompt. Neighbouring texts are joined; a prompt
// without pictures is a plain string, which every server takes.
func (c *Client) writeContent(b *bytes.Buffer, parts []llm.Part) {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return p.IsImage() }) {
		b.Write(provider.Compact(joined(parts)))
		return
	}
	b.WriteByte('[')
	for i := 0; i < len(parts); {
		if i > 0 {
			b.WriteByte(',')
		}
		if !parts[i].IsImage() {
			n := i
			for n < len(parts) && !parts[n].IsImage() {
				n++
			}
			b.WriteString(`{"type":"text","text":`)
			b.Write(provider.Compact(joined(parts[i:n])))
			b.WriteByte('}')
			i = n
			continue
		}
		b.WriteString(`{"type":"image_url","image_url":{"url":"data:image/png;base64,`)
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), parts[i].PNG()))
		b.WriteByte('"')
		if c.opts.Settings.Detail != "" {
			b.WriteString(`,"detail":`)
			b.Write(provider.Compact(c.opts.Settings.Detail))
		}
		b.WriteString(`}}`)
		i++
	}
	b.WriteByte(']')
}

func joined(texts []llm.Part) string {
	var b strings.Builder
	for i := range texts {
		b.WriteString(texts[i].Text())
	}
	return b.String()
}
