package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// Would fail if a reply whose verdicts all count passed for one that was cut
// before its answer, or the other way round.
func TestAnsweredThenCut(t *testing.T) {
	const cut = "truncated"
	for _, c := range []struct {
		name     string
		batch    int
		verdicts string // a letter each: stale, valid, unanswered
		replies  []record.Parsed
		want     []bool
	}{
		{"a batch each", 2, "sv vu s", []record.Parsed{{Slot: "window0/batch0", Outcome: cut}, {Slot: "window0/batch1", Outcome: cut}, {Slot: "window0/batch2", Outcome: cut}}, []bool{true, false, true}},
		{"not cut", 2, "sv", []record.Parsed{{Slot: "window3/batch0", Outcome: "answered"}}, []bool{false}},
		{"a whole store", 0, "svvsv", []record.Parsed{{Slot: "window1/store", Outcome: cut}}, []bool{true}},
		{"a whole store with a gap", 0, "svvsu", []record.Parsed{{Slot: "window1/store", Outcome: cut}}, []bool{false}},
		{"asked once more", 3, "svv", []record.Parsed{{Slot: "window0/batch0", Outcome: cut}, {Slot: "window0/batch0/again", Outcome: cut}}, []bool{false, true}},
		{"asked once more in vain", 3, "svu", []record.Parsed{{Slot: "window0/batch0", Outcome: cut}, {Slot: "window0/batch0/again", Outcome: cut}}, []bool{false, false}},
		{"no such batch", 2, "sv", []record.Parsed{{Slot: "window0/batch7", Outcome: cut}, {Slot: "window0/batch-9", Outcome: cut}}, []bool{false, false}},
		{"no entries", 2, "", []record.Parsed{{Slot: "window0/store", Outcome: cut}}, []bool{false}},
	} {
		w := record.Window{Replies: c.replies}
		for _, v := range strings.ReplaceAll(c.verdicts, " ", "") {
			w.Judgments = append(w.Judgments, record.Judgment{Verdict: map[rune]string{'s': record.Stale, 'v': record.Valid, 'u': record.Unanswered}[v]})
		}
		if got := w.AnsweredThenCut(c.batch); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
