package main

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What a server or a database holds must not command a terminal, and our own
// words and colours must arrive as they are.
func TestTame(t *testing.T) {
	for text, want := range map[string]string{
		"Zürich ─ ok\n\tx":        "Zürich ─ ok\n\tx",
		"\x1b[1;31mred\x1b[0m":    "\x1b[1;31mred\x1b[0m",
		"\x1b]0;owned\a":          `\u001b]0;owned\u0007`,
		"\x1b[2J\x1b[H":           `\u001b[2J\u001b[H`,
		"a\u009b2Jb":              `a\u009b2Jb`,
		"\u202eevil\u2066":        `\u202eevil\u2066`,
		"line\rover\bwritten\x00": `line\u000dover\u0008written\u0000`,
		"\xff\x9b2J":              `\xff\x9b2J`,
	} {
		if got := string(tame([]byte(text))); got != want {
			t.Errorf("%q comes out as %q, want %q", text, got, want)
		}
	}
}

// However a text is cut into writes, the same must come out.
func TestGateInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom([]string{"─── Zürich 🙂 \x1b[1;38;5;208mx\x1b[0m", "\x1b", "a\u202eb\x1b[2J─"}).Draw(t, "text"))
		var out bytes.Buffer
		g := &gate{to: &out}
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if _, err := g.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), string(tame(text)); got != want || !utf8.ValidString(got) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
