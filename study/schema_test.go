package study_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/spatialstale/spatialstale/study"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestSchema would fail if the published schema were out of date, or if it and
// the reader of study files disagreed.
func TestSchema(t *testing.T) {
	const path = "../docs/study.schema.json"
	if *update {
		if err := os.WriteFile(path, study.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(published) != string(study.Schema()) {
		t.Errorf("%s is out of date; run go test ./study -update", path)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(published, &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		"base: quick\nseeds: 3\nsizes: [8, 16x12]\nregimes: L1\n":                                                                                    true,
		"tasks: detect\ndetection: {detectors: [omcd, {like: omcd, batch: 5}]}":                                                                      true,
		"models: [ref/reader]\nnavigation: {episodes: 2, strategies: no-filter}\n":                                                                   true,
		"navigation: {strategies: [{name: x, memory: all, auditor: none}], episodes: 1}":                                                             true,
		"seeds: [1, 2]\ntemperature: 0.5\nagain: true\n":                                                                                             true,
		"contrasts: omcd minus no-filter\nfamily: {measures: death, alpha: 0.01}":                                                                    true,
		"contrasts: []\nequivalence: {margin: 0.05}\nbootstrap: {resamples: 1000}":                                                                   true,
		"agents: {a: {exec: [x, x], workers: 2}}\nmodels: agent/a\ndetection: {detectors: [{name: m, auditor: {http: \"http://h/\", wants: grid}}]}": true,
		"agents: {a: {exec: x, want: grid}}\nmodels: agent/a":                                                                                        false,
		"contrasts: [omcd]\n":                               false,
		"family: {measures: reward}\n":                      false,
		"family: {alpha: 0}\n":                              false,
		"equivalence: {alpha: 0.5}\n":                       false,
		"bootstrap: {resamples: 1}\n":                       false,
		"bootstrap: {seed: -1}\n":                           false,
		"base: papper\n":                                    false,
		"sede: 3\n":                                         false,
		"sizes: 3\n":                                        false,
		"regimes: L4\n":                                     false,
		"navigation: {episode: 2}\n":                        false,
		"detection: {detectors: [{like: omcd, colour: 1}]}": false,
		"hole_fraction: 1\n":                                false,
		"seeds: []\n":                                       false,
		"again: maybe\n":                                    false,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != good {
			t.Errorf("%q: the schema says %v", text, err)
		}
		if _, err := study.ParseFile("x.yaml", []byte(text)); (err == nil) != good {
			t.Errorf("%q: the reader says %v", text, err)
		}
	}
}
