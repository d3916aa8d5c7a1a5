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
			if b.png == nil && strings.TrimSpace(b.text) == "" {
				t.Fatal("a block of white space")
			}
			got.WriteString(shown(b.text, b.png))
			if !b.mark {
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

// Would fail if the default cap did not hold ten verdicts of 110 tokens, or
// those of a whole store, or could outlast a request.
func TestDefaultCap(t *testing.T) {
	entry := "[mem_021] SAFE at (2,5): Frozen ice - safe to walk\n"
	budget := 2048
	for _, c := range []struct {
		entries  int
		thinking *int
		least    int
	}{{10, nil, 10 * 110}, {64, nil, 64 * 110}, {100, nil, 100 * 110}, {4096, nil, 20000}, {10, &budget, 10*110 + budget}} {
		prompt := strings.Repeat("x", 1600) + strings.Repeat("(0,1)=F ", c.entries) + strings.Repeat(entry, c.entries)
		n := DefaultCap(&llm.Request{Parts: []llm.Part{llm.Text(prompt)}, Params: llm.Params{Thinking: c.thinking}})
		if n < c.least || n > mostCap+budget {
			t.Errorf("%d for %d entries, want at least %d", n, c.entries, c.least)
		}
	}
}
