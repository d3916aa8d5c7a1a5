package record

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFlipJSON(t *testing.T) {
	f := Flip{Pos: Pos{2, 13}, To: "H"}
	b, err := json.Marshal(f)
	if err != nil || string(b) != `[2,13,"H"]` {
		t.Errorf("got %s, %v; the export's readers expect [2,13,\"H\"]", b, err)
	}
	for _, bad := range []string{`[]`, `[1,2]`, `[1,2,"H",4]`, `{}`, `"H"`, `["a",2,"H"]`, `[1,2,3]`, `[1.5,2,"H"]`, `7`} {
		if err := json.Unmarshal([]byte(bad), new(Flip)); err == nil {
			t.Errorf("%s was read as a flip", bad)
		}
	}
}

func FuzzFlipJSON(f *testing.F) {
	f.Add([]byte(`[2,13,"H"]`))
	f.Add([]byte(`[null,-1,""]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var flip, again Flip
		if json.Unmarshal(b, &flip) != nil || (flip.To != "F" && flip.To != "H") {
			return
		}
		out, err := json.Marshal(flip)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil || again != flip {
			t.Errorf("%s became %s: %+v, %v", b, out, again, err)
		}
	})
}

// A record that other programs read back must be the one that was written.
func TestRecordsRoundTrip(t *testing.T) {
	id, score := "mem_006", 0.25
	trial := Trial{
		Version: Version,
		Spec:    Spec{Key: "a1", Task: Navigate, Model: "ref/reader", Modality: Text, Regime: "L3", Seed: 1734, Rows: 8, Cols: 9, Strategy: "omcd", Batch: 10, Framing: "neutral", Episode: 2},
		Outcome: Death, Error: "none, really", Counts: Counts{1, 2, 3, 4, 5},
		Windows: []Window{{Index: 1, Step: 5, Visible: []string{"10"}, Judgments: []Judgment{
			{MemoryID: id, Pos: Pos{0, 6}, Claim: "SAFE", Truth: true, Verdict: Stale, Score: &score, Confidence: &score, Reason: "<b>", Repairs: []string{"fence"}},
			{MemoryID: "mem_007", Verdict: Unanswered},
		}, Replies: []Parsed{{Slot: "window1/batch0", Outcome: "partial", Repairs: []string{"fence"}, UnknownIDs: 1}}}},
		Steps: []Step{{T: 1, Action: "DOWN", Next: Pos{1, 0}, Cell: "H", Fallback: true, Event: []Flip{{Pos{1, 0}, "H"}}, Dropped: []Flip{}, Memory: MemoryFiltered, Removed: []string{id}, Visible: []string{"1"}, Reply: "refusal"}},
		Death: &DeathRecord{Pos: Pos{1, 0}, MemoryID: &id, Cause: CauseFallback},
	}
	instance := Instance{
		Seed: 1734, Regime: "L3", Rows: []string{"SF", "FG"}, RowsAfter: []string{"SH", "FG"},
		Events: []Event{{Step: 5, Flips: []Flip{{Pos{0, 1}, "H"}}}},
		Memory: []MemoryEntry{{ID: "mem_000", Claim: "SAFE", Text: "Start", Visited: true}},
	}
	for _, test := range []struct{ value, into any }{{&trial, new(Trial)}, {&instance, new(Instance)}, {&Trial{}, new(Trial)}} {
		b, err := json.Marshal(test.value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, test.into); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.value, test.into); d != "" {
			t.Errorf("%s (-want +got):\n%s", b, d)
		}
	}
}

func TestCountsAdd(t *testing.T) {
	tests := []struct {
		stale   bool
		verdict string
		want    Counts
	}{
		{true, Stale, Counts{TP: 1}},
		{true, Valid, Counts{FN: 1}},
		{true, Unanswered, Counts{FN: 1, Unanswered: 1}},
		{false, Stale, Counts{FP: 1}},
		{false, Valid, Counts{TN: 1}},
		{false, Unanswered, Counts{TN: 1, Unanswered: 1}},
	}
	for _, test := range tests {
		var c Counts
		if c.Add(test.stale, test.verdict); c != test.want {
			t.Errorf("stale %v judged %s: %+v, want %+v", test.stale, test.verdict, c, test.want)
		}
	}
}

func TestRates(t *testing.T) {
	value := func(p *float64) string {
		if p == nil {
			return "null"
		}
		return fmt.Sprintf("%.3f", *p)
	}
	tests := []struct {
		name                       string
		c                          Counts
		precision, recall, fpr, f1 string
	}{
		{"nothing judged", Counts{}, "null", "null", "null", "null"},
		{"nothing flagged", Counts{FN: 6, TN: 58}, "null", "0.000", "0.000", "0.000"},
		{"nothing stale", Counts{TN: 64}, "null", "null", "0.000", "null"},
		{"nothing stale, some flagged", Counts{FP: 2, TN: 62}, "0.000", "null", "0.031", "0.000"},
		{"everything stale", Counts{TP: 3, FN: 1}, "1.000", "0.750", "null", "0.857"},
		{"perfect", Counts{TP: 6, TN: 58}, "1.000", "1.000", "0.000", "1.000"},
		{"mixed", Counts{TP: 4, FP: 1, FN: 2, TN: 57, Unanswered: 9}, "0.800", "0.667", "0.017", "0.727"},
	}
	for _, test := range tests {
		got := [4]string{value(test.c.Precision()), value(test.c.Recall()), value(test.c.FPR()), value(test.c.F1())}
		if want := [4]string{test.precision, test.recall, test.fpr, test.f1}; got != want {
			t.Errorf("%s: precision, recall, FPR, F1 = %v, want %v", test.name, got, want)
		}
	}
}

// Counts of parts add up to the counts of the whole, F1 is the harmonic mean of
// precision and recall, and an unanswered entry is never a flag.
func TestCountsProperties(t *testing.T) {
	judged := rapid.Custom(func(t *rapid.T) (j struct {
		stale   bool
		verdict string
	}) {
		j.stale = rapid.Bool().Draw(t, "stale")
		j.verdict = rapid.SampledFrom([]string{Stale, Valid, Unanswered}).Draw(t, "verdict")
		return j
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(judged).Draw(t, "judgments")
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		var whole, first, second Counts
		for i, j := range all {
			whole.Add(j.stale, j.verdict)
			if i < cut {
				first.Add(j.stale, j.verdict)
			} else {
				second.Add(j.stale, j.verdict)
			}
		}
		if whole.Judged() != len(all) || first.Plus(second) != whole {
			t.Fatalf("%+v and %+v are not %+v of %d", first, second, whole, len(all))
		}
		if whole.Unanswered > whole.FN+whole.TN {
			t.Fatalf("unanswered entries among the flagged: %+v", whole)
		}
		p, r, f1 := whole.Precision(), whole.Recall(), whole.F1()
		if p != nil && r != nil && *p+*r > 0 {
			if mean := 2 * *p * *r / (*p + *r); math.Abs(mean-*f1) > 1e-12 {
				t.Fatalf("F1 %v, harmonic mean %v of %+v", *f1, mean, whole)
			}
		}
		if (f1 == nil) != (p == nil && r == nil) {
			t.Fatalf("F1 is defined exactly when precision or recall is: %+v", whole)
		}
	})
}

func TestReward(t *testing.T) {
	for _, test := range []struct {
		task, outcome string
		want          any
	}{
		{Navigate, Success, 1}, {Navigate, Death, -1}, {Navigate, Timeout, 0},
		{Navigate, Failed, nil}, {Detect, Done, nil}, {Detect, Failed, nil},
	} {
		var got any
		if r := (&Trial{Spec: Spec{Task: test.task}, Outcome: test.outcome}).Reward(); r != nil {
			got = *r
		}
		if got != test.want {
			t.Errorf("%s that ended in %s: reward %v, want %v", test.task, test.outcome, got, test.want)
		}
	}
}

func TestStepCounts(t *testing.T) {
	flips := func(n int) []Flip { return make([]Flip, n) }
	trial := &Trial{Steps: []Step{{Fallback: true, Dropped: flips(2)}, {Event: flips(3)}, {Fallback: true, Dropped: flips(1)}}}
	if trial.Fallbacks() != 2 || trial.DroppedFlips() != 3 {
		t.Errorf("%d fallbacks and %d dropped flips, want 2 and 3", trial.Fallbacks(), trial.DroppedFlips())
	}
	if empty := new(Trial); empty.Fallbacks() != 0 || empty.DroppedFlips() != 0 {
		t.Error("a detection has neither")
	}
}

// The names are the export's; two fields of one name would hide each other.
func TestFieldNamesAreDistinct(t *testing.T) {
	for _, v := range []any{Trial{}, Window{}, Judgment{}, Step{}, Instance{}, MemoryEntry{}, Manifest{}} {
		seen := map[string]bool{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "" {
				continue
			}
			if seen[name] {
				t.Errorf("%T has %s twice", v, name)
			}
			seen[name] = true
		}
	}
}

// Unknown is not none: a failed episode of which nothing is kept has no number
// of steps.
func TestMoves(t *testing.T) {
	two := []Step{{T: 1}, {T: 2}}
	for _, c := range []struct {
		trial Trial
		want  string
	}{
		{Trial{Spec: Spec{Task: Navigate}, Outcome: Success, Steps: two}, "2"},
		{Trial{Spec: Spec{Task: Navigate}, Outcome: Timeout}, "0"},
		{Trial{Spec: Spec{Task: Navigate}, Outcome: Failed}, "unknown"},
		{Trial{Spec: Spec{Task: Navigate}, Outcome: Failed, Steps: two}, "2"},
		{Trial{Spec: Spec{Task: Detect}, Outcome: Done}, "unknown"},
	} {
		got := "unknown"
		if n := c.trial.Moves(); n != nil {
			got = strconv.Itoa(*n)
		}
		if got != c.want {
			t.Errorf("%s, %s, %d steps kept: %s moves, want %s", c.trial.Task, c.trial.Outcome, len(c.trial.Steps), got, c.want)
		}
	}
}
