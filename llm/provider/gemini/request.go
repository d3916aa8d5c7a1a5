package gemini

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Parameters that a server may refuse, by their names in generationConfig.
const (
	paramTemperature = "temperature"
	paramTopP        = "topP"
	paramSchema      = "responseJsonSchema"
	paramThinking    = "thinkingConfig"
	paramResolution  = "mediaResolution"
	paramLogprobs    = "responseLogprobs"
)

// encode writes a request's body. sent names those of its parameters that the
// server may refuse and we could leave out.
func (c *Client) encode(req *llm.Request) (sent []string, body []byte) {
	var config []provider.Member
	set := func(name string, value any) {
		config = append(config, provider.Member{Name: name, Value: provider.Compact(value)})
	}
	add := func(param string, value any) bool {
		if c.learned.Refused(param) {
			return false
		}
		sent = append(sent, param)
		set(param, value)
		return true
	}
	if n := req.Params.MaxTokens; n != nil {
		set("maxOutputTokens", *n) // thinking counts among them
	}
	if t := req.Params.Temperature; t != nil {
		add(paramTemperature, *t)
	}
	if p := req.Params.TopP; p != nil {
		add(paramTopP, *p)
	}
	if s := req.Schema; s != nil && !c.opts.Settings.NoSchema && add(paramSchema, s.JSON) {
		set("responseMimeType", "application/json")
	}
	if n := req.Params.Thinking; n != nil {
		// Thoughts cost nothing beyond the thinking that they sum up.
		add(paramThinking, thinking{Budget: *n, Include: *n > 0})
	}
	if d := c.opts.Settings.Detail; d != "" && d != "auto" {
		add(paramResolution, "MEDIA_RESOLUTION_"+strings.ToUpper(d))
	}
	if req.Params.Logprobs && add(paramLogprobs, true) {
		set("logprobs", topLogprobs)
	}
	config, sent = provider.Overlay(config, c.config, sent)
	var members []provider.Member
	if len(config) > 0 {
		members = append(members, provider.Member{Name: "generationConfig", Value: provider.Object(config)})
	}
	members, sent = provider.Overlay(members, c.extra, sent)
	var b bytes.Buffer
	b.WriteString(`{"contents":[{"role":"user","parts":[`)
	writeParts(&b, req.Parts)
	b.WriteString(`]}]`)
	provider.WriteMembers(&b, members)
	b.WriteByte('}')
	return sent, b.Bytes()
}

// topLogprobs is how many tokens a place are asked for: the most that a server
// grants.
const topLogprobs = 20

type thinking struct {
	Budget  int  `json:"thinkingBudget"`
	Include bool `json:"includeThoughts,omitempty"`
}

// writeParts writes the prompt. Neighbouring texts are joined.
func writeParts(b *bytes.Buffer, parts []llm.Part) {
	for i := 0; i < len(parts); {
		if i > 0 {
			b.WriteByte(',')
		}
		if parts[i].IsImage() {
			b.WriteString(`{"inlineData":{"mimeType":"image/png","data":"`)
			b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), parts[i].PNG()))
			b.WriteString(`"}}`)
			i++
			continue
		}
		var text strings.Builder
		for ; i < len(parts) && !parts[i].IsImage(); i++ {
			text.WriteString(parts[i].Text())
		}
		b.WriteString(`{"text":`)
		b.Write(provider.Compact(text.String()))
		b.WriteByte('}')
	}
}
