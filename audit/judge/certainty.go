package judge

import (
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// maxCertainty bounds the bytes that are read again to find which boolean gave
// which verdict.
const maxCertainty = 8 << 20

// addCertainty gives each verdict the log-probabilities of the boolean that it
// was read from.
//
// That boolean is found by turning each one over in the text and reading again:
// the one that turns a single verdict over, and changes nothing else, is that
// verdict's. It is slower than to keep count of places through every repair of
// a reply (llm.Extract), but it cannot take a draft's boolean, or an example's,
// for the answer's. A verdict that rests on two booleans has none.
func (f form) addCertainty(asked []string, reply *llm.Reply, verdicts []Verdict) {
	if len(reply.Booleans)*len(reply.Text) > maxCertainty {
		return
	}
	given := make([]int, len(verdicts))
	for i := range reply.Booleans {
		b := &reply.Booleans[i]
		text, word, ok := turned(reply.Text, b.At)
		if !ok {
			continue
		}
		other := *reply
		other.Text, other.Booleans = text, nil
		again, _ := f.readOnce(asked, &other)
		at := onlyTurned(verdicts, again)
		if at < 0 || (verdicts[at].Status == record.Stale) != word {
			continue
		}
		if given[at]++; given[at] > 1 {
			verdicts[at].StaleLogprob, verdicts[at].ValidLogprob = nil, nil
			continue
		}
		verdicts[at].StaleLogprob, verdicts[at].ValidLogprob = b.True, b.False
	}
}

// turned returns the text with the boolean at an offset turned over, and what
// the boolean is.
func turned(text string, at int) (out string, value, ok bool) {
	if at < 0 || at > len(text) {
		return "", false, false
	}
	for _, w := range []struct {
		word, other string
		value       bool
	}{{"true", "false", true}, {"True", "False", true}, {"false", "true", false}, {"False", "True", false}} {
		if rest, found := strings.CutPrefix(text[at:], w.word); found {
			return text[:at] + w.other + rest, w.value, true
		}
	}
	return "", false, false
}

// onlyTurned returns the one verdict that is stale on one side and valid on the
// other; -1 when there is another number of them, or any other difference.
func onlyTurned(a, b []Verdict) int {
	turned := -1
	for i := range a {
		if a[i].Status == b[i].Status {
			continue
		}
		if turned >= 0 || a[i].Status == record.Unanswered || b[i].Status == record.Unanswered {
			return -1
		}
		turned = i
	}
	return turned
}
