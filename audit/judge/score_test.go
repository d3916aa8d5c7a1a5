package judge_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// TestParseScores reads scores in the clothes that models give them.
func TestParseScores(t *testing.T) {
	asked := []string{"mem_020", "mem_021", "mem_022"}
	for _, c := range []struct {
		name, reply string
		finish      llm.Finish
		want        string // verdicts, and scores where given
	}{
		{"as asked", `{"judgments":[{"memory_id":"mem_020","score":0.1,"reasoning":"x"},{"memory_id":"mem_021","score":0.7,"reasoning":"x"},{"memory_id":"mem_022","score":0.69}]}`, "", "valid 0.1, stale 0.7, valid 0.69"},
		{"the ends", `[{"memory_id":"mem_020","score":0},{"memory_id":"mem_021","score":1},{"memory_id":"mem_022","score":1.0}]`, "", "valid 0, stale 1, stale 1"},
		{"out of range", `[{"memory_id":"mem_020","score":-0.1},{"memory_id":"mem_021","score":7},{"memory_id":"mem_022","score":null}]`, "", "unanswered, unanswered, unanswered"},
		{"strings", `[{"memory_id":"mem_020","score":"0.2"},{"memory_id":"mem_021","score":"high"},{"memory_id":"mem_022","score":"0.9"}]`, "", "valid 0.2, unanswered, stale 0.9"},
		{"contradiction", `[{"memory_id":"mem_020","score":0.1},{"memory_id":"mem_020","score":0.2},{"memory_id":"mem_021","score":0.8},{"memory_id":"mem_021","score":0.8}]`, "", "unanswered, stale 0.8, unanswered"},
		{"a verdict is no score", `[{"memory_id":"mem_020","is_stale":true}]`, "", "unanswered, unanswered, unanswered"},
		{"keyed", `{"mem_020": 0.3, "mem_021": {"score": 0.95}}`, "", "valid 0.3, stale 0.95, unanswered"},
		{"half a number", `[{"memory_id":"mem_020","score":0.2},{"memory_id":"mem_021","score":0.7`, llm.FinishLength, "valid 0.2, unanswered, unanswered"},
		{"fence and commas", "```json\n[{'memory_id':'mem_020','score':.8,},]\n```", "", "stale 0.8, unanswered, unanswered"},
	} {
		verdicts, parsed := judge.ParseScores(asked, &llm.Reply{Text: c.reply, Finish: c.finish}, 0.7)
		var got []string
		for _, v := range verdicts {
			words := v.Status
			if v.Score != nil {
				words += " " + strconv.FormatFloat(*v.Score, 'g', -1, 64)
			}
			if (v.Score == nil) != (v.Status == record.Unanswered) {
				t.Errorf("%s: %+v has a verdict without a score or the other way round", c.name, v)
			}
			got = append(got, words)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s (%+v)", c.name, s, c.want, parsed)
		}
	}
}

// TestScoreAuditor checks what a model is asked when scores are wanted.
func TestScoreAuditor(t *testing.T) {
	var asked *llm.Request
	model := modelFunc(func(req *llm.Request) string {
		asked = req
		return `{"judgments":[{"memory_id":"a","score":0.8,"reasoning":"gone"}]}`
	})
	a, err := judge.New(model, judge.Options{Score: true, Threshold: 0.7})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Audit(context.Background(), judge.Where{Trial: "t"}, []judge.Entry{{ID: "a", Parts: []llm.Part{llm.Text("A door is open.")}}}, []llm.Part{llm.Text("It is shut.\n")})
	if err != nil {
		t.Fatal(err)
	}
	if v := res.Verdicts[0]; v.Status != record.Stale || v.Score == nil || *v.Score != 0.8 || v.Reason != "gone" {
		t.Errorf("verdict %+v", v)
	}
	if asked.Schema.Name != "audit_score" || !strings.Contains(string(asked.Schema.JSON), `"score"`) || strings.Contains(string(asked.Schema.JSON), "is_stale") {
		t.Errorf("schema %s", asked.Schema.JSON)
	}
	if !slices.ContainsFunc(asked.Parts, func(p llm.Part) bool { return strings.Contains(p.Text(), `"score"`) }) {
		t.Error("the prompt does not ask for a score")
	}
	for _, threshold := range []float64{0, -1, 1.1} {
		if _, err := judge.New(model, judge.Options{Score: true, Threshold: threshold}); err == nil || !strings.Contains(err.Error(), "threshold") {
			t.Errorf("threshold %v: %v", threshold, err)
		}
	}
}

type modelFunc func(*llm.Request) string

func (f modelFunc) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	return &llm.Reply{Text: f(req), Finish: llm.FinishStop}, nil
}

// FuzzParseScores would fail on a panic, or on a score outside [0,1].
func FuzzParseScores(f *testing.F) {
	for _, s := range []string{`[{"memory_id":"a","score":0.5}]`, `{"a":1e0}`, `[{"memory_id":"a","score":"1e-1"`, "0.7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		verdicts, _ := judge.ParseScores([]string{"a", "b"}, &llm.Reply{Text: text}, 0.7)
		for _, v := range verdicts {
			if v.Score != nil && !(*v.Score >= 0 && *v.Score <= 1) || (v.Score == nil) != (v.Status == record.Unanswered) {
				t.Errorf("%q gives %+v", text, v)
			}
		}
	})
}
