package analysis

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/record"
)

// The lists are data; how they are used stands at the head of each.
var (
	//go:embed data/uncertainty.txt
	uncertaintyList string
	//go:embed data/reasons.txt
	reasonList string
)

// A wordClass is what a phrase does to the reading of a reason.
type wordClass uint8

const (
	wordUnsure wordClass = iota + 1
	wordSafe
	wordHole
	wordMemory
	wordNegation
	wordElsewhere
	wordNow
	wordBreak
	wordSoftBreak
)

// wordHeadings name the classes in reasons.txt.
var wordHeadings = map[string]wordClass{
	"[safe]": wordSafe, "[hole]": wordHole, "[memory]": wordMemory, "[negation]": wordNegation,
	"[elsewhere]": wordElsewhere, "[now]": wordNow, "[break]": wordBreak, "[soft break]": wordSoftBreak,
}

// A lexicon is a list of phrases: in small letters, or as one must be written.
type lexicon map[string]wordClass

// mostWords is the greatest number of words in a phrase.
const mostWords = 5

var (
	hedges  = sync.OnceValue(func() lexicon { return newLexicon(uncertaintyList, wordUnsure) })
	phrases = sync.OnceValue(func() lexicon { return newLexicon(reasonList, 0) })
)

func newLexicon(list string, class wordClass) lexicon {
	l := lexicon{}
	for line := range strings.Lines(list) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			class = wordHeadings[line]
		case class == 0 || l[line] != 0 || len(strings.Fields(line)) > mostWords: // embedded: a test sees to it
			panic(fmt.Sprintf("analysis: the phrase %q of a list has no class, or two, or more than %d words", line, mostWords))
		default:
			l[line] = class
		}
	}
	return l
}

// match returns the class of the longest phrase that begins a text, and how many
// tokens it has; 0 for none.
func (l lexicon) match(tokens []token) (class wordClass, length int) {
	phrase := ""
	for i := range min(mostWords, len(tokens)) {
		phrase = strings.TrimPrefix(phrase+" "+tokens[i].text, " ")
		if found := cmp.Or(l[phrase], l[strings.ToLower(phrase)]); found != 0 {
			class, length = found, i+1
		}
	}
	return class, length
}

// A token is a word, a number, a mark or a position of a reason.
type token struct {
	text string
	pos  *record.Pos
}

// endMarks end a clause.
const endMarks = ".;!?\n–—"

// tokenPattern finds the tokens of a reason: a position, as "2, 5" or "row 2,
// column 5"; a number, whose decimal point ends no clause; a word, with
// apostrophes inside it; a mark. All else separates.
var tokenPattern = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`(\d+)\s*,\s*(\d+)\b`,
	`\brow\s+(\d+)\s*,?\s*col(?:umn)?\s+(\d+)\b`,
	`\d+(?:\.\d+)?\b`,
	`[\pL\pN_]+(?:'\pL+)*`,
	`[,()\[\]` + endMarks + `]`,
}, "|"))

func tokensOf(reason string) []token {
	reason = strings.ReplaceAll(reason, "’", "'")
	var out []token
	for _, m := range tokenPattern.FindAllStringSubmatch(reason, -1) {
		t := token{text: m[0]}
		if m[1]+m[3] != "" {
			row, _ := strconv.Atoi(m[1] + m[3]) // the greatest int for more than that, which is on no lake
			column, _ := strconv.Atoi(m[2] + m[4])
			t.pos = &record.Pos{row, column}
		}
		out = append(out, t)
	}
	return out
}

// A reading is what the words of a reason say.
type reading struct {
	unsure     bool
	safe, hole bool // the types that it claims of its cell; both: it is not clear which
}

// A reasonReader reads reasons. It keeps what it has read: a run repeats few
// short reasons hundreds of thousands of times.
type reasonReader struct{ kept map[reasonAt]reading }

type reasonAt struct {
	reason string
	pos    record.Pos
}

// What a reader keeps at most: so many reasons, of so many bytes each.
const (
	maxKept       = 1 << 15
	maxKeptReason = 200
)

// read reads a reason given for the cell at p.
func (r *reasonReader) read(reason string, p record.Pos) reading {
	key := reasonAt{reason, p}
	if out, ok := r.kept[key]; ok {
		return out
	}
	out := readReason(reason, p)
	if len(reason) <= maxKeptReason {
		if r.kept == nil || len(r.kept) == maxKept {
			r.kept = map[reasonAt]reading{}
		}
		r.kept[key] = out
	}
	return out
}

func readReason(reason string, p record.Pos) (out reading) {
	tokens := tokensOf(reason)
	var now clause
	depth := 0
	for i, n := 0, 0; i < len(tokens); i += n {
		var class wordClass
		if class, n = phrases().match(tokens[i:]); class == 0 {
			n = 1
		}
		for k := range n { // a phrase may hold words that hedge
			hedge, _ := hedges().match(tokens[i+k:])
			out.unsure = out.unsure || hedge != 0
		}
		switch t := tokens[i]; {
		case class == wordBreak, class == wordSoftBreak:
			now.end(&out, class == wordSoftBreak)
		case class != 0:
			now.note(class)
		case t.pos != nil:
			now.names(*t.pos == p)
		case strings.ContainsRune(t.text, '_'): // an id such as mem_021 speaks of an entry
			now.about = true
		case t.text == "(" || t.text == "[":
			depth++
		case t.text == ")" || t.text == "]":
			depth = max(0, depth-1)
		case t.text == "," && depth == 0:
			now.end(&out, true)
		case strings.Contains(endMarks, t.text):
			depth = 0
			now.end(&out, false)
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
