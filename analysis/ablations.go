package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// varyingIn keeps the groups that differ from another one only in what clear
// takes out of their settings.
func varyingIn(groups []*Group, clear func(*Setting)) []*Group {
	rest := func(g *Group) Setting {
		s := g.Setting
		clear(&s)
		return s
	}
	seen := map[Setting]int{}
	for _, g := range groups {
		seen[rest(g)]++
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool { return seen[rest(g)] < 2 })
}

// callsPerAudit are the model calls behind one window, repairedShare those of
// them whose reply needed a repair.
var (
	callsPerAudit = &measure{key: "calls_per_audit", words: "calls an audit", unit: "calls", of: func(r *Row) (int, int) { return int(r.calls), int(r.audits) }}
	repairedShare = &measure{key: "mended", words: "replies repaired", unit: "share of calls", high: 1, of: func(r *Row) (int, int) { return int(r.repaired), int(r.calls) }}
)

// batch tells what the number of entries a call does to an audit (paper,
// appendix E, Table 5). It has rows when a run audits with several.
func (f *Frame) batch() Table {
	var paidFor bool
	s := &spec{
		Table: Table{ID: "batch", Title: "Batch size: entries a call", Topic: TopicAblations, Paper: "Table 5", Need: "audits with several batch sizes: spatialstale run batch",
			About: "The same audit with the memory cut into batches of different size. Fewer entries a call cost more calls; whether they find more is the question."},
		task: record.Detect, where: func(s *Setting) bool { return s.Batch > 0 && s.Strategy != scoreStrategy },
		by: []dim{byModel, byRegime, byModality, byDetector, byBatch}, order: []dim{byModel, byRegime, byModality, byFraming, byDetector, byBatch},
		keep: func(groups []*Group) []*Group { return varyingIn(groups, byBatch.clear) },
		columns: func(f *Frame, groups []*Group) []column {
			prices := f.priceColumns(groups)
			paidFor = prices != nil
			base := func(g *Group) *Group { // the paper's batch, or the smallest
				var found *Group
				for _, o := range groups {
					if s := o.Setting; o.Batch == publishedBatch || found == nil || found.Batch != publishedBatch && o.Batch < found.Batch {
						if s.Batch = g.Batch; s == g.Setting {
							found = o
						}
					}
				}
				return found
			}
			pairs := map[*Group]*paired{}
			for _, g := range groups {
				if b := base(g); b != nil && b != g {
					pairs[g] = pairGroups(b, g, f1, f1, [2]string{fmt.Sprintf("B=%d", b.Batch), fmt.Sprintf("B=%d", g.Batch)})
				}
			}
			f.ablate(groups, func(g *Group) (string, []*paired) { return g.Model, []*paired{pairs[g]} })
			cols := append(seedsColumns(), meanOf(f1))
			cols = append(append(cols, againstColumns(f1, func(g *Group) *paired { return pairs[g] })...), meanOf(precision), meanOf(recall), averageOf(callsPerAudit, 1).brief(), shareOf(unanswered), shareOf(repairedShare).last(1))
			calls := f.paperColumn(groups, "paper_calls", "calls", inPaper, callsPerAudit, "batch-calls").last(2)
			calls.Decimals = 0
			return append(append(cols, prices...), f.paperColumn(groups, "paper_f1", "F1", inPaper, f1, "batch-f1"), calls)
		},
		notes: func(*Frame, []*Group, *Table) []string {
			notes := []string{noteAgainst(fmt.Sprintf("the row of %d entries a call, or of the fewest", publishedBatch)), "calls an audit: model calls behind one window, with those that asked once more. replies repaired: the share of calls whose reply needed a repair to be read."}
			if !paidFor {
				notes = append(notes, "For models with a server an audit’s tokens, dollars and seconds are shown here: spatialstale run batch --model openai/gpt-4o. Controls take no tokens and cost nothing.")
			}
			return notes
		},
	}
	return f.table(s)
}

// ablate tests the differences of a table's rows to those that they are compared
// with: all of one model on one measure are a family, at the level that the
// study declares for its contrasts. of returns the model and the pairs of a row,
// nil where it has none.
func (f *Frame) ablate(groups []*Group, of func(*Group) (model string, pairs []*paired)) {
	tests := f.tests()
	var all []*paired
	var families []string
	for _, g := range groups {
		model, pairs := of(g)
		for _, p := range pairs {
			if p != nil && !p.missing {
				all, families = append(all, p), append(families, model+" "+p.measure.key)
			}
		}
	}
	testAll(all, &tests, func(int) bool { return true }, func(i int) string { return families[i] })
}

// againstColumns are the difference of a row to the one that it is compared
// with, its interval, and its p adjusted in the family of the table.
func againstColumns[R any](m *measure, of func(R) *paired) []colOf[R] {
	col := func(key, heading string, kind Kind, unit string, cell func(*paired) Cell) colOf[R] {
		return colOf[R]{Column{Key: m.key + "_" + key, Heading: heading, Unit: unit, Kind: kind, Decimals: 3, Brief: kind == Paired, Priority: index(kind == Interval)}, func(r R) Cell {
			if p := of(r); p != nil {
				return cell(p)
			}
			return Cell{}
		}}
	}
	const difference = "difference of shares"
	return []colOf[R]{
		col("difference", "Δ\u00a0"+m.words, Paired, difference, (*paired).differenceCell),
		col("interval", "interval", Interval, difference, (*paired).intervalCell),
		col("p_holm", "Holm\u00a0p", PValue, "probability", (*paired).holmCell),
	}
}

// noteAgainst explains them.
func noteAgainst(base string) string {
	return "Δ: the difference to " + base + ", on the same seeds; interval: bootstrap by seed; Holm p: sign-flip test by seed, adjusted over all rows of one model on one measure in this table; " + markFamily + ": at most the level of the study’s family."
}

// priceColumns tell what an audit of a detection takes: the mean of a call by the
// calls of an audit. There are none where nothing was paid for.
func (f *Frame) priceColumns(groups []*Group) []column {
	if !slices.ContainsFunc(groups, func(g *Group) bool { return g.calls().calls > 0 }) {
		return nil
	}
	number := func(key, heading, unit string, decimals, priority int, perCall func(*paid) *float64) column {
		return column{Column{Key: key, Heading: heading, Group: "an audit", Unit: unit, Kind: Number, Decimals: decimals, Priority: priority}, func(g *Group) Cell {
			calls, per := quotient(g.pooled(callsPerAudit)), perCall(g.calls())
			if per == nil || calls == nil {
				return Cell{}
			}
			return Cell{Value: new(*per * *calls), Decimals: decimals - index(decimals == 0)}
		}}
	}
	dollars := number("usd_per_audit", "US\u00a0$", "US dollars", 4, 0, func(p *paid) *float64 { return p.cost.mean() })
	pico := dollars.cell
	dollars.cell = func(g *Group) Cell { return dollarCell(pico(g).Value) }
	return []column{
		number("input_tokens_per_audit", "tokens in", "tokens", 0, 1, func(p *paid) *float64 { return p.input.mean() }),
		number("output_tokens_per_audit", "out", "tokens", 0, 1, func(p *paid) *float64 { return p.output.mean() }),
		dollars,
		number("seconds_per_audit", "s", "seconds", 1, 1, func(p *paid) *float64 {
			if p.calls == 0 {
				return nil
			}
			return new(p.latency.Seconds() / float64(p.calls))
		}),
	}
}

// byThreshold are the scores of a detector that count as stale from a threshold
// on.
func byThreshold(k int) func(*Row) record.Counts {
	return func(r *Row) record.Counts {
		if r.scores == nil {
			return record.Counts{}
		}
		return r.scores.at[k]
	}
}

func hasScores(g *Group) bool { return g.any(func(r *Row) bool { return r.scores != nil }) }

// scoreRows returns, for each setting that has scores, a row for each threshold
// and for each detector that answers yes or no on the same lakes.
func (f *Frame) scoreRows() []*scoreRow {
	groups := f.grouped(detectionDims, func(s *Setting) bool { return s.Task == record.Detect }, nil)
	var out []*scoreRow
	for _, g := range groups {
		if !hasScores(g) {
			continue
		}
		var best *scoreRow
		most := 0.0
		for k, limit := range thresholds {
			r := &scoreRow{Group: g, name: fmt.Sprintf("score >= %.1f", limit), short: fmt.Sprintf("score ≥ %.1f", limit), threshold: limit, counts: byThreshold(k)}
			if v := r.mean(f1Of).Value; v != nil && *v > most {
				best, most = r, *v
			}
			out = append(out, r)
		}
		if best != nil {
			best.best = true
		}
		mine := out[len(out)-len(thresholds):]
		for _, b := range groups {
			s, of := b.Setting, g.Setting
			byDetector.clear(&s)
			byDetector.clear(&of)
			s.Batch, of.Batch = 0, 0
			if b.Strategy != scoreStrategy && s == of {
				out = append(out, &scoreRow{Group: b, name: b.Strategy, short: "yes or no: " + record.Strategies.Label(b.Strategy), counts: allCounts})
				for _, r := range mine {
					if r.against == nil {
						r.against = pairGroups(b, g, f1, score("f1", "F1", r.counts, f1Of), [2]string{b.Strategy, r.name})
					}
				}
			}
		}
	}
	return out
}

// A scoreRow is a detector by one threshold, or one that answers yes or no next
// to it.
type scoreRow struct {
	*Group
	name, short string
	threshold   float64 // 0 for yes or no
	counts      func(*Row) record.Counts
	best        bool
	against     *paired // yes or no on the same lakes; nil for that itself
}

func (r *scoreRow) mean(of func(record.Counts) (num, den int)) Cell {
	return overSeeds(r.values(score("", "", r.counts, of)))
}

// scoreTable sets numbers with a threshold next to yes or no (paper, appendix D,
// Table 4). It has rows when a run asks for scores.
func (f *Frame) scoreTable() Table {
	rows := f.scoreRows()
	var tested []*Group
	at := map[*Group]*scoreRow{}
	for _, r := range rows {
		g := *r.Group
		tested = append(tested, &g)
		at[&g] = r
	}
	f.ablate(tested, func(g *Group) (string, []*paired) { return g.Model, []*paired{at[g].against} })
	t := Table{ID: "score", Title: "Scores with a threshold next to yes or no", Topic: TopicAblations, Paper: "Table 4", Need: "audits that give scores: spatialstale run score",
		About: "The score detector gives each entry a number from 0 to 1, which counts as stale from a threshold on; below, the detectors that answer yes or no on the same lakes."}
	var groups []*Group
	for _, r := range rows {
		groups = append(groups, r.Group)
	}
	var cols []colOf[*scoreRow]
	for _, c := range f.labels([]dim{byModel, byRegime, byModality, byFraming, bySize}, false, groups) {
		hide := c.Key == "framing" && !f.differIn(byFraming, groups) || c.Key == "grid" && !f.differIn(bySize, groups)
		c.Align = Left
		cols = append(cols, colOf[*scoreRow]{c.hiddenIf(hide).Column, func(r *scoreRow) Cell { return c.cell(r.Group) }})
	}
	mean := func(key string, of func(record.Counts) (num, den int)) colOf[*scoreRow] {
		heading := map[string]string{"f1": "F1"}[key]
		if heading == "" {
			heading = key
		}
		return colOf[*scoreRow]{Column{Key: key, Heading: heading, Unit: "share", Kind: Mean, Decimals: 3}, func(r *scoreRow) Cell { return r.mean(of) }}
	}
	missing := shareOf(unanswered)
	paper := func(r *scoreRow) *publishedFigure {
		if r.threshold == 0 {
			return f.publishedFor("binary-f1", r.Group)
		}
		return f.publishedWhere(r.Group, func(p *publishedFigure) bool { return p.Measure == "score-f1" && p.Threshold == r.threshold })
	}
	cols = append(cols,
		colOf[*scoreRow]{label("verdict", "stale when"), func(r *scoreRow) Cell { return Cell{Label: r.name, Short: r.short} }},
		colOf[*scoreRow]{Column{Key: "batch", Heading: "batch", Unit: "entries a call", Kind: Label, Align: Right, DataOnly: true}, func(r *scoreRow) Cell { return Cell{Label: fmt.Sprint(r.Batch)} }},
		colOf[*scoreRow]{label("best", ""), func(r *scoreRow) Cell { return Cell{Label: map[bool]string{true: "best"}[r.best]} }},
		colOf[*scoreRow]{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *scoreRow) Cell { return Cell{Count: len(r.values(f1))} }},
		mean("f1", f1Of))
	cols = append(append(cols, againstColumns(f1, func(r *scoreRow) *paired { return r.against })...), mean("precision", precisionOf), mean("recall", recallOf),
		colOf[*scoreRow]{missing.Column, func(r *scoreRow) Cell { return missing.cell(r.Group) }},
		colOf[*scoreRow]{Column{Key: "paper_f1", Heading: "F1 in the paper", Unit: "share", Kind: Number, Decimals: 3, DataOnly: !slices.ContainsFunc(rows, func(r *scoreRow) bool { return paper(r) != nil })},
			func(r *scoreRow) Cell { return paperCell(paper(r)) }})
	fill(&t, cols, rows)
	if len(rows) > 0 {
		t.Warnings = lostWarnings(f.grouped(nil, func(s *Setting) bool { return s.Task == record.Detect }, nil), record.Detect)
		t.Notes = []string{noteAgainst("the first detector that answers yes or no"), "best: the threshold with the highest mean F1. It was chosen on the very seeds that it is shown for, which flatters it; a threshold that is to be used must be chosen on others.", "An entry without a score counts as not flagged."}
	}
	f.finishTable(&t, "precision where nothing was flagged", modelsOf(groups))
	return t
}

// differIn reports whether groups differ in a dim.
func (f *Frame) differIn(d dim, groups []*Group) bool {
	return slices.ContainsFunc(groups, func(g *Group) bool {
		return d.cell(f, &g.Setting).Label != d.cell(f, &groups[0].Setting).Label
	})
}

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

// A bothTasks is one setting with what both tasks say of it.
type bothTasks struct {
	Setting             // without its task
	detection, episodes *Group
	against             map[*measure]*paired // what it is compared with, by measure
}

// settings returns a row for every setting of either task, in the order of
// tables of episodes, of those that vary in what clear takes out.
func (f *Frame) settings(clear func(*Setting)) []*bothTasks {
	at := map[Setting]*bothTasks{}
	var all []*Group
	for _, g := range f.grouped(episodeDims, func(s *Setting) bool { return s.Task == record.Navigate || s.Strategy != scoreStrategy }, nil) {
		s := g.Setting
		s.Task = ""
		if at[s] == nil {
			at[s] = &bothTasks{Setting: s}
			all = append(all, &Group{Setting: s})
		}
		if g.Task == record.Detect {
			at[s].detection = g
		} else {
			at[s].episodes = g
		}
	}
	var out []*bothTasks
	for _, g := range varyingIn(all, clear) {
		out = append(out, at[g.Setting])
	}
	compare := f.comparing(episodeDims)
	slices.SortFunc(out, func(x, y *bothTasks) int { return compare(x.Setting, y.Setting) })
	return out
}

// seedsFor returns the seeds of a measure's task, by seed.
func (r *bothTasks) groupOf(m *measure) *Group {
	if m == f1 {
		return r.detection
	}
	return r.episodes
}

// compare pairs rows with those that base names, in which the value of a dim is
// another, and tests them.
func (f *Frame) compare(rows []*bothTasks, base func(s *Setting), value func(s *Setting) string) {
	at := map[*Group]*bothTasks{}
	var all []*Group
	for _, r := range rows {
		r.against = map[*measure]*paired{}
		g := &Group{Setting: r.Setting}
		at[g], all = r, append(all, g)
		of := r.Setting
		base(&of)
		i := slices.IndexFunc(rows, func(o *bothTasks) bool { return o.Setting == of })
		if i < 0 || rows[i] == r {
			continue
		}
		for _, m := range []*measure{f1, success, death} {
			if a, b := rows[i].groupOf(m), r.groupOf(m); a != nil && b != nil {
				r.against[m] = pairGroups(a, b, m, m, [2]string{value(&of), value(&r.Setting)})
			}
		}
	}
	f.ablate(all, func(g *Group) (string, []*paired) { return g.Model, slices.Collect(maps.Values(at[g].against)) })
}

func (r *bothTasks) mean(m *measure) Cell {
	if g := r.groupOf(m); g != nil {
		return overSeeds(g.values(m))
	}
	return Cell{}
}

// bothTable is a table over both tasks of the rows that vary in one dim.
func (f *Frame) bothTable(t Table, rows []*bothTasks, varied dim, heading string, after []colOf[*bothTasks], dash string, notes ...string) Table {
	var groups []*Group
	var lost []*Group
	for _, r := range rows {
		groups = append(groups, &Group{Setting: r.Setting})
		for _, g := range []*Group{r.detection, r.episodes} {
			if g != nil {
				lost = append(lost, g)
			}
		}
	}
	of := func(c column) colOf[*bothTasks] {
		return colOf[*bothTasks]{c.Column, func(r *bothTasks) Cell { return c.cell(&Group{Setting: r.Setting}) }}
	}
	var cols []colOf[*bothTasks]
	for _, c := range f.labels([]dim{byModel, byModality, byRegime, byStrategy, varied}, false, groups) {
		if c.Key == varied.Key && heading != "" {
			c.Heading = heading
		}
		cols = append(cols, of(c))
	}
	batches := varyingIn(groups, byBatch.clear)
	cols = append(cols, of(f.labels([]dim{byBatch}, false, groups)[0].hiddenIf(len(batches) == 0)))
	if c := f.labels([]dim{byCondition}, false, groups)[0]; f.differIn(byCondition, groups) {
		cols = append(cols, of(c))
	}
	fill(&t, append(cols, after...), rows)
	if len(rows) > 0 {
		t.Warnings = lostWarnings(lost, "")
		t.Notes = notes
	}
	f.finishTable(&t, dash, modelsOf(groups))
	return t
}

// framing tells what the words that introduce the memory do. It has rows when a
// run uses several.
func (f *Frame) framing() Table {
	rows := f.settings(byFraming.clear)
	f.compare(rows, func(s *Setting) { s.Framing = record.Framings[0].Name }, func(s *Setting) string { return s.Framing })
	noDetection, noEpisodes := without(rows)
	var cols []colOf[*bothTasks]
	cols = append(cols, f.gridColumn(rows), episodesOfBoth(noEpisodes))
	for _, m := range []*measure{f1, success, death} {
		hide := noEpisodes
		if m == f1 {
			hide = noDetection
		}
		cols = append(cols, measuredColumns(m, "share", hide)...)
	}
	return f.bothTable(Table{ID: "framing", Title: "Wording: how the memory is introduced", Topic: TopicAblations, Need: "several wordings: spatialstale run framing",
		About: "The same trials with several wordings of what the memory is: neutral says nothing of whether it may be outdated, trusted calls it reliable, warned says that it may be outdated. "},
		rows, byFraming, "wording", cols, "there is nothing to show: neutral has no difference to itself, a strategy that asks nobody has no F1, a detection no success",
		noteAgainst("neutral"), "F1 is that of the detection with the same audit; success and death are of the episodes.")
}

// measuredColumns are a measure and its difference to the row compared with.
func measuredColumns(m *measure, unit string, hide bool) []colOf[*bothTasks] {
	cols := append([]colOf[*bothTasks]{{Column{Key: m.key, Heading: m.words, Unit: unit, Kind: Mean, Decimals: 3, Brief: true}, func(r *bothTasks) Cell { return r.mean(m) }}},
		againstColumns(m, func(r *bothTasks) *paired { return r.against[m] })...)
	for i := range cols {
		cols[i] = cols[i].hiddenIf(hide)
	}
	return cols
}

func without(rows []*bothTasks) (detection, episodes bool) {
	return !slices.ContainsFunc(rows, func(r *bothTasks) bool { return r.detection != nil }), !slices.ContainsFunc(rows, func(r *bothTasks) bool { return r.episodes != nil })
}

func episodesOfBoth(hide bool) colOf[*bothTasks] {
	return colOf[*bothTasks]{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count, Priority: 1, DataOnly: hide}, func(r *bothTasks) Cell {
		if r.episodes == nil {
			return Cell{}
		}
		return Cell{Count: progressOf(r.episodes).finished}
	}}
}

func (f *Frame) gridColumn(rows []*bothTasks) colOf[*bothTasks] {
	same := !slices.ContainsFunc(rows, func(r *bothTasks) bool { return r.Rows != rows[0].Rows || r.Cols != rows[0].Cols })
	return colOf[*bothTasks]{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: same}, func(r *bothTasks) Cell { return gridCell(r.Rows, r.Cols) }}
}

// sizes tells what larger lakes do. It has rows when a run has several sizes.
func (f *Frame) sizes() Table {
	rows := f.settings(bySize.clear)
	base := Setting{Rows: publishedSide, Cols: publishedSide}
	if !slices.ContainsFunc(rows, func(r *bothTasks) bool { return r.Rows == base.Rows && r.Cols == base.Cols }) && len(rows) > 0 {
		base = slices.MinFunc(rows, func(x, y *bothTasks) int { return bySize.compare(&f.order, &x.Setting, &y.Setting) }).Setting
	}
	f.compare(rows, func(s *Setting) { s.Rows, s.Cols = base.Rows, base.Cols }, func(s *Setting) string { return gridCell(s.Rows, s.Cols).Label })
	noDetection, noEpisodes := without(rows)
	average := func(key, heading string, m *measure) colOf[*bothTasks] {
		return colOf[*bothTasks]{Column{Key: key, Heading: heading, Unit: "steps", Kind: Average, Decimals: 1, Brief: true, DataOnly: noEpisodes}, func(r *bothTasks) Cell {
			if r.episodes == nil {
				return Cell{}
			}
			return averageOf(m, 1).cell(r.episodes)
		}}
	}
	same := !slices.ContainsFunc(rows, func(r *bothTasks) bool { return r.Framing != rows[0].Framing })
	cols := []colOf[*bothTasks]{
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: same}, func(r *bothTasks) Cell { return Cell{Label: r.Framing} }},
		{Column{Key: "budget", Heading: "step budget", Unit: "steps", Kind: Count, Priority: 1}, func(r *bothTasks) Cell {
			g, err := lake.New(r.Rows, r.Cols)
			if err != nil {
				return Cell{}
			}
			return Cell{Count: g.StepBudget()}
		}},
	}
	cols = append(append(cols, measuredColumns(f1, "share", noDetection)...), episodesOfBoth(noEpisodes))
	cols = append(append(cols, measuredColumns(success, success.unit, noEpisodes)...), measuredColumns(death, death.unit, noEpisodes)...)
	cols = append(cols, average("steps", "steps", steps), average("steps_success", "steps to G", lengths[endSuccess]))
	return f.bothTable(Table{ID: "sizes", Title: "Size of the lake", Topic: TopicAblations, Need: "lakes of several sizes: spatialstale run sizes",
		About: "The same study on lakes of different size. The step budget grows with the route to G, the number of changes with the cells."},
		rows, bySize, "", cols, "there is nothing to show: a strategy that asks nobody has no F1, a detection no success, and where nobody reached G there are no steps to it",
		noteAgainst("lakes of "+gridCell(base.Rows, base.Cols).Short)+" Lakes of two sizes share no more than the number of their seed, so that pairing gains nothing.",
		"A seed’s episodes are averaged first; steps are the mean over all episodes, and over those that reached G.")
}
