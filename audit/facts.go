package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// Facts reads a structured text: lines of "key: value" or "key = value", or one
// JSON object, whose inner keys are joined by dots. Lines of another form are
// passed over. A key that is there twice with values that differ is dropped: it
// is not known which of them holds.
func Facts(text string) map[string]string {
	facts, _ := readFacts(text)
	return facts
}

// Structured reports whether all of a text can be read as Facts.
func Structured(text string) bool {
	facts, others := readFacts(text)
	return len(facts) > 0 && others == 0
}

// readFacts reads Facts, and counts the lines of another form.
func readFacts(text string) (facts map[string]string, others int) {
	facts = map[string]string{}
	clash := map[string]bool{}
	add := func(key, value string) {
		key, value = factKey(key), strings.TrimSpace(value)
		if old, ok := facts[key]; ok && old != value {
			clash[key] = true
		}
		facts[key] = value
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err == nil && !dec.More() {
		flatten("", object, add)
	} else {
		for line := range strings.Lines(normalLines(text)) {
			if key, value, ok := keyValue(line); ok {
				add(key, value)
			} else if strings.TrimSpace(line) != "" {
				others++
			}
		}
	}
	for key := range clash {
		delete(facts, key)
	}
	return facts, others
}

// flatten adds the values of an object that are text, numbers or booleans.
func flatten(prefix string, object map[string]any, add func(key, value string)) {
	for key, value := range object {
		switch v := value.(type) {
		case map[string]any:
			flatten(prefix+key+".", v, add)
		case string, json.Number, bool:
			add(prefix+key, fmt.Sprint(v))
		}
	}
}

var keyValuePattern = regexp.MustCompile(`^\s*(?:[-*]\s+)?([\pL\pN_][\pL\pN_ ./-]{0,79}?)\s*[:=]\s*(\S.*?)\s*$`)

// keyValue reads "key: value".
func keyValue(text string) (key, value string, ok bool) {
	m := keyValuePattern.FindStringSubmatch(text)
	if m == nil || strings.ContainsAny(text, "\n") && strings.Count(strings.TrimRight(text, "\n"), "\n") > 0 {
		return "", "", false
	}
	return m[1], m[2], true
}

func factKey(key string) string { return strings.ToLower(strings.Join(strings.Fields(key), " ")) }

// byFacts judges an entry whose text is "key: value" by the fact of that key.
// It is silent unless the values are surely the same or surely not.
func byFacts(text string, facts map[string]string) (status, reason string) {
	key, value, ok := keyValue(text)
	if !ok {
		return "", ""
	}
	now, ok := facts[factKey(key)]
	if !ok {
		return "", ""
	}
	switch compare(value, now) {
	case same:
		return Valid, fmt.Sprintf("%s is %s", factKey(key), now)
	case differs:
		return Stale, fmt.Sprintf("%s is %s", factKey(key), now)
	}
	return "", ""
}

// What a comparison of two values comes to.
const (
	notSure = iota
	same
	differs
)

// compare holds two values against each other. Only values of one kind can
// differ: numbers, numbers of one unit, booleans, dates, and single words. 2 GB
// and 2048 MB may be the same, and so may 1.10 and 1.1, 10:30 and 10:30:00, and
// anything said in several words.
func compare(a, b string) int {
	a, b = plainValue(a), plainValue(b)
	if a == b {
		return same
	}
	if x, y := booleans[a], booleans[b]; x != 0 && y != 0 {
		if x == y {
			return same
		}
		return differs
	}
	n, unit, ok1 := quantity(a)
	m, unit2, ok2 := quantity(b)
	switch {
	case ok1 != ok2:
		return notSure
	case ok1 && unit == unit2 && n != m:
		return differs
	case ok1:
		return notSure
	case date.MatchString(a) && date.MatchString(b), word.MatchString(a) && word.MatchString(b) && booleans[a] == 0 && booleans[b] == 0:
		return differs
	}
	return notSure
}

func plainValue(v string) string {
	v = strings.TrimSpace(strings.ToLower(llm.Fold(v)))
	if n := len(v); n > 1 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		v = v[1 : n-1]
	}
	return strings.TrimSuffix(v, ".")
}

var (
	booleans = map[string]int{"true": 1, "yes": 1, "on": 1, "false": 2, "no": 2, "off": 2}
	number   = regexp.MustCompile(`^([-+]?\d+(?:\.\d+)?)\s*([\pL%°]{0,12})$`)
	date     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	word     = regexp.MustCompile(`^\pL[\pL\pN_-]*$`)
)

func quantity(v string) (n float64, unit string, ok bool) {
	m := number.FindStringSubmatch(v)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return n, m[2], err == nil
}
