package observe_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// goldenStates are the states whose text and picture must not change unseen:
// models are compared across runs by what they were shown.
func goldenStates(t testing.TB) map[string]observe.State {
	paper := paperLake(t)
	return map[string]observe.State{
		"8x8-start":       {Grid: paper, Agent: paper.Start()},
		"8x8-frozen":      {Grid: paper, Agent: lake.Pos{Row: 3, Col: 4}},
		"8x8-hole":        {Grid: paper, Agent: lake.Pos{Row: 3, Col: 5}},
		"8x8-goal":        {Grid: paper, Agent: paper.Goal()},
		"8x8-radius2":     {Grid: paper, Agent: lake.Pos{Row: 3, Col: 4}, Radius: 2},
		"5x9":             {Grid: patterned(t, 5, 9), Agent: lake.Pos{Row: 1, Col: 8}},
		"32x12":           {Grid: patterned(t, 32, 12), Agent: lake.Pos{Row: 31, Col: 10}},
		"33x40":           {Grid: patterned(t, 33, 40), Agent: lake.Pos{Row: 32, Col: 0}},
		"33x40-radius3":   {Grid: patterned(t, 33, 40), Agent: lake.Pos{Row: 2, Col: 37}, Radius: 3},
		"4x4-all-visible": {Grid: patterned(t, 4, 4), Agent: lake.Pos{Row: 2, Col: 1}, Radius: 6},
	}
}

func TestGoldenPictures(t *testing.T) {
	for name, s := range goldenStates(t) {
		t.Run(name, func(t *testing.T) {
			img := observe.Render(&s, nil)
			path := filepath.Join("testdata", name+".png")
			if *update {
				data, err := observe.EncodePNG(img)
				if err != nil {
					t.Fatal(err)
				}
				writeGolden(t, path, data)
				return
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			comparePixels(t, img, want)
		})
	}
}

// comparePixels reports the first pixel that differs.
func comparePixels(t testing.TB, got, want image.Image) {
	t.Helper()
	if got.Bounds() != want.Bounds() {
		t.Fatalf("picture of %v, want %v", got.Bounds(), want.Bounds())
	}
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			if got.At(x, y) != want.At(x, y) {
				if g, w := hexOf(got.At(x, y)), hexOf(want.At(x, y)); g != w {
					t.Fatalf("pixel x=%d y=%d is %s, want %s", x, y, g, w)
				}
			}
		}
	}
}

// hexOf is a colour as #RRGGBB.
func hexOf(c color.Color) string {
	r, g, b, a := c.RGBA()
	if a != 0xFFFF {
		return "transparent"
	}
	return fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)
}

func TestGoldenTexts(t *testing.T) {
	for name, s := range goldenStates(t) {
		t.Run(name, func(t *testing.T) { compareGolden(t, name+".txt", s.Text()) })
	}
	t.Run("legend", func(t *testing.T) {
		text := ""
		for _, modality := range []string{record.Text, record.Vision} {
			for _, partial := range []bool{false, true} {
				text += fmt.Sprintf("-- %s, partial view: %t\n%s", modality, partial, observe.Legend(modality, partial))
			}
		}
		compareGolden(t, "legend.txt", text)
	})
	t.Run("terminal", func(t *testing.T) {
		s := observe.State{Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}}
		route := []lake.Pos{s.Agent, {Row: 4, Col: 4}, {Row: 4, Col: 5}, {Row: 5, Col: 5}, {Row: 6, Col: 5}, {Row: 7, Col: 5}, {Row: 7, Col: 6}, {Row: 7, Col: 7}}
		text := observe.ANSI(&s, route)
		s.Radius = 3
		compareGolden(t, "terminal.txt", text+"\n"+observe.ANSI(&s, nil))
	})
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		writeGolden(t, path, []byte(got))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func writeGolden(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestLegendRefusesOtherModalities(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a legend for a modality that does not exist")
		}
	}()
	observe.Legend("sound", false)
}
