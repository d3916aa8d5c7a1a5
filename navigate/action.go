package navigate

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
)

// What a reply without an action was. Each leads to a fallback step.
const (
	ReadEmpty     = "empty"     // nothing outside thinking
	ReadTruncated = "truncated" // cut before an action was named
	ReadFiltered  = "filtered"  // a content filter answered
	ReadRefusal   = "refusal"   // the provider says that the model declined
	ReadUndecided = "undecided" // more than one action, and nothing says which
	ReadInvalid   = "invalid"   // an answer in the asked form that is no action
	ReadNone      = "none"      // no action named
)

// ParseAction reads one action from a reply. The reading is empty when there is
// one, and says what the reply was otherwise. A JSON object with "action" is
// looked for first, then a line that says "Action: …", then a reply or a last
// line that is an action, then a sentence that chooses one and denies none. A
// plan is no action, and neither are numbers and compass points, which the
// prompt never offers.
func ParseAction(reply *llm.Reply) (a lake.Action, reading string) {
	if reply.Finish == llm.FinishContentFilter {
		return 0, ReadFiltered
	}
	if reply.Finish == llm.FinishRefusal {
		return 0, ReadRefusal
	}
	cut := reply.Finish == llm.FinishLength
	if a, reading, ok := actionFromJSON(reply.Text); ok {
		return a, reading
	}
	text, _ := llm.StripThinking(reply.Text)
	text = strings.TrimSpace(tags.ReplaceAllString(text, " "))
	switch {
	case text == "" && cut:
		return 0, ReadTruncated
	case text == "":
		return 0, ReadEmpty
	}
	if a, reading, ok := actionFromMarker(text); ok {
		return a, reading
	}
	switch {
	case cut:
		return 0, ReadTruncated // a cut train of thought names no choice
	case strings.HasPrefix(text, "{"):
		return 0, ReadInvalid // half an object
	}
	return actionFromWords(text)
}

// actionFromJSON reads an object with "action", the last one of a reply, or a
// reply that is JSON as a whole. It is not ok when there is neither.
func actionFromJSON(text string) (lake.Action, string, bool) {
	value, _, ok := llm.Extract(text, answersAction)
	if !ok {
		rest, _ := llm.StripThinking(text)
		if json.Unmarshal([]byte(rest), &value) != nil {
			return 0, "", false
		}
	}
	values := []any{value}
	if list, isList := value.([]any); isList && answersAction(value) {
		values = list // objects in a row
	}
	named := map[lake.Action]bool{}
	for _, v := range values {
		if object, isObject := v.(llm.Object); isObject {
			v = actionOf(object)
		}
		words, _ := v.(string)
		a, reading := actionAtStart(words)
		if reading == ReadUndecided {
			return 0, ReadUndecided, true
		}
		if reading != "" {
			return 0, ReadInvalid, true
		}
		named[a] = true
	}
	if len(named) > 1 {
		return 0, ReadUndecided, true
	}
	for a := range named {
		return a, "", true
	}
	return 0, ReadInvalid, true
}

// actionOf is an object's value for "action", in any case; nil when there is
// none to rely on. An object may be wrapped in another.
func actionOf(o llm.Object) any {
	var found any
	n := 0
	for _, m := range o {
		if !strings.EqualFold(m.Key, "action") {
			continue
		}
		if n > 0 && found != m.Value {
			return nil
		}
		found = m.Value
		n++
	}
	if n == 0 && len(o) == 1 {
		if inner, ok := o[0].Value.(llm.Object); ok {
			return actionOf(inner)
		}
	}
	if _, isText := found.(string); !isText {
		return nil
	}
	return found
}

// answersAction reports whether a value is an answer in the asked form, or
// several of them in a row.
func answersAction(v any) bool {
	switch v := v.(type) {
	case llm.Object:
		for _, m := range v {
			if strings.EqualFold(m.Key, "action") {
				return true
			}
		}
		if len(v) == 1 {
			inner, ok := v[0].Value.(llm.Object)
			return ok && answersAction(inner)
		}
	case []any:
		for _, item := range v {
			if object, ok := item.(llm.Object); !ok || !answersAction(object) {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}

// Markup may stand around every word; a bracket opens a remark.
const markup = "[\\s>*_#`\"'“”‘’()\\[\\]-]*"

const within = "[\\s>*_#`\"'“”‘’-]*"

var (
	tags = regexp.MustCompile(`</?[A-Za-z][\w-]*>`)
	// marker is "Action:" at the beginning of a line or a sentence, with words
	// before it that choose and none that reject.
	marker = regexp.MustCompile(`(?im)(?:^|[.!?;]\s)` + markup +
		`(?:(?:so|thus|therefore|hence|my|the|final|best|next|chosen|recommended|optimal|correct|safest|safe|selected)[,\s]+)*` +
		`(?:action|answer|move|choice|decision)(?:\s+(?:to take|now))?` + markup + `(?:is\b)?` + markup + `[:=][^\S\n]*([^\n]*(?:\n\s*[^\n]+)?)`)
	// first is an action at the beginning of a text, behind a verb at most.
	first = regexp.MustCompile(`(?i)^` + markup + `(?:(?:I(?:'ll| will| would)?\s+)?(?:go|move|step|walk|head|going|moving|choose|take)\s+)?(UP|DOWN|LEFT|RIGHT)\b`)
	// further is another action in a row behind the first.
	further = regexp.MustCompile(`(?i)^` + within + `(?:(?:,|;|/|\||->|→|\+|&|or|and|then)` + within + `)*(UP|DOWN|LEFT|RIGHT)\b`)
	word    = regexp.MustCompile(`(?i)\b(?:UP|DOWN|LEFT|RIGHT)\b`)
	upper   = regexp.MustCompile(`\b(UP|DOWN|LEFT|RIGHT)\b`)
	alone   = regexp.MustCompile(`(?i)^` + markup + `(?:(?:I(?:'ll| will)?\s+)?(?:go|move|step|walk|head|going|moving)\s+)?(UP|DOWN|LEFT|RIGHT)[\s.,;:!*_#` + "`" + `"'“”‘’()\[\]-]*$`)
	// denies are words with which a sentence may reject the action it names, or
	// speak of another time.
	denies = regexp.MustCompile(`(?i)\b(?:not|no|never|avoid|cannot|unsafe|dangerous|deadly|holes?|kills?|die|death|worst|bad|wrong|previous|last|forbidden|refuse|except|but|would|could|might|if|instead|rather|leaves?|edge|wall|blocked|neither|nor|without)\b|n['’]t\b|\?`)
	// chooses are words with which a sentence chooses.
	chooses = regexp.MustCompile(`(?i)\b(?:I|we|agent|let's|should|will|must|choose|chose|pick|select|take|go|going|move|moving|step|head|walk|proceed)\b`)
)

// actionAtStart reads the action that a text begins with: a reason may follow,
// another action in a row may not.
func actionAtStart(text string) (lake.Action, string) {
	m := first.FindStringSubmatchIndex(text)
	if m == nil {
		return 0, ReadNone
	}
	a := named(text[m[2]:m[3]])
	if next := further.FindStringSubmatch(text[m[1]:]); next != nil && named(next[1]) != a {
		return 0, ReadUndecided
	}
	return a, ""
}

// actionFromMarker reads the last "Action: …" of a text. What stands there
// counts, also when it is a refusal or a plan.
func actionFromMarker(text string) (lake.Action, string, bool) {
	marks := marker.FindAllStringSubmatch(text, -1)
	if len(marks) == 0 {
		return 0, "", false
	}
	rest := marks[len(marks)-1][1]
	if line, next, two := strings.Cut(rest, "\n"); two && strings.Trim(line, " \t*_`") != "" {
		rest = line // only an empty line passes the word on to the next
	} else if two {
		rest = next
	}
	a, reading := actionAtStart(rest)
	if reading == ReadNone && !word.MatchString(rest) {
		return 0, "", false
	}
	return a, reading, true
}

// actionFromWords reads a text that is an action, or ends in a line that is
// one, or has one in capitals in a sentence that chooses and denies nothing.
func actionFromWords(text string) (lake.Action, string) {
	if m := alone.FindStringSubmatch(text); m != nil {
		return named(m[1]), ""
	}
	lines := strings.Split(text, "\n")
	if m := alone.FindStringSubmatch(lines[len(lines)-1]); m != nil {
		for _, line := range lines[:len(lines)-1] {
			if alone.MatchString(line) {
				return 0, ReadUndecided // a plan, one line a step
			}
		}
		return named(m[1]), ""
	}
	found := map[string]bool{}
	for _, w := range upper.FindAllString(text, -1) {
		found[w] = true
	}
	switch {
	case len(found) > 1:
		return 0, ReadUndecided
	case len(found) == 0 || denies.MatchString(text) || !chooses.MatchString(text):
		return 0, ReadNone
	}
	return named(upper.FindString(text)), ""
}

// named returns the action of a word that is one, in any case.
func named(word string) lake.Action {
	a, _ := lake.ParseAction(strings.ToUpper(word))
	return a
}
