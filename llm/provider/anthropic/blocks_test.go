package anthropic

import (
	"image"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

// Would fail if cutting the prompt into blocks lost or moved any of it, if a
// block were one that the protocol refuses, or if a mark stood elsewhere than
// where parts are shared.
func TestBlocks(t *testing.T) {
	png := []byte("png")
	rapid.Check(t, func(t *rapid.T) {
		var req llm.Request
		for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b\n", "\n", " ", "IMAGE"}), 1, 12).Draw(t, "parts") {
			part := llm.Text(text)
			if text == "IMAGE" {
				part = llm.Image(image.NewGray(image.Rect(0, 0, 1, 1)), png)
			}
			req.Parts = append(req.Parts, part)
		}
		req.Shared = rapid.SliceOfN(rapid.IntRange(0, len(req.Parts)+1), 0, 6).Draw(t, "shared")
		var want, got strings.Builder
		for i := range req.Parts {
			want.WriteString(shown(req.Parts[i].Text(), req.Parts[i].PNG()))
		}
		marks := 0
		ends := map[string]bool{}
		for _, n := range req.Shared {
			var b strings.Builder
			for i := range min(n, len(req.Parts)) {
				b.WriteString(shown(req.Parts[i].Text(), req.Parts[i].PNG()))
			}
			ends[strings.Join(strings.Fields(b.String()), "")] = true
		}
		all := blocks(&req)
		for i, b := range all {
			if b.Source == nil && strings.TrimSpace(b.Text) == "" {
				t.Fatal("a block of white space")
			}
			var png []byte
			if b.Source != nil {
				png = b.Source.Data
			}
			got.WriteString(shown(b.Text, png))
			if b.Mark == nil {
				continue
			}
			marks++
			if so := strings.Join(strings.Fields(got.String()), ""); !ends[so] {
				t.Fatalf("a mark behind %q, block %d of %d", so, i, len(all))
			}
		}
		if marks > 4 {
			t.Fatalf("%d marks", marks)
		}
		// White space beside pictures is all that may go.
		if g, w := strings.Join(strings.Fields(got.String()), ""), strings.Join(strings.Fields(want.String()), ""); g != w {
			t.Fatalf("%q became %q", w, g)
		}
		if !strings.Contains(want.String(), "IMAGE") && strings.TrimSpace(want.String()) != "" && got.String() != want.String() {
			t.Fatalf("%q became %q", want.String(), got.String())
		}
	})
}

func shown(text string, png []byte) string {
	if png != nil {
		return "IMAGE"
	}
	return text
}
