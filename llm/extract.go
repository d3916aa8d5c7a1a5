package llm

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What can have been done to find a value, in the order it is recorded. All but
// the first are Extract's.
const (
	RepairReasoning = "answer-in-reasoning" // the server gave the whole answer as reasoning (Reply.AnsweredInReasoning)
	RepairThinking  = "thinking-removed"    // the value stands outside a region of thinking
	RepairFence     = "fence"               // it was taken out of a Markdown code fence
	RepairEmbedded  = "embedded"            // it was taken out of other text
	RepairLines     = "json-lines"          // several values in a row were taken for one list
	RepairTruncated = "truncated"           // it was cut off; what is complete was kept
	RepairJSON      = "json-repair"         // quotes, commas, literals or the like were repaired
	RepairString    = "json-in-string"      // JSON was written as a string
	RepairWrapper   = "wrapper"             // the value stands in an echo of the schema, a call of a tool or the like
)

// Extract finds the JSON value in a reply's text. fits tells whether a value
// is the kind that was asked for; values are made of nil, bool, string,
// json.Number, []any and Object.
//
// Attempts, in this order: the whole text as strict JSON; the last code fence
// that holds a fit; the last bracketed value that fits. Thinking (see
// StripThinking) is left out of all but the first, and each value is read as
// it stands first, then repaired, so that a sloppy final answer still replaces
// an earlier draft. Values with only white space and commas between them are one
// list (JSON lines). A value that the text ends in is cut back to its last
// complete member: no number, word or string is ever completed. A strict value
// that does not fit is searched only for JSON in its strings, and where it wraps
// a value as an echoed schema does.
//
// repairs names what was done, nil for strict JSON. Time is about linear in
// the text; a text that would need more gives ok == false.
func Extract(text string, fits func(value any) bool) (value any, repairs []string, ok bool) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = trim(text)
	x := extraction{fits: fits, work: workFor(text)}
	if v, strict := decode(text); strict {
		if words, isString := v.(string); isString && len(words) < len(text) {
			if v, repairs, ok = Extract(words, fits); ok {
				repairs = append([]string{RepairString}, repairs...)
			}
			return v, repairs, ok
		}
		return x.accept(v)
	}
	pieces, found := outsideThinking(text)
	if found {
		repairs = append(repairs, RepairThinking)
	}
	for _, piece := range slices.Backward(pieces) {
		for _, block := range slices.Backward(fences(piece)) {
			if v, more, ok := x.find(block); ok {
				return v, slices.Concat(repairs, []string{RepairFence}, more), true
			}
		}
		if v, more, ok := x.find(piece); ok {
			return v, append(repairs, more...), true
		}
	}
	return nil, nil, false
}

// Values returns all bracketed values of a text outside of thinking, in order,
// each by itself.
func Values(text string) []any {
	x := extraction{work: workFor(text)}
	var values []any
	pieces, _ := outsideThinking(strings.ToValidUTF8(text, "\uFFFD"))
	for _, piece := range pieces {
		for _, c := range slices.Concat(x.runs(piece)...) {
			if c.ok {
				values = append(values, c.value)
			}
		}
	}
	return values
}

// trim removes white space, and the byte-order mark that some servers send.
func trim(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
}

// workFor is how many bytes of a text may be read, counted as often as they are:
// a few readings of everything. Past that the text is playing games.
func workFor(text string) int { return 8*len(text) + 1<<16 }

// An extraction is one call of Extract.
type extraction struct {
	fits func(any) bool
	work int // bytes that may still be read

	unescaped bool // the backslashes of a string were taken out of the text
}

// A candidate is a bracketed value in a text.
type candidate struct {
	start, end int
	value      any
	ok         bool // something of it is complete
	cut        bool
	repaired   bool
}

// find returns the last fit in a text without thinking.
func (x *extraction) find(text string) (any, []string, bool) {
	text = trim(text)
	x.unescaped = escapedJSON.MatchString(text)
	if x.unescaped {
		text = unescape.Replace(strings.TrimSuffix(text, `\`))
	}
	for _, run := range slices.Backward(x.runs(text)) {
		if v, repairs, ok := x.list(text, run); ok {
			return v, repairs, true
		}
	}
	return nil, nil, false
}

// escapedJSON matches a text whose JSON was written as the content of a string,
// with a backslash before each quote.
var (
	escapedJSON = regexp.MustCompile(`^[^\[{"]*[\[{][\s\[{]*\\"`)
	unescape    = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\/`, "/")
)

// runs returns the bracketed values of a text, in order, those of a kind together
// that have nothing but white space, commas or an unreadable object between them.
// Brackets that begin no value are prose, and only what stands inside counts.
func (x *extraction) runs(text string) (runs [][]candidate) {
	for i := 0; i < len(text); {
		bracket, n := narrow(text, i)
		if bracket != '{' && bracket != '[' {
			i += n
			continue
		}
		c, ok := x.read(text, i)
		if x.work < 0 {
			return nil
		}
		if !ok {
			i += n
			continue
		}
		i = c.end
		if last := len(runs) - 1; last >= 0 {
			before := &runs[last][len(runs[last])-1]
			if text[before.start] == text[c.start] && besides(text[before.end:c.start]) {
				runs[last] = append(runs[last], c)
				continue
			}
		}
		runs = append(runs, []candidate{c})
	}
	return runs
}

// besides reports whether a text can stand between the values of a list.
func besides(text string) bool {
	text = strings.Trim(text, " \n\t\r,，")
	return text == "" || text[0] == '{' && unreadable.MatchString(text)
}

var unreadable = regexp.MustCompile("^(?:\\{\\s*[\"'“‘][^{}]*\\}[\\s,，]*)*$")

// read reads the value that begins at i, as strict JSON or with slips. It is not
// ok when the bracket is prose.
func (x *extraction) read(text string, i int) (c candidate, ok bool) {
	for _, strict := range []bool{true, false} {
		p, v, ok := parse(text, i, strict)
		x.work -= p.work
		if ok || strict && p.cut {
			return candidate{i, p.end(), v, ok, p.cut, !strict}, true
		}
	}
	return candidate{}, false
}

// list tries the values of a run as one.
func (x *extraction) list(text string, run []candidate) (any, []string, bool) {
	var values []any
	var cut, repaired bool
	for _, c := range run {
		if c.ok {
			values = append(values, c.value)
			repaired = repaired || c.repaired
		}
		cut = cut || c.cut
	}
	var v any = values
	switch len(values) {
	case 0:
		return nil, nil, false
	case 1:
		v = values[0]
	}
	v, wrapping, ok := x.accept(v)
	var repairs []string
	for _, r := range []struct {
		name string
		done bool
	}{
		{RepairEmbedded, run[0].start > 0 || run[len(run)-1].end < len(text)},
		{RepairLines, len(values) > 1},
		{RepairTruncated, cut},
		{RepairJSON, repaired || x.unescaped},
	} {
		if r.done {
			repairs = append(repairs, r.name)
		}
	}
	return v, append(repairs, wrapping...), ok
}

// accept returns the value if it fits, or else what fits once the strings that
// hold JSON are read, or inside of what wraps an answer.
func (x *extraction) accept(v any) (any, []string, bool) {
	if x.fits(v) {
		return v, nil, true
	}
	var repairs []string
	if expanded, ok := expand(v); ok {
		v, repairs = expanded, []string{RepairString}
		if x.fits(v) {
			return v, repairs, true
		}
	}
	repairs = append(repairs, RepairWrapper)
	for inner, ok := unwrap(v); ok; inner, ok = unwrap(inner) {
		if x.fits(inner) {
			return inner, repairs, true
		}
	}
	return nil, nil, false
}

// expand reads the strings in a value that are lists or objects themselves.
func expand(v any) (out any, found bool) {
	switch v := v.(type) {
	case string:
		s := trim(v)
		if c, _ := narrow(s, 0); c != '{' && c != '[' {
			return v, false
		}
		inner, ok := decode(s)
		if !ok {
			var p *parser
			p, inner, ok = parse(s, 0, false)
			ok = ok && !p.cut && p.next() == 0
		}
		if !ok {
			return v, false
		}
		inner, _ = expand(inner)
		return inner, true
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var ok bool
			list[i], ok = expand(v[i])
			found = found || ok
		}
		return list, found
	case Object:
		o := slices.Clone(v)
		for i := range o {
			if !Aside(o[i].Key) {
				var ok bool
				o[i].Value, ok = expand(o[i].Value)
				found = found || ok
			}
		}
		return o, found
	}
	return v, false
}

// wrappers are keys under which an answer stands in what models put around it:
// an echo of the schema, a call of a tool, a result.
var wrappers = []string{"properties", "function", "arguments", "parameters", "input", "result", "answer", "output", "response"}

// unwrap returns what an object wraps: its member by one of the wrappers' keys,
// or its only one. A schema itself wraps nothing.
func unwrap(v any) (inner any, ok bool) {
	if list, _ := v.([]any); len(list) == 1 { // of calls
		v = list[0]
	}
	o, _ := v.(Object)
	for i := range o {
		if !slices.Contains(wrappers, strings.ToLower(o[i].Key)) && (len(o) > 1 || Aside(o[i].Key)) {
			continue
		}
		if inner, ok := o[i].Value.(Object); ok && !slices.ContainsFunc(inner, isSchema) {
			return inner, true
		}
	}
	return nil, false
}

func isSchema(m Member) bool {
	o, ok := m.Value.(Object)
	return ok && (o.Has("type") || o.Has("enum") || o.Has("$ref") || o.Has("anyOf"))
}

// Aside reports whether a key is that of a member beside the answer: a draft, an
// example or a reason, which may quote what is no answer.
func Aside(key string) bool { return aside.MatchString(key) }

var aside = regexp.MustCompile(`(?i)draft|example|scratch|think|thought|reason|rationale|explanation|initial|first`)
