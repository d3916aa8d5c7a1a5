package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// What a design needs is what it then has: with the seeds, or the episodes, that
// the table names, the wished difference is found with the wished power, and
// with one less it is not.
func TestPowerAnswersAgree(t *testing.T) {
	design := Design{Seeds: 40, Episodes: 5, Hypotheses: 8, Tests: record.PlannedTests(), Difference: 0.15}
	rates := stats.AssumedRates{RateA: 0.5, RateB: 0.6, ICC: 0.1, Correlation: 0.2}
	value := func(d Design, key string) *float64 {
		table, err := AssumedPower(d, rates)
		if err != nil {
			t.Fatal(err)
		}
		return table.Rows[0][slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })].Value
	}
	with := func(seeds, episodes float64) Design {
		d := design
		d.Seeds, d.Episodes = int(seeds), int(episodes)
		return d
	}
	seeds, episodes := *value(design, "seeds"), *value(design, "episodes")
	for _, tt := range []struct {
		name       string
		enough, no Design
		power      string
	}{
		{"seeds", with(seeds, 5), with(seeds-1, 5), "power"},
		{"seeds in the family", with(*value(design, "seeds_family"), 5), with(*value(design, "seeds_family")-1, 5), "power_family"},
		{"episodes", with(40, episodes), with(40, episodes-1), "power"},
	} {
		if p := *value(tt.enough, tt.power); p < 0.8 {
			t.Errorf("%s: %d seeds with %d episodes have a power of %v", tt.name, tt.enough.Seeds, tt.enough.Episodes, p)
		}
		if p := *value(tt.no, tt.power); p >= 0.8 {
			t.Errorf("%s: one less, %d seeds with %d episodes, is enough too: %v", tt.name, tt.no.Seeds, tt.no.Episodes, p)
		}
	}
	at := design
	at.Difference = *value(design, "smallest")
	if p := *value(at, "power"); p < 0.8-1e-9 || p > 0.8+1e-6 {
		t.Errorf("the smallest difference has a power of %v", p)
	}
	if alone, family := *value(design, "smallest"), *value(design, "smallest_family"); family <= alone {
		t.Errorf("in the family %v is found, alone %v", family, alone)
	}
	few := with(5, 5)
	if got := value(few, "smallest"); got != nil {
		t.Errorf("5 seeds find a difference of %v at 0.05, which they cannot reach", *got)
	}
	table, err := AssumedPower(few, rates)
	if err != nil || len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "0.05 (6 seeds)") || !strings.Contains(table.Warnings[0], "the paper’s 0.001 (11 seeds)") {
		t.Errorf("warnings %q, %v", table.Warnings, err)
	}
	if _, err := AssumedPower(design, stats.AssumedRates{RateA: 2}); err == nil {
		t.Error("a rate of 2 is accepted")
	}
}

// A run's power is of what the run has: its contrasts, with the spread of its
// seeds.
func TestPowerFromARun(t *testing.T) {
	c := planned(t, slices.Concat(
		walked("L1", "no-memory", "SSSSSSSSSSSS"),
		walked("L1", "no-filter", "DDDDSSSSSDDD"),
	)...)
	table := c.Power(Design{Seeds: 12, Episodes: 1, Hypotheses: 1, Tests: record.PlannedTests(), Difference: 0.5})
	row := rowOf(t, &table, "death", "no-filter minus no-memory")
	contrasts := c.Contrasts()
	d := rowOf(t, &contrasts, "death", "no-filter minus no-memory")("difference")
	if sd := row("sd"); !within(sd.Value, *d.SD) {
		t.Errorf("the standard deviation is %v, the seeds' is %v", sd.Value, *d.SD)
	}
	want, err := stats.PairedDesign{Units: 12, SD: *d.SD}.Power(0.5)
	if err != nil || !within(row("power").Value, want.Power) {
		t.Errorf("power %v, want %v, %v", row("power").Value, want.Power, err)
	}
	if len(table.Rows) != 2 {
		t.Errorf("%d rows for one contrast on two measures", len(table.Rows))
	}
	if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, "one episode a seed") {
		t.Errorf("the notes do not say that one episode a seed tells little:\n%s", notes)
	}
}
