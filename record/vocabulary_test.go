package record

import (
	"regexp"
	"testing"
)

// What is shown of a value comes from its term alone: one without a label would
// be an empty heading, a second one of the same name would never be found, and
// two that look alike could not be told apart in a figure.
func TestVocabularies(t *testing.T) {
	color := regexp.MustCompile(`^#[0-9A-F]{6}$`)
	for list, v := range map[string]Vocabulary{
		"strategies": Strategies, "regimes": Regimes, "modalities": Modalities, "framings": Framings,
		"causes": Causes, "verdicts": Verdicts, "policies": Policies, "outcomes": Outcomes,
	} {
		looks := map[string]string{}
		for i, term := range v {
			if term.Name == "" || term.Label == "" || term.About == "" {
				t.Errorf("%s: %+v lacks a name, a label or an explanation", list, term)
			}
			if v.Index(term.Name) != i {
				t.Errorf("%s has %s twice", list, term.Name)
			}
			if term.Style.Color == "" {
				continue
			}
			if !color.MatchString(term.Style.Color) {
				t.Errorf("%s: %s has the colour %q", list, term.Name, term.Style.Color)
			}
			if other := looks[term.Style.Color]; other != "" {
				t.Errorf("%s: %s and %s have one colour", list, term.Name, other)
			}
			looks[term.Style.Color] = term.Name
		}
	}
	if got := Strategies.Label("mine"); got != "mine" {
		t.Errorf("a strategy of a study's own is shown as %q, want its name", got)
	}
	if _, ok := Strategies.Find("mine"); ok {
		t.Error("a name that is in no list was found")
	}
	if got := Modalities.Legend(Vision); got != "from images" {
		t.Errorf("legend of vision: %q", got)
	}
}
