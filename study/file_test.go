package study_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// TestFile reads a study that uses every key.
func TestFile(t *testing.T) {
	s, err := study.ParseFile("all.yaml", []byte(`
# A comment.
base: quick
name: mine
models: [ref/reader, "ref/mixed?tpr=0.5"]
seeds: [1734, 4810]
sizes: [8, 16x12]
hole_fraction: 0.2
regimes: [L1, L3]
framings: [neutral, warned]
temperature: 0
top_p: 0.9
max_tokens: 2000
again: true
view_radius: 3
strict_schedule: true
detection:
  modalities: vision
  detectors:
    - omcd
    - {like: omcd, name: omcd-5, batch: 5}
navigation:
  modalities: [text]
  strategies:
    - no-filter
    - name: late
      memory: all
      auditor: whole-store
      when: on-event
      policy: remove
  episodes: 7
`))
	if err != nil {
		t.Fatal(err)
	}
	temperature, topP, maxTokens := 0., 0.9, 2000
	five := study.OMCD
	five.Name, five.Batch = "omcd-5", 5
	want := &study.Study{
		Name:         "mine",
		Models:       []string{"ref/reader", "ref/mixed?tpr=0.5"},
		Seeds:        []int{1734, 4810},
		Sizes:        []study.Size{{Rows: 8, Cols: 8}, {Rows: 16, Cols: 12}},
		HoleFraction: 0.2,
		Regimes:      []instance.Regime{instance.L1, instance.L3},
		Framings:     []string{"neutral", "warned"},
		Detection:    &study.Detection{Modalities: []string{"vision"}, Detectors: []study.Strategy{study.OMCD, five}},
		Navigation: &study.Navigation{
			Modalities: []string{"text"},
			Strategies: []study.Strategy{study.NoFilter, {Name: "late", Memory: study.MemoryAll, Auditor: study.AuditWholeStore, When: study.OnEvent, Policy: study.Remove}},
			Episodes:   7,
		},
		Again: true, ViewRadius: 3, Strict: true,
		Tests: record.PlannedTests(),
		Asked: study.Asked{Seeds: true, Sizes: true, Regimes: true},
	}
	want.Params.Temperature, want.Params.TopP, want.Params.MaxTokens = &temperature, &topP, &maxTokens
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// TestFileMistakes would fail if a study full of mistakes were reported one
// mistake at a time, or without its place.
func TestFileMistakes(t *testing.T) {
	_, err := study.ParseFile("bad.yaml", []byte(`base: papper
models: ref/reader
seeds: many
sizes: [8, 3x9]
regimes: [L1, L4]
framings: loud
hole_fraction: half
temperatur: 1
again: perhaps
tasks: [detect, walk]
detection:
  modality: text
  detectors: [omdc, {like: omcd, batch: 0}, {name: x, memory: some, colour: red}]
navigation:
  episodes: 2.5
  strategies:
again: true
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`bad.yaml:1:7: unknown preset "papper"; there are paper`,
		`bad.yaml:3:8: want a whole number, got "many"`,
		`bad.yaml:4:12: size "3x9"`,
		`bad.yaml:5:15: regimes: unknown value "L4"; there are L1`,
		`bad.yaml:6:11: framings: unknown value "loud"; there are neutral`,
		`bad.yaml:7:16: want a number, got "half"`,
		`bad.yaml:8:1: unknown key "temperatur"; there are again, agents, base`,
		`bad.yaml:9:8: want true or false, got "perhaps"`,
		`bad.yaml:10:17: tasks: unknown value "walk"; there are detect, navigate`,
		`bad.yaml:12:3: unknown key "detection.modality"; there are detectors, distractors, modalities`,
		`bad.yaml:13:15: unknown strategy "omdc"`,
		`bad.yaml:13:41: batch 0: it must be from 1 to 4096`,
		`unknown key "colour"; a strategy has like, name`,
		`bad.yaml:15:13: want a whole number, got "2.5"`,
		`bad.yaml:16:`,
		`key "again" is there twice`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %s", want)
		}
	}
	if t.Failed() {
		t.Logf("it says\n%v", err)
	}
	for text, want := range map[string]string{
		"agents: {a: {exec: x}}\nmodels: ref/reader": "agents.a: no model walks by it; write agent/a among the models",
		"models: agent/b":                                                                                                    "models: agent/b is no agent of the study",
		"agents: {a: {}}\nmodels: agent/a":                                                                                   "a method is either exec, a program with its arguments, or http, an address",
		"agents: {a: {http: here}}\nmodels: agent/a":                                                                         "want an address such as",
		"agents: {a: {exec: x, wants: truth}}":                                                                               "no method is told what is true",
		"agents: {a: {exec: x, wants: maps}}":                                                                                `unknown value "maps"; there are grid`,
		"agents: {a: {exe: x}}":                                                                                              `unknown key "exe"; a method has exec, http`,
		"detection: {detectors: [{name: omcd, auditor: {exec: x}}]}":                                                         "the name is that of a built-in strategy",
		"detection: {detectors: [{name: m, auditor: method}]}":                                                               `unknown value "method"`,
		"detection: {detectors: [{name: m, memory: {exec: x}}]}":                                                             "detection: m asks no model to judge the memory",
		"navigation: {strategies: [{name: m, memory: {builtin: diff}}]}":                                                     "the built-in diff is none of its kind",
		"navigation: {strategies: [{name: m, auditor: {builtin: planner}}]}":                                                 "the built-in planner is none of its kind",
		"navigation: {strategies: [{name: m, auditor: {builtin: diff, exec: x}}]}":                                           "a method is either exec",
		"agents: {a: {builtin: diff}}\nmodels: agent/a":                                                                      "the built-in diff is no agent",
		"navigation: {strategies: [{name: m, memory: method}]}":                                                              `unknown value "method"`,
		"navigation: {strategies: [{name: m, memory: {exec: x}, auditor: oracle}]}":                                          "decides itself what it shows",
		"navigation: {strategies: [{name: m, auditor: {exec: x}, memory: {exec: x}}]}":                                       "decides itself what it shows",
		"navigation: {strategies: [{name: m, like: omcd, memory: {exec: x}}]}":                                               "decides itself what it shows",
		"detection: {detectors: [{name: m, auditor: {exec: x}}]}\nnavigation: {strategies: [{name: m, auditor: {exec: y}}]}": "two strategies are called m",
		"":                          "it is empty",
		"# nothing\n":               "it is empty",
		"- a\n- b\n":                "want keys with values, got a list",
		"models: [a\n":              "x.yaml",
		"name: a\n---\nname: b\n":   "more than one document",
		"seeds: [1, 1]\n":           "seeds: 1 is named twice",
		"navigation: 5\n":           "want keys with values",
		"models: []\n":              "models: want at least one value",
		"name: {a: 1}\n":            "want a text, got keys with values",
		"regimes: null\n":           "want a list, got nothing",
		"seeds: 0\n":                "0 seeds",
		"seeds: 20000\n":            "20000 seeds",
		"navigation: {episodes: 0}": "navigation.episodes 0: it must be from 1",
	} {
		if _, err := study.ParseFile("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
	if _, err := study.ReadFile(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

// TestTasks would fail if a key order or a dropped task changed what a file
// means.
func TestTasks(t *testing.T) {
	for _, text := range []string{"tasks: navigate\nnavigation: {episodes: 3}\n", "navigation: {episodes: 3}\ntasks: navigate\n"} {
		s, err := study.ParseFile("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Detection != nil || s.Navigation.Episodes != 3 {
			t.Errorf("%q gives %+v, %+v", text, s.Detection, s.Navigation)
		}
	}
	s, err := study.ParseFile("x.yaml", []byte("base: vision\ndetection: {modalities: vision}\n"))
	if err != nil || s.Detection == nil || len(s.Detection.Detectors) != 1 {
		t.Errorf("a task that the base does not have: %+v, %v", s, err)
	}
}

func TestSet(t *testing.T) {
	s := preset(t, "paper")
	for _, setting := range []string{"navigation.episodes=3", "seeds=[1734, 4810]", "regimes=L2", "temperature=0.7", "models=ref/reader", "detection.detectors=[{like: omcd, batch: 20}]", "name=x"} {
		if err := s.Set(setting); err != nil {
			t.Fatal(err)
		}
	}
	if s.Navigation.Episodes != 3 || len(s.Seeds) != 2 || s.Regimes[0] != instance.L2 || *s.Params.Temperature != 0.7 || s.Detection.Detectors[0].Batch != 20 || s.Name != "x" {
		t.Errorf("%+v", s)
	}
	for setting, want := range map[string]string{
		"episodes=3":              `unknown key "episodes"; there are again`,
		"navigation.episode=3":    "there are episodes, modalities, models, only, strategies",
		"navigation.episodes=two": `setting navigation.episodes: want a whole number, got "two"`,
		"seeds":                   "write it as KEY=VALUE",
		"seeds=":                  "it is empty",
		"seeds=[1":                "setting seeds",
	} {
		if err := preset(t, "paper").Set(setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", setting, err, want)
		}
	}
}

// FuzzParseFile would fail on a panic, or on a study that is accepted and
// cannot be planned.
func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"base: quick\n", "seeds: [1]\nsizes: 4\n", "navigation: {strategies: [{like: omcd}]}", "a: &a [*a]", "? x\n: y", "<<: {a: b}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := study.ParseFile("fuzz.yaml", text)
		if err == nil && s.Check() != nil {
			t.Errorf("accepted a study that cannot be planned: %v", s.Check())
		}
	})
}
