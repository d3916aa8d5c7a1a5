package figure

import (
	"image/color"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// lettering is of one font: the library's PDF holds the shapes of one only, and
// would show a bold one's in all of the text.
func lettering(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: sans}
}

var sans = text.Plain{Fonts: font.DefaultCache}

// latin writes text for the library's PDF, whose fonts hold the letters of
// Windows-1252 only: the minus sign becomes a dash of the same width, and a
// letter that the code page does not have becomes a question mark.
type latin struct{ *vgpdf.Canvas }

// FillString implements vg.Canvas.
func (l latin) FillString(f font.Face, at vg.Point, text string) {
	var b []byte
	for _, r := range strings.ReplaceAll(text, "−", "–") {
		c, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			c = '?'
		}
		b = append(b, c)
	}
	l.Canvas.FillString(f, at, string(b))
}

// wrap breaks a text into lines no wider than width: behind spaces and the marks
// that long names of models are made of, else anywhere.
func wrap(sty text.Style, txt string, width vg.Length) string {
	var lines []string
	rest := []rune(strings.Map(visible, txt))
	for len(rest) > 0 {
		n := max(1, sort.Search(len(rest), func(i int) bool {
			return sty.Width(strings.TrimSpace(string(rest[:i+1]))) > width
		}))
		for i := n; i > 1 && n < len(rest); i-- {
			if strings.ContainsRune(" /-_:&?", rest[i-1]) {
				n = i
				break
			}
		}
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return strings.Join(lines, "\n")
}

// short cuts a text that is wider than width.
func short(sty text.Style, txt string, width vg.Length) string {
	line, _, cut := strings.Cut(wrap(sty, txt, width), "\n")
	if cut {
		line += "…"
	}
	return line
}

// visible keeps what is in a model's name from moving anything, and out of XML
// what that forbids.
func visible(r rune) rune {
	if !unicode.IsGraphic(r) {
		return unicode.ReplacementChar
	}
	return r
}
