package observe

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"sync"

	"github.com/spatialstale/spatialstale/lake"
)

// maxPixels is the longest side of a picture that Render draws.
const maxPixels = max(largeCells*largeCell, lake.MaxSide*smallCell)

// encoder writes PNG files fast rather than small. Its buffers are reused:
// making them costs more than filling them.
var encoder = png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: &encoderBuffers{}}

type encoderBuffers struct{ pool sync.Pool }

// Get implements png.EncoderBufferPool.
func (b *encoderBuffers) Get() *png.EncoderBuffer {
	buffer, _ := b.pool.Get().(*png.EncoderBuffer)
	return buffer
}

// Put implements png.EncoderBufferPool.
func (b *encoderBuffers) Put(buffer *png.EncoderBuffer) { b.pool.Put(buffer) }

// EncodePNG writes a picture as a paletted PNG file. What the picture shows is
// the same on every machine; the file's bytes may differ between releases of
// Go, so that pictures are compared by their pixels.
func EncodePNG(img *image.Paletted) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(16 << 10)
	if err := encoder.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("picture of %v: %w", img.Bounds(), err)
	}
	return b.Bytes(), nil
}
