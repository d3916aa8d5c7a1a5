package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// detectionDims are what tables of detections are by.
var detectionDims = []dim{byModel, byRegime, byModality, byDetector}

const (
	needDetections = "detections: spatialstale run --task detect"
	noteL3         = "L3: a seed’s counts are summed over its audits, one after each change, before its scores."
)

func hasRegime(groups []*Group, regime string) bool {
	return slices.ContainsFunc(groups, func(g *Group) bool { return g.Regime == regime })
}

// detection tells which stale entries each model finds (paper, section 5.2,
// Figure 3): per seed precision, recall and F1 with stale as the positive class,
// then mean and standard deviation over seeds. An unanswered entry counts as not
// flagged, as in the paper; its share and the scores over answered entries are
// shown with them.
func (f *Frame) detection() Table {
	count := func(key string, of func(record.Counts) int) column {
		return sumOf(key, key, "entries", func(r *Row) int { return of(r.counts) }).hidden()
	}
	some := func(groups []*Group) bool {
		return slices.ContainsFunc(groups, func(g *Group) bool { return g.any(func(r *Row) bool { return r.counts.Unanswered > 0 }) })
	}
	return f.table(&spec{
		Table: Table{ID: "detection", Title: "Detection: which stale entries are found", Topic: TopicDetection, Paper: "Figure 3", Need: needDetections,
			About: "The model audits every memory entry against the current observation. Recall: the stale entries it finds; precision: its flags that are right; F1: both in one; FPR: the valid entries it flags."},
		task: record.Detect, by: detectionDims,
		dash: "precision where nothing was flagged, any score where no run finished",
		columns: func(f *Frame, groups []*Group) []column {
			all := !some(groups)
			return append(seedsColumns(), meanOf(f1), f.paperColumn(groups, "paper_f1", "paper’s F1", "", f1, "batch-f1").last(2),
				meanOf(precision), meanOf(recall).as("recall", "recall=TPR"), meanOf(fpr).brief(), shareOf(unanswered),
				meanOf(f1Answered).brief().last(1).hiddenIf(all), meanOf(precisionAnswered).hidden(), meanOf(recallAnswered).hidden(), shareOf(coverage).hidden(),
				count("tp", func(c record.Counts) int { return c.TP }), count("fp", func(c record.Counts) int { return c.FP }),
				count("fn", func(c record.Counts) int { return c.FN }), count("tn", func(c record.Counts) int { return c.TN }))
		},
		notes: func(_ *Frame, groups []*Group, _ *Table) (notes []string) {
			if hasRegime(groups, "L3") {
				notes = append(notes, noteL3)
			}
			if some(groups) {
				notes = append(notes, "An entry without an answer counts as not flagged; F1 of answered leaves it out. In brackets, where there is room, the number of entries.")
			}
			return notes
		},
	})
}

// spotAndCluster are the regimes that the paper's Figure 4 takes together.
var spotAndCluster = []string{"L1", "L2"}

// flags tell how often entries are called stale, by what they claim and whether
// that is false (paper, Figure 4).
func (f *Frame) flags() Table {
	const safe, danger = "claims SAFE, cell is", "claims DANGER, cell is"
	return f.table(&spec{
		Table: Table{ID: "flags", Title: "Flag rate, by what the entry claims and what the cell is", Topic: TopicDetection, Paper: "Figure 4", Need: needDetections,
			About: "The share of entries that the model calls stale; in brackets, where there is room, of how many. A model that sees the lake flags SAFE claims on holes and DANGER claims on frozen cells, and leaves the others."},
		task: record.Detect, by: detectionDims, pool: spotAndCluster,
		has: func(g *Group) bool {
			return g.any(func(r *Row) bool { return r.counts.Judged() > 0 && r.flags != [2][2]flagged{} })
		},
		dash: "there was no such entry",
		columns: func(f *Frame, groups []*Group) []column {
			seeds := seedsColumns()
			seeds[0] = seeds[0].hidden() // pooled rows would show each seed twice
			return append(seeds, shareOf(safeDeadly).under(safe).base(), shareOf(safeSafe).under(safe).base(), shareOf(dangerSafe).under(danger).base(), shareOf(dangerDeadly).under(danger).base(),
				f.paperColumn(groups, "paper_safe_deadly", "SAFE on a\u00a0hole", inPaper, safeDeadly, "flag-rate-safe-deadly"),
				f.paperColumn(groups, "paper_safe_safe", "SAFE on\u00a0safe", inPaper, safeSafe, "flag-rate-safe-safe"))
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{noteUnanswered, "L1+L2: both regimes together, as in the paper. Entries of all seeds, and of all audits in L3, are counted once each; they are not independent of each other within a seed."}
		},
	})
}

// directions tell which changes are noticed: thaw, where a SAFE cell has become
// a hole, and freeze, where a hole is gone; which way the missed ones went, and
// whether wrong flags fall next to cells that did change (paper, Figure 8,
// appendices H.2 and I).
func (f *Frame) directions() Table {
	missed := &measure{key: "missed_thaw", words: "missed: thaw", unit: "share of missed stale entries", high: 1, of: func(r *Row) (int, int) {
		thaw, freeze := r.flags[saysSafe][1], r.flags[saysDanger][1]
		return int(thaw.entries - thaw.flagged), int(thaw.entries - thaw.flagged + freeze.entries - freeze.flagged)
	}}
	const ofDirection = "share of stale entries of that direction"
	return f.table(&spec{
		Table: Table{ID: "directions", Title: "Recall by direction of change, and where wrong flags fall", Topic: TopicDetection, Paper: "Figure 8",
			About: "thaw: the entry says SAFE and the cell has become a hole; freeze: it says DANGER and the hole is gone. In brackets, where there is room, the number of entries behind a share.",
			Need:  "detections with stale entries: spatialstale run --task detect"},
		task: record.Detect, by: detectionDims,
		has: func(g *Group) bool {
			return g.any(func(r *Row) bool { return r.flags[saysSafe][1].entries+r.flags[saysDanger][1].entries > 0 })
		},
		dash: "there was no such entry, nothing was missed, or nothing flagged wrongly",
		columns: func(f *Frame, groups []*Group) []column {
			return append(seedsColumns(), shareOf(recallThaw).under("recall").in(ofDirection).base(), shareOf(recallFreeze).under("recall").in(ofDirection).base(),
				f.paperColumn(groups, "paper_recall_thaw", "thaw", inPaper, recallThaw, "recall-thaw"), f.paperColumn(groups, "paper_recall_freeze", "freeze", inPaper, recallFreeze, "recall-freeze"),
				shareOf(missed).base(),
				shareOf(ofPair("wrong_beside_stale", "beside stale", "share of flags on valid entries", func(r *Row) pair { return r.nearWrong })).under("wrong flags").base(),
				shareOf(ofPair("valid_beside_stale", "by chance", "share of valid entries", func(r *Row) pair { return r.near })).under("wrong flags").brief(),
				sumOf("unanswered_thaw", "thaw without an answer", "entries", func(r *Row) int { return int(r.flags[saysSafe][1].unanswered) }).hidden(),
				sumOf("unanswered_freeze", "freeze without an answer", "entries", func(r *Row) int { return int(r.flags[saysDanger][1].unanswered) }).hidden())
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"missed: thaw: of the stale entries that were not flagged, those that say SAFE; the others say DANGER. An entry without an answer counts as missed.",
				"beside stale: of the valid entries that were flagged, those whose cell has a stale one to its left or right, above or below it; by chance: the same share of all valid entries."}
		},
	})
}

// recallOn is recall of stale entries on the route (1) or off it (0).
func recallOn(on int, key, words string) *measure {
	return ofPair(key, words, "share of stale entries", func(r *Row) pair { return r.route.stale(on) })
}

// routeRecall tells whether the stale entries that matter are found: those about
// cells on a shortest route.
func (f *Frame) routeRecall() Table {
	on, off := recallOn(1, "recall_on", "on the route"), recallOn(0, "recall_off", "elsewhere")
	share := func(key, words, unit string, of func(*routeCounts) pair) column {
		return shareOf(ofPair(key, words, unit, func(r *Row) pair { return of(&r.route) })).base()
	}
	difference := column{Column{Key: "difference", Heading: "difference", Group: "recall", Unit: "difference of shares", Kind: Paired, Decimals: 3}, func(g *Group) Cell {
		var pairs []SeedPair
		var values []*float64
		for _, s := range g.Seeds {
			if a, there := off.seed(g, s.Rows); there {
				b, _ := on.seed(g, s.Rows)
				p := SeedPair{s.Seed, a, b}
				pairs, values = append(pairs, p), append(values, p.Difference())
			}
		}
		cell := overSeeds(values)
		cell.Pairs, cell.Sides = pairs, [2]string{"elsewhere", "on the route"}
		return cell
	}}
	return f.table(&spec{
		Table: Table{ID: "route-recall", Title: "Recall where it matters: stale entries on the route", Topic: TopicDetection, Need: "detections and their instances: spatialstale run --task detect",
			About: "On the route: the cell lies on a shortest route from S to G, on the lake as it was remembered or as it is now; where the agent went plays no part. A model that finds most stale entries and misses those on the route has a high F1 and a dead agent."},
		task: record.Detect, by: detectionDims,
		has: func(g *Group) bool {
			return g.any(func(r *Row) bool { return r.route.stale(0).of+r.route.stale(1).of > 0 })
		},
		dash: "no seed has such an entry",
		columns: func(*Frame, []*Group) []column {
			return append(seedsColumns(), meanOf(on).under("recall"), meanOf(off).under("recall"), difference,
				share("recall_on_thaw", "thaw on the route", "share of such entries", func(r *routeCounts) pair { return r.recall[1][saysSafe] }).under("recall"),
				share("recall_on_freeze", "freeze on the route", "share of such entries", func(r *routeCounts) pair { return r.recall[1][saysDanger] }).under("recall").hidden(),
				share("fpr_on", "on the route", "share of valid entries", func(r *routeCounts) pair { return r.wrong[1] }).under("valid entries flagged"),
				share("fpr_off", "elsewhere", "share of valid entries", func(r *routeCounts) pair { return r.wrong[0] }).under("valid entries flagged"),
				share("stale_on", "stale entries that lie on the route", "share of stale entries", func(r *routeCounts) pair {
					return pair{r.stale(1).of, r.stale(1).of + r.stale(0).of}
				}))
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{noteUnanswered + " Means are over seeds that have such an entry; thaw and valid entries are counted over all seeds together, in brackets, where there is room, out of how many.",
				"thaw on the route: SAFE entries about a hole that lies on a shortest route, most of them on the route that the memory shows."}
		},
	})
}

// modalityRows pair the detections from pictures with those from text, and test
// them: all rows of one model are a family.
func (f *Frame) modalityRows() []*versus {
	tests := f.tests()
	var rows []*versus
	for _, g := range f.grouped(detectionDims, func(s *Setting) bool { return s.Task == record.Detect && s.Modality == record.Text }, nil) {
		seen := g.Setting
		seen.Modality = record.Vision
		v := &versus{Group: Group{Setting: g.Setting}, a: g, b: f.groups[seen]}
		if v.paired = pairGroups(g, f.groups[seen], f1, f1, [2]string{record.Text, record.Vision}); v.shared > 0 {
			rows = append(rows, v)
		}
	}
	testAll(pairsOf(rows), &tests, func(int) bool { return true }, func(i int) string { return rows[i].Model })
	return rows
}

// versusLabels turns label columns of groups into those of comparisons.
func versusLabels(cols []column) []versusColumn {
	out := make([]versusColumn, len(cols))
	for i, c := range cols {
		out[i] = versusColumn{c.Column, func(v *versus) Cell { return c.cell(&v.Group) }}
	}
	return out
}

func groupsOf(rows []*versus) []*Group {
	out := make([]*Group, len(rows))
	for i, v := range rows {
		out[i] = &v.Group
	}
	return out
}

// sideColumn is the mean of one side of a comparison.
func sideColumn(key, heading string, of func(*SeedPair) *float64) versusColumn {
	return versusColumn{Column{Key: key, Heading: heading, Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true}, func(v *versus) Cell { return v.mean(of) }}
}

var seedsOfPairs = versusColumn{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(v *versus) Cell { return v.seedsCell() }}

// visionText tests what seeing the lake as a picture costs a detection, against
// reading it as text (paper, section 5.2, Figure 3).
func (f *Frame) visionText() Table {
	tests, rows := f.tests(), f.modalityRows()
	t := Table{ID: "vision-text", Title: "Vision against text: F1 from images minus F1 from text", Topic: TopicDetection, Paper: "Figure 3",
		About: "The same detector on the same lakes, once shown as a picture and once as text: below 0 it finds the stale entries worse by sight.",
		Need:  "detections from text and from images: spatialstale run --task detect --modality text,vision"}
	cols := append(versusLabels(f.labels([]dim{byModel, byRegime, byDetector}, true, groupsOf(rows))),
		seedsOfPairs, sideColumn("vision", "vision", sideB), sideColumn("text", "text", sideA))
	cols = append(append(cols, testColumns("difference", "difference of F1", true)...), lossColumns(rows)...)
	fill(&t, cols, rows)
	if len(rows) > 0 {
		t.Warnings = lostSeeds(pairsOf(rows), "")
		t.Notes = append(testNotes(tests.Bootstrap, "all rows of one model", tests.Family.Alpha), reachNotes(pairsOf(rows), tests.Family.Alpha)...)
	}
	f.finishTable(&t, "", modelsOf(groupsOf(rows)))
	return t
}

// flagsTest tests whether a SAFE claim is flagged more often where the cell has
// become a hole than where it is safe (paper, Figure 4): by seed, and as two
// proportions of all entries, which takes every entry as independent.
func (f *Frame) flagsTest() Table {
	tests := f.tests()
	s := &spec{task: record.Detect, by: detectionDims, pool: spotAndCluster}
	var rows []*versus
	var kept []*Group
	for _, g := range f.groupsOf(s) {
		deadly, safe := must2(g.pooled(safeDeadly)), must2(g.pooled(safeSafe))
		if deadly.N == 0 || safe.N == 0 {
			continue
		}
		kept = append(kept, g)
		v := &versus{Group: *g, a: g, b: g, paired: pairGroups(g, g, safeSafe, safeDeadly, [2]string{"on safe cells", "on holes"})}
		rows = append(rows, v)
	}
	pooled := make([]stats.TwoProportionResult, len(rows))
	testAll(pairsOf(rows), &tests, func(int) bool { return true }, func(int) string { return "" })
	at := map[*versus]*stats.TwoProportionResult{}
	for i, v := range rows {
		pooled[i] = sure(stats.TwoProportions(must2(v.pooled(safeDeadly)), must2(v.pooled(safeSafe)), stats.TwoProportionOptions{}))
		at[v] = &pooled[i]
	}
	t := Table{ID: "flags-test", Title: "Are false SAFE claims flagged more often than true ones?", Topic: TopicDetection, Paper: "Figure 4", Need: needDetections,
		About: "The flag rate of SAFE claims on cells that have become holes minus that on cells that are safe, tested by seed. Fisher and χ² compare all entries of all seeds at once, as if each were independent of the others."}
	share := func(key, heading string, m *measure) versusColumn {
		c := shareOf(m).as(key, heading).brief().hidden()
		return versusColumn{c.Column, func(v *versus) Cell { return c.cell(&v.Group) }}
	}
	number := func(key, heading, unit string, of func(*stats.TwoProportionResult) *float64) versusColumn {
		return versusColumn{Column{Key: key, Heading: heading, Unit: unit, Kind: Number, Decimals: 3, DataOnly: true}, func(v *versus) Cell { return Cell{Value: of(at[v])} }}
	}
	cols := append(versusLabels(f.labels(detectionDims, true, kept)), seedsOfPairs, share("deadly", "on holes", safeDeadly), share("safe", "on safe cells", safeSafe))
	cols = append(append(cols, testColumns("difference", "difference of shares", false)...),
		versusColumn{Column{Key: "p_fisher", Heading: "Fisher\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3}, func(v *versus) Cell {
			return Cell{Value: at[v].FisherP, Method: "Fisher’s exact test over all entries", Warnings: at[v].Warnings}
		}},
		versusColumn{Column{Key: "p_chi_square", Heading: "χ²\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3, Priority: 4}, func(v *versus) Cell {
			return Cell{Value: at[v].ChiSquareP, Method: "Pearson’s chi-square test over all entries, without Yates’ correction", Warnings: at[v].Warnings}
		}},
		number("chi_square", "χ²", "chi-square", func(p *stats.TwoProportionResult) *float64 { return p.ChiSquare }),
		number("odds_ratio", "odds ratio", "ratio", func(p *stats.TwoProportionResult) *float64 { return p.OddsRatio }),
		number("phi", "φ", "correlation", func(p *stats.TwoProportionResult) *float64 { return p.Phi }))
	fill(&t, append(cols, lossColumns(rows)...), rows)
	if len(rows) > 0 {
		t.Warnings = append(lostWarnings(f.unpooled(kept), record.Detect), lostSeeds(pairsOf(rows), "")...)
		t.Notes = append(testNotes(tests.Bootstrap, "", 0), "These p-values belong to no declared family and are not adjusted. L1+L2: both regimes of a seed together, as in the paper.")
		t.Notes = append(t.Notes, reachNotes(pairsOf(rows), tests.Family.Alpha)...)
	}
	f.finishTable(&t, "", modelsOf(kept))
	return t
}

// must2 is a measure's two sums as a count.
func must2(num, den int) stats.Count { return stats.Count{Hits: num, N: den} }

// lossy keeps groups that have lost a trial.
func lossy(g *Group) bool { p := progressOf(g); return p.lost() > 0 }

// boundColumns are the columns of one measure: least, as measured, most.
func boundColumns(m *measure) []column {
	extreme := func(pick func(*seedValue) *float64) func(*Group) Cell {
		return func(g *Group) Cell {
			var values []*float64
			for _, s := range g.Seeds {
				v := m.valueOf(g, s.Rows)
				values = append(values, pick(&v))
			}
			return overSeeds(values)
		}
	}
	col := func(suffix, heading string, priority int, cell func(*Group) Cell) column {
		return column{Column{Key: m.key + suffix, Heading: heading, Group: m.words, Unit: "share", Kind: Mean, Decimals: 3, Brief: true, Priority: priority}, cell}
	}
	return []column{
		col("_least", "least", 0, extreme(func(v *seedValue) *float64 { return v.least })),
		col("", "measured", 1, func(g *Group) Cell {
			c := overSeeds(g.values(m))
			if m.rate {
				c.Count, c.Of = g.pooled(m)
			}
			return c
		}),
		col("_most", "most", 0, extreme(func(v *seedValue) *float64 { return v.most })),
	}
}

// bounds say, of each rate whose plan is incomplete, the least and the most that
// it could be: every lost trial against it, and every one for it. Rates are means
// over all planned seeds. There is a table a task; none has rows when nothing is
// lost.
func (f *Frame) bounds(task string, by []dim, measures ...*measure) Table {
	name := map[string]string{record.Detect: "detection", record.Navigate: "navigation"}[task]
	return f.table(&spec{
		Table: Table{ID: "bounds-" + name, Title: "What lost trials could change: " + name, Topic: TopicRun,
			About: "Some planned " + unitsOfTasks[task] + " failed or have no record. least and most: the mean over all planned seeds if each of those had gone against the measure, or for it.",
			Need:  "planned " + unitsOfTasks[task] + " without a result; there is none"},
		task: task, by: by, has: lossy, dash: "nothing has finished",
		columns: func(*Frame, []*Group) []column {
			cols := []column{{Column{Key: "lost", Heading: "lost", Unit: "trials", Kind: Count}, func(g *Group) Cell {
				p := progressOf(g)
				return Cell{Count: p.lost(), Of: p.planned()}
			}}}
			for _, m := range measures {
				cols = append(cols, boundColumns(m)...)
			}
			return cols
		},
		notes: func(*Frame, []*Group, *Table) []string { return []string{"Rows without a lost trial are left out."} },
	})
}
