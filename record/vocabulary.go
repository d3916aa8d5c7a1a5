package record

import "slices"

// A Term is one value of an enumerated vocabulary as everything else shows it:
// tables, figures and pages take labels, order and colours from here, so that a
// further value is an entry in its list and code of its own, and nothing else.
type Term struct {
	Name   string // as records, study files and data formats write it
	Label  string // as people are shown it; the paper's word where it has one
	About  string // what it means, in words that go on after "NoMemory: "
	Legend string // in a figure, where the label alone says too little; empty for the label
	Style  Style
}

// A Style is what a term looks like in every figure and on every page. Nothing
// rests on colour alone: hatches, marks and dashes differ as well.
type Style struct {
	Color  string    // "#RRGGBB", of Okabe and Ito's palette, which people of all kinds of sight can tell apart
	Hatch  string    // over bars: "", "rising", "falling", "upright" or "crossed"
	Mark   string    // of points: "disc", "square", "triangle", "diamond" or "inverted"
	Dashes []float64 // of routes and lines, in points; nil for a solid line
}

// A Vocabulary is a list of terms in the order in which everything shows them.
type Vocabulary []Term

// Find returns the term of that name, false for a name that is not in the list,
// such as that of a strategy of a study's own.
func (v Vocabulary) Find(name string) (Term, bool) {
	if i := v.Index(name); i >= 0 {
		return v[i], true
	}
	return Term{Name: name, Label: name}, false
}

// Label returns the label of a name, the name itself when it is not in the list.
func (v Vocabulary) Label(name string) string {
	t, _ := v.Find(name)
	return t.Label
}

// Legend returns what a figure calls a name.
func (v Vocabulary) Legend(name string) string {
	t, _ := v.Find(name)
	if t.Legend != "" {
		return t.Legend
	}
	return t.Label
}

// Index returns the place of a name in the list, -1 when it is not there.
func (v Vocabulary) Index(name string) int {
	return slices.IndexFunc(v, func(t Term) bool { return t.Name == name })
}

// Names lists the names in order.
func (v Vocabulary) Names() []string {
	names := make([]string, len(v))
	for i := range v {
		names[i] = v[i].Name
	}
	return names
}

// OracleStrategy knows the truth: it competes with no other strategy, and those
// that the vocabulary does not have are shown before it.
const OracleStrategy = "oracle"

// The vocabularies. Strategies and Regimes are the paper's (sections 3.4 and
// 3.5), with the score of its appendix D behind them.
var (
	Strategies = Vocabulary{
		{Name: "no-memory", Label: "NoMemory", About: "no memory", Style: Style{"#D4D4D4", "", "square", []float64{1, 2}}},
		{Name: "no-filter", Label: "NoFilter", About: "every entry, stale ones too", Style: Style{"#D55E00", "rising", "triangle", []float64{5, 2.5}}},
		{Name: "self-verify", Label: "SelfVerify", About: "without what one audit at the start calls stale", Style: Style{"#F0E442", "falling", "inverted", []float64{2.5, 2}}},
		{Name: "omcd", Label: "OMCD", About: "without what batched audits, renewed after every change, call stale", Style: Style{"#0072B2", "", "disc", nil}},
		{Name: OracleStrategy, Label: "Oracle", About: "without what is truly stale", Style: Style{"#009E73", "crossed", "diamond", []float64{7, 2, 1.5, 2}}},
		{Name: "score", Label: "Score", About: "without what batched scores put at the threshold or above", Style: Style{"#CC79A7", "upright", "square", []float64{3, 1.5, 1, 1.5}}},
	}
	Regimes = Vocabulary{
		{Name: "L1", Label: "L1 spot", About: "5 to 7 cells flip before the episode"},
		{Name: "L2", Label: "L2 cluster", About: "cells flip in two or three neighbourhoods before the episode"},
		{Name: "L3", Label: "L3 online", About: "cells flip while the agent walks"},
	}
	Modalities = Vocabulary{
		{Name: Text, Label: "text", Legend: "from text", About: "the lake is listed", Style: Style{"#0072B2", "", "disc", nil}},
		{Name: Vision, Label: "vision", Legend: "from images", About: "the lake is drawn", Style: Style{"#E69F00", "rising", "triangle", nil}},
	}
	Framings = Vocabulary{
		{Name: "neutral", Label: "neutral", About: "says nothing of whether the memory may be outdated"},
		{Name: "trusted", Label: "trusted", About: "calls it reliable"},
		{Name: "warned", Label: "warned", About: "says that it may be outdated"},
	}
	Causes = Vocabulary{
		{Name: CauseStaleShown, Label: "stale shown", About: "the entry for the cell said SAFE, which was stale, and was in view"},
		{Name: CauseStaleRemoved, Label: "stale removed", About: "that entry had been removed from the view; the agent went there all the same"},
		{Name: CauseWarned, Label: "warned", About: "a true DANGER entry for the cell was in view"},
		{Name: CauseWarningRemoved, Label: "warning removed", About: "an audit had removed the true DANGER entry"},
		{Name: CauseNoMemory, Label: "no memory", About: "the agent was given no memory"},
		{Name: CauseFallback, Label: "fallback", About: "the step was the blind greedy one, because the reply held no action"},
		{Name: CauseChange, Label: "change", About: "the lake changed under the agent (strict schedules only)"},
	}
	Verdicts = Vocabulary{
		{Name: Stale, Label: "stale", About: "the entry contradicts the observation"},
		{Name: Valid, Label: "valid", About: "the entry agrees with the observation"},
		{Name: NotCovered, Label: "not covered", About: "the observation shows nothing about the entry; only methods of one's own are asked for it"},
		{Name: Unanswered, Label: "unanswered", About: "asked, without a usable answer"},
	}
	Policies = Vocabulary{
		{Name: "remove", Label: "remove", About: "a stale entry is kept out of the view"},
		{Name: "mark", Label: "mark", About: "it stays, and is said that it may no longer hold"},
		{Name: "unknown", Label: "unknown", About: "its cell is said to be UNKNOWN"},
		{Name: "correct", Label: "correct", About: "it says what holds now by its auditor: what the auditor proposes, or else its opposite"},
	}
	Outcomes = Vocabulary{
		{Name: Success, Label: "success", Legend: "reached G", About: "it reached G"},
		{Name: Death, Label: "death", Legend: "died", About: "it entered a hole"},
		{Name: Timeout, Label: "timeout", Legend: "ran out of steps", About: "neither within the step budget"},
	}
)
