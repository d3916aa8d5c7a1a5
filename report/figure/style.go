package figure

import (
	"image/color"
	"strconv"
)

// A Theme is the paper, or the screen, that a figure is drawn on.
type Theme struct {
	Ground color.Color // behind everything
	Ink    color.Color // text, outlines, whiskers
	Faint  color.Color // grid lines
	Dim    color.Color // text that explains
	// Possible fills what could be, beside what is.
	Possible color.Color
}

// The themes. Light is for paper and for pages, dark pages included, which show
// it as a card.
var (
	Light = Theme{Ground: gray(255), Ink: gray(25), Faint: gray(222), Dim: gray(80), Possible: gray(222)}
	Dark  = Theme{Ground: gray(24), Ink: gray(235), Faint: gray(66), Dim: gray(175), Possible: gray(66)}
)

func gray(v uint8) color.Color { return color.NRGBA{v, v, v, 255} }

// Okabe and Ito's colours (2008), which people of all kinds of sight can tell
// apart.
var (
	black      = color.NRGBA{0x00, 0x00, 0x00, 255}
	orange     = color.NRGBA{0xE6, 0x9F, 0x00, 255}
	skyBlue    = color.NRGBA{0x56, 0xB4, 0xE9, 255}
	green      = color.NRGBA{0x00, 0x9E, 0x73, 255}
	yellow     = color.NRGBA{0xF0, 0xE4, 0x42, 255}
	blue       = color.NRGBA{0x00, 0x72, 0xB2, 255}
	vermillion = color.NRGBA{0xD5, 0x5E, 0x00, 255}
	purple     = color.NRGBA{0xCC, 0x79, 0xA7, 255}
	pale       = color.NRGBA{0xD4, 0xD4, 0xD4, 255}
	middling   = color.NRGBA{0x8C, 0x8C, 0x8C, 255}
)

// A style is what a series looks like.
type style struct {
	fill   color.Color
	hatch  hatch
	mark   mark
	dashes []float64 // of its route or line
}

// A hatch is the pattern over a bar.
type hatch int

const (
	plain hatch = iota
	rising
	falling
	upright
	crossed
)

// A mark is the shape of a point.
type mark int

const (
	disc mark = iota
	square
	triangle
	diamond
	inverted // a triangle on its tip
	plus
	cross
	star
)

// styles are the looks of what comes back in several figures.
var styles = map[string]style{
	"text":        {blue, plain, disc, nil},
	"vision":      {orange, rising, triangle, nil},
	"no-memory":   {pale, plain, square, []float64{1, 2}},
	"no-filter":   {vermillion, rising, triangle, []float64{5, 2.5}},
	"self-verify": {yellow, falling, inverted, []float64{2.5, 2}},
	"omcd":        {blue, plain, disc, nil},
	"oracle":      {green, crossed, diamond, []float64{7, 2, 1.5, 2}},
	"thaw":        {vermillion, plain, disc, nil},
	"freeze":      {skyBlue, rising, square, nil},
	"safe":        {pale, plain, triangle, nil},
	"danger":      {middling, falling, diamond, nil},
	"difference":  {black, plain, disc, nil},
	"ours":        {blue, plain, disc, nil},
	"paper":       {orange, plain, diamond, nil},
	"seeds":       {skyBlue, plain, disc, nil},
}

// numbered are the looks of a figure's own series.
var numbered = []style{
	{blue, plain, disc, nil},
	{orange, rising, triangle, []float64{5, 2.5}},
	{green, crossed, diamond, []float64{7, 2, 1.5, 2}},
	{vermillion, falling, square, []float64{2.5, 2}},
	{skyBlue, upright, inverted, []float64{1, 2}},
	{black, plain, plus, []float64{9, 3}},
	{purple, rising, cross, []float64{3, 1.5, 1, 1.5}},
	{yellow, falling, star, []float64{1, 1}},
}

// styleOf returns a series' look. Beyond the eighth of a figure they come
// again.
func styleOf(key string, theme Theme) style {
	st, ok := styles[key]
	if !ok {
		n, err := strconv.Atoi(key)
		if err != nil || n < 1 {
			n = 1
		}
		st = numbered[(n-1)%len(numbered)]
	}
	if st.fill == black {
		st.fill = theme.Ink
	}
	return st
}

// bar draws a bar from x to x+w with its hatching; w may be 0.
func (s *sheet) bar(st style, x, y, w, h float64) {
	outline := pen{s.theme.Ink, 0.5, nil}
	s.rect(st.fill, outline, x, y, w, h)
	if w < 1 {
		return
	}
	ink := pen{s.theme.Ink, 0.45, nil}
	const gap = 3.2
	var strokes [][4]float64
	slope := func(dir float64) {
		// Lines at 45 degrees, cut at the sides of the bar.
		for t := gap - h; t < w; t += gap {
			a, b := max(0, t), min(w, t+h)
			if a >= b {
				continue
			}
			ya, yb := a-t, b-t
			if dir > 0 {
				strokes = append(strokes, [4]float64{x + a, y + h - ya, x + b, y + h - yb})
			} else {
				strokes = append(strokes, [4]float64{x + a, y + ya, x + b, y + yb})
			}
		}
	}
	switch st.hatch {
	case rising:
		slope(1)
	case falling:
		slope(-1)
	case crossed:
		slope(1)
		slope(-1)
	case upright:
		for t := gap; t < w; t += gap {
			strokes = append(strokes, [4]float64{x + t, y, x + t, y + h})
		}
	}
	s.lines(ink, strokes...)
}

// point draws a series' mark around x, y, reaching r to each side.
func (s *sheet) point(st style, x, y, r float64) {
	rim := pen{s.theme.Ink, 0.6, nil}
	switch st.mark {
	case disc:
		s.circle(st.fill, rim, x, y, r)
	case square:
		s.rect(st.fill, rim, x-0.88*r, y-0.88*r, 1.76*r, 1.76*r)
	case triangle:
		s.shape(st.fill, rim, x-1.1*r, y+0.85*r, x+1.1*r, y+0.85*r, x, y-1.1*r)
	case inverted:
		s.shape(st.fill, rim, x-1.1*r, y-0.85*r, x+1.1*r, y-0.85*r, x, y+1.1*r)
	case diamond:
		s.shape(st.fill, rim, x-1.2*r, y, x, y-1.2*r, x+1.2*r, y, x, y+1.2*r)
	case plus, cross, star:
		p := pen{st.fill, 1.5, nil}
		if st.mark == star {
			p = pen{s.theme.Ink, 1.2, nil}
		}
		if st.mark != cross {
			s.line(p, x-1.1*r, y, x+1.1*r, y)
			s.line(p, x, y-1.1*r, x, y+1.1*r)
		}
		if st.mark != plus {
			d := 0.85 * r
			s.line(p, x-d, y-d, x+d, y+d)
			s.line(p, x-d, y+d, x+d, y-d)
		}
	}
}
