package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Member is one of a JSON object: of a request's body.
type Member struct {
	Name  string
	Value json.RawMessage
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

// ReadExtra reads the members that a user adds to each request
// (Settings.ExtraBody), in the order in which they stand. Those that are ours
// alone are refused.
func ReadExtra(raw json.RawMessage, ours ...string) ([]Member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	wrong := errors.New("the extra body is not a JSON object")
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, wrong
	}
	var members []Member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, wrong
		}
		m := Member{Name: name.(string)}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, wrong
		}
		if slices.Contains(ours, m.Name) {
			return nil, fmt.Errorf("the extra body cannot set %q", m.Name)
		}
		if slices.ContainsFunc(members, func(n Member) bool { return n.Name == m.Name }) {
			return nil, fmt.Errorf("the extra body has %q twice", m.Name)
		}
		m.Value = Compact(m.Value)
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

// TakeObject takes the member of that name out of a user's members, and returns
// its own members apart: for protocols that keep parameters in an object within
// the body, so that a user's are put over ours one by one. Without such a member
// inner is empty.
func TakeObject(extra []Member, name string) (inner, rest []Member, err error) {
	i := slices.IndexFunc(extra, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil, extra, nil
	}
	inner, err = ReadExtra(extra[i].Value)
	if err != nil {
		return nil, nil, fmt.Errorf("%q in the extra body is not a JSON object without repeats", name)
	}
	return inner, slices.Delete(slices.Clone(extra), i, i+1), nil
}

// Object writes members as an object.
func Object(members []Member) json.RawMessage {
	var b bytes.Buffer
	WriteMembers(&b, members)
	text := bytes.TrimPrefix(b.Bytes(), []byte(","))
	return append(append([]byte("{"), text...), '}')
}

// Overlay puts a user's members over ours: each replaces the one of its name or
// comes last. It returns sent, the parameters that the server may refuse,
// without those replaced, or within one that is ("thinking.type"): they are the
// user's own and are not given up.
func Overlay(members, extra []Member, sent []string) ([]Member, []string) {
	for _, m := range extra {
		i := slices.IndexFunc(members, func(n Member) bool { return n.Name == m.Name })
		if i < 0 {
			members = append(members, m)
			continue
		}
		members[i] = m
		sent = slices.DeleteFunc(sent, func(param string) bool { return param == m.Name || strings.HasPrefix(param, m.Name+".") })
	}
	return members, sent
}

// WriteMembers writes members into an object that has others before them.
func WriteMembers(b *bytes.Buffer, members []Member) {
	for _, m := range members {
		b.WriteByte(',')
		b.Write(Compact(m.Name))
		b.WriteByte(':')
		b.Write(m.Value)
	}
}
