package stats

import (
	"math"
	"testing"
)

func TestBootstrapFallsBackByName(t *testing.T) {
	ones := make([]float64, 50)
	for i := range ones {
		ones[i] = 1
	}
	// A success rate of 1 on 50 seeds: resampling would say [1, 1].
	r := must(BootstrapMean(ones, BootstrapOptions{Range: &Range{0, 1}}))
	q := 1 - math.Pow(0.05, 1.0/50)
	if r.Interval == nil || !r.Warned(Fallback) || !r.Warned(Constant) {
		t.Fatalf("all ones: %+v", r)
	}
	near(t, "low", r.Interval.Low, 1-q)
	near(t, "high", r.Interval.High, 1)
	if r.Interval.Method == "BCa bootstrap" || r.Bias != nil || r.StandardError != nil {
		t.Errorf("the fallback goes under another name: %+v", r)
	}
	// Two strategies that always end the same way.
	d := must(BootstrapMean(make([]float64, 50), BootstrapOptions{Range: &Range{-1, 1}, Level: 0.9}))
	q = 1 - math.Pow(0.1, 1.0/50)
	near(t, "low", d.Interval.Low, -q)
	near(t, "high", d.Interval.High, q)
	// Without a promised range nothing can be said.
	if r := must(BootstrapMean(ones, BootstrapOptions{})); r.Interval != nil || !r.Warned(Constant) || *r.Estimate != 1 {
		t.Errorf("all ones, no range: %+v", r)
	}
	// A statistic whose estimate lies beyond all resamples has no bias correction.
	top := func(units []int) (float64, bool) {
		seen := map[int]bool{}
		for _, u := range units {
			seen[u] = true
		}
		return float64(len(seen)), true
	}
	r = must(Bootstrap(20, top, BootstrapOptions{Draws: 999}))
	if r.Interval == nil || r.Interval.Method != "percentile bootstrap" || !r.Warned(Fallback) {
		t.Errorf("distinct units: %+v", r)
	}
}

func TestBootstrapCountsUndefinedResamples(t *testing.T) {
	// Two of eight seeds have deaths to average; some resamples have none.
	clusters := [][]float64{{5, 9}, {}, {}, {4}, {}, {}, {}, {}}
	r := must(BootstrapPooledMean(clusters, BootstrapOptions{Draws: 2000, Seed: 1}))
	near(t, "estimate", *r.Estimate, 6)
	share := float64(r.Undefined) / 2000
	if want := math.Pow(0.75, 8); math.Abs(share-want) > 0.04 || !r.Warned(UndefinedDraws) || r.Draws+r.Undefined != 2000 {
		t.Errorf("%d of 2000 undefined, expected a share of %v: %+v", r.Undefined, want, r)
	}
	if r := must(BootstrapPooledMean([][]float64{{}, {}}, BootstrapOptions{})); r.Estimate != nil || r.Interval != nil || len(r.Warnings) == 0 {
		t.Errorf("nothing to average: %+v", r)
	}
	rare := [][]float64{{1}, {}, {}, {}, {}, {}, {}, {}, {}, {}}
	never := func(units []int) (float64, bool) { return 0, units[0] == 0 && units[1] == 1 }
	if r := must(Bootstrap(len(rare), never, BootstrapOptions{Draws: 200})); r.Interval != nil || !r.Warned(TooFew) {
		t.Errorf("mostly undefined: %+v", r)
	}
}

func TestBootstrapWarnsOfThinEnds(t *testing.T) {
	r := must(BootstrapMean([]float64{1, 2, 4, 8}, BootstrapOptions{Draws: 99}))
	if !r.Warned(FewDraws) || !r.Warned(SmallSample) {
		t.Errorf("99 resamples of 4 units: %v", r.Warnings)
	}
	if r := must(BootstrapMean(wobbly(50, 0), BootstrapOptions{})); len(r.Warnings) != 0 || r.Draws != 9999 {
		t.Errorf("defaults on 50 units: %+v", r)
	}
}

// Coverage: the 90% interval holds the true mean in about 90% of samples. It
// would not if it resampled episodes instead of units.
func TestBootstrapCoversTheTruth(t *testing.T) {
	held := 0
	const runs = 400
	for s := range runs {
		units := make([]float64, 30)
		for i, row := range Resamples(7, 30, uint64(s)+1000) { // seven-sided dice
			for _, v := range row[:3] {
				units[i] += float64(v) / 3
			}
		}
		r := must(BootstrapMean(units, BootstrapOptions{Draws: 499, Seed: uint64(s), Level: 0.9}))
		if r.Interval.Contains(3) {
			held++
		}
	}
	if share := float64(held) / runs; share < 0.84 || share > 0.95 {
		t.Errorf("a 90%% interval holds the truth in %.3f of samples", share)
	}
}

func TestDrawsAreUniform(t *testing.T) {
	const n, rows = 50, 4000
	counts := make([]int, n)
	for _, row := range Resamples(n, rows, 9) {
		for _, i := range row {
			counts[i]++
		}
	}
	chi := 0.0
	for _, c := range counts {
		d := float64(c - rows)
		chi += d * d / rows
	}
	if chi > 95 || chi < 18 { // 49 degrees of freedom: beyond 1e-4 on both sides
		t.Errorf("chi-square of the draws is %v with 49 degrees of freedom", chi)
	}
}
