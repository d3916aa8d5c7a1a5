package store

import (
	"encoding/binary"
	"errors"
	"math"
)

// A coder writes values to bytes or reads them back. One walk over a record's
// fields (see layout.go) serves both, so that the two cannot disagree.
//
// Whole numbers are varints; every text and every fraction stands in full where
// it is first used and is a small number from then on; a list is its length
// plus one, or 0 for nil, and its elements. Unlike JSON this keeps bytes that
// are no valid UTF-8.
type coder struct {
	reading bool
	version uint64 // layout version of what is read, or the current one
	buf     []byte // what was written, or what is still to be read
	err     error  // the first error in reading

	texts     []string // reading: the texts met so far
	fractions []float64
	textNo    map[string]uint64 // writing: their numbers
	fracNo    map[uint64]uint64
}

var errMalformed = errors.New("malformed record")

func newEncoder() *coder {
	return &coder{version: layoutVersion, textNo: map[string]uint64{}, fracNo: map[uint64]uint64{}}
}

// reset makes the coder ready to write another record into the same memory.
func (c *coder) reset() {
	c.buf = c.buf[:0]
	clear(c.textNo)
	clear(c.fracNo)
}

// fail notes that what is read cannot have been written by a coder; from then
// on every value reads as zero.
func (c *coder) fail() {
	c.buf = nil
	if c.err == nil {
		c.err = errMalformed
	}
}

func (c *coder) uint(p *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *p)
		return
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail()
		v, n = 0, 0
	}
	*p, c.buf = v, c.buf[n:]
}

func (c *coder) int64(p *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *p)
		return
	}
	v, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail()
		v, n = 0, 0
	}
	*p, c.buf = v, c.buf[n:]
}

func (c *coder) int(p *int) {
	v := int64(*p)
	c.int64(&v)
	if c.reading {
		*p = int(v)
	}
}

func (c *coder) flag(p *bool) {
	var v uint64
	if *p {
		v = 1
	}
	c.uint(&v)
	if c.reading {
		*p = v == 1
		if v > 1 {
			c.fail()
		}
	}
}

// text writes 0, the length and the bytes of a new text, or one more than the
// number of a known one.
func (c *coder) text(p *string) {
	if !c.reading {
		if no, ok := c.textNo[*p]; ok {
			c.buf = binary.AppendUvarint(c.buf, no+1)
			return
		}
		c.textNo[*p] = uint64(len(c.textNo))
		c.buf = append(c.buf, 0)
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*p)))
		c.buf = append(c.buf, *p...)
		return
	}
	var no uint64
	if c.uint(&no); no > 0 {
		if no > uint64(len(c.texts)) {
			c.fail()
			return
		}
		*p = c.texts[no-1]
		return
	}
	var n uint64
	if c.uint(&n); n > uint64(len(c.buf)) || c.err != nil {
		c.fail()
		return
	}
	*p, c.buf = string(c.buf[:n]), c.buf[n:]
	c.texts = append(c.texts, *p)
}

// fraction writes 0 for nil, 1 and eight bytes for a new number, or two more
// than the number of a known one.
func (c *coder) fraction(p **float64) {
	if !c.reading {
		if *p == nil {
			c.buf = append(c.buf, 0)
			return
		}
		bits := math.Float64bits(**p)
		if no, ok := c.fracNo[bits]; ok {
			c.buf = binary.AppendUvarint(c.buf, no+2)
			return
		}
		c.fracNo[bits] = uint64(len(c.fracNo))
		c.buf = append(c.buf, 1)
		c.buf = binary.LittleEndian.AppendUint64(c.buf, bits)
		return
	}
	var no uint64
	switch c.uint(&no); {
	case no == 0:
		*p = nil
	case no == 1:
		if len(c.buf) < 8 {
			c.fail()
			return
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(c.buf))
		c.buf = c.buf[8:]
		c.fractions = append(c.fractions, v)
		*p = &v
	case no-2 < uint64(len(c.fractions)):
		v := c.fractions[no-2]
		*p = &v
	default:
		c.fail()
	}
}

// sum writes 32 bytes as they are.
func (c *coder) sum(p *[32]byte) {
	if !c.reading {
		c.buf = append(c.buf, p[:]...)
		return
	}
	if len(c.buf) < len(p) {
		c.fail()
		return
	}
	c.buf = c.buf[copy(p[:], c.buf):]
}

// list walks over a list with the walk for one element.
func list[T any](c *coder, p *[]T, element func(*coder, *T)) {
	var n uint64
	if *p != nil {
		n = uint64(len(*p)) + 1
	}
	c.uint(&n)
	if c.reading {
		*p = nil
		if n == 0 {
			return
		}
		if n-1 > uint64(len(c.buf)) { // an element takes a byte at least
			c.fail()
			return
		}
		*p = make([]T, n-1)
	}
	for i := range *p {
		element(c, &(*p)[i])
	}
}

// optional walks over a value that may be absent.
func optional[T any](c *coder, p **T, value func(*coder, *T)) {
	present := *p != nil
	c.flag(&present)
	if c.reading {
		*p = nil
		if present && c.err == nil {
			*p = new(T)
		}
	}
	if *p != nil {
		value(c, *p)
	}
}
