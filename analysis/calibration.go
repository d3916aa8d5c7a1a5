package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// binTable is a table of the bins of a number that detections have.
func (f *Frame) binTable(t Table, head string, bins int, has func(*Row) bool, of func(r *Row, bin int) *binCount, paper string) Table {
	bin := func(g *Group) (n int) { fmt.Sscan(g.Label, &n); return n }
	count := func(r *Row, label string) *binCount {
		var n int
		fmt.Sscan(label, &n)
		return of(r, n)
	}
	stale := &measure{key: "stale", words: "truly stale", unit: "share of entries with such a " + head, high: 1, each: func(r *Row, label string) (int, int) {
		b := count(r, label)
		return int(b.stale.count), int(b.stale.of)
	}}
	value := &measure{key: "mean_" + head, words: "mean " + head, unit: map[string]string{"p": "probability", "score": "score"}[head], each: func(r *Row, label string) (int, int) {
		b := count(r, label)
		return int(b.sum), int(b.stale.of)
	}}
	by := []dim{byModel, byRegime, byModality, byFraming, bySize}
	if head == "p" {
		by = []dim{byModel, byRegime, byModality, byDetector, byFraming, bySize}
	}
	return f.table(&spec{
		Table: t, task: record.Detect, by: by, order: detectionDims, plain: true,
		has: func(g *Group) bool { return g.any(has) },
		parts: func(_ *Frame, g *Group) (labels []string) {
			for k := range bins {
				one := Group{Label: fmt.Sprint(k), Seeds: g.Seeds}
				if _, n := one.pooled(stale); n > 0 {
					labels = append(labels, one.Label)
				}
			}
			return labels
		},
		part: column{label(head, head), func(g *Group) Cell { return Cell{Label: binName(bin(g))} }},
		columns: func(f *Frame, groups []*Group) []column {
			mean := averageOf(value, 3).brief()
			mean.cell = func(g *Group) Cell {
				sum, n := g.pooled(value)
				return billionthsCell(sum, n)
			}
			cols := []column{mean, shareOf(stale).base()}
			if paper == "" {
				return cols
			}
			figure := func(g *Group) *publishedFigure {
				return f.publishedWhere(g, func(p *publishedFigure) bool { return p.Measure == paper && binOf(p.Threshold) == bin(g) })
			}
			return append(cols, column{Column{Key: "paper_stale", Heading: inPaper, Unit: "share of entries with such a score", Kind: Number, Decimals: 2,
				DataOnly: !slices.ContainsFunc(groups, func(g *Group) bool { return figure(g) != nil })}, func(g *Group) Cell { return paperCell(figure(g)) }})
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"In brackets, where there is room, the number of entries of all seeds. Bins without an entry are left out, and so are entries without such a number."}
		},
	})
}

// billionthsCell is the mean of n fractions whose sum is in billionths.
func billionthsCell(sum, n int) Cell {
	c := Cell{N: n}
	if n > 0 {
		c.Value = new(float64(sum) / 1e9 / float64(n))
	}
	return c
}

// calibration tells how many of the entries with a score are truly stale.
func (f *Frame) calibration() Table {
	return f.binTable(Table{ID: "calibration", Title: "Calibration of scores: how many entries with that score are stale", Topic: TopicAblations, Paper: "appendix D", Need: "audits that give scores: spatialstale run score",
		About: "A calibrated model’s entries of score 0.6 are stale in 60% of cases. Bins hold scores from their first number on and below their last."},
		"score", len(scoreCounts{}.bins), func(r *Row) bool { return r.scores != nil }, func(r *Row, bin int) *binCount {
			if r.scores == nil {
				return &binCount{}
			}
			return &r.scores.bins[bin]
		}, "stale-at-score")
}

const needCertainty = "detection by a model whose server gives log-probabilities: spatialstale run --task detect --logprobs"

func hasCertainty(r *Row) bool { return r.certainty != nil }

// certaintyCalibration tells how many of the entries with that probability of
// "stale" are truly stale.
func (f *Frame) certaintyCalibration() Table {
	return f.binTable(Table{ID: "certainty-calibration", Title: "Calibration of token-level uncertainty: how many entries with that p are stale", Topic: TopicReplies, Need: needCertainty,
		About: "A calibrated model’s entries with a p of 0.6 are stale in 60% of cases. Bins hold probabilities from their first number on and below their last; the last one holds 1 as well."},
		"p", len(certainty{}.bins), hasCertainty, func(r *Row, bin int) *binCount {
			if r.certainty == nil {
				return &binCount{}
			}
			return &r.certainty.bins[bin]
		}, "")
}

// auroc is the probability that a stale entry of a seed has higher odds than a
// valid one, ties counting half; nil without an entry of each kind.
func auroc(rows []*Row) *float64 {
	all := map[int32][2]int{}
	for _, r := range rows {
		if r.certainty != nil {
			for odds, n := range r.certainty.byOdds {
				t := all[odds]
				all[odds] = [2]int{t[0] + int(n[0]), t[1] + int(n[1])}
			}
		}
	}
	var valid, stale, above int // above counts pairs twice, so that halves are whole
	for _, odds := range slices.Sorted(maps.Keys(all)) {
		t := all[odds]
		above += t[1] * (2*valid + t[0])
		valid, stale = valid+t[0], stale+t[1]
	}
	return quotient(above, 2*valid*stale)
}

// certaintyTable tells how well the probability of "stale" at the token of a
// verdict separates stale from valid entries. The paper could not look at it.
func (f *Frame) certaintyTable() Table {
	mean := func(key, words string, truth int) column {
		m := &measure{key: key, words: words, unit: "probability", high: 1, statistic: func(rows []*Row) *float64 {
			var sum, n int
			for _, r := range rows {
				if r.certainty != nil {
					sum, n = sum+int(r.certainty.p[truth].sum), n+int(r.certainty.p[truth].stale.of)
				}
			}
			return billionthsCell(sum, n).Value
		}}
		return meanOf(m)
	}
	known := ofPair("known", "with p", "share of verdicts", func(r *Row) pair {
		p := pair{of: int32(r.answered.Judged())}
		if r.certainty != nil {
			p.count = r.certainty.with
		}
		return p
	})
	return f.table(&spec{
		Table: Table{ID: "certainty", Title: "Token-level uncertainty: how likely “stale” was where a verdict was written", Topic: TopicReplies, Need: needCertainty,
			About: "p is the probability of “stale” against “not stale” at the token that gave the verdict. AUROC: how often a stale entry has a higher p than a valid one, ties half; 0.5 is chance."},
		task: record.Detect, by: []dim{byModel, byRegime, byModality, byDetector, byFraming, bySize}, order: detectionDims, plain: true,
		has: func(g *Group) bool { return g.any(hasCertainty) }, dash: "no seed has such an entry",
		columns: func(*Frame, []*Group) []column {
			return []column{shareOf(known).base(), mean("p_stale", "mean p, stale", 1), mean("p_valid", "mean p, valid", 0),
				meanOf(&measure{key: "auroc", words: "AUROC", unit: "share of pairs", high: 1, statistic: auroc})}
		},
		notes: func(_ *Frame, groups []*Group, _ *Table) []string {
			notes := []string{"with p: of the verdicts, those whose server gave it; in brackets, where there is room, the number of verdicts. Entries without an answer are in no column.",
				"Means and AUROC are each seed’s, over its entries with p, and then averaged over seeds. Odds are compared to four decimals of their logarithm."}
			n := 0
			for _, g := range groups {
				n += g.sum(func(r *Row) int {
					if r.certainty == nil {
						return 0
					}
					return int(r.certainty.oneSided)
				})
			}
			if n > 0 {
				notes = append(notes, fmt.Sprintf("%d of the verdicts had only one of the two among the tokens that the server lists; the rest of the probability counts for the other.", n))
			}
			return notes
		},
	})
}
