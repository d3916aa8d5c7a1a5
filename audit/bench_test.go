package audit_test

import (
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
)

// BenchmarkSlowServer audits 1,000 entries in batches of 10, 16 calls at once, on
// a server that answers after 200 ms: ideal are 7 rounds, 1.4 s. It reports how
// many times the ideal an audit takes.
func BenchmarkSlowServer(b *testing.B) {
	const delay = 200 * time.Millisecond
	m := &audittest.Model{Rule: audittest.Gone, Delay: delay}
	server := m.Serve()
	defer server.Close()
	b.Setenv("FAKE_BASE_URL", server.URL)
	model, err := audit.Open("openai-api/fake/m")
	if err != nil {
		b.Fatal(err)
	}
	a, err := audit.New(model, audit.Options{Concurrency: 16})
	if err != nil {
		b.Fatal(err)
	}
	entries := memories(numbered(1000)...)
	for b.Loop() {
		if _, err := a.Audit(b.Context(), entries, audit.Observation{Text: "thing3 is gone"}); err != nil {
			b.Fatal(err)
		}
	}
	ideal := (7 * delay).Seconds()
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/ideal, "×ideal")
}

// BenchmarkCached audits 10,000 entries again of which nothing has changed.
func BenchmarkCached(b *testing.B) {
	a, err := audit.New(&audittest.Model{Rule: audittest.Gone}, audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := audit.NewSession(a, 0)
	entries := memories(numbered(10_000)...)
	seen := audit.Observation{Text: "thing3 is gone"}
	if _, err := s.Audit(b.Context(), entries, seen); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := s.Audit(b.Context(), entries, seen)
		if err != nil || len(r.Usage) > 0 {
			b.Fatal(err, len(r.Usage))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/entry")
}

// TestServed asks over the wire, with as many calls under way as were asked for
// and no more.
func TestServed(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone}
	server := m.Serve()
	defer server.Close()
	t.Setenv("FAKE_BASE_URL", server.URL)
	model, err := audit.Open("openai-api/fake/m")
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := audit.Filter(t.Context(), model, memories(numbered(25)...), audit.Observation{Text: "thing3 is gone"})
	if err != nil || len(kept) != 24 || m.Calls() != 3 {
		t.Errorf("error %v, kept %d, %d calls; want 24 and 3", err, len(kept), m.Calls())
	}
	for _, m := range kept {
		if m.Text == "thing3 is here" {
			t.Errorf("%s was kept", m.Text)
		}
	}
}
