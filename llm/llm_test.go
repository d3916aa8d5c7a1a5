package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// checker is a small paletted picture with a transparent colour in it.
func checker() *image.Paletted {
	img := image.NewPaletted(image.Rect(0, 0, 5, 3), color.Palette{
		color.NRGBA{0xA8, 0xC8, 0xE8, 0xFF}, color.NRGBA{0x20, 0x20, 0x20, 0xFF}, color.NRGBA{0xDA, 0xA5, 0x20, 0x80},
	})
	for i := range img.Pix {
		img.Pix[i] = uint8(i % 3)
	}
	return img
}

func nrgba(src image.Image) *image.NRGBA {
	dst := image.NewNRGBA(src.Bounds())
	for y := src.Bounds().Min.Y; y < src.Bounds().Max.Y; y++ {
		for x := src.Bounds().Min.X; x < src.Bounds().Max.X; x++ {
			dst.Set(x, y, src.At(x, y))
		}
	}
	return dst
}

// The same pixels must have the same sum however they are held or encoded, or
// a resumed run would pay for its calls again.
func TestPixelSumIsOfThePixels(t *testing.T) {
	img := checker()
	want := llm.PixelSum(img)

	if llm.PixelSum(nrgba(img)) != want {
		t.Error("paletted and NRGBA differ")
	}
	framed := image.NewPaletted(image.Rect(0, 0, 9, 9), img.Palette)
	for y := range 3 {
		for x := range 5 {
			framed.SetColorIndex(x+2, y+4, img.ColorIndexAt(x, y))
		}
	}
	part := framed.SubImage(image.Rect(2, 4, 7, 7))
	if llm.PixelSum(part) != want || llm.PixelSum(nrgba(part)) != want {
		t.Error("a part of a larger picture differs from the same picture alone")
	}
	for _, level := range []png.CompressionLevel{png.NoCompression, png.BestCompression} {
		var file bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: level}).Encode(&file, img); err != nil {
			t.Fatal(err)
		}
		p, err := llm.PNG(file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if p.Sum() != want {
			t.Errorf("a PNG of compression %v differs", level)
		}
	}
}

func TestPixelSumTellsPicturesApart(t *testing.T) {
	img := checker()
	changed := checker()
	changed.Pix[14] = 1
	tall := image.NewPaletted(image.Rect(0, 0, 3, 5), img.Palette)
	copy(tall.Pix, img.Pix)
	sums := map[[32]byte]string{}
	for name, picture := range map[string]image.Image{"original": img, "one pixel changed": changed, "other shape": tall} {
		sum := llm.PixelSum(picture)
		if other, ok := sums[sum]; ok {
			t.Errorf("%s and %s have the same sum", name, other)
		}
		sums[sum] = name
	}
}

func TestPNGRefusesOtherFiles(t *testing.T) {
	if _, err := llm.PNG([]byte("GIF89a")); err == nil || !strings.Contains(err.Error(), "not a readable PNG") {
		t.Errorf("error %v", err)
	}
}

func TestPromptSum(t *testing.T) {
	request := func(parts ...llm.Part) [32]byte {
		return (&llm.Request{Parts: parts}).PromptSum()
	}
	a, b, img := llm.Text("a"), llm.Text("b"), llm.Image(checker(), []byte("x"))
	base := request(a, b, img)
	for name, other := range map[string][32]byte{
		"order":      request(b, a, img),
		"less":       request(a, b),
		"part edges": request(llm.Text("ab"), img),
	} {
		if other == base {
			t.Errorf("%s: another prompt has the same sum", name)
		}
	}
	if request(llm.Text("a"), llm.Text("b"), llm.Image(nrgba(checker()), []byte("y"))) != base {
		t.Error("the same prompt, built anew from another encoding, has another sum")
	}
	named := llm.Request{Trial: "t", Slot: "s", Parts: []llm.Part{a, b, img}}
	if named.PromptSum() != base {
		t.Error("the sum depends on more than the prompt")
	}
}

func TestErrorSaysWhereAndWhy(t *testing.T) {
	cause := io.ErrUnexpectedEOF
	err := fmt.Errorf("audit: %w", &llm.Error{
		Kind: llm.KindNetwork, Model: "vllm/x", Slot: "window0/batch3", Message: "no answer", RetryAfter: time.Second, Err: cause,
	})
	for _, want := range []string{"vllm/x", "window0/batch3", "network", "no answer", cause.Error()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if llm.KindOf(err) != llm.KindNetwork {
		t.Errorf("KindOf = %q", llm.KindOf(err))
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if kind := llm.KindOf(context.Canceled); kind != "" {
		t.Errorf("KindOf(a foreign error) = %q", kind)
	}
	short := (&llm.Error{Kind: llm.KindAuth, Model: "openai/x"}).Error()
	if short != "openai/x: auth" {
		t.Errorf("without slot, message and cause: %q", short)
	}
}

// A kind that is retried and fatal at once would make a run spin; one that is
// neither ends a trial.
func TestKinds(t *testing.T) {
	for kind, want := range map[llm.Kind][2]bool{ // retryable, fatal
		llm.KindAuth: {false, true}, llm.KindQuota: {false, true}, llm.KindUnknownModel: {false, true},
		llm.KindBadRequest: {false, false}, llm.KindCanceled: {false, false}, "": {false, false},
		llm.KindRateLimit: {true, false}, llm.KindServer: {true, false}, llm.KindNetwork: {true, false},
		llm.KindTimeout: {true, false}, llm.KindMalformed: {true, false},
	} {
		if got := [2]bool{kind.Retryable(), kind.Fatal()}; got != want {
			t.Errorf("%q: retryable, fatal = %v, want %v", kind, got, want)
		}
	}
}
