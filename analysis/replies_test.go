package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// audited is a detection whose entries have verdicts, a letter each: s stale, v
// valid, u unanswered; none of them is stale in truth.
func audited(batch int, verdicts string, replies ...record.Parsed) *record.Trial {
	t := &record.Trial{Spec: record.Spec{Task: record.Detect, Regime: "L1", Strategy: "omcd", Seed: 1}, Outcome: record.Done, Windows: []record.Window{{Replies: replies}}}
	for i, v := range verdicts {
		j := record.Judgment{Pos: record.Pos{i / 8, i % 8}, Claim: "SAFE", Verdict: map[rune]string{'s': record.Stale, 'v': record.Valid, 'u': record.Unanswered}[v]}
		t.Counts.Add(false, j.Verdict)
		t.Windows[0].Judgments = append(t.Windows[0].Judgments, j)
	}
	return t
}

// A reply that was cut behind its last verdict has lost nothing. Counted with
// those that were cut before an answer, a model that runs on would look like one
// that does not get to the point.
func TestRepliesByHand(t *testing.T) {
	trial := audited(10, strings.Repeat("v", 10)+"vvvvvuuuuu"+strings.Repeat("v", 10)+strings.Repeat("u", 20),
		record.Parsed{Slot: "window0/batch0", Outcome: "truncated", UnknownIDs: 3},
		record.Parsed{Slot: "window0/batch1", Outcome: "truncated"},
		record.Parsed{Slot: "window0/batch2", Outcome: "answered", Repairs: []string{"fence"}},
		record.Parsed{Slot: "window0/batch3", Outcome: "refusal"},
		record.Parsed{Slot: "window0/batch4", Outcome: "sung"})
	table := tableOf(t, byHand(t, trial), "replies")
	row := rowOf(t, table, map[string]string{"task": "detect"})
	for key, want := range map[string]int{"answered": 1, "answered_then_cut": 1, "truncated": 1, "partial": 0, "refusal": 1, "unparsed": 0, "other": 1, "mended": 1} {
		if c := row[key]; c.Count != want || c.Of != 5 {
			t.Errorf("%s: %d of %d, want %d of 5", key, c.Count, c.Of, want)
		}
	}
	if got := row["unknown_ids"].Count; got != 3 {
		t.Errorf("%d verdicts on ids that were not asked, want 3", got)
	}
	if !shown(table, "unknown_ids") || !shown(table, "answered_then_cut") || shown(table, "empty") {
		t.Error("people are not shown what occurs, or are shown what does not")
	}
	if notes := strings.Join(table.Notes, " "); !strings.Contains(notes, "Not once: partial, filtered, empty, unparsed.") {
		t.Errorf("the notes do not say what never happened: %s", notes)
	}
	if table := tableOf(t, byHand(t, audited(10, "vv", record.Parsed{Slot: "window0/batch0", Outcome: "answered"})), "replies"); shown(table, "unknown_ids") {
		t.Error("verdicts on ids that were not asked are shown where there is none")
	}
}

// shown tells whether people are shown a column.
func shown(table analysis.Table, key string) bool {
	return slices.ContainsFunc(table.Columns, func(c analysis.Column) bool { return c.Key == key && !c.DataOnly })
}

// A star for 0.000 would praise a strategy with which nobody arrived.
func TestNoStarWhereNobodySucceeds(t *testing.T) {
	best := func(trials ...[]*record.Trial) map[string][2]bool {
		out := map[string][2]bool{}
		table := tableOf(t, byHand(t, slices.Concat(trials...)...), "navigation-text")
		for _, strategy := range []string{"no-filter", "omcd"} {
			row := rowOf(t, table, map[string]string{"strategy": strategy})
			out[strategy] = [2]bool{row["success"].Best, row["death"].Best}
		}
		return out
	}
	if got := best(episodes("L1", "no-filter", 0, 0), episodes("L1", "omcd", 0, 0)); got["no-filter"] != [2]bool{} || got["omcd"] != [2]bool{} {
		t.Errorf("all died, and yet there is a best: %v", got)
	}
	if got := best(episodes("L1", "no-filter", 0, 0), episodes("L1", "omcd", 0, 1)); got["no-filter"] != [2]bool{} || got["omcd"] != [2]bool{true, true} {
		t.Errorf("one success of twenty is the best, and so is one death less: %v", got)
	}
	if got := best(episodes("L1", "no-filter", 10, 10), episodes("L1", "omcd", 10, 10)); got["no-filter"] != [2]bool{true, true} || got["omcd"] != [2]bool{true, true} {
		t.Errorf("all arrived with both, which tie: %v", got)
	}
}
