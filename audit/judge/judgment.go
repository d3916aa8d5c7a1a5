package judge

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// A form is the shape of the judgments that were asked for.
type form struct {
	verdict   role    // what stands for the verdict: isStale or score
	words     bool    // the verdict is a word, which may be not_covered
	threshold float64 // the score from which on an entry is stale
}

// A judgment is one answer as it was written.
type judgment struct {
	id     string
	fields [roles]field
	keyed  bool // the id was a key, not a member
}

// A role is what a member of a judgment is for.
type role int

const (
	memoryID role = iota
	isStale
	score
	confidence
	reasoning
	correction
	roles
)

// A field is the value that was given for a role.
type field struct {
	value any
	rank  int  // how far its key is from the one asked for; 0 is that one
	given bool // there is one
	clash bool // there are two that differ
}

// A keyRole is what a key stands for.
type keyRole struct {
	role
	rank int
}

// keys are those asked for, and what is left of others without case and
// punctuation.
var keys = map[string]keyRole{
	"memory_id": {memoryID, 0}, "memoryid": {memoryID, 1}, "id": {memoryID, 2}, "memid": {memoryID, 3}, "entryid": {memoryID, 4},
	"is_stale": {isStale, 0}, "isstale": {isStale, 1}, "stale": {isStale, 2}, "verdict": {isStale, 3}, "status": {isStale, 4},
	"score": {score, 0}, "stalescore": {score, 2}, "stalenessscore": {score, 3}, "staleness": {score, 4}, "probability": {score, 5},
	"confidence": {confidence, 0}, "correction": {correction, 0},
	"reasoning": {reasoning, 0}, "reason": {reasoning, 2}, "explanation": {reasoning, 3}, "rationale": {reasoning, 4},
}

func roleOf(key string) (k keyRole, ok bool) {
	if k, ok = keys[key]; ok {
		return k, true
	}
	k, ok = keys[strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)]
	k.rank = max(k.rank, 1)
	return k, ok
}

func fieldsOf(o llm.Object) (fields [roles]field) {
	for i := range o {
		k, ok := roleOf(o[i].Key)
		if !ok {
			continue
		}
		f := &fields[k.role]
		switch {
		case !f.given || k.rank < f.rank:
			*f = field{value: o[i].Value, rank: k.rank, given: true}
		case k.rank == f.rank && !reflect.DeepEqual(f.value, o[i].Value):
			f.clash = true
		}
	}
	return fields
}

// judgments returns the judgments in a value, in order. A judgment is an object
// with an id and a verdict; lists and objects around judgments are looked into,
// but for what stands aside of the answer. An object that has asked names for
// keys is a judgment for each of its keys.
func (f form) judgments(v any, asked *names) (js []judgment) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			js = append(js, f.judgments(v[i], asked)...)
		}
	case llm.Object:
		if list, ok := v.Get("judgments"); ok && holds(list) {
			return f.judgments(list, asked)
		}
		if j, ok := f.single(v); ok {
			return []judgment{j}
		}
		byID := false
		for i := range v {
			_, _, known := asked.find(v[i].Key)
			byID = byID || known
		}
		for i := range v {
			if j, ok := f.underKey(v[i], asked); ok && byID {
				js = append(js, j)
			} else if holds(v[i].Value) && !llm.Aside(v[i].Key) {
				js = append(js, f.judgments(v[i].Value, asked)...)
			}
		}
	}
	return js
}

// holds reports whether a value can hold judgments.
func holds(v any) bool {
	switch v.(type) {
	case []any, llm.Object:
		return true
	}
	return false
}

// single reads an object with an id and a verdict. One with two ids that differ
// is none: it is not known whose verdict it gives.
func (f form) single(o llm.Object) (j judgment, ok bool) {
	j.fields = fieldsOf(o)
	id := &j.fields[memoryID]
	switch v := id.value.(type) {
	case string:
		j.id = v
	case json.Number:
		j.id = string(v)
	default:
		return judgment{}, false
	}
	return j, !id.clash && j.fields[f.verdict].given
}

// underKey reads a member of an object keyed by id: {"mem_020": true} or
// {"mem_020": {"is_stale": true}}. A judgment that has an id itself keeps it.
func (f form) underKey(m llm.Member, asked *names) (j judgment, ok bool) {
	j = judgment{id: m.Key, keyed: true}
	switch v := m.Value.(type) {
	case llm.Object:
		j.fields = fieldsOf(v)
		return j, j.fields[f.verdict].given && !j.fields[memoryID].given
	case []any:
		return judgment{}, false
	case bool:
	default:
		if _, _, known := asked.find(m.Key); !known {
			return judgment{}, false // a remark
		}
	}
	j.fields[f.verdict] = field{value: m.Value, given: true}
	return j, true
}

// An answer is what the judgments on one entry amount to.
type answer struct {
	Verdict
	given, conflict bool
}

// answer interprets a judgment.
func (f form) answer(j *judgment) answer {
	a := answer{given: true}
	a.Status = record.Unanswered
	repaired := func(name string, done bool) {
		if done {
			a.Repairs = append(a.Repairs, name)
		}
	}
	verdict := &j.fields[f.verdict]
	repaired(RepairKeyed, j.keyed)
	repaired(RepairKey, j.fields[memoryID].rank > 0 || verdict.rank > 0 && !(f.words && verdict.rank == keys["verdict"].rank))
	var done bool
	switch {
	case verdict.clash:
	case f.words && isNotCovered(verdict.value):
		a.Status = NotCovered
	case f.verdict == isStale:
		a.Status, done = readStatus(verdict.value)
		done = done && !(f.words && (verdict.value == record.Stale || verdict.value == record.Valid))
		repaired(RepairBoolean, done)
	default:
		a.Score, done = readUnit(verdict.value)
		repaired(RepairScore, done)
		if a.Score != nil {
			a.Status = record.Valid
			if *a.Score >= f.threshold {
				a.Status = record.Stale
			}
		}
	}
	if c := &j.fields[confidence]; c.given && !c.clash {
		a.Confidence, done = readUnit(c.value)
		repaired(RepairConfidence, done)
	}
	if r := &j.fields[reasoning]; !r.clash {
		a.Reason, _ = r.value.(string)
	}
	if c := &j.fields[correction]; !c.clash {
		a.Correction, _ = c.value.(string)
	}
	return a
}

// add takes in a judgment: the first one counts, and any that differs from it
// leaves the entry unanswered.
func (a *answer) add(b answer) {
	switch {
	case !a.given:
		*a = b
	case a.Status != b.Status || !reflect.DeepEqual(a.Score, b.Score):
		a.conflict = true
	}
}

// readStatus reads the value of is_stale. Digits must be written as such: 1.0
// or 1e0 may be what a repair made of half a number.
func readStatus(v any) (status string, repaired bool) {
	var word string
	switch v := v.(type) {
	case bool:
		if v {
			return record.Stale, false
		}
		return record.Valid, false
	case string:
		word = strings.Trim(strings.ToLower(llm.Fold(v)), ".! \t\r\n")
	case json.Number:
		word = string(v)
	}
	switch word {
	case "true", "yes", "stale", "outdated", "invalid", "not valid", "no longer valid", "contradicted", "1":
		return record.Stale, true
	case "false", "no", "valid", "not stale", "still valid", "current", "fresh", "up to date", "up-to-date", "consistent", "ok", "0":
		return record.Valid, true
	}
	return record.Unanswered, false
}

// isNotCovered reports whether a verdict says that the observation shows nothing
// about the entry.
func isNotCovered(v any) bool {
	word, _ := v.(string)
	switch strings.Trim(strings.ToLower(llm.Fold(word)), ".! \t\r\n") {
	case "not_covered", "not covered", "not-covered", "notcovered", "uncovered", "unknown", "not shown":
		return true
	}
	return false
}

// readUnit reads a number in [0,1], also one written as a string; nil for
// anything else.
func readUnit(v any) (value *float64, repaired bool) {
	var number string
	switch v := v.(type) {
	case json.Number:
		number = string(v)
	case string:
		number, repaired = strings.TrimSpace(v), true
		if !json.Valid([]byte(number)) {
			return nil, false // strconv would take 0x1p-2
		}
	}
	c, err := strconv.ParseFloat(number, 64)
	if err != nil || !(c >= 0 && c <= 1) {
		return nil, false
	}
	return &c, repaired
}
