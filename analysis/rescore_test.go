package analysis

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

func TestRescoreByHand(t *testing.T) {
	var c Collector
	r := NewRescoring(&c)
	for _, d := range []struct{ recorded, now, strict string }{
		{"SVuv", "SSsv", "SUuv"}, // F1 2/3, 4/5, 2/3
		{"Sv", "Sv", "Uv"},       // F1 1, 1, 0
	} {
		seed := len(d.recorded)
		recorded := detection("m", "L1", seed, d.recorded)
		add(t, &c, recorded)
		if err := r.AddDetection(recorded, detection("m", "L1", seed, d.now), detection("m", "L1", seed, d.strict)); err != nil {
			t.Fatal(err)
		}
	}
	add(t, &c, failedTrial(detection("m", "L1", 9, "S")))
	table := r.Tables()[0]
	for _, tt := range []struct {
		reading            string
		f1, recall         float64
		unanswered, change int
	}{
		{"recorded", 5.0 / 6, 3.0 / 4, 1, 0},
		{"now", 9.0 / 10, 1, 0, 2},
		{"strict", 1.0 / 3, 1.0 / 4, 3, 2},
	} {
		near(t, tt.reading+" F1", cellOf(t, table, "f1", tt.reading).Value, tt.f1)
		near(t, tt.reading+" recall", cellOf(t, table, "recall", tt.reading).Value, tt.recall)
		isShare(t, table, "unanswered", tt.unanswered, 6, tt.reading)
		isShare(t, table, "changed", tt.change, 6, tt.reading)
		if n := cellOf(t, table, "seeds", tt.reading); n.Count != 2 || n.Of != 3 {
			t.Errorf("%s: %d of %d seeds, want 2 of 3", tt.reading, n.Count, n.Of)
		}
	}
	if len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "1 failed") {
		t.Errorf("the failed run is not in the warnings: %q", table.Warnings)
	}
}

// Steps are summed over regimes, and over nothing else.
func TestRereadStepsByHand(t *testing.T) {
	var c Collector
	r := NewRescoring(&c)
	walk := func(strategy, regime string, seed, steps, otherwise int) {
		t.Helper()
		tr := episode("m", strategy, seed, 1, record.Success, steps, 0)
		tr.Regime = regime
		add(t, &c, tr)
		if err := r.AddEpisode(&tr.Spec, steps, otherwise); err != nil {
			t.Fatal(err)
		}
	}
	walk("omcd", "L1", 1, 14, 2)
	walk("omcd", "L3", 1, 20, 1)
	walk("omcd", "L3", 2, 6, 0)
	walk("no-filter", "L1", 1, 10, 0)
	add(t, &c, failedTrial(episode("m", "omcd", 7, 1, "", 0, 0)))
	table := r.Tables()[1]
	isShare(t, table, "otherwise", 3, 40, "omcd")
	isShare(t, table, "otherwise", 0, 10, "no-filter")
	if n := cellOf(t, table, "episodes", "omcd"); n.Count != 3 || n.Of != 4 || len(table.Rows) != 2 {
		t.Errorf("%d of %d episodes in %d rows, want 3 of 4 in 2", n.Count, n.Of, len(table.Rows))
	}
}

func TestRescoringRefuses(t *testing.T) {
	r := NewRescoring(new(Collector))
	recorded := detection("m", "L1", 1, "SVuv")
	other := detection("m", "L1", 1, "SVuv")
	other.Windows[0].Judgments[2].MemoryID = "mem_002"
	for name, now := range map[string]*record.Trial{
		"another window":        detection("m", "L1", 1, "SVuv", "v"),
		"another entry's words": other,
		"fewer entries":         detection("m", "L1", 1, "SV"),
	} {
		if err := r.AddDetection(recorded, now, now); err == nil || !strings.Contains(err.Error(), "not of the entries") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	walk := episode("m", "omcd", 1, 1, record.Success, 3, 0)
	if err := r.AddEpisode(&walk.Spec, 3, 4); err == nil {
		t.Error("more steps are read otherwise than there are")
	}
}
