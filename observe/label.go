package observe

import (
	"image/color"
	"strconv"
	"sync"

	"golang.org/x/image/font/basicfont"
)

// Labels are set in a fixed 7x13 bitmap font, whose pixels are fully inked or
// not at all. A digit's ink takes glyphInk rows from glyphTop on.
const (
	labelLeft    = 4 // from the cell's left edge to the first glyph
	labelTop     = 2 // from the cell's top edge to the glyphs' top
	labelMargin  = 3 // to be kept free on the right
	glyphAdvance = 7
	glyphWidth   = 6
	glyphHeight  = 13
	glyphTop     = 2
	glyphInk     = 9
)

// A glyph is the inked pixels of a character.
type glyph []dot

type dot struct{ x, y uint8 }

// glyphs holds the characters that pictures use.
var glyphs = sync.OnceValue(func() *['?' + 1]glyph {
	var table ['?' + 1]glyph
	for _, char := range "0123456789,?" {
		mask := basicfont.Face7x13.Mask
		first := int(char-basicfont.Face7x13.Ranges[0].Low) * glyphHeight
		for y := range glyphHeight {
			for x := range glyphWidth {
				if (mask.At(x, first+y) == color.Alpha{A: 0xFF}) {
					table[char] = append(table[char], dot{uint8(x), uint8(y)})
				}
			}
		}
	}
	return &table
})

// labelsFit reports whether the longest label of a lake fits a cell.
func labelsFit(rows, cols, size int) bool {
	longest := len(strconv.Itoa(rows-1)) + len(",") + len(strconv.Itoa(cols-1))
	return labelLeft+longest*glyphAdvance+labelMargin <= size
}

// label writes "r,c" at the top left of cell (r,c).
func (d *drawing) label(r, c int, ink uint8) {
	var buf [8]byte
	text := strconv.AppendInt(buf[:0], int64(r), 10)
	text = append(text, ',')
	text = strconv.AppendInt(text, int64(c), 10)
	at := (r*d.size+labelTop)*d.stride + c*d.size + labelLeft
	for i, char := range text {
		d.glyph(at+i*glyphAdvance, char, 1, ink)
	}
}

// question writes a question mark where the triangle would be, in the middle
// of cell (r,c).
func (d *drawing) question(r, c int, ink uint8) {
	scale := d.size / smallCell
	top, height := triangleSpan(d.size)
	y := r*d.size + top + (height-glyphInk*scale)/2 - glyphTop*scale
	x := c*d.size + (d.size-glyphWidth*scale)/2
	d.glyph(y*d.stride+x, '?', scale, ink)
}

// glyph inks a character whose top left pixel is at the given offset, each of
// its pixels scale pixels wide and high.
func (d *drawing) glyph(at int, char byte, scale int, ink uint8) {
	for _, p := range glyphs()[char] {
		first := at + (int(p.y)*d.stride+int(p.x))*scale
		if scale == 1 {
			d.pix[first] = ink
			continue
		}
		for y := range scale {
			for x := range scale {
				d.pix[first+y*d.stride+x] = ink
			}
		}
	}
}
