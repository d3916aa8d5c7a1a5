package shape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/audit"
)

// A kind is how an entry is kept, which says by what calls it is changed.
type kind int

const (
	kindText        kind = iota // in a text or a list that belongs to nobody's service
	kindFile                    // as a file
	kindMem0                    // path: its id
	kindPassage                 // Letta's; path: its id
	kindBlock                   // a line of a block of Letta's; path: the block's id
	kindEdge                    // Graphiti's; path: its uuid
	kindItem                    // LangGraph's; path: the namespace and the key
	kindObservation             // of the MCP memory server; path: the entity and the text
	kindRelation                // path: from, to and the relation's type
)

// listsOf are the members of an answer that hold its records.
var listsOf = []string{"results", "facts", "edges", "items", "passages", "blocks", "memories", "data"}

// readJSON reads records: lists, answers that have a list among their members,
// and values line by line.
func (s *Store) readJSON(doc *document) error {
	data := doc.data
	if bom := "\ufeff"; bytes.HasPrefix(data, []byte(bom)) {
		data = append(bytes.Repeat([]byte(" "), len(bom)), data[len(bom):]...)
	}
	values, err := parseValues(data)
	if err != nil {
		return err
	}
	lines := len(values) > 1
	for _, v := range values {
		s.readValue(doc, v, lines)
	}
	if len(s.Memories) == 0 && s.Passed > 0 {
		return errors.New("its records are in no form that is known: one has a text under memory, fact, text, content or value")
	}
	if s.Format == "" {
		s.Format = JSON
	}
	return nil
}

// readValue reads one value of a file, of which others may be other lines.
func (s *Store) readValue(doc *document, v *node, line bool) {
	whole := place{span: v.span, words: -1}
	if line {
		whole.span = lineOf(doc.data, v.span)
	}
	switch {
	case v.is('['):
		s.readList(doc, v)
	case v.get("entities").is('[') || v.get("relations").is('[') && !v.get("results").is('['): // Mem0's answers may have relations beside their results
		for _, name := range []string{"entities", "relations"} {
			if list := v.get(name); list.is('[') {
				elements := list.spans()
				for i, record := range list.items {
					s.readGraph(doc, record, place{span: record.span, list: elements, at: i, words: -1})
				}
			}
		}
	case v.is('{') && s.isGraph(v):
		s.readGraph(doc, v, whole)
	case v.is('{') && s.readRecord(doc, v, whole):
	case v.is('{'):
		found := false
		for _, name := range listsOf {
			if list := v.get(name); list.is('[') {
				s.readList(doc, list)
				found = true
			}
		}
		if !found {
			s.Passed++
		}
	case v.is('"'):
		s.addText(doc, v, whole)
	default:
		s.Passed++
	}
}

// readList reads the records of a list.
func (s *Store) readList(doc *document, list *node) {
	elements := list.spans()
	for i, item := range list.items {
		p := place{span: item.span, list: elements, at: i, words: -1}
		switch {
		case item.is('"'):
			s.addText(doc, item, p)
		case item.is('{') && s.isGraph(item):
			s.readGraph(doc, item, p)
		case item.is('{') && s.readRecord(doc, item, p):
		default:
			s.Passed++
		}
	}
}

func (s *Store) addText(doc *document, text *node, p place) {
	p.words = text.from + 1
	s.formatIs(JSON)
	s.add(doc, audit.Memory{Text: text.text}, entry{kind: kindText, body: text.text}, p)
}

// formatIs names the format by the first record.
func (s *Store) formatIs(f Format) {
	if s.Format == "" {
		s.Format = f
	}
}

// A form is how a store's records are told and what of them is read.
type form struct {
	format Format
	kind   kind
	known  func(r *node) bool
	text   func(r *node) *node
	path   func(r *node) []string
	label  func(r *node, text string) string // the text with what it needs to be understood; nil for the text
}

// field is a text under one of some names.
func field(names ...string) func(*node) *node {
	return func(r *node) *node { return r.member(names...) }
}

// idOf is an id under one of some names; a number counts as well.
func idOf(names ...string) func(*node) []string {
	return func(r *node) []string {
		for _, name := range names {
			if m := r.get(name); m.is('"') || m.is('0') {
				return []string{m.text}
			}
		}
		return nil
	}
}

// forms are all of them, the plainest last. A Letta block and an MCP graph hold
// several entries and are read by code of their own.
var forms = []form{
	{Graphiti, kindEdge, func(r *node) bool { return r.member("uuid") != nil && r.member("fact") != nil },
		field("fact"), idOf("uuid"), nil},
	{LangGraph, kindItem, func(r *node) bool { return r.get("namespace") != nil && r.get("key") != nil && r.get("value") != nil },
		func(r *node) *node { return valueText(r.get("value")) }, itemPath, nil},
	{Letta, kindPassage, func(r *node) bool {
		return r.member("text") != nil && (r.get("embedding_config") != nil || r.get("archive_id") != nil || strings.HasPrefix(r.str("id"), "passage-"))
	}, field("text"), idOf("id"), nil},
	{Mem0, kindMem0, func(r *node) bool { return r.member("memory") != nil }, field("memory"), idOf("id"), nil},
	{JSON, kindText, func(r *node) bool { return r.member(plainTexts...) != nil }, field(plainTexts...), idOf("id", "key", "uuid", "name"), nil},
}

var plainTexts = []string{"text", "content", "fact", "value", "observation"}

// readRecord reads a record, and reports whether it is one that is known.
func (s *Store) readRecord(doc *document, r *node, p place) bool {
	if block := r.member("value"); block != nil && r.member("label") != nil {
		s.readBlock(doc, r, block)
		return true
	}
	for _, f := range forms {
		if !f.known(r) {
			continue
		}
		text := f.text(r)
		if text == nil {
			return false
		}
		e := entry{kind: f.kind, body: text.text, path: f.path(r)}
		if text.is('"') && text.to > text.from {
			p.words = text.from + 1
		}
		s.formatIs(f.format)
		s.add(doc, audit.Memory{ID: strings.Join(e.path, "/"), Text: text.text, Claims: claims(r)}, e, p)
		return true
	}
	return false
}

// readBlock reads a block of Letta's, of which each line is an entry. Its
// label goes before each, for a line may need it to be understood.
func (s *Store) readBlock(doc *document, r, value *node) {
	s.formatIs(Letta)
	inside := &document{data: []byte(value.text)}
	doc.inner = append(doc.inner, inner{value.span, inside})
	label, id := r.str("label"), r.str("id")
	first := len(s.Memories)
	s.readLines(inside, label+":")
	said := claims(r)
	said.Protected = said.Protected || r.get("read_only").is('t') && r.get("read_only").text == "true"
	for i := first; i < len(s.Memories); i++ {
		s.Memories[i].Text, s.Memories[i].Claims = label+": "+s.Memories[i].Text, said
		s.entries[i].kind, s.entries[i].path = kindBlock, []string{id, label}
	}
}

// itemPath are the namespace and the key of an item of LangGraph's.
func itemPath(r *node) []string {
	var path []string
	if ns := r.get("namespace"); ns.is('[') {
		for _, part := range ns.items {
			path = append(path, part.text)
		}
	} else {
		path = append(path, ns.text)
	}
	return append(path, r.get("key").text)
}

// valueText is the text of a LangGraph value: under a name that is used for it,
// however deep, else all of the value but its embeddings.
func valueText(v *node) *node {
	if v.is('"') {
		return v
	}
	for inner := v; inner.is('{'); {
		if text := inner.member("content", "text", "memory", "fact", "data", "value"); text != nil {
			return text
		}
		inner = inner.get("content")
	}
	text := &node{kind: v.kind, text: plainJSON(v)}
	if text.text == "" {
		return nil
	}
	if first := firstString(v); first != nil { // where words can be put
		text.kind, text.span = first.kind, first.span
	}
	return text
}

// firstString is the first string of a value; nil for none.
func firstString(v *node) *node {
	if v.is('"') {
		return v
	}
	for _, item := range v.items {
		if s := firstString(item); s != nil {
			return s
		}
	}
	return nil
}

// plainJSON writes a value without embeddings: lists of many numbers.
func plainJSON(v *node) string {
	const many = 16
	switch v.kind {
	case '"':
		return quote(v.text)
	case '[':
		if len(v.items) > many && !slices.ContainsFunc(v.items, func(i *node) bool { return i.kind != '0' }) {
			return ""
		}
		return "[" + joined(v, func(i int) string { return plainJSON(v.items[i]) }) + "]"
	case '{':
		return "{" + joined(v, func(i int) string {
			if text := plainJSON(v.items[i]); text != "" {
				return quote(v.keys[i]) + ": " + text
			}
			return ""
		}) + "}"
	case 'n':
		return "null"
	}
	return v.text
}

func joined(v *node, item func(i int) string) string {
	var parts []string
	for i := range v.items {
		if text := item(i); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// isGraph reports whether a record is of the MCP memory server.
func (s *Store) isGraph(r *node) bool {
	return r.member("entityType") != nil && r.get("observations").is('[') || r.member("relationType") != nil && r.member("from") != nil
}

// readGraph reads an entity, of which each observation is an entry, or a
// relation.
func (s *Store) readGraph(doc *document, r *node, p place) {
	if !r.is('{') || !s.isGraph(r) {
		s.Passed++
		return
	}
	s.formatIs(MCP)
	if kind := r.member("relationType"); kind != nil {
		path := []string{r.str("from"), r.str("to"), kind.text}
		p.words = kind.from + 1
		s.add(doc, audit.Memory{ID: strings.Join([]string{path[0], path[2], path[1]}, " "), Text: strings.Join([]string{path[0], path[2], path[1]}, " ")},
			entry{kind: kindRelation, body: kind.text, path: path}, p)
		return
	}
	name, list := r.str("name"), r.get("observations")
	elements := list.spans()
	said := claims(r)
	said.Kind = r.str("entityType")
	for i, o := range list.items {
		if !o.is('"') {
			s.Passed++
			continue
		}
		s.add(doc, audit.Memory{ID: fmt.Sprintf("%s:%d", name, i+1), Text: name + ": " + o.text, Claims: said},
			entry{kind: kindObservation, body: o.text, path: []string{name, o.text}}, place{span: o.span, list: elements, at: i, words: o.from + 1})
	}
}

// lineOf widens the span of a value that is a line to all of the line.
func lineOf(data []byte, s span) span {
	from := bytes.LastIndexByte(data[:s.from], '\n') + 1
	if len(bytes.TrimSpace(data[from:s.from])) == 0 {
		s.from = from
	}
	if end := bytes.IndexByte(data[s.to:], '\n'); end >= 0 && len(bytes.TrimSpace(data[s.to:s.to+end])) == 0 {
		s.to += end + 1
	}
	return s
}
