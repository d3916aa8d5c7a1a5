package figure

import (
	"image/color"
	"strings"
	"sync"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
)

// A sheet is what is drawn on: points from the top left, y down.
type sheet struct {
	vg.Canvas
	height float64
	theme  Theme
}

func (s *sheet) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(s.height - y)}
}

// A lettering is a font at a size.
type lettering struct {
	bold bool
	size float64
}

var (
	headline = lettering{true, 8.5}
	label    = lettering{false, 8}
	ticks    = lettering{false, 7}
	fine     = lettering{false, 7}
	fineBold = lettering{true, 7}
	tiny     = lettering{false, 6.5}
)

// lineHeight is the distance between lines of text, in font sizes.
const lineHeight = 1.22

func (l lettering) line() float64 { return l.size * lineHeight }

// faces are the two fonts, read once.
var faces = sync.OnceValue(func() (out [2]font.Face) {
	cache := font.NewCache(liberation.Collection())
	out[0] = cache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, 0)
	out[1] = cache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: xfont.WeightBold}, 0)
	return out
})

func (l lettering) face() font.Face {
	f := faces()[0]
	if l.bold {
		f = faces()[1]
	}
	f.Font.Size = vg.Length(l.size)
	return f
}

// A written is a text in a font, whose width is measured once.
type written struct {
	lettering
	text string
}

var widths sync.Map // written → float64

// width returns the width of a text in points.
func (l lettering) width(text string) float64 {
	key := written{l, text}
	if w, ok := widths.Load(key); ok {
		return w.(float64)
	}
	face := l.face()
	w := face.Width(text).Points()
	widths.Store(key, w)
	return w
}

// wrap breaks a text into lines no wider than width: at spaces, else behind the
// marks that long model names are made of, else anywhere.
func (l lettering) wrap(text string, width float64) []string {
	var lines []string
	line := ""
	flush := func() {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
		line = ""
	}
	for _, word := range breakable(text) {
		if l.width(strings.TrimSpace(line+word)) <= width {
			line += word
			continue
		}
		flush()
		for l.width(strings.TrimSpace(word)) > width {
			n := 1
			runes := []rune(word)
			for n < len(runes) && l.width(string(runes[:n+1])) <= width {
				n++
			}
			lines = append(lines, string(runes[:n]))
			word = string(runes[n:])
		}
		line = word
	}
	flush()
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// breakable splits a text behind spaces and behind the marks in names.
func breakable(text string) []string {
	var out []string
	start := 0
	for i, r := range text {
		if r == ' ' || i > start && strings.ContainsRune("/-_:&?", r) {
			out = append(out, text[start:i+1])
			start = i + 1
		}
	}
	return append(out, text[start:])
}

// clean keeps what comes from a model's name from moving anything.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// align says where x lies in a text.
type align float64

const (
	left   align = 0
	middle align = 0.5
	right  align = 1
)

// write sets a line of text with its base line at y.
func (s *sheet) write(l lettering, c color.Color, x, y float64, a align, text string) {
	if text == "" {
		return
	}
	text = clean(text)
	s.SetColor(c)
	s.FillString(l.face(), s.at(x-float64(a)*l.width(text), y), text)
}

// writeUp sets a line of text from below to above, its middle at y.
func (s *sheet) writeUp(l lettering, c color.Color, x, y float64, text string) {
	s.Push()
	s.SetColor(c)
	s.Translate(s.at(x, y))
	s.Rotate(1.5707963267948966)
	s.FillString(l.face(), vg.Point{X: vg.Length(-l.width(text) / 2)}, text)
	s.Pop()
}

// A pen is how lines are drawn; dashes are lengths of lines and gaps.
type pen struct {
	color  color.Color
	width  float64
	dashes []float64
}

func (s *sheet) take(p pen) {
	s.SetColor(p.color)
	s.SetLineWidth(vg.Length(p.width))
	dashes := make([]vg.Length, len(p.dashes))
	for i, d := range p.dashes {
		dashes[i] = vg.Length(d)
	}
	s.SetLineDash(dashes, 0)
}

// line draws through points given as x, y, x, y, …
func (s *sheet) line(p pen, xy ...float64) {
	s.take(p)
	s.Stroke(s.path(xy))
}

// lines draws several lines at once, each from x, y to x, y.
func (s *sheet) lines(p pen, each ...[4]float64) {
	var path vg.Path
	for _, l := range each {
		path.Move(s.at(l[0], l[1]))
		path.Line(s.at(l[2], l[3]))
	}
	if len(each) > 0 {
		s.take(p)
		s.Stroke(path)
	}
}

func (s *sheet) path(xy []float64) vg.Path {
	var path vg.Path
	for i := 0; i+1 < len(xy); i += 2 {
		if i == 0 {
			path.Move(s.at(xy[i], xy[i+1]))
		} else {
			path.Line(s.at(xy[i], xy[i+1]))
		}
	}
	return path
}

// shape fills a polygon and draws its outline, either of which may be left out
// by a nil colour.
func (s *sheet) shape(fill color.Color, outline pen, xy ...float64) {
	path := s.path(xy)
	path.Close()
	if fill != nil {
		s.SetColor(fill)
		s.Fill(path)
	}
	if outline.color == nil {
		return
	}
	s.take(outline)
	if len(outline.dashes) == 0 && len(xy) >= 4 {
		// Once around and on over the first side: some canvases leave a notch
		// where a path closes.
		path = s.path(append(xy[:len(xy):len(xy)], xy[:4]...))
	}
	s.Stroke(path)
}

func (s *sheet) rect(fill color.Color, outline pen, x, y, w, h float64) {
	s.shape(fill, outline, x, y, x+w, y, x+w, y+h, x, y+h)
}

// circle fills a disc and draws its rim.
func (s *sheet) circle(fill color.Color, outline pen, x, y, r float64) {
	const k = 0.5522847498307936 // makes four curves a circle
	at := func(dx, dy float64) vg.Point { return s.at(x+r*dx, y+r*dy) }
	var path vg.Path
	path.Move(at(1, 0))
	path.CubeTo(at(1, k), at(k, 1), at(0, 1))
	path.CubeTo(at(-k, 1), at(-1, k), at(-1, 0))
	path.CubeTo(at(-1, -k), at(-k, -1), at(0, -1))
	path.CubeTo(at(k, -1), at(1, -k), at(1, 0))
	path.Close()
	if fill != nil {
		s.SetColor(fill)
		s.Fill(path)
	}
	if outline.color != nil {
		s.take(outline)
		s.Stroke(path)
	}
}

// FillString implements vg.Canvas. The library's PDF files a bold font under
// its plain name and then looks for it under the bold one; as a family of its
// own it is found.
func (l latin) FillString(f font.Face, pt vg.Point, text string) {
	if f.Font.Weight == xfont.WeightBold {
		f.Font.Weight = xfont.WeightNormal
		f.Font.Typeface += "Bold"
	}
	l.Canvas.FillString(f, pt, windows1252(text))
}

// windows1252 encodes a text in the code page of the PDF's fonts.
func windows1252(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '−':
			b.WriteByte(0x96) // as wide as the en dash
		case r < 0x80 || 0xa0 <= r && r <= 0xff:
			b.WriteByte(byte(r))
		default:
			if i := strings.IndexRune(high1252, r); i >= 0 {
				b.WriteByte(0x80 + byte(len([]rune(high1252[:i]))))
			} else {
				b.WriteByte('?')
			}
		}
	}
	return b.String()
}

// high1252 are the letters of the code page from 0x80 to 0x9f; a blank stands
// for those that it leaves out.
const high1252 = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"
