package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// Sentences that several tables have.
const (
	noteSD         = "± is the sample standard deviation over seeds."
	noteControls   = "Models whose name begins with ref/ are built-in controls (a ceiling, a floor and a knob), never a stand-in for a named model."
	noteUnanswered = "An entry without an answer counts as not flagged."
)

// finishTable adds what every table says: what dashes and reduced numbers of
// seeds mean, letters, and the models behind short names.
func (f *Frame) finishTable(t *Table, dash string, models []string) {
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return !c.DataOnly && !c.Brief && (c.Kind == Mean || c.Kind == Rate) }) && len(t.Rows) > 0 {
		t.Notes = append([]string{noteSD}, t.Notes...)
	}
	t.Notes = append(t.Notes, undefinedNotes(t, dash)...)
	t.footnote()
	t.Notes = append(t.Notes, f.modelNotes(models)...)
}

// undefinedNotes explain the dashes and the reduced numbers of seeds, where
// people see any; dash says what a dash means in this table.
func undefinedNotes(t *Table, dash string) []string {
	dashed, fewer := false, false
	for _, row := range t.Rows {
		for i := range row {
			col := &t.Columns[i]
			if col.DataOnly || col.Kind == Label || col.Kind == Count {
				continue
			}
			dashed = dashed || !row[i].defined(col)
			fewer = fewer || row[i].Value != nil && row[i].Undefined > 0
		}
	}
	var notes []string
	if dashed {
		if dash != "" {
			dash = ": " + dash
		}
		notes = append(notes, "–: undefined, which is not zero"+dash+".")
	}
	if fewer {
		notes = append(notes, "n=…: the mean rests on that many seeds; on the others it is undefined.")
	}
	return notes
}

// lostWarnings tell how many planned trials of a task have no result.
func lostWarnings(groups []*Group, task string) []string {
	p := progressOf(groups...)
	if p.lost() == 0 {
		return nil
	}
	what := unitsOfTasks[task]
	if what == "" {
		what = "trials"
	}
	return []string{fmt.Sprintf("Incomplete: of %s planned %s, %s failed and %s have no record. They are in no denominator; where some lack, finished/planned is shown.",
		thousands(p.planned()), what, thousands(p.failed), thousands(p.missing))}
}

// thousands writes a number with commas.
func thousands[T int | int32 | int64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// countOf writes "1 episode", "2,000 episodes"; a plural of its own may follow.
func countOf(n int, what string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(many) > 0:
		return thousands(n) + " " + many[0]
	}
	return thousands(n) + " " + what + "s"
}

// joined names things in a sentence, as in "L1, L2 and L3".
func joined(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// modelNotes give the full names behind short ones, and say what controls are.
func (f *Frame) modelNotes(models []string) []string {
	notes := f.shortened(models, func(string) bool { return true })
	if slices.ContainsFunc(models, isControl) {
		notes = append(notes, noteControls)
	}
	return notes
}

// shortened gives the full names behind the short ones that are used.
func (f *Frame) shortened(models []string, used func(short string) bool) []string {
	var notes []string
	for _, m := range models {
		if short, ok := f.short[m]; ok && used(short) {
			notes = append(notes, short[strings.LastIndexByte(short, '['):]+" "+m)
		}
	}
	return notes
}

// strategyNote explains the strategies that occur.
func (f *Frame) strategyNote(groups []*Group) string {
	var parts []string
	for _, term := range record.Strategies {
		if slices.ContainsFunc(groups, func(g *Group) bool { return g.Strategy == term.Name }) {
			parts = append(parts, term.Label+": "+term.About)
		}
	}
	for _, name := range f.order.strategies {
		if _, known := record.Strategies.Find(name); known {
			continue
		}
		for s, g := range f.trials {
			if s.Strategy == name && g.whole != "" {
				parts = append(parts, name+": "+definitionWords(s.value("strategy")))
				break
			}
		}
	}
	if len(parts) == 0 {
		return "The strategies are the study’s own."
	}
	return "The memory shown to the agent. " + strings.Join(parts, "; ") + "."
}

// definitionWords say what a strategy of a study's own is, from its definition
// in the study.
func definitionWords(definition string) string {
	words := strings.NewReplacer(`"`, "", "{", "", "}", "", ":", " ", ",", ", ").Replace(definition)
	if words == "" {
		return "the study’s own"
	}
	return words
}

// stepBudget names the step budget when all episodes have the same.
func stepBudget(groups []*Group) string {
	budget := 0
	for _, g := range groups {
		grid, err := lake.New(g.Rows, g.Cols)
		if err != nil || budget != 0 && budget != grid.StepBudget() {
			return "within the step budget"
		}
		budget = grid.StepBudget()
	}
	return fmt.Sprintf("within %d steps", budget)
}

// rehearsed returns the built-in controls that answered in a model's name, as a
// server of rehearse reports them.
func rehearsed(m *record.ModelInfo) (controls []string) {
	for _, name := range m.ServerModels {
		if isControl(name) && !m.Control {
			controls = append(controls, name)
		}
	}
	return controls
}

// rehearsed reports whether a control answered in a model's name.
func (f *Frame) rehearsed(model string) bool {
	for i := range f.runs {
		if slices.ContainsFunc(f.runs[i].models, func(m record.ModelInfo) bool { return m.Name == model && len(rehearsed(&m)) > 0 }) {
			return true
		}
	}
	return false
}

// runWarnings are those that concern every table of results.
func (f *Frame) runWarnings() []string {
	var out []string
	for i := range f.runs {
		for _, m := range f.runs[i].models {
			for _, control := range rehearsed(&m) {
				addNew(&out, fmt.Sprintf("%s is no such model here: the built-in control %s answered in its name. A rehearsal, and no result of a model.", m.Name, control))
			}
		}
	}
	for _, w := range f.warnings {
		addNew(&out, w)
	}
	return slices.Concat(out, f.mixedModels(), f.silent())
}

// mixedModels warns of models under whose name more than one may have answered.
func (f *Frame) mixedModels() []string {
	var out []string
	for i := range f.runs {
		for _, m := range f.runs[i].models {
			if len(m.ServerModels) > 1 {
				addNew(&out, fmt.Sprintf("The server of %s reported %d names: %s. Its figures may mix as many models.", m.Name, len(m.ServerModels), strings.Join(m.ServerModels, ", ")))
			}
		}
	}
	return out
}

// ask completes the command in what a table or a figure needs with the models of
// the run: without them it would run the controls.
func (f *Frame) ask(need string) string {
	if !strings.Contains(need, "spatialstale run") || strings.Contains(need, "--model") {
		return need
	}
	for _, m := range f.models() {
		if !isControl(m) {
			need += " --model " + m
		}
	}
	return need
}

// The codes of warnings of the frame's own.
const (
	Overturn   stats.Code = "overturn"    // lost trials could overturn a verdict or a star
	NotOurs    stats.Code = "not-ours"    // a published figure has nothing of ours next to it, though the run has its model
	InPaper    stats.Code = "in-paper"    // what the paper says of a figure of its own
	LostTrials stats.Code = "lost-trials" // what lost trials could make of a verdict is not known
)

// footnoteWords say for people what a warning's code means. A warning's own
// text, which has the numbers, is in the data.
var footnoteWords = map[stats.Code]string{
	Overturn:             "lost trials could overturn this: had they all gone one way, it would not be so",
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

// ceilingWords are what warnings mean behind the ceiling of a correlation.
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
	letter := map[string]string{} // words → letter
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
					if note != "" {
						addNew(&t.Notes, note)
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
	if strings.HasSuffix(col.Key, "_ceiling") {
		if words, ok := ceilingWords[w.Code]; ok {
			return words
		}
	}
	fellBack := slices.ContainsFunc(cell.Warnings, func(o stats.Warning) bool { return o.Code == stats.Fallback })
	switch {
	case w.Code == stats.CannotReach && col.Kind == Verdict:
		return "too few seeds for the margin: what they have not shown could be more, whatever they say"
	case w.Code == stats.NoVariance && col.Kind == Verdict:
		return "no seed differs: what is tested is an exact bound on what the seeds could hide"
	case w.Code == stats.Fallback && col.Kind != Interval:
		return "by the sign-flip test, because a t test is undefined where nothing varies"
	case w.Code == stats.Fallback && strings.HasPrefix(cell.Method, "percentile"):
		return "a percentile interval, because BCa’s corrections are undefined here"
	case w.Code == stats.Fallback:
		return "all seeds have this one value: the interval is what an exact bound on an event never seen leaves possible"
	case fellBack && w.Code == stats.Constant, w.Code == stats.CannotReach && col.Key == "p_wilcoxon":
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

// probability writes a p-value for people.
func probability(p *float64) string {
	switch {
	case p == nil:
		return "no test"
	case *p < 0.001:
		return "p < 0.001"
	case *p > 0.9995: // as tables have it
		return "p > 0.999"
	}
	return fmt.Sprintf("p = %.3f", *p)
}
