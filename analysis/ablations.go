package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// alike reports whether two rows differ in nothing but what clear takes out of
// their settings.
func alike(x, y *Group, clear func(*Setting)) bool {
	s, t := x.Setting, y.Setting
	clear(&s)
	clear(&t)
	return s == t
}

// sibling is the first row that differs from g in nothing but what clear takes
// out, and of which is holds; nil for none.
func sibling(rows []*Group, g *Group, clear func(*Setting), is func(*Group) bool) *Group {
	for _, o := range rows {
		if is(o) && alike(o, g, clear) {
			return o
		}
	}
	return nil
}

// varying keeps the rows that have siblings.
func varying(clear func(*Setting)) func(groups []*Group) []*Group {
	return func(groups []*Group) []*Group {
		return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool {
			return sibling(groups, g, clear, func(o *Group) bool { return o != g }) == nil
		})
	}
}

// A pairing compares rows of a table with others of it.
type pairing struct {
	measures []*measure
	base     func(rows []*Group, g *Group) *Group // what a row is compared with; nil, or the row itself, for nothing
	side     func(g *Group) string
}

// pair pairs rows with those that they are compared with, seed by seed, and
// tests the differences: all of one model on one measure are a family, at the
// level that the study declares for its contrasts.
func (a *pairing) pair(f *Frame, rows []*Group) {
	tests := f.tests()
	var all []*paired
	var families []string
	for _, g := range rows {
		base := a.base(rows, g)
		if base == nil || base == g {
			continue
		}
		g.against = map[*measure]*paired{}
		for _, m := range a.measures {
			if p := pairGroups(base, g, m, m, [2]string{a.side(base), a.side(g)}); p.shared > 0 {
				g.against[m] = p
				all, families = append(all, p), append(families, g.Model+" "+m.key)
			}
		}
	}
	testAll(all, &tests, func(int) bool { return true }, func(i int) string { return families[i] })
}

// againstColumns are a measure, the difference of a row to the one that it is
// compared with, its interval, and its p adjusted in the family of the table.
func againstColumns(m *measure) []column {
	col := func(key, heading string, kind Kind, unit string, cell func(*paired) Cell) column {
		return column{Column{Key: m.key + "_" + key, Heading: heading, Unit: unit, Kind: kind, Decimals: 3, Brief: kind == Paired, Priority: index(kind == Interval)}, func(g *Group) Cell {
			if p := g.against[m]; p != nil {
				return cell(p)
			}
			return Cell{}
		}}
	}
	const difference = "difference of shares"
	return []column{
		meanOf(m),
		col("difference", "Δ\u00a0"+m.words, Paired, difference, (*paired).differenceCell),
		col("interval", "interval", Interval, difference, (*paired).intervalCell),
		col("p_holm", "Holm\u00a0p", PValue, "probability", (*paired).holmCell),
	}
}

// noteAgainst explains them.
func noteAgainst(base string) string {
	return "Δ: the difference to " + base + ", on the same seeds; interval: bootstrap by seed; Holm p: sign-flip test by seed, adjusted over all rows of one model on one measure in this table; " + markFamily + ": at most the level of the study’s family."
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
	return f.table(&spec{
		Table: Table{ID: "batch", Title: "Batch size: entries a call", Topic: TopicAblations, Paper: "Table 5", Need: "audits with several batch sizes: spatialstale run batch",
			About: "The same audit with the memory cut into batches of different size. Fewer entries a call cost more calls; whether they find more is the question."},
		task: record.Detect, where: func(s *Setting) bool { return s.Batch > 0 && s.Strategy != scoreStrategy },
		by: []dim{byModel, byRegime, byModality, byDetector, byBatch}, order: []dim{byModel, byRegime, byModality, byFraming, byDetector, byBatch},
		keep: varying(byBatch.clear),
		against: &pairing{[]*measure{f1}, func(rows []*Group, g *Group) *Group { // the paper's batch, or the smallest
			published := sibling(rows, g, byBatch.clear, func(o *Group) bool { return o.Batch == publishedBatch })
			return cmp.Or(published, sibling(rows, g, byBatch.clear, func(*Group) bool { return true }))
		}, func(g *Group) string { return fmt.Sprintf("B=%d", g.Batch) }},
		columns: func(f *Frame, groups []*Group) []column {
			calls := f.paperColumn(groups, "paper_calls", "calls", inPaper, callsPerAudit, "batch-calls").last(2)
			calls.Decimals = 0
			return slices.Concat(seedsColumns(), againstColumns(f1),
				[]column{meanOf(precision), meanOf(recall), averageOf(callsPerAudit, 1).brief(), shareOf(unanswered), shareOf(repairedShare).last(1)},
				f.priceColumns(groups), []column{f.paperColumn(groups, "paper_f1", "F1", inPaper, f1, "batch-f1"), calls})
		},
		notes: func(f *Frame, groups []*Group, _ *Table) []string {
			notes := []string{noteAgainst(fmt.Sprintf("the row of %d entries a call, or of the fewest", publishedBatch)), "calls an audit: model calls behind one window, with those that asked once more. replies repaired: the share of calls whose reply needed a repair to be read."}
			if f.priceColumns(groups) == nil {
				notes = append(notes, "For models with a server an audit’s tokens, dollars and seconds are shown here: spatialstale run batch --model openai/gpt-4o. Controls take no tokens and cost nothing.")
			}
			return notes
		},
	})
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
		number("seconds_per_audit", "s", "seconds", 1, 1, (*paid).seconds),
	}
}

// seeing sets a model's audit beside the one that its transcript of the same
// observation implies; their difference is what reconciling costs. It has rows
// when a run has both.
func (f *Frame) seeing() Table {
	const transcript = "transcribe"
	under := func(rows []*Group, g *Group, strategy string) *Group {
		return sibling(rows, g, clearDetector, func(o *Group) bool { return o.Strategy == strategy })
	}
	return f.table(&spec{
		Table: Table{ID: "seeing", Title: "Seeing and auditing", Topic: TopicAblations, Need: "audits and transcripts of the same observations: spatialstale run seeing",
			About: "A transcript is the grid as the model writes it down, without a memory; an entry is stale in it where its cell contradicts the claim. A model that does well there and badly in its audit sees the lake and does not reconcile it with its memory; one that does badly in both does not see it."},
		task: record.Detect, where: func(s *Setting) bool { return s.Strategy == transcript || s.Strategy == auditStrategy },
		by: []dim{byModel, byRegime, byModality, byDetector}, order: []dim{byModel, byRegime, byModality, byFraming, byDetector},
		keep: func(groups []*Group) []*Group {
			return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool {
				return under(groups, g, transcript) == nil || under(groups, g, auditStrategy) == nil
			})
		},
		against: &pairing{[]*measure{f1}, func(rows []*Group, g *Group) *Group {
			if g.Strategy == transcript {
				return under(rows, g, auditStrategy)
			}
			return nil
		}, func(g *Group) string { return g.Strategy }},
		columns: func(*Frame, []*Group) []column {
			return append(append(seedsColumns(), againstColumns(f1)...), meanOf(precision), meanOf(recall), shareOf(recallThaw), shareOf(recallFreeze), shareOf(unanswered))
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{noteAgainst("the model’s own audit"), "A transcript has a letter for each cell, and the memory an entry, so that a share of entries is one of cells."}
		},
	})
}

// clearDetector takes out of a setting what audits of the same observations
// differ in.
func clearDetector(s *Setting) { byDetector.clear(s); byBatch.clear(s) }

func hasScores(g *Group) bool { return g.any(func(r *Row) bool { return r.scores != nil }) }

// byThreshold are the verdicts of a detector whose scores count as stale from a
// threshold on.
func byThreshold(k int) func(*Row) record.Counts {
	return func(r *Row) record.Counts {
		if r.scores == nil {
			return record.Counts{}
		}
		return r.scores.at[k]
	}
}

// thresholdOf is the threshold that the label of a row names, by its place;
// negative for none.
func thresholdOf(label string) int {
	return slices.IndexFunc(thresholds[:], func(x float64) bool { return label == fmt.Sprintf("score >= %.1f", x) })
}

// byVerdict is a measure of rows whose labels say how their verdicts come about:
// by a threshold, or by yes or no.
func byVerdict(m *measure, of func(record.Counts) (num, den int)) *measure {
	by := *m
	by.each = func(r *Row, label string) (int, int) {
		if k := thresholdOf(label); k >= 0 {
			return of(byThreshold(k)(r))
		}
		return of(r.counts)
	}
	return &by
}

// scoreTable sets numbers with a threshold next to yes or no (paper, appendix D,
// Table 4). It has rows when a run asks for scores.
func (f *Frame) scoreTable() Table {
	score := byVerdict(f1, f1Of)
	yesOrNo := func(g *Group) bool { return g.Strategy != scoreStrategy && !hasScores(g) }
	return f.table(&spec{
		Table: Table{ID: "score", Title: "Scores with a threshold next to yes or no", Topic: TopicAblations, Paper: "Table 4", Need: "audits that give scores: spatialstale run score",
			About: "The score detector gives each entry a number from 0 to 1, which counts as stale from a threshold on; below, the detectors that answer yes or no on the same lakes."},
		task: record.Detect, by: []dim{byModel, byRegime, byModality, byFraming, bySize}, order: detectionDims, plain: true, dash: "precision where nothing was flagged",
		keep: func(groups []*Group) (out []*Group) { // behind scores, those that answer yes or no on the same lakes
			for _, g := range groups {
				if hasScores(g) {
					out = append(out, g)
					out = append(out, slices.DeleteFunc(slices.Clone(groups), func(o *Group) bool {
						return !yesOrNo(o) || !alike(o, g, clearDetector) || slices.Contains(out, o)
					})...)
				}
			}
			return out
		},
		parts: func(_ *Frame, g *Group) (labels []string) {
			if yesOrNo(g) {
				return []string{g.Strategy}
			}
			for _, limit := range thresholds {
				labels = append(labels, fmt.Sprintf("score >= %.1f", limit))
			}
			return labels
		},
		part: column{label("verdict", "stale when"), func(g *Group) Cell {
			if yesOrNo(g) {
				return Cell{Label: g.Label, Short: "yes or no: " + record.Strategies.Label(g.Label)}
			}
			return Cell{Label: g.Label, Short: strings.Replace(g.Label, ">=", "≥", 1)}
		}},
		against: &pairing{[]*measure{score}, func(rows []*Group, g *Group) *Group {
			if yesOrNo(g) {
				return nil
			}
			return sibling(rows, g, clearDetector, yesOrNo)
		}, func(g *Group) string { return g.Label }},
		columns: func(f *Frame, rows []*Group) []column {
			best, most := map[Setting]*Group{}, map[Setting]float64{}
			for _, g := range rows {
				if v := overSeeds(g.values(score)).Value; v != nil && *v > most[g.Setting] && !yesOrNo(g) {
					best[g.Setting], most[g.Setting] = g, *v
				}
			}
			paper := func(g *Group) *publishedFigure {
				if k := thresholdOf(g.Label); k >= 0 {
					return f.publishedWhere(g, func(p *publishedFigure) bool { return p.Measure == "score-f1" && p.Threshold == thresholds[k] })
				}
				return f.publishedFor("binary-f1", g)
			}
			cols := []column{{byBatch.Column, func(g *Group) Cell { return byBatch.cell(f, &g.Setting) }},
				{label("best", ""), func(g *Group) Cell { return Cell{Label: map[bool]string{true: "best"}[best[g.Setting] == g]} }}}
			cols[0] = cols[0].hidden()
			cols = slices.Concat(cols, seedsColumns(), againstColumns(score))
			return append(cols, meanOf(byVerdict(precision, precisionOf)), meanOf(byVerdict(recall, recallOf)), shareOf(unanswered),
				column{Column{Key: "paper_f1", Heading: "F1 in the paper", Unit: "share", Kind: Number, Decimals: 3, DataOnly: !slices.ContainsFunc(rows, func(g *Group) bool { return paper(g) != nil })},
					func(g *Group) Cell { return paperCell(paper(g)) }})
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{noteAgainst("the first detector that answers yes or no"), "best: the threshold with the highest mean F1. It was chosen on the very seeds that it is shown for, which flatters it; a threshold that is to be used must be chosen on others.", "An entry without a score counts as not flagged."}
		},
	})
}

// audited, reached and died are F1 of the detections, and success and death of
// the episodes, of rows that join both tasks.
var audited, reached, died = f1.in(record.Detect), success.in(record.Navigate), death.in(record.Navigate)

// joinedTable is a table over both tasks, of the rows that vary in one dim and
// their differences to that which base has. People are shown no columns of a
// task that the run lacks.
func (f *Frame) joinedTable(t Table, varied dim, base func(*Group) bool, more []column, notes ...string) Table {
	has := func(rows []*Group, task string) bool {
		return slices.ContainsFunc(rows, func(g *Group) bool { return len(audited.in(task).mine(g.rows())) > 0 })
	}
	return f.table(&spec{
		Table: t, joins: true, where: func(s *Setting) bool { return s.Task == record.Navigate || s.Strategy != scoreStrategy },
		by: append(slices.Clone(episodeDims), varied), order: episodeDims, keep: varying(varied.clear),
		dash: "there is nothing to show: the row compared with has no difference to itself, a strategy that asks nobody no F1, a detection no success",
		against: &pairing{[]*measure{audited, reached, died}, func(rows []*Group, g *Group) *Group { return sibling(rows, g, varied.clear, base) },
			func(g *Group) string { return varied.cell(f, &g.Setting).Label }},
		columns: func(_ *Frame, rows []*Group) []column {
			var cols []column
			noDetection, noEpisodes := !has(rows, record.Detect), !has(rows, record.Navigate)
			for _, c := range againstColumns(audited) {
				cols = append(cols, c.brief().hiddenIf(noDetection))
			}
			episodes := column{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count, Priority: 1}, func(g *Group) Cell {
				var p progress
				p.add(reached.mine(g.rows()))
				return Cell{Count: p.finished}
			}}
			for _, c := range slices.Concat([]column{episodes}, againstColumns(reached), againstColumns(died), more) {
				cols = append(cols, c.brief().hiddenIf(noEpisodes))
			}
			return cols
		},
		notes: func(*Frame, []*Group, *Table) []string { return notes },
	})
}

// framing tells what the words that introduce the memory do. It has rows when a
// run uses several.
func (f *Frame) framing() Table {
	var words []string
	for _, t := range record.Framings {
		words = append(words, t.Name+": "+t.About)
	}
	neutral := record.Framings[0].Name
	return f.joinedTable(Table{ID: "framing", Title: "Wording: how the memory is introduced", Topic: TopicAblations, Need: "several wordings: spatialstale run framing",
		About: "The same trials with several wordings of what the memory is. " + strings.Join(words, "; ") + "."},
		byFraming, func(g *Group) bool { return g.Framing == neutral }, nil,
		noteAgainst(neutral), "F1 is that of the detection with the same audit; success and death are of the episodes.")
}

// sizes tells what larger lakes do. It has rows when a run has several sizes.
func (f *Frame) sizes() Table {
	base := Setting{Rows: publishedSide, Cols: publishedSide}
	var all []Setting
	for s := range f.groups {
		all = append(all, Setting{Rows: s.Rows, Cols: s.Cols})
	}
	if len(all) > 0 && !slices.Contains(all, base) {
		base = slices.MinFunc(all, func(x, y Setting) int { return bySize.compare(&f.order, &x, &y) })
	}
	average := func(key, heading string, m *measure) column {
		return averageOf(m.in(record.Navigate), 1).as(key, heading).brief()
	}
	budget := column{Column{Key: "budget", Heading: "step budget", Unit: "steps", Kind: Count, Priority: 1}, func(g *Group) Cell {
		grid, err := lake.New(g.Rows, g.Cols)
		if err != nil {
			return Cell{}
		}
		return Cell{Count: grid.StepBudget()}
	}}
	return f.joinedTable(Table{ID: "sizes", Title: "Size of the lake", Topic: TopicAblations, Need: "lakes of several sizes: spatialstale run sizes",
		About: "The same study on lakes of different size. The step budget grows with the route to G, the number of changes with the cells."},
		bySize, func(g *Group) bool { return g.Rows == base.Rows && g.Cols == base.Cols },
		[]column{budget, average("steps", "steps", steps), average("steps_success", "steps to G", lengths[endSuccess])},
		noteAgainst("lakes of "+gridCell(base.Rows, base.Cols).Short)+" Lakes of two sizes share no more than the number of their seed, so that pairing gains nothing.",
		"A seed’s episodes are averaged first; steps are the mean over all episodes, and over those that reached G.")
}
