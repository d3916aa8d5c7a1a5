package llm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/kaptinlin/jsonrepair"
)

// Limits on what jsonrepair is given, a value and a whole reply. Its time grows
// with the cube of the length on bad input (16 KB of "[\ /e'" took 82 s, 2 KB
// below 0.2 s) and it recurses at every bracket. A longer value that needs it is
// read element by element.
const (
	maxRepairBytes   = 2 << 10
	maxRepairTotal   = 8 << 10
	maxRepairNesting = 32
)

// mend reads a bracketed value that is almost JSON. Our own reading of quotes
// comes first, because jsonrepair gives up on "he said "no" to it" and is slow
// on long values; it does the rest. budget is lowered by the bytes that
// jsonrepair was given, and not overdrawn.
func mend(text string, budget *int) (value any, ok bool) {
	tidied, whole := tidy(text)
	if whole {
		if v, ok := decode(tidied); ok {
			return v, true
		}
		text = tidied
	} else if v, ok := decodeQuoted(text); ok {
		return v, true
	}
	if len(text) > maxRepairBytes || len(text) > *budget || nesting(text) > maxRepairNesting {
		return nil, false
	}
	*budget -= len(text)
	repaired, ok := repair(text)
	if !ok {
		return nil, false
	}
	v, ok := decode(repaired)
	if !ok {
		return nil, false
	}
	return dropInvented(v, text), true
}

// decodeQuoted reads JSON that was written as the content of a string, with a
// backslash before each of its quotes.
func decodeQuoted(text string) (value any, ok bool) {
	if !strings.Contains(text, `\"`) {
		return nil, false
	}
	inner, ok := decode(`"` + text + `"`)
	if !ok {
		return nil, false
	}
	return decode(inner.(string))
}

// repair calls jsonrepair. A panic in it, on one reply of thousands, must not
// end a run: the text then counts as beyond repair.
func repair(text string) (out string, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = "", false
		}
	}()
	out, err := jsonrepair.Repair(text)
	return out, err == nil
}

// dropInvented puts null in place of numbers that jsonrepair completed: it
// makes 1e0 of "1e", 0.0 of "0." and -0 of "-".
func dropInvented(v any, source string) any {
	switch v := v.(type) {
	case json.Number:
		s := string(v)
		if n := len(s); n > 1 && s[n-1] == '0' && !isDigit(s[n-2]) && !strings.Contains(source, s) {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = dropInvented(v[i], source)
		}
	case Object:
		for i := range v {
			v[i].Value = dropInvented(v[i].Value, source)
		}
	}
	return v
}

// nesting returns an upper bound of how deep a text's brackets go.
func nesting(text string) int {
	depth, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{', '(':
			depth++
			deepest = max(deepest, depth)
		case ']', '}', ')':
			depth--
		}
	}
	return deepest
}

// tidy rewrites a bracketed value with the usual slips as JSON, in one pass:
// single and curly quotes, quotes and line breaks inside strings, bad escapes,
// bare keys, Python's literals, comments, missing and trailing commas. Words
// that it does not know are copied. ok is false when a string has no end or the
// brackets do not pair.
func tidy(text string) (out string, ok bool) {
	t := tidier{text: text}
	t.out.Grow(len(text) + 16)
	for t.at < len(text) {
		c := text[t.at]
		switch {
		case isSpace(c):
			t.out.WriteByte(c)
			t.at++
		case c == '[' || c == '{':
			t.separate()
			t.out.WriteByte(c)
			t.frames = append(t.frames, c)
			t.key = c == '{'
			t.at++
		case c == ']' || c == '}':
			if len(t.frames) == 0 || t.frames[len(t.frames)-1]+2 != c {
				return "", false
			}
			t.frames = t.frames[:len(t.frames)-1]
			t.out.WriteByte(c)
			t.comma, t.after, t.key = false, true, false
			t.at++
		case c == ',':
			t.comma = t.comma || t.after
			t.after, t.key = false, t.inObject()
			t.at++
		case c == ':':
			t.out.WriteByte(c)
			t.after, t.key = false, false
			t.at++
		case c == '\\':
			return "", false // {\"a\": 1} is JSON inside a string
		case commentEnd(text, t.at) > 0:
			t.at = commentEnd(text, t.at)
		case quoteAt(text, t.at) > 0:
			if !t.str() {
				return "", false
			}
		default:
			t.word()
		}
	}
	return t.out.String(), len(t.frames) == 0
}

type tidier struct {
	text   string
	at     int
	out    strings.Builder
	frames []byte // the open brackets
	comma  bool   // a comma was read and not yet written: a closer drops it
	after  bool   // a value has just ended
	key    bool   // a key is expected
}

func (t *tidier) inObject() bool {
	return len(t.frames) > 0 && t.frames[len(t.frames)-1] == '{'
}

// separate writes the comma, read or missing, between two values.
func (t *tidier) separate() {
	if t.comma || t.after {
		t.out.WriteByte(',')
		t.key = t.inObject()
	}
	t.comma, t.after = false, false
}

// word copies a bare word or number up to the next delimiter.
func (t *tidier) word() {
	t.separate()
	if t.key && keyBehind(t.text, t.at) {
		n := wordLen(t.text[t.at:])
		t.out.WriteString(`"` + t.text[t.at:t.at+n] + `"`)
		t.at += n
		return
	}
	n := strings.IndexAny(t.text[t.at:], ",]}\"\n")
	if n < 0 {
		n = len(t.text) - t.at
	}
	word := t.text[t.at : t.at+n]
	for _, comment := range []string{" #", " //", " /*"} {
		word, _, _ = strings.Cut(word, comment)
	}
	word = strings.TrimRight(word, " \t\r")
	t.at += len(word)
	if len(word) > 1 && word[0] == '.' && isDigit(word[1]) {
		word = "0" + word
	} else if literal, ok := literals[word]; ok {
		word = literal
	}
	t.out.WriteString(word)
	t.after = true
}

// str rewrites the string that begins here.
func (t *tidier) str() bool {
	t.separate()
	q := quoteAt(t.text, t.at)
	opener := t.text[t.at : t.at+q]
	t.out.WriteByte('"')
	for t.at += q; t.at < len(t.text); {
		c := t.text[t.at]
		switch {
		case c == '\\':
			t.escape()
		case closes(opener, t.text[t.at:]):
			_, n := utf8.DecodeRuneInString(t.text[t.at:])
			if t.ends(t.at + n) {
				t.at += n
				t.out.WriteByte('"')
				t.after = !t.key
				return true
			}
			if keyAt(t.text, t.at) {
				return false // the end quote is missing: this one opens the next key
			}
			if c == '"' {
				t.out.WriteByte('\\')
			}
			t.out.WriteString(t.text[t.at : t.at+n])
			t.at += n
		case c == '"':
			t.out.WriteString(`\"`)
			t.at++
		case c == '\n':
			t.out.WriteString(`\n`)
			t.at++
		case c == '\t':
			t.out.WriteString(`\t`)
			t.at++
		case c < ' ':
			t.out.WriteByte(' ')
			t.at++
		default:
			t.out.WriteByte(c)
			t.at++
		}
	}
	return false
}

// ends reports whether a string can end at i, judging by what follows: any
// other quote inside a string was meant as a character.
func (t *tidier) ends(i int) bool {
	i = skipBlank(t.text, i)
	if i == len(t.text) {
		return true
	}
	c := t.text[i]
	switch {
	case t.key:
		return c == ':'
	case !t.inObject():
		return c == ',' || c == ']'
	case c == '}' || keyAt(t.text, i):
		return true
	case c == ',':
		i = skipBlank(t.text, i+1)
		return i == len(t.text) || t.text[i] == '}' || keyAt(t.text, i)
	}
	return false
}

// maxKey and maxComment bound the look ahead for a key or a comment, in bytes:
// without a bound, a long text of their beginnings takes quadratic time.
const (
	maxKey     = 64
	maxComment = 256
)

// skipBlank skips white space and comments.
func skipBlank(text string, i int) int {
	for {
		i = skipSpace(text, i)
		if i == len(text) {
			return i
		}
		end := commentEnd(text, i)
		if end == 0 {
			return i
		}
		i = end
	}
}

// commentEnd returns the offset past the comment at i, 0 when there is none.
func commentEnd(text string, i int) int {
	end, rest := "\n", text[i:min(len(text), i+maxComment)]
	switch {
	case strings.HasPrefix(rest, "/*"):
		end = "*/"
	case strings.HasPrefix(rest, "//"), rest[0] == '#':
	default:
		return 0
	}
	n := strings.Index(rest, end)
	if n < 0 {
		return 0
	}
	return i + n + len(end)
}

// keyAt reports whether a key with its colon stands at i, quoted or bare.
func keyAt(text string, i int) bool {
	window := text[:min(len(text), i+maxKey)]
	q := quoteAt(window, i)
	if q == 0 {
		return keyBehind(window, i)
	}
	end := i + q + wordLen(window[i+q:])
	if end == i+q || end == len(window) || !closes(window[i:i+q], window[end:]) {
		return false
	}
	_, n := utf8.DecodeRuneInString(window[end:])
	end = skipSpace(window, end+n)
	return end < len(window) && window[end] == ':'
}

// escape copies the escape sequence that begins here, mended if need be.
func (t *tidier) escape() {
	rest := t.text[t.at:]
	switch {
	case len(rest) == 1:
		t.at++
	case strings.IndexByte(`"\/bfnrt`, rest[1]) >= 0, rest[1] == 'u' && hexDigits(rest[2:]) >= 4:
		t.out.WriteString(rest[:2])
		t.at += 2
	case rest[1] == 'u':
		t.out.WriteString(`\\u`)
		t.at += 2
	default:
		t.at++ // the backslash alone: \' is '
		if _, n := utf8.DecodeRuneInString(rest[1:]); closes(`'`, rest[1:]) {
			t.out.WriteString(rest[1 : 1+n])
			t.at += n
		}
	}
}

func hexDigits(s string) int {
	n := 0
	for n < len(s) && (isDigit(s[n]) || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'f') {
		n++
	}
	return n
}
