package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth is the width of tables that do not go to a terminal, in
// columns.
const defaultWidth = 100

// file returns the file behind a writer, if there is one.
func file(w io.Writer) (*os.File, bool) {
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
