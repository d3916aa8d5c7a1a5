package price_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
)

func TestShipped(t *testing.T) {
	l := price.Shipped()
	if len(l.Models) == 0 || l.Date == "" {
		t.Fatalf("%+v", l)
	}
	for name, p := range l.Models {
		if p.Input <= 0 || p.Output <= 0 || p.Source == "" || p.Date > l.Date || !strings.Contains(name, "/") {
			t.Errorf("%s: %+v", name, p)
		}
		if p.CachedInput != nil && *p.CachedInput >= p.Input || p.CacheWrite != nil && *p.CacheWrite <= p.Input {
			t.Errorf("%s: cached input costs less than input, and writing the cache more: %+v", name, p)
		}
	}
	if p, ok := l.Of("ref/reader"); ok {
		t.Errorf("a model that is not listed costs %+v", p)
	}
}

func TestRead(t *testing.T) {
	entry := func(members string) string {
		return "date: 2026-01-02\nmodels:\n  a/b: {" + members + "}\n"
	}
	for text, want := range map[string]string{
		entry("input: 1, output: 2, source: x"):                                    "",
		entry("input: 0, output: 0.000001, cached_input: 0, source: x"):            "",
		entry("input: 0, output: 0, source: mine"):                                 "", // a server of one's own
		entry("input: 1, output: 1, source: x, images: {rule: patches, side: 28}"): "",
		entry("input: 1, output: 1, source: x, date: May"):                         `a/b: date "May"`,
		entry("input: -1, output: 1, source: x"):                                   "a/b: input -1",
		entry("input: 0.0000001, output: 1, source: x"):                            "a/b: input 1e-07",
		entry("input: 1, output: 1, source: x, cache_write: .inf"):                 "a/b: cache_write +Inf",
		entry("input: 1, output: 1, source: x, up_to: -1"):                         "a/b: up_to",
		entry("input: 1, output: 1, source: x, images: {rule: guess}"):             `a/b: images: unknown rule "guess"`,
		entry("input: 1, output: 1, source: x, images: {rule: tiles, base: 1}"):    "a/b: images: tiles wants",
		entry("input: 1, output: 1, source: x, batch: 50"):                         "a/b: batch 50: it is a share",
		entry("input: 0.000001, output: 1, source: x, batch: 0.5"):                 "a/b: input 1e-06: a price is",
		entry("source: x"):                         "a/b: a price has input, output and source",
		entry("output: 1, source: x"):              "a/b: a price has input, output and source",
		entry("input: 1, source: x"):               "a/b: a price has input, output and source",
		entry("input: 1, output: 1"):               "a/b: a price has input, output and source",
		entry("input: null, output: 1, source: x"): "a/b: a price has input, output and source",
		"date: 2026-01-02\nmodels:\n  a/b:\n":      "a/b: a price has input, output and source",
		"date: 2026-01-02\nmodels:\n  a/b: &p {input: 1, output: 2, source: x}\n  a/c: *p\n": "",
		"date: yesterday\n":             `date "yesterday"`,
		"date: 2026-01-02\nmodel: {}\n": "unknown field",
		"date: [\n":                     "prices:",
	} {
		path := filepath.Join(t.TempDir(), "prices.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := price.Read(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := price.Read("nowhere.yaml"); err == nil {
		t.Error("a file that is not there is read")
	}
}

func usage(input, cached, written, output int) llm.Usage {
	u := llm.Usage{}
	for _, n := range []struct {
		to **int
		n  int
	}{{&u.InputTokens, input}, {&u.CachedTokens, cached}, {&u.CacheWriteTokens, written}, {&u.OutputTokens, output}} {
		if n.n >= 0 {
			*n.to = &n.n
		}
	}
	return u
}

func TestCost(t *testing.T) {
	full := price.Price{Input: 2, CachedInput: new(0.5), CacheWrite: new(2.5), Output: 10}
	plain := price.Price{Input: 2, Output: 10}
	tiered := price.Price{Input: 2, Output: 10, UpTo: 100}
	const million = 1_000_000
	for _, c := range []struct {
		name            string
		p               price.Price
		u               llm.Usage
		dollars         float64
		atLeast, atMost bool
	}{
		{"all kinds", full, usage(10*million, 4*million, 2*million, million), 4*2 + 4*0.5 + 2*2.5 + 10, false, false},
		{"nothing said of a cache", full, usage(million, -1, -1, 0), 2, false, false},
		{"no price for cached", plain, usage(million, million, 0, 0), 2, false, true},
		{"no price for written", plain, usage(million, 0, million, 0), 2, true, false},
		{"no input said", full, usage(-1, 5, -1, million), 10, true, false},
		{"no output said", full, usage(million, -1, -1, -1), 2, true, false},
		{"nothing said", full, llm.Usage{}, 0, true, false},
		{"more cached than there is", full, usage(million, 3*million, million, 0), 0.5, false, false},
		{"a longer prompt than the price is for", tiered, usage(101, 0, 0, 0), 0.000202, true, false},
		{"just as long", tiered, usage(100, 0, 0, 0), 0.0002, false, false},
		{"absurd", full, usage(math.MaxInt, 0, 0, math.MaxInt), math.MaxInt64 / 1e12, false, false},
	} {
		got := c.p.Cost(c.u)
		if math.Abs(got.USD.Dollars()-c.dollars) > 1e-12 || got.AtLeast != c.atLeast || got.AtMost != c.atMost {
			t.Errorf("%s: %v %+v, want %v %v %v", c.name, got.USD.Dollars(), got, c.dollars, c.atLeast, c.atMost)
		}
	}
}

// Would fail if a batch were charged as single calls, or a price that nobody gave
// passed for an exact one.
func TestCostInBatches(t *testing.T) {
	half := price.Price{Input: 2, CachedInput: new(0.5), CacheWrite: new(2.5), Output: 10, Batch: new(0.5)}
	u := usage(4_000_000, 2_000_000, 1_000_000, 1_000_000)
	alone, batch := half.In(false).Cost(u), half.In(true).Cost(u)
	if alone.USD != 2*batch.USD || batch.AtMost || *half.CachedInput != 0.5 {
		t.Errorf("alone %+v, in a batch %+v", alone, batch)
	}
	half.Batch = nil
	if got := half.In(true).Cost(u); got.USD != alone.USD || !got.AtMost {
		t.Errorf("without a price for batches: %+v", got)
	}
}

// Sums would depend on the order in which calls end if an amount were rounded.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(0, 1e8).Draw(t, "rate") // millionths of a dollar a million tokens
		p := price.Price{Input: float64(rate) / 1e6, Output: 1}
		n := rapid.IntRange(0, 1e9).Draw(t, "n")
		if got, want := p.Cost(usage(n, 0, 0, 0)).USD, price.USD(rate)*price.USD(n); got != want {
			t.Fatalf("%d tokens at %v: %d, want %d", n, p.Input, got, want)
		}
	})
}

func TestUSDString(t *testing.T) {
	for dollars, want := range map[float64]string{
		0: "$0", 1234.5: "$1234.50", 1: "$1.00", 0.1: "$0.10", 0.0996: "$0.10", 0.0123: "$0.012", 0.00004567: "$0.000046", 0.000001: "$0.000001",
	} {
		u, ok := price.FromDollars(dollars)
		if got := u.String(); got != want && dollars >= 0.001 || !ok {
			t.Errorf("%v is written %s, want %s", dollars, got, want)
		}
	}
	if got := price.USD(1).String(); got == "$0" {
		t.Error("a sum that is not nothing is written as nothing")
	}
	for _, d := range []float64{-1, math.NaN(), math.Inf(1), 2e6} {
		if u, ok := price.FromDollars(d); ok {
			t.Errorf("%v is taken for %v", d, u)
		}
	}
}

// The figures are worked examples of the providers' own pages, or follow from
// the rule by hand.
func TestImages(t *testing.T) {
	tiles := price.Images{Rule: price.Tiles, Base: 85, Tile: 170}
	mini := price.Images{Rule: price.Patches, Side: 32, Most: 1536, Times: 1.62}
	claude := price.Images{Rule: price.Patches, Side: 28, Most: 1568, Edge: 1568}
	crops := price.Images{Rule: price.Crops, Tile: 258}
	for _, c := range []struct {
		name   string
		rule   price.Images
		w, h   int
		detail string
		low    int
		high   int
	}{
		{"OpenAI's example", tiles, 1024, 1024, "", 765, 765},
		{"OpenAI's other example", tiles, 2048, 4096, "high", 1105, 1105},
		{"low detail", tiles, 4096, 4096, "low", 85, 85},
		{"ours, 8×8", tiles, 384, 384, "", 255, 765},
		{"ours, 16×16", tiles, 768, 768, "", 765, 765},
		{"patches", mini, 1024, 1024, "", 1659, 1659},
		{"too many patches", mini, 4000, 4000, "", 2489, 2489},
		{"Claude, ours", claude, 384, 384, "", 196, 196},
		{"Claude, 1024", claude, 1024, 1024, "", 1369, 1369},
		{"Claude, wide", claude, 3136, 1568, "", 1568, 1568},
		{"Gemini, small", crops, 384, 384, "", 258, 258},
		{"Gemini, larger", crops, 768, 769, "", 516, 516},
		{"fixed", price.Images{Rule: price.Fixed, Tokens: 1120}, 10, 10, "", 1120, 1120},
	} {
		if got := c.rule.Of(c.w, c.h, c.detail); got.Low != c.low || got.High != c.high {
			t.Errorf("%s: %+v, want %d to %d", c.name, got, c.low, c.high)
		}
	}
}

// Would fail if the list that docs/costs.md shows were no list.
func TestDocumentedListIsRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil || !found {
		t.Fatal(err)
	}
	l, err := price.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := l.Of("openai-api/lab/our-model"); !ok || p.Images == nil || p.MaxOutput != 8192 || *p.Thinks {
		t.Errorf("%+v", l)
	}
}
