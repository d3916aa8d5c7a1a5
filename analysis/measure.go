package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A measure is a quotient of two sums over trials. Averaged over seeds it is the
// mean of each seed's quotient, pooled the quotient of the sums over all.
type measure struct {
	key, words string // of its columns, and for people
	unit       string
	task       string // of the trials that count, in rows that join tasks; empty for all
	of         func(r *Row) (num, den int)
	each       func(r *Row, label string) (num, den int) // in place of of, for rows that are a part of a group
	statistic  func(rows []*Row) *float64                // of a seed, in place of of, where it is no quotient of sums

	low, high float64 // the range of a seed's value; both 0 where it has none
	// rate says that each finished trial adds one to the denominator and between
	// low and high to the numerator: then it is known what a lost one could add.
	rate   bool
	lower  bool    // the better, the lower
	margin float64 // the least difference that matters; 0 where nobody has said
}

// in is a measure of the trials of one task.
func (m *measure) in(task string) *measure {
	of := *m
	of.task = task
	return &of
}

// mine are the trials that count.
func (m *measure) mine(rows []*Row) []*Row {
	if m.task == "" {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.task != m.task })
}

// quotient is num out of den, undefined for none.
func quotient(num, den int) *float64 {
	if den == 0 {
		return nil
	}
	return new(float64(num) / float64(den))
}

// at returns what a trial adds to a measure in a row of a table.
func (m *measure) at(g *Group, r *Row) (num, den int) {
	if m.each != nil {
		return m.each(r, g.Label)
	}
	return m.of(r)
}

// seed is a measure on the finished trials of one seed; there is false when no
// trial has finished.
func (m *measure) seed(g *Group, rows []*Row) (value *float64, there bool) {
	num, den := 0, 0
	var finished []*Row
	for _, r := range m.mine(rows) {
		if r.lost() {
			continue
		}
		there = true
		if m.statistic != nil {
			finished = append(finished, r)
			continue
		}
		n, d := m.at(g, r)
		num, den = num+n, den+d
	}
	if m.statistic != nil && there {
		return m.statistic(finished), true
	}
	return quotient(num, den), there
}

// values are a measure's values on the seeds that have a finished trial, nil
// where it is undefined.
func (g *Group) values(m *measure) []*float64 {
	var out []*float64
	for _, s := range g.Seeds {
		if v, there := m.seed(g, s.Rows); there {
			out = append(out, v)
		}
	}
	return out
}

// pooled is a measure's two sums over all finished trials.
func (g *Group) pooled(m *measure) (num, den int) {
	for _, s := range g.Seeds {
		for _, r := range m.mine(s.Rows) {
			if !r.lost() {
				n, d := m.at(g, r)
				num, den = num+n, den+d
			}
		}
	}
	return num, den
}

// A seedValue is what one condition gives on one seed: a value, and the least
// and the most that it could be, had the lost trials gone one way or the other.
type seedValue struct {
	value       *float64 // of what has finished; nil when it is undefined
	least, most *float64
	there       bool // some trial has finished
	lost        bool // some trial has no result
}

// valueOf is a measure on one seed, with its bounds.
func (m *measure) valueOf(g *Group, rows []*Row) seedValue {
	rows = m.mine(rows)
	value, there := m.seed(g, rows)
	var p progress
	p.add(rows)
	switch {
	case p.lost() == 0:
		return seedValue{value, value, value, there, false}
	case m.rate:
		num := 0
		for _, r := range rows {
			if !r.lost() {
				n, _ := m.at(g, r)
				num += n
			}
		}
		least := (float64(num) + m.low*float64(p.lost())) / float64(p.planned())
		most := (float64(num) + m.high*float64(p.lost())) / float64(p.planned())
		return seedValue{value, &least, &most, there, true}
	case m.low != m.high:
		return seedValue{value, new(m.low), new(m.high), there, true}
	}
	return seedValue{value: value, there: there, lost: true}
}

// reach are the least and the most that the mean over all planned seeds could
// be; nil where nothing is lost, or where nobody can tell.
func (g *Group) reach(m *measure) *Span {
	var least, most []*float64
	lost := false
	for _, s := range g.Seeds {
		v := m.valueOf(g, s.Rows)
		lost = lost || v.lost
		least, most = append(least, v.least), append(most, v.most)
	}
	low, high := overSeeds(least).Value, overSeeds(most).Value
	if !lost || low == nil || high == nil {
		return nil
	}
	return &Span{Low: *low, High: *high}
}

// overSeeds is the mean and standard deviation of a measure over seeds, given in
// ascending order of seeds. A nil value does not exist for its seed and is left
// out.
func overSeeds(values []*float64) Cell {
	xs := defined(values)
	c := Cell{N: len(xs), Undefined: len(values) - len(xs)}
	if len(xs) > 0 {
		c.Value = new(stats.Mean(xs))
	}
	if len(xs) > 1 {
		c.SD = new(stats.StdDev(xs))
	}
	return c
}

// defined returns the values that exist.
func defined(values []*float64) []float64 {
	var xs []float64
	for _, v := range values {
		if v != nil {
			xs = append(xs, *v)
		}
	}
	return xs
}

// score is a measure of a trial's judgments between 0 and 1.
func score(key, words string, counts func(*Row) record.Counts, of func(record.Counts) (num, den int)) *measure {
	return &measure{key: key, words: words, unit: "share", high: 1, margin: 0.05,
		of: func(r *Row) (int, int) { return of(counts(r)) }}
}

func allCounts(r *Row) record.Counts { return r.counts }

// answeredCounts leaves out what was not answered, and all of a trial of which
// that is not known.
func answeredCounts(r *Row) record.Counts {
	if r.opaque {
		return record.Counts{}
	}
	return r.answered
}

func f1Of(c record.Counts) (num, den int)        { return 2 * c.TP, 2*c.TP + c.FP + c.FN }
func precisionOf(c record.Counts) (num, den int) { return c.TP, c.TP + c.FP }
func recallOf(c record.Counts) (num, den int)    { return c.TP, c.TP + c.FN }
func fprOf(c record.Counts) (num, den int)       { return c.FP, c.FP + c.TN }

// Measures of judgments (paper, section 5.1).
var (
	f1        = score("f1", "F1", allCounts, f1Of)
	precision = score("precision", "precision", allCounts, precisionOf)
	recall    = score("recall", "recall", allCounts, recallOf)
	fpr       = func() *measure { // of which 0.05 would be much
		m := score("fpr", "FPR", allCounts, fprOf)
		m.margin, m.lower = 0.01, true
		return m
	}()

	f1Answered        = score("f1_answered", "F1 of answered", answeredCounts, f1Of)
	precisionAnswered = score("precision_answered", "precision of answered", answeredCounts, precisionOf)
	recallAnswered    = score("recall_answered", "recall of answered", answeredCounts, recallOf)

	unanswered = &measure{key: "unanswered", words: "no answer", unit: "share of entries judged", high: 1,
		of: func(r *Row) (int, int) { return r.counts.Unanswered, r.counts.Judged() }}
	coverage = &measure{key: "coverage", words: "coverage", unit: "share of entries judged", high: 1,
		of: func(r *Row) (int, int) { return r.counts.Judged() - r.counts.Unanswered, r.counts.Judged() }}
)

// ended is the share of episodes that end one way; ending counts the steps of
// those that do.
func ended(end int) *measure {
	name := record.Outcomes[end].Name
	return &measure{key: name, words: name, unit: "share of finished episodes", high: 1, rate: true, lower: end != endSuccess, // its margin is declared in the study
		of: func(r *Row) (int, int) { return index(r.end == end), 1 }}
}

func lengthBy(end int) *measure {
	name := record.Outcomes[end].Name
	return &measure{key: "steps_" + name, words: name, unit: "steps",
		of: func(r *Row) (int, int) { return int(r.steps) * index(r.end == end), index(r.end == end) }}
}

// Measures of episodes (paper, sections 5.1, 5.3 and 5.4).
var (
	success, death, timeout = ended(endSuccess), ended(endDeath), ended(endTimeout)
	rates                   = []*measure{success, death, timeout}
	lengths                 = []*measure{lengthBy(endSuccess), lengthBy(endDeath), lengthBy(endTimeout)}

	reward = &measure{key: "reward", words: "reward", unit: "reward, -1 to 1", low: -1, high: 1, rate: true,
		of: func(r *Row) (int, int) { return index(r.end == endSuccess) - index(r.end == endDeath), 1 }}
	steps = &measure{key: "steps", words: "any end", unit: "steps",
		of: func(r *Row) (int, int) { return int(r.steps), 1 }}
	fallback = &measure{key: "fallback", words: "fallback", unit: "share of steps", high: 1,
		of: func(r *Row) (int, int) { return int(r.fallbacks), int(r.steps) }}
)

// rateNamed returns the measure of an episode's end by its name, nil for none.
func rateNamed(name string) *measure {
	if i := record.Outcomes.Index(name); i >= 0 {
		return rates[i]
	}
	return nil
}

// flagRate is how often entries of a kind are called stale, by what they claim
// and whether that is false.
func flagRate(key, words string, claim, stale int) *measure {
	return &measure{key: key, words: words, unit: "share of such entries", high: 1,
		of: func(r *Row) (int, int) {
			return int(r.flags[claim][stale].flagged), int(r.flags[claim][stale].entries)
		}}
}

var (
	safeDeadly   = flagRate("safe_deadly", "hole (stale)", saysSafe, 1)
	safeSafe     = flagRate("safe_safe", "safe", saysSafe, 0)
	dangerSafe   = flagRate("danger_safe", "safe (stale)", saysDanger, 1)
	dangerDeadly = flagRate("danger_deadly", "hole", saysDanger, 0)
	recallThaw   = flagRate("recall_thaw", "thaw", saysSafe, 1)
	recallFreeze = flagRate("recall_freeze", "freeze", saysDanger, 1)
)

// ofPair is a measure that a trial has as a pair.
func ofPair(key, words, unit string, of func(*Row) pair) *measure {
	return &measure{key: key, words: words, unit: unit, high: 1, of: func(r *Row) (int, int) {
		p := of(r)
		return int(p.count), int(p.of)
	}}
}
