package gym

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"

	"github.com/spatialstale/spatialstale/observe"
)

// render shows the lake as it is now.
func (s *session) render(q *renderRequest) (any, error) {
	if s.one == nil {
		return nil, errors.New("render before reset")
	}
	state := observe.State{Grid: s.one.walk.Grid, Agent: s.one.walk.At}
	switch q.Mode {
	case "text":
		return map[string]string{"text": state.Listing() + state.Where()}, nil
	case "rgb":
		img := observe.Render(&state, nil)
		b := img.Bounds()
		raw := make([]byte, 0, 3*b.Dx()*b.Dy())
		for y := b.Min.Y; y < b.Max.Y; y++ {
			row := img.Pix[img.PixOffset(b.Min.X, y):]
			for _, i := range row[:b.Dx()] {
				red, green, blue, _ := img.Palette[i].RGBA()
				raw = append(raw, byte(red>>8), byte(green>>8), byte(blue>>8))
			}
		}
		var packed bytes.Buffer
		z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(raw); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return &picture{b.Dx(), b.Dy(), packed.Bytes()}, nil
	}
	return nil, fmt.Errorf("render mode %q: there are text and rgb", q.Mode)
}
