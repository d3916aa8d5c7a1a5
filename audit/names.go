package audit

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
)

// names finds asked names by what a model wrote for them.
type names struct {
	list  []string
	next  int              // where the name behind the last one found stands: most replies keep the order
	exact map[string]int   // built when the order is broken
	loose []map[string]int // by the forms, built when a name is not found exactly
}

const ambiguous = -1

// forms are the ways to write a name, each forgiving more than the one before:
// what may stand around it, its case, leading zeros, a missing prefix. asked
// and given are applied to the asked and to the written name.
var forms = []struct{ asked, given func(string) string }{
	{bare, bare},
	{lower, lower},
	{noZeros, noZeros},
	{joined, joined},
	{noPrefix, number},
}

// find returns the position of the asked name that id stands for; mended tells
// that it is written differently. An id that resembles several is not found.
func (n *names) find(id string) (i int, mended, ok bool) {
	if n.next < len(n.list) && n.list[n.next] == id {
		n.next++
		return n.next - 1, false, true
	}
	if n.exact == nil {
		n.exact = n.index(func(s string) string { return s })
	}
	if i, ok := n.exact[id]; ok {
		n.next = i + 1
		return i, false, i != ambiguous
	}
	for f := range forms {
		if f == len(n.loose) {
			n.loose = append(n.loose, n.index(forms[f].asked))
		}
		if i, ok := n.loose[f][forms[f].given(id)]; ok {
			return i, true, i != ambiguous
		}
	}
	return 0, false, false
}

// anyKey reports whether some key of an object is an asked name.
func (n *names) anyKey(o llm.Object) bool {
	for i := range o {
		if _, _, ok := n.find(o[i].Key); ok {
			return true
		}
	}
	return false
}

// index maps the forms of the asked names to their positions.
func (n *names) index(form func(string) string) map[string]int {
	m := make(map[string]int, len(n.list))
	for i, name := range n.list {
		key := form(name)
		if key == "" {
			continue
		}
		if _, taken := m[key]; taken {
			i = ambiguous
		}
		m[key] = i
	}
	return m
}

func bare(id string) string { return strings.Trim(id, " \t\r\n[](){}<>\"'`“”‘’*:") }

func lower(id string) string { return strings.ToLower(bare(id)) }

// noZeros also drops the leading zeros of every number.
func noZeros(id string) string {
	id = lower(id)
	out := make([]byte, 0, len(id))
	leading := true // no digit but zeros has stood in this number
	for i := range len(id) {
		digit := isDigit(id[i])
		if digit && leading && id[i] == '0' && i+1 < len(id) && isDigit(id[i+1]) {
			continue
		}
		leading = !digit
		out = append(out, id[i])
	}
	return string(out)
}

// noPrefix also drops the letters that a name begins with, and what separates
// them from the rest.
func noPrefix(id string) string {
	id = noZeros(id)
	rest := strings.TrimLeftFunc(id, unicode.IsLetter)
	if rest == id {
		return "" // it has no prefix that could be missing
	}
	return strings.TrimLeft(rest, "_-:./# ")
}

// joined also drops what separates letters from a number, and whatever follows
// an id in brackets: "mem 20" and "[mem_020] SAFE at …" are mem_020.
func joined(id string) string {
	if strings.HasPrefix(id, "[") {
		id, _, _ = strings.Cut(id, "]")
	}
	return separator.ReplaceAllString(noZeros(id), "$1$2")
}

var separator = regexp.MustCompile(`(\pL)[ _:./#-]+([0-9])`)

// number is what was written without a word that people put before numbers.
func number(id string) string {
	return strings.TrimLeft(counting.ReplaceAllString(noZeros(id), "$1"), "_-:./# ")
}

var counting = regexp.MustCompile(`^(?:memory|mem|entry|item|id|no|nr|number)([^\pL]|$)`)

// isNumber reports whether an id is written as digits alone.
func isNumber(id string) bool {
	id = bare(id)
	return id != "" && strings.Trim(id, "0123456789") == ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
