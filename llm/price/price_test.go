package price_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm/price"
)

func TestShipped(t *testing.T) {
	l := price.Shipped()
	if len(l.Models) == 0 || l.Date == "" {
		t.Fatalf("%+v", l)
	}
	for name, p := range l.Models {
		if p.Input <= 0 || p.Output <= 0 || p.Source == "" || !strings.Contains(name, "/") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	p, ok := l.Of("openai/gpt-4o")
	if got := p.Cost(2_000_000, 100_000); !ok || math.Abs(got-6) > 1e-12 {
		t.Errorf("two million tokens in and a tenth of one out cost %v", got)
	}
	if p, ok := l.Of("ref/reader"); ok {
		t.Errorf("a model that is not listed costs %+v", p)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"date: 2026-01-02\nmodels:\n  a/b: {input: 1, output: 2, source: x}\n": "",
		"date: yesterday\n": `date "yesterday"`,
		"date: 2026-01-02\nmodels: {a/b: {input: -1}}\n": "a/b: input -1",
		"date: 2026-01-02\nmodel: {}\n":                  "unknown field",
		"date: [\n":                                      "prices:",
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
