package judge_test

import (
	"fmt"
	"testing"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/record"
)

// Would fail if an audit of a model that never stops were not ended once every
// entry has its verdict, or if the verdicts of a call that was ended, in
// verdicts or in scores, did not count.
func TestAuditOfAnEndlessModel(t *testing.T) {
	server, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Faults: func(llmtest.Asked) llmtest.Fault { return llmtest.Endless }})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m, err := chat.New(chat.Options{Name: "m", Model: "ref/reader", URL: server.URL + "/chat/completions", Settings: provider.Settings{Stream: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.CloseIdleConnections()
	observation := []llm.Part{llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\nAgent at (0,0). Goal at (3,3).\n")}
	var entries []judge.Entry
	for i := range 8 { // all say that their cell is safe; two are holes
		entries = append(entries, judge.Entry{ID: fmt.Sprintf("mem_%03d", i), Parts: []llm.Part{llm.Text(fmt.Sprintf("SAFE at (%d,%d): Frozen ice - safe to walk", i/4, i%4))}})
	}
	for _, score := range []bool{false, true} {
		a, err := judge.New(m, judge.Options{Score: score, Threshold: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Audit(t.Context(), judge.Where{Trial: "0123"}, entries, observation)
		if err != nil {
			t.Fatal(err)
		}
		stale := 0
		for _, v := range res.Verdicts {
			if v.Status == record.Stale {
				stale++
			}
			if v.Status == record.Unanswered || len(v.Repairs) > 0 && v.Repairs[0] != llm.RepairTruncated {
				t.Errorf("score %v: %+v", score, v)
			}
		}
		if stale != 2 || res.Replies[0].Outcome != judge.Answered {
			t.Errorf("score %v: %d stale, %+v", score, stale, res.Replies)
		}
	}
}
