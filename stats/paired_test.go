package stats

import (
	"math"
	"testing"
)

// wobbly returns n differences without a common unit.
func wobbly(n int, shift float64) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = math.Sin(float64(i*i+1)) + shift
	}
	return d
}

func TestSmallestP(t *testing.T) {
	for _, c := range []struct {
		n    int
		alt  Alternative
		want float64
	}{
		{10, TwoSided, 0.001953125}, // issue: ten seeds cannot reach 0.001
		{11, "", 0.0009765625},
		{10, Less, 0.0009765625},
		{1, TwoSided, 1},
		{0, TwoSided, 1},
		{50, TwoSided, math.Ldexp(1, -49)},
	} {
		if got := must(SmallestP(c.n, c.alt)); got != c.want {
			t.Errorf("SmallestP(%d, %q) = %v, want %v", c.n, c.alt, got, c.want)
		}
		// It is what the tests give when all differences point one way.
		d := make([]float64, c.n)
		for i := range d {
			d[i] = -float64(i + 1)
		}
		if c.alt == Greater || c.n == 0 {
			continue
		}
		f := must(SignFlip(d, SignFlipOptions{Alternative: c.alt}))
		w := must(Wilcoxon(d, WilcoxonOptions{Alternative: c.alt}))
		if *f.P != c.want || *w.P != c.want || *f.SmallestP != c.want || *w.SmallestP != c.want {
			t.Errorf("n %d: sign flip %v, Wilcoxon %v, want %v", c.n, *f.P, *w.P, c.want)
		}
	}
	for alpha, want := range map[float64]int{0.05: 6, 0.001: 11, 0.5: 2} {
		if got := must(UnitsToReach(alpha, TwoSided)); got != want {
			t.Errorf("UnitsToReach(%v) = %d, want %d", alpha, got, want)
		}
	}
}

// 0.6-0.4 and 0.8-0.6 are two floats but one effect.
func TestRoundingMakesNoEffects(t *testing.T) {
	x := []float64{0.6, 0.8, 1.0, 0.3, 0.1 + 0.2}
	y := []float64{0.4, 0.6, 0.8, 0.5, 0.3}
	d := must(Differences(x, y))
	if d[4] != 0 {
		t.Errorf("0.1+0.2 differs from 0.3 by %v", d[4])
	}
	if d[0] == d[1] {
		t.Fatal("the example has no rounding in it")
	}
	w := must(Wilcoxon(d, WilcoxonOptions{}))
	clean := must(Wilcoxon([]float64{1, 1, 1, -1, 0}, WilcoxonOptions{}))
	if *w.P != *clean.P || w.TiedCount != 4 || w.ZeroCount != 1 || !w.Warned(NearTies) || clean.Warned(NearTies) {
		t.Errorf("with rounding %+v, without %+v", w, clean)
	}
	f, cleanFlip := must(SignFlip(d, SignFlipOptions{})), must(SignFlip([]float64{1, 1, 1, -1, 0}, SignFlipOptions{}))
	if *f.P != *cleanFlip.P {
		t.Errorf("sign flip with rounding %v, without %v", *f.P, *cleanFlip.P)
	}
}

func TestSignFlipChoosesAMethodBySize(t *testing.T) {
	fifths := make([]float64, 300)
	for i := range fifths {
		fifths[i] = float64(i%7-2) / 5
	}
	for name, c := range map[string]struct {
		d    []float64
		want Code // "" for exact
	}{
		"rates at any size": {fifths, ""},
		"40 reals":          {wobbly(40, 0.2), ""},
		"50 reals":          {wobbly(50, 0.2), Bounded},
		"50 reals, strong":  {wobbly(50, 0.9), Bounded},
		"3000 reals":        {wobbly(3000, 0.03), MonteCarlo},
	} {
		r := must(SignFlip(c.d, SignFlipOptions{Flips: 2000}))
		for _, code := range []Code{Bounded, MonteCarlo} {
			if r.Warned(code) != (c.want == code) {
				t.Errorf("%s: warnings %v, want %q", name, r.Warnings, c.want)
			}
		}
		if (r.PError != nil) != (c.want == MonteCarlo) || (r.PLow == nil) != (c.want == MonteCarlo) {
			t.Errorf("%s: error %v, bounds %v", name, r.PError, r.PLow)
		}
	}
}

// A seed gives the same p on every machine and in any Go release.
func TestSimulationIsPinned(t *testing.T) {
	r := must(SignFlip([]float64{1, 2, -3, 4, 5}, SignFlipOptions{Simulate: true, Flips: 999, Seed: 7}))
	if *r.P != 0.306 { // 0.3125 exactly
		t.Errorf("p = %v, want 0.306", *r.P)
	}
}

func TestWilcoxonIsExactUpToFifty(t *testing.T) {
	zeros := make([]float64, 20)
	for n, exact := range map[int]bool{50: true, 51: false} {
		for _, d := range [][]float64{wobbly(n, 0), append(wobbly(n, 0), zeros...)} {
			r := must(Wilcoxon(d, WilcoxonOptions{}))
			if r.NUsed != n || (r.Z == nil) != exact {
				t.Errorf("%d non-zero of %d: %s", r.NUsed, r.N, r.Method)
			}
		}
	}
	r := must(Wilcoxon(wobbly(5, 0), WilcoxonOptions{Method: WilcoxonNormal}))
	if !r.Warned(SmallSample) {
		t.Errorf("a normal approximation on 5 differences: %+v", r)
	}
	// SciPy gives zsplit of zeros alone p = 1 (z = 0): its variance counts them.
	if r := must(Wilcoxon(zeros, WilcoxonOptions{Method: WilcoxonNormal, Zeros: ZerosSplit})); *r.P != 1 || !r.Warned(AllZero) {
		t.Errorf("zsplit of zeros: %+v", r)
	}
}

func TestEquivalenceWithoutVariation(t *testing.T) {
	r := must(Equivalence(make([]float64, 10), EquivalenceOptions{}))
	if !r.Equivalent || *r.P != math.Ldexp(1, -10) || r.Interval != nil || r.Power != nil || !r.Warned(Fallback) {
		t.Errorf("ten equal differences: %+v", r)
	}
	few := must(Equivalence(make([]float64, 4), EquivalenceOptions{}))
	if few.Equivalent || !few.Warned(CannotReach) {
		t.Errorf("four equal differences: %+v", few)
	}
	// On the margin itself nothing is shown: 0.1 is the tested mean.
	edge := must(Equivalence([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, EquivalenceOptions{}))
	if edge.Equivalent || *edge.P != 1 {
		t.Errorf("differences on the margin: %+v", edge)
	}
	flip := must(Equivalence(wobbly(30, 0.02), EquivalenceOptions{Margin: 1, Test: EquivalenceFlip}))
	plain := must(Equivalence(wobbly(30, 0.02), EquivalenceOptions{Margin: 1}))
	if flip.Warned(Fallback) || flip.Equivalent != plain.Equivalent || *flip.P == *plain.P {
		t.Errorf("by sign flips %v, by t %v", *flip.P, *plain.P)
	}
}

// Identical units show no more than that units that differ are rare: it takes 29
// of them to rule out that a tenth differs by the whole range, at 0.05. A t test
// on units that hardly vary is held to the same bound.
func TestEquivalenceShowsNoMoreThanUnitsCanHide(t *testing.T) {
	for _, c := range []struct {
		units  int
		margin float64
		equal  bool
	}{{5, 0.1, false}, {28, 0.1, false}, {29, 0.1, true}, {58, 0.05, false}, {59, 0.05, true}, {298, 0.01, false}, {299, 0.01, true}} {
		r := must(Equivalence(make([]float64, c.units), EquivalenceOptions{Margin: c.margin, Range: 1}))
		near(t, "p", *r.P, math.Pow(1-c.margin, float64(c.units)))
		near(t, "end of the interval", r.Interval.High, 1-math.Pow(0.05, 1/float64(c.units)))
		if r.Equivalent != c.equal || r.Equivalent != (r.Interval.High <= c.margin) || r.Warned(CannotReach) == c.equal {
			t.Errorf("%d equal units within %v: %+v", c.units, c.margin, r)
		}
	}
	tiny := func(n int) []float64 {
		ds := make([]float64, n)
		for i := range ds {
			ds[i] = 0.001 * float64(1-i%3)
		}
		return ds
	}
	few := must(Equivalence(tiny(10), EquivalenceOptions{Range: 1}))
	if few.Equivalent || *few.Power != 0 || few.Interval.High < 0.25 {
		t.Errorf("ten units that hardly vary: %+v", few)
	}
	many := must(Equivalence(tiny(60), EquivalenceOptions{Range: 1}))
	if !many.Equivalent {
		t.Errorf("sixty units that hardly vary: %+v", many)
	}
	if _, err := Equivalence([]float64{0.5, -1.2}, EquivalenceOptions{Range: 1}); err == nil {
		t.Error("a difference beyond the range was taken")
	}
	d := PairedDesign{Units: 10, SD: 0.01, Range: 1}
	if r := must(d.EquivalencePower(0.1, 0)); r.Power != 0 || !r.Warned(CannotReach) {
		t.Errorf("power of ten units: %+v", r)
	}
	if r := must(d.EquivalenceUnitsNeeded(0.1, 0, 0.8)); r.Units != 29 {
		t.Errorf("%d units are needed, want 29", r.Units)
	}
}

// At 50 seeds × 5 episodes a margin of ±0.05 has almost no power.
func TestPlanningTheStudy(t *testing.T) {
	sd := must(AssumedRates{RateA: 0.3, RateB: 0.3, ICC: 0.3, Correlation: 0.5, Episodes: 5}.DesignSD())
	near(t, "between", sd.Between, 0.3*0.21) // 0.3·(0.21+0.21-2·0.5·0.21)
	near(t, "within", sd.Within, 0.7*0.42)
	near(t, "sd", sd.SD, math.Sqrt(0.063+0.294/5))
	d := PairedDesign{Units: 50, SD: sd.SD}
	if narrow := must(d.EquivalencePower(0.05, 0)).Power; narrow > 0.01 {
		t.Errorf("±0.05 has power %v", narrow)
	}
	need := must(d.EquivalenceUnitsNeeded(0.05, 0, 0.8))
	before := PairedDesign{Units: need.Units - 1, SD: sd.SD}
	if need.Power < 0.8 || must(before.EquivalencePower(0.05, 0)).Power >= 0.8 {
		t.Errorf("%d units are not the fewest for power %v", need.Units, need.Power)
	}
	if r := must(PairedDesign{Units: 10, SD: sd.SD, Alpha: 0.001}.Power(0.5)); !r.Warned(CannotReach) {
		t.Errorf("ten seeds at 0.001: %+v", r)
	}
	if r := must(PairedDesign{SD: 0.1, Alpha: 0.001}.UnitsNeeded(0.5, 0.8)); r.Units != 11 || !r.Warned(CannotReach) {
		t.Errorf("a large effect at 0.001: %+v", r)
	}

	falling := PairedDesign{Units: 20, SD: 0.3, Alternative: Less}
	if r := must(falling.SmallestDifference(0.9)); !(r.Difference < 0) || math.Abs(r.Power-0.9) > 1e-9 {
		t.Errorf("a one-sided design looks for %v with power %v", r.Difference, r.Power)
	}

	// A run's own variance projected to more episodes.
	run := []float64{0.2, -0.2, 0.4, 0, 0.2, 0.6}
	v := StdDev(run) * StdDev(run)
	p := must(ObservedSD(run, 5, 0.1, 0.15, 20))
	near(t, "projected sd", p.SD, math.Sqrt(v-0.05+0.25/20))
	if same := must(ObservedSD(run, 5, 0.1, 0.15, 5)); math.Abs(same.SD-StdDev(run)) > 1e-15 {
		t.Errorf("projected to itself: %v, observed %v", same.SD, StdDev(run))
	}
	if over := must(ObservedSD(run, 5, 1, 1, 5)); over.Between != 0 || !over.Warned(NegativeVar) {
		t.Errorf("more variance within than there is: %+v", over)
	}
}

func TestAttenuation(t *testing.T) {
	r := must(Attenuation(ptr(0.64), ptr(0.36), ptr(0.24)))
	near(t, "ceiling", *r.Ceiling, 0.48)
	near(t, "corrected", *r.Corrected, 0.5)
	if r := must(Attenuation(ptr(0.04), ptr(0.25), ptr(0.3))); *r.Corrected <= 1 || !r.Warned(OutsideRange) {
		t.Errorf("a correlation above its ceiling: %+v", r)
	}
	near(t, "Spearman-Brown", must(SpearmanBrown(0.5, 2)), 2.0/3)
}
