package analysis

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/stats"
)

// NotRun is the code of the warning that a run lacks what a number would be of.
const NotRun stats.Code = "not-run"

// footnoteWords say for people what a warning's code means. A warning's own
// text, which has the numbers, is in the data.
var footnoteWords = map[stats.Code]string{
	NotRun:               "the run has no trials to compare: it lacks a strategy of the contrast, or lost every seed’s trials",
	stats.CannotReach:    "so few seeds, in so large a family, cannot reach the level at all, whatever they say",
	stats.AllZero:        "no seed differs, which is no evidence either way",
	stats.TooFew:         "too few seeds",
	stats.SmallSample:    "rough, because there are fewer than 10 seeds; an interval tends to be too narrow",
	stats.Bounded:        "too many patterns of signs to count one by one: the upper of two bounds on p, close together, is shown",
	stats.MonteCarlo:     "p is estimated by simulation",
	stats.NoVariance:     "the seeds’ differences are all the same, so that a t test is undefined",
	stats.Constant:       "the values do not vary",
	stats.NegativeVar:    "seeds differ less than chance would have it; the variance between them is taken as 0",
	stats.UnequalSizes:   "seeds have lost episodes, and weigh by what they have left",
	stats.LowExpected:    "fewer than 5 are expected in a cell of the table: read Fisher’s p",
	stats.FewDraws:       "few resamples for this confidence",
	stats.UndefinedDraws: "some resamples had no value and are left out",
	stats.Underflow:      "below 1e-300",
}

// What a fallback means: in an interval that is not BCa's, and in a test of
// equivalence.
const (
	neverSeen          = "all seeds have this one value: the interval is what an exact bound on an event never seen leaves possible"
	percentileFallback = "a percentile interval, because BCa’s corrections are undefined here"
	testFallback       = "by the sign-flip test, because a t test is undefined where nothing varies"
)

// ceilingWords are what warnings mean behind the ceiling of a correlation. That
// a reliability is undefined the table's notes say.
var ceilingWords = map[stats.Code]string{
	stats.TooFew:       "",
	stats.NegativeVar:  "not estimable: a reliability is estimated at or below 0",
	stats.OutsideRange: "r lies above it, which only sampling error, of r or of the reliabilities, can do",
}

// quiet are the codes that people need no letter for: the notes say once how
// such values are handled.
var quiet = map[stats.Code]string{
	stats.ZerosDropped: "",
	stats.Ties:         "Wilcoxon’s test gives differences of the same size their mean rank.",
	stats.NearTies:     "",
}

// footnote gives the cells that people see a letter for each warning, and adds
// what the letters mean to the notes.
func (t *Table) footnote() {
	letter := make(map[string]string) // words → letter
	var notes []string
	for c := range t.Columns {
		col := &t.Columns[c]
		if col.DataOnly {
			continue
		}
		for r := range t.Rows {
			cell := &t.Rows[r][c]
			for _, w := range cell.Warnings {
				if note, ok := quiet[w.Code]; ok {
					if note != "" && !slices.Contains(t.Notes, note) {
						t.Notes = append(t.Notes, note)
					}
					continue
				}
				words := wordsOf(col, cell, &w)
				if words == "" {
					continue
				}
				if letter[words] == "" {
					letter[words] = nextLetter(len(letter))
					notes = append(notes, letter[words]+": "+words+".")
				}
				if !strings.Contains(cell.Footnotes, letter[words]) {
					cell.Footnotes += letter[words]
				}
			}
		}
	}
	t.Notes = append(t.Notes, notes...)
}

// wordsOf returns what people are told of a warning, nothing where the cell's
// other warnings or the table's notes say it.
func wordsOf(col *Column, cell *Cell, w *stats.Warning) string {
	fallback := slices.ContainsFunc(cell.Warnings, func(o stats.Warning) bool { return o.Code == stats.Fallback })
	if strings.HasSuffix(col.Key, "_ceiling") {
		if words, ok := ceilingWords[w.Code]; ok {
			return words
		}
	}
	switch {
	case w.Code == stats.Fallback && col.Kind != Interval:
		return testFallback
	case w.Code == stats.Fallback && strings.HasPrefix(cell.Method, "percentile"):
		return percentileFallback
	case w.Code == stats.Fallback:
		return neverSeen
	case fallback && w.Code == stats.Constant:
		return ""
	case w.Code == stats.CannotReach && col.Key == "p_wilcoxon":
		return ""
	}
	if words, ok := footnoteWords[w.Code]; ok {
		return words
	}
	return w.Text
}

// nextLetter returns the letter of footnote n; there is no raised q.
func nextLetter(n int) string {
	const letters = "abcdefghijklmnoprstuvwxyz"
	return letters[n%len(letters) : n%len(letters)+1]
}
