package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Template is a prompt file: text with named places such as {{observation}}.
// Its own text is cut into parts once, so that what never changes is hashed
// once and stored once.
type Template struct {
	pieces []Part
	places []string // places[i] follows pieces[i]
}

var placePattern = regexp.MustCompile(`\{\{([a-z_]+)\}\}\n?`)

// ParseTemplate reads a prompt file in which each of the named places is
// exactly once. A newline right behind a place belongs to the place: whatever
// fills it brings its own.
func ParseTemplate(text string, places ...string) (*Template, error) {
	t := &Template{}
	rest := text
	for {
		m := placePattern.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		name := rest[m[2]:m[3]]
		if !slices.Contains(places, name) {
			if len(places) == 0 {
				return nil, fmt.Errorf("prompt template: {{%s}} is not a place; this text has none", name)
			}
			return nil, fmt.Errorf("prompt template: {{%s}} is not a place; the places are {{%s}}", name, strings.Join(places, "}}, {{"))
		}
		if slices.Contains(t.places, name) {
			return nil, fmt.Errorf("prompt template: {{%s}} is there twice", name)
		}
		t.pieces = append(t.pieces, Text(rest[:m[0]]))
		t.places = append(t.places, name)
		rest = rest[m[1]:]
	}
	t.pieces = append(t.pieces, Text(rest))
	for _, name := range places {
		if !slices.Contains(t.places, name) {
			return nil, fmt.Errorf("prompt template: {{%s}} is missing", name)
		}
	}
	return t, nil
}

// Parts returns the prompt with each place filled by the parts given for it.
// A place without parts, and empty text, leave nothing behind.
func (t *Template) Parts(fill map[string][]Part) []Part {
	n := len(t.pieces)
	for _, parts := range fill {
		n += len(parts)
	}
	out := make([]Part, 0, n)
	for i, piece := range t.pieces {
		out = appendPart(out, piece)
		if i < len(t.places) {
			for _, p := range fill[t.places[i]] {
				out = appendPart(out, p)
			}
		}
	}
	return out
}

// Until returns how many of the parts that Parts returns come before the first
// of the named places: those that stay the same when only these places are
// filled otherwise.
func (t *Template) Until(fill map[string][]Part, places ...string) int {
	n := 0
	count := func(p Part) {
		if !p.empty() {
			n++
		}
	}
	for i, piece := range t.pieces {
		count(piece)
		if i == len(t.places) || slices.Contains(places, t.places[i]) {
			break
		}
		for _, p := range fill[t.places[i]] {
			count(p)
		}
	}
	return n
}

func appendPart(parts []Part, p Part) []Part {
	if p.empty() {
		return parts
	}
	return append(parts, p)
}

func (p *Part) empty() bool { return p.png == nil && p.text == "" }
