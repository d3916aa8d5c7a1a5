package analysis

import (
	"cmp"
	_ "embed"
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

// A wordClass is what a phrase does to the reading of a reason: its heading in
// reasons.txt.
type wordClass string

const (
	wordSafe      wordClass = "safe"
	wordHole      wordClass = "hole"
	wordAgrees    wordClass = "agrees"
	wordDiffers   wordClass = "differs"
	wordMemory    wordClass = "memory"
	wordNegation  wordClass = "negation"
	wordElsewhere wordClass = "elsewhere"
	wordNow       wordClass = "now"
	wordBreak     wordClass = "break"
	wordSoftBreak wordClass = "soft break"
	wordUnsure    wordClass = "unsure" // the whole of uncertainty.txt
)

// A lexicon is a list of phrases: in small letters, or as one must be written.
type lexicon map[string]wordClass

// mostWords is the greatest number of words in a phrase; a test sees to the lists.
const mostWords = 5

var (
	hedges  = sync.OnceValue(func() lexicon { return newLexicon("[unsure]\n" + uncertaintyList) })
	phrases = sync.OnceValue(func() lexicon { return newLexicon(reasonList) })
)

func newLexicon(list string) lexicon {
	l, class := lexicon{}, wordClass("")
	for line := range strings.Lines(list) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			class = wordClass(strings.Trim(line, "[]"))
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
		if found := cmp.Or(l[phrase], l[strings.ToLower(phrase)]); found != "" {
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
	var out []token
	for _, m := range tokenPattern.FindAllStringSubmatch(strings.ReplaceAll(reason, "’", "'"), -1) {
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
	unsure          bool
	safe, hole      bool // the types that it gives its cell
	agrees, differs bool // that memory and cell agree, or that they do not
	quotes          bool // it tells what type the memory gives the cell
}

// of tells whether a reason affirms or denies what the entry claims; both or
// neither where nobody can tell. What it says of the cell goes before what it
// concludes: "it is frozen ice, which contradicts the memory" that it is safe
// affirms the memory, and is against a verdict of stale.
func (r *reading) of(claim int) (affirms, denies bool) {
	if r.safe != r.hole {
		same := r.hole == (claim == saysDanger)
		return same, !same
	}
	return r.agrees, r.differs
}

// A reasonReader reads reasons. It keeps what it has read: a run repeats few
// short reasons hundreds of thousands of times.
type reasonReader struct{ kept map[reasonAt]reading }

type reasonAt struct {
	reason string
	pos    record.Pos
}

const maxKept, maxKeptReason = 1 << 15, 200 // reasons, and bytes of one

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
	tokens, depth := tokensOf(reason), 0 // depth counts open brackets
	now := clause{says: map[wordClass]bool{}}
	for i, n := 0, 0; i < len(tokens); i += n {
		class, length := phrases().match(tokens[i:])
		n = max(1, length)
		for k := range n { // a phrase may hold words that hedge
			if hedge, _ := hedges().match(tokens[i+k:]); hedge != "" {
				out.unsure, now.says[hedge] = true, true
			}
		}
		switch t := tokens[i]; {
		case class == wordBreak, class == wordSoftBreak:
			now.end(&out, class == wordSoftBreak)
		case class != "":
			now.says[class] = true
		case t.pos != nil:
			now.says[wordNow] = now.says[wordNow] || *t.pos == p
			now.says[wordElsewhere] = now.says[wordElsewhere] || *t.pos != p
		case strings.Contains(t.text, "_"): // an id such as mem_021 speaks of an entry
			now.says[wordMemory] = true
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
	says   map[wordClass]bool
	goesOn bool // the clause before was not about the cell, and this one may go on so
}

// end ends the clause and begins the next; soft says that the next may go on
// about the same thing. A negation turns what the clause says into its opposite,
// unless the clause hedges: "cannot tell whether it is safe" denies nothing.
func (c *clause) end(out *reading, soft bool) {
	says := c.says
	if says[wordNegation] {
		says[wordSafe], says[wordHole] = says[wordHole], says[wordSafe]
		says[wordAgrees], says[wordDiffers] = says[wordDiffers], says[wordAgrees]
	}
	off := says[wordMemory] || says[wordElsewhere] || c.goesOn && !says[wordNow]
	vague := says[wordNegation] && says[wordUnsure]
	if !vague && !off {
		out.safe, out.hole = out.safe || says[wordSafe], out.hole || says[wordHole]
	}
	if !vague && !says[wordElsewhere] {
		out.agrees, out.differs = out.agrees || says[wordAgrees], out.differs || says[wordDiffers]
	}
	out.quotes = out.quotes || says[wordMemory] && (says[wordSafe] || says[wordHole])
	clear(says)
	c.goesOn = soft && off
}
