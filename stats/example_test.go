package stats_test

import (
	"fmt"

	"github.com/spatialstale/spatialstale/stats"
)

// Success rates of two strategies on ten seeds, five episodes each.
var (
	noFilter = []float64{0.2, 0.0, 0.4, 0.2, 0.2, 0.0, 0.4, 0.6, 0.2, 0.0}
	omcd     = []float64{0.4, 0.2, 0.4, 0.6, 0.4, 0.2, 0.8, 0.6, 0.6, 0.2}
)

func ExampleSignFlip() {
	d, err := stats.Differences(omcd, noFilter)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := stats.SignFlip(d, stats.SignFlipOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %.2f, p = %.4g (at best %.4g)\n%s\n", *r.Mean, *r.P, *r.SmallestP, r.Method)
	// Output:
	// mean 0.22, p = 0.007812 (at best 0.007812)
	// sign-flip test on the mean difference, exact by dynamic programming
}

func ExampleWilcoxon() {
	d, err := stats.Differences(omcd, noFilter)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := stats.Wilcoxon(d, stats.WilcoxonOptions{Zeros: stats.ZerosPratt})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("W = %g, p = %.4g\n", r.Statistic, *r.P)
	for _, w := range r.Warnings {
		fmt.Printf("%s: %s\n", w.Code, w.Text)
	}
	// Output:
	// W = 0, p = 0.007812
	// zeros: 2 differences of zero among 10, handled by pratt
	// ties: 8 non-zero differences share their size with another and got mid-ranks
	// near-ties: 1 value differed from another by rounding only (less than 1e-12 of it) and counted as equal to it
}

func ExampleBootstrapMean() {
	// Every seed always succeeded: resampling alone would say [1, 1].
	always := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	r, err := stats.BootstrapMean(always, stats.BootstrapOptions{Range: &stats.Range{Low: 0, High: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f [%.2f, %.2f], %s\n", *r.Estimate, r.Interval.Low, r.Interval.High, r.Interval.Method)
	// Output: 1.00 [0.74, 1.00], exact bound for units that are all equal
}

func ExampleHolm() {
	p := func(x float64) *float64 { return &x }
	// The third contrast was declared and could not be run: it still counts.
	r, err := stats.Holm([]*float64{p(0.01), p(0.03), nil}, 0.05)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f %.2f %v\n", *r.Adjusted[0], *r.Adjusted[1], r.Reject)
	// Output: 0.03 0.06 [true false false]
}

func ExamplePairedDesign() {
	assumed := stats.AssumedRates{RateA: 0.15, RateB: 0.33, ICC: 0.3, Correlation: 0.5, Episodes: 5}
	sd, err := assumed.DesignSD()
	if err != nil {
		fmt.Println(err)
		return
	}
	design := stats.PairedDesign{Units: 50, SD: sd.SD}
	found, err := design.SmallestDifference(0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	same, err := design.EquivalencePower(0.10, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("50 seeds find a difference of %.2f; equivalence within 0.10 is shown with a chance of %.2f\n", found.Difference, same.Power)
	// Output: 50 seeds find a difference of 0.13; equivalence within 0.10 is shown with a chance of 0.40
}
