package llm

import (
	"encoding/json"
	"reflect"
	"strings"
)

// An Object is a JSON object as it was written: its members in order, none
// lost. A map would keep only the last of {"is_stale":true,"is_stale":false};
// a reader of replies has to see that such an answer contradicts itself.
type Object []Member

// A Member is one key of an Object with its value: nil, bool, string,
// json.Number, []any or Object.
type Member struct {
	Key   string
	Value any
}

// Has reports whether the key stands in the object.
func (o Object) Has(key string) bool {
	for i := range o {
		if o[i].Key == key {
			return true
		}
	}
	return false
}

// Get returns the key's value. ok is false when the key is missing, and when
// it stands more than once with different values: such an object says nothing
// about the key.
func (o Object) Get(key string) (value any, ok bool) {
	for i := range o {
		switch {
		case o[i].Key != key:
		case !ok:
			value, ok = o[i].Value, true
		case !reflect.DeepEqual(value, o[i].Value):
			return nil, false
		}
	}
	return value, ok
}

// decode reads strict JSON. Validity is the standard library's judgment; the
// tree is built here because the standard decoder loses repeated keys and its
// token reader is several times slower.
func decode(text string) (value any, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	b := builder{text: text}
	return b.value(), true
}

// A builder turns JSON that is known to be valid into values.
type builder struct {
	text string
	at   int
}

func (b *builder) value() any {
	switch b.next() {
	case '{':
		return b.object()
	case '[':
		return b.array()
	case '"':
		return b.str()
	case 't':
		b.at += len("true")
		return true
	case 'f':
		b.at += len("false")
		return false
	case 'n':
		b.at += len("null")
		return nil
	}
	start := b.at
	for b.at < len(b.text) && strings.IndexByte("+-.0123456789eE", b.text[b.at]) >= 0 {
		b.at++
	}
	return json.Number(b.text[start:b.at])
}

func (b *builder) object() Object {
	b.at++ // {
	o := make(Object, 0, 4)
	for b.next() != '}' {
		key := b.str()
		b.next()
		b.at++ // :
		o = append(o, Member{key, b.value()})
		if b.next() == ',' {
			b.at++
		}
	}
	b.at++
	return o
}

func (b *builder) array() []any {
	b.at++ // [
	list := []any{}
	for b.next() != ']' {
		list = append(list, b.value())
		if b.next() == ',' {
			b.at++
		}
	}
	b.at++
	return list
}

// str returns the string that begins here; without an escape it shares the
// text's memory.
func (b *builder) str() string {
	start, escaped := b.at, false
	for b.at++; b.text[b.at] != '"'; b.at++ {
		if b.text[b.at] == '\\' {
			escaped = true
			b.at++
		}
	}
	b.at++
	if !escaped {
		return b.text[start+1 : b.at-1]
	}
	var s string
	// The text is valid JSON, so this cannot fail; a lone surrogate becomes
	// U+FFFD.
	_ = json.Unmarshal([]byte(b.text[start:b.at]), &s)
	return s
}

// next skips white space and returns the byte that follows it, 0 at the end.
func (b *builder) next() byte {
	for b.at < len(b.text) {
		if c := b.text[b.at]; !isSpace(c) {
			return c
		}
		b.at++
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
