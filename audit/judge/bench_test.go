package judge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// BenchmarkParse reads replies of 10 and of 64 judgments; the time that counts
// is that of a judgment.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{judge.DefaultBatch, 64} {
		asked := make([]string, n)
		items := make([]item, n)
		for i := range asked {
			asked[i] = fmt.Sprintf("mem_%03d", i)
			items[i] = item{asked[i], i%7 == 0, "(2,5) is shown as F, which the entry says too"}
		}
		for _, dress := range []string{"object", "fence", "Python"} {
			b.Run(fmt.Sprintf("%s/%d", dress, n), func(b *testing.B) {
				reply := &llm.Reply{Text: clothes[dress](items), Finish: llm.FinishStop}
				b.ReportAllocs()
				for b.Loop() {
					judge.Parse(asked, reply)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/judgment")
			})
		}
	}
}

// BenchmarkAudit is a whole audit of 64 entries but for the model.
func BenchmarkAudit(b *testing.B) {
	entries := memories(64)
	var replies = map[string]*llm.Reply{}
	m := &scripted{}
	m.answer = func(req *llm.Request) (*llm.Reply, error) {
		m.requests = nil
		if replies[req.Slot] == nil {
			replies[req.Slot], _ = judging(even)(req)
		}
		return replies[req.Slot], nil
	}
	a, err := judge.New(m, judge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Audit(context.Background(), judge.Where{}, entries, seen); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}
