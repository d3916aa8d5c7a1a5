package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// golden.json holds SciPy's and statsmodels' values; testdata/golden.py makes
// it and says where a value is computed otherwise. There is no -update flag:
// values that this package wrote itself would prove nothing.
type golden struct {
	Versions map[string]string
	Tails    struct {
		T           [][]float64
		TQuantile   [][]float64 `json:"t_quantile"`
		Noncentral  [][]float64
		Normal, Chi [][]float64
	}
	Wilcoxon []struct {
		Name         string
		D            []float64
		RankBiserial *float64 `json:"rank_biserial"`
		Zeros        map[ZeroMethod]struct {
			Exact, Statistic   map[Alternative]float64
			Normal, Continuity map[Alternative]*float64
		}
	}
	SignFlip []struct {
		Name  string
		D     []float64
		P     map[Alternative]float64
		Exact bool
	}
	Correlation []struct {
		Name              string
		X, Y              []float64
		Pearson, Spearman map[Alternative]float64
		R, Rho            float64
		Interval          []float64
		BonettWright      []float64 `json:"bonett-wright"`
		Fieller, Fisher   []float64
	}
	Bootstrap []struct {
		Name            string
		Hits, Totals    []float64
		Seed            uint64
		Level           float64
		Indices         []string
		Percentile, BCa []float64
		SE              float64
	}
	Holm []struct {
		P, Adjusted []float64
		Reject      []bool
	}
	Equivalence []struct {
		D               []float64
		P, Lower, Upper float64
		Interval        []float64
		Power           float64
	}
	Effect []struct {
		D            []float64
		Dz, G        float64
		RankBiserial *float64 `json:"rank_biserial"`
	}
	Cluster []struct {
		Clusters             [][]float64
		MSB, MSW, K, Between float64
		ICC1                 float64 `json:"icc1"`
		ICCMean              float64 `json:"icc_mean"`
	}
	Proportion []struct {
		A, NA, B, NB     int
		Fisher           map[Alternative]float64
		Chi              []float64
		ChiYates         []float64 `json:"chi_yates"`
		Wilson, Newcombe []float64
	}
	Power []struct {
		N               int
		SD, Diff, Alpha float64
		Power           map[Alternative]float64
		Needed          *int
		Detectable      *float64
		Equivalence     float64
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// near fails unless got is want to 1e-10: relatively for everything, tails
// included, and absolutely only for numbers above 1e-3 in size, where a
// difference may have cancelled.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got == want {
		return
	}
	tolerance := 1e-10 * math.Abs(want)
	if math.Abs(want) > 1e-3 {
		tolerance = math.Max(tolerance, 1e-10)
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.17g, want %.17g (off by %.2g, relatively)", what, got, want, math.Abs(got/want-1))
	}
}

func nearPtr(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is undefined, want %v", what, want)
		return
	}
	near(t, what, *got, want)
}

// nearSize is near for what is no probability and can cancel to about 0.
func nearSize(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-14 {
		nearPtr(t, what, got, want)
	}
}

func nearInterval(t *testing.T, what string, got *Interval, want []float64) {
	t.Helper()
	switch {
	case got == nil && want == nil:
	case got == nil || want == nil:
		t.Errorf("%s = %v, want %v", what, got, want)
	default:
		nearSize(t, what+" low", &got.Low, want[0])
		nearSize(t, what+" high", &got.High, want[1])
	}
}

func sprint(args ...any) string { return strings.TrimSpace(fmt.Sprintln(args...)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var alternatives = []Alternative{TwoSided, Less, Greater}

func TestTailsMatchSciPy(t *testing.T) {
	g := readGolden(t).Tails
	for _, r := range g.T {
		near(t, sprint("t tail", r[:2]), studentTail(r[0], r[1]), r[2])
	}
	for _, r := range g.TQuantile {
		near(t, sprint("t quantile", r[:2]), studentQuantile(r[0], r[1]), r[2])
	}
	for _, r := range g.Noncentral {
		near(t, sprint("noncentral t tail", r[:3]), noncentralTail(r[0], r[1], r[2]), r[3])
	}
	for _, r := range g.Normal {
		near(t, sprint("normal tail", r[:1]), normalTail(r[0]), r[1])
	}
	for _, r := range g.Chi {
		near(t, sprint("chi-square tail", r[:1]), chiSquareTail1(r[0]), r[1])
	}
}

func TestWilcoxonMatchesSciPy(t *testing.T) {
	for _, c := range readGolden(t).Wilcoxon {
		for zeros, want := range c.Zeros {
			for _, alt := range alternatives {
				what := sprint(c.Name, zeros, alt)
				r := must(Wilcoxon(c.D, WilcoxonOptions{Alternative: alt, Zeros: zeros, Method: WilcoxonExact}))
				nearPtr(t, what+" exact", r.P, want.Exact[alt])
				if stat, ok := want.Statistic[alt]; ok {
					near(t, what+" statistic", r.Statistic, stat)
				}
				if zeros == ZerosWilcox && (c.RankBiserial != nil || r.RankBiserial != nil) {
					nearPtr(t, what+" rank-biserial", r.RankBiserial, *c.RankBiserial)
				}
				for _, continuity := range []bool{false, true} {
					p := want.Normal[alt]
					if continuity {
						p = want.Continuity[alt]
					}
					if p == nil {
						continue
					}
					r := must(Wilcoxon(c.D, WilcoxonOptions{Alternative: alt, Zeros: zeros, Method: WilcoxonNormal, Continuity: continuity}))
					nearPtr(t, sprint(what, "normal, continuity", continuity), r.P, *p)
				}
			}
		}
	}
}

func TestSignFlipMatchesSciPy(t *testing.T) {
	for _, c := range readGolden(t).SignFlip {
		for _, alt := range alternatives {
			what := sprint(c.Name, alt)
			r := must(SignFlip(c.D, SignFlipOptions{Alternative: alt}))
			if c.Exact {
				nearPtr(t, what, r.P, c.P[alt])
				if *r.PLow != *r.PHigh || r.Warned(Bounded) || r.Warned(MonteCarlo) {
					t.Errorf("%s: not exact: %+v", what, r)
				}
				continue
			}
			want := c.P[alt]
			if !r.Warned(Bounded) || want < *r.PLow*(1-1e-9) || want > *r.PHigh*(1+1e-9) {
				t.Errorf("%s: bounds %v to %v do not hold %v: %+v", what, *r.PLow, *r.PHigh, want, r)
			}
			if *r.PHigh > 1.01**r.PLow {
				t.Errorf("%s: bounds %v to %v are more than 1%% apart", what, *r.PLow, *r.PHigh)
			}
		}
	}
}

func TestCorrelationMatchesSciPy(t *testing.T) {
	for _, c := range readGolden(t).Correlation {
		for _, alt := range alternatives {
			p := must(Pearson(c.X, c.Y, CorrelationOptions{Alternative: alt}))
			nearSize(t, sprint(c.Name, "r"), p.R, c.R)
			nearPtr(t, sprint(c.Name, "Pearson p", alt), p.P, c.Pearson[alt])
			nearInterval(t, sprint(c.Name, "Fisher z"), p.Interval, c.Interval)
			for se, want := range map[SpearmanError][]float64{BonettWright: c.BonettWright, Fieller: c.Fieller, PlainFisher: c.Fisher} {
				s := must(Spearman(c.X, c.Y, CorrelationOptions{Alternative: alt, SpearmanError: se}))
				nearSize(t, sprint(c.Name, "rho"), s.R, c.Rho)
				nearPtr(t, sprint(c.Name, "Spearman p", alt), s.P, c.Spearman[alt])
				nearInterval(t, sprint(c.Name, "Spearman interval", se), s.Interval, want)
			}
		}
	}
}

func TestBootstrapMatchesSciPyOnGivenResamples(t *testing.T) {
	for _, c := range readGolden(t).Bootstrap {
		n, draws := len(c.Hits), len(c.Indices)
		ratio := func(units []int) (float64, bool) {
			var hits, totals float64
			for _, i := range units {
				hits += c.Hits[i]
				totals += c.Totals[i]
			}
			return hits / totals, true
		}
		// The generator first: these resamples are Python's.
		for b, row := range Resamples(n, draws, c.Seed) {
			for i, v := range row {
				if want := int(c.Indices[b][i]) - 33; v != want {
					t.Fatalf("%s: resample %d draws unit %d at %d, want %d", c.Name, b, v, i, want)
				}
			}
		}
		for kind, want := range map[BootstrapKind][]float64{Percentile: c.Percentile, BCa: c.BCa} {
			r := must(Bootstrap(n, ratio, BootstrapOptions{Level: c.Level, Draws: draws, Kind: kind, Seed: c.Seed}))
			nearInterval(t, sprint(c.Name, kind), r.Interval, want)
			nearPtr(t, c.Name+" standard error", r.StandardError, c.SE)
			if r.Warned(Fallback) {
				t.Errorf("%s: %s fell back: %v", c.Name, kind, r.Warnings)
			}
		}
	}
}

func TestHolmMatchesStatsmodels(t *testing.T) {
	for _, c := range readGolden(t).Holm {
		ps := make([]*float64, len(c.P))
		for i := range ps {
			ps[i] = &c.P[i]
		}
		r := must(Holm(ps, 0))
		for i := range ps {
			nearPtr(t, sprint("adjusted", i), r.Adjusted[i], c.Adjusted[i])
			if r.Reject[i] != c.Reject[i] {
				t.Errorf("reject %d of %v = %v", i, c.P, r.Reject[i])
			}
		}
	}
}

func TestEquivalenceMatchesStatsmodels(t *testing.T) {
	for _, c := range readGolden(t).Equivalence {
		r := must(Equivalence(c.D, EquivalenceOptions{}))
		what := sprint("n", len(c.D))
		nearPtr(t, what+" p", r.P, c.P)
		nearPtr(t, what+" lower p", r.PLower, c.Lower)
		nearPtr(t, what+" upper p", r.PUpper, c.Upper)
		nearInterval(t, what+" interval", r.Interval, c.Interval)
		nearPtr(t, what+" power", r.Power, c.Power)
	}
}

func TestEffectsMatchSciPy(t *testing.T) {
	for _, c := range readGolden(t).Effect {
		r := must(Effects(c.D))
		what := sprint("n", len(c.D))
		nearPtr(t, what+" dz", r.Dz, c.Dz)
		nearPtr(t, what+" g", r.HedgesG, c.G)
		nearPtr(t, what+" rank-biserial", r.RankBiserial, *c.RankBiserial)
	}
}

func TestClustersMatchStatsmodels(t *testing.T) {
	for i, c := range readGolden(t).Cluster {
		r := must(Clusters(c.Clusters))
		for name, v := range map[string]struct {
			got  *float64
			want float64
		}{
			"msb": {r.MeanSquareBetween, c.MSB}, "within": {r.Within, c.MSW},
			"between": {r.Between, c.Between}, "k": {r.ClusterSize, c.K}, "icc1": {r.ICC1, c.ICC1}, "icc mean": {r.ICCMean, c.ICCMean},
			"design effect": {r.DesignEffect, 1 + (c.K-1)*c.ICC1},
		} {
			nearPtr(t, sprint("case", i, name), v.got, v.want)
		}
	}
}

func TestProportionsMatchSciPy(t *testing.T) {
	for _, c := range readGolden(t).Proportion {
		a, b := Count{c.A, c.NA}, Count{c.B, c.NB}
		for _, alt := range alternatives {
			r := must(TwoProportions(a, b, TwoProportionOptions{Alternative: alt}))
			nearPtr(t, sprint(a, b, "Fisher", alt), r.FisherP, c.Fisher[alt])
			nearInterval(t, sprint(a, b, "Newcombe"), r.Interval, c.Newcombe)
			yates := must(TwoProportions(a, b, TwoProportionOptions{Alternative: alt, Yates: true}))
			if c.Chi == nil {
				if r.ChiSquare != nil || r.ChiSquareP != nil || !r.Warned(Constant) {
					t.Errorf("%v %v: chi-square should be undefined: %+v", a, b, r)
				}
				continue
			}
			nearPtr(t, sprint(a, b, "chi-square"), r.ChiSquare, c.Chi[0])
			nearPtr(t, sprint(a, b, "chi-square p"), r.ChiSquareP, c.Chi[1])
			nearPtr(t, sprint(a, b, "Yates"), yates.ChiSquare, c.ChiYates[0])
			nearPtr(t, sprint(a, b, "Yates p"), yates.ChiSquareP, c.ChiYates[1])
		}
		nearInterval(t, sprint(a, "Wilson"), must(Wilson(a, 0)).Interval, c.Wilson)
	}
}

func TestPowerMatchesStatsmodels(t *testing.T) {
	for _, c := range readGolden(t).Power {
		d := PairedDesign{Units: c.N, SD: c.SD, Alpha: c.Alpha}
		what := sprint("power", c.N, c.SD, c.Diff, c.Alpha)
		for _, alt := range alternatives {
			d := d
			d.Alternative = alt
			near(t, sprint(what, alt), must(d.Power(c.Diff)).Power, c.Power[alt])
		}
		if c.Detectable != nil {
			near(t, what+" smallest difference", must(d.SmallestDifference(0.8)).Difference, *c.Detectable)
		}
		if c.Needed != nil {
			r := must(d.UnitsNeeded(c.Diff, 0.8))
			least := must(UnitsToReach(c.Alpha, TwoSided))
			if r.Units != max(*c.Needed, least) || r.Warned(CannotReach) != (least > *c.Needed) {
				t.Errorf("%s: %d units needed, want %d, at least %d: %v", what, r.Units, *c.Needed, least, r.Warnings)
			}
		}
		near(t, what+" equivalence", must(d.EquivalencePower(0.15, 0.05)).Power, c.Equivalence)
	}
}
