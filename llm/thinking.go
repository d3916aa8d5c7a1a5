package llm

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// StripThinking returns the text without the regions in which a model thinks
// aloud: <think>, <thinking>, <thought>, <reasoning> and the like. A region
// that is never closed swallows everything behind it; a closing tag without an
// opening one, everything before it, because many chat templates write the
// opening tag themselves. A tag inside a string of a JSON value is no tag.
// found reports whether there was any; the pieces left are joined by newlines.
func StripThinking(text string) (rest string, found bool) {
	pieces, found := outsideThinking(text)
	if !found {
		return text, false
	}
	return strings.TrimSpace(strings.Join(pieces, "\n")), true
}

// thinkingTag matches a tag that a text begins with. The alternatives, in order:
// XML-like tags of many models, Mistral's, Kimi's, OpenThinker's, and the
// channels of gpt-oss.
var thinkingTag = regexp.MustCompile(`(?i)^(?:` +
	`<(?P<close>/?)(?:[a-z]+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)(?:\s[^<>]*)?>` +
	`|\[(?P<close>/?)think\]` +
	`|◁(?P<close>/?)think▷` +
	`|<\|(?:begin|(?P<close>end))_of_thought\|>` +
	`|<\|channel\|>(?:analysis|(?P<close>final))<\|message\|>)`)

// maxTag bounds the length of a tag, in bytes.
const maxTag = 256

// outsideThinking returns the pieces of text that stand outside thinking,
// in order.
func outsideThinking(text string) (pieces []string, found bool) {
	thinking, from := false, 0
	for _, tag := range thinkingTags(text) {
		found = true
		switch {
		case !tag.close && !thinking:
			pieces = append(pieces, text[from:tag.start])
			thinking = true
		case tag.close && thinking:
			thinking = false
		case tag.close:
			pieces = nil
		}
		from = tag.end
	}
	if !thinking {
		pieces = append(pieces, text[from:])
	}
	return pieces, found
}

type tag struct {
	start, end int
	close      bool
}

// thinkingTags finds the tags that stand outside of JSON strings.
func thinkingTags(text string) []tag {
	var tags []tag
	for i := 0; i < len(text); i++ {
		if !beginsTag(text[i:]) {
			continue
		}
		m := thinkingTag.FindStringSubmatchIndex(text[i:min(len(text), i+maxTag)])
		if m == nil {
			continue
		}
		t := tag{start: i, end: i + m[1]}
		for g := 2; g < len(m); g += 2 {
			if m[g] < m[g+1] {
				t.close = true
			}
		}
		tags = append(tags, t)
		i = t.end - 1
	}
	if len(tags) == 0 {
		return nil
	}
	q := quotedTags{t: findSpans(text), tags: tags, work: 8*len(text) + 1<<16}
	q.under(0)
	outside := tags[:0]
	for i := range tags {
		if !q.quoted[i] {
			outside = append(outside, tags[i])
		}
	}
	return outside
}

// beginsTag spares the regular expression, which is slow, most of a text.
func beginsTag(text string) bool {
	switch text[0] {
	case '<':
		return len(text) > 1 && text[1] != ' '
	case '[':
		return len(text) > 1 && strings.IndexByte("tT/", text[1]) >= 0
	case "◁"[0]:
		return strings.HasPrefix(text, "◁")
	}
	return false
}

// quotedTags finds the tags inside valid JSON values. No tag is JSON, so such a
// tag can only stand in a string.
type quotedTags struct {
	t      *spans
	tags   []tag
	quoted map[int]bool
	work   int // bytes that may still be looked at
}

func (q *quotedTags) under(parent int) {
	next := 0 // the first tag that may stand in this span or a later one
	for _, n := range q.t.values(parent, nil) {
		start, end := int(q.t.nodes[n].start), q.t.end(n)
		for next < len(q.tags) && q.tags[next].start < start {
			next++
		}
		if next == len(q.tags) || q.work <= 0 {
			return
		}
		if q.tags[next].start >= end {
			continue
		}
		q.work -= end - start
		whole := q.t.nodes[n].end > 0
		if whole && !json.Valid([]byte(q.t.text[start:end])) || !whole && !isCutJSON(q.t.text[start:]) {
			q.under(n)
			continue
		}
		for i := next; i < len(q.tags) && q.tags[i].start < end; i++ {
			// In the string that a value was cut off in, a closing tag is more
			// likely the end of a draft than a word.
			if !q.tags[i].close || !q.t.inString || q.tags[i].start < q.t.stringAt {
				q.mark(i)
			}
		}
	}
}

func (q *quotedTags) mark(i int) {
	if q.quoted == nil {
		q.quoted = map[int]bool{}
	}
	q.quoted[i] = true
}

// isCutJSON reports whether text is the beginning of a JSON value.
func isCutJSON(text string) bool {
	var v json.RawMessage
	return errors.Is(json.NewDecoder(strings.NewReader(text)).Decode(&v), io.ErrUnexpectedEOF)
}
