package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// A Body is the body of a request, or an object within it: members in order.
// Parameters that the server was seen to refuse are left out of it.
type Body struct {
	learned *Learned
	members []member
}

// A member of an object. Its value is of a kind that JSON has, or a *Body.
type member struct {
	name  string
	value any
	param string // by which it is called when the server refuses it; empty where it is not to be given up
}

// Set adds a member that every server takes.
func (b *Body) Set(name string, value any) { b.members = append(b.members, member{name, value, ""}) }

// Try adds a member unless the server refuses it, and reports whether it did.
func (b *Body) Try(name string, value any) bool { return b.TryAs(name, name, value) }

// TryAs is Try for a member that is called otherwise when it is refused.
func (b *Body) TryAs(name, param string, value any) bool {
	if b.learned.Refused(param) {
		return false
	}
	b.members = append(b.members, member{name, value, param})
	return true
}

// Object adds an object within the body. It is left out if it stays empty. What
// a user adds to the body under its name is put over its members one by one.
func (b *Body) Object(name string) *Body {
	inner := &Body{learned: b.learned}
	b.Set(name, inner)
	return inner
}

// Leave tells that a parameter is left out without asking the server.
func (b *Body) Leave(param, why string) { b.learned.Refuse(llm.Change{Param: param, Words: why}) }

// Refused reports whether the server refuses a parameter.
func (b *Body) Refused(param string) bool { return b.learned.Refused(param) }

// ParamBounds is what a schema's bounds are called when a server refuses them.
const ParamBounds = "bounds of the schema"

// Schema returns a schema as it is to be sent, with its bounds unless the server
// refuses them.
func (b *Body) Schema(s *llm.Schema) json.RawMessage {
	if b.learned.Refused(ParamBounds) {
		return s.JSON
	}
	return s.Sent()
}

// sent names the parameters of the body that the server may refuse and that
// could be left out or sent otherwise.
func (b *Body) sent() []string {
	var params []string
	for _, m := range b.members {
		if inner, ok := m.value.(*Body); ok {
			params = append(params, inner.sent()...)
		} else if m.param != "" {
			params = append(params, m.param)
		}
	}
	return params
}

// put puts a user's members over ours: each replaces the one of its name, with
// whatever the server thinks of it, or comes last.
func (b *Body) put(extra []member) error {
	for _, m := range extra {
		i := slices.IndexFunc(b.members, func(n member) bool { return n.name == m.name })
		if i < 0 {
			b.members = append(b.members, m)
			continue
		}
		inner, ok := b.members[i].value.(*Body)
		if !ok {
			b.members[i] = m
			continue
		}
		members, err := readMembers(m.value.(json.RawMessage))
		if err != nil {
			return fmt.Errorf("%q in the extra body is not a JSON object without repeats", m.name)
		}
		if err := inner.put(members); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSON writes the members in order.
func (b *Body) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, m := range b.members {
		if inner, ok := m.value.(*Body); ok && len(inner.members) == 0 {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(Compact(m.name))
		out.WriteByte(':')
		out.Write(Compact(m.value))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Compact writes a value as JSON in one line; angle brackets stay as they are.
func Compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null") // a schema that is no JSON: the server says so
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// readExtra reads the members that a user adds to each request
// (Settings.ExtraBody), in their order. Those that are ours
// alone are refused; one with a dot is a member within an object.
func readExtra(raw json.RawMessage, ours []string) ([]member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	members, err := readMembers(raw)
	if err != nil {
		return nil, fmt.Errorf("the extra body %w", err)
	}
	for _, m := range members {
		for _, name := range ours {
			object, inner, within := strings.Cut(name, ".")
			var has map[string]json.RawMessage
			if within && m.name == object {
				_ = json.Unmarshal(m.value.(json.RawMessage), &has) // whether it is an object is asked later
			}
			if _, sets := has[inner]; sets || m.name == name {
				return nil, fmt.Errorf("the extra body cannot set %q", name[strings.LastIndex(name, ".")+1:])
			}
		}
	}
	return members, nil
}

var errNotObject = errors.New("is not a JSON object")

func readMembers(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errNotObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, errNotObject
		}
		m := member{name: name.(string), value: Compact(value)}
		if slices.ContainsFunc(members, func(n member) bool { return n.name == m.name }) {
			return nil, fmt.Errorf("has %q twice", m.name)
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil || dec.More() {
		return nil, errNotObject
	}
	return members, nil
}

// Texts joins texts that are next to each other: pieces of a prompt as every
// protocol has them, each a text or a picture.
func Texts(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for i := 0; i < len(parts); {
		if parts[i].IsImage() {
			out = append(out, parts[i])
			i++
			continue
		}
		var text strings.Builder
		for ; i < len(parts) && !parts[i].IsImage(); i++ {
			text.WriteString(parts[i].Text())
		}
		out = append(out, llm.Text(text.String()))
	}
	return out
}

// Bounds of DefaultCap.
const (
	leastCap = 8192
	mostCap  = 20000
)

// DefaultCap returns the cap on output tokens of a request that sets none, for
// protocols that want one. Only what is written is charged, so it is generous:
// 8,192 tokens hold ten verdicts with reasons, at 60 to 110 tokens each, many
// times over, and the 64 of a whole store. Longer prompts have more entries: one
// token for two thirds of a byte then, since an entry of 52 bytes wants a
// verdict. Beyond 20,000 a reply would take longer than a request may (10
// minutes at 33 tokens a second), and be lost. A budget of thinking comes on
// top.
func DefaultCap(req *llm.Request) int {
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
