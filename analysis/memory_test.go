package analysis_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
)

// BenchmarkFrame measures what a row of the frame takes of memory, by reading
// one million trials: the study's, again under other models' names.
func BenchmarkFrame(b *testing.B) {
	const rows = 1_000_000
	v := (&invented{models: controls[:1], seeds: 5, episodes: 3, modalities: []string{"text", "vision"}}).make()
	for b.Loop() {
		before := heap()
		f := &analysis.Frame{}
		for _, in := range v.instances {
			if err := f.AddInstance(in); err != nil {
				b.Fatal(err)
			}
		}
		n := 0
		for copies := 0; n < rows; copies++ {
			model := fmt.Sprintf("ref/reader?copy=%d", copies)
			for _, t := range v.trials {
				one := *t
				one.Model, one.Key = model, fmt.Sprintf("%s/%d", t.Key, copies)
				if _, err := f.Expect(one.Spec); err != nil {
					b.Fatal(err)
				}
				if err := f.AddTrial(&one); err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		b.ReportMetric(float64(heap()-before)/float64(n), "B/row")
		b.ReportMetric(float64(n), "rows")
		runtime.KeepAlive(f)
	}
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
