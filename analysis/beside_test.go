package analysis

import (
	"math"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// Ours has the t interval over seeds where it is a mean over them, and the
// verdict says whether the published value lies in it.
func TestPublishedIntervals(t *testing.T) {
	var c Collector
	rates := []float64{0, 0.5, 0, 0, 0.5, 0, 0.5, 0}
	for seed, rate := range rates {
		for e := 1; e <= 2; e++ {
			outcome := record.Death
			if float64(e) <= 2*rate {
				outcome = record.Success
			}
			tr := episode("openai/gpt-4o", "no-filter", seed, e, outcome, 8, 0)
			tr.Regime = "L2"
			add(t, &c, tr)
		}
	}
	table := c.Published()
	got := cellOf(t, table, "interval", "success", "GPT-4o", "L2", "no-filter")
	mean, half := stats.Mean(rates), 2.3646242515927844*stats.StdDev(rates)/math.Sqrt(8) // t(0.975, 7)
	near(t, "low", got.Low, mean-half)
	near(t, "high", got.High, mean+half)
	near(t, "difference", cellOf(t, table, "difference", "success", "GPT-4o", "L2", "no-filter").Value, mean-0.144)
	if v := cellOf(t, table, "agrees", "success", "GPT-4o", "L2", "no-filter"); v.Label != "yes" {
		t.Errorf("0.144 in [%v, %v]: %q", *got.Low, *got.High, v.Label)
	}
}

// A bound is kept or not, and no distance is taken from it.
func TestPublishedBounds(t *testing.T) {
	ours := Cell{Value: new(0.9)}
	for _, tt := range []struct {
		f           figure
		agrees      string
		hasDistance bool
		interval    Cell
	}{
		{figure{Relation: "above", Value: new(0.88)}, "yes", false, Cell{}},
		{figure{Relation: "above", Value: new(0.91)}, "no", false, Cell{}},
		{figure{Relation: "below", Value: new(0.91)}, "yes", false, Cell{}},
		{figure{Relation: "at most", Value: new(0.9)}, "yes", false, Cell{}},
		{figure{Relation: "up to", Value: new(0.7), High: new(0.8)}, "no", false, Cell{}},
		{figure{Relation: "about", Value: new(0.85)}, "", true, Cell{}},
		{figure{Value: new(0.85)}, "yes", true, Cell{Low: new(0.84), High: new(0.95)}},
		{figure{Value: new(0.85)}, "no", true, Cell{Low: new(0.86), High: new(0.95)}},
		{figure{Text: "none"}, "", false, Cell{}},
	} {
		if got := tt.f.verdict(ours, tt.interval).Label; got != tt.agrees {
			t.Errorf("%+v: %q", tt.f, got)
		}
		if got := tt.f.distance(ours).Value != nil; got != tt.hasDistance {
			t.Errorf("%+v: distance %v", tt.f, got)
		}
	}
}
