package stats

import (
	"math"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// grid draws differences on a lattice, with ties and zeros.
func grid(t *rapid.T, label string, least, most int) []float64 {
	ks := rapid.SliceOfN(rapid.IntRange(-6, 6), least, most).Draw(t, label)
	xs := make([]float64, len(ks))
	for i, k := range ks {
		xs[i] = float64(k) / 5
	}
	return xs
}

// reals draws differences without a common unit, none of them so small that
// it is rounding beside the others.
func reals(t *rapid.T, label string, least, most int) []float64 {
	ks := rapid.SliceOfN(rapid.IntRange(-1000, 1000), least, most).Draw(t, label)
	xs := make([]float64, len(ks))
	for i, k := range ks {
		xs[i] = float64(k) / 1000 * math.Sqrt(float64(i+2)) / 8
	}
	return xs
}

func either(t *rapid.T, least, most int) []float64 {
	if rapid.Bool().Draw(t, "lattice") {
		return grid(t, "d", least, most)
	}
	return reals(t, "d", least, most)
}

func negated(xs []float64) []float64 { return scaled(xs, -1) }

func scaled(xs []float64, by float64) []float64 {
	ys := make([]float64, len(xs))
	for i, x := range xs {
		ys[i] = by * x
	}
	return ys
}

func shuffled(t *rapid.T, xs []float64) []float64 {
	return rapid.Permutation(slices.Clone(xs)).Draw(t, "order")
}

func closeTo(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-10*math.Max(1e-4, math.Abs(want)) {
		t.Fatalf("%s: %.17g, want %.17g", what, got, want)
	}
}

// flipByHand is the definition of the sign-flip p-values.
func flipByHand(d []float64) map[Alternative]float64 {
	observed, size := 0.0, 0.0
	for _, v := range d {
		observed += v
		size += math.Abs(v)
	}
	var less, greater int
	for signs := range 1 << len(d) {
		sum := 0.0
		for i, v := range d {
			if signs>>i&1 == 1 {
				v = -v
			}
			sum += v
		}
		if sum <= observed+1e-12*size {
			less++
		}
		if sum >= observed-1e-12*size {
			greater++
		}
	}
	n := float64(int(1) << len(d))
	return map[Alternative]float64{
		Less: float64(less) / n, Greater: float64(greater) / n,
		TwoSided: math.Min(1, 2*math.Min(float64(less), float64(greater))/n),
	}
}

func TestSignFlipIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := either(t, 1, 10)
		for alt, want := range flipByHand(d) {
			closeTo(t, string(alt), *must(SignFlip(d, SignFlipOptions{Alternative: alt})).P, want)
		}
	})
}

// The same test from both sides, on shuffled and on scaled units.
func TestPairedTestsAreInvariant(t *testing.T) {
	mirrored := map[Alternative]Alternative{TwoSided: TwoSided, Less: Greater, Greater: Less}
	rapid.Check(t, func(t *rapid.T) {
		d := either(t, 1, 25)
		factor := rapid.SampledFrom([]float64{1e-6, 0.3, 7, 1e9}).Draw(t, "factor")
		zeros := rapid.SampledFrom([]ZeroMethod{ZerosWilcox, ZerosPratt, ZerosSplit}).Draw(t, "zeros")
		method := rapid.SampledFrom([]WilcoxonMethod{WilcoxonExact, WilcoxonNormal}).Draw(t, "method")
		tests := map[string]func([]float64, Alternative) *float64{
			"sign flip": func(d []float64, alt Alternative) *float64 {
				return must(SignFlip(d, SignFlipOptions{Alternative: alt})).P
			},
			"Wilcoxon": func(d []float64, alt Alternative) *float64 {
				return must(Wilcoxon(d, WilcoxonOptions{Alternative: alt, Zeros: zeros, Method: method})).P
			},
		}
		order := shuffled(t, d)
		for name, p := range tests {
			for alt, other := range mirrored {
				want := p(d, alt)
				if want == nil {
					continue // the normal approximation without variance
				}
				closeTo(t, name+" mirrored", *p(negated(d), other), *want)
				closeTo(t, name+" shuffled", *p(order, alt), *want)
				closeTo(t, name+" scaled", *p(scaled(d, factor), alt), *want)
			}
			if both := p(d, TwoSided); both != nil {
				closeTo(t, name+" two sides", *both, math.Min(1, 2*math.Min(*p(d, Less), *p(d, Greater))))
			}
		}
	})
}

func TestExactPIsNeverBelowTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := either(t, 1, 60)
		for _, alt := range alternatives {
			f := must(SignFlip(d, SignFlipOptions{Alternative: alt}))
			w := must(Wilcoxon(d, WilcoxonOptions{Alternative: alt, Method: WilcoxonExact}))
			if *f.P < *f.SmallestP*(1-1e-12) || *w.P < *w.SmallestP*(1-1e-12) || *f.P > 1 || *w.P > 1 {
				t.Fatalf("%s: sign flip %v >= %v, Wilcoxon %v >= %v", alt, *f.P, *f.SmallestP, *w.P, *w.SmallestP)
			}
		}
	})
}

// The three ways to a tail agree: lattice, enumeration, bounds.
func TestTailMethodsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ks := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 18).Draw(t, "weights")
		weights := make([]float64, len(ks))
		for i, k := range ks {
			weights[i] = float64(k)
		}
		at := rapid.IntRange(0, 400).Draw(t, "t")
		want := latticeTail(ks, at)
		closeTo(t, "enumeration", enumeratedTail(weights, float64(at), 1e-9), want)
		some := sum(ks[:rapid.IntRange(0, len(ks)).Draw(t, "some")])
		closeTo(t, "scaled lattice", exactTail(scaled(weights, 0.1), float64(some)*0.1).High, latticeTail(ks, some))

		noisy := make([]float64, len(ks))
		for i, w := range weights {
			noisy[i] = w + rapid.Float64Range(-0.4, 0.4).Draw(t, "noise")
		}
		exact := enumeratedTail(noisy, float64(at), 1e-9)
		least := math.Ldexp(1, -len(ks)) // bounds take the observed pattern as one that counts
		low, high := boundedTail(noisy, float64(at), 1e-9, 1<<12)
		if low > math.Max(exact, least)*(1+1e-12) || high < exact*(1-1e-12) {
			t.Fatalf("bounds %v to %v do not hold %v", low, high, exact)
		}
	})
}

func sum(ks []int) int {
	s := 0
	for _, k := range ks {
		s += k
	}
	return s
}

func TestSimulatedPIsNearTheExactOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := either(t, 4, 20)
		for _, alt := range alternatives {
			exact := must(SignFlip(d, SignFlipOptions{Alternative: alt}))
			if exact.NUsed == 0 {
				return
			}
			got := must(SignFlip(d, SignFlipOptions{Alternative: alt, Simulate: true, Flips: 4000, Seed: 3}))
			if diff := math.Abs(*got.P - *exact.P); diff > 6**got.PError+2e-3 {
				t.Fatalf("%s: simulated %v ± %v, exact %v", alt, *got.P, *got.PError, *exact.P)
			}
			if !got.Warned(MonteCarlo) || got.PLow != nil {
				t.Fatalf("a simulated p does not say so: %+v", got)
			}
		}
	})
}

// The exact signed-rank test is the sign-flip test on signed ranks.
func TestWilcoxonIsSignFlipOnRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := either(t, 1, 30)
		sizes := make([]float64, len(d))
		for i, v := range d {
			sizes[i] = math.Abs(v)
		}
		ranks := rank(sizes).ranks // zeros ranked first, then left out: Pratt's
		for i, v := range d {
			switch {
			case v == 0:
				ranks[i] = 0
			case v < 0:
				ranks[i] = -ranks[i]
			}
		}
		for _, alt := range alternatives {
			w := must(Wilcoxon(d, WilcoxonOptions{Alternative: alt, Zeros: ZerosPratt, Method: WilcoxonExact}))
			f := must(SignFlip(ranks, SignFlipOptions{Alternative: alt}))
			closeTo(t, string(alt), *w.P, *f.P)
		}
	})
}

func TestZerosInWilcoxon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := grid(t, "d", 1, 20)
		more := append(slices.Clone(d), make([]float64, rapid.IntRange(1, 5).Draw(t, "zeros"))...)
		p := func(d []float64, zeros ZeroMethod) float64 {
			return *must(Wilcoxon(d, WilcoxonOptions{Zeros: zeros, Method: WilcoxonExact})).P
		}
		closeTo(t, "wilcox leaves zeros out", p(more, ZerosWilcox), p(d, ZerosWilcox))
		closeTo(t, "exact zsplit is exact pratt", p(more, ZerosSplit), p(more, ZerosPratt))
	})
}

func TestCorrelationsAreInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 30).Draw(t, "n")
		x, y := grid(t, "x", n, n), grid(t, "y", n, n)
		for name, f := range map[string]func(x, y []float64, o CorrelationOptions) (CorrelationResult, error){"Pearson": Pearson, "Spearman": Spearman} {
			a := must(f(x, y, CorrelationOptions{}))
			if a.R == nil {
				if !a.Warned(Constant) {
					t.Fatalf("undefined without a reason: %+v", a)
				}
				continue
			}
			swapped := must(f(y, x, CorrelationOptions{}))
			moved := must(f(scaled(x, 4), negated(y), CorrelationOptions{}))
			closeTo(t, name+" swapped", *swapped.R, *a.R)
			closeTo(t, name+" scaled and turned", *moved.R, -*a.R)
			closeTo(t, name+" p scaled and turned", *moved.P, *a.P)
			if a.Interval != nil && !a.Interval.Contains(*a.R) {
				t.Fatalf("%s: interval %v does not hold %v", name, a.Interval, *a.R)
			}
			if math.Abs(*a.R) > 1 || *a.P < 0 || *a.P > 1 {
				t.Fatalf("%s: impossible %v, p %v", name, *a.R, *a.P)
			}
		}
		bent := make([]float64, n) // any increasing function keeps ranks
		for i := range x {
			bent[i] = math.Exp(3 * x[i])
		}
		a, b := must(Spearman(x, y, CorrelationOptions{})), must(Spearman(bent, y, CorrelationOptions{}))
		if a.R != nil {
			closeTo(t, "Spearman of exp(x)", *b.R, *a.R)
		}
	})
}

func TestHolmIsMonotoneAndCautious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		missing := rapid.IntRange(0, 3).Draw(t, "missing")
		ps := make([]*float64, 0, len(values)+missing)
		for i := range values {
			ps = append(ps, &values[i])
		}
		for range missing {
			ps = append(ps, nil)
		}
		r := must(Holm(ps, 0.05))
		order := make([]int, len(values))
		for i := range order {
			order[i] = i
		}
		sort.Slice(order, func(a, b int) bool { return values[order[a]] < values[order[b]] })
		rejecting := true // step down by the definition of the procedure
		for k, i := range order {
			adjusted := *r.Adjusted[i]
			if adjusted < values[i] || adjusted > 1 || adjusted > math.Max(values[i]*float64(len(ps)), values[order[k]]*float64(len(ps))) && adjusted < 1 && k == 0 {
				t.Fatalf("adjusted %v of %v among %d", adjusted, values[i], len(ps))
			}
			if k > 0 && adjusted < *r.Adjusted[order[k-1]] {
				t.Fatalf("adjusted p-values change the order of %v", values)
			}
			rejecting = rejecting && values[i]*float64(len(ps)-k) <= 0.05
			if r.Reject[i] != rejecting {
				t.Fatalf("reject %v of %v, by definition %v", r.Reject[i], values[i], rejecting)
			}
		}
		for i := len(values); i < len(ps); i++ {
			if r.Adjusted[i] != nil || r.Reject[i] || !r.Warned(MissingInFamily) {
				t.Fatalf("a hypothesis without a p-value: %+v", r)
			}
		}
	})
}

func TestBootstrapMovesWithTheData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := grid(t, "units", 2, 30)
		for _, kind := range []BootstrapKind{BCa, Percentile} {
			opt := BootstrapOptions{Draws: 299, Kind: kind, Seed: rapid.Uint64().Draw(t, "seed")}
			a, again := must(BootstrapMean(units, opt)), must(BootstrapMean(units, opt))
			turned := must(BootstrapMean(negated(units), opt))
			if a.Interval == nil {
				if !allSame(units) && !a.Warned(Constant) {
					t.Fatalf("no interval of %v: %+v", units, a)
				}
				continue
			}
			if *a.Interval != *again.Interval {
				t.Fatalf("the same seed gives %v and %v", a.Interval, again.Interval)
			}
			closeTo(t, "turned low", turned.Interval.Low, -a.Interval.High)
			closeTo(t, "turned high", turned.Interval.High, -a.Interval.Low)
			if a.Interval.Low < slices.Min(units)-1e-12 || a.Interval.High > slices.Max(units)+1e-12 || a.Interval.Low > a.Interval.High {
				t.Fatalf("interval %v outside the units %v", a.Interval, units)
			}
		}
	})
}

func TestProportionIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Count {
			n := rapid.IntRange(1, 3000).Draw(t, label+" n")
			return Count{rapid.IntRange(0, n).Draw(t, label+" hits"), n}
		}
		a, b := draw("a"), draw("b")
		w := must(Wilson(a, 0.95))
		if w.Interval.Low < 0 || w.Interval.High > 1 || !w.Interval.Contains(*w.Rate) || w.Interval.Low == w.Interval.High {
			t.Fatalf("%v: %v of rate %v", a, w.Interval, *w.Rate)
		}
		misses := must(Wilson(Count{a.N - a.Hits, a.N}, 0.95))
		closeTo(t, "Wilson of the misses", misses.Interval.Low, 1-w.Interval.High)

		ab, ba := must(TwoProportions(a, b, TwoProportionOptions{})), must(TwoProportions(b, a, TwoProportionOptions{}))
		closeTo(t, "Fisher swapped", *ba.FisherP, *ab.FisherP)
		closeTo(t, "Newcombe swapped", ba.Interval.Low, -ab.Interval.High)
		if !ab.Interval.Contains(*ab.Difference) {
			t.Fatalf("%v %v: interval %v of difference %v", a, b, ab.Interval, *ab.Difference)
		}
		less := must(TwoProportions(a, b, TwoProportionOptions{Alternative: Less}))
		greater := must(TwoProportions(b, a, TwoProportionOptions{Alternative: Greater}))
		closeTo(t, "one side from both", *greater.FisherP, *less.FisherP)
	})
}

func TestEquivalenceIsItsInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := scaled(reals(t, "d", 3, 40), rapid.Float64Range(0.01, 1).Draw(t, "spread"))
		r, turned := must(Equivalence(d, EquivalenceOptions{})), must(Equivalence(negated(d), EquivalenceOptions{}))
		if r.Interval == nil {
			return
		}
		closeTo(t, "turned", *turned.P, *r.P)
		inside := r.Interval.Low > -r.Margin && r.Interval.High < r.Margin
		if inside != r.Equivalent && math.Abs(*r.P-0.05) > 1e-9 {
			t.Fatalf("equivalent %v (p %v), interval %v", r.Equivalent, *r.P, r.Interval)
		}
	})
}

func TestClustersSplitTheVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clusters, moved [][]float64
		for range rapid.IntRange(2, 12).Draw(t, "clusters") {
			c := grid(t, "values", 1, 6)
			clusters = append(clusters, c)
			m := scaled(c, 3)
			for i := range m {
				m[i] += 10
			}
			moved = append(moved, m)
		}
		a, b := must(Clusters(clusters)), must(Clusters(moved))
		if (a.ICC1 == nil) != (b.ICC1 == nil) {
			t.Fatalf("undefined on one scale only: %+v, %+v", a, b)
		}
		if a.ICC1 == nil {
			return
		}
		closeTo(t, "ICC moved", *b.ICC1, *a.ICC1)
		closeTo(t, "variance scaled", *b.Within, 9**a.Within)
		if *a.ICC1 > 1+1e-12 || *a.Between < 0 {
			t.Fatalf("impossible components: %+v", a)
		}
		if stepped, err := SpearmanBrown(*a.ICC1, *a.ClusterSize); err == nil && a.ICCMean != nil {
			closeTo(t, "ICC of the mean by Spearman and Brown", stepped, *a.ICCMean)
		}
	})
}

func TestPowerGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := PairedDesign{
			Units: rapid.IntRange(2, 200).Draw(t, "units"),
			SD:    rapid.Float64Range(0.01, 2).Draw(t, "sd"),
			Alpha: rapid.SampledFrom([]float64{0.05, 0.01, 0.001}).Draw(t, "alpha"),
		}
		diff := rapid.Float64Range(0.001, 1).Draw(t, "difference")
		closeTo(t, "power without a difference", must(d.Power(0)).Power, d.Alpha)
		p := must(d.Power(diff)).Power
		more, wider := d, d
		more.Units++
		wider.SD *= 1.1
		if must(d.Power(diff*1.1)).Power < p-1e-12 || must(more.Power(diff)).Power < p-1e-12 || must(wider.Power(diff)).Power > p+1e-12 {
			t.Fatalf("power %v of %+v does not grow with the difference and the units", p, d)
		}
		closeTo(t, "both ways", must(d.Power(-diff)).Power, p)
		closeTo(t, "power of the smallest difference", must(d.SmallestDifference(0.8)).Power, 0.8)
		if need, err := d.UnitsNeeded(diff, 0.8); err == nil && need.Units > 2 && !need.Warned(CannotReach) {
			fewer := d
			fewer.Units = need.Units - 1
			if need.Power < 0.8 || must(fewer.Power(diff)).Power >= 0.8 {
				t.Fatalf("%d units are not the fewest: power %v", need.Units, need.Power)
			}
		}
		e := must(d.EquivalencePower(0.1, 0)).Power
		if off := must(d.EquivalencePower(0.1, 0.05)).Power; off > e+1e-12 || e < 0 || e > 1 {
			t.Fatalf("equivalence power %v at 0 and %v off it", e, off)
		}
		if edge := must(d.EquivalencePower(0.1, 0.1)).Power; edge > d.Alpha+1e-10 {
			t.Fatalf("at the margin the power %v exceeds alpha %v", edge, d.Alpha)
		}
	})
}
