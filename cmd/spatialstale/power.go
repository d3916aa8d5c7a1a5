package main

import (
	"github.com/spatialstale/spatialstale/results"

	"errors"
	"slices"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/stats"
	"github.com/spatialstale/spatialstale/study"
)

// powerFlags ask what a plan can find.
type powerFlags struct {
	Power       bool     `help:"Say instead what differences the study can find, from a run (--from) or from assumed rates."`
	From        string   `placeholder:"RUN" help:"With --power: take rates and variances from this run."`
	Rate        *float64 `placeholder:"R" help:"With --power: the rate of success, or of death, under the first strategy; 0.5 unless given."`
	OtherRate   *float64 `placeholder:"R" help:"With --power: the rate under the second; the same unless given."`
	ICC         *float64 `name:"icc" placeholder:"X" help:"With --power: the share of an episode's variance that lies between seeds, 0 to 1; 0.3 unless given."`
	Correlation *float64 `placeholder:"X" help:"With --power: how far a seed's chances agree under the two strategies, -1 to 1; 0 unless given."`
	Difference  float64  `placeholder:"D" help:"With --power: say also how many seeds and episodes it takes to find this difference of rates."`
}

// check returns a usage error for flags that do not go together.
func (f *powerFlags) check() error {
	assumed := f.Rate != nil || f.OtherRate != nil || f.ICC != nil || f.Correlation != nil
	switch {
	case !f.Power && (assumed || f.From != "" || f.Difference != 0):
		return errors.New("--from, --rate, --other-rate, --icc, --correlation and --difference go with --power")
	case assumed && f.From != "":
		return errors.New("--from takes the rates from a run, and --rate, --other-rate, --icc and --correlation assume them; give one of the two")
	case !(f.Difference >= -1 && f.Difference <= 1):
		return errors.New("--difference is one of rates: it must lie between -1 and 1")
	}
	return nil
}

// table answers for a study.
func (f *powerFlags) table(s *study.Study) (analysis.Table, error) {
	n := s.Navigation
	if n == nil {
		return analysis.Table{}, usageError{errors.New("--power is about episodes, and this study has none; leave out --task, or name navigate")}
	}
	d := analysis.Design{Seeds: len(s.Seeds), Episodes: n.Episodes, Tests: s.Tests.OrPlanned(), Difference: f.Difference}
	has := func(name string) bool {
		return slices.ContainsFunc(n.Strategies, func(st study.Strategy) bool { return st.Name == name })
	}
	for _, c := range d.Tests.Contrasts {
		if has(c.A) && has(c.B) {
			d.Hypotheses += len(n.Modalities) * len(s.Regimes) * len(s.Framings) * len(s.Sizes)
		}
	}
	if f.From != "" {
		frame, err := results.Read([]string{f.From}, "", nil)
		if err != nil {
			return analysis.Table{}, err
		}
		return frame.Power(d), nil
	}
	or := func(x *float64, otherwise float64) float64 {
		if x != nil {
			return *x
		}
		return otherwise
	}
	rate := or(f.Rate, 0.5)
	t, err := analysis.AssumedPower(d, stats.AssumedRates{RateA: rate, RateB: or(f.OtherRate, rate), ICC: or(f.ICC, 0.3), Correlation: or(f.Correlation, 0)})
	if err != nil {
		return t, usageError{err}
	}
	return t, nil
}
