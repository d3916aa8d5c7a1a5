package reference

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
)

// messy knows what the reader knows and says it as models do. Each reply takes
// one form, drawn by the call's dice. In the forms marked incomplete some
// answers are missing; in all others every answer is the reader's.
type messy struct{ reader }

// messyAudits are the forms of an audit's reply.
var messyAudits = []func(entries []entry, js []judgment, d *dice) *llm.Reply{
	func(es []entry, js []judgment, _ *dice) *llm.Reply { return said(array(lines(es, js))) },
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // a fence between pleasantries
		return said("Here is my audit:\n```json\n" + formatJudgments(es, js) + "\n```\nLet me know if you need more.")
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // a wrong draft, then the final answer
		return said("First pass: " + array(lines(es, flipped(js))) + "\nI compared again with [row 0]; the final answer:\n" + array(lines(es, js)))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // trailing commas
		return said("[" + strings.ReplaceAll(strings.Join(lines(es, js), ","), "}", ",}") + ",]")
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // Python's literals
		r := strings.NewReplacer(`"`, `'`, ": true", ": True", ": false", ": False")
		return said(r.Replace(array(lines(es, js))))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // thinking with a wrong draft in it
		return said("<think>Maybe " + array(lines(es, flipped(js))) + "? No, look again.</think>\n" + array(lines(es, js)))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { return said(strings.Join(lines(es, js), "\n")) },
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // booleans as words
		r := strings.NewReplacer(": true", `: "yes"`, ": false", `: "False"`)
		return said(r.Replace(array(lines(es, js))))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // ids without zeros or prefix
		bare := make([]entry, len(es))
		for i, e := range es {
			bare[i] = e
			bare[i].id = strings.TrimLeft(strings.TrimPrefix(e.id, "mem_"), "0")
			if bare[i].id == "" {
				bare[i].id = "0"
			}
		}
		return said(array(lines(bare, js)))
	},
	func(es []entry, js []judgment, d *dice) *llm.Reply { // a verdict given twice, in agreement
		ls := lines(es, js)
		return said(array(append(ls, ls[d.pick(len(ls))])))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // an entry nobody asked about
		return said(array(append(lines(es, js), `{"memory_id": "mem_99999", "is_stale": true}`)))
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // typographic quotes
		var b strings.Builder
		open := true
		for _, r := range array(lines(es, js)) {
			switch {
			case r != '"':
				b.WriteRune(r)
			case open:
				b.WriteRune('“')
			default:
				b.WriteRune('”')
			}
			if r == '"' {
				open = !open
			}
		}
		return said(b.String())
	},
	func(es []entry, js []judgment, d *dice) *llm.Reply { // incomplete: an entry left out
		i := d.pick(len(es))
		ls := lines(es, js)
		return said(array(append(ls[:i:i], ls[i+1:]...)))
	},
	func(es []entry, js []judgment, d *dice) *llm.Reply { // incomplete: a verdict and its opposite
		i := d.pick(len(es))
		return said(array(append(lines(es, js), lines(es, flipped(js))[i])))
	},
	func(es []entry, js []judgment, d *dice) *llm.Reply { // incomplete: cut at the output cap
		text := array(lines(es, js))
		return &llm.Reply{Text: text[:1+d.pick(len(text)-1)], Finish: llm.FinishLength}
	},
	func(es []entry, js []judgment, _ *dice) *llm.Reply { // incomplete: cut while thinking
		return &llm.Reply{Text: "<think>Row by row: " + array(lines(es, flipped(js))), Finish: llm.FinishLength}
	},
	func([]entry, []judgment, *dice) *llm.Reply { // incomplete: a refusal
		return said("I'm sorry, but I cannot reliably determine which entries are stale.")
	},
}

func (messy) dressJudgments(entries []entry, js []judgment, d *dice) *llm.Reply {
	return messyAudits[d.pick(len(messyAudits))](entries, js, d)
}

// messyActions are the forms of a step's reply, with @ for the action and ~ for
// the action in small letters.
var messyActions = []struct {
	text   string
	finish llm.Finish
}{
	{"@", llm.FinishStop},
	{"~.", llm.FinishStop},
	{"**Action:** `@`", llm.FinishStop},
	{"UP would leave the grid and LEFT as well, so I choose another way.\n\nAction: @", llm.FinishStop},
	{"Not UP, not LEFT.\n{\"reasoning\": \"UP is the edge\", \"action\": \"@\"}", llm.FinishStop},
	{"<think>UP? LEFT? No.</think>@", llm.FinishStop},
	{"```json\n{\"action\": \"~\"}\n```", llm.FinishStop},
	{"{'action': '@',}", llm.FinishStop},
	{"Either UP or DOWN would work.", llm.FinishStop}, // incomplete: undecided
	{"<think>The hole at", llm.FinishLength},          // incomplete: cut while thinking
}

func (messy) dressAction(a lake.Action, d *dice) *llm.Reply {
	form := messyActions[d.pick(len(messyActions))]
	r := strings.NewReplacer("@", a.String(), "~", strings.ToLower(a.String()))
	return &llm.Reply{Text: r.Replace(form.text), Finish: form.finish}
}

// lines writes each judgment as an object of its own.
func lines(entries []entry, js []judgment) []string {
	out := make([]string, len(js))
	for i := range js {
		verdict := fmt.Sprintf(`"is_stale": %t, "confidence": %s`, js[i].stale, strconv.FormatFloat(js[i].confidence, 'g', -1, 64))
		if js[i].score != nil {
			verdict = `"score": ` + strconv.FormatFloat(*js[i].score, 'g', -1, 64)
		}
		out[i] = fmt.Sprintf(`{"memory_id": %q, %s, "reasoning": %q}`, entries[i].id, verdict, js[i].reason)
	}
	return out
}

func array(lines []string) string { return "[" + strings.Join(lines, ",\n ") + "]" }

// flipped is the opposite of every judgment.
func flipped(js []judgment) []judgment {
	out := make([]judgment, len(js))
	for i, j := range js {
		out[i] = j
		out[i].stale = !j.stale
		if j.score != nil {
			opposite := 1 - *j.score
			out[i].score = &opposite
		}
	}
	return out
}
