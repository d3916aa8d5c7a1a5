package observe_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
)

func encode(t testing.TB, img image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&buf, img); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Another program may store the same pixels in another way.
func TestDecodeAnyColorModel(t *testing.T) {
	states := map[string]observe.State{
		"5x9":         {Grid: patterned(t, 5, 9), Agent: lake.Pos{Row: 1, Col: 8}},
		"8x8 partly":  {Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}, Radius: 2},
		"4x33":        {Grid: patterned(t, 4, 33), Agent: lake.Pos{Row: 2, Col: 20}},
		"33x4 partly": {Grid: patterned(t, 33, 4), Agent: lake.Pos{Row: 30, Col: 1}, Radius: 4},
	}
	for name, s := range states {
		img := observe.Render(&s, nil)
		few := *img
		few.Palette = img.Palette[:9] // four bits a pixel
		stores := map[string]image.Image{
			"palette":     img,
			"few colours": &few,
			"RGBA":        image.NewRGBA(img.Rect),
			"NRGBA":       image.NewNRGBA(img.Rect),
			"RGBA64":      image.NewRGBA64(img.Rect),
			"NRGBA64":     image.NewNRGBA64(img.Rect),
		}
		for store, dst := range stores {
			if dst, ok := dst.(draw.Image); ok && dst != image.Image(img) && dst != image.Image(&few) {
				draw.Draw(dst, img.Rect, img, image.Point{}, draw.Src)
			}
			got, err := observe.DecodePNG(encode(t, dst))
			if err != nil {
				t.Errorf("%s as %s: %v", name, store, err)
			} else if got != s.Scene() {
				t.Errorf("%s as %s: read\n%s", name, store, plainListing(&got))
			}
		}
	}
}

func TestDecodeWithoutLabels(t *testing.T) {
	s := observe.State{Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}}
	img := observe.Render(&s, nil)
	for r := range 8 {
		for c := range 8 {
			fill(img, image.Rect(c*48+1, r*48+1, c*48+40, r*48+15), img.ColorIndexAt(c*48+44, r*48+44))
		}
	}
	if got, err := observe.DecodePNG(encode(t, img)); err != nil || got != s.Scene() {
		t.Errorf("read %v, %v", got, err)
	}
}

func fill(img *image.Paletted, r image.Rectangle, index uint8) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			img.SetColorIndex(x, y, index)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	s := observe.State{Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}}
	whole := observe.Render(&s, nil)
	index := func(name string) uint8 {
		for i, c := range whole.Palette {
			if hexOf(c) == name {
				return uint8(i)
			}
		}
		t.Fatalf("no %s in the palette", name)
		return 0
	}
	cell := func(r, c int) image.Rectangle { return image.Rect(c*48+1, r*48+1, c*48+48, r*48+48) }
	tests := []struct {
		name  string
		spoil func(*image.Paletted) image.Image
		want  string
	}{
		{"no agent", func(m *image.Paletted) image.Image { fill(m, cell(3, 4), index("#A8C8E8")); return m }, "no agent"},
		{"two agents", func(m *image.Paletted) image.Image {
			copyCell(m, cell(1, 1), cell(3, 4))
			return m
		}, "agents at (1,1) and at (3,4)"},
		{"not the paper's colours", func(m *image.Paletted) image.Image {
			m.Palette = append(color.Palette{}, m.Palette...)
			m.Palette[index("#A8C8E8")] = color.RGBA{0xA8, 0xC8, 0xE9, 0xFF}
			return m
		}, "#A8C8E9, want a cell's colour"},
		{"see-through", func(m *image.Paletted) image.Image {
			m.Palette = append(color.Palette{}, m.Palette...)
			m.Palette[index("#A8C8E8")] = color.NRGBA{0xA8, 0xC8, 0xE8, 0xF0}
			return m
		}, "want a cell's colour"},
		{"second start", func(m *image.Paletted) image.Image { fill(m, cell(6, 2), index("#2E8B57")); return m }, "cell (6,2) has the colour of the start"},
		{"goal frozen over", func(m *image.Paletted) image.Image { fill(m, cell(7, 7), index("#A8C8E8")); return m }, "cell (7,7) has the colour of frozen cells, want that of the goal"},
		{"hole in the start", func(m *image.Paletted) image.Image { fill(m, cell(0, 0), index("#202020")); return m }, "cell (0,0) has the colour of holes"},
		{"half a cell", func(m *image.Paletted) image.Image {
			fill(m, image.Rect(72, 49, 96, 96), index("#202020"))
			return m
		}, "cell (1,1)"},
		{"half a triangle", func(m *image.Paletted) image.Image {
			fill(m, image.Rect(4*48+25, 3*48+1, 5*48, 4*48), index("#A8C8E8"))
			return m
		}, "cell (3,4): pixel x=226 y=184 is #A8C8E8"},
		{"another triangle", func(m *image.Paletted) image.Image {
			fill(m, image.Rect(3*48+10, 3*48+20, 3*48+38, 3*48+42), index("#DAA520"))
			return m
		}, "cell (3,3): pixel x=158 y=184 is #DAA520, want the cell's colour or the agent's"},
		{"no line on the left", func(m *image.Paletted) image.Image {
			fill(m, image.Rect(48, 0, 49, 384), index("#A8C8E8"))
			return m
		}, "the line on its left"},
		{"no lines", func(m *image.Paletted) image.Image {
			fill(m, image.Rect(0, 48, 384, 49), index("#A8C8E8"))
			return m
		}, "the line above it"},
		{"cut at the side", func(m *image.Paletted) image.Image { return m.SubImage(image.Rect(0, 0, 383, 384)) }, "383 by 384 pixels are no whole number of cells of 48"},
		{"cut within the lake", func(m *image.Paletted) image.Image { return m.SubImage(image.Rect(0, 0, 336, 384)) }, "cell (7,6) has the colour of frozen cells"},
		{"three rows", func(m *image.Paletted) image.Image { return m.SubImage(image.Rect(0, 0, 384, 144)) }, "3 rows by 8 columns"},
		{"moved", func(m *image.Paletted) image.Image { return m.SubImage(image.Rect(24, 24, 360, 360)) }, "the line on its left"},
		{"grey", func(m *image.Paletted) image.Image {
			grey := image.NewGray(m.Rect)
			draw.Draw(grey, m.Rect, m, image.Point{}, draw.Src)
			return grey
		}, "cell (0,0)"},
		{"one pixel", func(*image.Paletted) image.Image { return image.NewGray(image.Rect(0, 0, 1, 1)) }, "1 by 1 pixels"},
		{"too large", func(*image.Paletted) image.Image { return image.NewGray(image.Rect(0, 0, 1537, 48)) }, "at most 1536 a side"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img := *whole
			img.Pix = bytes.Clone(whole.Pix)
			_, err := observe.DecodePNG(encode(t, tt.spoil(&img)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	data := encode(t, whole)
	for _, cut := range []int{0, 1, 20, len(data) / 2, len(data) - 1} {
		if _, err := observe.DecodePNG(data[:cut]); err == nil || !strings.Contains(err.Error(), "not a readable PNG") {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
}

func copyCell(m *image.Paletted, to, from image.Rectangle) {
	for y := range from.Dy() {
		for x := range from.Dx() {
			m.SetColorIndex(to.Min.X+x, to.Min.Y+y, m.ColorIndexAt(from.Min.X+x, from.Min.Y+y))
		}
	}
}

func TestEncodePNGOfAPartOfAnImage(t *testing.T) {
	s := observe.State{Grid: paperLake(t)}
	part := observe.Render(&s, nil).SubImage(image.Rect(30, 50, 200, 111)).(*image.Paletted)
	data, err := observe.EncodePNG(part)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	moved := *part
	moved.Rect = part.Rect.Sub(part.Rect.Min)
	comparePixels(t, got, &moved)
}

func TestEncodePNGRefuses(t *testing.T) {
	if _, err := observe.EncodePNG(image.NewPaletted(image.Rect(0, 0, 0, 5), nil)); err == nil || !strings.Contains(err.Error(), "picture of") {
		t.Errorf("an empty picture: %v", err)
	}
}

// Whatever a file holds, reading it ends, with a scene that a state could have
// or an error; a header that promises many pixels buys no memory.
func FuzzDecodePNG(f *testing.F) {
	for name, s := range goldenStates(f) {
		if strings.HasPrefix(name, "8x8") || strings.HasPrefix(name, "4x4") {
			data, err := observe.EncodePNG(observe.Render(&s, nil))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	huge := encode(f, image.NewGray(image.Rect(0, 0, 1, 1)))
	copy(huge[16:24], "\x7f\xff\xff\xff\x7f\xff\xff\xff")
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		scene, err := observe.DecodePNG(data)
		if err != nil {
			if scene != (observe.Scene{}) {
				t.Fatal("an error comes with half a scene")
			}
			return
		}
		if !scene.HasAgent || !scene.Grid.Contains(scene.Agent) || lake.CheckSize(scene.Grid.NumRows(), scene.Grid.NumCols()) != nil {
			t.Fatalf("read %v with the agent at %v", scene.Grid.Rows(), scene.Agent)
		}
	})
}
