package audit_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/audit"
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
		verdicts, _ := audit.Parse(asked, &llm.Reply{Text: c.reply, Finish: llm.FinishStop})
		var got []string
		for _, v := range verdicts {
			got = append(got, v.Status)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
	// Ids of one's own kind are not mixed up.
	verdicts, _ := audit.Parse([]string{"7#1", "7#2", "71"}, &llm.Reply{Text: `{"71": true, "7#1": false}`})
	if verdicts[0].Status != record.Valid || verdicts[1].Status != record.Unanswered || verdicts[2].Status != record.Stale {
		t.Errorf("%+v", verdicts)
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
		verdicts, parsed := audit.Parse(c.Asked, &llm.Reply{Text: c.Reply, Finish: c.Finish})
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
