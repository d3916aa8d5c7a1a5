package audit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A pattern must match nothing that has none of its words: it would not be asked.
func TestInstructionWords(t *testing.T) {
	for _, i := range instructions {
		// Bounds of words match no text, and are all the same to the generator.
		made := rapid.StringMatching(strings.ReplaceAll(i.pattern.String(), `\b`, ``))
		rapid.Check(t, func(t *rapid.T) {
			if text := made.Draw(t, "text"); !containsAny(text, i.words) {
				t.Errorf("%q matches %v, and has none of %q", text, i.pattern, i.words)
			}
		})
	}
}
