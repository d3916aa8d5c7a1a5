package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// defaultWidth is the width of tables that do not go to a terminal, in
// columns.
const defaultWidth = 100

// file returns the file behind a writer, if there is one.
func file(w io.Writer) (*os.File, bool) {
	if g, ok := w.(*gate); ok {
		w = g.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the width of the terminal behind w, or defaultWidth.
func terminalWidth(w io.Writer) int {
	if f, ok := file(w); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}

// throughGate returns a writer through which nothing reaches a terminal that
// could command it; what is no terminal gets every byte as it is.
func throughGate(w io.Writer) io.Writer {
	if isTerminal(w) {
		return &gate{to: w}
	}
	return w
}

// A gate lets text and colours through to a terminal, and shows every other
// control character as an escape: names and replies are whatever a server, a
// database or a file holds, and may move the cursor, set the title or turn the
// direction of writing.
type gate struct {
	to   io.Writer
	held []byte // the beginning of a character or of a colour that is not whole yet
}

// colour is what our own output has of control sequences.
var colour = regexp.MustCompile(`^\x1b\[[0-9;]{0,20}m`)

// Write implements io.Writer.
func (g *gate) Write(text []byte) (int, error) {
	whole := append(g.held, text...)
	end := len(whole)
	if i := bytes.LastIndexByte(whole, 0x1b); i >= 0 && begunColour.Match(whole[i:]) {
		end = i
	} else {
		for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
			if utf8.RuneStart(whole[i]) && !utf8.FullRune(whole[i:]) {
				end = i
			}
		}
	}
	_, err := g.to.Write(tame(whole[:end]))
	g.held = bytes.Clone(whole[end:])
	if err != nil {
		return 0, err
	}
	return len(text), nil
}

// begunColour is a colour whose end may follow.
var begunColour = regexp.MustCompile(`^\x1b(\[[0-9;]{0,20})?$`)

// Close writes what was held.
func (g *gate) Close() error {
	_, err := g.to.Write(tame(g.held))
	g.held = nil
	return err
}

// tame is a text that commands no terminal.
func tame(text []byte) []byte {
	var out bytes.Buffer
	for rest := text; len(rest) > 0; {
		if sequence := colour.Find(rest); sequence != nil {
			out.Write(sequence)
			rest = rest[len(sequence):]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, "\\x%02x", rest[0])
		case r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && !unicode.Is(unicode.Zl, r) && !unicode.Is(unicode.Zp, r):
			out.Write(rest[:size])
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
		rest = rest[size:]
	}
	return out.Bytes()
}
