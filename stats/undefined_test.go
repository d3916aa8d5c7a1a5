package stats

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// JSON has no NaN and no infinity: a result that marshals has let none out.
func TestNothingLeaksNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]float64{0, 0, 0.2, -0.2, 0.4, 1, 1, 1e-13, 1e300, -1e-300})
		d := rapid.SliceOfN(value, 0, 8).Draw(t, "d")
		e := rapid.SliceOfN(value, len(d), len(d)).Draw(t, "e")
		alt := rapid.SampledFrom(alternatives).Draw(t, "alternative")
		clusters := rapid.SliceOfN(rapid.SliceOfN(value, 0, 3), 0, 4).Draw(t, "clusters")
		a := Count{rapid.IntRange(0, 3).Draw(t, "hits"), 3 * rapid.IntRange(0, 1).Draw(t, "any")}
		a.Hits = min(a.Hits, a.N)
		marshal := func(name string, v any, err error) {
			var input *InputError
			if errors.As(err, &input) {
				return // refused, with a reason
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%s of %v: %v", name, d, err)
			}
			if undefined := strings.Contains(string(out), `"p":null`) || strings.Contains(string(out), `"interval":null`); undefined &&
				!strings.Contains(string(out), `"warnings"`) {
				t.Fatalf("%s of %v is undefined without a warning: %s", name, d, out)
			}
		}
		for _, zeros := range []ZeroMethod{ZerosWilcox, ZerosPratt, ZerosSplit} {
			for _, method := range []WilcoxonMethod{WilcoxonExact, WilcoxonNormal} {
				w, err := Wilcoxon(d, WilcoxonOptions{Alternative: alt, Zeros: zeros, Method: method, Continuity: true})
				marshal("Wilcoxon", w, err)
			}
		}
		f, err := SignFlip(d, SignFlipOptions{Alternative: alt})
		marshal("SignFlip", f, err)
		s, err := SignFlip(d, SignFlipOptions{Alternative: alt, Simulate: true, Flips: 50})
		marshal("simulated SignFlip", s, err)
		p, err := Pearson(d, e, CorrelationOptions{Alternative: alt})
		marshal("Pearson", p, err)
		sp, err := Spearman(d, e, CorrelationOptions{Alternative: alt})
		marshal("Spearman", sp, err)
		b, err := BootstrapMean(d, BootstrapOptions{Draws: 50})
		marshal("BootstrapMean", b, err)
		bp, err := BootstrapPooledMean(clusters, BootstrapOptions{Draws: 50})
		marshal("BootstrapPooledMean", bp, err)
		q, err := Equivalence(d, EquivalenceOptions{})
		marshal("Equivalence", q, err)
		x, err := Effects(d)
		marshal("Effects", x, err)
		c, err := Clusters(clusters)
		marshal("Clusters", c, err)
		w, err := Wilson(a, 0)
		marshal("Wilson", w, err)
		tp, err := TwoProportions(a, Count{0, 2}, TwoProportionOptions{Alternative: alt})
		marshal("TwoProportions", tp, err)
		at, err := Attenuation(c.ICCMean, c.ICC1, p.R)
		marshal("Attenuation", at, err)
	})
}

func TestBadInputIsNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	bad := []float64{0.1, 0.2, nan}
	for name, c := range map[string]struct {
		err   error
		index int
		want  []string
	}{
		"sign flip NaN":       {second(SignFlip(bad, SignFlipOptions{})), 2, []string{"differences[2]", "not a number"}},
		"sign flip side":      {second(SignFlip(nil, SignFlipOptions{Alternative: "both"})), -1, []string{`"both"`, "two-sided"}},
		"Wilcoxon infinity":   {second(Wilcoxon([]float64{inf}, WilcoxonOptions{})), 0, []string{"differences[0]", "infinite"}},
		"Wilcoxon zeros":      {second(Wilcoxon(nil, WilcoxonOptions{Zeros: "drop"})), -1, []string{`"drop"`, "pratt"}},
		"Wilcoxon method":     {second(Wilcoxon(nil, WilcoxonOptions{Method: "fast"})), -1, []string{`"fast"`, "exact"}},
		"Wilcoxon too many":   {second(Wilcoxon(ramp(501), WilcoxonOptions{Method: WilcoxonExact})), -1, []string{"500", "501"}},
		"unequal lengths":     {second(Differences([]float64{1, 2}, []float64{1})), -1, []string{"2 values", "y has 1", "index 1"}},
		"Pearson NaN":         {second(Pearson([]float64{1, 2, 3}, bad, CorrelationOptions{})), 2, []string{"y[2]"}},
		"Spearman error":      {second(Spearman(ramp(4), ramp(4), CorrelationOptions{SpearmanError: "x"})), -1, []string{`"x"`, "fieller"}},
		"level":               {second(Pearson(ramp(4), ramp(4), CorrelationOptions{Level: 95})), -1, []string{"level", "95"}},
		"bootstrap NaN":       {second(BootstrapMean(bad, BootstrapOptions{})), 2, []string{"units[2]"}},
		"bootstrap range":     {second(BootstrapMean([]float64{0.5, 1.5}, BootstrapOptions{Range: &Range{0, 1}})), 1, []string{"units[1]", "outside"}},
		"bootstrap statistic": {second(Bootstrap(3, func([]int) (float64, bool) { return nan, true }, BootstrapOptions{})), -1, []string{"statistic", "false"}},
		"pooled NaN":          {second(BootstrapPooledMean([][]float64{{1}, {1, nan}}, BootstrapOptions{})), 1, []string{"clusters[1][1]"}},
		"empty cluster":       {second(ClusterMeans([][]float64{{1}, {}})), 1, []string{"clusters[1]", "empty"}},
		"Holm":                {second(Holm([]*float64{new(float64), &[]float64{1.5}[0]}, 0)), 1, []string{"p-values[1]", "1.5"}},
		"margin":              {second(Equivalence(ramp(3), EquivalenceOptions{Margin: -1})), -1, []string{"margin"}},
		"count":               {second(Wilson(Count{3, 2}, 0)), -1, []string{"3 of 2"}},
		"sd":                  {second(PairedDesign{Units: 5}.Power(1)), -1, []string{"sd"}},
		"units":               {second(PairedDesign{Units: 1, SD: 1}.Power(1)), -1, []string{"units", "2"}},
		"no difference":       {second(PairedDesign{SD: 1}.UnitsNeeded(0, 0.8)), -1, []string{"difference", "never"}},
		"too small":           {second(PairedDesign{SD: 1}.UnitsNeeded(1e-6, 0.8)), -1, []string{"10000000"}},
		"outside margins":     {second(PairedDesign{SD: 1}.EquivalenceUnitsNeeded(0.1, 0.1, 0.8)), -1, []string{"inside the margins"}},
		"rates":               {second(AssumedRates{RateA: 1.2, Episodes: 1}.DesignSD()), -1, []string{"rate a", "1.2"}},
		"reliability":         {second(Attenuation(&[]float64{1.1}[0], new(float64), nil)), -1, []string{"reliability of x"}},
	} {
		var input *InputError
		if !errors.As(c.err, &input) {
			t.Errorf("%s: error %v is not an *InputError", name, c.err)
			continue
		}
		if input.Index != c.index {
			t.Errorf("%s: index %d, want %d", name, input.Index, c.index)
		}
		for _, want := range c.want {
			if !strings.Contains(c.err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, c.err, want)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func ramp(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return xs
}

// Where a number does not exist there is none, and the reader is told why.
func TestUndefinedIsExplicit(t *testing.T) {
	zeros := make([]float64, 10)
	same := []float64{0.3, 0.3, 0.3, 0.3}

	if r := must(SignFlip(nil, SignFlipOptions{})); r.P != nil || !r.Warned(TooFew) {
		t.Errorf("sign flip without data: %+v", r)
	}
	if r := must(SignFlip(zeros, SignFlipOptions{})); *r.P != 1 || r.NUsed != 0 || r.N != 10 || !r.Warned(AllZero) {
		t.Errorf("sign flip of zeros: %+v", r)
	}
	equal := make([]float64, 1200) // 2^-1199 is no float64
	for i := range equal {
		equal[i] = 0.2
	}
	if r := must(SignFlip(equal, SignFlipOptions{})); *r.P <= 0 || *r.P > underflow || !r.Warned(Underflow) {
		t.Errorf("sign flip of 1200 equal differences: p %v, %v", *r.P, r.Warnings)
	}
	if !math.IsNaN(Mean(nil)) || !math.IsNaN(StdDev([]float64{1})) {
		t.Error("Mean and StdDev of too few values are NaN, as documented")
	}
	if r := must(Wilcoxon(zeros, WilcoxonOptions{Method: WilcoxonNormal})); r.P != nil || !r.Warned(NoVariance) || !r.Warned(AllZero) || r.RankBiserial != nil {
		t.Errorf("Wilcoxon of zeros, normal: %+v", r)
	}
	if r := must(Pearson([]float64{1, 2}, []float64{2, 1}, CorrelationOptions{})); r.R != nil || r.P != nil || !r.Warned(TooFew) {
		t.Errorf("Pearson of two pairs: %+v", r)
	}
	if r := must(Pearson(ramp(4), same, CorrelationOptions{})); r.R != nil || !r.Warned(Constant) {
		t.Errorf("Pearson with a constant: %+v", r)
	}
	wobble := []float64{1e6, 1e6 + 1e-9, 1e6, 1e6 - 1e-9}
	if r := must(Pearson(ramp(4), wobble, CorrelationOptions{})); r.R != nil || !r.Warned(Constant) {
		t.Errorf("Pearson with rounding noise: %+v", r)
	}
	if r := must(Pearson(ramp(5), scaled(ramp(5), -0.1), CorrelationOptions{})); *r.R != -1 || *r.P != 0 || r.Interval != nil || !r.Warned(Perfect) {
		t.Errorf("Pearson of a line: %+v", r)
	}
	if r := must(Pearson(ramp(5), negated(ramp(5)), CorrelationOptions{Alternative: Greater})); *r.P != 1 {
		t.Errorf("a falling line is no rising one: %+v", r)
	}
	if r := must(Effects(same)); r.Dz != nil || r.HedgesG != nil || *r.SD != 0 || *r.RankBiserial != 1 || !r.Warned(NoVariance) {
		t.Errorf("effects without variation: %+v", r)
	}
	if r := must(Clusters([][]float64{{1}, {0}})); r.Within != nil || r.ICC1 != nil || !r.Warned(TooFew) {
		t.Errorf("clusters of one: %+v", r)
	}
	if r := must(Clusters([][]float64{{1, 1}, {1, 1}})); *r.Within != 0 || r.ICC1 != nil || !r.Warned(Constant) {
		t.Errorf("clusters that do not vary: %+v", r)
	}
	if r := must(Clusters([][]float64{{0, 1}, {0, 1}, {}})); *r.Between != 0 || *r.ICC1 >= 0 || r.NUsed != 2 || r.N != 3 || !r.Warned(NegativeVar) {
		t.Errorf("clusters that differ less than chance: %+v", r)
	}
	if r := must(TwoProportions(Count{0, 5}, Count{0, 0}, TwoProportionOptions{})); r.FisherP != nil || r.RateB != nil || !r.Warned(TooFew) {
		t.Errorf("an empty group: %+v", r)
	}
	if r := must(TwoProportions(Count{6000, 6000}, Count{0, 6000}, TwoProportionOptions{})); !r.Warned(Underflow) || *r.FisherP > underflow {
		t.Errorf("a p-value too small for a float64: %+v", r)
	}
	for _, reliability := range []float64{-0.1, 0} {
		if r := must(Attenuation(ptr(reliability), ptr(0.5), ptr(0.2))); r.Ceiling != nil || r.Corrected != nil || !r.Warned(NegativeVar) {
			t.Errorf("a reliability of %v: %+v", reliability, r)
		}
	}
	if r := must(Attenuation(nil, ptr(0.5), ptr(0.2))); r.Ceiling != nil || !r.Warned(TooFew) {
		t.Errorf("an unknown reliability: %+v", r)
	}
}
