package study

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// What is tested is declared in a study, and moves no trial.
func TestDeclaredTests(t *testing.T) {
	s, err := ParseFile("x.yaml", []byte(`
base: quick
contrasts: [omcd minus no-filter, mine minus oracle]
family: {measures: death, alpha: 0.01}
equivalence: {contrasts: oracle minus omcd, margin: 0.05, alpha: 0.1}
bootstrap: {resamples: 500, seed: 18446744073709551615, level: 0.9}
navigation: {strategies: [omcd, no-filter, {like: omcd, name: mine, batch: 5}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := record.Tests{
		Contrasts:   []record.Contrast{{A: "omcd", B: "no-filter"}, {A: "mine", B: "oracle"}},
		Family:      &record.Family{Measures: []string{"death"}, Alpha: 0.01},
		Equivalence: &record.Equivalence{Contrasts: []record.Contrast{{A: "oracle", B: "omcd"}}, Margin: 0.05, Alpha: 0.1},
		Bootstrap:   &record.Bootstrap{Resamples: 500, Seed: 1<<64 - 1, Level: 0.9},
	}
	if diff := cmp.Diff(want, s.Tests); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var declared, silent []string
	for trial := range s.Plan() {
		declared = append(declared, trial.Key)
	}
	s.Tests = record.Tests{}
	for trial := range s.Plan() {
		silent = append(silent, trial.Key)
	}
	if diff := cmp.Diff(silent, declared); diff != "" {
		t.Errorf("declaring tests moves trials:\n%s", diff)
	}
	if err := s.Check(); err != nil {
		t.Errorf("a study of an older run, which declares nothing: %v", err)
	}
	if err := s.Set("family.alpha=0.01"); err != nil || s.Family.Alpha != 0.01 || len(s.Family.Measures) != 2 {
		t.Errorf("a setting of what was not declared: %+v, %v", s.Family, err)
	}
}

func TestDeclaredTestsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"contrasts: [omcd]":                                 "as in omcd minus no-filter",
		"contrasts: [omcd minus omdc]":                      `unknown strategy "omdc"`,
		"contrasts: [omcd minus omcd]":                      "with itself",
		"contrasts: [a minus b, 3]":                         "as in omcd minus no-filter",
		"equivalence: {contrasts: a minus omcd}":            `unknown strategy "a"`,
		"family: {measures: []}":                            "family.measures: want at least one value",
		"family: {measures: [death, death]}":                "family.measures: death is named twice",
		"family: {measures: reward}":                        `unknown value "reward"`,
		"family: {alpha: 1}":                                "family.alpha 1: it must be between 0 and 1",
		"family: {beta: 1}":                                 `unknown key "family.beta"; there are alpha, measures`,
		"equivalence: {margin: 0}":                          "equivalence.margin 0: it must be between 0 and 1",
		"equivalence: {alpha: 0.5}":                         "equivalence.alpha 0.5: it must be between 0 and 0.5",
		"bootstrap: {resamples: 10}":                        "bootstrap.resamples 10: it must be from 100 to 1000000",
		"bootstrap: {seed: -1}":                             "not negative",
		"bootstrap: {level: 95}":                            "bootstrap.level 95: it must be between 0 and 1",
		"contrasts: [omcd minus oracle, omcd minus oracle]": "omcd minus oracle is named twice",
	} {
		_, err := ParseFile("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", text, err, want)
		}
	}
}

// A study whose tests cannot reach their level must say so before anybody pays
// for it, and say how many seeds could.
func TestReach(t *testing.T) {
	for text, want := range map[string]struct {
		tests, needed int
		warns         bool
	}{
		"base: paper": {24, 10, false}, // eight contrasts in three regimes; 24/2^9 = 0.047
		"base: quick": {24, 10, true},
		"{base: quick, seeds: 9, contrasts: omcd minus no-filter, regimes: L1}":         {1, 6, false},
		"{base: quick, seeds: 5, contrasts: omcd minus no-filter, regimes: L1}":         {1, 6, true},
		"{base: paper, seeds: 9, navigation: {strategies: [no-filter, omcd]}}":          {3, 7, false},
		"{base: paper-models, seeds: 9, contrasts: [oracle minus omcd], sizes: [4, 8]}": {6, 8, false},
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r, compares := s.Reach()
		if !compares || r.Tests != want.tests || r.Needed != want.needed || (r.Warning() != "") != want.warns {
			t.Errorf("%s: %+v %q", text, r, r.Warning())
		}
	}
	for _, text := range []string{"base: batch", "{base: quick, contrasts: []}"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if r, compares := s.Reach(); compares {
			t.Errorf("%s compares nothing: %+v", text, r)
		}
	}
}
