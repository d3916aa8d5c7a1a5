package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// testedMeasures are the ends of an episode, whose rates can be compared.
var testedMeasures = []string{record.Success, record.Death, record.Timeout}

// Bounds of the number of resamples: fewer give no tails, and more only take
// time.
const (
	leastResamples = 100
	mostResamples  = 1_000_000
)

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

// checkTests returns everything wrong with what is declared. A contrast may
// name a strategy that the study does not run: it then has its place in the
// tables, empty.
func (s *Study) checkTests() []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	errs = append(errs, s.checkContrasts("contrasts", s.Contrasts)...)
	if f := s.Family; f != nil {
		if len(f.Measures) == 0 {
			fail("family: no measure; there are %s", strings.Join(testedMeasures, ", "))
		}
		for _, m := range f.Measures {
			if !slices.Contains(testedMeasures, m) {
				fail("family: unknown measure %q; there are %s", m, strings.Join(testedMeasures, ", "))
			}
		}
		errs = append(errs, repeated("measure", f.Measures))
		if !(f.Alpha > 0 && f.Alpha < 1) {
			fail("family: alpha %v: it must lie between 0 and 1", f.Alpha)
		}
	}
	if e := s.Equivalence; e != nil {
		errs = append(errs, s.checkContrasts("equivalence", e.Contrasts)...)
		if !(e.Margin > 0 && e.Margin < 1) {
			fail("equivalence: margin %v: it is a difference of shares and must lie between 0 and 1", e.Margin)
		}
		if !(e.Alpha > 0 && e.Alpha < 0.5) {
			fail("equivalence: alpha %v: it must lie between 0 and 0.5", e.Alpha)
		}
	}
	if b := s.Bootstrap; b != nil {
		if b.Resamples < leastResamples || b.Resamples > mostResamples {
			fail("bootstrap: %d resamples; a number from %d to %d is needed", b.Resamples, leastResamples, mostResamples)
		}
		if !(b.Level > 0 && b.Level < 1) {
			fail("bootstrap: level %v: it must lie between 0 and 1", b.Level)
		}
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
	return append(errs, repeated(where+":", contrasts))
}
