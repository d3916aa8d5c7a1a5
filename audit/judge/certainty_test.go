package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// withBooleans is a reply with a boolean at every mark § of a text. The k-th
// has the log-probabilities -k for true and -k-½ for false, k from 1.
func withBooleans(marked string) *llm.Reply {
	r := &llm.Reply{Finish: llm.FinishStop}
	for {
		before, rest, found := strings.Cut(marked, "§")
		r.Text += before
		if !found {
			return r
		}
		k := float64(len(r.Booleans) + 1)
		yes, no := -k, -k-0.5
		r.Booleans = append(r.Booleans, record.Boolean{At: len(r.Text), True: &yes, False: &no})
		marked = rest
	}
}

// Would fail if a verdict had the probabilities of another's boolean, or of one
// in a draft, an example or a reason.
func TestCertainty(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"as asked", `{"judgments":[{"memory_id":"a","is_stale":§true},{"memory_id":"b","is_stale":§false}]}`, "a -1 -1.5, b -2 -2.5"},
		{"another order", `[{"is_stale":§true,"memory_id":"b"},{"memory_id":"a","is_stale":§false}]`, "a -2 -2.5, b -1 -1.5"},
		{"a draft before", `[{"memory_id":"a","is_stale":§false},{"memory_id":"b","is_stale":§false}] no, better: [{"memory_id":"a","is_stale":§true},{"memory_id":"b","is_stale":§false}]`, "a -3 -3.5, b -4 -4.5"},
		{"an example behind", `[{"memory_id":"a","is_stale":§false},{"memory_id":"b","is_stale":§true}] as in {"memory_id":"b","is_stale":§false}`, "a -1 -1.5, b -2 -2.5"},
		{"thinking before", "<think>{\"memory_id\":\"a\",\"is_stale\":§false}</think>\n{\"memory_id\":\"a\",\"is_stale\":§true}", "a -2 -2.5, b"},
		{"other booleans", `[{"memory_id":"a","sure":§false,"is_stale":§true,"reasoning":"is_stale: §false"},{"memory_id":"b","is_stale":§false}]`, "a -2 -2.5, b -4 -4.5"},
		{"judged twice alike", `[{"memory_id":"a","is_stale":§true},{"memory_id":"a","is_stale":§true},{"memory_id":"b","is_stale":§false}]`, "a, b -3 -3.5"},
		{"judged twice", `[{"memory_id":"a","is_stale":§true},{"memory_id":"a","is_stale":§false},{"memory_id":"b","is_stale":§false}]`, "a, b -3 -3.5"},
		{"a stranger", `[{"memory_id":"x","is_stale":§true},{"memory_id":"b","is_stale":§false}]`, "a, b -2 -2.5"},
		{"cut off", `[{"memory_id":"a","is_stale":§true},{"memory_id":"b","is_stale":§fal`, "a -1 -1.5, b"},
		{"repaired", "```json\n[{'memory_id': 'a', 'is_stale': §True,}, {'memory_id': 'b', 'is_stale': §False,},]\n```", "a -1 -1.5, b -2 -2.5"},
		{"keyed", `{"a": §true, "b": {"is_stale": §false}}`, "a -1 -1.5, b -2 -2.5"},
		{"a word", `[{"memory_id":"a","is_stale":"true"},{"memory_id":"b","is_stale":§true}]`, "a, b -1 -1.5"},
		{"another key", `[{"memory_id":"a","is_valid":§true},{"memory_id":"b","stale":§true}]`, "a, b -2 -2.5"},
	} {
		verdicts, _ := judge.Parse([]string{"a", "b"}, withBooleans(c.reply))
		var got []string
		for _, v := range verdicts {
			s := v.ID
			if v.StaleLogprob != nil {
				s += fmt.Sprintf(" %v %v", *v.StaleLogprob, *v.ValidLogprob)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
	// Places where there is no boolean do no harm, and scores have none.
	for _, at := range []int{-1, 0, 7, 1 << 30} {
		v, _ := judge.Parse([]string{"a"}, &llm.Reply{Text: `{"a": true}`, Booleans: []record.Boolean{{At: at, True: new(float64)}}})
		if v[0].Status != record.Stale || v[0].StaleLogprob != nil {
			t.Errorf("at %d: %+v", at, v[0])
		}
	}
	if v, _ := judge.ParseScores([]string{"a"}, withBooleans(`{"memory_id":"a","score":1,"is_stale":§true}`), 0.5); v[0].StaleLogprob != nil {
		t.Errorf("a score with %v", *v[0].StaleLogprob)
	}
}

// Would fail if, in replies of many shapes, a verdict had any other boolean's
// probabilities than those of the judgment that names it, or if a plain list
// lost some.
func TestCertaintyIsNeverAnothers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := []string{"mem_000", "mem_001", "mem_002", "mem_003"}
		var b strings.Builder
		owners := []string{} // of each boolean: the id it judges, "" for none
		mark := func(owner string) string {
			owners = append(owners, owner)
			return "§" + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "value")
		}
		garnish := func() {
			switch rapid.IntRange(0, 4).Draw(t, "garnish") {
			case 0:
				b.WriteString("\nI think that is_stale: " + mark("") + " is right.\n")
			case 1:
				b.WriteString(`<think>{"memory_id": "mem_001", "is_stale": ` + mark("") + "}</think>")
			case 2:
				b.WriteString(`{"done": ` + mark("") + "}\n")
			}
		}
		plain := rapid.Bool().Draw(t, "plain")
		if !plain {
			garnish()
		}
		ids := rapid.SliceOfN(rapid.SampledFrom(append([]string{"mem_9"}, asked...)), 1, 6).Draw(t, "ids")
		open, shut := `{"judgments": [`, `]}`
		if rapid.Bool().Draw(t, "fence") {
			open, shut = "```json\n"+open, shut+"\n```"
		}
		b.WriteString(open)
		for i, id := range ids {
			if i > 0 {
				b.WriteString(", ")
			}
			id := fmt.Sprintf(`"memory_id": %q`, id)
			verdict := `"is_stale": ` + mark(ids[i])
			if rapid.Bool().Draw(t, "verdict first") {
				id, verdict = verdict, id
			}
			fmt.Fprintf(&b, `{%s, %s, "reasoning": "%s"}`, id, verdict, rapid.SampledFrom([]string{"", "is_stale: true", `\"is_stale\": false`, "{", "“"}).Draw(t, "reason"))
		}
		if rapid.IntRange(0, 3).Draw(t, "whole") > 0 {
			b.WriteString(shut)
		}
		if !plain {
			garnish()
		}
		reply := withBooleans(b.String())
		verdicts, _ := judge.Parse(asked, reply)
		for _, v := range verdicts {
			times := 0
			for _, id := range ids {
				if id == v.ID {
					times++
				}
			}
			if v.StaleLogprob == nil {
				if times == 1 && plain && v.Status != record.Unanswered {
					t.Fatalf("%s has no probabilities in %s", v.ID, reply.Text)
				}
				continue
			}
			k := int(-*v.StaleLogprob)
			if v.Status == record.Unanswered {
				t.Fatalf("%+v in %s", v, reply.Text)
			}
			at := reply.Booleans[k-1].At
			if (v.Status == record.Stale) != strings.HasPrefix(reply.Text[at:], "true") {
				t.Fatalf("%s is %s with the boolean at %d of %s", v.ID, v.Status, at, reply.Text)
			}
			if owners[k-1] != v.ID {
				t.Fatalf("%s has the probabilities of %q's boolean in %s", v.ID, owners[k-1], reply.Text)
			}
		}
	})
}

func BenchmarkCertainty(b *testing.B) {
	var asked []string
	var text strings.Builder
	text.WriteString(`{"judgments":[`)
	for i := range 10 {
		asked = append(asked, fmt.Sprintf("mem_%03d", i))
		if i > 0 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, `{"memory_id":"mem_%03d","is_stale":§false,"confidence":0.9,"reasoning":"The observation shows the same."}`, i)
	}
	text.WriteString("]}")
	reply := withBooleans(text.String())
	for b.Loop() {
		if v, _ := judge.Parse(asked, reply); v[9].StaleLogprob == nil {
			b.Fatal("none")
		}
	}
}
