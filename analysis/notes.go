package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// noteSD explains ±.
const noteSD = "± is the sample standard deviation over seeds."

// noteControls says what the built-in agents are.
const noteControls = "Models whose name begins with ref/ are built-in controls (a ceiling, a floor and a knob), never a stand-in for a named model."

func anyGroup[T any](groups []*group[T], is func(*group[T]) bool) bool {
	return slices.ContainsFunc(groups, is)
}

// undefinedNotes explains the dashes and the reduced numbers of seeds, where
// people see any; dashNote says what a dash means in this table.
func undefinedNotes(t *Table, dashNote string) []string {
	dash, fewer := false, false
	for _, row := range t.Rows {
		for i := range row {
			col := &t.Columns[i]
			if col.DataOnly || col.Kind == Label || col.Kind == Count {
				continue
			}
			dash = dash || !row[i].Defined(col)
			fewer = fewer || row[i].Value != nil && row[i].Undefined > 0
		}
	}
	var notes []string
	if dash {
		notes = append(notes, dashNote)
	}
	if fewer {
		notes = append(notes, "n=…: the mean rests on that many seeds; on the others it is undefined.")
	}
	return notes
}

// progressWarnings tells how many planned trials failed or are missing; what
// names them.
func progressWarnings[T any](groups []*group[T], what string, of func(*T) *progress) []string {
	var all progressSum
	for _, g := range groups {
		for _, s := range g.seeds {
			all.add(of(s))
		}
	}
	return all.warnings(what, "They are in no denominator; where some lack, finished/planned is shown.")
}

// A progressSum counts planned trials, and those without a result.
type progressSum struct{ planned, failed, missing int }

func (s *progressSum) add(p *progress) {
	s.planned += p.all()
	s.failed += p.failed
	s.missing += p.missing()
}

// warnings says how many have no result, and what that means.
func (s *progressSum) warnings(what, means string) []string {
	if s.failed+s.missing == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Incomplete: of %s planned %s, %s failed and %s have no record. %s",
		thousands(s.planned), what, thousands(s.failed), thousands(s.missing), means)}
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// countOf writes "1 episode", "2,000 episodes".
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

// modelNotes gives the full names behind short ones, and says what controls
// are.
func modelNotes[T any](groups []*group[T], short map[string]string) []string {
	var notes, models []string
	for _, g := range groups {
		addNew(&models, g.model)
	}
	for _, m := range models {
		if name, ok := short[m]; ok {
			notes = append(notes, name[strings.LastIndexByte(name, '['):]+" "+m)
		}
	}
	if slices.ContainsFunc(models, func(m string) bool { return strings.HasPrefix(m, controlPrefix) }) {
		notes = append(notes, noteControls)
	}
	return notes
}
