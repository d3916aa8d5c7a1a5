package run_test

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"testing"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// counting is a recorder that keeps nothing.
type counting struct {
	calls, trials atomic.Int64
	live          atomic.Uint64 // largest live heap seen, bytes
}

func (c *counting) Lookup(context.Context, string, string) (*record.Call, error) { return nil, nil }

func (c *counting) DurableCall(ctx context.Context, call *record.Call) error {
	return c.Call(ctx, call)
}

func (c *counting) Call(context.Context, *record.Call) error {
	c.calls.Add(1)
	return nil
}

func (c *counting) Trial(context.Context, *record.Trial) error {
	if c.trials.Add(1)%64 == 0 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		if live := sample[0].Value.Uint64(); live > c.live.Load() {
			c.live.Store(live)
		}
	}
	return nil
}

func benchmark(b *testing.B, s *study.Study) {
	models := controls(b, s)
	c := &counting{}
	for b.Loop() {
		if _, err := run.Trials(context.Background(), s, run.Workers{Models: models, Recorder: c, Concurrency: 2}); err != nil {
			b.Fatal(err)
		}
	}
	calls := float64(c.calls.Load())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/calls, "ns/call")
	cells := float64(s.Sizes[0].Rows * s.Sizes[0].Cols)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/calls/cells, "ns/call/cell")
	b.ReportMetric(float64(c.live.Load())/(1<<20), "live-MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSeeds shows that memory does not grow with the number of trials: the
// second run makes ten times as many as the first.
func BenchmarkSeeds(b *testing.B) {
	for _, n := range []int{20, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := preset(b, "paper")
			s.Seeds = instance.Seeds(n)
			benchmark(b, s)
		})
	}
}

// BenchmarkSizes shows that time grows with cells times calls: ns/call/cell
// stays within a small factor from 8x8 to 64x64.
func BenchmarkSizes(b *testing.B) {
	for _, side := range []int{8, 16, 32, 64} {
		b.Run(fmt.Sprintf("%dx%d", side, side), func(b *testing.B) {
			s := preset(b, "quick")
			s.Seeds = s.Seeds[:2]
			s.Models = []string{"ref/reader"}
			s.Sizes = []study.Size{{Rows: side, Cols: side}}
			benchmark(b, s)
		})
	}
}
