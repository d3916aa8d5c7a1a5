package serve

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metrics are counters in the text form of Prometheus. Each series belongs to an
// account, which sees no others.
type metrics struct {
	mu     sync.Mutex
	series map[series]float64
}

// series is one line: its family, and its labels as they are written.
type series struct {
	family, account, labels string
	order                   int // among those of its family and account
}

// families are all there is, with what they count.
var families = []struct{ name, kind, help string }{
	{"requests_total", "counter", "Requests by what they were for and how they were answered."},
	{"audits_total", "counter", "Audits by model and outcome."},
	{"verdicts_total", "counter", "Verdicts by status, tier and whether they are of an earlier audit."},
	{"removed_total", "counter", "Entries that were left out."},
	{"model_calls_total", "counter", "Calls of models."},
	{"model_tokens_total", "counter", "Tokens of models' calls, as far as servers say."},
	{"model_cost_usd_total", "counter", "What models' calls cost, where the price is known."},
	{"audit_seconds", "histogram", "How long audits took."},
}

// secondsBuckets are the upper ends of the histogram's buckets.
var secondsBuckets = []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

func newMetrics() *metrics { return &metrics{series: map[series]float64{}} }

// add counts; labels are names and values in turn.
func (m *metrics) add(n float64, family, account string, labels ...string) {
	var b strings.Builder
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(&b, ",%s=%s", labels[i], strconv.Quote(labels[i+1]))
	}
	m.put(n, series{family: family, account: account, labels: b.String()})
}

func (m *metrics) put(n float64, s series) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series[s] += n
}

// observe counts a time in a histogram.
func (m *metrics) observe(family, account string, took time.Duration) {
	for i, end := range append(secondsBuckets, math.Inf(1)) {
		n := 0.0
		if took.Seconds() <= end {
			n = 1
		}
		m.put(n, series{family + "_bucket", account, fmt.Sprintf(",le=%q", formatNumber(end)), i})
	}
	m.put(took.Seconds(), series{family: family + "_sum", account: account, order: len(secondsBuckets) + 1})
	m.put(1, series{family: family + "_count", account: account, order: len(secondsBuckets) + 2})
}

// formatNumber writes a number as the format has it.
func formatNumber(x float64) string {
	if math.IsInf(x, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func (m *metrics) request(account, pattern string, status int) {
	m.add(1, "requests_total", account, "for", pattern, "status", strconv.Itoa(status))
}

// audit counts an audit; answer is nil for one that failed.
func (m *metrics) audit(account, model, outcome string, took time.Duration, answer *AuditAnswer) {
	m.add(1, "audits_total", account, "model", model, "outcome", outcome)
	m.observe("audit_seconds", account, took)
	if answer == nil {
		return
	}
	for _, v := range answer.Verdicts {
		m.add(1, "verdicts_total", account, "status", v.Status, "tier", v.Tier, "cached", strconv.FormatBool(v.Cached))
	}
	m.add(float64(answer.Counts.Removed), "removed_total", account)
	u := &answer.Usage
	m.add(float64(u.Calls), "model_calls_total", account, "model", model)
	m.add(float64(u.InputTokens), "model_tokens_total", account, "model", model, "kind", "input")
	m.add(float64(u.OutputTokens), "model_tokens_total", account, "model", model, "kind", "output")
	if u.CostUSD != nil {
		m.add(*u.CostUSD, "model_cost_usd_total", account, "model", model)
	}
}

// writeMetrics writes the series that an account may see.
func (s *Service) writeMetrics(w http.ResponseWriter, a *account) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	const prefix = "spatialstale_"
	gauge := func(name, help string, value int64) {
		fmt.Fprintf(w, "# HELP %s%s %s\n# TYPE %[1]s%[2]s gauge\n%[1]s%[2]s %[4]d\n", prefix, name, help, value)
	}
	gauge("audits_running", "Requests under way.", int64(s.admit.running()))
	gauge("audits_waiting", "Requests that wait for their turn.", s.admit.waiting.Load())
	s.metrics.write(w, prefix, func(account string) bool { return a.Operator || account == a.Name })
}

func (m *metrics) write(w io.Writer, prefix string, may func(account string) bool) {
	m.mu.Lock()
	all := maps.Clone(m.series)
	m.mu.Unlock()
	lines := map[string][]string{}
	byPlace := func(a, b series) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.order, b.order), cmp.Compare(a.labels, b.labels))
	}
	for _, one := range slices.SortedFunc(maps.Keys(all), byPlace) {
		if !may(one.account) {
			continue
		}
		family := one.family
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			family = strings.TrimSuffix(family, suffix)
		}
		lines[family] = append(lines[family], fmt.Sprintf("%s%s{token=%q%s} %s\n", prefix, one.family, one.account, one.labels, formatNumber(all[one])))
	}
	for _, f := range families {
		if len(lines[f.name]) == 0 {
			continue
		}
		fmt.Fprintf(w, "# HELP %s%s %s\n# TYPE %[1]s%[2]s %[4]s\n", prefix, f.name, f.help, f.kind)
		for _, line := range lines[f.name] {
			_, _ = io.WriteString(w, line)
		}
	}
}
