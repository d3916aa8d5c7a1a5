package llm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

// The counts are those of real tokenizers: o200k_base and cl100k_base
// (gpt-tokenizer 3), Claude 2's (@anthropic-ai/tokenizer), Llama 3's
// (llama3-tokenizer-js) and Mistral's Tekken (mistral-common). A range that one
// of them leaves would make a plan's bill wrong.
func TestEstimateTokensHoldsRealTokenizers(t *testing.T) {
	for file, counts := range map[string][]int{
		"audit.txt":       {912, 922, 942, 922, 962},
		"audit-whole.txt": {1912, 1976, 2091, 1976, 2218},
		"audit-32x32.txt": {6794, 6804, 6794, 6804, 8280},
		"step.txt":        {632, 632, 626, 632, 634},
		"step-memory.txt": {1839, 1903, 2008, 1903, 2141},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "tokens", file))
		if err != nil {
			t.Fatal(err)
		}
		est := llm.EstimateTokens(string(text))
		for _, n := range counts {
			if n < est.Low || n > est.High {
				t.Errorf("%s: %d tokens, estimated %d to %d", file, n, est.Low, est.High)
			}
		}
		if est.High > est.Low*3/2 {
			t.Errorf("%s: %d to %d says little", file, est.Low, est.High)
		}
	}
}

// The parts of a prompt are estimated one by one: the sum must not depend on
// where a text is cut into lines.
func TestEstimateTokensAddsUpOverLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zA-Z0-9(),= .:é中-]{0,30}\n){0,6}`).Draw(t, "text")
		var sum llm.Tokens
		for line := range strings.Lines(text) {
			sum = sum.Plus(llm.EstimateTokens(line))
		}
		if all := llm.EstimateTokens(text); all.Low != sum.Low || all.High < sum.High-len(text) || all.High > sum.High {
			t.Fatalf("%q: %+v whole, %+v by lines", text, all, sum)
		}
		if est := llm.EstimateTokens(text); est.Low > est.High || est.High > 2*len(text) {
			t.Fatalf("%q: %+v", text, est)
		}
	})
}
