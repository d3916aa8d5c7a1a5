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
	ReadUndecided = "undecided" // more than one action, and nothing says which
	ReadInvalid   = "invalid"   // an answer in the asked form that is no action
	ReadNone      = "none"      // no action named
)

// ParseAction reads one action from a reply. The reading is empty when there is
// one, and says what the reply was otherwise. A JSON object with "action" is
// looked for first, then a line that says "Action: …", then a reply that names
// one action and no other. A plan is no action, and neither are numbers and
// compass points, which the prompt never offers.
func ParseAction(reply *llm.Reply) (a lake.Action, reading string) {
	if reply.Finish == llm.FinishContentFilter {
		return 0, ReadFiltered
	}
	cut := reply.Finish == llm.FinishLength
	if a, reading, ok := actionFromJSON(reply.Text); ok {
		return a, reading
	}
	text, _ := llm.StripThinking(reply.Text)
	text = strings.TrimSpace(text)
	switch {
	case text == "" && cut:
		return 0, ReadTruncated
	case text == "":
		return 0, ReadEmpty
	}
	if a, reading, ok := actionFromMarker(text); ok {
		return a, reading
	}
	if cut {
		return 0, ReadTruncated // a cut train of thought names no choice
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
	actions := map[lake.Action]bool{}
	invalid := false
	collect := func(v any) {
		name, isText := v.(string)
		a, known := lake.ParseAction(strings.ToUpper(strings.TrimSpace(name)))
		if isText && known {
			actions[a] = true
		} else {
			invalid = true
		}
	}
	switch v := value.(type) {
	case llm.Object:
		collect(only(v.Get("action")))
	case []any: // objects in a row
		for _, item := range v {
			object, _ := item.(llm.Object)
			collect(only(object.Get("action")))
		}
	default:
		collect(v)
	}
	switch {
	case len(actions) > 1:
		return 0, ReadUndecided, true
	case invalid || len(actions) == 0:
		return 0, ReadInvalid, true
	}
	for a := range actions {
		return a, "", true
	}
	panic("unreachable")
}

// only is an object's value for a key, nil when there is none to rely on.
func only(v any, ok bool) any {
	if !ok {
		return nil
	}
	return v
}

// answersAction reports whether a value is an answer in the asked form, or
// several of them in a row.
func answersAction(v any) bool {
	switch v := v.(type) {
	case llm.Object:
		return v.Has("action")
	case []any:
		for _, item := range v {
			if object, ok := item.(llm.Object); !ok || !object.Has("action") {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}

var (
	marker = regexp.MustCompile(`(?im)\b(?:final\s+)?(?:action|answer|move)\b[\s*_"'` + "`" + `]*(?:is\b)?[\s*_"'` + "`" + `]*[:=][^\S\n]*([^\n]*)`)
	word   = regexp.MustCompile(`(?i)\b(UP|DOWN|LEFT|RIGHT)\b`)
	upper  = regexp.MustCompile(`\b(UP|DOWN|LEFT|RIGHT)\b`)
	alone  = regexp.MustCompile(`(?i)^(?:I(?:'ll| will)? )?(?:(?:go|move|step|walk|head|going|moving) )?(UP|DOWN|LEFT|RIGHT)$`)
	denied = regexp.MustCompile(`(?i)\b(?:not|never|avoid|cannot|unsafe|deadly|hole)\b|n['’]t\b`)
)

// actionFromMarker reads the last "Action: …" of a text.
func actionFromMarker(text string) (lake.Action, string, bool) {
	marks := marker.FindAllStringSubmatch(text, -1)
	if len(marks) == 0 {
		return 0, "", false
	}
	named := distinct(word.FindAllString(marks[len(marks)-1][1], -1))
	switch len(named) {
	case 0:
		return 0, "", false
	case 1:
		return named[0], "", true
	}
	return 0, ReadUndecided, true
}

// actionFromWords reads a text that names one action: alone, or in capitals
// where no word denies it.
func actionFromWords(text string) (lake.Action, string) {
	bare := strings.Trim(strings.TrimSpace(text), " \t\r\n.,;:!*_`\"'()[]")
	if m := alone.FindStringSubmatch(bare); m != nil {
		a, _ := lake.ParseAction(strings.ToUpper(m[1]))
		return a, ""
	}
	named := distinct(upper.FindAllString(text, -1))
	switch {
	case len(named) > 1:
		return 0, ReadUndecided
	case len(named) == 0 || denied.MatchString(text):
		return 0, ReadNone
	}
	return named[0], ""
}

func distinct(words []string) []lake.Action {
	var out []lake.Action
	seen := map[lake.Action]bool{}
	for _, w := range words {
		if a, ok := lake.ParseAction(strings.ToUpper(w)); ok && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}
