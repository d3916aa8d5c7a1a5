package llm_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

// plainly turns an extracted value into JSON, so that tests can be read.
func plainly(v any) string {
	switch v := v.(type) {
	case llm.Object:
		var b strings.Builder
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(plainly(m.Key) + ":" + plainly(m.Value))
		}
		return "{" + b.String() + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = plainly(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// hasID fits an object with an id, and what holds one.
func hasID(v any) bool {
	switch v := v.(type) {
	case llm.Object:
		return v.Has("id") || slices.ContainsFunc(v, func(m llm.Member) bool { return hasID(m.Value) })
	case []any:
		return slices.ContainsFunc(v, hasID)
	}
	return false
}

// hasAction fits what an agent that moves would ask for.
func hasAction(v any) bool {
	o, ok := v.(llm.Object)
	return ok && o.Has("action")
}

type repairs = []string

var extractCases = []struct {
	name    string
	text    string
	fits    func(any) bool
	want    string // "" when nothing fits
	repairs repairs
}{
	{"strict", ` {"id":1} `, hasID, `{"id":1}`, nil},
	{"byte-order mark", "\uFEFF{\"id\":1}", hasID, `{"id":1}`, nil},
	{"strict but another kind", `["RIGHT","DOWN"]`, hasAction, ``, nil},
	{"strict, the fit is a part", `[{"action":"UP"},{"action":"DOWN"}]`, hasAction, ``, nil},
	{"lone surrogate", `{"id":"x \ud83d"}`, hasID, `{"id":"x ` + "\uFFFD" + `"}`, nil},
	{"long number", `{"id":20260730123456789012}`, hasID, `{"id":20260730123456789012}`, nil},
	{"repeated key", `{"id":1,"id":2}`, hasID, `{"id":1,"id":2}`, nil},
	{"invalid UTF-8", "{\"id\":\"\xff\"}", hasID, `{"id":"` + "\uFFFD" + `"}`, nil},
	{"tag inside a strict value", `{"id":"<think>"}`, hasID, `{"id":"<think>"}`, nil},
	{"a number", "5", func(any) bool { return true }, `5`, nil},
	{"empty", " \n", hasID, ``, nil},
	{"no value", "RIGHT", hasAction, ``, nil},

	{"fence", "Here:\n```json\n{\"id\":1}\n```\nDone.", hasID, `{"id":1}`, repairs{llm.RepairFence}},
	{"fence of tildes, indented", "  ~~~~\n  {\"id\":1}\n  ~~~~", hasID, `{"id":1}`, repairs{llm.RepairFence}},
	{"the last fence that fits", "```\n{\"id\":1}\n```\n```\n{\"id\":2}\n```\n```\n{\"x\":3}\n```", hasID, `{"id":2}`, repairs{llm.RepairFence}},
	{"fence never closed", "```json\n{\"id\":1}", hasID, `{"id":1}`, repairs{llm.RepairFence}},
	{"fence cut off", "```json\n[{\"id\":1},{\"id\":2,\"a\":\"b", hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairFence, llm.RepairTruncated}},
	{"fence before other values", "```\n{\"id\":1}\n```\nnot {\"id\":2}", hasID, `{"id":1}`, repairs{llm.RepairFence}},
	{"words in the fence", "```\nanswer = {\"id\":1}\n```", hasID, `{"id":1}`, repairs{llm.RepairFence, llm.RepairEmbedded}},
	{"backticks in a string of an embedded value", "So: {\"id\":\"```x```\"}", hasID, "{\"id\":\"```x```\"}", repairs{llm.RepairEmbedded}},

	{"embedded", `So {"id":1}.`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},
	{"draft, then final", `{"id":1} hm {"id":2}`, hasID, `{"id":2}`, repairs{llm.RepairEmbedded}},
	{"a final value that needs repair", `{"id":1} hm {"id":2,}`, hasID, `{"id":2}`, repairs{llm.RepairEmbedded, llm.RepairJSON}},
	{"a final value that is cut off", `{"id":1} hm {"id":2,"r":"x`, hasID, `{"id":2}`, repairs{llm.RepairEmbedded, llm.RepairTruncated}},
	{"prose in brackets", `[mem_021] (see {row 3}) is off: {"id":1} [sic] {see row 3}`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},
	{"prose brackets left open", `as [mem_021 and {row say: {"id":1} so [it "is`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},
	{"prose around a value in brackets", `[my answer: {"id":1}]`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},
	{"doubled braces", `{{"id":1}}`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},
	{"a citation in front", `see [1] {"action":"UP"}`, hasAction, `{"action":"UP"}`, repairs{llm.RepairEmbedded}},
	{"a stray quote hides the answer", `{"oops: 1} Final: [{"id":1}]`, hasID, `[{"id":1}]`, repairs{llm.RepairEmbedded}},
	{"an answer quoted in a string", `I say {"r":"I thought {\"action\":\"UP\"} but no"}`, hasAction, ``, nil},
	{"an answer quoted in a string cut off", `{"r":"I thought {\"action\":\"UP\"} but`, hasAction, ``, nil},
	{"a closer too many", `{"id":1}}`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},

	{"JSON lines", "{\"id\":1}\n{\"id\":2}", hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairLines}},
	{"JSON lines with commas, in prose", "So:\n{\"id\":1},\n{\"id\":2}\nDone", hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairEmbedded, llm.RepairLines}},
	{"JSON lines cut off", "{\"id\":1}\n{\"id\":2,\"a\":[1,2", hasID, `[{"id":1},{"id":2,"a":[1]}]`, repairs{llm.RepairLines, llm.RepairTruncated}},
	{"JSON lines, the last one hopeless", "{\"id\":1}\n{\"id\":2}\n{\"i", hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairLines, llm.RepairTruncated}},
	{"two actions in a row are a plan", "{\"action\":\"UP\"}\n{\"action\":\"DOWN\"}", hasAction, ``, nil},

	{"cut in a literal", `[{"id":1},{"id":2,"s":tru`, hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairTruncated}},
	{"cut behind a literal", `[{"id":1,"s":true`, hasID, `[{"id":1,"s":true}]`, repairs{llm.RepairTruncated}},
	{"cut in a number", `{"id":1,"c":0.9`, hasID, `{"id":1}`, repairs{llm.RepairTruncated}},
	{"cut in an id", `[{"id":"a"},{"id":"b`, hasID, `[{"id":"a"}]`, repairs{llm.RepairTruncated}},
	{"cut in a key", `[{"id":"a"},{"id":"b","rea`, hasID, `[{"id":"a"},{"id":"b"}]`, repairs{llm.RepairTruncated}},
	{"cut behind a colon", `{"id":"a","r":`, hasID, `{"id":"a"}`, repairs{llm.RepairTruncated}},
	{"cut in an escape", `{"id":"a","r":"x\`, hasID, `{"id":"a"}`, repairs{llm.RepairTruncated}},
	{"cut in the only member", `[{"id":"a`, hasID, ``, nil},
	{"cut in Python", `{'j': [{'id': 'a'}, {'id': 'b', 's': True, 'r': 'it's n`, hasID, `{"j":[{"id":"a"},{"id":"b","s":true}]}`, repairs{llm.RepairTruncated, llm.RepairJSON}},
	{"the last bracket forgotten", `[{"id":1},{"id":2}`, hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairTruncated}},

	{"trailing commas", `[{"id":1,},{"id":2},]`, hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairJSON}},
	{"Python", `[{'id': 'it's', 's': False, 'n': None}]`, hasID, `[{"id":"it's","s":false,"n":null}]`, repairs{llm.RepairJSON}},
	{"Python's escapes", `{'id': 'it\'s'}`, hasID, `{"id":"it's"}`, repairs{llm.RepairJSON}},
	{"curly quotes", `{“id”: “a "b" ”}`, hasID, `{"id":"a \"b\" "}`, repairs{llm.RepairJSON}},
	{"curly quotes, the closer mixed up", `{“id“: “a"}`, hasID, `{"id":"a"}`, repairs{llm.RepairJSON}},
	{"single curly quotes", `{‘id’: ‘it’s’}`, hasID, `{"id":"it’s"}`, repairs{llm.RepairJSON}},
	{"bare words", `{id: mem_021, s: false}`, hasID, `{"id":"mem_021","s":false}`, repairs{llm.RepairJSON}},
	{"comments", "{\"id\":1, // first's\n \"s\":true, /* [ */ \"t\":2 # last\n}", hasID, `{"id":1,"s":true,"t":2}`, repairs{llm.RepairJSON}},
	{"missing commas", "[{\"id\":1 \"s\":true \"t\":\"x\"\n\"u\":2} {\"id\":2}]", hasID, `[{"id":1,"s":true,"t":"x","u":2},{"id":2}]`, repairs{llm.RepairJSON}},
	{"quotes inside a string", `{"id":1,"r":"says "SAFE at (2,4)" and "x", so be it","s":true}`, hasID, `{"id":1,"r":"says \"SAFE at (2,4)\" and \"x\", so be it","s":true}`, repairs{llm.RepairJSON}},
	{"line breaks inside a string", "{\"id\":\"a\n\tb\"}", hasID, `{"id":"a\n\tb"}`, repairs{llm.RepairJSON}},
	{"bad escapes", `{"id":"a\q\u12 C:\"}`, hasID, ``, nil},
	{"bad escapes that leave an end", `{"id":"a\q \u12 x"}`, hasID, `{"id":"aq \\u12 x"}`, repairs{llm.RepairJSON}},
	{"a missing end quote", `[{"id":"a","r":"x,"s":true},{"id":"b","s":false}]`, hasID, `[{"id":"a","r":"x","s":true},{"id":"b","s":false}]`, repairs{llm.RepairJSON}},
	{"a missing end quote between objects", `{"id":"a","s":true,"r":"x},{"id":"b","s":false}`, hasID, `[{"id":"a","s":true,"r":"x"},{"id":"b","s":false}]`, repairs{llm.RepairLines, llm.RepairJSON}},
	{"a missing bracket inside", `{"j":[{"id":1},{"id":2}}`, hasID, `{"j":[{"id":1},{"id":2}]}`, repairs{llm.RepairJSON}},
	{"JSON inside a string, unquoted", `{\"id\": \"b\"}`, hasID, `{"id":"b"}`, repairs{llm.RepairJSON}},
	{"full-width punctuation", `｛"id"：1，"s"：true，"t"：［1、2］｝`, hasID, `{"id":1,"s":true,"t":[1,2]}`, repairs{llm.RepairJSON}},
	{"full-width and corner quotes", `{＂id＂:「a」, 『b』:'c'}`, hasID, `{"id":"a","b":"c"}`, repairs{llm.RepairJSON}},
	{"dots for more", `[{"id":1}, ..., {"id":2}, …]`, hasID, `[{"id":1},{"id":2}]`, repairs{llm.RepairJSON}},
	{"surrogates in a string with slips", `{'id':'\ud83d\ude00\u00e9'}`, hasID, `{"id":"😀é"}`, repairs{llm.RepairJSON}},
	{"a number written twice over", `{id: 007, s: +1, t: 12abc}`, hasID, `{"id":"007","s":"+1","t":"12abc"}`, repairs{llm.RepairJSON}},
	{"a bracket missing in a list", `[{"id":1,"a":[1,2}, {"id":2}]`, hasID, `[{"id":1,"a":[1,2]},{"id":2}]`, repairs{llm.RepairJSON}},
	{"quotes inside a string without an end", `[{"id":1},{"id":2,"r":"says "so" and [{`, hasID, `{"id":1}`, repairs{llm.RepairEmbedded}},

	{"all as a string", `"{\"id\":1}"`, hasID, `{"id":1}`, repairs{llm.RepairString}},
	{"a string twice over", `"\"{\\\"id\\\":1}\""`, hasID, `{"id":1}`, repairs{llm.RepairString, llm.RepairString}},
	{"a list as a string", `{"list":"[{\"id\":1}]"}`, hasID, `{"list":[{"id":1}]}`, repairs{llm.RepairString}},
	{"Python as a string, in prose", `So {"list":"[{'id': 1}]"}`, hasID, `{"list":[{"id":1}]}`, repairs{llm.RepairEmbedded, llm.RepairString}},
	{"a reason is no list", `{"reason":"{\"id\":1}"}`, hasID, ``, nil},
	{"a schema with the answer in it", `{"type":"object","properties":{"action":"UP"}}`, hasAction, `{"action":"UP"}`, repairs{llm.RepairWrapper}},
	{"a schema without", `{"type":"object","properties":{"action":{"type":"string"}}}`, hasAction, ``, nil},
	{"a call of a tool", `<tool_call>{"name":"move","arguments":{"action":"UP"}}</tool_call>`, hasAction, `{"action":"UP"}`, repairs{llm.RepairEmbedded, llm.RepairWrapper}},
	{"a call of a tool, as a string", `{"type":"function","function":{"name":"move","arguments":"{\"action\":\"UP\"}"}}`, hasAction, `{"action":"UP"}`, repairs{llm.RepairString, llm.RepairWrapper}},
	{"a list of one call", `[TOOL_CALLS][{"name":"move","arguments":{"action":"UP"}}]`, hasAction, `{"action":"UP"}`, repairs{llm.RepairEmbedded, llm.RepairWrapper}},
	{"a list of two calls is a plan", `[{"name":"move","arguments":{"action":"UP"}},{"name":"move","arguments":{"action":"UP"}}]`, hasAction, ``, nil},
	{"the only member", `{"step":{"action":"UP"}}`, hasAction, `{"action":"UP"}`, repairs{llm.RepairWrapper}},
	{"the only member is a draft", `{"draft":{"action":"UP"}}`, hasAction, ``, nil},

	{"numbers without an end", `{"id":1, "a":1e, "b":0., "c":-, "d":.5}`, hasID, `{"id":1,"a":null,"b":null,"c":null,"d":0.5}`, repairs{llm.RepairJSON}},
	{"half a literal stays a word", `{"id":1,"s":tru}`, hasID, `{"id":1,"s":"tru"}`, repairs{llm.RepairJSON}},
	{"one hopeless element of many", `[{"id":1},{"id":2,"s":true false maybe},{"id":3}]`, hasID, `[{"id":1},{"id":3}]`, repairs{llm.RepairEmbedded, llm.RepairLines}},

	{"thinking", `<think>[{"id":1}]</think>{"id":2}`, hasID, `{"id":2}`, repairs{llm.RepairThinking}},
	{"thinking, then a fence", "<think>x</think>\n```\n{\"id\":2}\n```", hasID, `{"id":2}`, repairs{llm.RepairThinking, llm.RepairFence}},
	{"a draft, thinking, the final value", `[{"id":1}]<think>no</think>[{"id":2}]`, hasID, `[{"id":2}]`, repairs{llm.RepairThinking}},
	{"the value, then thinking", `[{"id":1}]<think>[{"id":2}]</think>`, hasID, `[{"id":1}]`, repairs{llm.RepairThinking}},
	{"thinking never closed", `<think>so [{"id":1}]`, hasID, ``, nil},
	{"thinking opened by the template", `so [{"id":1}]</think>[{"id":2}]`, hasID, `[{"id":2}]`, repairs{llm.RepairThinking}},
	{"a tag in a string of an embedded value", `So {"id":"a </think> b"}`, hasID, `{"id":"a </think> b"}`, repairs{llm.RepairEmbedded}},
	{"a tag in a string of a value cut off", `So {"id":"a","r":"a <think> b","s":`, hasID, `{"id":"a","r":"a <think> b"}`, repairs{llm.RepairEmbedded, llm.RepairTruncated}},
}

func TestExtract(t *testing.T) {
	for _, tc := range extractCases {
		t.Run(tc.name, func(t *testing.T) {
			v, repairs, ok := llm.Extract(tc.text, tc.fits)
			if ok != (tc.want != "") {
				t.Fatalf("ok is %v, value %s", ok, plainly(v))
			}
			if !ok {
				return
			}
			if got := plainly(v); got != tc.want {
				t.Errorf("value\n got %s\nwant %s", got, tc.want)
			}
			if diff := cmp.Diff(tc.repairs, repairs); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectGet(t *testing.T) {
	o := llm.Object{{"a", true}, {"b", "x"}, {"a", false}, {"b", "x"}, {"c", nil}}
	for key, want := range map[string]any{"b": "x", "c": nil} {
		if got, ok := o.Get(key); !ok || got != want {
			t.Errorf("Get(%q) = %v, %v; want %v, true", key, got, ok, want)
		}
	}
	for _, key := range []string{"a", "z"} {
		if got, ok := o.Get(key); ok {
			t.Errorf("Get(%q) = %v, true; a contradicted or missing key has no value", key, got)
		}
	}
	if !o.Has("a") || o.Has("z") {
		t.Error("Has must tell a contradicted key from a missing one")
	}
}

// fragments are what strings of replies are drawn from: everything that could
// mislead a reader.
var fragments = []string{
	"a", "mem_021", " ", "\n", "\t", ",", ":", ", \"k\": ", "[", "]", "{", "}", `"`, "'", "’", "“", "”", `\`, `\u12`, "```", "\n```json\n",
	"<think>", "</think>", "[mem_021]", "{see row 3}", "true", "0.", "//", "/*", "冰", "{'", "'}", "…",
}

func drawString(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 6).Draw(t, "string"), "")
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 4
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return drawString(t)
	case 1:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
	case 2, 3:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "-1", "0.95", "12", "1e9"}).Draw(t, "number"))
	}
	list := []any{}
	for range rapid.IntRange(0, 2).Draw(t, "length") {
		list = append(list, drawValue(t, depth-1))
	}
	return list
}

// drawAnswer draws {"judgments":[{"id":…,…},…]}.
func drawAnswer(t *rapid.T) llm.Object {
	list := []any{}
	for range rapid.IntRange(1, 4).Draw(t, "entries") {
		o := llm.Object{{"id", drawString(t)}}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			o = append(o, llm.Member{Key: rapid.SampledFrom([]string{"is_stale", "r", "is_stale", "x y"}).Draw(t, "key"), Value: drawValue(t, 2)})
		}
		list = append(list, o)
	}
	return llm.Object{{"judgments", list}}
}

// What a reply says must not depend on what it is wrapped in.
func TestExtractIgnoresWrapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := drawAnswer(t)
		text := plainly(answer)
		for _, wrap := range []string{
			"%", "\n %\n", "Sure:\n```json\n%\n```\nBye.", "~~~\n%", "<think>[{\"id\":1}] {\"</think>\n%", "[{\"id\":1}]</think>%",
			"The entry [mem_021] (see {row 3}): %", "First {\"id\":1}, then\n%\n\nThat's [all].", "%\n<reflection>fine",
		} {
			got, _, ok := llm.Extract(strings.Replace(wrap, "%", text, 1), hasID)
			if !ok || !reflect.DeepEqual(got, any(answer)) {
				t.Fatalf("wrapped in %q: got %v, %s\nwant %s", wrap, ok, plainly(got), text)
			}
		}
	})
}

// A reply that is cut off must never say more than the whole one: every value
// is the original's, and only the last ones are missing.
func TestExtractNeverCompletes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := drawAnswer(t)
		text := plainly(answer)
		cut := rapid.IntRange(1, len(text)-1).Draw(t, "cut")
		got, repairs, ok := llm.Extract(text[:cut], hasID)
		if !ok {
			return
		}
		if !slices.Contains(repairs, llm.RepairTruncated) {
			t.Fatalf("not marked as truncated: %s", text[:cut])
		}
		if !beginning(got, any(answer)) {
			t.Fatalf("%s\nwas read as %s", text[:cut], plainly(got))
		}
	})
}

// beginning reports whether a is b without some of its last members.
func beginning(a, b any) bool {
	switch b := b.(type) {
	case llm.Object:
		a, ok := a.(llm.Object)
		if !ok || len(a) > len(b) {
			return false
		}
		for i := range a {
			if a[i].Key != b[i].Key || i < len(a)-1 && !reflect.DeepEqual(a[i], b[i]) || !beginning(a[i].Value, b[i].Value) {
				return false
			}
		}
		return true
	case []any:
		a, ok := a.([]any)
		if !ok || len(a) > len(b) {
			return false
		}
		for i := range a {
			if i < len(a)-1 && !reflect.DeepEqual(a[i], b[i]) || !beginning(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// A value cut off after n complete members must keep all of them.
func TestExtractKeepsWhatIsComplete(t *testing.T) {
	const member = `{"id":"m","s":true,"r":"x [y"}`
	for n := 1; n < 30; n++ {
		text := `{"judgments":[` + strings.Repeat(member+",", n)
		for cut := range len(member) {
			got, _, ok := llm.Extract(text+member[:cut], hasID)
			if !ok {
				t.Fatalf("nothing kept of %d members and %q", n, member[:cut])
			}
			list := got.(llm.Object)[0].Value.([]any)
			if len(list) < n || !reflect.DeepEqual(list[n-1], list[0]) || len(list[0].(llm.Object)) != 3 {
				t.Fatalf("%d members and %q: kept %s", n, member[:cut], plainly(got))
			}
		}
	}
}

// Long honest replies are read whole; would fail if what bounds the work on
// hostile ones bounded these.
func TestExtractLong(t *testing.T) {
	const n = 3000
	lines := strings.Repeat(`{"id":1,"r":"says (2,5) is F"}`+"\n", n)
	for name, text := range map[string]string{
		"lines":           lines,
		"lines in prose":  "So [mem_021]:\n" + lines + "Done.",
		"a list":          "[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + "]",
		"a list cut off":  "[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + `,{"id`,
		"Python":          "[" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(lines), "\n", ","), `"`, "'") + ",]",
		"a list in fence": "```\n[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + "]\n```",
		"thinking":        "<think>" + lines + "</think>" + lines,
	} {
		v, _, ok := llm.Extract(text, hasID)
		if list, _ := v.([]any); !ok || len(list) != n {
			t.Errorf("%s: %d of %d", name, len(list), n)
		}
	}
}

// Long replies made to be slow must come to an end; a quadratic reader would
// take a test run with it.
func TestExtractHostile(t *testing.T) {
	for _, unit := range []string{
		"[", "{", `{"a":`, "[1,", "```\n", "```json\n{\n", `["`, `"`, `{"id`, `{"x":1,`, `{'`, `{'a':'`, "[“", "<think>", "</think>",
		`{"a":"<think>`, "[]", "{}x", `{"a":1}x`, `{'a':1}x`, `{"a":1,}x`, `{"a" 1}x`, `["a" b]x`, `["a",//x`, `{"a":"b"//`, "[[]x",
		`{"a":[{x`, `{"a":{"b":'`, "[}", "{]", "[ ' ", `[\`, `{"a":"b" "c`, "#", "[{f(",
		"<", "<a>", "<|channel|>", `{\"a`, "｛", `{"a": b c d `, `{'a':"`, `{"a":"x","b`, `{"a":"\u00`, `{'a':'b',`, "{\"a\":\"x\\\",", "assistantfinal", "\\boxed{",
	} {
		text := strings.Repeat(unit, 1<<16/len(unit))
		if v, _, ok := llm.Extract(text, hasAction); ok {
			t.Errorf("%q repeated gave %s", unit, plainly(v))
		}
	}
}

// FuzzStrict holds our reading of JSON against the standard library's: the same
// texts are JSON, and they say the same.
func FuzzStrict(f *testing.F) {
	for _, text := range []string{`{"a":[1,-0.5e+3,true,null,"\u00e9\ud83d\ude00\n"]}`, `[01]`, `[1.]`, "[\"\t\"]", `["\x"]`, `{"a":1,}`, `[,]`, `{"a" 1}`, `[1 2]`, `[true]x`, `[tru]`, "[\"\xff\"]", `["\ud83d"]`, "\uFEFF[]", "[\v1]", `[True]`, "［］", `{"a"：1}`, `{a:1}`, `["a"`, `[-]`, `[1}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") > 64 {
			return
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		v, repairs, ok := llm.Extract(text, func(v any) bool {
			switch v.(type) {
			case []any, llm.Object:
				return true
			}
			return false
		})
		whole := strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
		valid := json.Valid([]byte(whole)) && strings.ContainsAny(whole[:1], "[{")
		if strict := ok && len(repairs) == 0; strict != valid {
			t.Fatalf("%q: read as it stands is %v, but it is JSON is %v", text, strict, valid)
		}
		if !valid {
			return
		}
		var want any
		decoder := json.NewDecoder(strings.NewReader(whole))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || !reflect.DeepEqual(mapped(v), want) {
			t.Fatalf("%q: %v, want %v, %v", text, mapped(v), want, err)
		}
	})
}

// mapped is a value as the standard library has it.
func mapped(v any) any {
	switch v := v.(type) {
	case llm.Object:
		m := map[string]any{}
		for _, member := range v {
			m[member.Key] = mapped(member.Value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = mapped(v[i])
		}
		return list
	}
	return v
}

func FuzzExtract(f *testing.F) {
	for _, tc := range extractCases {
		f.Add(tc.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, repairs, ok := llm.Extract(text, hasID)
		switch {
		case ok && !hasID(v):
			t.Fatalf("%s does not fit", plainly(v))
		case !ok && (v != nil || repairs != nil):
			t.Fatalf("no fit, but %s %v", plainly(v), repairs)
		}
	})
}
