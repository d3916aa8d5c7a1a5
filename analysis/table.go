package analysis

import (
	"math"

	"github.com/spatialstale/spatialstale/stats"
)

// A Table is one result, ready to be shown in any format. Everything a reader
// must know to take the numbers rightly stands in it.
type Table struct {
	ID    string // stable, fit for a file name, such as "navigation-text"
	Title string
	Topic Topic  // under which a page and a list of tables put it
	Paper string // where the paper (arXiv 2608.04574) has it, such as "Table 3"; empty when it has none
	About string // one or two sentences: what is asked, how to read the columns
	// Warnings say what is wrong with the run behind the numbers, Notes what is
	// good to know about them.
	Warnings, Notes []string
	// Need says what a run must hold for the table to have rows, and how to get
	// it, such as "episodes: spatialstale run --task navigate".
	Need string
	// Columns and the cells of each row stand in the same order.
	Columns []Column
	Rows    [][]Cell
}

// A Topic is a heading that tables and figures are put under.
type Topic string

// The topics, in the order in which they are shown.
const (
	TopicDetection  Topic = "Detection"
	TopicNavigation Topic = "Navigation"
	TopicDeaths     Topic = "Deaths and safety"
	TopicAblations  Topic = "Ablations"
	TopicReplies    Topic = "Replies and reasons"
	TopicLakes      Topic = "Lakes and memory"
	TopicPaper      Topic = "The paper's figures"
	TopicRun        Topic = "Models, cost and losses"
)

// Topics lists the topics in order.
var Topics = []Topic{TopicDetection, TopicNavigation, TopicDeaths, TopicAblations, TopicReplies, TopicLakes, TopicPaper, TopicRun}

// A Summary is what a run comes to, in plain sentences: what a reader sees
// first, on a terminal and on a page.
type Summary struct {
	Title    string    // of the study, or of several
	Findings []Finding // models before controls, the strongest contrast first
	Lost     []string  // what failed or is missing, and what that means; empty when nothing is
	Names    []string  // the models behind short names in all that: [1] and the full name
}

// A Finding is one sentence with its number and interval.
type Finding struct {
	Text    string
	Control bool   // no model in it is more than a built-in control
	Table   string // the ID of the table that has the number
}

// A Kind says what a column's cells hold, and which fields of a Cell are set.
type Kind string

// The kinds of columns. A value is a number of the column's Unit.
const (
	Label   Kind = "label"   // Label: what the row is about
	Count   Kind = "count"   // Count, and Of when that many were planned
	Number  Kind = "number"  // Value alone
	Mean    Kind = "mean"    // Value, SD and N: mean over seeds, and the number of seeds it rests on
	Rate    Kind = "rate"    // a Mean of every seed's share, with Count out of Of over all seeds
	Share   Kind = "share"   // Value is Count out of Of, over all seeds
	Average Kind = "average" // Value is the mean over N episodes
	Paired  Kind = "paired"  // a Mean of per-seed differences, with Pairs behind it

	PValue   Kind = "p"        // Value is a p-value, Method its test, Least what the test could reach; with a Mark where a level is reached
	Interval Kind = "interval" // Low, High, Level and Method: where a value lies with that confidence
	Verdict  Kind = "verdict"  // Label: what a test says, in a word; a result, unlike a Label
)

// Align is a column's alignment.
type Align string

// The alignments.
const (
	Left  Align = "left"
	Right Align = "right"
)

// A Column describes the cells below it.
type Column struct {
	Key      string // stable name for data formats, unique in the table
	Heading  string // for people; a no-break space keeps words together
	Group    string // heading shared with the neighbouring columns of the same group
	Unit     string // "share", "steps", "reward", "seeds", …; empty for labels
	Kind     Kind
	Decimals int // for people; data formats write full precision
	Align    Align

	Section  bool // a label whose runs of equal values make the table's sections
	Brief    bool // people are shown the value without its SD or count
	Base     bool // people are shown the denominator of a Share behind it, not the numerator
	DataOnly bool // for data formats; people are not shown it
	Priority int  // 0 always stays; where room is short, the greatest goes first
}

// A Cell holds one value. A nil Value or SD is undefined, which is not zero.
type Cell struct {
	Label string // the value as records write it
	Short string // how people are shown it; empty: as it is. In place of an undefined Value, what there is instead
	Tag   string // a word that belongs beside it, such as "control"

	Value     *float64
	SD        *float64 // sample standard deviation (divisor n-1); nil for fewer than two values
	N         int      // what Value rests on: seeds, or episodes of an Average
	Undefined int      // seeds left out because the value does not exist there
	Count     int
	Of        int
	Sides     [2]string  // what A and B of Pairs are, such as "no-memory" and "no-filter"
	Pairs     []SeedPair // the seeds behind a difference, in ascending order, also those where it is undefined
	Decimals  int        // for people, where the column's do not fit; 0 stands for the column's, a negative number for none

	Best bool // the best of its part of the table, ties too; people are shown it in bold

	Low, High *float64 // ends of an Interval, both nil where there is none
	Level     float64  // its confidence, such as 0.95
	Method    string   // the test behind a PValue, how an Interval was made
	Least     *float64 // the smallest p-value that the test can give on these seeds
	Mark      string   // stands behind a PValue that reaches a level that the table names

	// Warnings say what a reader of this number should know. People find them
	// in the table's notes, at the letters in Footnotes; a letter stands for one
	// code.
	Warnings  []stats.Warning
	Footnotes string
}

// defined reports whether a column's cell has a value to show.
func (c *Cell) defined(col *Column) bool {
	switch col.Kind {
	case Label, Verdict:
		return c.Label != ""
	case Count:
		return true
	case Interval:
		return c.Low != nil && c.High != nil
	}
	return c.Value != nil
}

// A SeedPair is one seed's value under two conditions, in one run or two; nil where it is undefined.
type SeedPair struct {
	Seed int
	A, B *float64
}

// Difference is B minus A, nil where either is undefined. What is left by
// rounding alone is 0.
func (p *SeedPair) Difference() *float64 {
	if p.A == nil || p.B == nil {
		return nil
	}
	d := *p.B - *p.A
	if math.Abs(d) < roundingOnly {
		d = 0
	}
	return &d
}

// Display returns what people are shown for a label.
func (c *Cell) Display() string {
	if c.Short != "" {
		return c.Short
	}
	return c.Label
}
