package observe

import (
	"encoding/binary"
	"math/bits"
)

// Limits of a deflate stream.
const (
	minCopy     = 3
	maxCopy     = 258
	maxDistance = 1 << 15
)

// A code is the bits that stand for a symbol, the first in the lowest place.
type code struct {
	bits uint64
	n    uint
}

// The fixed code of RFC 1951, section 3.2.6. Those of copies are by length,
// extra bits included.
var (
	literalCodes, copyCodes = fixedCodes()
	endOfBlock              = fixedCode(256)
)

func fixedCodes() (literals [256]code, copies [maxCopy + 1]code) {
	for v := range literals {
		literals[v] = fixedCode(v)
	}
	symbol, length := 257, minCopy
	for extra := uint(0); extra <= 5; extra++ {
		symbols := 4 // with so many extra bits
		if extra == 0 {
			symbols = 8
		}
		for range symbols {
			c := fixedCode(symbol)
			for i := range 1 << extra {
				copies[length] = code{c.bits | uint64(i)<<c.n, c.n + extra}
				length++
			}
			symbol++
		}
	}
	copies[maxCopy] = fixedCode(285)
	return literals, copies
}

// fixedCode returns the code of a literal (0 to 255), of the end (256) or of a
// group of lengths.
func fixedCode(symbol int) code {
	value, n := 0, uint(0)
	switch {
	case symbol < 144:
		value, n = 0b00110000+symbol, 8
	case symbol < 256:
		value, n = 0b110010000+symbol-144, 9
	case symbol < 280:
		value, n = symbol-256, 7
	default:
		value, n = 0b11000000+symbol-280, 8
	}
	return code{uint64(bits.Reverse16(uint16(value)) >> (16 - n)), n}
}

// distanceCode returns the code of a distance, extra bits included.
func distanceCode(distance int) code {
	d := uint(distance - 1)
	if d < 4 {
		return code{uint64(bits.Reverse8(uint8(d)) >> 3), 5}
	}
	// Two symbols for each power of two, told apart by the bit below the
	// highest; the bits below that are extra.
	extra := uint(bits.Len(d)) - 2
	symbol := 2*(extra+1) + d>>extra&1
	return code{uint64(bits.Reverse8(uint8(symbol))>>3) | uint64(d&(1<<extra-1))<<5, 5 + extra}
}

// bits appends the n lowest bits of v, at most 32.
func (f *pngFile) bits(v uint64, n uint) {
	f.pending |= v << f.nPending
	f.nPending += n
	if f.nPending >= 32 {
		f.data = binary.LittleEndian.AppendUint32(f.data, uint32(f.pending))
		f.pending >>= 32
		f.nPending -= 32
	}
}

// flush moves whole bytes to the file.
func (f *pngFile) flush() {
	for f.nPending >= 8 {
		f.data = append(f.data, byte(f.pending))
		f.pending >>= 8
		f.nPending -= 8
	}
}

// literal appends one byte of the stream.
func (f *pngFile) literal(v uint8) {
	c := literalCodes[v]
	f.bits(c.bits, c.n)
}

// copies repeats n bytes from the given distance back; n is 0 or at least
// minCopy.
func (f *pngFile) copies(n int, distance code) {
	for n > 0 {
		length := min(n, maxCopy)
		if rest := n - length; rest > 0 && rest < minCopy {
			length -= minCopy
		}
		c := copyCodes[length]
		f.bits(c.bits|distance.bits<<c.n, c.n+distance.n)
		n -= length
	}
}
