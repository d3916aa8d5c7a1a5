package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Value is a part of an answer in JSON, or nothing where the answer lacks it
// or has something of another form there: a server's oddity must not spoil a
// reply that was paid for.
type Value struct{ v any }

// ValueOf returns a decoded value as one.
func ValueOf(v any) Value { return Value{v} }

// Raw returns the decoded value.
func (v Value) Raw() any { return v.v }

// At goes down to a member by its name, or to an element by its number.
func (v Value) At(path ...any) Value {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			object, _ := v.v.(map[string]any)
			v = Value{object[p]}
		case int:
			list, _ := v.v.([]any)
			if p >= len(list) {
				return Value{}
			}
			v = Value{list[p]}
		}
	}
	return v
}

// IsSet reports whether a value is there and not null.
func (v Value) IsSet() bool { return v.v != nil }

// IsObject reports whether it is an object.
func (v Value) IsObject() bool {
	_, ok := v.v.(map[string]any)
	return ok
}

// Names returns the names of an object's members, in order.
func (v Value) Names() []string {
	object, _ := v.v.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// List returns the elements of a list; ok is false where it is none.
func (v Value) List() (elements []Value, ok bool) {
	list, ok := v.v.([]any)
	elements = make([]Value, len(list))
	for i := range list {
		elements[i] = Value{list[i]}
	}
	return elements, ok
}

// Text returns a string, empty where it is none.
func (v Value) Text() string {
	s, _ := v.v.(string)
	return s
}

// IsText reports whether it is a string.
func (v Value) IsText() bool {
	_, ok := v.v.(string)
	return ok
}

// IsTrue and IsFalse report whether it is that boolean.
func (v Value) IsTrue() bool { return v.v == true }

// IsFalse reports whether it is false.
func (v Value) IsFalse() bool { return v.v == false }

// Number returns a number, nil where it is none.
func (v Value) Number() *float64 {
	n, ok := v.v.(json.Number)
	f, err := n.Float64()
	if !ok || err != nil {
		return nil
	}
	return &f
}

// Count returns a number of tokens, nil where there is none.
func (v Value) Count() *int {
	f := v.Number()
	if f == nil || *f != math.Trunc(*f) || *f < 0 || *f > 1e9 {
		return nil
	}
	n := int(*f)
	return &n
}

// Scalar returns a string or a number as text.
func (v Value) Scalar() string {
	switch v := v.v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Parse decodes JSON. Numbers that JSON does not have, which some servers write
// among log-probabilities, are null.
func Parse(text []byte) (Value, error) {
	v, err := parse(text)
	if err == nil {
		return v, nil
	}
	if repaired := notFinite.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '"' {
			return m
		}
		return []byte("null")
	}); !bytes.Equal(repaired, text) {
		if v, err := parse(repaired); err == nil {
			return v, nil
		}
	}
	return Value{}, err
}

// notFinite matches a string of JSON, to step over it, or a number that is none.
var notFinite = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:Infinity|NaN)\b`)

func parse(text []byte) (v Value, err error) {
	if !json.Valid(text) { // says of a second value or a cut one what Unmarshal does
		var any any
		return v, json.Unmarshal(text, &any)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return v, dec.Decode(&v.v)
}

// A Malformed says what is wrong with an answer that cannot be read.
type Malformed string

// Error returns the text.
func (m Malformed) Error() string { return string(m) }

// Text returns the body without a byte order mark and the white space around
// it.
func (a *Answer) Text() []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(a.Body, []byte("\ufeff")))
}

// Decode reads the body as an object in JSON. The error says what it is instead,
// where name is what was awaited, such as "completion".
func (a *Answer) Decode(name string) (Value, error) {
	body := a.Text()
	v, err := Parse(body)
	switch {
	case err == nil && (v.IsObject() || !v.IsSet()):
		return v, nil
	case err == nil:
		return v, Malformed("an answer in JSON that is no " + name)
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	line, more, _ := bytes.Cut(body, []byte("\n"))
	switch {
	case len(body) == 0:
		return v, Malformed("an empty answer")
	case isPage(body):
		return v, Malformed("a web page in place of an answer" + pageTitle(body))
	case kind == "text/event-stream", bytes.HasPrefix(body, []byte("data:")), bytes.HasPrefix(body, []byte("event:")),
		kind == "application/x-ndjson" && len(more) > 0 && json.Valid(line):
		return v, Malformed("a stream in place of an answer")
	case !utf8.Valid(body):
		return v, Malformed(fmt.Sprintf("an answer that is no text, of type %q", kind))
	}
	return v, Malformed(fmt.Sprintf("an answer that is not readable as JSON: %v", err))
}

func isPage(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 200)])
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<head"))
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// pageTitle returns ", titled …" for a page that has a title.
func pageTitle(body []byte) string {
	m := title.FindSubmatch(body[:min(len(body), 4096)])
	if m == nil {
		return ""
	}
	return fmt.Sprintf(", titled %q", strings.TrimSpace(html.UnescapeString(string(m[1]))))
}
