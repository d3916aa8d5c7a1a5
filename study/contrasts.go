package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// testedMeasures are the ends of an episode, whose rates can be compared.
var testedMeasures = []string{record.Success, record.Death, record.Timeout}

// detection returns the detection task, with the paper's settings if the study
// had none.
func (s *Study) detection() *Detection {
	if s.Detection == nil {
		s.Detection = paperDetection()
	}
	return s.Detection
}

// navigation returns the navigation task, with the paper's settings if the
// study had none.
func (s *Study) navigation() *Navigation {
	if s.Navigation == nil {
		s.Navigation = paperNavigation()
	}
	return s.Navigation
}

// family returns the study's family, the planned one if it had none.
func (s *Study) family() *record.Family {
	if s.Family == nil {
		s.Family = record.PlannedTests().Family
	}
	return s.Family
}

func (s *Study) equivalence() *record.Equivalence {
	if s.Equivalence == nil {
		s.Equivalence = record.PlannedTests().Equivalence
	}
	return s.Equivalence
}

func (s *Study) bootstrap() *record.Bootstrap {
	if s.Bootstrap == nil {
		s.Bootstrap = record.PlannedTests().Bootstrap
	}
	return s.Bootstrap
}

// checkTests returns everything wrong with what is declared that no setting
// shows by itself. A contrast may name a strategy that the study does not run:
// it then has its place in the tables, empty.
func (s *Study) checkTests() []error {
	errs := s.checkContrasts("contrasts", s.Contrasts)
	if e := s.Equivalence; e != nil {
		errs = append(errs, s.checkContrasts("equivalence", e.Contrasts)...)
	}
	return errs
}

// A Reach says what the declared contrasts can show at the most.
type Reach struct {
	Tests  int     // of one model on one measure, which are adjusted together
	Seeds  int     // there are
	LeastP float64 // after Holm's adjustment, when every seed favours the same side
	Alpha  float64
	Needed int // seeds with which LeastP would reach Alpha
}

// Reach returns what the largest family of contrasts can show; false when the
// study compares nothing. By the exact sign-flip test over seeds the smallest
// two-sided p is 2 to the power of 1 minus their number, and Holm's method
// multiplies it by the number of tests.
func (s *Study) Reach() (Reach, bool) {
	n, f := s.Navigation, s.Family
	if n == nil || f == nil {
		return Reach{}, false
	}
	r := Reach{Seeds: len(s.Seeds), Alpha: f.Alpha}
	for _, model := range s.Models {
		tests := 0
		for _, c := range s.Contrasts {
			if n.runs(model, c.A) && n.runs(model, c.B) {
				tests += len(s.Regimes) * len(n.Modalities) * len(s.Framings) * len(s.Sizes)
			}
		}
		r.Tests = max(r.Tests, tests)
	}
	least := func(seeds int) float64 { return min(1, float64(r.Tests)*math.Exp2(float64(1-seeds))) }
	r.LeastP = least(r.Seeds)
	for r.Needed = 1; least(r.Needed) > r.Alpha && r.Needed < 1000; {
		r.Needed++
	}
	return r, r.Tests > 0
}

// runs reports whether a model walks by the strategy of that name.
func (n *Navigation) runs(model, strategy string) bool {
	return slices.ContainsFunc(n.Strategies, func(st Strategy) bool { return st.Name == strategy && n.walks(model, st) })
}

// Warning says that no contrast can reach its level, whatever the episodes show;
// it is empty when one can.
func (r Reach) Warning() string {
	if r.LeastP <= r.Alpha {
		return ""
	}
	return fmt.Sprintf("No contrast can reach p = %v: with %d seeds and %d tests adjusted together the smallest p is %.2g. %d seeds could, or fewer contrasts, declared in the study; intervals say what so few seeds can.",
		r.Alpha, r.Seeds, r.Tests, r.LeastP, r.Needed)
}

func (s *Study) checkContrasts(where string, contrasts []record.Contrast) []error {
	known := StrategyNames()
	if s.Navigation != nil {
		for _, st := range s.Navigation.Strategies {
			if !slices.Contains(known, st.Name) {
				known = append(known, st.Name)
			}
		}
	}
	var errs []error
	for _, c := range contrasts {
		for _, name := range []string{c.A, c.B} {
			if !slices.Contains(known, name) {
				errs = append(errs, fmt.Errorf("%s: %s: unknown strategy %q; there are %s", where, c, name, strings.Join(known, ", ")))
			}
		}
		if c.A == c.B {
			errs = append(errs, fmt.Errorf("%s: %s compares a strategy with itself", where, c))
		}
	}
	return errs
}
