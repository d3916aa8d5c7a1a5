package llm

import (
	"strings"
	"unicode/utf8"
)

// maxNesting is how many brackets may stand open at once. Deeper ones are no
// answer: the open brackets are then taken for prose.
const maxNesting = 512

// spans finds the bracketed pieces of a text in one pass that never goes back:
// brackets are matched leniently and strings are known where one may begin.
// Which piece is the answer is not decided here.
//
// A bracket that cannot begin a JSON value, such as that of [mem_021] or
// {see row 3}, is prose: it is matched, but only what stands inside it counts.
// So is a bracket that another one's closer overtook.
type spans struct {
	text     string
	cut      bool   // the text is the rest of a longer one
	nodes    []span // nodes[0] is the whole text
	open     []int  // the nodes open at the end of the text, outermost first; open[0] is 0
	inString bool   // the text ends inside a string,
	stringAt int    // which begins here
	braces   int    // how many of open are '{'
}

// A span is one bracket with what it holds.
type span struct {
	start, end        int32 // end is past the closer; 0 while it is missing
	first, last, next int32 // the spans directly inside, as a linked list
	value             bool  // it can begin a JSON value, and was not overtaken
	strict, readable  bool  // it was read as strict JSON, or at all

	// Of the member that is being read:
	member    int32 // where it begins: past the opener or the last comma
	colon     int32 // past its colon; 0 without one
	done      int32 // end of the string or bracket that it ends with; 0 if something else followed
	container bool  // done is the end of a bracket
}

func findSpans(text string) *spans {
	t := &spans{text: text, nodes: make([]span, 1, 16), open: []int{0}}
	begin := false // a string may begin here
	for i := 0; i < len(text); {
		top := &t.nodes[t.open[len(t.open)-1]]
		c := text[i]
		switch {
		case c == '[' || c == '{':
			t.push(i)
			begin = true
			i++
		case c == ']' || c == '}':
			i++
			t.close(c, i)
			begin = false
		case !top.value || isSpace(c):
			i++
		case commentEnd(text, i) > 0:
			i = commentEnd(text, i)
		case c == ',':
			i++
			top.member, top.colon, top.done, top.container = int32(i), 0, 0, false
			begin = true
		case c == ':':
			i++
			if top.colon == 0 {
				top.colon = int32(i)
			}
			top.done, top.container = 0, false
			begin = true
		default:
			q := 0
			if begin {
				q = quoteAt(text, i)
			}
			begin = false
			if q == 0 {
				if !top.container {
					top.done = 0
				}
				i++
				continue
			}
			end := stringEnd(text, i, q)
			if end < 0 {
				t.inString, t.stringAt = true, i
				return t
			}
			top.done, top.container = int32(end), false
			i = end
		}
	}
	return t
}

func (t *spans) push(i int) {
	if len(t.open) > maxNesting {
		for _, n := range t.open[1:] {
			t.nodes[n].value = false
		}
		t.open, t.braces = t.open[:1], 0
	}
	id := len(t.nodes)
	t.nodes = append(t.nodes, span{start: int32(i), member: int32(i + 1), value: beginsValue(t.text, i)})
	parent := &t.nodes[t.open[len(t.open)-1]]
	if parent.first == 0 {
		parent.first = int32(id)
	} else {
		t.nodes[parent.last].next = int32(id)
	}
	parent.last = int32(id)
	t.open = append(t.open, id)
	if t.text[i] == '{' {
		t.braces++
	}
}

// close ends the innermost bracket that the closer fits; the open ones inside
// it become prose. A closer without an opener is ignored.
func (t *spans) close(closer byte, end int) {
	opener := byte('[')
	if closer == '}' {
		opener = '{'
	}
	if opener == '{' && t.braces == 0 || opener == '[' && len(t.open)-1 == t.braces {
		return
	}
	for {
		n := &t.nodes[t.open[len(t.open)-1]]
		t.open = t.open[:len(t.open)-1]
		c := t.text[n.start]
		if c == '{' {
			t.braces--
		}
		if c == opener {
			n.end = int32(end)
			break
		}
		n.value = false
	}
	parent := &t.nodes[t.open[len(t.open)-1]]
	parent.done, parent.container = int32(end), true
}

// beginsValue reports whether the bracket at i can open a JSON value, however
// sloppily written.
func beginsValue(text string, i int) bool {
	rest := skipSpace(text, i+1)
	if rest == len(text) {
		return true
	}
	c := text[rest]
	if quoteAt(text, rest) > 0 || c == '/' || c == '\\' {
		return true
	}
	if text[i] == '{' {
		return c == '}' || keyBehind(text, rest)
	}
	switch {
	case c == '{', c == '[', c == ']', c == '-', c == '.', isDigit(c):
		return true
	}
	word := text[rest : rest+wordLen(text[rest:])]
	_, literal := literals[word]
	return literal
}

// literals are the bare words of JSON, and Python's for the same.
var literals = map[string]string{
	"true": "true", "false": "false", "null": "null",
	"True": "true", "False": "false", "None": "null",
}

// keyBehind reports whether a bare word with a colon stands at i.
func keyBehind(text string, i int) bool {
	n := wordLen(text[i:])
	if n == 0 {
		return false
	}
	end := skipSpace(text, i+n)
	return end < len(text) && text[end] == ':'
}

// quoteAt returns the length in bytes of the opening quote at i: straight or
// curly, double or single; 0 when there is none.
func quoteAt(text string, i int) int {
	switch text[i] {
	case '"', '\'':
		return 1
	case 0xE2:
		if r, n := utf8.DecodeRuneInString(text[i:]); strings.ContainsRune("“”„‘’", r) {
			return n
		}
	}
	return 0
}

// stringEnd returns the offset past the string that begins at i with a quote
// of q bytes, -1 when it is not closed. A straight double quote ends at the
// next one that is not escaped. The others also serve as apostrophes, so they
// end only where something may follow a string.
func stringEnd(text string, i, q int) int {
	opener := text[i : i+q]
	for j := i + q; j < len(text); {
		switch {
		case text[j] == '\\':
			j += 2
			continue
		case opener == `"`:
			if text[j] == '"' {
				return j + 1
			}
		case closes(opener, text[j:]):
			_, n := utf8.DecodeRuneInString(text[j:])
			if end := skipSpace(text, j+n); end == len(text) || strings.IndexByte(",:]}", text[end]) >= 0 {
				return j + n
			}
		}
		j++
	}
	return -1
}

// closes reports whether text begins with a quote that can end a string opened
// by opener: writers mix straight and curly ones.
func closes(opener, text string) bool {
	switch text[0] {
	case '"', '\'', 0xE2:
	default:
		return false
	}
	quotes := []string{`"`, "”", "“"}
	switch opener {
	case `"`:
		quotes = quotes[:1]
	case `'`:
		quotes = []string{`'`}
	case "‘", "’":
		quotes = []string{`'`, "’", "‘"}
	}
	for _, q := range quotes {
		if strings.HasPrefix(text, q) {
			return true
		}
	}
	return false
}

// runs groups the values directly inside a span: a run is values with nothing
// but white space and commas between them, as JSON lines have it.
func (t *spans) runs(parent int) [][]int {
	var runs [][]int
	end := -1
	for _, n := range t.values(parent, nil) {
		start := int(t.nodes[n].start)
		if end >= 0 && strings.Trim(t.text[end:start], " \n\t\r,") == "" {
			runs[len(runs)-1] = append(runs[len(runs)-1], n)
		} else {
			runs = append(runs, []int{n})
		}
		end = t.end(n)
	}
	return runs
}

// values appends to list the values directly inside a span; prose is replaced
// by what it holds.
func (t *spans) values(parent int, list []int) []int {
	for n := t.nodes[parent].first; n != 0; n = t.nodes[n].next {
		if t.nodes[n].value {
			list = append(list, int(n))
		} else {
			list = t.values(int(n), list)
		}
	}
	return list
}

func (t *spans) end(n int) int {
	if end := t.nodes[n].end; end > 0 {
		return int(end)
	}
	return len(t.text)
}

// source returns a span's text. One that was cut off is cut back to its last
// complete member and closed; it is empty when there is no complete member.
func (t *spans) source(n int) (text string, truncated bool) {
	s := &t.nodes[n]
	if s.end > 0 {
		return t.text[s.start:s.end], false
	}
	inner := len(t.open) - 1
	for ; inner > 0; inner-- {
		if cut := t.lastComplete(inner); cut > 0 {
			return t.text[s.start:cut] + t.closers(n, inner), true
		}
		if t.open[inner] == n {
			break
		}
	}
	return "", true
}

// closers returns what closes the open spans from the one at level inner out
// to span n.
func (t *spans) closers(n, inner int) string {
	var out []byte
	for ; ; inner-- {
		out = append(out, t.text[t.nodes[t.open[inner]].start]+2) // in ASCII, ] and } stand two behind [ and {
		if t.open[inner] == n {
			return string(out)
		}
	}
}

// lastComplete returns where the last complete member of the open span at a
// level ends, 0 when there is none. A member is never completed: a number, a
// word or a string that the text ends in may have been going on.
func (t *spans) lastComplete(level int) int {
	s := &t.nodes[t.open[level]]
	if !s.value {
		return 0
	}
	object := t.text[s.start] == '{'
	if level == len(t.open)-1 && (!object || s.colon > 0) {
		if s.done > 0 {
			return int(s.done)
		}
		rest := strings.TrimSpace(t.text[max(s.member, s.colon):])
		if _, ok := literals[rest]; ok {
			return len(t.text)
		}
	}
	if s.member > s.start+1 {
		return int(s.member) - 1 // before the comma
	}
	return 0
}

func skipSpace(text string, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return min(i, len(text))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// wordLen returns the length of the bare word that text begins with.
func wordLen(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || !isDigit(c) && c != '-') {
			return i
		}
	}
	return len(text)
}
