package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spatialstale/spatialstale/record"
)

// scoreStrategy is the detector that gives each entry a score in [0,1] (paper,
// appendix D).
const scoreStrategy = "score"

// thresholds are those from which on a score counts as stale. The paper names
// only the last.
var thresholds = [...]float64{0.3, 0.5, 0.7}

// A scoreTally holds one seed's scores.
type scoreTally struct {
	at   [len(thresholds)]record.Counts
	bins [11]binTally
}

// A binTally holds the entries whose scores are alike: from k/10 on, below the
// next; the last bin holds scores of exactly 1.
type binTally struct {
	entries, stale int
	sum            int64 // of the scores, in billionths
}

// add counts a window's scores. An entry without one counts as not flagged.
func (s *scoreTally) add(w *record.Window) {
	for i := range w.Judgments {
		j := &w.Judgments[i]
		score, ok := fraction(j.Score)
		for k, limit := range thresholds {
			verdict := record.Unanswered
			switch {
			case ok && *j.Score >= limit:
				verdict = record.Stale
			case ok:
				verdict = record.Valid
			}
			s.at[k].Add(j.Truth, verdict)
		}
		if ok {
			b := &s.bins[binOf(*j.Score)]
			b.entries++
			b.stale += index(j.Truth)
			b.sum += score
		}
	}
}

// binOf returns the bin of a score. It compares with the same decimals that a
// model writes, so that 0.3 falls into the bin that begins at 0.3.
func binOf(score float64) int {
	k := 0
	for k < 10 && score >= float64(k+1)/10 {
		k++
	}
	return k
}

// fraction returns a number in [0,1] in billionths, of which sums do not depend
// on their order; false when it is absent or none.
func fraction(x *float64) (int64, bool) {
	if x == nil || !(*x >= 0 && *x <= 1) {
		return 0, false
	}
	return int64(*x*1e9 + 0.5), true
}

// A scoreRow is a detector by one threshold, or a binary detector beside it.
type scoreRow struct {
	setting
	name      string
	short     string
	threshold float64 // 0 for a binary detector
	seeds     []record.Counts
	best      bool
}

func (r *scoreRow) score(of func(record.Counts) *float64) Cell {
	values := make([]*float64, len(r.seeds))
	for i := range r.seeds {
		values[i] = of(r.seeds[i])
	}
	return overSeeds(values)
}

// Score sets numbers with a threshold beside yes or no (paper, appendix D, Table
// 4). It has rows when a run asks for scores.
func (c *Collector) Score() Table {
	t := Table{
		ID:    "score",
		Title: "Scores with a threshold beside yes or no",
		Paper: "Table 4",
		About: "The score detector gives each entry a number from 0 to 1, which counts as stale from a threshold on; below, the detectors that answer yes or no on the same lakes.",
		Need:  "audits that give scores: spatialstale run score",
	}
	groups := c.detection.sorted(nil, c.byModelRegimeModality)
	rows := scoreRows(groups)
	short := c.modelNames()
	paper := func(r *scoreRow) *figure {
		if r.threshold == 0 {
			return c.publishedFor("binary-f1", &r.setting)
		}
		s := r.setting
		return publishedFigure(func(f *figure) bool {
			return f.Measure == "score-f1" && f.Threshold == r.threshold && c.fits(f, &s)
		})
	}
	defs := []definition[scoreRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *scoreRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *scoreRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *scoreRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: sameEverywhere(rows, func(r *scoreRow) any { return r.framing })},
			func(r *scoreRow) Cell { return Cell{Label: r.framing} }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: sameEverywhere(rows, func(r *scoreRow) any { return [2]int{r.rows, r.cols} })},
			func(r *scoreRow) Cell { return gridCell(r.rows, r.cols) }},
		{Column{Key: "verdict", Heading: "stale when", Kind: Label}, func(r *scoreRow) Cell { return Cell{Label: r.name, Short: r.short} }},
		{Column{Key: "batch", Heading: "batch", Unit: "entries a call", Kind: Label, Align: Right, DataOnly: true}, func(r *scoreRow) Cell { return Cell{Label: strconv.Itoa(r.batch)} }},
		{Column{Key: "best", Heading: "", Kind: Label}, func(r *scoreRow) Cell {
			if r.best {
				return Cell{Label: "best"}
			}
			return Cell{}
		}},
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *scoreRow) Cell { return Cell{Count: len(r.seeds)} }},
		{Column{Key: "f1", Heading: "F1", Unit: "share", Kind: Mean, Decimals: 3}, func(r *scoreRow) Cell { return r.score(record.Counts.F1) }},
		{Column{Key: "precision", Heading: "precision", Unit: "share", Kind: Mean, Decimals: 3}, func(r *scoreRow) Cell { return r.score(record.Counts.Precision) }},
		{Column{Key: "recall", Heading: "recall", Unit: "share", Kind: Mean, Decimals: 3}, func(r *scoreRow) Cell { return r.score(record.Counts.Recall) }},
		{Column{Key: "unanswered", Heading: "no answer", Unit: "share of entries judged", Kind: Share, Decimals: 3}, func(r *scoreRow) Cell {
			var n record.Counts
			for _, s := range r.seeds {
				n = n.Plus(s)
			}
			return shareOf(n.Unanswered, n.Judged())
		}},
		{Column{Key: "paper_f1", Heading: "F1 in the paper", Unit: "share", Kind: Number, Decimals: 3,
			DataOnly: !slices.ContainsFunc(rows, func(r *scoreRow) bool { return paper(r) != nil })},
			func(r *scoreRow) Cell { return paperCell(paper(r)) }},
	}
	fill(&t, defs, rows)
	t.Notes = append([]string{noteSD}, undefinedNotes(&t, "–: undefined, which is not zero: precision where nothing was flagged.")...)
	t.Notes = append(t.Notes,
		"best: the threshold with the highest mean F1. It was chosen on the very seeds that it is shown for, which flatters it; a threshold that is to be used must be chosen on others.",
		"An entry without a score counts as not flagged.")
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// scoreRows returns, for each setting that has scores, its thresholds and the
// binary detectors on the same lakes.
func scoreRows(groups []*detectionGroup) []*scoreRow {
	var out []*scoreRow
	for _, g := range groups {
		if !hasScores(g) {
			continue
		}
		first := len(out)
		for k, limit := range thresholds {
			r := &scoreRow{setting: g.setting, name: fmt.Sprintf("score >= %.1f", limit), short: fmt.Sprintf("score ≥ %.1f", limit), threshold: limit}
			for _, d := range g.seeds {
				if d.scores != nil {
					r.seeds = append(r.seeds, d.scores.at[k])
				}
			}
			out = append(out, r)
		}
		markBest(out[first:])
		for _, b := range groups {
			if b.strategy == scoreStrategy || b.model != g.model || b.modality != g.modality || b.regime != g.regime ||
				b.framing != g.framing || b.rows != g.rows || b.cols != g.cols {
				continue
			}
			r := &scoreRow{setting: b.setting, name: b.strategy, short: "yes or no: " + StrategyName(b.strategy)}
			for _, d := range b.seeds {
				if d.finished > 0 {
					r.seeds = append(r.seeds, d.counts)
				}
			}
			out = append(out, r)
		}
	}
	return out
}

func hasScores(g *detectionGroup) bool {
	return slices.ContainsFunc(g.seeds, func(d *detectionTally) bool { return d.scores != nil })
}

// markBest marks the row with the highest mean F1, the first of several; none
// when no threshold finds anything.
func markBest(rows []*scoreRow) {
	var best *scoreRow
	most := 0.0
	for _, r := range rows {
		if v := r.score(record.Counts.F1).Value; v != nil && *v > most {
			best, most = r, *v
		}
	}
	if best != nil {
		best.best = true
	}
}

// sameEverywhere reports whether all rows have the same value.
func sameEverywhere[R any](rows []*R, of func(*R) any) bool {
	return !slices.ContainsFunc(rows, func(r *R) bool { return of(r) != of(rows[0]) })
}

// A binRow is one bin of scores of a setting.
type binRow struct {
	setting
	bin int
	binTally
}

// binName says which scores a bin holds.
func (r *binRow) binName() string {
	if r.bin == 10 {
		return "1"
	}
	return fmt.Sprintf("%.1f to <%.1f", float64(r.bin)/10, float64(r.bin+1)/10)
}

// Calibration tells how many of the entries with a score are truly stale.
func (c *Collector) Calibration() Table {
	t := Table{
		ID:    "calibration",
		Title: "Calibration of scores: how many entries with that score are stale",
		Paper: "appendix D",
		About: "A calibrated model’s entries of score 0.6 are stale in 60% of cases. Bins hold scores from their first number on and below their last.",
		Need:  "audits that give scores: spatialstale run score",
	}
	groups := slices.DeleteFunc(c.detection.sorted(nil, c.byModelRegimeModality), func(g *detectionGroup) bool { return !hasScores(g) })
	var rows []*binRow
	for _, g := range groups {
		bins := make(map[int]binTally)
		for _, d := range g.seeds {
			if d.scores == nil {
				continue
			}
			for k, b := range d.scores.bins {
				if b.entries > 0 {
					sum := bins[k]
					bins[k] = binTally{sum.entries + b.entries, sum.stale + b.stale, sum.sum + b.sum}
				}
			}
		}
		for _, k := range slices.Sorted(maps.Keys(bins)) {
			rows = append(rows, &binRow{g.setting, k, bins[k]})
		}
	}
	short := c.modelNames()
	paper := func(r *binRow) *figure {
		return publishedFigure(func(f *figure) bool {
			return f.Measure == "stale-at-score" && binOf(f.Threshold) == r.bin && c.fits(f, &r.setting)
		})
	}
	fill(&t, []definition[binRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *binRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *binRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *binRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: sameEverywhere(rows, func(r *binRow) any { return r.framing })},
			func(r *binRow) Cell { return Cell{Label: r.framing} }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: sameEverywhere(rows, func(r *binRow) any { return [2]int{r.rows, r.cols} })},
			func(r *binRow) Cell { return gridCell(r.rows, r.cols) }},
		{Column{Key: "score", Heading: "score", Kind: Label}, func(r *binRow) Cell { return Cell{Label: r.binName()} }},
		{Column{Key: "mean_score", Heading: "mean score", Unit: "score", Kind: Average, Decimals: 3, Brief: true}, func(r *binRow) Cell { return meanOf(r.sum, r.entries) }},
		{Column{Key: "stale", Heading: "truly stale", Unit: "share of entries with such a score", Kind: Share, Decimals: 3, Base: true}, func(r *binRow) Cell { return shareOf(r.stale, r.entries) }},
		{Column{Key: "paper_stale", Heading: "in\u00a0the paper", Unit: "share of entries with such a score", Kind: Number, Decimals: 2,
			DataOnly: !slices.ContainsFunc(rows, func(r *binRow) bool { return paper(r) != nil })},
			func(r *binRow) Cell { return paperCell(paper(r)) }},
	}, rows)
	t.Notes = append(t.Notes, "In brackets, where there is room, the number of entries. Entries without a score are in no bin; bins without an entry are left out.")
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

// meanOf is the mean of n fractions whose sum is in billionths.
func meanOf(sum int64, n int) Cell {
	c := Cell{N: n}
	if n > 0 {
		c.Value = new(float64(sum) / 1e9 / float64(n))
	}
	return c
}
