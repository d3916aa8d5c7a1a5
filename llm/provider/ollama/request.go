package ollama

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Parameters that a server may refuse, by their names on the wire.
const (
	paramThink       = "think"
	paramFormat      = "format"
	paramTruncate    = "truncate"
	paramShift       = "shift"
	paramTemperature = "temperature"
	paramTopP        = "top_p"
	paramLogprobs    = "logprobs"
	paramTopLogprobs = "top_logprobs"
)

// encode writes a request's body that asks for a context of so many tokens. sent
// names those of its parameters that the server may refuse and we could leave
// out.
func (c *Client) encode(req *llm.Request, size int) (sent []string, body []byte) {
	var members, options []provider.Member
	add := func(to *[]provider.Member, param string, value any) {
		if !c.learned.Refused(param) {
			sent = append(sent, param)
			*to = append(*to, provider.Member{Name: param, Value: provider.Compact(value)})
		}
	}
	// Refuse a prompt that does not fit, and stop at the end of the context
	// instead of forgetting the prompt's beginning.
	add(&members, paramTruncate, false)
	add(&members, paramShift, false)
	if n := req.Params.Thinking; n != nil {
		add(&members, paramThink, *n > 0)
	}
	if s := req.Schema; s != nil && !c.opts.Settings.NoSchema {
		add(&members, paramFormat, s.JSON)
	}
	if req.Params.Logprobs && !c.learned.Refused(paramLogprobs) {
		add(&members, paramLogprobs, true)
		add(&members, paramTopLogprobs, topLogprobs)
	}
	options = append(options, provider.Member{Name: "num_ctx", Value: provider.Compact(size)})
	options = append(options, provider.Member{Name: "num_predict", Value: provider.Compact(outputCap(req))})
	if t := req.Params.Temperature; t != nil {
		add(&options, paramTemperature, *t)
	}
	if p := req.Params.TopP; p != nil {
		add(&options, paramTopP, *p)
	}
	options, sent = provider.Overlay(options, c.options, sent)
	members, sent = provider.Overlay(members, c.extra, sent)
	members = append(members, provider.Member{Name: "options", Value: provider.Object(options)})
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(provider.Compact(c.opts.Model))
	b.WriteString(`,"messages":[`)
	writeMessage(&b, req.Parts)
	b.WriteString(`],"stream":false`)
	provider.WriteMembers(&b, members)
	b.WriteByte('}')
	return sent, b.Bytes()
}

// topLogprobs is how many tokens a place are asked for: the most that a server
// grants.
const topLogprobs = 20

// Bounds of the cap on output tokens where a request sets none.
const (
	leastCap = 8192
	mostCap  = 20000
)

// outputCap returns the cap on output tokens, thinking among them. Without one a
// small model that repeats itself would go on to the end of the context. The
// default holds ten verdicts with reasons many times over; longer prompts have
// more entries and want more, three tokens for two bytes. A budget of thinking
// comes on top.
func outputCap(req *llm.Request) int {
	if req.Params.MaxTokens != nil {
		return *req.Params.MaxTokens
	}
	size := 0
	for i := range req.Parts {
		size += len(req.Parts[i].Text())
	}
	n := min(max(leastCap, size*3/2), mostCap)
	if t := req.Params.Thinking; t != nil {
		n += max(0, *t)
	}
	return n
}

// writeMessage writes the prompt as one message. A message has its pictures in a
// list beside its text; the server puts them before it, in their order.
func writeMessage(b *bytes.Buffer, parts []llm.Part) {
	var text strings.Builder
	var pictures int
	for i := range parts {
		text.WriteString(parts[i].Text())
	}
	b.WriteString(`{"role":"user","content":`)
	b.Write(provider.Compact(text.String()))
	for i := range parts {
		if !parts[i].IsImage() {
			continue
		}
		if pictures++; pictures == 1 {
			b.WriteString(`,"images":[`)
		} else {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), parts[i].PNG()))
		b.WriteByte('"')
	}
	if pictures > 0 {
		b.WriteByte(']')
	}
	b.WriteByte('}')
}
