package audit

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
	Truncated = "truncated" // it ended at the output cap; what was complete counts
	Refusal   = "refusal"   // the provider says that the model declined; or no verdict, and the words of one who declines (llm.Refuses)
	Filtered  = "filtered"  // stopped by the provider's content filter
	Empty     = "empty"     // no text
	Unparsed  = "unparsed"  // no verdict, for any other reason
)

// What Parse can have mended in a judgment, besides the repairs of llm.Extract.
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
	r := reader{form: f, asked: names{list: asked}}
	value, repairs, ok := llm.Extract(reply.Text, r.covers)
	if !ok {
		// No answer is whole; then the last one that says anything.
		value, repairs, ok = llm.Extract(reply.Text, r.fits)
		if list := r.scattered(reply.Text, value); ok && list != nil {
			value, repairs = list, append(repairs, RepairScattered)
		}
	}
	if !ok {
		// Nothing on the entries asked about; it may still be on others.
		value, repairs, ok = llm.Extract(reply.Text, f.judges)
	}
	r.answers = make([]answer, len(asked))
	if ok {
		r.read(value)
	}

	verdicts := make([]Verdict, len(asked))
	parsed := record.Parsed{Repairs: repairs, UnknownIDs: r.unknown}
	answered := 0
	for i, a := range r.answers {
		v := Verdict{ID: asked[i], Status: record.Unanswered}
		if a.given && !a.conflict {
			v.Status, v.Score, v.Confidence, v.Reason = a.status, a.score, a.confidence, a.reason
			v.Repairs = repairs
			if len(a.repairs) > 0 {
				v.Repairs = slices.Concat(repairs, a.repairs)
			}
		}
		if v.Status != record.Unanswered {
			answered++
		}
		for _, repair := range v.Repairs[min(len(repairs), len(v.Repairs)):] {
			if !slices.Contains(parsed.Repairs, repair) {
				parsed.Repairs = append(slices.Clip(parsed.Repairs), repair)
			}
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
	case slices.Contains(repairs, llm.RepairTruncated):
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
	asked   names
	answers []answer // one for each asked entry
	unknown int      // judgments on other entries
}

// An answer is what the judgments on one entry amount to.
type answer struct {
	given      bool
	conflict   bool
	status     string
	score      *float64
	confidence *float64
	reason     string
	repairs    []string
}

// covers reports whether a value has a judgment on every asked entry. Such an
// answer stands also when an example or a summary follows it.
func (r *reader) covers(v any) bool {
	r.asked.next = 0
	left := len(r.asked.list)
	seen := make([]bool, left)
	r.each(v, &r.asked, func(j *judgment) bool {
		if i, _, ok := r.asked.find(j.id); ok && !seen[i] {
			seen[i] = true
			left--
		}
		return left > 0
	})
	return left == 0
}

// scattered gathers the judgments of a reply that gives them one by one, as in
// a numbered list, when the last of them is all that was found; nil when the
// reply has any other shape.
func (r *reader) scattered(text string, last any) []any {
	if _, alone := last.(llm.Object); !alone || len(r.asked.list) < 2 {
		return nil
	}
	var found []any
	for _, v := range llm.Values(text) {
		_, alone := v.(llm.Object)
		switch {
		case !r.fits(v):
		case !alone:
			return nil
		default:
			found = append(found, v)
		}
	}
	if len(found) < 2 {
		return nil
	}
	return found
}

// fits reports whether a value has a judgment on an asked entry.
func (r *reader) fits(v any) bool {
	found := false
	r.each(v, &r.asked, func(j *judgment) bool {
		_, _, found = r.asked.find(j.id)
		return !found
	})
	return found
}

// judges reports whether a value has any judgment.
func (f form) judges(v any) bool {
	found := false
	f.each(v, nil, func(*judgment) bool {
		found = true
		return false
	})
	return found
}

func (r *reader) read(v any) {
	counts := r.counts(v)
	r.asked.next = 0
	r.each(v, &r.asked, func(j *judgment) bool {
		i, mended, ok := r.asked.find(j.id)
		if !ok || mended && counts && isNumber(j.id) {
			r.unknown++
			return true
		}
		a := r.form.answer(j)
		if mended {
			a.repairs = append([]string{RepairID}, a.repairs...)
		}
		r.answers[i].add(a)
		return true
	})
}

// counts reports whether the numbers that stand for ids are places in the
// batch, 1, 2, 3, …, and not the ids without their prefix: then one of them is
// no asked id, and the others may be another entry's. It also does when they
// could be either: the beginning of a count that was cut off.
func (r *reader) counts(v any) bool {
	stray, inOrder, differ, seen := false, true, false, 0
	r.asked.next = 0
	r.each(v, &r.asked, func(j *judgment) bool {
		if !isNumber(j.id) {
			return true
		}
		i, mended, ok := r.asked.find(j.id)
		if ok && !mended {
			return true // it is an id
		}
		stray = !ok
		seen++
		inOrder = inOrder && bare(j.id) == strconv.Itoa(seen)
		differ = differ || ok && i != seen-1
		return !stray
	})
	return stray || inOrder && differ
}

// add takes in a judgment: the first one counts, and any that differs from it
// leaves the entry unanswered.
func (a *answer) add(b answer) {
	switch {
	case !a.given:
		*a = b
	case a.status != b.status || !equal(a.score, b.score):
		a.conflict = true
	}
}

func equal(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
