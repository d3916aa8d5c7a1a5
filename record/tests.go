package record

import (
	"fmt"
	"strings"
)

// Tests is what a study declares before it is run: which strategies are
// compared, on what, and by which rules (paper, section 5.1, Inference). It
// determines no trial. Of a run whose study says nothing of it, every field is
// nil.
type Tests struct {
	Contrasts   []Contrast   `json:"contrasts,omitzero"`
	Family      *Family      `json:"family,omitempty"`
	Equivalence *Equivalence `json:"equivalence,omitempty"`
	Bootstrap   *Bootstrap   `json:"bootstrap,omitempty"`
}

// A Contrast is a comparison of two strategies by name: A less B.
type Contrast struct{ A, B string }

// A Family is the hypotheses that are adjusted together, by Holm's method: all
// contrasts of one model on one measure.
type Family struct {
	Measures []string `json:"measures"` // of success, death and timeout: each a family of its own
	Alpha    float64  `json:"alpha"`    // the chance of any false rejection in a family
}

// Equivalence says which contrasts are tested for having no difference that
// matters.
type Equivalence struct {
	Contrasts []Contrast `json:"contrasts"`
	Margin    float64    `json:"margin"` // the least difference that matters, of a share
	Alpha     float64    `json:"alpha"`  // of each of the two one-sided tests
}

// MostResamples is the largest number of resamples that a study may declare: the
// memory of a report grows with it.
const MostResamples = 1_000_000

// Bootstrap says how intervals are drawn.
type Bootstrap struct {
	Resamples int     `json:"resamples"`
	Seed      uint64  `json:"seed"`
	Level     float64 `json:"level"` // of the intervals, such as 0.95
}

// PlannedTests returns the tests that a study declares unless it says
// otherwise: the planned contrasts, success and death as families at 0.05,
// Oracle and OMCD equivalent within 0.10.
func PlannedTests() Tests {
	return Tests{
		Contrasts: []Contrast{
			{"no-filter", "no-memory"},
			{"self-verify", "no-filter"},
			{"self-verify", "no-memory"},
			{"omcd", "no-filter"},
			{"omcd", "self-verify"},
			{"omcd", "no-memory"},
			{"oracle", "no-filter"},
			{"oracle", "omcd"},
		},
		Family:      &Family{Measures: []string{Success, Death}, Alpha: 0.05},
		Equivalence: &Equivalence{Contrasts: []Contrast{{"oracle", "omcd"}}, Margin: 0.10, Alpha: 0.05},
		Bootstrap:   &Bootstrap{Resamples: 9_999, Seed: 2024, Level: 0.95},
	}
}

// Declared reports whether anything is declared.
func (t *Tests) Declared() bool {
	return t.Contrasts != nil || t.Family != nil || t.Equivalence != nil || t.Bootstrap != nil
}

// OrPlanned fills what is not declared from PlannedTests.
func (t Tests) OrPlanned() Tests {
	planned := PlannedTests()
	if t.Contrasts == nil {
		t.Contrasts = planned.Contrasts
	}
	if t.Family == nil {
		t.Family = planned.Family
	}
	if t.Equivalence == nil {
		t.Equivalence = planned.Equivalence
	}
	if t.Bootstrap == nil {
		t.Bootstrap = planned.Bootstrap
	}
	return t
}

// contrastWord stands between the two strategies of a contrast.
const contrastWord = " minus "

// String returns "A minus B".
func (c Contrast) String() string { return c.A + contrastWord + c.B }

// MarshalText writes "A minus B".
func (c Contrast) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads "A minus B".
func (c *Contrast) UnmarshalText(b []byte) error {
	first, second, ok := strings.Cut(string(b), contrastWord)
	first, second = strings.TrimSpace(first), strings.TrimSpace(second)
	if !ok || first == "" || second == "" {
		return fmt.Errorf("contrast %q: write it as two strategies, as in omcd minus no-filter", b)
	}
	c.A, c.B = first, second
	return nil
}
