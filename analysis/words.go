package analysis

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/record"
)

// The lists are data; how they are used stands at the head of each.
var (
	//go:embed data/uncertainty.txt
	uncertaintyList string
	//go:embed data/celltypes.txt
	celltypeList string
)

// A wordClass is what a phrase does to the reading of a reason.
type wordClass uint8

const (
	wordUnsure wordClass = iota
	wordSafe
	wordHole
	wordMemory
	wordNegation
	wordElsewhere
	wordNow
	wordBreak
)

// headings name the classes in celltypes.txt.
var wordHeadings = map[string]wordClass{
	"[safe]": wordSafe, "[hole]": wordHole, "[memory]": wordMemory, "[negation]": wordNegation,
	"[elsewhere]": wordElsewhere, "[now]": wordNow, "[break]": wordBreak,
}

// A phrase is a line of a list.
type phrase struct {
	class wordClass
	words []int32 // numbers of its words
	exact string  // how it must be written; empty for any case
}

// A lexicon is the lists, made ready for reading.
type lexicon struct {
	words                        map[string]int32 // in small letters
	row, column, col, and, which int32
	// phrases by the number of their first word; longer ones first
	unsure, types [][]phrase
}

var sharedLexicon = sync.OnceValue(func() *lexicon {
	l := &lexicon{words: make(map[string]int32)}
	for _, line := range listLines(uncertaintyList) {
		l.add(&l.unsure, wordUnsure, line)
	}
	class, known := wordClass(0), false
	for _, line := range listLines(celltypeList) {
		if strings.HasPrefix(line, "[") {
			class, known = wordHeadings[line]
			if !known {
				panic(fmt.Sprintf("analysis: celltypes.txt has the heading %s, which is none", line)) // embedded: a test sees to it
			}
			continue
		}
		l.add(&l.types, class, line)
	}
	for name, number := range map[string]*int32{"row": &l.row, "column": &l.column, "col": &l.col, "and": &l.and, "which": &l.which} {
		*number = l.number(name)
	}
	for _, lists := range [][][]phrase{l.unsure, l.types} {
		for _, list := range lists {
			slices.SortStableFunc(list, func(a, b phrase) int { return len(b.words) - len(a.words) })
		}
	}
	return l
})

// listLines returns the lines of a list without comments and blank lines.
func listLines(list string) []string {
	var out []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

func (l *lexicon) add(lists *[][]phrase, class wordClass, line string) {
	p := phrase{class: class}
	if line != strings.ToLower(line) {
		p.exact = line
	}
	for _, w := range strings.Fields(strings.ToLower(line)) {
		p.words = append(p.words, l.number(w))
	}
	first := int(p.words[0])
	for len(*lists) <= first {
		*lists = append(*lists, nil)
	}
	(*lists)[first] = append((*lists)[first], p)
}

// number returns a word's number, giving it one when it has none.
func (l *lexicon) number(word string) int32 {
	n, ok := l.words[word]
	if !ok {
		n = int32(len(l.words))
		l.words[word] = n
	}
	return n
}

// match returns the longest phrase of the lists that begins at a token.
func match(lists [][]phrase, text string, tokens []token) *phrase {
	first := tokens[0].word
	if first < 0 || int(first) >= len(lists) {
		return nil
	}
	for i := range lists[first] {
		if p := &lists[first][i]; p.fits(text, tokens) {
			return p
		}
	}
	return nil
}

func (p *phrase) fits(text string, tokens []token) bool {
	if len(tokens) < len(p.words) {
		return false
	}
	for i, w := range p.words {
		if tokens[i].kind != tokenWord || tokens[i].word != w {
			return false
		}
	}
	return p.exact == "" || text[tokens[0].start:tokens[len(p.words)-1].end] == p.exact
}

// A token is a word, a number or a mark of a reason.
type token struct {
	kind       tokenKind
	word       int32 // a word's number in the lexicon, -1 for one that it lacks; a number's value
	start, end int32
}

type tokenKind uint8

const (
	tokenWord tokenKind = iota
	tokenNumber
	tokenComma
	tokenOpen
	tokenClose
	tokenEnd // the end of a clause
	tokenNothing
)

// A reasonReader reads reasons. It holds the memory that it works in.
type reasonReader struct {
	tokens []token
	lower  []byte
}

// A reading is what the words of a reason say.
type reading struct {
	unsure     bool
	safe, hole bool // the types that it claims of its cell; both: it is not clear which
}

// read reads a reason given for the cell at p.
func (r *reasonReader) read(reason string, p record.Pos) reading {
	l := sharedLexicon()
	r.cut(l, reason)
	var out reading
	var now clause
	depth := 0
	for i := 0; i < len(r.tokens); i++ {
		t := &r.tokens[i]
		switch t.kind {
		case tokenOpen:
			depth++
		case tokenClose:
			depth = max(0, depth-1)
		case tokenEnd:
			depth = 0
			now.end(&out, false)
		case tokenComma:
			if depth == 0 {
				now.end(&out, true)
			}
		case tokenNumber:
			if q, n := positionAt(r.tokens[i:]); n > 0 {
				now.names(q == p)
				i += n - 1
			}
		case tokenWord:
			out.unsure = out.unsure || match(l.unsure, reason, r.tokens[i:]) != nil
			if q, n := l.namedPosition(r.tokens[i:]); n > 0 {
				now.names(q == p)
				i += n - 1
				continue
			}
			m := match(l.types, reason, r.tokens[i:])
			switch {
			case m == nil:
				now.about = now.about || isID(reason[t.start:t.end])
			case m.class == wordBreak:
				now.end(&out, t.word == l.and || t.word == l.which)
			default:
				now.note(m.class)
				for range len(m.words) - 1 { // a phrase may hold words that hedge
					i++
					out.unsure = out.unsure || match(l.unsure, reason, r.tokens[i:]) != nil
				}
			}
		}
	}
	now.end(&out, false)
	return out
}

// A clause is what has been read of one.
type clause struct {
	safe, hole bool
	about      bool // it is about the memory or another cell
	negated    bool
	goesOn     bool // the clause before was about something else, and this one may be
	own, seen  bool // it names the entry's position; it speaks of the observation
}

func (c *clause) names(own bool) {
	c.own = c.own || own
	c.about = c.about || !own
}

func (c *clause) note(class wordClass) {
	switch class {
	case wordSafe:
		c.safe = true
	case wordHole:
		c.hole = true
	case wordNegation:
		c.negated = true
	case wordNow:
		c.seen = true
	default:
		c.about = true
	}
}

// end ends the clause and begins the next; soft says that the next may go on
// about the same thing.
func (c *clause) end(out *reading, soft bool) {
	off := c.about || c.goesOn && !c.own && !c.seen
	if !off && !c.negated {
		out.safe = out.safe || c.safe
		out.hole = out.hole || c.hole
	}
	*c = clause{goesOn: soft && off}
}

// positionAt reads "2,5" and "2, 5" and returns the number of its tokens, 0 for
// none.
func positionAt(t []token) (record.Pos, int) {
	if len(t) < 3 || t[0].kind != tokenNumber || t[1].kind != tokenComma || t[2].kind != tokenNumber {
		return record.Pos{}, 0
	}
	return record.Pos{int(t[0].word), int(t[2].word)}, 3
}

// namedPosition reads "row 2 column 5", also with "col" and a comma between,
// and returns the number of its tokens, 0 for none.
func (l *lexicon) namedPosition(t []token) (record.Pos, int) {
	if len(t) < 4 || t[0].word != l.row || t[1].kind != tokenNumber {
		return record.Pos{}, 0
	}
	n := 2
	if t[n].kind == tokenComma {
		n++
	}
	if n+1 >= len(t) || t[n].kind != tokenWord || t[n].word != l.column && t[n].word != l.col || t[n+1].kind != tokenNumber {
		return record.Pos{}, 0
	}
	return record.Pos{int(t[1].word), int(t[n+1].word)}, n + 2
}

// isID reports whether a word is an id such as mem_021, which speaks of an
// entry and not of the cell.
func isID(word string) bool { return strings.ContainsRune(word, '_') }

// cut cuts a text into tokens.
func (r *reasonReader) cut(l *lexicon, text string) {
	r.tokens = r.tokens[:0]
	add := func(kind tokenKind, word int32, start, end int) {
		r.tokens = append(r.tokens, token{kind, word, int32(start), int32(end)})
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case isDigit(c) && !wordFollows(text, i):
			end, value := i, int32(0)
			for end < len(text) && isDigit(text[end]) {
				value = min(value*10+int32(text[end]-'0'), 1<<20)
				end++
			}
			add(tokenNumber, value, i, end)
			i = end
			if i+1 < len(text) && text[i] == '.' && isDigit(text[i+1]) {
				i++ // a decimal point ends no clause
			}
		case isWordByte(text, i) > 0:
			end := i
			r.lower = r.lower[:0]
			for end < len(text) {
				n := isWordByte(text, end)
				if n == 0 {
					break
				}
				switch b := text[end]; {
				case n == 3: // ’
					r.lower = append(r.lower, '\'')
				case 'A' <= b && b <= 'Z':
					r.lower = append(r.lower, b+'a'-'A')
				default:
					r.lower = append(r.lower, b)
				}
				end += n
			}
			word, ok := l.words[string(r.lower)]
			if !ok {
				word = -1
			}
			add(tokenWord, word, i, end)
			i = end
		default:
			kind, n := mark(text, i)
			if kind != tokenNothing {
				add(kind, -1, i, i+n)
			}
			i += n
		}
	}
}

// mark returns the kind of a mark and its length in bytes.
func mark(text string, i int) (kind tokenKind, length int) {
	switch text[i] {
	case '.', ';', '!', '?', '\n':
		return tokenEnd, 1
	case ',':
		return tokenComma, 1
	case '(', '[':
		return tokenOpen, 1
	case ')', ']':
		return tokenClose, 1
	case 0xE2: // general punctuation, as isWordByte has it
		if strings.HasPrefix(text[i:], "–") || strings.HasPrefix(text[i:], "—") {
			return tokenEnd, 3
		}
		return tokenNothing, min(3, len(text)-i)
	}
	return tokenNothing, 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// wordFollows reports whether the digits at i go on as a word, such as 3x.
func wordFollows(text string, i int) bool {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i < len(text) && !isDigit(text[i]) && isWordByte(text, i) > 0
}

// isWordByte returns how many bytes at i belong to a word: letters, digits, _,
// apostrophes between letters, and whatever is not ASCII but for dashes and
// quotes.
func isWordByte(text string, i int) int {
	c := text[i]
	switch {
	case 'a' <= c|0x20 && c|0x20 <= 'z', isDigit(c), c == '_':
		return 1
	case c == '\'':
		return betweenLetters(text, i, 1)
	case c == 0xE2 && i+2 < len(text) && text[i+1] == 0x80: // general punctuation
		if text[i+2] == 0x99 { // ’
			return betweenLetters(text, i, 3)
		}
		return 0
	case c >= 0x80:
		return 1
	}
	return 0
}

// betweenLetters returns n when the n bytes at i stand between ASCII letters.
func betweenLetters(text string, i, n int) int {
	if i > 0 && i+n < len(text) && isLetter(text[i-1]) && isLetter(text[i+n]) {
		return n
	}
	return 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
