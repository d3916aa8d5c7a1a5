package observe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"math/bits"
	"slices"
	"sync"

	"github.com/spatialstale/spatialstale/lake"
)

// EncodePNG writes a picture that Render drew as a PNG file: eight bits a
// pixel, with a palette. It refuses an image that is empty, longer than 1536
// pixels on a side, or that has a colour which is not opaque.
//
// It knows where such a picture repeats itself: a pixel row mostly equals the
// one above, and cells look like their neighbours to the left and above. So it
// needs no search, and writes the same bytes whatever the Go release. image/png
// at its best speed took three times as long, most of an observation's cost.
func EncodePNG(img *image.Paletted) ([]byte, error) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	if width < 1 || height < 1 || width > maxPixels || height > maxPixels {
		return nil, fmt.Errorf("picture: %d by %d pixels cannot be written; each side must be 1 to %d", width, height, maxPixels)
	}
	if err := checkPalette(img.Palette); err != nil {
		return nil, err
	}
	f := pngFiles.Get().(*pngFile)
	defer pngFiles.Put(f)
	f.data = append(f.data[:0], pngSignature...)
	start := f.begin("IHDR")
	f.data = binary.BigEndian.AppendUint32(f.data, uint32(width))
	f.data = binary.BigEndian.AppendUint32(f.data, uint32(height))
	f.data = append(f.data, 8, 3, 0, 0, 0) // bits, palette, deflate, filters, not interlaced
	f.end(start)
	start = f.begin("PLTE")
	for _, c := range img.Palette {
		r, g, b, _ := c.RGBA()
		f.data = append(f.data, uint8(r>>8), uint8(g>>8), uint8(b>>8))
	}
	f.end(start)
	start = f.begin("IDAT")
	f.pixels(img)
	f.end(start)
	f.end(f.begin("IEND"))
	return slices.Clone(f.data), nil
}

const pngSignature = "\x89PNG\r\n\x1a\n"

// maxPixels is the longest side of a picture that Render draws.
const maxPixels = max(largeCells*largeCell, lake.MaxSide*smallCell)

func checkPalette(p color.Palette) error {
	if len(p) == 0 || len(p) > 256 {
		return fmt.Errorf("picture: a palette of %d colours cannot be written; it must have 1 to 256", len(p))
	}
	for i, c := range p {
		if _, _, _, alpha := c.RGBA(); alpha != 0xFFFF {
			return fmt.Errorf("picture: colour %d of its palette, %v, is not opaque", i, c)
		}
	}
	return nil
}

// A pngFile is a PNG file in the making.
type pngFile struct {
	data []byte
	// Bits of the compressed stream that do not fill a byte yet, the first in
	// the lowest place.
	pending  uint64
	nPending uint
}

var pngFiles = sync.Pool{New: func() any { return new(pngFile) }}

// begin starts a chunk and returns where, for end.
func (f *pngFile) begin(name string) int {
	start := len(f.data)
	f.data = append(f.data, 0, 0, 0, 0)
	f.data = append(f.data, name...)
	return start
}

// end completes the chunk that began at start: its length and checksum.
func (f *pngFile) end(start int) {
	body := f.data[start+4:] // with its name
	binary.BigEndian.PutUint32(f.data[start:], uint32(len(body)-4))
	f.data = binary.BigEndian.AppendUint32(f.data, crc32.ChecksumIEEE(body))
}

// pixels appends the rows as a zlib stream of a single block in deflate's
// fixed code (RFC 1950 and 1951). In the stream each row is preceded by a 0:
// no PNG filter.
func (f *pngFile) pixels(img *image.Paletted) {
	f.data = append(f.data, 0x78, 0x01)
	f.bits(1|1<<1, 3) // last block, fixed code
	width, height := img.Rect.Dx(), img.Rect.Dy()
	aRow := distanceCode(width + 1)
	sum := adler{a: 1}
	repeated := 0 // bytes that equal those a row above
	above := []uint8(nil)
	for y := range height {
		row := img.Pix[y*img.Stride:][:width]
		if y > 0 && width+1 >= minCopy && bytes.Equal(row, above) {
			repeated += width + 1
		} else {
			f.copies(repeated, aRow)
			repeated = 0
			f.literal(0)
			f.row(img, y, width)
			sum.measure(row)
		}
		sum.add()
		above = row
	}
	f.copies(repeated, aRow)
	f.bits(endOfBlock.bits, endOfBlock.n)
	f.bits(0, -f.nPending&7)
	f.flush()
	f.data = binary.BigEndian.AppendUint32(f.data, sum.b<<16|sum.a)
}

const (
	worthCopying = 4  // a shorter copy takes as many bits as its pixels
	longCopy     = 32 // a copy so long is taken without looking for a longer one
)

// row writes one row as copies from where a picture repeats itself and as
// single pixels.
func (f *pngFile) row(img *image.Paletted, y, width int) {
	row := img.Pix[y*img.Stride:][:width]
	type source struct {
		pix      []uint8 // as long as the row when moved skip pixels on
		skip     int
		distance code
	}
	sources := make([]source, 0, 4)
	if y >= 1 {
		sources = append(sources, source{img.Pix[(y-1)*img.Stride:][:width], 0, distanceCode(width + 1)})
	}
	sources = append(sources, source{row, 1, distanceCode(1)}, source{row, largeCell, distanceCode(largeCell)})
	if distance := largeCell * (width + 1); y >= largeCell && distance <= maxDistance {
		sources = append(sources, source{img.Pix[(y-largeCell)*img.Stride:][:width], 0, distanceCode(distance)})
	}
	for x := 0; x < width; {
		length, distance := 0, code{}
		for _, s := range sources {
			if x < s.skip {
				continue
			}
			if n := common(row[x:], s.pix[x-s.skip:]); n > length {
				length, distance = n, s.distance
				if length >= longCopy {
					break
				}
			}
		}
		if length < worthCopying {
			f.literal(row[x])
			x++
			continue
		}
		f.copies(length, distance)
		x += length
	}
}

// common returns the length of the common start of a and b, of which b is at
// least as long.
func common(a, b []uint8) int {
	n := 0
	for len(a)-n >= 8 {
		if diff := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
		n += 8
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// An adler is the checksum of a zlib stream, fed a row at a time. A repeated
// row costs no look at its pixels.
type adler struct {
	a, b     uint32
	n        uint32 // bytes in a row of the stream
	sum      uint32 // of those bytes
	weighted uint32 // sum of each times its distance from the row's end
}

// measure looks at a row's pixels, eight at a time: even and odd ones lie in
// 16-bit lanes of their own, and a product's highest lane adds up all four.
func (s *adler) measure(row []uint8) {
	s.n = uint32(len(row)) + 1
	s.sum, s.weighted = 0, 0
	const lanes = 0x00FF_00FF_00FF_00FF
	for ; len(row) >= 8; row = row[8:] {
		eight := binary.LittleEndian.Uint64(row)
		even, odd := eight&lanes, eight>>8&lanes
		s.weighted += 8*s.sum + uint32((even*0x0008_0006_0004_0002+odd*0x0007_0005_0003_0001)>>48)
		s.sum += uint32((even + odd) * 0x0001_0001_0001_0001 >> 48)
	}
	for _, v := range row {
		s.sum += uint32(v)
		s.weighted += s.sum
	}
	s.weighted %= adlerPrime
}

// add feeds the row that was measured last.
func (s *adler) add() {
	s.b = (s.b + s.n*s.a + s.weighted) % adlerPrime
	s.a = (s.a + s.sum) % adlerPrime
}

const adlerPrime = 65521
