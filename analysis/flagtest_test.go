package analysis

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// safeClaims is a detection whose entries all say SAFE.
func safeClaims(regime string, seed int, letters string) *record.Trial {
	t := detection("m", regime, seed, letters)
	for i := range t.Windows[0].Judgments {
		t.Windows[0].Judgments[i].Claim = claimNames[saysSafe]
	}
	return t
}

// A flag rate is a seed's over the claims it has; a seed that has lost a regime
// is in no test of both, and leaves anything possible there.
func TestFlagTest(t *testing.T) {
	c := planned(t,
		safeClaims("L1", 1, "SSVVssvv"), // on holes 1/2, on safe cells 1/2
		safeClaims("L1", 2, "SSSSsvvv"), // 1, 1/4
		safeClaims("L1", 3, "vvvv"),     // no hole: undefined
		safeClaims("L2", 1, "SSssvvvv"), // 1, 1/3; with L1 4/6, 4/10
		safeClaims("L2", 2, "SVvv"),     // 1/2, 0; with L1 5/6, 1/6
		failedTrial(safeClaims("L2", 3, "SV")),
	)
	table := c.FlagTest()
	for _, tt := range []struct {
		regime        string
		difference    float64
		pairs, shared int
		least, most   *float64
	}{
		{"L1", (0 + 3./4) / 2, 3, 3, nil, nil},
		{"L2", (2./3 + 1./2) / 2, 2, 3, new((2./3 + 1./2 - 1) / 3), new((2./3 + 1./2 + 1) / 3)},
		{spotAndCluster, (4./15 + 2./3) / 2, 2, 3, new((4./15 + 2./3 - 1) / 3), new((4./15 + 2./3 + 1) / 3)},
	} {
		row := rowOf(t, &table, tt.regime)
		if d := row("difference"); !within(d.Value, tt.difference) {
			t.Errorf("%s: the difference is %+v, want %v", tt.regime, d, tt.difference)
		}
		if s := row("seeds"); s.Count != tt.pairs || s.Of != tt.shared {
			t.Errorf("%s: %d of %d seeds, want %d of %d", tt.regime, s.Count, s.Of, tt.pairs, tt.shared)
		}
		for key, want := range map[string]*float64{"difference_least": tt.least, "difference_most": tt.most} {
			got := row(key).Value
			if (got == nil) != (want == nil) || want != nil && !within(got, *want) {
				t.Errorf("%s: %s is %v, want %v", tt.regime, key, deref(got), deref(want))
			}
		}
	}
	if warnings := strings.Join(table.Warnings, "\n"); !strings.Contains(warnings, "of 9 pairs, a row and a seed each, 2 have lost trials") {
		t.Errorf("warnings: %s", warnings)
	}
}

func deref(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}
