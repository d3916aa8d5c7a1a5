package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

// Would fail if a model that found no end were listened to, or if one with much
// to say in the same words were cut off.
func TestRepeats(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"judgments":[`)
		for i := range n {
			fmt.Fprintf(&b, `{"memory_id":"mem_%03d","is_stale":false,"confidence":1.0,"reasoning":"ok"},`, i)
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"nothing":                           {"", false},
		"white space up to the cap":         {`{"action":` + strings.Repeat(" \t", 2000), true},
		"one sentence":                      {"The plan: " + strings.Repeat("The agent is in the hole. ", 100), true},
		"one sentence, cut in a copy":       {strings.Repeat("The agent is in the hole. ", 100) + "The ag", true},
		"long paragraphs":                   {strings.Repeat(list(20), 5), true},
		"three long paragraphs":             {strings.Repeat(list(20), 3), false},
		"a few copies":                      {strings.Repeat("The agent is in the hole. ", 20), false},
		"many verdicts in the same words":   {list(500), false},
		"repetition that ended":             {strings.Repeat("no ", 1000) + "But the answer is DOWN.", false},
		"a whole memory under one judgment": {strings.Repeat(`{"memory_id":"mem_000","is_stale":false},`, 64), true},
		"a lake without holes":              {strings.Repeat(strings.Repeat(`"F",`, 64)+"\n", 7), false},
	} {
		if got := llm.Repeats(tc.text); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// What ends in enough copies is found whatever stands before it, and a text
// without a repeated piece never is.
func TestRepeatsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringN(1, 40, 400).Draw(t, "piece")
		head := rapid.String().Draw(t, "head")
		copies := max(4, 2<<10/len(piece)+1)
		if !llm.Repeats(head + strings.Repeat(piece, copies)) {
			t.Fatalf("%d copies of %q are not found", copies, piece)
		}
		var counted strings.Builder
		for i := range copies {
			fmt.Fprintf(&counted, "%s%d\n", piece, i*i)
		}
		if llm.Repeats(counted.String()) {
			t.Fatalf("a count behind %q passes for a repetition", piece)
		}
	})
}

func FuzzRepeats(f *testing.F) {
	f.Add("ab", 2000)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, piece string, copies int) {
		if copies < 0 || copies > 1<<12 || len(piece) > 1<<10 {
			return
		}
		text := strings.Repeat(piece, copies)
		if want := len(text) >= 2<<10 && len(text) >= 4*len(piece) && copies >= 4; want && !llm.Repeats(text) {
			t.Errorf("%d copies of %q are not found", copies, piece)
		}
	})
}
