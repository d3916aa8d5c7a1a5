package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// Outcomes of a reply (record.Parsed).
const (
	Answered  = "answered"  // every entry has a verdict
	Partial   = "partial"   // some have
	Truncated = "truncated" // it was cut off; what was complete counts (record.Window.AnsweredThenCut: all of it)
	Refusal   = "refusal"   // the provider says that the model declined; or no verdict, and the words of one who declines (llm.Refuses)
	Filtered  = "filtered"  // stopped by the provider's content filter
	Empty     = "empty"     // no text
	Unparsed  = "unparsed"  // no verdict, for any other reason
)

// What Parse can have repaired in a judgment, besides the repairs of llm.Extract.
const (
	RepairID         = "id"         // brackets, quotes, case, leading zeros or a missing prefix of an id
	RepairKey        = "key"        // another name for memory_id or is_stale
	RepairBoolean    = "boolean"    // is_stale given as a word or as 0 or 1
	RepairConfidence = "confidence" // confidence given as a string
	RepairScore      = "score"      // score given as a string
	RepairScattered  = "scattered"  // judgments stand one by one in other text
	RepairKeyed      = "keyed"      // an object keyed by the ids in place of a list
)

// Parse reads a reply to an audit of the asked names, which differ from each
// other. There is one verdict for each, in their order.
//
// It takes a list of judgments, an object around one, a single judgment, JSON
// lines and an object keyed by id; see llm.Extract for what may stand around
// them. An id matches exactly, or else when it resembles a single asked one.
// An entry is unanswered when no judgment names it, when its verdict is neither
// a boolean nor a word or digit for one, and when judgments on it contradict
// each other. A confidence that is no number in [0,1] is nil. Where the reply
// has log-probabilities of its booleans, a verdict has those of the one that it
// was read from. The slot in the record is left to the caller.
func Parse(asked []string, reply *llm.Reply) ([]Verdict, record.Parsed) {
	return form{verdict: isStale}.parse(asked, reply)
}

// ParseScores reads a reply that gives each entry a score in [0,1], as Parse
// reads one with verdicts. An entry is stale from the threshold on; one whose
// score is no number in [0,1] is unanswered.
func ParseScores(asked []string, reply *llm.Reply, threshold float64) ([]Verdict, record.Parsed) {
	return form{verdict: score, threshold: threshold}.parse(asked, reply)
}

// ParseWords reads a reply whose verdicts are words, stale, valid or not_covered,
// as Parse reads one with booleans; booleans are read as well.
func ParseWords(asked []string, reply *llm.Reply) ([]Verdict, record.Parsed) {
	return form{verdict: isStale, words: true}.parse(asked, reply)
}

func (f form) parse(asked []string, reply *llm.Reply) ([]Verdict, record.Parsed) {
	if reply == nil {
		reply = &llm.Reply{}
	}
	verdicts, parsed := f.readOnce(asked, reply)
	if f.verdict == isStale {
		f.addCertainty(asked, reply, verdicts)
	}
	return verdicts, parsed
}

func (f form) readOnce(asked []string, reply *llm.Reply) ([]Verdict, record.Parsed) {
	r := reader{form: f, asked: &names{list: asked}}
	js, repairs := r.find(reply.Text)
	if reply.Finish == llm.FinishDone { // ended by us, behind the last verdict
		repairs = slices.DeleteFunc(repairs, func(s string) bool { return s == llm.RepairTruncated })
	}
	if reply.AnsweredInReasoning() && len(js) > 0 {
		repairs = append([]string{llm.RepairReasoning}, repairs...)
	}
	answers, unknown := r.answers(js)

	verdicts := make([]Verdict, len(asked))
	parsed := record.Parsed{Repairs: repairs, UnknownIDs: unknown}
	answered := 0
	for i, a := range answers {
		v := Verdict{ID: asked[i], Status: record.Unanswered}
		if a.given && !a.conflict {
			for _, repair := range a.Repairs {
				if !slices.Contains(parsed.Repairs, repair) {
					parsed.Repairs = append(slices.Clip(parsed.Repairs), repair)
				}
			}
			v = a.Verdict
			v.ID, v.Repairs = asked[i], slices.Concat(repairs, a.Repairs)
		}
		if v.Status != record.Unanswered {
			answered++
		}
		verdicts[i] = v
	}
	parsed.Outcome = outcome(reply, repairs, answered, len(asked))
	return verdicts, parsed
}

func outcome(reply *llm.Reply, repairs []string, answered, asked int) string {
	switch {
	case reply.Finish == llm.FinishContentFilter:
		return Filtered
	case reply.Finish == llm.FinishLength:
		return Truncated
	case answered == asked:
		return Answered
	case reply.Finish == llm.FinishRefusal:
		return Refusal
	case slices.Contains(repairs, llm.RepairTruncated), reply.Finish == llm.FinishRepeats:
		return Truncated // cut off, though the provider does not say so
	case answered > 0:
		return Partial
	case strings.TrimSpace(reply.Text) == "":
		return Empty
	case llm.Refuses(reply.Text):
		return Refusal
	}
	return Unparsed
}

// A reader gathers the judgments of one reply.
type reader struct {
	form
	asked *names
}

// find returns the judgments of a reply's answer: the last value that has one on
// every entry, so that it stands also when an example or a summary follows; or
// else the last that has one on any; or the last that has any judgment.
func (r *reader) find(text string) (js []judgment, repairs []string) {
	for stage, enough := range []func(int) bool{
		func(known int) bool { return known == len(r.asked.list) },
		func(known int) bool { return known > 0 },
		func(int) bool { return len(js) > 0 },
	} {
		v, repairs, ok := llm.Extract(text, func(v any) bool {
			js = r.judgments(v, r.asked)
			return enough(r.known(js))
		})
		if !ok {
			continue
		}
		if stage > 0 && alone(v, js) {
			if found := r.scattered(text); len(found) > 1 {
				return found, append(repairs, RepairScattered)
			}
		}
		return js, repairs
	}
	return nil, nil
}

// known counts the asked entries that judgments are on.
func (r *reader) known(js []judgment) int {
	seen := make(map[int]bool, len(js))
	for i := range js {
		if at, _, ok := r.asked.find(js[i].id); ok {
			seen[at] = true
		}
	}
	return len(seen)
}

// alone reports whether a value is one judgment, or an object around it.
func alone(v any, js []judgment) bool {
	_, object := v.(llm.Object)
	return object && len(js) == 1
}

// scattered gathers the judgments of a reply that gives them one by one, as in
// a numbered list; there are none when the reply has any other shape.
func (r *reader) scattered(text string) (js []judgment) {
	for _, v := range llm.Values(text) {
		found := r.judgments(v, r.asked)
		if len(found) > 0 && !alone(v, found) {
			return nil
		}
		js = append(js, found...)
	}
	return js
}

// answers are what the judgments amount to for each asked entry; unknown counts
// those on other entries.
func (r *reader) answers(js []judgment) (answers []answer, unknown int) {
	answers = make([]answer, len(r.asked.list))
	places := r.places(js)
	for i := range js {
		at, repaired, ok := r.asked.find(js[i].id)
		if !ok || repaired && places && isNumber(js[i].id) {
			unknown++
			continue
		}
		a := r.answer(&js[i])
		if repaired {
			a.Repairs = append([]string{RepairID}, a.Repairs...)
		}
		answers[at].add(a)
	}
	return answers, unknown
}

// places reports whether the numbers that stand for ids are places in the
// batch, 1, 2, 3, …, and not the ids without their prefix: then one of them is
// no asked id, and the others may be another entry's. It also does when they
// could be either: the beginning of a count that was cut off.
func (r *reader) places(js []judgment) bool {
	inOrder, differ, seen := true, false, 0
	for i := range js {
		at, repaired, ok := r.asked.find(js[i].id)
		switch {
		case !isNumber(js[i].id) || ok && !repaired:
			continue
		case !ok:
			return true
		}
		seen++
		inOrder = inOrder && bare(js[i].id) == strconv.Itoa(seen)
		differ = differ || at != seen-1
	}
	return inOrder && differ
}
