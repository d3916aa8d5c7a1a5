package judge

import (
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// done returns what tells whether a reply that still grows has a judgment on
// every asked entry, for llm.Request.Done: each call is given all of the text so
// far, and reads only what is new in it. A text that is no longer than the one
// before, or does not go on from it, is another reply.
//
// It is slow to say so. A reply that begins with other words than JSON may be
// thinking aloud, and what looks like its answer a draft; a judgment that takes
// repairs may read otherwise when it goes on. Such a reply is heard to its end.
func (f form) done(asked []string) func(text string) bool {
	p := &progress{form: f, asked: asked}
	p.restart()
	return p.done
}

// maxJudgment bounds the bytes of one judgment in a reply that is still growing.
const maxJudgment = 16 << 10

// A progress is how far a growing reply has come.
type progress struct {
	form
	asked []string

	names names
	given []bool
	left  int // entries without a judgment
	read  string
	state byte
	open  []bracket
}

// A bracket is one that has not been closed yet.
type bracket struct {
	start int
	holds bool // there is another in it
}

// States of a reply.
const (
	blank   = iota // nothing but white space or the first line of a fence
	fence          // in that line
	between        // outside of a value
	inside         // in a value
	quoted         // in a string of it
	escaped        // behind a backslash in a string
	words          // anything else was said
)

func (p *progress) restart() {
	*p = progress{form: p.form, asked: p.asked, names: names{list: p.asked}, given: make([]bool, len(p.asked)), left: len(p.asked)}
}

func (p *progress) done(text string) bool {
	const overlap = 64
	if n := len(p.read); len(text) <= n || text[max(0, n-overlap):n] != p.read[max(0, n-overlap):] {
		p.restart()
	}
	at := len(p.read)
	p.read = text
	for ; at < len(text) && p.left > 0 && p.state != words; at++ {
		p.step(text, at)
	}
	return p.left == 0
}

// step takes in one byte.
func (p *progress) step(text string, at int) {
	c := text[at]
	switch p.state {
	case quoted:
		switch c {
		case '\\':
			p.state = escaped
		case '"':
			p.state = inside
		}
	case escaped:
		p.state = quoted
	case fence:
		if c == '\n' {
			p.state = between
		}
	case inside:
		switch c {
		case '"':
			p.state = quoted
		case '[', '{':
			p.push(text, at)
		case ']', '}':
			p.pop(text, at+1)
		}
	default:
		switch {
		case strings.IndexByte(" \t\r\n,", c) >= 0:
		case c == '[' || c == '{':
			p.push(text, at)
		case c == '`' && p.state == blank:
			p.state = fence
		default:
			p.state = words
		}
	}
}

// push begins a bracket. In an object that is the whole reply only the list of
// judgments counts: what stands under another key may be a draft.
func (p *progress) push(text string, at int) {
	if n := len(p.open); n > 0 {
		outer := &p.open[n-1]
		if n == 1 && text[outer.start] == '{' {
			key := strings.Join(strings.Fields(text[max(outer.start, at-64):at]), "")
			if !strings.HasSuffix(key, `"judgments":`) {
				p.state = words
				return
			}
		}
		outer.holds = true
	}
	p.open = append(p.open, bracket{start: at})
	p.state = inside
}

// pop ends a bracket. Judgments hold no brackets, so that each byte is read as
// one at most once.
func (p *progress) pop(text string, end int) {
	b := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if len(p.open) == 0 {
		p.state = between
	}
	object := text[b.start:end]
	if b.holds || object[0] != '{' || object[len(object)-1] != '}' || len(object) > maxJudgment {
		return
	}
	v, repairs, ok := llm.Extract(object, func(any) bool { return true })
	if !ok || len(repairs) > 0 {
		return
	}
	for _, j := range p.judgments(v, &p.names) {
		// A number may stand for a place in the batch; see reader.places.
		if i, _, ok := p.names.find(j.id); ok && !isNumber(j.id) && !p.given[i] {
			p.given[i] = true
			p.left--
		}
	}
}
