package analysis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

func costCell(t *testing.T, table analysis.Table, row int, key string) analysis.Cell {
	t.Helper()
	i := slices.IndexFunc(table.Columns, func(c analysis.Column) bool { return c.Key == key })
	if i < 0 {
		t.Fatalf("no column %s", key)
	}
	return table.Rows[row][i]
}

// Unknown tokens and prices must be neither nothing nor left unsaid.
func TestCosts(t *testing.T) {
	var c analysis.Collector
	if got := c.Costs(); len(got.Rows) != 0 {
		t.Fatal("costs of no call")
	}
	detect := &record.Spec{Task: record.Detect, Model: "b/paid", Modality: record.Text, Regime: "L1", Strategy: "omcd", Batch: 10, Rows: 8, Cols: 8}
	other := *detect
	other.Regime = "L2" // another setting, the same row
	free := &record.Spec{Task: record.Navigate, Model: "a/unpriced", Modality: record.Vision}
	c.AddCall(detect, &analysis.PaidCall{Input: new(1000), Cached: new(200), Output: new(10), Reasoning: new(4), Cost: new(int64(2e12)), Latency: time.Second})
	c.AddCall(&other, &analysis.PaidCall{Input: new(500), Output: new(20), Cost: new(int64(1e11)), Inexact: true, Latency: 3 * time.Second})
	c.AddCall(free, &analysis.PaidCall{Latency: time.Second})
	table := c.Costs()
	if len(table.Rows) != 2 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for key, want := range map[string]float64{"input_tokens": 1500, "cached_tokens": 200, "output_tokens": 30, "reasoning_tokens": 4, "usd": 2.1, "seconds": 2} {
		if got := costCell(t, table, 1, key).Value; got == nil || *got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	for _, key := range []string{"input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "usd"} {
		if got := costCell(t, table, 0, key).Value; got != nil {
			t.Errorf("%s of calls of which nothing is known: %v", key, *got)
		}
	}
	said := strings.Join(table.Warnings, "\n")
	if !strings.Contains(said, "a/unpriced, navigate, vision: of 1 call the tokens are not known") || !strings.Contains(said, "b/paid, detect, text: of 1 call the list of prices does not have all") {
		t.Errorf("%s", said)
	}
}

// The order in which calls end must not show.
func TestCostsDoNotDependOnOrder(t *testing.T) {
	spec := &record.Spec{Task: record.Detect, Model: "a/b", Modality: record.Text}
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) analysis.PaidCall {
			return analysis.PaidCall{
				Input:   new(rapid.IntRange(0, 1e6).Draw(t, "input")),
				Cost:    new(rapid.Int64Range(0, 1e13).Draw(t, "cost")),
				Latency: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "latency")),
			}
		}), 1, 20).Draw(t, "calls")
		table := func(calls []analysis.PaidCall) analysis.Table {
			var c analysis.Collector
			for i := range calls {
				c.AddCall(spec, &calls[i])
			}
			return c.Costs()
		}
		if diff := cmp.Diff(table(calls), table(rapid.Permutation(calls).Draw(t, "order"))); diff != "" {
			t.Fatal(diff)
		}
	})
}
