package observe

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
)

// ANSI draws the state for people, in the paper's colours, for a terminal with
// 24-bit colour: a line of column numbers, then a line a row with three
// characters a cell: "▲" for the agent or "•" on the route, the type's letter
// ("?" outside the view), a blank. It always writes escape sequences; the
// caller knows whether its output is such a terminal, and has Text otherwise.
func ANSI(s *State, route []lake.Pos) string {
	theme := paperTheme()
	scene := s.Scene()
	var out strings.Builder
	out.WriteString("  ")
	for c := range s.Grid.NumCols() {
		fmt.Fprintf(&out, "%3d", c)
	}
	out.WriteByte('\n')
	for r := range s.Grid.NumRows() {
		fmt.Fprintf(&out, "%2d ", r)
		for c := range s.Grid.NumCols() {
			p := lake.Pos{Row: r, Col: c}
			letter := lake.Cell(unseenLetter)
			if scene.Sees(p) {
				letter = s.Grid.At(p)
			}
			background := scene.ink(p)
			text := theme.ink[background]
			fmt.Fprintf(&out, "\x1b[48;%s;38;%sm", rgb(theme.palette[background]), rgb(theme.palette[text]))
			switch {
			case p == s.Agent:
				fmt.Fprintf(&out, "\x1b[38;%sm▲\x1b[38;%sm", rgb(theme.palette[inkAgent]), rgb(theme.palette[text]))
			case slices.Contains(route, p):
				out.WriteString("•")
			default:
				out.WriteByte(' ')
			}
			out.WriteString(letter.String() + " ")
		}
		out.WriteString("\x1b[0m\n")
	}
	return out.String()
}

// rgb is a colour as escape sequences select it.
func rgb(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("2;%d;%d;%d", r>>8, g>>8, b>>8)
}
