package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// minPacked is the length below which nothing is gained by compression.
const minPacked = 64

// maxUnpacked bounds what one packed value may grow to, so that a damaged one
// cannot take all memory.
const maxUnpacked = 1 << 30

var (
	// quick is for small values: it finds repetitions and leaves out entropy
	// coding, whose tables cost more than the rest of the work and save a
	// tenth.
	quick = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithNoEntropyCompression(true), zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true)))
	// thorough is for rows of texts, which are long enough for it.
	thorough = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true)))

	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked)))
)

// packWindow is how far back, in bytes, a row's compression looks; rows are
// mostly shorter. The encoder holds several of them.
const packWindow = 256 << 10

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}

// pack returns the shorter of data and its compressed form, and how it is
// packed. A compressed form is written over dst, whose length must be 0.
func pack(how *zstd.Encoder, dst, data []byte) (out []byte, packed int) {
	if len(data) < minPacked {
		return data, packedRaw
	}
	if out = how.EncodeAll(data, dst); len(out) < len(data) {
		return out, packedZstd
	}
	return data, packedRaw
}

// unpack undoes pack. What it returns is data itself or lies in dst.
func unpack(dst, data []byte, packed int) ([]byte, error) {
	switch packed {
	case packedRaw:
		return data, nil
	case packedZstd:
		return unpacker.DecodeAll(data, dst[:0])
	}
	return nil, fmt.Errorf("unknown packing %d", packed)
}
