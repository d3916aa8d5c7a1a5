package figure

import (
	"image/color"
	"slices"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
)

// A merger draws shapes of one colour and lines of one style that follow each
// other as one path each, which makes a drawing of many bars and whiskers half as
// large: bars with their outlines are one shape and one line. Where its canvas is
// turned, which it is for text only, it has drawn what it holds.
type merger struct {
	vg.Canvas
	pen           pen // of what comes next
	filled, drawn pen // of what is held
	shapes, lines vg.Path
}

type pen struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
}

func (m *merger) SetColor(c color.Color)                 { m.pen.color = c }
func (m *merger) SetLineWidth(w vg.Length)               { m.pen.width = w }
func (m *merger) SetLineDash(d []vg.Length, _ vg.Length) { m.pen.dashes = d }

func (m *merger) Fill(p vg.Path) {
	if m.shapes == nil || m.filled.color != m.pen.color {
		m.flush() // it covers what is below
	}
	m.shapes, m.filled = append(m.shapes, p...), m.pen
}

func (m *merger) Stroke(p vg.Path) {
	if d := m.drawn; d.color != m.pen.color || d.width != m.pen.width || !slices.Equal(d.dashes, m.pen.dashes) {
		if m.lines != nil {
			m.flush()
		}
	}
	if m.pen.width > 0 && !(len(p) == 2 && p[0].Pos == p[1].Pos) {
		m.lines, m.drawn = append(m.lines, p...), m.pen
	}
}

// flush draws what is held: lines lie over the shapes that they came with.
func (m *merger) flush() {
	if m.shapes != nil {
		m.Canvas.SetColor(m.filled.color)
		m.Canvas.Fill(m.shapes)
	}
	if m.lines != nil {
		m.Canvas.SetColor(m.drawn.color)
		m.Canvas.SetLineWidth(m.drawn.width)
		m.Canvas.SetLineDash(m.drawn.dashes, 0)
		m.Canvas.Stroke(m.lines)
	}
	m.shapes, m.lines = nil, nil
}

func (m *merger) Push() {
	m.flush()
	m.Canvas.Push()
}

func (m *merger) FillString(f font.Face, at vg.Point, text string) {
	m.flush()
	m.Canvas.SetColor(m.pen.color)
	m.Canvas.FillString(f, at, text)
}

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

// letters sets lines of text as the library's axes and legends expect it: the
// last base line is where they align it. Its own handler sets text higher, and
// lines so close that they touch.
type letters struct{ text.Plain }

var sans = letters{text.Plain{Fonts: font.DefaultCache}}

// lettering is of one font: the library's PDF holds the shapes of one only, and
// would show a bold one's in all of the text.
func lettering(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: sans}
}

// Draw implements text.Handler.
func (l letters) Draw(c vg.Canvas, txt string, sty text.Style, at vg.Point) {
	c.Push()
	defer c.Pop()
	c.SetColor(sty.Color)
	if sty.Rotation != 0 {
		c.Translate(at)
		c.Rotate(sty.Rotation)
		at = vg.Point{}
	}
	face := l.Fonts.Lookup(sty.Font, sty.Font.Size)
	lines := l.Lines(txt)
	for i, line := range lines {
		above := vg.Length(len(lines)-1-i) * face.Extents().Height
		c.FillString(face, at.Add(vg.Point{X: vg.Length(sty.XAlign) * face.Width(line), Y: vg.Length(sty.YAlign)*sty.Height(txt) + above}), line)
	}
}

// heightOf is the height of lines of text, none of no text.
func heightOf(sty text.Style, txt string) vg.Length {
	if txt == "" {
		return 0
	}
	return sty.Height(txt)
}

// write sets text with the upper edge of its first line at top.
func write(c draw.Canvas, sty text.Style, x, top vg.Length, txt string) {
	if txt != "" {
		c.FillText(sty, vg.Point{X: x, Y: top - sty.Height(txt) + sty.FontExtents().Descent}, txt)
	}
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
