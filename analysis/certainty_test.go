package analysis

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// certainOf is a detection whose entries have these probabilities of "stale",
// of valid and of stale entries. The tokens' own add up to four fifths.
func certainOf(seed int, valid, stale []float64) *record.Trial {
	tr := detection("m", "L1", seed)
	w := record.Window{}
	for truth, list := range [][]float64{valid, stale} {
		for _, p := range list {
			j := record.Judgment{Truth: truth == 1, Verdict: record.Valid, StaleLogprob: new(math.Log(0.8 * p)), ValidLogprob: new(math.Log(0.8 * (1 - p)))}
			if p >= 0.5 {
				j.Verdict = record.Stale
			}
			tr.Counts.Add(j.Truth, j.Verdict)
			w.Judgments = append(w.Judgments, j)
		}
	}
	tr.Windows = []record.Window{w}
	return tr
}

func TestCertaintyByHand(t *testing.T) {
	var c Collector
	add(t, &c, detection("other", "L1", 1, "SSvv"))
	if rows := c.Certainty().Rows; len(rows) != 0 {
		t.Errorf("%d rows without a probability", len(rows))
	}
	first := certainOf(1, []float64{0.15, 0.45, 0.35, 0.85}, []float64{0.35, 0.95})
	// An entry without an answer, one without probabilities, and one with only
	// one of the two.
	w := &first.Windows[0]
	for _, j := range []record.Judgment{
		{Truth: true, Verdict: record.Unanswered, StaleLogprob: new(-1.0)},
		{Truth: true, Verdict: record.Stale},
		{Truth: true, Verdict: record.Stale, StaleLogprob: new(math.Log(0.75))},
	} {
		first.Counts.Add(j.Truth, j.Verdict)
		w.Judgments = append(w.Judgments, j)
	}
	add(t, &c, first, certainOf(2, []float64{0.25}, nil))
	table := c.Certainty()
	same(t, "rows", column(t, table, "model"), "m")
	isShare(t, table, "known", 8, 9)
	// What scikit-learn 1.9 gives: roc_auc_score([0,0,0,0,1,1,1], [.15,.45,.35,.85,.35,.95,.75]).
	near(t, "AUROC", cellOf(t, table, "auroc").Value, 0.7083333333333333)
	if n := cellOf(t, table, "auroc").N; n != 1 {
		t.Errorf("it rests on %d seeds; the second has no stale entry", n)
	}
	near(t, "mean p of stale", cellOf(t, table, "p_stale").Value, (0.35+0.95+0.75)/3)
	near(t, "mean p of valid", cellOf(t, table, "p_valid").Value, (1.8/4+0.25)/2)

	bins := c.CertaintyCalibration()
	same(t, "bins", column(t, bins, "p"), "0.1 to <0.2", "0.2 to <0.3", "0.3 to <0.4", "0.4 to <0.5", "0.7 to <0.8", "0.8 to <0.9", "0.9 to <1.0")
	isShare(t, bins, "stale", 1, 2, "0.3 to <0.4")
	isShare(t, bins, "stale", 1, 1, "0.7 to <0.8")
	near(t, "mean p in a bin", cellOf(t, bins, "mean_p", "0.3 to <0.4").Value, 0.35)
}

// Would fail if AUROC were not the share of pairs in the right order with ties
// half, if it depended on the order of the windows, or if certain ends broke it.
func TestAUROC(t *testing.T) {
	odds := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-5, 5).Draw(t, "odds")) / 2 })
	rapid.Check(t, func(t *rapid.T) {
		kinds := [2][]float64{rapid.SliceOf(odds).Draw(t, "valid"), rapid.SliceOf(odds).Draw(t, "stale")}
		var windows []record.Window
		for truth, list := range kinds {
			for _, o := range list {
				p := 1 / (1 + math.Exp(-o))
				windows = append(windows, record.Window{Judgments: []record.Judgment{
					{Truth: truth == 1, Verdict: record.Valid, StaleLogprob: new(math.Log(p)), ValidLogprob: new(math.Log1p(-p))}}})
			}
		}
		var one, two certaintyTally
		for i := range windows {
			one.add(&windows[i])
		}
		for i := range slices.Backward(windows) {
			two.add(&windows[i])
		}
		right, pairs := 0.0, 0.0
		for _, s := range kinds[1] {
			for _, v := range kinds[0] {
				pairs++
				switch {
				case s > v:
					right++
				case s == v:
					right += 0.5
				}
			}
		}
		a, b := one.auroc(), two.auroc()
		if (a == nil) != (pairs == 0) || (b == nil) != (a == nil) {
			t.Fatalf("%v and %v of %v pairs", a, b, pairs)
		}
		if a != nil && (math.Abs(*a-right/pairs) > 1e-12 || *a != *b) {
			t.Fatalf("%v and %v, want %v", *a, *b, right/pairs)
		}
	})
	for _, c := range []struct {
		stale, valid *float64
		want         float64
		ok           bool
	}{
		{new(0.0), nil, math.Inf(1), true},
		{nil, new(0.0), math.Inf(-1), true},
		{new(math.Log(0.25)), nil, math.Log(1.0 / 3), true},
		{new(math.Log(0.25)), new(math.Log(0.5)), math.Log(0.5), true},
		{nil, nil, 0, false},
		{new(0.5), nil, 0, false},
		{new(math.NaN()), new(-1.0), math.Log(math.E - 1), true}, // one that is no number is none
	} {
		got, ok := logOdds(c.stale, c.valid)
		if ok != c.ok || got != c.want && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v, %v", got, ok)
		}
	}
}
