package study_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/study"
)

// keysOf is one hash over the keys of a plan, in order.
func keysOf(s *study.Study) string {
	h := sha256.New()
	for spec := range s.Specs() {
		fmt.Fprintln(h, spec.Key)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// TestKeysStay fails if the key of any trial moves that version 0.1 could plan:
// stored runs would no longer be found by their studies.
func TestKeysStay(t *testing.T) {
	for text, want := range map[string]string{
		"base: paper":   "3543ad7d3e44635b",
		"base: quick":   "19a6d8502f0cc7f1",
		"base: vision":  "ea58915d435e81cd",
		"base: batch":   "2e168626a72647e9",
		"base: score":   "3047e93e04eee028",
		"base: framing": "21503527b607f3e7",
		"base: sizes":   "670c6f89f15950dc",

		"{base: quick, seeds: 1, temperature: 0.5, top_p: 0.9, max_tokens: 100, thinking: 0, logprobs: true}":                      "14b89ad31c743999",
		"{base: quick, seeds: [7], again: true, view_radius: 2, strict_schedule: true, hole_fraction: 0.3}":                        "180f780a8f90379b",
		"{base: quick, seeds: 1, sizes: [5x9], detection: {detectors: {like: omcd, name: mine, batch: 3}}}":                        "5f5edec98d55cb31",
		"{base: quick, seeds: 1, name: other, models: openai/gpt-4o, contrasts: [], bootstrap: {resamples: 100}}":                  "876d7d12e2b94fff",
		"{base: quick, seeds: 1, navigation: {strategies: [{name: x, auditor: {exec: [a, b], wants: grid, timeout: 9}}]}}":         "e1b576f37818a1c5",
		"{base: quick, seeds: 1, navigation: {strategies: [{name: x, auditor: {http: 'http://a/b'}}]}}":                            "7909a4ebc79bb818",
		"{base: quick, seeds: 1, navigation: {strategies: [{name: x, memory: all, auditor: oracle, when: once, policy: remove}]}}": "24b917bba8bf4bf2",
	} {
		s, err := study.ParseFile("study.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := keysOf(s); got != want {
			t.Errorf("%q: %q,", text, got)
		}
	}
}

// TestVersions: methods that are not the same program need not have the same
// trials, wherever they are asked.
func TestVersions(t *testing.T) {
	keys := func(method string) string {
		s, err := study.Parse("{base: quick, seeds: 1, navigation: {strategies: [{name: x, memory: " + method + "}]}}")
		if err != nil {
			t.Fatal(err)
		}
		return keysOf(s)
	}
	if keys("{http: 'http://a/b', version: 1.2}") == keys("{http: 'http://a/b', version: 1.3}") {
		t.Error("two versions have the same trials")
	}
	if keys("{http: 'http://a/b', version: 1.2}") != keys("{http: 'http://c/d', version: 1.2, timeout: 7, workers: 3}") {
		t.Error("one version has other trials at another address")
	}
}

// TestMoveMethods: a method is asked elsewhere, its trials stay, and what cannot
// be moved is said.
func TestMoveMethods(t *testing.T) {
	s, err := study.Parse(`{base: quick, seeds: 1, models: [ref/reader, agent/a], agents: {a: {http: "http://old/a"}},
detection: {detectors: {name: x, auditor: {http: "http://old/x"}}}, navigation: {strategies: [{name: x, auditor: {http: "http://old/x"}}, {name: m, memory: {exec: prog}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	before := keysOf(s)
	if err := s.MoveMethods(map[string]string{"auditor/x": "http://new/x", "agent/a": "http://new/a"}); err != nil {
		t.Fatal(err)
	}
	if s.Detection.Detectors[0].Method.HTTP != "http://new/x" || s.Navigation.Strategies[0].Method.HTTP != "http://new/x" || s.Agents["a"].HTTP != "http://new/a" || keysOf(s) != before {
		t.Errorf("%+v", s.Methods())
	}
	for name, want := range map[string]string{"auditor/y": "there are agent/a, auditor/x, memory/m", "memory/m": "it is a program, prog, and has no address"} {
		if err := s.MoveMethods(map[string]string{name: "http://new/"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if err := s.MoveMethods(map[string]string{"auditor/x": "new"}); err == nil || !strings.Contains(err.Error(), "want an address such as") {
		t.Errorf("error %v", err)
	}
}
