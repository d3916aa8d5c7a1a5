package llm

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed refusals.txt
var refusalList string

var refusalPhrases = parsePhrases(refusalList)

// Refuses reports whether a text that gave no usable answer reads as a
// refusal: outside of its thinking it has one of the phrases of refusals.txt.
// It does not judge texts that hold an answer; "I cannot see a hole there" is
// none.
func Refuses(text string) bool {
	rest, _ := StripThinking(text)
	rest = plain(rest)
	for _, phrase := range refusalPhrases {
		if hasWords(rest, phrase) {
			return true
		}
	}
	return false
}

// hasWords reports whether the phrase stands in text; one in Latin letters as
// whole words, so that "as an ai" is not found in "it was an airport".
func hasWords(text, phrase string) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], phrase)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		if phrase[0] >= utf8.RuneSelf || !unicode.IsLetter(before) && !unicode.IsLetter(after) {
			return true
		}
	}
}

// parsePhrases reads a list of one phrase a line; # begins a comment.
func parsePhrases(list string) []string {
	var phrases []string
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		if phrase := plain(line); phrase != "" {
			phrases = append(phrases, phrase)
		}
	}
	return phrases
}

// plain lowers the case, straightens apostrophes and makes white space single.
func plain(text string) string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.Join(strings.Fields(text), " ")
}
