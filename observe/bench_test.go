package observe_test

import (
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
)

func benchState(b *testing.B) observe.State {
	return observe.State{Grid: paperLake(b), Agent: lake.Pos{Row: 3, Col: 4}}
}

// BenchmarkPicture is what an observation costs in vision, once its state is
// new.
func BenchmarkPicture(b *testing.B) {
	s := benchState(b)
	b.ReportAllocs()
	n, size := 0, 0
	for b.Loop() {
		data, err := observe.EncodePNG(observe.Render(&s, nil))
		if err != nil {
			b.Fatal(err)
		}
		n, size = n+1, len(data)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pictures/s")
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkRender(b *testing.B) {
	s := benchState(b)
	b.ReportAllocs()
	for b.Loop() {
		observe.Render(&s, nil)
	}
}

func BenchmarkEncodePNG(b *testing.B) {
	s := benchState(b)
	img := observe.Render(&s, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := observe.EncodePNG(img); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePNG(b *testing.B) {
	s := benchState(b)
	data, err := observe.EncodePNG(observe.Render(&s, nil))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := observe.DecodePNG(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkText(b *testing.B) {
	s := benchState(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Text()
	}
}

func BenchmarkParseText(b *testing.B) {
	s := benchState(b)
	text := s.Text()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := observe.ParseText(text); err != nil {
			b.Fatal(err)
		}
	}
}
