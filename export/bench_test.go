package export

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// BenchmarkJSONL exports 100,000 judgments and 20,000 calls.
func BenchmarkJSONL(b *testing.B) {
	const judgments, calls = 100_000, 20_000
	sample := newSample()
	t := *sample.trials[0]
	for len(t.Windows) < judgments/64 {
		w := record.Window{Index: len(t.Windows)}
		for i := range 64 {
			j := t.Windows[0].Judgments[i%16]
			j.MemoryID, j.Reason = fmt.Sprintf("mem_%03d", i), "The memory says safe, but the cell is a hole in the observation."
			w.Judgments = append(w.Judgments, j)
		}
		t.Windows = append(t.Windows, w)
	}
	run := &memoryRun{trials: []*record.Trial{&t}}
	for range calls {
		run.calls = append(run.calls, sample.calls[0])
	}
	for b.Loop() {
		if err := JSONL(run, filepath.Join(b.TempDir(), "out")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/judgments, "ns/judgment")
}

// BenchmarkParquet exports 100,000 judgments.
func BenchmarkParquet(b *testing.B) {
	const judgments = 100_000
	t := *newSample().trials[0]
	for len(t.Windows) < judgments/16 {
		t.Windows = append(t.Windows, t.Windows[0])
	}
	run := &memoryRun{trials: []*record.Trial{&t}}
	for b.Loop() {
		if err := Parquet(run, filepath.Join(b.TempDir(), "out")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/judgments, "ns/judgment")
}
