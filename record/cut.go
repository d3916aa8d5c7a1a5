package record

import (
	"fmt"
	"strings"
)

// AnsweredThenCut tells of each of a window's replies whether it was cut off
// though every entry that it was asked about had its verdict by then: its
// outcome is "truncated", and yet nothing is lost. batch is the trial's
// (Spec.Batch).
//
// It is told from the verdicts and not an outcome of its own, so that runs that
// were recorded before the difference was made have it as well, and say what
// they said.
func (w *Window) AnsweredThenCut(batch int) []bool {
	out := make([]bool, len(w.Replies))
	again := map[string]bool{} // slots whose reply left out entries
	for i := range w.Replies {
		if first, ok := strings.CutSuffix(w.Replies[i].Slot, "/again"); ok {
			again[first] = true
		}
	}
	var verdicts []string // in the order in which entries are asked about
	for i := range w.Judgments {
		verdicts = append(verdicts, w.Judgments[i].Verdict)
	}
	for i := range w.Distractors {
		verdicts = append(verdicts, w.Distractors[i].Verdict)
	}
	for i := range w.Replies {
		r := &w.Replies[i]
		asked := verdicts
		first := strings.TrimSuffix(r.Slot, "/again")
		var window, number int
		if _, err := fmt.Sscanf(first, "window%d/batch%d", &window, &number); err == nil {
			start, end := number*batch, (number+1)*batch
			if asked = asked[:min(max(end, 0), len(asked))]; start < 0 || start > len(asked) {
				start = len(asked)
			}
			asked = asked[start:]
		}
		out[i] = r.Outcome == "truncated" && len(asked) > 0 && !again[r.Slot]
		for j := range asked {
			out[i] = out[i] && asked[j] != Unanswered
		}
	}
	return out
}
