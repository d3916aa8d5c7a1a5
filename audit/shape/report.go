package shape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/audit"
)

// A Report tells people what an audit came to.
type Report struct {
	Store    *Store
	Result   *audit.Result
	Memories string // what was audited, such as a file's name
	Seen     string // what it was held against
	Judge    string // the model, or "" for rules alone
	Cost     string // such as "$0.012"; "" where it is not known
	Shadow   bool
}

// A line of a report is one verdict that a person should see.
type reported struct {
	verdict *audit.Verdict
	text    string // the entry's, in one line
	besides string // why it is left out although it is not stale
}

// order is that in which statuses are told.
var order = []string{audit.Stale, audit.Unaudited, audit.NotCovered, audit.Valid}

// lines are the entries of the statuses that a person has to see: what is stale,
// and what could not be judged though it should have been.
func (r *Report) lines() (out []reported) {
	besides := r.Store.Besides(r.Result.Verdicts)
	for i := range r.Result.Verdicts {
		v := &r.Result.Verdicts[i]
		unjudged := v.Status == audit.Unaudited && v.Why != audit.Protected && v.Why != audit.Empty && v.Why != audit.NotAsked
		if v.Status == audit.Stale || unjudged || len(v.Flags) > 0 || besides[i] != "" {
			out = append(out, reported{v, oneLine(r.Store.Memories[i].Text), besides[i]})
		}
	}
	slices.SortStableFunc(out, func(a, b reported) int {
		return slices.Index(order, a.verdict.Status) - slices.Index(order, b.verdict.Status)
	})
	return out
}

// Summary says in a sentence or two what the audit came to.
func (r *Report) Summary() string {
	counts := map[string]int{}
	for i := range r.Result.Verdicts {
		if v := &r.Result.Verdicts[i]; v.Why == audit.Protected || v.Why == audit.NotAsked {
			counts[v.Why]++
		} else {
			counts[v.Status]++
		}
	}
	var parts []string
	for _, status := range append(order[:len(order):len(order)], audit.Protected, audit.NotAsked) {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(status, "-", " ")))
		}
	}
	judge := cmp.Or(r.Judge, "rules alone")
	if r.Cost != "" {
		judge += " for " + r.Cost
	}
	s := fmt.Sprintf("%s of %s against %s, by %s: %s.", count(len(r.Result.Verdicts), "entry", "entries"), r.Memories, r.Seen, judge, cmp.Or(strings.Join(parts, ", "), "nothing to audit"))
	switch removed := len(r.Result.Verdicts) - len(r.Result.Kept) + len(r.Store.Besides(r.Result.Verdicts)); {
	case r.Result.Escalated:
		s += " More are stale than may be removed at once, so nothing was: a person should look."
	case r.Shadow:
		s += " Everything is kept, as asked."
	case removed > 0:
		s += fmt.Sprintf(" %d left out.", removed)
	}
	if n := r.Store.Passed; n > 0 {
		s += fmt.Sprintf(" %s no memory and kept.", count(n, "record or file is", "records or files are"))
	}
	return s
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// what says of a verdict what was judged, and by what.
func (l *reported) what() string {
	v := l.verdict
	var notes []string
	if v.Tier == audit.TierModel && v.Confidence != nil {
		notes = append(notes, fmt.Sprintf("sure to %.0f%%", 100**v.Confidence))
	} else if v.Tier != "" && v.Tier != audit.TierModel {
		notes = append(notes, tierWords[v.Tier])
	}
	for _, f := range v.Flags {
		notes = append(notes, flagWords[f])
	}
	if l.besides != "" {
		notes = append(notes, l.besides)
	}
	s := oneLine(cmp.Or(v.Reason, v.Why))
	if len(notes) > 0 {
		s = strings.TrimSpace(s + " (" + strings.Join(notes, "; ") + ")")
	}
	if v.Proposed != "" {
		s += " → " + oneLine(v.Proposed)
	}
	return s
}

var tierWords = map[string]string{audit.TierRecord: "by its own record", audit.TierFacts: "by what is seen"}

var flagWords = map[string]string{
	audit.FlagInstructions: "it reads like instructions to the auditor",
	audit.FlagHidden:       "it has characters that are not seen",
	audit.FlagHijack:       "it took over the answer",
}

// Text is the report for a terminal of so many columns, with colours or
// without; 0 columns are a file, whose lines are not wrapped.
func (r *Report) Text(width int, colours bool) string {
	summary := r.Summary()
	if width > 0 {
		summary = wrap(summary, width)
	} else {
		width = 200
	}
	paint := func(code, text string) string {
		if !colours {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	var b strings.Builder
	lines := r.lines()
	for i := range lines {
		l := &lines[i]
		status := l.verdict.Status
		fmt.Fprintf(&b, "%s  %s  %s\n", paint(map[string]string{audit.Stale: "31;1", audit.Unaudited: "33"}[status]+map[bool]string{true: "2"}[status != audit.Stale && status != audit.Unaudited], status),
			paint("2", l.verdict.ID), clip(l.text, max(20, width-len(status)-len(l.verdict.ID)-4)))
		if what := l.what(); what != "" {
			fmt.Fprintf(&b, "       %s\n", clip(what, max(20, 2*width-7)))
		}
	}
	if len(lines) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(summary + "\n")
	return b.String()
}

// wrap breaks a text between words into lines of so many characters.
func wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// clip shortens a text to so many characters.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Markdown is the report for a pull request or an issue. What memories and
// models say is shown as code, so that nothing in it is rendered.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("### Memory audit\n\n" + r.Summary() + "\n")
	if lines := r.lines(); len(lines) > 0 {
		b.WriteString("\n| verdict | where | entry | why |\n|---|---|---|---|\n")
		for i := range lines {
			l := &lines[i]
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.verdict.Status, code(l.verdict.ID), code(clip(l.text, 300)), code(clip(l.what(), 600)))
		}
	}
	return b.String()
}

// code writes a text as a span of code in a cell of a table.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
