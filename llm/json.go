package llm

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
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
	return slices.ContainsFunc(o, func(m Member) bool { return m.Key == key })
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

// A parser reads the value that begins at a place in a text: JSON, and JSON with
// the usual slips, which are quotes of other kinds, quotes and line breaks inside
// strings, bad escapes, bare keys and words, Python's literals, full-width
// punctuation, comments, missing and trailing commas, a missing end quote and a
// missing bracket.
//
// Where the text ends inside a value, cut is set and what is complete is kept:
// no number, word or string is ever completed.
//
// What is JSON as it stands is the standard library's judgment. Its values are
// not used, because it loses repeated keys, and what it has read when the text
// ends. A library that repairs JSON was tried for the rest: it made a whole
// number of half a one, gave up on quotes inside strings, and took minutes over
// some texts of 16 kB.
type parser struct {
	text   string
	at     int
	strict bool   // it is JSON, or the beginning of it
	open   []byte // the brackets around at
	cut    bool
	work   int // bytes that were read, and some for the trouble
	quote  int // where the string begins in which the text ends; -1 if in none
}

// maxNesting is how deep brackets go in an answer.
const maxNesting = 64

// parse reads the value that begins at i; p.at is its end, or how far it was
// read. It is not ok when there is none, and when nothing of it is complete.
func parse(text string, i int, strict bool) (p *parser, v any, ok bool) {
	p = &parser{text: text, at: i, strict: strict, quote: -1, work: 16}
	if strict {
		if !strictStart.MatchString(text[i:min(len(text), i+maxWord)]) { // spares most prose the decoder
			return p, nil, false
		}
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[i:]))
		err := d.Decode(&raw)
		p.work += int(d.InputOffset())
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			p.work += int(syntax.Offset)
			return p, nil, false
		} else if err != nil { // the text ends
			p.work += len(text) - i
		}
	}
	v, ok = p.value()
	p.work += p.at - i
	return p, v, ok
}

var strictStart = regexp.MustCompile(`^(?:\{\s*(?:["}]|$)|\[\s*(?:["\[{\]0-9tfn-]|$))`)

// end is where the value ends that was read.
func (p *parser) end() int {
	if p.cut {
		return len(p.text)
	}
	return p.at
}

// decode reads a text that is JSON from end to end.
func decode(text string) (v any, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	return (&parser{text: text, strict: true}).value()
}

// next goes to the next character and returns it, as narrow says; 0 at the end.
func (p *parser) next() byte {
	p.at = p.blank(p.at)
	c, _ := narrow(p.text, p.at)
	return c
}

// skip goes behind the character that next returned.
func (p *parser) skip() {
	_, n := narrow(p.text, p.at)
	p.at += n
}

// blank returns the first place from i on that is neither white space nor in a
// comment.
func (p *parser) blank(i int) int {
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c < utf8.RuneSelf && strings.IndexByte("/#.", c) < 0:
			return i
		default:
			n := commentLen(p.text[i:min(len(p.text), i+maxComment)])
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return i
}

// These bounds keep texts of beginnings, of comments and the like, from taking
// quadratic time.
const (
	maxComment = 256
	maxWord    = 256
	maxKey     = 64
)

// commentLen returns the length of the comment that a text begins with, or of
// the dots that stand for more of the same.
func commentLen(text string) int {
	for _, c := range []struct{ begin, end string }{{"//", "\n"}, {"#", "\n"}, {"/*", "*/"}, {"...", ""}, {"…", ""}} {
		if rest, ok := strings.CutPrefix(text, c.begin); ok {
			if n := strings.Index(rest, c.end); n >= 0 {
				return len(c.begin) + n + len(c.end)
			}
		}
	}
	return 0
}

// narrow returns the character at i, folded, and its length in bytes: 0 at the
// end of the text, and '?' for one that is not ASCII.
func narrow(text string, i int) (c byte, n int) {
	switch {
	case i >= len(text):
		return 0, 0
	case text[i] < utf8.RuneSelf:
		return text[i], 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if r = folded(r); r >= utf8.RuneSelf {
		return '?', n
	}
	return byte(r), n
}

// folded returns the ASCII character that a full-width form or a curly quote
// stands for; others stand for themselves.
func folded(r rune) rune {
	switch {
	case '！' <= r && r <= '～':
		return r - '！' + '!'
	case strings.ContainsRune("“”„「」『』", r):
		return '"'
	case strings.ContainsRune("‘’", r):
		return '\''
	case r == '、':
		return ','
	}
	return r
}

func (p *parser) value() (any, bool) {
	switch c := p.next(); {
	case c == 0:
		p.cut = true
		return nil, false
	case (c == '{' || c == '[') && len(p.open) < maxNesting:
		p.open = append(p.open, c)
		p.skip()
		v, ok := p.members(c)
		p.open = p.open[:len(p.open)-1]
		return v, ok
	case c == '"' || c == '\'':
		return p.str(false)
	}
	return p.word()
}

// members reads what stands in the bracket that was opened last, and its end.
func (p *parser) members(bracket byte) (v any, ok bool) {
	read := Object{}
	value := func() any {
		if bracket == '{' {
			return read
		}
		list := make([]any, len(read))
		for i := range read {
			list[i] = read[i].Value
		}
		return list
	}
	for n := 0; ; n++ {
		c := p.next()
		for ; c == ','; c = p.next() {
			p.skip()
		}
		switch {
		case c == bracket+2: // in ASCII, ] and } stand two behind [ and {
			p.skip()
			return value(), true
		case (c == ']' || c == '}') && p.encloses(c-2):
			return value(), true // its own end is missing
		case c == 0:
			p.cut = true
			return value(), n > 0
		}
		var m Member
		if bracket == '{' {
			if m.Key, ok = p.key(); !ok {
				return value(), p.cut && n > 0
			}
		}
		if m.Value, ok = p.value(); !ok {
			return value(), p.cut && n > 0
		}
		if read = append(read, m); p.cut {
			return value(), true
		}
	}
}

// inside reports whether such a bracket is the innermost one, and encloses
// whether it is another one around here.
func (p *parser) inside(bracket byte) bool {
	return len(p.open) > 0 && p.open[len(p.open)-1] == bracket
}

func (p *parser) encloses(bracket byte) bool {
	return slices.Contains(p.open[:max(0, len(p.open)-1)], bracket)
}

// key reads a key and its colon.
func (p *parser) key() (key string, ok bool) {
	if c := p.next(); c == '"' || c == '\'' {
		var v any
		if v, ok = p.str(true); !ok {
			return "", false
		}
		key = v.(string)
	} else if key = bareKey(p.text[p.at:min(len(p.text), p.at+maxKey)]); key == "" {
		return "", false
	} else {
		p.at += len(key)
	}
	switch c := p.next(); {
	case c == 0:
		p.cut = true
	case c == ':' && (p.strict || !strings.ContainsAny(key, "{\n")): // else a stray quote
		p.skip()
		return key, true
	}
	return "", false
}

// bareKey returns the word without quotes that a text begins with.
func bareKey(text string) string {
	for i := range len(text) {
		c := text[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'; !letter && (i == 0 || c != '-' && (c < '0' || '9' < c)) {
			return text[:i]
		}
	}
	return text
}

// keyAt reports whether a key with its colon stands at i, quoted or bare.
func (p *parser) keyAt(i int) bool {
	c, n := narrow(p.text, i)
	if quoted := c == '"' || c == '\''; !quoted {
		c, n = 0, 0
	}
	window := p.text[i+n : min(len(p.text), i+n+maxKey)]
	at := len(bareKey(window))
	if end, size := narrow(window, at); at > 0 && c == end {
		at += size
	} else if at == 0 || c != 0 {
		return false
	}
	c, _ = narrow(strings.TrimLeft(window[at:], " \t\r\n"), 0)
	return c == ':'
}

// literals are the bare words of JSON, and Python's for the same.
var literals = map[string]any{
	"true": true, "false": false, "null": nil,
	"True": true, "False": false, "None": nil,
}

// word reads a literal, a number or bare words as a string, up to what ends a
// member.
func (p *parser) word() (any, bool) {
	w := p.upTo(",:[]{}\"\n\r\t ")
	if w == "" {
		return nil, false
	}
	if v, ok := literals[w]; ok {
		p.at += len(w)
		return v, true
	}
	if p.at+len(w) == len(p.text) && len(p.open) > 0 {
		p.cut = true // it may have been going on
		return nil, false
	}
	if json.Valid([]byte(w)) {
		p.at += len(w)
		return json.Number(w), true
	}
	if w = p.upTo(",]}\"\n"); p.at+len(w) == len(p.text) {
		p.cut = true
		return nil, false
	}
	w = strings.TrimRight(wordComment.ReplaceAllString(w, ""), " \t\r")
	p.at += len(w)
	switch {
	case w[0] == '.' && json.Valid([]byte("0"+w)):
		return json.Number("0" + w), true
	case strings.Trim(w, "+-.0123456789eE") == "" && strings.IndexByte("0123456789", w[len(w)-1]) < 0:
		return nil, true // half a number: it is not known which it was to be
	case p.inside('['):
		return nil, false // words in brackets are prose
	}
	return w, true
}

// upTo returns what stands here before one of some characters.
func (p *parser) upTo(stops string) string {
	rest := p.text[p.at:min(len(p.text), p.at+maxWord)]
	n := strings.IndexFunc(rest, func(r rune) bool { return strings.IndexByte(stops, byte(min(folded(r), 0xFF))) >= 0 })
	if n < 0 {
		return rest
	}
	return rest[:n]
}

var wordComment = regexp.MustCompile(`(?: #| //| /\*).*`)

// escape matches what JSON writes with a backslash; surrogates come in pairs.
var escape = regexp.MustCompile(`^\\(?:["\\/bfnrt]|u[dD][89abAB]..\\u[dD][c-fC-F][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})`)

// str reads the string that begins here. With slips, a quote inside it before
// what can follow no string is a character of it.
func (p *parser) str(key bool) (v any, ok bool) {
	start := p.at
	opener, n := utf8.DecodeRuneInString(p.text[p.at:])
	closers := string(opener)
	if c, _ := narrow(p.text, p.at); opener >= utf8.RuneSelf && c == '"' {
		closers = `"“”＂」』`
	} else if opener >= utf8.RuneSelf {
		closers = "'‘’＇"
	}
	if p.strict { // without an escape it shares the text's memory
		rest := p.text[p.at+n:]
		if end := strings.IndexByte(rest, '"'); end >= 0 && strings.IndexByte(rest[:end], '\\') < 0 {
			p.at += n + end + 1
			return rest[:end], true
		}
	}
	var out []byte
	inner := false // it has a quote inside
	for p.at += n; p.at < len(p.text); p.at += n {
		if c := p.text[p.at]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\'' && c != '\\' {
			out, n = append(out, c), 1
			continue
		}
		var r rune
		r, n = utf8.DecodeRuneInString(p.text[p.at:])
		char := p.text[p.at : p.at+n]
		closes := strings.ContainsRune(closers, r)
		switch {
		case closes && (p.strict || p.ends(p.at+n, key)):
			p.at += n
			return string(out), true
		case closes && !inner && !key && p.inside('{') && p.keyAt(p.at):
			// The end quote is missing, and this one opens the next key.
			said := strings.TrimRight(p.text[start:p.at], " \t\r\n,{}[]")
			if between := p.text[start+len(said) : p.at]; strings.Contains(between, ",") {
				p.at -= len(between)
				return string(out[:max(0, len(out)-len(between))]), true
			}
			inner = true
		case closes:
			inner = true
		case r == '\\':
			rest := p.text[p.at:min(len(p.text), p.at+12)]
			if known := escape.FindString(rest); known != "" {
				if json.Unmarshal([]byte(`"`+known+`"`), &char) != nil {
					return nil, false
				}
				n = len(known)
			} else if !strings.HasPrefix(rest, `\u`) {
				char = "" // the backslash alone: \' is '
				if r, size := utf8.DecodeRuneInString(rest[1:]); strings.ContainsRune(closers, r) {
					char, n = rest[1:1+size], 1+size
				}
			}
		case r < ' ' && r != '\n' && r != '\t':
			char = " "
		}
		out = append(out, char...)
	}
	// With a quote inside it is not known where it was to end; an apostrophe is
	// a letter.
	if p.cut = !inner || opener != '"'; p.cut {
		p.quote = start
	}
	return nil, false
}

// ends reports whether a string can end at i, judging by what follows.
func (p *parser) ends(i int, key bool) bool {
	i = p.blank(i)
	c, n := narrow(p.text, i)
	switch {
	case c == 0:
		return true
	case key:
		return c == ':'
	case c == ']' || c == '}':
		return p.inside(c-2) || p.encloses(c-2)
	case p.inside('['):
		return c == ','
	case c == ',':
		i = p.blank(i + n)
		c, _ = narrow(p.text, i)
		return c == 0 || c == '}' || p.keyAt(i)
	}
	return p.keyAt(i)
}
