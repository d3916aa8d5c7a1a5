package study

import (
	"fmt"
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
