package audit

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

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
	roles
)

// A field is the value that was given for a role.
type field struct {
	value any
	rank  int  // how far its key is from the one asked for; 0 is that one
	given bool // there is one
	clash bool // there are two that differ
}

// other maps what is left of a key without case and punctuation to its role and
// rank, for keys that are not written as asked.
var other = map[string]struct {
	role role
	rank int
}{
	"memoryid": {memoryID, 1}, "id": {memoryID, 2}, "memid": {memoryID, 3}, "entryid": {memoryID, 4},
	"isstale": {isStale, 1}, "stale": {isStale, 2}, "verdict": {isStale, 3}, "status": {isStale, 4},
	"score": {score, 1}, "stalescore": {score, 2}, "stalenessscore": {score, 3}, "staleness": {score, 4}, "probability": {score, 5},
	"confidence": {confidence, 1},
	"reasoning":  {reasoning, 1}, "reason": {reasoning, 2}, "explanation": {reasoning, 3}, "rationale": {reasoning, 4},
}

// A form is the shape of the judgments that were asked for.
type form struct {
	verdict   role    // what stands for the verdict: isStale or score
	threshold float64 // the score from which on an entry is stale
}

// each calls yield for every judgment in a value, in order, until it returns
// false. A judgment is an object with an id and a verdict; lists and objects
// around judgments are looked into. An object that has asked names for keys is
// a judgment for each of its keys; asked may be nil.
func (f form) each(v any, asked *names, yield func(*judgment) bool) bool {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if !f.each(v[i], asked, yield) {
				return false
			}
		}
	case llm.Object:
		if list, ok := v.Get("judgments"); ok && nested(list) {
			return f.each(list, asked, yield)
		}
		if j, ok := f.single(v); ok {
			return yield(&j)
		}
		byID := asked != nil && asked.anyKey(v)
		for i := range v {
			if byID {
				if j, ok := f.underKey(v[i], asked); ok {
					if !yield(&j) {
						return false
					}
					continue
				}
			}
			if nested(v[i].Value) && !f.each(v[i].Value, asked, yield) {
				return false
			}
		}
	}
	return true
}

// nested reports whether a value can hold judgments.
func nested(v any) bool {
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
	if !id.given || id.clash || !j.fields[f.verdict].given {
		return judgment{}, false
	}
	switch v := id.value.(type) {
	case string:
		j.id = v
	case json.Number:
		j.id = string(v)
	default:
		return judgment{}, false
	}
	return j, true
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

func fieldsOf(o llm.Object) (fields [roles]field) {
	for i := range o {
		role, rank := roleOf(o[i].Key)
		if role == roles {
			continue
		}
		f := &fields[role]
		switch {
		case !f.given || rank < f.rank:
			*f = field{value: o[i].Value, rank: rank, given: true}
		case rank == f.rank && !reflect.DeepEqual(f.value, o[i].Value):
			f.clash = true
		}
	}
	return fields
}

// roleOf returns what a key stands for; roles when nothing.
func roleOf(key string) (role, int) {
	switch key {
	case "memory_id":
		return memoryID, 0
	case "is_stale":
		return isStale, 0
	case "score":
		return score, 0
	case "confidence":
		return confidence, 0
	case "reasoning":
		return reasoning, 0
	}
	letters := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	if o, ok := other[letters]; ok {
		return o.role, o.rank
	}
	return roles, 0
}

// answer interprets a judgment.
func (f form) answer(j *judgment) answer {
	a := answer{given: true, status: record.Unanswered}
	if j.keyed {
		a.repairs = append(a.repairs, RepairKeyed)
	}
	verdict := &j.fields[f.verdict]
	if j.fields[memoryID].rank > 0 || verdict.rank > 0 {
		a.repairs = append(a.repairs, RepairKey)
	}
	var mended bool
	switch {
	case verdict.clash:
	case f.verdict == score:
		a.score, mended = readUnit(verdict.value)
		if mended {
			a.repairs = append(a.repairs, RepairScore)
		}
		if a.score != nil {
			a.status = record.Valid
			if *a.score >= f.threshold {
				a.status = record.Stale
			}
		}
	default:
		a.status, mended = readStatus(verdict.value)
		if mended {
			a.repairs = append(a.repairs, RepairBoolean)
		}
	}
	if c := &j.fields[confidence]; c.given && !c.clash {
		a.confidence, mended = readUnit(c.value)
		if mended {
			a.repairs = append(a.repairs, RepairConfidence)
		}
	}
	if r := &j.fields[reasoning]; !r.clash {
		a.reason, _ = r.value.(string)
	}
	return a
}

// readStatus reads the value of is_stale. Digits must be written as such: 1.0
// or 1e0 may be what a repair made of half a number.
func readStatus(v any) (status string, mended bool) {
	var word string
	switch v := v.(type) {
	case bool:
		if v {
			return record.Stale, false
		}
		return record.Valid, false
	case string:
		word = strings.ToLower(strings.TrimSpace(v))
	case json.Number:
		word = string(v)
	}
	switch strings.Trim(word, ".! ") {
	case "true", "yes", "stale", "outdated", "invalid", "not valid", "no longer valid", "contradicted", "1":
		return record.Stale, true
	case "false", "no", "valid", "not stale", "still valid", "current", "fresh", "up to date", "up-to-date", "consistent", "ok", "0":
		return record.Valid, true
	}
	return record.Unanswered, false
}

// readUnit reads a number in [0,1], also one written as a string; nil for
// anything else.
func readUnit(v any) (value *float64, mended bool) {
	var number string
	switch v := v.(type) {
	case json.Number:
		number = string(v)
	case string:
		number, mended = strings.TrimSpace(v), true
		if !json.Valid([]byte(number)) {
			return nil, false // strconv would take 0x1p-2
		}
	}
	c, err := strconv.ParseFloat(number, 64)
	if err != nil || !(c >= 0 && c <= 1) {
		return nil, false
	}
	return &c, mended
}
