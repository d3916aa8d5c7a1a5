package record

import (
	"encoding/json"
	"reflect"
	"testing"
)

// What is declared reads back as it was written, an empty list of contrasts
// too: it says that nothing is compared, which is not the same as saying
// nothing.
func TestTestsReadBack(t *testing.T) {
	for name, tests := range map[string]Tests{
		"planned":   PlannedTests(),
		"nothing":   {},
		"none":      {Contrasts: []Contrast{}},
		"some only": {Family: &Family{Measures: []string{Timeout}, Alpha: 0.01}},
	} {
		b, err := json.Marshal(tests)
		if err != nil {
			t.Fatal(err)
		}
		var back Tests
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(back, tests) {
			t.Errorf("%s reads back as %+v from %s", name, back, b)
		}
		if got := back.Declared(); got != (name != "nothing") {
			t.Errorf("%s: declared is %v", name, got)
		}
		if all := back.OrPlanned(); all.Contrasts == nil || all.Family == nil || all.Equivalence == nil || all.Bootstrap == nil {
			t.Errorf("%s leaves something open: %+v", name, all)
		}
	}
	if n := len((Tests{Contrasts: []Contrast{}}).OrPlanned().Contrasts); n != 0 {
		t.Errorf("no contrasts became %d", n)
	}
}

func TestContrastText(t *testing.T) {
	for text, want := range map[string]Contrast{
		"omcd minus no-filter":       {"omcd", "no-filter"},
		" my own  minus self-verify": {"my own", "self-verify"},
		"omcd":                       {},
		"omcd-no-filter":             {},
		" minus omcd":                {},
		"omcd minus ":                {},
	} {
		var got Contrast
		err := got.UnmarshalText([]byte(text))
		if (err == nil) != (want != Contrast{}) || got != want {
			t.Errorf("%q reads as %+v, %v", text, got, err)
		}
	}
}
