package judge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// doneFor returns what an audit of the asked ids gives a client that streams.
func doneFor(asked []string, o judge.Options) func(string) bool {
	var done func(string) bool
	o.Mode = judge.WholeStore
	a, err := judge.New(modelFunc(func(req *llm.Request) string { done = req.Done; return "" }), o)
	if err != nil {
		panic(err)
	}
	entries := make([]judge.Entry, len(asked))
	for i, id := range asked {
		entries[i].ID = id
	}
	if _, err := a.Audit(context.Background(), judge.Where{}, entries, nil); err != nil {
		panic(err)
	}
	return done
}

// Would fail if a reply were cut before its last verdict or while the answer
// may still be a draft, or if a list that goes on for ever were not cut.
func TestDone(t *testing.T) {
	const one, two = `{"memory_id":"mem_001","is_stale":true,"reasoning":"a } [ \" b"}`, `{"memory_id":"mem_002","is_stale":false}`
	for name, tc := range map[string]struct {
		text string
		at   string // the text is done when it has grown this far; "" for never
	}{
		"as asked":                {`{"judgments":[` + one + `,` + two + `]}`, `{"judgments":[` + one + `,` + two},
		"a list":                  {"\n[" + one + ",\n" + two + "]", "\n[" + one + ",\n" + two},
		"with spaces":             {`{ "judgments" : [ ` + one + `, ` + two, `{ "judgments" : [ ` + one + `, ` + two},
		"JSON lines":              {one + "\n" + two, one + "\n" + two},
		"a fence":                 {"```json\n[" + one + "," + two + "]\n```", "```json\n[" + one + "," + two},
		"keyed":                   {`{"mem_001":true,"mem_002":false}`, `{"mem_001":true,"mem_002":false}`},
		"ids written otherwise":   {`[{"memory_id":"[MEM_001]","is_stale":true},` + two, `[{"memory_id":"[MEM_001]","is_stale":true},` + two},
		"a reason first":          {`{"reasoning":"x","judgments":[` + one + `,` + two, `{"reasoning":"x","judgments":[` + one + `,` + two},
		"it goes on":              {`[` + one + `,` + one + `,{"memory_id":"mem_003","is_stale":true},` + two + `,` + one, `[` + one + `,` + one + `,{"memory_id":"mem_003","is_stale":true},` + two},
		"one is missing":          {`[` + one + `,` + one + `]`, ""},
		"the last one is half":    {`[` + one + `,{"memory_id":"mem_002","is_stale":false`, ""},
		"a draft first":           {`{"draft":[` + one + `,` + two + `],"judgments":[`, ""},
		"another list behind":     {`{"judgments":[` + one + `],"example":[` + two + `]}`, ""},
		"words first":             {`Let me see: [` + one + `,` + two + `]`, ""},
		"words between":           {`[` + one + `] no, ` + two, ""},
		"thinking":                {`<think>[` + one + `,` + two + `]`, ""},
		"quoted":                  {`{"reasoning":"[` + strings.ReplaceAll(one+`,`+two, `"`, `\"`) + `]"}`, ""},
		"numbers may be places":   {`[{"memory_id":1,"is_stale":true},{"memory_id":2,"is_stale":true}]`, ""},
		"without a verdict":       {`[{"memory_id":"mem_001"},{"memory_id":"mem_002"}]`, ""},
		"nothing":                 {"", ""},
		"closers without openers": {"]}" + one + two, ""},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			done := doneFor([]string{"mem_001", "mem_002"}, judge.Options{})
			for end := 0; ; {
				end = min(end+step, len(tc.text))
				want := tc.at != "" && end >= len(tc.at)
				if got := done(tc.text[:end]); got != want {
					t.Errorf("%s, by %d bytes: %v, want %v, for %q", name, step, got, want, tc.text[:end])
					break
				}
				if end == len(tc.text) || want {
					break
				}
			}
		}
	}
	done := doneFor([]string{"mem_001"}, judge.Options{Score: true, Threshold: 0.5})
	if done(`[{"memory_id":"mem_001","is_stale":true}`) || !done(`[{"memory_id":"mem_001","score":0.1}`) {
		t.Error("an audit by scores does not wait for scores")
	}
}

// A call that is tried again begins another text; would fail if verdicts of the
// first one counted for it.
func TestDoneBeginsAnew(t *testing.T) {
	done := doneFor([]string{"a", "b"}, judge.Options{})
	for i, step := range []struct {
		text string
		want bool
	}{
		{`[{"memory_id":"a","is_stale":true}`, false},
		{`[{"memory_id":"b","is_stale":true}`, false},
		{`[{"memory_id":"b","is_stale":true},{"memory_id":"a","is_stale":true}`, true},
		{`[`, false},
		{`[{"memory_id":"a","is_stale":true}`, false},
		{`[{"memory_id":"a","is_stale":true},{"memory_id":"b","is_stale":true}`, true},
	} {
		if got := done(step.text); got != step.want {
			t.Errorf("text %d: %v, want %v", i, got, step.want)
		}
	}
}

// Whatever the dress and however the text arrives: what is done has a judgment
// on every entry, and is read as the whole reply would be.
func TestDoneIsAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "asked")
		asked, items := make([]string, n), make([]item, n)
		for i := range asked {
			asked[i] = fmt.Sprintf("mem_%03d", 9*i+1)
			items[i] = item{asked[i], rapid.Bool().Draw(t, "stale"), rapid.SampledFrom([]string{"", `a "}]" b`, "[mem_001]", `\`}).Draw(t, "reason")}
		}
		for name, dress := range clothes {
			text := dress(items)
			whole, _ := judge.Parse(asked, &llm.Reply{Text: text, Finish: llm.FinishStop})
			done := doneFor(asked, judge.Options{})
			for end := 0; end < len(text); {
				end = min(end+rapid.IntRange(1, 40).Draw(t, "step"), len(text))
				if !done(text[:end]) {
					continue
				}
				cut, parsed := judge.Parse(asked, &llm.Reply{Text: text[:end], Finish: llm.FinishDone})
				for i := range cut {
					if cut[i].Status != whole[i].Status || cut[i].Status == record.Unanswered {
						t.Fatalf("%s: %s is %s in what was done, %s in the whole, %q", name, asked[i], cut[i].Status, whole[i].Status, text[:end])
					}
				}
				if parsed.Outcome != judge.Answered {
					t.Fatalf("%s: done, but %s: %q", name, parsed.Outcome, text[:end])
				}
				break
			}
		}
	})
}

// FuzzDone would fail on a panic, on a reply that is done without a judgment on
// every entry, and on an answer that depends on how the text arrives.
func FuzzDone(f *testing.F) {
	f.Add(`{"judgments":[{"memory_id":"a","is_stale":true},{"memory_id":"b","is_stale":false}]}`, 3)
	f.Add("```\n[{\"a\":{}]}", 1)
	f.Fuzz(func(t *testing.T, text string, step int) {
		asked := []string{"a", "b"}
		whole := doneFor(asked, judge.Options{})(text)
		byBytes, done := doneFor(asked, judge.Options{}), false
		for end := range len(text) + 1 {
			done = done || byBytes(text[:end])
		}
		if done != whole {
			t.Fatalf("%v byte by byte, %v at once", done, whole)
		}
		for _, id := range asked {
			if done && !strings.Contains(strings.ToLower(text), id) && !strings.Contains(text, `\u`) {
				t.Fatalf("done without a word of %q", id)
			}
		}
	})
}
