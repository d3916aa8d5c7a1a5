package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// benchTrials is a tenth of the paper's study on three controls.
const benchTrials = 1300

type happened struct {
	trial *record.Trial
	calls []*record.Call
}

func benchRecords(s *shape) (all []happened, calls, judgments int) {
	for i := range s.plan {
		t, c := s.records(i)
		all = append(all, happened{t, c})
		calls += len(c)
		judgments += t.Counts.Judged()
	}
	return all, calls, judgments
}

func writeAll(tb testing.TB, dir string, s *shape, all []happened, withCalls bool) {
	w, err := Create(dir, record.Manifest{}, slices.Values(s.plan), s.instances, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	for _, h := range all {
		if withCalls {
			for _, c := range h.calls {
				if err := w.Call(ctx, c); err != nil {
					tb.Fatal(err)
				}
			}
		}
		if err := w.Trial(ctx, h.trial); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func folderBytes(tb testing.TB, dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			tb.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// BenchmarkWrite writes a tenth of the paper's study, with and without calls.
func BenchmarkWrite(b *testing.B) {
	s := newShape(benchTrials)
	all, calls, judgments := benchRecords(s)
	for _, with := range []struct {
		name  string
		calls bool
	}{{"records", false}, {"records+calls", true}} {
		b.Run(with.name, func(b *testing.B) {
			var size int64
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "run")
				writeAll(b, dir, s, all, with.calls)
				size = folderBytes(b, dir)
			}
			perRun := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if with.calls {
				b.ReportMetric(perRun/float64(calls), "ns/call")
				b.ReportMetric(float64(size)/float64(calls), "B/call")
			} else {
				b.ReportMetric(perRun/float64(judgments), "ns/judgment")
				b.ReportMetric(float64(size)/float64(judgments), "B/judgment")
			}
		})
	}
}

// BenchmarkRead reads the same back.
func BenchmarkRead(b *testing.B) {
	s := newShape(benchTrials)
	all, calls, judgments := benchRecords(s)
	dir := filepath.Join(b.TempDir(), "run")
	writeAll(b, dir, s, all, true)
	r, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.Run("trials", func(b *testing.B) {
		for b.Loop() {
			for _, err := range r.Trials() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(judgments), "ns/judgment")
	})
	b.Run("calls", func(b *testing.B) {
		for b.Loop() {
			for _, err := range r.Calls() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(calls), "ns/call")
	})
}
