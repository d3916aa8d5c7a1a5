package chat

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// Parameters that a server may refuse, by their names on the wire.
const (
	paramSchema        = "response_format"
	paramTemperature   = "temperature"
	paramTopP          = "top_p"
	paramTokens        = "max_tokens"
	paramCompletionCap = "max_completion_tokens"
)

// A form is what a server takes, as far as is known.
type form struct {
	cap     string          // the name of the cap on output tokens
	renamed bool            // the cap's name was another at first
	left    map[string]bool // parameters that are left out
}

func newForm(o *Options) form {
	f := form{cap: paramTokens, left: map[string]bool{paramSchema: o.Settings.NoSchema}}
	if o.CompletionCap {
		f.cap = paramCompletionCap
	}
	return f
}

// sends reports whether a request in this form can have the parameter.
func (f *form) sends(param string) bool {
	if param == paramTokens || param == paramCompletionCap {
		return f.cap == param
	}
	return !f.left[param]
}

// leave changes the form so that the parameter is not sent. The cap is renamed,
// once, and not left out: without it a reply could cost anything. ok is false
// when the form cannot do without.
func (f *form) leave(param string) (instead string, ok bool) {
	switch param {
	case paramTokens, paramCompletionCap:
		if f.renamed {
			return "", false
		}
		f.renamed, f.cap = true, paramTokens
		if param == paramTokens {
			f.cap = paramCompletionCap
		}
		return f.cap, true
	}
	f.left[param] = true
	return "", true
}

// A member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// encode writes a request's body. sent names those of its parameters that the
// server may refuse and we could leave out.
func (c *Client) encode(req *llm.Request) (sent []string, body []byte) {
	c.mu.Lock()
	var members []member
	add := func(param string, value any) {
		if c.form.sends(param) {
			sent = append(sent, param)
			members = append(members, member{param, compact(value)})
		}
	}
	if n := req.Params.MaxTokens; n != nil {
		add(c.form.cap, *n)
	}
	if t := req.Params.Temperature; t != nil {
		add(paramTemperature, *t)
	}
	if p := req.Params.TopP; p != nil {
		add(paramTopP, *p)
	}
	if s := req.Schema; s != nil {
		add(paramSchema, responseFormat{Type: "json_schema", Schema: schema{s.Name, true, s.JSON}})
	}
	c.mu.Unlock()
	for _, m := range c.extra {
		i := slices.IndexFunc(members, func(n member) bool { return n.name == m.name })
		if i < 0 {
			members = append(members, m)
			continue
		}
		members[i] = m
		sent = slices.DeleteFunc(sent, func(param string) bool { return param == m.name }) // it is the user's own
	}
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(compact(c.opts.Model))
	b.WriteString(`,"messages":[{"role":"user","content":`)
	c.writeContent(&b, req.Parts)
	b.WriteString(`}]`)
	for _, m := range members {
		b.WriteByte(',')
		b.Write(compact(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
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
		b.Write(compact(joined(parts)))
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
			b.Write(compact(joined(parts[i:n])))
			b.WriteByte('}')
			i = n
			continue
		}
		b.WriteString(`{"type":"image_url","image_url":{"url":"data:image/png;base64,`)
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), parts[i].PNG()))
		b.WriteByte('"')
		if c.opts.Settings.Detail != "" {
			b.WriteString(`,"detail":`)
			b.Write(compact(c.opts.Settings.Detail))
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

// compact writes a value of this package as JSON; angle brackets stay as they
// are.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null") // a schema that is no JSON: the server says so
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// readExtra reads the members that a user adds to each request, in the order in
// which they stand.
func readExtra(raw json.RawMessage) ([]member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	wrong := errors.New("the extra body is not a JSON object")
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, wrong
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, wrong
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, wrong
		}
		switch m.name {
		case "model", "messages", "stream", "n":
			return nil, fmt.Errorf("the extra body cannot set %q", m.name)
		}
		if slices.ContainsFunc(members, func(n member) bool { return n.name == m.name }) {
			return nil, fmt.Errorf("the extra body has %q twice", m.name)
		}
		m.value = compact(m.value)
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, wrong
	}
	if dec.More() {
		return nil, wrong
	}
	return members, nil
}
