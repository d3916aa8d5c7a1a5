package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Parts of the drawings that package figure makes.
var (
	svgElement = regexp.MustCompile(`(?s)<(path|text) ([^>]*)>`)
	svgStyle   = regexp.MustCompile(`\s*style="([^"]*)"`)
	svgPath    = regexp.MustCompile(`^d="([^"]*)" style="([^"]*)" /$`)
	svgSpace   = regexp.MustCompile(`>\s+<`)
)

// slim writes a drawing in fewer bytes, for a page has room for few: each style
// once, as a class; lines of one style that follow each other as one path; and
// coordinates as steps from one to the next, in hundredths of a point. What it
// does not know stays as it is. Nil gives nil.
func slim(svg []byte) []byte {
	if svg == nil {
		return nil
	}
	s := string(svg)
	classes := map[string]string{}
	var sheet strings.Builder
	class := func(style string) string {
		if name, ok := classes[style]; ok {
			return name
		}
		name := letters(len(classes))
		classes[style] = name
		fmt.Fprintf(&sheet, ".%s{%s}", name, style)
		return name
	}
	var out strings.Builder
	last, open := 0, "" // open: the style of the path that is being written
	finish := func() {
		if open != "" {
			out.WriteString(`"/>`)
			open = ""
		}
	}
	for _, at := range svgElement.FindAllStringSubmatchIndex(s, -1) {
		between := s[last:at[0]]
		if strings.TrimSpace(between) != "" {
			finish()
			out.WriteString(between)
		}
		last = at[1]
		kind, attributes := s[at[2]:at[3]], s[at[4]:at[5]]
		parts := svgPath.FindStringSubmatch(attributes)
		if kind == "text" || parts == nil {
			finish()
			out.WriteString("<" + kind + " " + svgStyle.ReplaceAllStringFunc(attributes, func(style string) string {
				return ` class="` + class(svgStyle.FindStringSubmatch(style)[1]) + `"`
			}) + ">")
			continue
		}
		// Lines over lines of the same colour look the same whichever is first, but
		// areas of one path can take each other out.
		if style := parts[2]; style != open || !strings.HasPrefix(style, "fill:none") || strings.Contains(style, "opacity") {
			finish()
			fmt.Fprintf(&out, `<path class="%s" d="`, class(style))
			open = style
		}
		out.WriteString(slimPath(parts[1]))
	}
	finish()
	out.WriteString(s[last:])
	slimmed := svgSpace.ReplaceAllString(out.String(), "><")
	if head := strings.IndexByte(slimmed, '>'); head >= 0 && sheet.Len() > 0 {
		slimmed = slimmed[:head+1] + "<style>" + sheet.String() + "</style>" + slimmed[head+1:]
	}
	return []byte(slimmed)
}

// letters names the n-th class: a, b, …, z, aa, ab, ….
func letters(n int) string {
	name := string(rune('a' + n%26))
	if n >= 26 {
		return letters(n/26-1) + name
	}
	return name
}

// pathStep is a command of a path with its numbers.
var pathStep = regexp.MustCompile(`[A-Za-z][^A-Za-z]*`)

// slimPath writes a path in steps from point to point. Points are rounded
// before they become steps, so that errors do not add up. A path with commands
// other than M, L, C and Z is returned as it is.
func slimPath(d string) string {
	var b strings.Builder
	var x, y, startX, startY int // hundredths
	previous := byte(0)
	number := func(command byte, values ...int) {
		if command != previous {
			b.WriteByte(command)
		}
		for i, v := range values {
			text := hundredths(v)
			if (i > 0 || command == previous) && text[0] != '-' {
				b.WriteByte(' ')
			}
			b.WriteString(text)
		}
		previous = command
	}
	for _, step := range pathStep.FindAllString(d, -1) {
		var at []int
		for _, field := range strings.FieldsFunc(step[1:], func(r rune) bool { return r == ',' || r == ' ' }) {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || math.Abs(v) > 1e6 {
				return d
			}
			at = append(at, int(math.Round(v*100)))
		}
		switch {
		case step[0] == 'M' && len(at) == 2:
			x, y = at[0], at[1]
			startX, startY = x, y
			previous = 0 // a second pair behind an M would be a line
			number('M', x, y)
			previous = 'M'
		case step[0] == 'L' && len(at) == 2:
			switch dx, dy := at[0]-x, at[1]-y; {
			case dy == 0:
				number('h', dx)
			case dx == 0:
				number('v', dy)
			default:
				number('l', dx, dy)
			}
			x, y = at[0], at[1]
		case step[0] == 'C' && len(at) == 6:
			number('c', at[0]-x, at[1]-y, at[2]-x, at[3]-y, at[4]-x, at[5]-y)
			x, y = at[4], at[5]
		case step[0] == 'Z' && len(at) == 0:
			b.WriteByte('z')
			previous, x, y = 'z', startX, startY
		default:
			return d
		}
	}
	return b.String()
}

// hundredths writes a number of hundredths, as short as it can be.
func hundredths(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	whole, rest := strconv.Itoa(n/100), ""
	switch {
	case n%100 == 0:
		return sign + whole
	case n%10 == 0:
		rest = "." + strconv.Itoa(n%100/10)
	default:
		rest = fmt.Sprintf(".%02d", n%100)
	}
	if whole == "0" {
		whole = ""
	}
	return sign + whole + rest
}
