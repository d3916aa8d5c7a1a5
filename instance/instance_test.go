package instance_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/memory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSeeds would fail if the study's seeds moved: every published number
// rests on them.
func TestSeeds(t *testing.T) {
	seeds := instance.Seeds(50)
	seen := map[int]bool{}
	for _, s := range seeds {
		if s < 0 || s > 9999 || seen[s] {
			t.Errorf("seed %d is out of range or repeated", s)
		}
		seen[s] = true
	}
	if !slices.Equal(instance.Seeds(5), seeds[:5]) {
		t.Error("the first five seeds are not the first five of fifty")
	}
}

// TestGolden would fail if any grid, memory or change of the study's seeds
// moved.
func TestGolden(t *testing.T) {
	var b strings.Builder
	b.WriteString("# seed grid memory L1 L2 L3: first 16 hex digits of the SHA-256 of each\n")
	for _, seed := range instance.Seeds(50) {
		g, err := instance.NewGrid(seed, instance.Config{})
		if err != nil {
			t.Fatal(err)
		}
		mem := ""
		for _, e := range memory.Take(seed, &g) {
			mem += fmt.Sprintln(e.Line(), e.Visited, e.Type)
		}
		fmt.Fprintf(&b, "%04d %s %s", seed, sum(g.String()), sum(mem))
		for _, regime := range instance.Regimes {
			in, err := instance.New(seed, regime, instance.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if in.Original != g {
				t.Fatalf("seed %d: %s does not share the seed's grid", seed, regime)
			}
			fmt.Fprintf(&b, " %s", sum(fmt.Sprint(in.Changes, in.Events)))
		}
		b.WriteByte('\n')
	}
	golden(t, "testdata/seeds.golden", b.String())
}

func sum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

// TestShares checks SPEC 4: the study's seeds lie near the paper's shares, and
// a large sample lies where these rules were simulated to lie.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		regime        instance.Regime
		paper, within float64 // the study's 50 seeds
		mean, sd      float64 // the rules, simulated
		lo, hi        float64
	}{
		{instance.L1, 0.094, 0.006, 0.094, 0.013, 5. / 64, 7. / 64},
		{instance.L2, 0.141, 0.013, 0.146, 0.019, 7. / 64, 11. / 64},
		{instance.L3, 0.143, 0.017, 0.147, 0.034, 5. / 64, 14. / 64},
	} {
		mean, _, _, _ := shares(t, instance.Seeds(50), c.regime)
		if math.Abs(mean-c.paper) > c.within {
			t.Errorf("%s: mean share of the study's seeds is %.4f, want %.3f±%.3f", c.regime, mean, c.paper, c.within)
		}
		mean, sd, lo, hi := shares(t, instance.Seeds(3000), c.regime)
		if math.Abs(mean-c.mean) > 0.0025 || math.Abs(sd-c.sd) > 0.0025 {
			t.Errorf("%s: share %.4f ± %.4f over 3000 seeds, want %.3f ± %.3f", c.regime, mean, sd, c.mean, c.sd)
		}
		if lo != c.lo || hi != c.hi {
			t.Errorf("%s: shares range over [%.4f, %.4f], want [%.4f, %.4f]", c.regime, lo, hi, c.lo, c.hi)
		}
	}
}

func shares(t *testing.T, seeds []int, regime instance.Regime) (mean, sd, lo, hi float64) {
	t.Helper()
	lo = 1
	var sum, squares float64
	for _, seed := range seeds {
		in, err := instance.New(seed, regime, instance.Config{})
		if err != nil {
			t.Fatal(err)
		}
		final := in.Final()
		x := float64(instance.NumStale(&in.Original, &final)) / 64
		sum += x
		squares += x * x
		lo, hi = min(lo, x), max(hi, x)
	}
	n := float64(len(seeds))
	mean = sum / n
	return mean, math.Sqrt((squares - n*mean*mean) / (n - 1)), lo, hi
}

// TestInstance checks what every instance promises, on any size: a route
// before, during and after all changes, start and goal unmoved, counts and
// steps within the rules.
func TestInstance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := instance.Config{
			Rows: rapid.IntRange(lake.MinSide, 24).Draw(t, "rows"),
			Cols: rapid.IntRange(lake.MinSide, 24).Draw(t, "cols"),
		}
		if rapid.IntRange(0, 20).Draw(t, "big") == 0 {
			cfg.Rows, cfg.Cols = lake.MaxSide, lake.MaxSide
		}
		seed := rapid.IntRange(0, 1<<40).Draw(t, "seed")
		regime := rapid.SampledFrom(instance.Regimes).Draw(t, "regime")
		in, err := instance.New(seed, regime, cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkInstance(t, in)
	})
}

func checkInstance(t *rapid.T, in *instance.Instance) {
	g := in.Original
	check := func(when string) {
		if !g.Solvable() {
			t.Fatalf("no route %s:\n%v", when, &g)
		}
		if g.At(g.Start()) != lake.Start || g.At(g.Goal()) != lake.Goal {
			t.Fatalf("start or goal moved %s:\n%v", when, &g)
		}
	}
	check("at first")
	flip := func(f instance.Flip, taken map[lake.Pos]bool) {
		if taken[f.Pos] {
			t.Fatalf("%v is changed twice", f.Pos)
		}
		taken[f.Pos] = true
		if g.IsHole(f.Pos) == f.Hole {
			t.Fatalf("%v becomes what it was", f.Pos)
		}
		f.Apply(&g)
		check("after " + f.Pos.String())
	}
	taken := map[lake.Pos]bool{}
	for _, f := range in.Changes {
		flip(f, taken)
	}
	if begin := in.Begin(); begin != g {
		t.Fatal("Begin is not the original with its changes")
	}
	last := 0
	for _, e := range in.Events {
		if !slices.Contains(instance.EventSteps(&g), e.Step) || e.Step <= last || e.Step >= g.StepBudget() {
			t.Fatalf("event after move %d, the last one after %d", e.Step, last)
		}
		last = e.Step
		if len(e.Flips) == 0 {
			t.Fatal("an event that changes nothing")
		}
		taken := map[lake.Pos]bool{}
		for _, f := range e.Flips {
			flip(f, taken)
		}
	}
	if final := in.Final(); final != g {
		t.Fatal("Final is not the original with all changes")
	}
	scale := float64(g.NumCells()) / 64
	bounds := map[instance.Regime][2]float64{instance.L1: {5, 7}, instance.L2: {7, 11}, instance.L3: {5, 14}}[in.Regime]
	n := float64(instance.NumStale(&in.Original, &g))
	if n < max(1, math.Round(bounds[0]*scale)) || n > max(1, math.Round(bounds[1]*scale)) {
		t.Fatalf("%s on %dx%d: %v stale cells", in.Regime, g.NumRows(), g.NumCols(), n)
	}
	if windows := in.Windows(); in.Regime == instance.L3 && len(windows) != len(in.Events) || in.Regime != instance.L3 && len(windows) != 1 {
		t.Fatalf("%d windows for %d events", len(windows), len(in.Events))
	}
}

// TestClusters would fail if L2's changes left the neighbourhoods.
func TestClusters(t *testing.T) {
	for _, seed := range instance.Seeds(200) {
		in, err := instance.New(seed, instance.L2, instance.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if !coverable(in.Changes) {
			t.Errorf("seed %d: no three neighbourhoods of radius 2 hold %v", seed, in.Changes)
		}
	}
}

// coverable reports whether three centres lie within 2 of all flips.
func coverable(flips []instance.Flip) bool {
	var near [64]uint64 // centre → set of flips within reach
	for c := range near {
		centre := lake.Pos{Row: c / 8, Col: c % 8}
		for i, f := range flips {
			if centre.Manhattan(f.Pos) <= 2 {
				near[c] |= 1 << i
			}
		}
	}
	all := uint64(1)<<len(flips) - 1
	for a := range near {
		for b := range near {
			for c := range near {
				if near[a]|near[b]|near[c] == all {
					return true
				}
			}
		}
	}
	return false
}

func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		name   string
		regime instance.Regime
		cfg    instance.Config
		want   string
		is     error
	}{
		{"too small", instance.L1, instance.Config{Rows: 3, Cols: 8}, "3 rows by 8 columns", lake.ErrSize},
		{"too large", instance.L1, instance.Config{Rows: 8, Cols: 65}, "65 columns", lake.ErrSize},
		{"one side", instance.L1, instance.Config{Rows: 8}, "0 columns", lake.ErrSize},
		{"fraction", instance.L1, instance.Config{HoleFraction: 1.5}, "hole fraction 1.5", nil},
		{"NaN", instance.L1, instance.Config{HoleFraction: math.NaN()}, "hole fraction NaN", nil},
		{"no route", instance.L1, instance.Config{HoleFraction: 0.99}, "use a smaller one", instance.ErrTries},
		{"regime", "L4", instance.Config{}, "L1 (spot), L2 (cluster) and L3 (online)", nil},
	} {
		_, err := instance.New(1, c.regime, c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestRand pins the streams by values worked out from the definition alone.
func TestRand(t *testing.T) {
	r := instance.NewRand(1, 2)
	// The first outputs of PCG-DXSM for state 1, 2, as math/rand/v2 documents
	// them in its own test.
	for i, want := range []uint64{0xc4f5a58656eef510, 0x9dcec3ad077dec6c} {
		if got := r.Uint64(); got != want {
			t.Errorf("draw %d of PCG(1, 2) is %#x, want %#x", i, got, want)
		}
	}
	if a, b := instance.Stream(7, "grid").Uint64(), instance.Stream(7, "walks").Uint64(); a == b {
		t.Error("two purposes share a stream")
	}
}

// TestDraws checks the distribution of the bounded draws with a chi-square
// bound that a right generator passes for this fixed stream.
func TestDraws(t *testing.T) {
	r := instance.NewRand(3, 4)
	const n = 60_000
	counts := make([]int, 6)
	hits, ones := 0, 0
	for range n {
		counts[r.Between(2, 7)-2]++
		if r.Chance(0.7) {
			hits++
		}
	}
	for range n / 64 {
		m := r.Mask(0.3)
		for ; m != 0; m &= m - 1 {
			ones++
		}
	}
	for v, c := range counts {
		if math.Abs(float64(c)-n/6.) > 4*math.Sqrt(n*5./36) {
			t.Errorf("%d came %d times of %d", v+2, c, n)
		}
	}
	if p := float64(hits) / n; math.Abs(p-0.7) > 0.008 {
		t.Errorf("Chance(0.7) is true with %.4f", p)
	}
	if p := float64(ones) / (n / 64 * 64); math.Abs(p-0.3) > 0.008 {
		t.Errorf("Mask(0.3) sets a bit with %.4f", p)
	}
	if r.Mask(0) != 0 || r.Mask(1) != ^uint64(0) {
		t.Error("Mask(0) or Mask(1) is not constant")
	}
}

func BenchmarkDrawGrid(b *testing.B) {
	for _, side := range []int{8, 64} {
		b.Run(fmt.Sprint(side), func(b *testing.B) {
			r := instance.NewRand(1, 1)
			for b.Loop() {
				if _, err := instance.DrawGrid(r, instance.Config{Rows: side, Cols: side}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, regime := range instance.Regimes {
		b.Run(string(regime), func(b *testing.B) {
			seed := 0
			for b.Loop() {
				if _, err := instance.New(seed, regime, instance.Config{}); err != nil {
					b.Fatal(err)
				}
				seed++
			}
		})
	}
}
