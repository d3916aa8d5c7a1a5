package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxDepth is how deep JSON may be nested.
const maxDepth = 100

// A node is a value of JSON, with where it stands.
type node struct {
	span
	kind  byte   // '{', '[', '"', '0', 't' (true, false) or 'n' (null)
	text  string // of a string, a number or a boolean
	keys  []string
	items []*node
}

// parseValues reads the JSON values of a text, one after another.
func parseValues(data []byte) ([]*node, error) {
	p := parser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	var values []*node
	for {
		v, err := p.value(0)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, p.explain(err)
		}
		values = append(values, v)
	}
}

type parser struct {
	data []byte
	dec  *json.Decoder
}

func (p *parser) explain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends in the middle of a value")
	}
	line := 1 + bytes.Count(p.data[:min(int(p.dec.InputOffset()), len(p.data))], []byte("\n"))
	return fmt.Errorf("line %d is not the JSON that it begins as: %w", line, err)
}

// value reads one value.
func (p *parser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	from := int(p.dec.InputOffset())
	token, err := p.dec.Token()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	for from < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[from]) >= 0 {
		from++
	}
	n := &node{span: span{from, int(p.dec.InputOffset())}}
	switch t := token.(type) {
	case string:
		n.kind, n.text = '"', t
	case json.Number:
		n.kind, n.text = '0', t.String()
	case bool:
		n.kind, n.text = 't', fmt.Sprint(t)
	case nil:
		n.kind = 'n'
	case json.Delim:
		n.kind = byte(t)
		for p.dec.More() {
			if t == '{' {
				key, err := p.dec.Token()
				if err != nil {
					return nil, err
				}
				n.keys = append(n.keys, key.(string))
			}
			item, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		if _, err := p.dec.Token(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		n.to = int(p.dec.InputOffset())
	}
	return n, nil
}

// get returns the member of a name, the last of several as other readers do; nil
// for none.
func (n *node) get(name string) *node {
	for i, key := range slices.Backward(n.keys) {
		if key == name {
			return n.items[i]
		}
	}
	return nil
}

// is reports whether a node, which may be nil, is of a kind.
func (n *node) is(kind byte) bool { return n != nil && n.kind == kind }

// str returns the first of the members that is a string, or "".
func (n *node) str(names ...string) string {
	if m := n.member(names...); m != nil {
		return m.text
	}
	return ""
}

// member returns the first of the members that is a string; nil for none.
func (n *node) member(names ...string) *node {
	for _, name := range names {
		if m := n.get(name); m.is('"') {
			return m
		}
	}
	return nil
}

// spans are those of the items.
func (n *node) spans() *[]span {
	out := make([]span, len(n.items))
	for i, item := range n.items {
		out[i] = item.span
	}
	return &out
}
