package navigate

import (
	"encoding/json"
	"regexp"
	"slices"
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
	cut := reply.Finish == llm.FinishLength || reply.Finish == llm.FinishRepeats
	switch reply.Finish {
	case llm.FinishContentFilter:
		return 0, ReadFiltered
	case llm.FinishRefusal:
		return 0, ReadRefusal
	}
	if a, reading, ok := actionFromJSON(reply.Text); ok {
		return a, reading
	}
	text, _ := llm.StripThinking(reply.Text)
	text = strings.TrimSpace(tags.ReplaceAllString(llm.Fold(text), " "))
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
	case reply.Finish == llm.FinishRepeats && alone.MatchString(text):
		return actionFromWords(text)
	case cut:
		return 0, ReadTruncated // a cut train of thought names no choice
	case strings.HasPrefix(text, "{"):
		return 0, ReadInvalid // half an object
	}
	return actionFromWords(text)
}

// actionFromJSON reads an object with "action", the last one of a reply, or a
// reply that is JSON as a whole. It is not ok when there is neither.
func actionFromJSON(text string) (a lake.Action, reading string, ok bool) {
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
	for i, v := range values {
		if object, isObject := v.(llm.Object); isObject {
			v = actionOf(object)
		}
		words, _ := v.(string)
		next, reading := actionAtStart(llm.Fold(words))
		if strings.HasPrefix(words, "{") {
			next, reading, _ = actionFromJSON(words)
		}
		switch {
		case reading == ReadUndecided, reading == "" && i > 0 && next != a:
			return 0, ReadUndecided, true
		case reading != "":
			return 0, ReadInvalid, true
		}
		a = next
	}
	return a, "", true
}

// actionOf is an object's value for "action", in any case; nil when there is
// none, or two that differ.
func actionOf(o llm.Object) (found any) {
	for _, m := range o {
		switch _, isText := m.Value.(string); {
		case !strings.EqualFold(m.Key, "action"):
		case !isText || found != nil && found != m.Value:
			return nil
		default:
			found = m.Value
		}
	}
	return found
}

// answersAction reports whether a value is an answer in the asked form, or
// several of them in a row.
func answersAction(v any) bool {
	switch v := v.(type) {
	case llm.Object:
		return slices.ContainsFunc(v, func(m llm.Member) bool { return strings.EqualFold(m.Key, "action") })
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(item any) bool {
			_, isList := item.([]any)
			return isList || !answersAction(item)
		})
	}
	return false
}

// Words of the patterns below. Markup may stand around every word; a bracket
// opens a remark.
const (
	action = `(UP|DOWN|LEFT|RIGHT)\b`
	verb   = `(?:go|move|step|walk|head|proceed|going|moving|stepping|heading)`
	markup = "[\\s>*_#`\"'()\\[\\]-]*"
	within = "[\\s>*_#`\"'-]*"
	behind = "[\\s.,;:!*_#`\"'()\\[\\]-]*"
	link   = `(?:,|;|/|\||->|→|\+|&|or|and|then)`
)

var (
	tags = regexp.MustCompile("</?[A-Za-z][\\w-]*>|(?m:^[ \\t]*(?:```|~~~)[ \\t]*\\w*[ \\t]*$)")
	// marker is "Action:" at the beginning of a line or a sentence, with words
	// before it that choose and none that reject.
	marker = regexp.MustCompile(`(?im)(?:^|[.!?;]\s)` + markup +
		`(?:(?:so|thus|therefore|hence|my|the|final|best|next|chosen|recommended|optimal|correct|safest|safe|selected)[,\s]+)*` +
		`(?:action|answer|move|choice|decision)(?:\s+(?:to take|now))?` + markup + `(?:is\b)?` + markup + `[:=][^\S\n]*([^\n]*(?:\n\s*[^\n]+)?)`)
	// first is an action at the beginning of a text, behind a verb at most, and
	// further another one in a row behind it.
	first   = regexp.MustCompile(`(?i)^` + markup + `(?:(?:I(?:'ll| will| would)?\s+)?(?:` + verb + `|choose|take)\s+)?` + action)
	further = regexp.MustCompile(`(?i)^` + within + `(?:` + link + within + `)*` + action)
	word    = regexp.MustCompile(`(?i)\b` + action)
	upper   = regexp.MustCompile(`\b` + action)
	// alone is a text that is an action, perhaps said several times.
	alone = regexp.MustCompile(`(?i)^` + markup + `(?:(?:I(?:'ll| will)?\s+)?` + verb + `\s+)?` + action + `(?:` + behind + action + `)*` + behind + `$`)
	// denies are words with which a sentence may reject the action it names, or
	// speak of another time.
	denies = regexp.MustCompile(`(?i)\b(?:not|no|never|avoid|cannot|unsafe|dangerous|deadly|holes?|kills?|die|death|worst|worse|bad|wrong|previous|last|forbidden|refuse|except|but|would|could|might|if|instead|rather|leaves?|leads?|edge|wall|blocked|neither|nor|without|suicid\w*|fatal|lethal|risky|madness|fall|drown)\b|n't\b|\?`)
	// chooses is a choice in a sentence: somebody goes, or is to go, an action's
	// way. What going that way is, or leads to, is no choice.
	chooses = regexp.MustCompile(`(?:(?i:\b(?:I|we|agent|should|will|must|let's|let us|let me|am|are|is to|it's|I'm|I'll|I'd|we'll|so|then|please)(?:\s+[a-z]+){0,2}?\s+|^\W*)(?i:` + verb + `|choose|pick|select|take|say|be)(?i:s|ing)?\s+(?i:(?:to|the|with|for|action|cell|one|step|move|go)\s+){0,3}|(?i:\b(?:action|answer|move|choice|decision|direction|step)\s+(?:[a-z]+\s+){0,2}?is\s+(?:to\s+(?:` + verb + `|take|choose)\s+)?))` + within + action +
		`|(?:^|[.!]\s+)(?i:going|moving|heading|stepping)\s+` + action + `\W*$`)
	// assesses is a sentence on what an action is like.
	assesses = regexp.MustCompile(`(?i)(?:^|[.!?;:,]\s*|\bthat\s+|\bthink\s+)(?:going|moving|stepping|heading|walking|taking|choosing|to\s+(?:go|move|step|take))\s+` + within + `(?:to\s+the\s+)?` + action + within + `\s*(?:is|are|was|means|ends|brings|takes|puts|results|seems|looks|gets|makes|keeps)\b`)
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
	var said []string // the lines that are an action, or several
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if alone.MatchString(line) {
			said = append(said, line)
		}
	}
	sure := len(said) > 0 && said[len(said)-1] == lines[len(lines)-1]
	among := upper
	if sure {
		text, among = strings.Join(said, " "), word
	}
	found := among.FindAllString(text, -1)
	for i := range found {
		found[i] = strings.ToUpper(found[i])
	}
	switch found = slices.Compact(found); {
	case len(found) > 1:
		return 0, ReadUndecided // or a plan, one line a step
	case len(found) == 0 || !sure && (denies.MatchString(text) || assesses.MatchString(text) || !chooses.MatchString(text)):
		return 0, ReadNone
	}
	return named(found[0]), ""
}

// named returns the action of a word that is one, in any case.
func named(word string) lake.Action {
	a, _ := lake.ParseAction(strings.ToUpper(word))
	return a
}
