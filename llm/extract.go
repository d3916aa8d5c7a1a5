package llm

import (
	"strings"
	"unicode/utf8"
)

// What can have been done to find a value, in the order it is recorded. All but
// the first are Extract's.
const (
	RepairReasoning = "answer-in-reasoning" // the server gave the whole answer as reasoning (Reply.AnsweredInReasoning)
	RepairThinking  = "thinking-removed"    // the value stands outside a region of thinking
	RepairFence     = "fence"               // it was taken out of a Markdown code fence
	RepairEmbedded  = "embedded"            // it was taken out of other text
	RepairLines     = "json-lines"          // several values in a row were taken for one list
	RepairTruncated = "truncated"           // it was cut off; what is complete was kept
	RepairJSON      = "json-repair"         // quotes, commas, literals or the like were mended
)

// Extract finds the JSON value in a reply's text. fits tells whether a value
// is the kind that was asked for; values are made of nil, bool, string,
// json.Number, []any and Object.
//
// Attempts, in this order: the whole text as strict JSON; the last code fence
// that holds a fit; the last bracketed value that fits. Thinking (see
// StripThinking) is left out of all but the first, and each piece is read as
// it stands first, then mended, so that a sloppy final answer still replaces an
// earlier draft. Values with only white space and commas between them are one
// list (JSON lines). A value that the text ends in is cut back to its last
// complete member: no number, word or string is ever completed. A strict value
// that does not fit is not searched for a part that would.
//
// repairs names what was done, nil for strict JSON. Time is about linear in
// the text; a text that would need more gives ok == false.
func Extract(text string, fits func(value any) bool) (value any, repairs []string, ok bool) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = trim(text)
	if text == "" {
		return nil, nil, false
	}
	x := extraction{
		fits: fits,
		// A few readings of everything; past that the text is playing games.
		work:   8*len(text) + 1<<16,
		repair: maxRepairTotal,
	}
	if v, strict := decode(text); strict {
		return x.whole(v)
	}
	pieces, found := outsideThinking(text)
	if found {
		repairs = append(repairs, RepairThinking)
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		if v, more, ok := x.piece(pieces[i]); ok {
			return v, append(repairs, more...), true
		}
	}
	return nil, nil, false
}

// trim removes white space, and the byte-order mark that some servers send.
func trim(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
}

// An extraction is one call of Extract.
type extraction struct {
	fits   func(any) bool
	work   int // bytes that may still be read
	repair int // bytes that jsonrepair may still be given
}

// whole returns the value that a text is, if it fits.
func (x *extraction) whole(v any) (any, []string, bool) {
	if !x.fits(v) {
		return nil, nil, false
	}
	return v, nil, true
}

// piece reads a text without thinking.
func (x *extraction) piece(text string) (any, []string, bool) {
	text = trim(text)
	blocks := fences(text)
	for i := len(blocks) - 1; i >= 0; i-- {
		if v, repairs, ok := x.block(blocks[i]); ok {
			return v, append([]string{RepairFence}, repairs...), true
		}
	}
	return x.block(text)
}

// block reads a text that is a value, or has one in it.
func (x *extraction) block(text string) (any, []string, bool) {
	text = trim(text)
	if v, strict := decode(text); strict {
		return x.whole(v)
	}
	// A quote where none belongs hides everything up to the next one. When
	// nothing fits, look again from behind the first value that cannot be read.
	const rounds = 4
	for round := range rounds {
		t := findSpans(text)
		t.cut = round > 0
		if v, repairs, ok := x.under(t, 0); ok {
			return v, repairs, true
		}
		again := t.behindUnreadable()
		if again == 0 || x.work <= 0 {
			break
		}
		text = text[again:]
	}
	return nil, nil, false
}

// behindUnreadable returns the offset behind the opener of the first value that
// cannot be read and has a quote in it, 0 when there is none. A value that ends
// in a half-written string counts as readable: what that string quotes is no
// answer.
func (t *spans) behindUnreadable() int {
	for _, n := range t.values(0, nil) {
		s := &t.nodes[n]
		if s.readable || s.end == 0 && t.inString {
			continue
		}
		if strings.ContainsAny(t.text[s.start:t.end(n)], `"'“”‘’`) {
			return int(s.start) + 1
		}
	}
	return 0
}

// under finds the last fit among the values directly inside a span, or inside
// those that are not strict JSON.
func (x *extraction) under(t *spans, parent int) (any, []string, bool) {
	runs := t.runs(parent)
	for i := len(runs) - 1; i >= 0; i-- {
		run := make([]candidate, len(runs[i]))
		for j, n := range runs[i] {
			run[j] = x.read(t, n)
		}
		if v, repairs, ok := x.run(t, run); ok {
			return v, repairs, true
		}
		for j := len(run) - 1; j >= 0; j-- {
			if n := run[j].span; !t.nodes[n].strict {
				if v, repairs, ok := x.under(t, n); ok {
					return v, repairs, true
				}
			}
		}
	}
	return nil, nil, false
}

// A candidate is a span and what was read from it.
type candidate struct {
	span      int
	value     any
	ok        bool
	truncated bool
	mended    bool
}

// read reads a span as strict JSON, or mended.
func (x *extraction) read(t *spans, n int) candidate {
	text, truncated := t.source(n)
	c := candidate{span: n, truncated: truncated}
	x.work -= len(text)
	if text == "" || x.work < 0 {
		return c
	}
	v, strict := decode(text)
	c.value, c.ok = v, strict
	if !strict {
		c.mended = true
		c.value, c.ok = mend(text, &x.repair)
	}
	s := &t.nodes[n]
	s.strict, s.readable = strict && !truncated, c.ok
	return c
}

// run tries the values of a run as one; if that does not fit and they are
// lists and objects mixed, the last ones of one kind.
func (x *extraction) run(t *spans, run []candidate) (any, []string, bool) {
	if v, repairs, ok := x.list(t, run); ok {
		return v, repairs, true
	}
	for end := len(run); end > 0; {
		start := end - 1
		for start > 0 && t.kind(run[start-1].span) == t.kind(run[end-1].span) {
			start--
		}
		if start == 0 && end == len(run) {
			break // not mixed
		}
		if v, repairs, ok := x.list(t, run[start:end]); ok {
			return v, repairs, true
		}
		end = start
	}
	return nil, nil, false
}

func (t *spans) kind(n int) byte { return t.text[t.nodes[n].start] }

// list tries the readable ones of some candidates as one value.
func (x *extraction) list(t *spans, run []candidate) (any, []string, bool) {
	var values []any
	var truncated, mended bool
	for _, c := range run {
		if c.ok {
			values = append(values, c.value)
			mended = mended || c.mended
		}
		if c.truncated && (c.ok || t.kind(c.span) == t.kind(run[0].span)) {
			truncated = true
		}
	}
	if len(values) == 0 {
		return nil, nil, false
	}
	var v any = values
	if len(values) == 1 {
		v = values[0]
	}
	if !x.fits(v) {
		return nil, nil, false
	}
	var repairs []string
	first, last := run[0].span, run[len(run)-1].span
	if t.cut || t.nodes[first].start > 0 || t.end(last) < len(t.text) {
		repairs = append(repairs, RepairEmbedded)
	}
	if len(values) > 1 {
		repairs = append(repairs, RepairLines)
	}
	if truncated {
		repairs = append(repairs, RepairTruncated)
	}
	if mended {
		repairs = append(repairs, RepairJSON)
	}
	return v, repairs, true
}
