package analysis

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// The words below a drawing are true of all its whiskers.
func TestWhiskersAreNamed(t *testing.T) {
	values := func(xs ...float64) (out []*float64) {
		for i := range xs {
			out = append(out, &xs[i])
		}
		return out
	}
	vary, equal, one := values(0.2, 0.4, 0.9, 0.7), values(1, 1, 1), values(0.3)
	for name, c := range map[string]struct {
		of         [][]*float64
		has, hasnt []string
	}{
		"bootstrap":   {[][]*float64{vary}, []string{"bootstrap intervals"}, []string{"exact", "No whisker"}},
		"both":        {[][]*float64{vary, equal}, []string{"bootstrap intervals", "exact 95% bound"}, []string{"No whisker"}},
		"one seed":    {[][]*float64{one}, []string{"exact 95% bound", "no bootstrap"}, []string{"bootstrap intervals"}},
		"all equal":   {[][]*float64{equal}, []string{"exact 95% bound"}, []string{"bootstrap intervals"}},
		"without any": {[][]*float64{nil}, nil, []string{"hiskers"}},
	} {
		iv := &intervals{boot: record.PlannedTests().Bootstrap}
		for _, v := range c.of {
			iv.mean(v, 0, 1)
		}
		for _, has := range c.has {
			if !strings.Contains(iv.words(), has) {
				t.Errorf("%s: %q does not say %q", name, iv.words(), has)
			}
		}
		for _, hasnt := range c.hasnt {
			if strings.Contains(iv.words(), hasnt) {
				t.Errorf("%s: %q says %q", name, iv.words(), hasnt)
			}
		}
	}
	// Steps have no range, and so no bound where all are equal.
	iv := &intervals{boot: record.PlannedTests().Bootstrap}
	if p := iv.pooled([]pair{{14, 1}, {14, 1}}, nil); p.XRange != nil || !strings.HasPrefix(iv.words(), "No whiskers") {
		t.Errorf("an interval %v, and the words %q", p.XRange, iv.words())
	}
}

// A reliability that cannot be estimated is no ceiling of 0.
func TestCeilingInWords(t *testing.T) {
	for _, c := range []struct {
		x, y, r *float64
		want    string
	}{
		{new(0.64), new(0.36), new(0.2), "ceiling 0.48"},
		{new(-0.2), new(0.36), new(0.86), "ceiling not estimable: reliability estimated at or below\u00a00"},
		{new(0.0), new(0.36), new(0.86), "ceiling not estimable: reliability estimated at or below\u00a00"},
		{nil, new(0.36), new(0.86), "ceiling undefined"},
		{new(0.04), new(0.25), new(0.3), "ceiling estimated at 0.10, below r: sampling error"},
	} {
		if got := ceilingWord(sure(stats.Attenuation(c.x, c.y, c.r))); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
