package llm

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode/utf8"
)

//go:embed refusals.txt
var refusalList string

// refusal matches a phrase of refusals.txt, which has one a line and # before
// comments. Those in Latin letters match as whole words, so that "as an ai" is
// not found in "it was an airport".
var refusal = func() *regexp.Regexp {
	var words, others []string
	for line := range strings.Lines(refusalList) {
		line, _, _ = strings.Cut(line, "#")
		switch phrase := regexp.QuoteMeta(plain(line)); {
		case phrase == "":
		case phrase[0] < utf8.RuneSelf:
			words = append(words, phrase)
		default:
			others = append(others, phrase)
		}
	}
	return regexp.MustCompile(`(?:^|\PL)(?:` + strings.Join(words, "|") + `)(?:\PL|$)|` + strings.Join(others, "|"))
}()

// Refuses reports whether a text that gave no usable answer reads as a
// refusal: outside of its thinking it has one of the phrases of refusals.txt.
// It does not judge texts that hold an answer; "I cannot see a hole there" is
// none.
func Refuses(text string) bool {
	rest, _ := StripThinking(text)
	return refusal.MatchString(plain(rest))
}

// plain lowers the case, straightens apostrophes and makes white space single.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(Fold(text))), " ")
}
