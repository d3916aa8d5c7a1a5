package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// TestMoreReplies are replies that a reader could take amiss.
func TestMoreReplies(t *testing.T) {
	asked := []string{"mem_000", "mem_001", "mem_002"}
	full := `[{"memory_id":"mem_000","is_stale":false},{"memory_id":"mem_001","is_stale":true},{"memory_id":"mem_002","is_stale":false}]`
	for _, c := range []struct{ name, reply, want string }{
		{"an example behind the answer", full + "\nFor example, {\"memory_id\":\"mem_000\",\"is_stale\":true} would mean the ice is gone.", "valid stale valid"},
		{"a summary behind the answer", full + "\nStale entries: [{\"memory_id\":\"mem_001\",\"is_stale\":true}]", "valid stale valid"},
		{"a numbered list", "1. {\"memory_id\":\"mem_000\",\"is_stale\":false} looks right.\n2. {\"memory_id\":\"mem_001\",\"is_stale\":true} is a hole now.\n3. {\"memory_id\":\"mem_002\",\"is_stale\":false}", "valid stale valid"},
		{"a list with a contradiction", "- {\"memory_id\":\"mem_000\",\"is_stale\":false}; - {\"memory_id\":\"mem_001\",\"is_stale\":true} wait: {\"memory_id\":\"mem_001\",\"is_stale\":false}", "valid unanswered unanswered"},
		{"a draft list, then one object", "[{\"memory_id\":\"mem_000\",\"is_stale\":true},{\"memory_id\":\"mem_001\",\"is_stale\":true}] no: {\"memory_id\":\"mem_001\",\"is_stale\":false}", "unanswered valid unanswered"},
		{"thinking apart", "<think>{\"memory_id\":\"mem_000\",\"is_stale\":true}</think>1) {\"memory_id\":\"mem_001\",\"is_stale\":true} 2) {\"memory_id\":\"mem_002\",\"is_stale\":false}", "unanswered stale valid"},
		{"places for ids", `[{"memory_id":1,"is_stale":false},{"memory_id":2,"is_stale":true},{"memory_id":3,"is_stale":false}]`, "unanswered unanswered unanswered"},
		{"ids without prefix", `[{"memory_id":0,"is_stale":false},{"memory_id":"1","is_stale":true},{"memory_id":"002","is_stale":false}]`, "valid stale valid"},
		{"places of a list that was cut off", `[{"memory_id":1,"is_stale":false},{"memory_id":2,"is_stale":true},{"memory_id":3,"is`, "unanswered unanswered unanswered"},
		{"one place", `{"memory_id":"1","is_stale":true}`, "unanswered unanswered unanswered"},
		{"one id that is no first place", `{"memory_id":"2","is_stale":true}`, "unanswered unanswered stale"},
		{"a first place with zeros", `{"memory_id":"001","is_stale":true}`, "unanswered stale unanswered"},
		{"ids in other dress", `[{"memory_id":"mem 000","is_stale":false},{"memory_id":"Mem-1","is_stale":true},{"memory_id":"[mem_002] SAFE at (0,2)","is_stale":false}]`, "valid stale valid"},
		{"ids by another word", `[{"memory_id":"memory_000","is_stale":false},{"memory_id":"#1","is_stale":true},{"memory_id":"entry 2","is_stale":false}]`, "valid stale valid"},
		{"verdicts in words", `[{"memory_id":"mem_000","verdict":"Not stale."},{"memory_id":"mem_001","verdict":"outdated"},{"memory_id":"mem_002","verdict":"up to date"}]`, "valid stale valid"},
		{"verdicts in other words", `[{"memory_id":"mem_000","is_stale":"maybe"},{"memory_id":"mem_001","is_stale":"unsure"},{"memory_id":"mem_002","is_stale":2}]`, "unanswered unanswered unanswered"},
	} {
		verdicts, _ := judge.Parse(asked, &llm.Reply{Text: c.reply, Finish: llm.FinishStop})
		var got []string
		for _, v := range verdicts {
			got = append(got, v.Status)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
	// Ids of one's own kind are not mixed up.
	verdicts, _ := judge.Parse([]string{"7#1", "7#2", "71"}, &llm.Reply{Text: `{"71": true, "7#1": false}`})
	if verdicts[0].Status != record.Valid || verdicts[1].Status != record.Unanswered || verdicts[2].Status != record.Stale {
		t.Errorf("%+v", verdicts)
	}
}

// Whatever a model or its server puts around an answer, the answer is read, and
// nothing is read that was only thought, quoted or drafted.
func TestModelsMarks(t *testing.T) {
	asked := []string{"mem_020", "mem_021"}
	const list = `[{"memory_id":"mem_020","is_stale":false},{"memory_id":"mem_021","is_stale":true}]`
	const draft = `[{"memory_id":"mem_020","is_stale":true},{"memory_id":"mem_021","is_stale":true}]`
	const full, other = `{"judgments":` + list + `}`, `{"judgments":` + draft + `}`
	quoted := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) }
	const read, nothing = "valid stale", "unanswered unanswered"
	for _, c := range []struct{ name, reply, want string }{
		{"channels", `<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>` + full, read},
		{"channels with a draft", `<|channel|>analysis<|message|>` + other + `<|end|><|start|>assistant<|channel|>final<|message|>` + full + `<|return|>`, read},
		{"channels, the first one opened by the template", other + `<|end|><|start|>assistant<|channel|>final<|message|>` + full, read},
		{"channels, a call of a tool", `<|channel|>analysis<|message|>` + other + `<|end|><|start|>assistant<|channel|>commentary to=functions.audit <|constrain|>json<|message|>` + full + `<|call|>`, read},
		{"channels whose tokens were dropped", `analysis` + other + `assistantfinal` + full, read},
		{"channels, cut in the first", `<|channel|>analysis<|message|>So ` + other, nothing},
		{"channels, ended after the first", `<|channel|>analysis<|message|>So ` + other + `<|end|>`, nothing},
		{"Gemma's channels", "<|channel>thought\nDraft: " + other + "\n<channel|>" + full + "<turn|>", read},
		{"Gemma's channels, cut in the first", "<|channel>thought\nDraft: " + other, nothing},
		{"thinking, cut", "<think>\n" + other, nothing},
		{"thinking ended by the end of the turn", "<think>" + other + "<|im_end|>\n" + other, nothing},
		{"thinking of other names", "<seed:think>" + other + "</seed:think>" + full, read},
		{"Cohere's thinking", "<|START_THINKING|>" + other + "<|END_THINKING|><|START_RESPONSE|>" + full + "<|END_RESPONSE|>", read},
		{"Mistral's thinking", "[THINK]" + other + "[/THINK]" + full + "</s>", read},
		{"Kimi's thinking", "◁think▷" + other + "◁/think▷" + full + "<|im_end|>", read},
		{"an end of the turn", full + "<|im_end|>", read},
		{"another turn", full + "<|im_end|>\n<|im_start|>user\nAgain!<|im_end|>\n<|im_start|>assistant\n" + other, read},
		{"another turn of Gemma", full + "<end_of_turn>\n<start_of_turn>user\n" + other, read},
		{"another turn of Llama", full + "<|eot_id|><|start_header_id|>user<|end_header_id|>\n" + other, read},
		{"another turn of DeepSeek", full + "<｜end▁of▁sentence｜>" + other, read},
		{"another turn of GLM", full + "<|user|>\n" + other, read},
		{"a box", "<|begin_of_box|>" + full + "<|end_of_box|>", read},
		{"a box of TeX", `\boxed{` + full + `}`, read},
		{"a tag", "<answer>\n" + full + "\n</answer>", read},
		{"a call of a tool", "<tool_call>\n{\"name\":\"audit\",\"arguments\":" + full + "}\n</tool_call>", read},
		{"a call of a tool, as a string", `{"name":"audit","arguments":"` + quoted(full) + `"}`, read},
		{"a list as a string", `{"judgments":"` + quoted(list) + `"}`, read},
		{"objects as strings", `{"judgments":["{\"memory_id\":\"mem_020\",\"is_stale\":false}","{\"memory_id\":\"mem_021\",\"is_stale\":true}"]}`, read},
		{"all as a string", `"` + quoted(full) + `"`, read},
		{"strings in strings", `{"result":"` + quoted(`{"judgments":"`+quoted(list)+`"}`) + `"}`, read},
		{"Python in a string", `{"judgments":"[{'memory_id': 'mem_020', 'is_stale': False}, {'memory_id': 'mem_021', 'is_stale': True}]"}`, read},
		{"a schema with the answer in it", `{"type":"object","properties":` + full + `}`, read},
		{"a schema before the answer", `{"type":"object","properties":{"judgments":{"type":"array","items":{"type":"object"}}}}` + "\n" + full, read},
		{"a schema alone", `{"type":"object","properties":{"memory_id":{"type":"string"},"is_stale":{"type":"boolean"}}}`, nothing},
		{"full-width punctuation", strings.NewReplacer("{", "｛", "}", "｝", "[", "［", "]", "］", ":", "：", ",", "，").Replace(full), read},
		{"full-width quotes", strings.ReplaceAll(full, `"`, "＂"), read},
		{"full-width words", strings.NewReplacer("false", `"ｆａｌｓｅ"`, "true", `"ＴＲＵＥ"`, "mem_020", "ｍｅｍ＿０２０").Replace(full), read},
		{"a list that goes on", `[{"memory_id":"mem_020","is_stale":false},{"memory_id":"mem_021","is_stale":true},...]`, read},
		{"a draft under a key", `{"draft":` + draft + `,"final":` + list + `}`, read},
		{"only a draft", `{"thinking":` + draft + `}`, nothing},
		{"a draft quoted in a reason", `{"reasoning":"` + quoted(other) + `"}`, nothing},
		{"a draft quoted in a judgment", `{"judgments":[{"memory_id":"mem_020","is_stale":false,"reasoning":"` + quoted(draft) + `"}]}`, "valid unanswered"},
	} {
		verdicts, parsed := judge.Parse(asked, &llm.Reply{Text: c.reply, Finish: llm.FinishStop})
		if got := strings.Join(statuses(verdicts), " "); got != c.want {
			t.Errorf("%s: %s (%+v), want %s, of %s", c.name, got, parsed, c.want, c.reply)
		}
		if (c.want == read) != (parsed.Outcome == judge.Answered) || parsed.UnknownIDs != 0 {
			t.Errorf("%s: %+v", c.name, parsed)
		}
	}
}

// Would fail if an answer that a server took for reasoning were lost, or passed
// for one that came as it should.
func TestAnswerInReasoning(t *testing.T) {
	const text = `{"judgments":[{"memory_id":"a","is_stale":true}]}`
	verdicts, parsed := judge.Parse([]string{"a"}, &llm.Reply{Text: text, Reasoning: text, Finish: llm.FinishStop})
	if v := verdicts[0]; v.Status != S || !slices.Equal(v.Repairs, []string{llm.RepairReasoning}) || !slices.Equal(parsed.Repairs, v.Repairs) {
		t.Errorf("%+v of %+v", v, parsed)
	}
}

// Judgments nobody asked for are counted once, in whatever shape they come.
func TestUnknownIDs(t *testing.T) {
	asked := []string{"mem_020", "mem_021"}
	one := func(id string) string { return `{"memory_id":"` + id + `","is_stale":true}` }
	for _, c := range []struct {
		name, reply string
		want        int
	}{
		{"beside a full answer", "[" + one("mem_020") + "," + one("mem_021") + "," + one("mem_022") + "," + one("mem_023") + "]", 2},
		{"in a fence", "```json\n{\"judgments\":[" + one("mem_020") + "," + one("mem_022") + "]}\n```", 1},
		{"in lines", one("mem_020") + "\n" + one("mem_022") + "\n" + one("mem_023"), 2},
		{"in a numbered list", "1. " + one("mem_020") + "\n2. " + one("mem_021") + "\n3. " + one("mem_022"), 1},
		{"in a numbered list, no other", "1. " + one("mem_022") + "\n2. " + one("mem_023"), 2},
		{"keyed", `{"mem_020":true,"mem_022":true,"mem_023":{"is_stale":true}}`, 2},
		{"cut off", "[" + one("mem_020") + "," + one("mem_022") + `,{"memory_id":"mem_0`, 1},
		{"no other", "[" + one("mem_022") + "]", 1},
		{"places", `[{"memory_id":1,"is_stale":true},{"memory_id":2,"is_stale":true}]`, 2},
		{"in a string", `{"judgments":"[` + strings.ReplaceAll(one("mem_020")+","+one("mem_022"), `"`, `\"`) + `]"}`, 1},
	} {
		if _, parsed := judge.Parse(asked, &llm.Reply{Text: c.reply}); parsed.UnknownIDs != c.want {
			t.Errorf("%s: %d, want %d, of %s", c.name, parsed.UnknownIDs, c.want, c.reply)
		}
	}
}

// TestRepliesOfAModel are replies that a model gave. Would fail if a verdict
// were read that is not written there, or one lost that is.
func TestRepliesOfAModel(t *testing.T) {
	var file struct {
		Replies []struct {
			replyCase
			Outcome string
		}
	}
	readJSON(t, "testdata/gemma.json", &file)
	if len(file.Replies) < 16 {
		t.Fatalf("%d replies", len(file.Replies))
	}
	for _, c := range file.Replies {
		verdicts, parsed := judge.Parse(c.Asked, &llm.Reply{Text: c.Reply, Finish: c.Finish})
		for _, v := range verdicts {
			want := c.Want[v.ID]
			if want == "" {
				want = record.Unanswered
			}
			if v.Status != want {
				t.Errorf("%s: %s is %s, want %s", c.Name, v.ID, v.Status, want)
			}
			if v.Confidence != nil && !(*v.Confidence >= 0 && *v.Confidence <= 1) {
				t.Errorf("%s: a confidence of %v", c.Name, *v.Confidence)
			}
		}
		if parsed.Outcome != c.Outcome || parsed.UnknownIDs != c.UnknownIDs {
			t.Errorf("%s: %s with %d unknown ids, want %s with %d", c.Name, parsed.Outcome, parsed.UnknownIDs, c.Outcome, c.UnknownIDs)
		}
	}
}

// Would fail if a reply that was ended behind its last verdict, because nothing
// more was wanted, were said to be broken.
func TestEndedEarlyIsNotRepaired(t *testing.T) {
	const text = `{"judgments": [{"memory_id": "mem_000", "is_stale": true, "reasoning": "a hole"}`
	for finish, want := range map[llm.Finish]int{llm.FinishDone: 0, llm.FinishLength: 1} {
		verdicts, parsed := judge.Parse([]string{"mem_000"}, &llm.Reply{Text: text, Finish: finish})
		if len(parsed.Repairs) != want || len(verdicts[0].Repairs) != want || verdicts[0].Status != record.Stale {
			t.Errorf("%s: %+v, %+v", finish, parsed, verdicts)
		}
	}
}
