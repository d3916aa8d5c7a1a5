package judge_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// A replyCase is a case of testdata/replies.json.
type replyCase struct {
	Name       string
	Asked      []string
	Finish     llm.Finish
	Reply      string
	Want       map[string]string
	UnknownIDs int `json:"unknown_ids"`
}

func replyCases(t testing.TB) []replyCase {
	var file struct{ Audit []replyCase }
	readJSON(t, "testdata/replies.json", &file)
	return file.Audit
}

// replyOutcomes are the outcomes of the cases that are not simply answered.
var replyOutcomes = map[string]string{
	"thinking never closed":   judge.Truncated,
	"missing entry":           judge.Partial,
	"conflicting duplicate":   judge.Partial,
	"truncated in the middle": judge.Truncated,
	"refusal":                 judge.Refusal,
	"empty":                   judge.Empty,
	"content filter":          judge.Filtered,
	"null verdict":            judge.Partial,
}

// replyRepairs are the repairs of the cases that are not read as they stand.
var replyRepairs = map[string][]string{
	"code fence with a language":        {llm.RepairFence},
	"thinking tags with a draft inside": {llm.RepairThinking},
	"draft then final array":            {llm.RepairEmbedded},
	"trailing commas":                   {llm.RepairJSON},
	"python literals":                   {llm.RepairJSON},
	"booleans as strings":               {judge.RepairBoolean},
	"ids without zeros or prefix":       {judge.RepairID},
	"one object per line":               {llm.RepairLines},
	"truncated in the middle":           {llm.RepairTruncated},
	"smart quotes":                      {llm.RepairJSON},
}

func TestParseReplies(t *testing.T) {
	cases := replyCases(t)
	if len(cases) < 24 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			verdicts, parsed := judge.Parse(tc.Asked, &llm.Reply{Text: tc.Reply, Finish: tc.Finish})
			want := make([]string, len(tc.Asked))
			for i, id := range tc.Asked {
				want[i] = tc.Want[id]
			}
			if diff := cmp.Diff(want, statuses(verdicts)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			outcome := replyOutcomes[tc.Name]
			if outcome == "" {
				outcome = judge.Answered
			}
			if diff := cmp.Diff(record.Parsed{Outcome: outcome, Repairs: replyRepairs[tc.Name], UnknownIDs: tc.UnknownIDs}, parsed); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

func statuses(verdicts []judge.Verdict) []string {
	out := make([]string, len(verdicts))
	for i := range verdicts {
		out[i] = verdicts[i].Status
	}
	return out
}

const (
	S = record.Stale
	V = record.Valid
	U = record.Unanswered
)

// Shapes of judgments that the cases file does not have.
func TestParseJudgments(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       [3]string // of mem_001, mem_002, mem_010
		outcome    string
		repairs    []string
		unknown    int
	}{
		{"single object", `{"memory_id":"mem_002","is_stale":true}`, [3]string{U, S, U}, judge.Partial, nil, 0},
		{"object under another key", `{"result":{"answers":[{"memory_id":"mem_001","is_stale":true}]},"n":1}`, [3]string{S, U, U}, judge.Partial, nil, 0},
		{"JSON lines of objects around lists", "{\"judgments\":[{\"memory_id\":\"mem_001\",\"is_stale\":true}]}\n{\"judgments\":[{\"memory_id\":\"mem_002\",\"is_stale\":false}]}", [3]string{S, V, U}, judge.Partial, []string{llm.RepairLines}, 0},
		{"draft and final in one object", `{"draft":[{"memory_id":"mem_001","is_stale":true}],"judgments":[{"memory_id":"mem_001","is_stale":false}]}`, [3]string{V, U, U}, judge.Partial, nil, 0},
		{"keyed by id", `{"mem_001":true,"mem_002":{"is_stale":false,"reasoning":"ok"},"mem_010":"stale"}`, [3]string{S, V, S}, judge.Answered, []string{judge.RepairKeyed, judge.RepairBoolean}, 0},
		{"keyed by id inside", `{"judgments":{"mem_001":true,"[mem_2]":false,"note":"fine","mem_099":true}}`, [3]string{S, V, U}, judge.Partial, []string{judge.RepairKeyed, judge.RepairID}, 1},
		{"keyed twice, contradicting", `{"mem_001":true,"mem_002":false,"mem_001":false}`, [3]string{U, V, U}, judge.Partial, []string{judge.RepairKeyed}, 0},
		{"keyed by number, with ids inside", `{"1":{"memory_id":"mem_002","is_stale":true},"2":{"memory_id":"mem_001","is_stale":false}}`, [3]string{V, S, U}, judge.Partial, nil, 0},
		{"a repeated key that contradicts", `[{"memory_id":"mem_001","is_stale":true,"is_stale":false},{"memory_id":"mem_002","is_stale":true,"is_stale":true}]`, [3]string{U, S, U}, judge.Partial, nil, 0},
		{"a contradiction in one object and an answer elsewhere", `[{"memory_id":"mem_001","is_stale":true,"is_stale":false},{"memory_id":"mem_001","is_stale":true}]`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"two ids in one object", `[{"memory_id":"mem_001","memory_id":"mem_002","is_stale":true},{"memory_id":"mem_010","is_stale":true}]`, [3]string{U, U, S}, judge.Partial, nil, 0},
		{"other names of the keys", `[{"id":"mem_001","stale":true},{"Memory ID":"mem_002","isStale":false},{"entry_id":10,"status":"valid"}]`, [3]string{S, V, V}, judge.Answered, []string{judge.RepairKey, judge.RepairID, judge.RepairBoolean}, 0},
		{"the asked name of a key wins", `[{"id":"mem_002","memory_id":"mem_001","status":"valid","is_stale":true}]`, [3]string{S, U, U}, judge.Partial, nil, 0},
		{"words and digits", `[{"memory_id":"mem_001","is_stale":" Yes"},{"memory_id":"mem_002","is_stale":0},{"memory_id":"mem_010","is_stale":"STALE"}]`, [3]string{S, V, S}, judge.Answered, []string{judge.RepairBoolean}, 0},
		{"no verdicts", `[{"memory_id":"mem_001","is_stale":null},{"memory_id":"mem_002","is_stale":"unsure"},{"memory_id":"mem_010","is_stale":2}]`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"odd verdicts", `[{"memory_id":"mem_001","is_stale":[true]},{"memory_id":"mem_002","is_stale":1.0},{"memory_id":"mem_010","is_stale":-0}]`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"half a number is no verdict", `[{"memory_id":"mem_001","is_stale":1e},{"memory_id":"mem_002","is_stale":-},{"memory_id":"mem_010","is_stale":true}]`, [3]string{U, U, S}, judge.Partial, []string{llm.RepairJSON}, 0},
		{"half a literal is no verdict", `[{"memory_id":"mem_001","is_stale":tru},{"memory_id":"mem_002","is_stale":Fals},{"memory_id":"mem_010","is_stale":true}]`, [3]string{U, U, S}, judge.Partial, []string{llm.RepairJSON}, 0},
		{"null and an answer", `[{"memory_id":"mem_001","is_stale":null},{"memory_id":"mem_001","is_stale":true}]`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"ids written otherwise", "[{\"memory_id\":\" \\\"MEM_001\\\" \",\"is_stale\":true},{\"memory_id\":\"`mem_2`\",\"is_stale\":true},{\"memory_id\":10,\"is_stale\":true}]", [3]string{S, S, S}, judge.Answered, []string{judge.RepairID}, 0},
		{"another prefix is another id", `[{"memory_id":"cell_001","is_stale":true},{"memory_id":"mem_002","is_stale":true}]`, [3]string{U, S, U}, judge.Partial, nil, 1},
		{"one entry under two names, in agreement", `[{"memory_id":"mem_001","is_stale":true},{"memory_id":"1","is_stale":true}]`, [3]string{S, U, U}, judge.Partial, nil, 0},
		{"one entry under two names, contradicting", `[{"memory_id":"mem_001","is_stale":true},{"memory_id":"1","is_stale":false}]`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"only unknown ids", `[{"memory_id":"mem_063","is_stale":true},{"memory_id":"mem_064","is_stale":false}]`, [3]string{U, U, U}, judge.Unparsed, nil, 2},
		{"an id that is none", `[{"memory_id":null,"is_stale":true},{"is_stale":true},{"memory_id":"mem_001","is_stale":true}]`, [3]string{S, U, U}, judge.Partial, nil, 0},
		{"the form behind the answer", `[{"memory_id":"mem_001","is_stale":true}] in the form [{"memory_id": "mem_XXX", "is_stale": true|false}]`, [3]string{S, U, U}, judge.Partial, []string{llm.RepairEmbedded}, 0},
		{"two lists in a row are one", "[{\"memory_id\":\"mem_001\",\"is_stale\":true}]\n[{\"memory_id\":\"mem_001\",\"is_stale\":false},{\"memory_id\":\"mem_002\",\"is_stale\":false}]", [3]string{U, V, U}, judge.Partial, []string{llm.RepairLines}, 0},
		{"cut in a verdict", `{"judgments":[{"memory_id":"mem_001","is_stale":true},{"memory_id":"mem_002","is_stale":fals`, [3]string{S, U, U}, judge.Truncated, []string{llm.RepairTruncated}, 0},
		{"cut in a word for a verdict", `[{"memory_id":"mem_001","is_stale":true},{"memory_id":"mem_002","is_stale":"no`, [3]string{S, U, U}, judge.Truncated, []string{llm.RepairTruncated}, 0},
		{"cut in an id", `[{"memory_id":"mem_010","is_stale":true},{"is_stale":true,"memory_id":"mem_00`, [3]string{U, U, S}, judge.Truncated, []string{llm.RepairTruncated}, 0},
		{"only the last bracket forgotten", `[{"memory_id":"mem_001","is_stale":true},{"memory_id":"mem_002","is_stale":true},{"memory_id":"mem_010","is_stale":true}`, [3]string{S, S, S}, judge.Answered, []string{llm.RepairTruncated}, 0},
		{"no answer, no refusal", `All entries look fine to me.`, [3]string{U, U, U}, judge.Unparsed, nil, 0},
		{"refusal beside empty judgments", `{"judgments":[]} I'm sorry, I cannot see the grid.`, [3]string{U, U, U}, judge.Refusal, nil, 0},
		{"an answer with words of refusal", `[{"memory_id":"mem_001","is_stale":true,"reasoning":"I cannot see ice there"}]`, [3]string{S, U, U}, judge.Partial, nil, 0},
		{"white space", " \n\t", [3]string{U, U, U}, judge.Empty, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			verdicts, parsed := judge.Parse([]string{"mem_001", "mem_002", "mem_010"}, &llm.Reply{Text: tc.text, Finish: llm.FinishStop})
			if diff := cmp.Diff(tc.want[:], statuses(verdicts)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(record.Parsed{Outcome: tc.outcome, Repairs: tc.repairs, UnknownIDs: tc.unknown}, parsed); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

// A reply's end says more than its text: verdicts before a filter or the cap
// count, and the outcome names the cause.
func TestParseFinish(t *testing.T) {
	text := `[{"memory_id":"a","is_stale":true}]`
	for _, tc := range []struct {
		finish  llm.Finish
		text    string
		status  string
		outcome string
	}{
		{llm.FinishLength, text, S, judge.Truncated},
		{llm.FinishLength, "", U, judge.Truncated},
		{llm.FinishContentFilter, text, S, judge.Filtered},
		{llm.FinishContentFilter, "I'm sorry", U, judge.Filtered},
		{llm.FinishRefusal, "I", U, judge.Refusal},
		{llm.FinishRefusal, text, S, judge.Answered},
		{"tool_calls", text, S, judge.Answered},
		{llm.FinishDone, text[:len(text)-1], S, judge.Answered},
		{llm.FinishRepeats, text[:len(text)-1], S, judge.Answered},
		{llm.FinishRepeats, "The agent is in the hole.", U, judge.Truncated},
		{"", text, S, judge.Answered},
	} {
		verdicts, parsed := judge.Parse([]string{"a"}, &llm.Reply{Text: tc.text, Finish: tc.finish})
		if verdicts[0].Status != tc.status || parsed.Outcome != tc.outcome {
			t.Errorf("%q after %q: %s, %s; want %s, %s", tc.finish, tc.text, verdicts[0].Status, parsed.Outcome, tc.status, tc.outcome)
		}
	}
	// What a model thinks apart from its text is no answer.
	verdicts, parsed := judge.Parse([]string{"a"}, &llm.Reply{Reasoning: text, Finish: llm.FinishStop})
	if verdicts[0].Status != U || parsed.Outcome != judge.Empty {
		t.Errorf("reasoning apart: %s, %s", verdicts[0].Status, parsed.Outcome)
	}
	if verdicts, parsed := judge.Parse([]string{"a"}, nil); verdicts[0].Status != U || parsed.Outcome != judge.Empty {
		t.Errorf("no reply: %s, %s", verdicts[0].Status, parsed.Outcome)
	}
}

func TestParseConfidence(t *testing.T) {
	for value, want := range map[string]float64{ // -1 for none
		"0": 0, "1": 1, "0.95": 0.95, "1e-1": 0.1, `"0.9"`: 0.9, `" 0.5 "`: 0.5,
		"1.01": -1, "-0.1": -1, "95": -1, `"95%"`: -1, `"high"`: -1, "null": -1, "true": -1, `"NaN"`: -1, `"0x1p-2"`: -1, "[0.5]": -1, `""`: -1, "1e999": -1,
	} {
		text := `[{"memory_id":"a","is_stale":false,"confidence":` + value + `,"reasoning":"r"}]`
		verdicts, parsed := judge.Parse([]string{"a"}, &llm.Reply{Text: text})
		v := verdicts[0]
		if v.Status != V || v.Reason != "r" || v.Score != nil {
			t.Errorf("%s: verdict %+v", value, v)
		}
		switch {
		case want < 0 && v.Confidence != nil:
			t.Errorf("%s: confidence %v, want none", value, *v.Confidence)
		case want >= 0 && (v.Confidence == nil || *v.Confidence != want):
			t.Errorf("%s: confidence %v, want %v", value, v.Confidence, want)
		}
		repaired := want >= 0 && value[0] == '"'
		if repaired != slices.Contains(v.Repairs, judge.RepairConfidence) || repaired != slices.Contains(parsed.Repairs, judge.RepairConfidence) {
			t.Errorf("%s: repairs %v of the verdict, %v of the reply", value, v.Repairs, parsed.Repairs)
		}
	}
	verdicts, _ := judge.Parse([]string{"a"}, &llm.Reply{Text: `{"memory_id":"a","is_stale":false,"confidence":0.1,"confidence":0.2}`})
	if verdicts[0].Confidence != nil {
		t.Error("of two confidences one was chosen")
	}
}

// The repairs of a verdict are those it needed, not those of its neighbours.
func TestParseRepairsOfAVerdict(t *testing.T) {
	text := "```\n[{\"memory_id\":\"A\",\"is_stale\":\"no\"},{\"memory_id\":\"b\",\"is_stale\":true}]\n```"
	verdicts, parsed := judge.Parse([]string{"a", "b", "c"}, &llm.Reply{Text: text})
	for i, want := range [][]string{{llm.RepairFence, judge.RepairID, judge.RepairBoolean}, {llm.RepairFence}, nil} {
		if diff := cmp.Diff(want, verdicts[i].Repairs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verdicts[i].ID, diff)
		}
	}
	if diff := cmp.Diff([]string{llm.RepairFence, judge.RepairID, judge.RepairBoolean}, parsed.Repairs); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// An id that resembles several asked ones names none of them.
func TestParseAmbiguousIDs(t *testing.T) {
	for _, tc := range []struct {
		asked []string
		given string
		want  int // position, -1 for none
	}{
		{[]string{"a", "A"}, "A", 1},
		{[]string{"a", "A"}, "[A]", 1},
		{[]string{"Ab", "aB"}, "AB", -1},
		{[]string{"7", "07"}, "7", 0},
		{[]string{"7", "07"}, "007", -1},
		{[]string{"mem_1", "note_1"}, "1", -1},
		{[]string{"mem_1", "note_2"}, "2", 1},
		{[]string{"7#1", "7#2", "8"}, "7#2", 1},
		{[]string{"7#1", "7#2", "8"}, "7", -1},
		{[]string{"7#1", "7#2", "8"}, "1", -1},
		{[]string{"note-a", "note-b"}, "b", 1},
		{[]string{"0", "00"}, "00", 1},
		{[]string{"mem_000"}, "0", 0},
		{[]string{"会議", "予定"}, "[予定]", 1},
		{[]string{"a", "b"}, "", -1},
		{[]string{"a", "b"}, "[]", -1},
	} {
		id, _ := json.Marshal(tc.given)
		verdicts, parsed := judge.Parse(tc.asked, &llm.Reply{Text: `{"memory_id":` + string(id) + `,"is_stale":true}`})
		want := slices.Repeat([]string{U}, len(tc.asked))
		unknown := 1
		if tc.want >= 0 {
			want[tc.want], unknown = S, 0
		}
		if got := statuses(verdicts); !slices.Equal(got, want) || parsed.UnknownIDs != unknown {
			t.Errorf("%q among %q: %v with %d unknown, want %v with %d", tc.given, tc.asked, got, parsed.UnknownIDs, want, unknown)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tc := range replyCases(f) {
		f.Add(strings.Join(tc.Asked, "\n"), tc.Reply, string(tc.Finish))
	}
	f.Add("a\nA\n01", `{"a":1,"01":{"is_stale":"no"}}`, "stop")
	f.Fuzz(func(t *testing.T, asked, text, finish string) {
		ids := strings.Split(asked, "\n")
		verdicts, parsed := judge.Parse(ids, &llm.Reply{Text: text, Finish: llm.Finish(finish)})
		if len(verdicts) != len(ids) {
			t.Fatalf("%d verdicts on %d entries", len(verdicts), len(ids))
		}
		answered := 0
		for i, v := range verdicts {
			if v.ID != ids[i] {
				t.Fatalf("verdict %d is on %q, not %q", i, v.ID, ids[i])
			}
			switch v.Status {
			case S, V:
				answered++
			case U:
			default:
				t.Fatalf("status %q", v.Status)
			}
			if c := v.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
				t.Fatalf("confidence %v", *c)
			}
		}
		switch parsed.Outcome {
		case judge.Answered:
			if answered < len(ids) {
				t.Fatalf("%s with %d of %d verdicts", parsed.Outcome, answered, len(ids))
			}
		case judge.Empty, judge.Refusal, judge.Unparsed:
			if answered > 0 {
				t.Fatalf("%s with %d verdicts", parsed.Outcome, answered)
			}
		case judge.Partial, judge.Truncated, judge.Filtered:
		default:
			t.Fatalf("outcome %q", parsed.Outcome)
		}
	})
}
