package analysis

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// asked adds replies to a trial's first window.
func withReplies(t *record.Trial, replies ...record.Parsed) *record.Trial {
	t.Windows[0].Replies = append(t.Windows[0].Replies, replies...)
	return t
}

func TestRepliesByHand(t *testing.T) {
	var c Collector
	parsed := func(outcome string, repairs ...string) record.Parsed {
		return record.Parsed{Outcome: outcome, Repairs: repairs}
	}
	one := withReplies(detection("m", "L1", 1, "SVuu"),
		parsed("answered", "fence", "json-repair"), parsed("partial", "fence"), parsed("refusal"), parsed("sung"))
	one.Windows[0].Judgments[0].Repairs = []string{"fence", "yes-no", "fence"}
	one.Windows[0].Judgments[1].Repairs = []string{"yes-no"}
	one.Windows[0].Replies[1].UnknownIDs = 2
	failed := withReplies(detection("m", "L1", 2, "Sv"), parsed("refusal"))
	failed.Outcome = record.Failed
	walk := episode("m", "no-filter", 1, 1, record.Success, 10, 4)
	for i, reading := range []string{"truncated", "undecided", "none", ""} {
		walk.Steps[i].Reply = reading
	}
	oracle := episode("m", "oracle", 1, 1, record.Success, 5, 0)
	oracle.Windows = []record.Window{judged("Sv")} // by true labels: nobody was asked
	oracle.Windows[0].Judgments[1].Verdict = record.Valid
	oracle.Counts = record.Counts{TP: 1, TN: 1}
	add(t, &c, one, failed, walk, oracle)

	table := c.Replies()
	if n := len(table.Rows); n != 2 {
		t.Fatalf("%d rows, want detection and steps: %v", n, table.Rows)
	}
	for key, want := range map[string]int{"answered": 1, "partial": 1, "refusal": 1, "truncated": 0, "empty": 0, "unparsed": 0, "other": 1, "mended": 2} {
		isShare(t, table, key, want, 4, "detect")
	}
	if got := cellOf(t, table, "unknown_ids", "detect").Count; got != 2 {
		t.Errorf("%d verdicts nobody asked for, want 2", got)
	}
	for key, want := range map[string]int{"answered": 11, "truncated": 1, "unparsed": 3, "other": 0} {
		isShare(t, table, key, want, 15, "navigate-step")
	}
	near(t, "repairs of steps", cellOf(t, table, "mended", "navigate-step").Value, undefined)
	if notes := strings.Join(table.Notes, " "); !strings.Contains(notes, "Not once: filtered, empty.") {
		t.Errorf("the notes do not say what never happened: %s", notes)
	}

	repairs := c.Repairs()
	same(t, "repairs", column(t, repairs, "repair"), "fence", "json-repair", "yes-no")
	isShare(t, repairs, "replies", 2, 4, "fence")
	isShare(t, repairs, "verdicts", 1, 2, "fence")
	isShare(t, repairs, "replies", 0, 4, "yes-no")
	isShare(t, repairs, "verdicts", 2, 2, "yes-no")

	fallbacks := c.Fallbacks()
	same(t, "readings", column(t, fallbacks, "reading"), "none", notRecorded, "truncated", "undecided")
	isShare(t, fallbacks, "steps", 1, 15, "undecided")
}

func TestConfidenceByHand(t *testing.T) {
	var c Collector
	tr := withReplies(detection("m", "L1", 1, "SSVvsu"), record.Parsed{Outcome: "partial"})
	for i, confidence := range []*float64{new(1.0), new(0.8), new(1.0), nil, new(0.25), new(1.0)} {
		tr.Windows[0].Judgments[i].Confidence = confidence
	}
	add(t, &c, tr)
	table := c.Confidence()
	// Right: S 1, S 0.8, v without; wrong: V 1, s 0.25. The last has no verdict.
	if got := cellOf(t, table, "answered").Count; got != 5 {
		t.Errorf("%d verdicts, want 5", got)
	}
	isShare(t, table, "without", 1, 5)
	isShare(t, table, "certain", 2, 5)
	right, wrong := cellOf(t, table, "mean_right"), cellOf(t, table, "mean_wrong")
	near(t, "mean where right", right.Value, 0.9)
	near(t, "mean where wrong", wrong.Value, 0.625)
	if right.N != 2 || wrong.N != 2 {
		t.Errorf("means of %d and %d verdicts, want 2 and 2", right.N, wrong.N)
	}
}

func TestReasonsByHand(t *testing.T) {
	in := pond() // the hole at (1,1) freezes after move 10
	var c Collector
	addInstance(t, &c, in)
	tr := detection("m", "L3", 1)
	tr.Rows, tr.Cols = 4, 4
	say := func(step int, p record.Pos, claim string, truth bool, verdict, reason string) {
		k := len(tr.Windows) - 1
		if k < 0 || tr.Windows[k].Step != step {
			tr.Windows = append(tr.Windows, record.Window{Step: step, Replies: []record.Parsed{{Outcome: "answered"}}})
			k++
		}
		tr.Windows[k].Judgments = append(tr.Windows[k].Judgments, record.Judgment{Pos: p, Claim: claim, Truth: truth, Verdict: verdict, Reason: reason})
		tr.Counts.Add(truth, verdict)
	}
	// After move 5: holes at (1,1) and (0,3).
	say(5, record.Pos{0, 3}, "SAFE", true, record.Valid, "(0,3) is F")               // wrong: the memory's content, kept; neighbours are frozen too
	say(5, record.Pos{0, 3}, "SAFE", true, record.Stale, "it is frozen, I think")    // wrong: the memory's, yet flagged
	say(5, record.Pos{1, 1}, "DANGER", false, record.Valid, "a hole")                // right
	say(5, record.Pos{0, 2}, "SAFE", false, record.Stale, "a hole")                  // wrong: what its neighbour (0,3) is
	say(5, record.Pos{3, 0}, "SAFE", false, record.Stale, "a hole")                  // wrong, and no neighbour is one
	say(5, record.Pos{3, 1}, "SAFE", false, record.Valid, "the memory says SAFE")    // claims nothing
	say(5, record.Pos{3, 1}, "SAFE", false, record.Valid, "frozen or a hole")        // both
	say(5, record.Pos{3, 1}, "SAFE", false, record.Valid, "  ")                      // no reason
	say(5, record.Pos{3, 1}, "SAFE", false, record.Unanswered, "a hole, by the way") // no verdict
	// After move 10 there is no hole: (0,3) is as the memory says again.
	say(10, record.Pos{1, 1}, "DANGER", true, record.Valid, "(1,1) is H") // wrong: the memory's
	say(10, record.Pos{0, 2}, "SAFE", false, record.Valid, "(0,2) is F")  // right, and no neighbour is a hole now
	add(t, &c, tr)

	table := c.Reasons()
	hole, safe := "hole", "safe"
	if got := cellOf(t, table, "reasons", hole); got.Count != 3 || got.Of != 3 {
		t.Errorf("%d of %d reasons about holes, want 3 of 3", got.Count, got.Of)
	}
	if got := cellOf(t, table, "reasons", safe); got.Count != 6 || got.Of != 7 {
		t.Errorf("%d of %d reasons about safe cells, want 6 of 7", got.Count, got.Of)
	}
	isShare(t, table, "unsure", 1, 3, hole)
	isShare(t, table, "unsure", 0, 6, safe)
	isShare(t, table, "named", 3, 3, hole)
	isShare(t, table, "named", 4, 6, safe)
	isShare(t, table, "wrong", 2, 3, hole)
	isShare(t, table, "wrong", 3, 4, safe)
	isShare(t, table, "memory", 2, 2, hole)
	isShare(t, table, "memory", 1, 3, safe)
	isShare(t, table, "neighbour", 2, 2, hole)
	isShare(t, table, "neighbour", 1, 3, safe)
	isShare(t, table, "chance", 3, 3, hole)
	isShare(t, table, "chance", 1, 4, safe)
	for key, want := range map[string][2]int{"both": {0, 1}, "memory_kept": {1, 1}} {
		for i, cell := range []string{hole, safe} {
			if got := cellOf(t, table, key, cell).Count; got != want[i] {
				t.Errorf("%s on %s: %d, want %d", key, cell, got, want[i])
			}
		}
	}
}

// Audits inside an episode see the lake that its steps made, not the schedule.
func TestReasonsFollowTheEpisode(t *testing.T) {
	in := pond()
	var c Collector
	addInstance(t, &c, in)
	tr := walkOn(&in, "omcd", 1, record.Success, 8, record.MemoryFiltered)
	tr.Steps[5].Event = nil // the thaw of (0,3) was dropped
	for i, step := range []int{0, 5} {
		w := record.Window{Index: i, Step: step, Replies: []record.Parsed{{Outcome: "answered"}}}
		w.Judgments = []record.Judgment{{Pos: record.Pos{0, 2}, Claim: "SAFE", Verdict: record.Valid, Reason: "F"}}
		tr.Windows = append(tr.Windows, w)
		tr.Counts.TN++
	}
	add(t, &c, tr)
	isShare(t, c.Reasons(), "chance", 0, 2, "navigate-audit")
	isShare(t, c.Exposure(), "stale", 0, 8*16)

	// Windows may come in any order.
	tr = walkOn(&in, "omcd", 2, record.Success, 8, record.MemoryFiltered)
	for i, step := range []int{5, 0} {
		w := record.Window{Index: i, Step: step, Replies: []record.Parsed{{Outcome: "answered"}}}
		w.Judgments = []record.Judgment{{Pos: record.Pos{0, 2}, Claim: "SAFE", Verdict: record.Valid, Reason: "F"}}
		tr.Windows = append(tr.Windows, w)
		tr.Counts.TN++
	}
	add(t, &c, tr)
	isShare(t, c.Reasons(), "chance", 1, 4, "navigate-audit")
}
