package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// An evalZip writes the files of a log. The viewer reads their sizes from the
// local headers, so that they must be known before: zip.Writer.Create would put
// them behind the data.
type evalZip struct {
	*press
	to *zip.Writer
}

// A press makes a file of a value. The logs of an export share one, as its
// buffers grow to the size of the largest sample.
type press struct {
	plain bytes.Buffer
	small bytes.Buffer
	flate *flate.Writer
}

func newZip(w io.Writer, p *press) *evalZip { return &evalZip{p, zip.NewWriter(w)} }

func (z *evalZip) add(name string, v any) error {
	z.plain.Reset()
	enc := json.NewEncoder(&z.plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	z.small.Reset()
	if z.flate == nil {
		var err error
		if z.flate, err = flate.NewWriter(&z.small, flate.DefaultCompression); err != nil {
			return err
		}
	} else {
		z.flate.Reset(&z.small)
	}
	if _, err := z.flate.Write(z.plain.Bytes()); err != nil {
		return err
	}
	if err := z.flate.Close(); err != nil {
		return err
	}
	w, err := z.to.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(z.plain.Bytes()),
		CompressedSize64: uint64(z.small.Len()), UncompressedSize64: uint64(z.plain.Len()),
	})
	if err != nil {
		return err
	}
	_, err = w.Write(z.small.Bytes())
	return err
}
