package judge

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
)

// names finds asked names by what a model wrote for them.
type names struct {
	list []string
	maps []map[string]int // the names by each of the forms, built when wanted
}

const ambiguous = -1

// forms are the ways to write a name, each forgiving more than the one before:
// as it is, what may stand around it, how it is written, a missing prefix. asked
// and given are applied to the asked and to the written name.
var forms = []struct{ asked, given func(string) string }{
	{exact, exact},
	{bare, bare},
	{plain, plain},
	{noPrefix, number},
}

// find returns the position of the asked name that id stands for; repaired tells
// that it is written differently. An id that resembles several is not found.
func (n *names) find(id string) (i int, repaired, ok bool) {
	for f := range forms {
		if f == len(n.maps) {
			n.maps = append(n.maps, n.index(forms[f].asked))
		}
		if i, ok := n.maps[f][forms[f].given(id)]; ok {
			return i, f > 0, i != ambiguous
		}
	}
	return 0, false, false
}

// index maps a form of the asked names to their positions.
func (n *names) index(form func(string) string) map[string]int {
	m := make(map[string]int, len(n.list))
	for i, name := range n.list {
		key := form(name)
		if _, taken := m[key]; taken {
			i = ambiguous
		}
		m[key] = i
	}
	delete(m, "")
	return m
}

func exact(id string) string { return id }

func bare(id string) string { return strings.Trim(id, " \t\r\n[](){}<>\"'`“”‘’*:") }

// plain also drops the case, leading zeros, what separates letters from a
// number, and whatever follows an id in brackets: "Mem 20" and "[mem_020] SAFE
// at …" are mem20.
func plain(id string) string {
	id = llm.Fold(id)
	if strings.HasPrefix(id, "[") {
		id, _, _ = strings.Cut(id, "]")
	}
	id = zeros.ReplaceAllString(strings.ToLower(bare(id)), "$1$2")
	return separator.ReplaceAllString(id, "$1$2")
}

var (
	zeros     = regexp.MustCompile(`(^|[^0-9])0+([0-9])`)
	separator = regexp.MustCompile(`(\pL)[ _:./#-]+([0-9])`)
)

// noPrefix also drops the letters that a name begins with; a name without such
// has no prefix that could be missing.
func noPrefix(id string) string {
	id = plain(id)
	rest := strings.TrimLeftFunc(id, unicode.IsLetter)
	if rest == id {
		return ""
	}
	return strings.TrimLeft(rest, separators)
}

const separators = "_-:./# "

// number is what was written without a word that people put before numbers.
func number(id string) string {
	return strings.TrimLeft(counting.ReplaceAllString(plain(id), "$1"), separators)
}

var counting = regexp.MustCompile(`^(?:memory|mem|entry|item|id|no|nr|number)([^\pL]|$)`)

// isNumber reports whether an id is written as digits alone.
func isNumber(id string) bool {
	id = bare(id)
	return id != "" && strings.Trim(id, "0123456789") == ""
}
