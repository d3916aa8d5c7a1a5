package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// contrastRows returns a row for every contrast on every measure that the run
// has on a seed, by model, then measure, then where it is tested.
func (f *Frame) contrastRows(contrasts []record.Contrast, measures []string) []*versus {
	walks := f.grouped([]dim{byModel, byModality, byRegime}, func(s *Setting) bool { return s.Task == record.Navigate }, nil)
	var rows []*versus
	for _, model := range modelsOf(walks) {
		var places []Setting // everything but the strategy and its batch
		for _, g := range walks {
			if at := bare(g.Setting); g.Model == model && !slices.Contains(places, at) {
				places = append(places, at)
			}
		}
		for _, name := range measures {
			for _, at := range places {
				for _, c := range contrasts {
					rows = append(rows, contrastsAt(walks, at, c, rateNamed(name))...)
				}
			}
		}
	}
	return rows
}

// contrastsAt returns the rows of a contrast in one place: one, or one for each
// batch size where the same audit ran with several. Audits of the same batch size
// are compared with each other.
func contrastsAt(walks []*Group, at Setting, c record.Contrast, m *measure) []*versus {
	under := func(strategy string) (out []*Group) {
		for _, g := range walks {
			if g.Strategy == strategy && bare(g.Setting) == at {
				out = append(out, g)
			}
		}
		slices.SortFunc(out, func(x, y *Group) int { return cmp.Compare(x.Batch, y.Batch) })
		return out
	}
	var rows []*versus
	bs := under(c.B)
	for _, a := range under(c.A) {
		for _, b := range bs {
			if a.Batch != b.Batch && slices.ContainsFunc(bs, func(o *Group) bool { return o.Batch == a.Batch }) {
				continue
			}
			v := &versus{Group: Group{Setting: a.Setting, runs: slices.Concat(a.runs, b.runs)}, contrast: c, a: b, b: a}
			v.Batch = cmp.Or(a.Batch, b.Batch)
			// The difference is the first strategy's value minus the second's.
			if v.paired = pairGroups(b, a, m, m, [2]string{c.B, c.A}); v.shared > 0 {
				rows = append(rows, v)
			}
		}
	}
	return rows
}

// contrasted makes the tests of contrasts and adjusts them by family: every
// planned contrast of a model on one measure. A contrast of strategies that the
// run does not plan was never part of it. Of several runs that are taken together
// each has families of its own, because each was declared by itself; runs that
// plan a setting together are one.
func (f *Frame) contrasted(tests *record.Tests, interval func(*versus) bool) []*versus {
	rows := f.contrastRows(tests.Contrasts, tests.Family.Measures)
	first := make([]int, len(f.runs)+1) // runs that plan a setting together go by the first of them
	for i := range first {
		first[i] = i
	}
	var root func(i int) int
	root = func(i int) int {
		if first[i] != i {
			first[i] = root(first[i])
		}
		return first[i]
	}
	join := func(runs []int) {
		for _, r := range runs {
			first[max(root(r), root(runs[0]))] = min(root(r), root(runs[0]))
		}
	}
	for _, g := range f.grouped(nil, func(s *Setting) bool { return s.Task == record.Navigate }, byBatch.clear) {
		join(g.runs)
	}
	for _, v := range rows {
		join(v.runs)
	}
	testAll(pairsOf(rows), tests, func(i int) bool { return interval(rows[i]) }, func(i int) string {
		study := 0
		if v := rows[i]; len(v.runs) > 0 {
			study = root(v.runs[0])
		}
		return fmt.Sprint(rows[i].Model, " ", rows[i].measure.key, " ", study)
	})
	return rows
}

// contrastCell shows a contrast.
func contrastCell(c record.Contrast) Cell {
	return Cell{Label: c.String(), Short: record.Strategies.Label(c.A) + " − " + record.Strategies.Label(c.B)}
}

// contrastLabels are the label columns of tables of contrasts.
func (f *Frame) contrastLabels(rows []*versus) []versusColumn {
	var groups []*Group
	for _, v := range rows {
		g := v.Group
		g.Strategy = v.contrast.String() // what batches, framings and grids may vary within
		groups = append(groups, &g)
	}
	var cols []versusColumn
	for i, c := range versusLabels(f.labels([]dim{byModel, byModality, byRegime}, true, groups)) {
		if c.Key == byModality.Key {
			c = c.hiddenIf(!f.differIn(byModality, groups))
		}
		if c.Key == byRegime.Key { // by its number alone
			c.cell = func(v *versus) Cell { return Cell{Label: v.Regime} }
		}
		cols = append(cols, c)
		if i == 0 {
			cols = append(cols, versusColumn{label("measure", "measure"), func(v *versus) Cell { return Cell{Label: v.measure.key} }})
		}
	}
	return append(cols, versusColumn{label("contrast", "contrast"), func(v *versus) Cell { return contrastCell(v.contrast) }})
}

const needContrasts = "episodes under two strategies: spatialstale run --task navigate"

// contrastsTable tests the declared contrasts of strategies on every model
// (paper, section 5.3): what raw, filtered and no memory do to success and death.
func (f *Frame) contrastsTable() Table {
	tests := f.tests()
	rows := f.contrasted(&tests, func(*versus) bool { return true })
	t := Table{ID: "contrasts", Title: "Contrasts of strategies, tested", Topic: TopicNavigation, Paper: "section 5.3", Need: needContrasts,
		About: "The rate under the first strategy minus that under the second, on the same seeds: above 0 the first has more of the measure. A seed’s episodes are averaged first."}
	cols := append(f.contrastLabels(rows), seedsOfPairs, sideColumn("first", "first", sideB), sideColumn("second", "second", sideA))
	fill(&t, append(append(cols, testColumns("difference", "difference of shares", true)...), lossColumns(rows)...), rows)
	if len(rows) > 0 {
		t.Notes = testNotes(tests.Bootstrap, "all contrasts of one model on one measure that a run plans", tests.Family.Alpha)
	}
	f.finishContrasts(&t, rows, tests.Contrasts, &tests)
	return t
}

// finishContrasts says what lost trials, missing strategies and the declaration
// mean for a table of contrasts.
func (f *Frame) finishContrasts(t *Table, rows []*versus, declared []record.Contrast, tests *record.Tests) {
	if len(rows) > 0 {
		warnings, notes := f.declarationNotes()
		t.Warnings = append(t.Warnings, warnings...)
		t.Warnings = append(t.Warnings, lostSeeds(pairsOf(rows), "")...)
		t.Notes = append(append(t.Notes, notes...), reachNotes(pairsOf(rows), tests.Family.Alpha)...)
	}
	var missing []string
	for _, c := range declared {
		if len(rows) > 0 && !slices.ContainsFunc(rows, func(v *versus) bool { return v.contrast == c }) {
			missing = append(missing, contrastCell(c).Short)
		}
	}
	if len(missing) > 0 {
		t.Notes = append(t.Notes, "Declared, but not in this run, and in no family: "+strings.Join(missing, ", ")+". To have them: run with --strategy and both strategies.")
	}
	f.finishTable(t, "", modelsOf(groupsOf(rows)))
}

// equivalence tests whether two strategies differ by less than what matters, by
// two one-sided tests. The paper leaves this open for Oracle and OMCD (section
// 5.3): that a difference was not found does not show that there is none.
func (f *Frame) equivalence() Table {
	tests := f.tests()
	eq := tests.Equivalence
	rows := f.contrastRows(eq.Contrasts, tests.Family.Measures)
	inParallel(len(rows), func(i int) { rows[i].testEquivalence(&tests, eq.Margin) })
	t := Table{ID: "equivalence", Title: "Equivalence: is a difference smaller than what matters?", Topic: TopicNavigation, Paper: "section 5.3",
		About: fmt.Sprintf("Two one-sided tests on the seeds’ differences: equivalent means that the mean difference lies within ±%g, shown at %g. not shown is no proof of a difference: read the power, the chance of showing equivalence if the true difference is 0.", eq.Margin, eq.Alpha),
		Need:  "episodes under the strategies of a declared equivalence, such as oracle and omcd: spatialstale run --task navigate"}
	cols := append(f.contrastLabels(rows), seedsOfPairs, sideColumn("first", "first", sideB), sideColumn("second", "second", sideA), testColumns("difference", "difference of shares", false)[0])
	fill(&t, append(append(cols, equivalenceColumns(eq, false)...), lossColumns(rows)...), rows)
	f.finishContrasts(&t, rows, eq.Contrasts, &tests)
	return t
}

// testEquivalence tests whether the two sides differ by less than a margin.
func (v *versus) testEquivalence(tests *record.Tests, margin float64) {
	test := func(ds []float64) stats.EquivalenceResult {
		return sure(stats.Equivalence(ds, stats.EquivalenceOptions{Margin: margin, Alpha: tests.Equivalence.Alpha, Seed: tests.Bootstrap.Seed, Range: 1}))
	}
	v.equal = test(v.differences)
	v.doubtful = v.lossy && v.equal.Equivalent && !(test(v.leasts).Equivalent && test(v.mosts).Equivalent)
}

// equivalenceColumns are what two one-sided tests say. Next to other tests only
// the verdict and its power are shown, and their keys say what they belong to.
func equivalenceColumns(eq *record.Equivalence, beside bool) []versusColumn {
	prefix, verdict, priority := "", "verdict", 0
	if beside {
		prefix, verdict, priority = "equivalence_", "within margin", 4
	}
	oneSided := func(key, heading string, p func(*stats.EquivalenceResult) *float64) versusColumn {
		return versusColumn{Column{Key: prefix + key, Heading: heading, Unit: "probability", Kind: PValue, Decimals: 3, DataOnly: beside}, func(v *versus) Cell {
			return Cell{Value: p(&v.equal), Method: v.equal.Method}
		}}
	}
	fixed := func(key, unit string, decimals int, x float64) versusColumn {
		return versusColumn{Column{Key: prefix + key, Heading: key, Unit: unit, Kind: Number, Decimals: decimals, DataOnly: true}, func(*versus) Cell { return Cell{Value: &x} }}
	}
	return []versusColumn{
		{Column{Key: prefix + "interval", Heading: fmt.Sprintf("%g%%\u00a0interval", 100*(1-2*eq.Alpha)), Unit: "difference of shares", Kind: Interval, Decimals: 3, DataOnly: beside}, func(v *versus) Cell {
			return intervalCell(v.equal.Interval, nil)
		}},
		oneSided("p_lower", fmt.Sprintf("p, above\u00a0−%g", eq.Margin), func(e *stats.EquivalenceResult) *float64 { return e.PLower }),
		oneSided("p_upper", fmt.Sprintf("p, below\u00a0%g", eq.Margin), func(e *stats.EquivalenceResult) *float64 { return e.PUpper }),
		{Column{Key: prefix + "verdict", Heading: verdict, Kind: Verdict, Priority: priority}, func(v *versus) Cell {
			cell := Cell{Warnings: v.equal.Warnings}
			switch {
			case v.equal.P == nil:
			case v.equal.Equivalent && v.doubtful:
				cell.Label, cell.Warnings = "equivalent unless lost trials differ", append(slices.Clone(cell.Warnings), couldOverturn())
			case v.equal.Equivalent:
				cell.Label = "equivalent"
			default:
				cell.Label = "not shown"
			}
			return cell
		}},
		{Column{Key: prefix + "power", Heading: "power", Unit: "probability", Kind: Number, Decimals: 2, Priority: priority}, func(v *versus) Cell { return Cell{Value: v.equal.Power} }},
		{Column{Key: prefix + "margin", Heading: "margin", Unit: "difference of shares", Kind: Number, Decimals: 2, DataOnly: !beside, Priority: 5}, func(v *versus) Cell { return Cell{Value: new(v.equal.Margin)} }},
		fixed("alpha", "probability", 3, eq.Alpha),
	}
}

// headlines are the contrasts that come first, with what they ask.
var headlines = []struct {
	record.Contrast
	asks string
}{
	{record.Contrast{A: "no-filter", B: "no-memory"}, "what stale memory costs"},
	{record.Contrast{A: "omcd", B: "no-filter"}, "what an audit gives back"},
}

func asks(c record.Contrast) string {
	for _, h := range headlines {
		if h.Contrast == c {
			return h.asks
		}
	}
	return ""
}

// headline tells in a few rows what stale memory costs and what an audit gives
// back, of the contrasts that are declared.
func (f *Frame) headline() Table {
	tests := f.tests()
	shown := func(v *versus) bool { return asks(v.contrast) != "" }
	byMeasure := map[*versus]map[string]*versus{}
	first := map[string]*versus{}
	var rows []*versus
	for _, v := range f.contrasted(&tests, shown) {
		if !shown(v) {
			continue
		}
		key := fmt.Sprint(v.Setting, v.contrast, v.a.Batch)
		if first[key] == nil {
			first[key], byMeasure[v] = v, map[string]*versus{}
			rows = append(rows, v)
		}
		byMeasure[first[key]][v.measure.key] = v
	}
	t := Table{ID: "headline", Title: "What stale memory costs, and what an audit gives back", Topic: TopicNavigation,
		About: "Differences of rates on the same seeds: NoFilter minus NoMemory is what stale memory does, OMCD minus NoFilter what the audit takes away again.",
		Need:  "episodes under no-memory and no-filter, or no-filter and omcd: spatialstale run --task navigate"}
	cols := slices.DeleteFunc(f.contrastLabels(rows), func(c versusColumn) bool { return c.Key == "measure" })
	cols = append(cols, versusColumn{label("asks", "asks"), func(v *versus) Cell { return Cell{Label: asks(v.contrast)} }}.hidden(), seedsOfPairs)
	for _, m := range tests.Family.Measures {
		of := func(key, heading string, kind Kind, decimals int, unit string, cell func(*paired) Cell) versusColumn {
			return versusColumn{Column{Key: m + "_" + key, Heading: heading, Group: m, Unit: unit, Kind: kind, Decimals: decimals, Brief: kind == Paired}, func(v *versus) Cell {
				if one := byMeasure[v][m]; one != nil {
					return cell(one.paired)
				}
				return Cell{}
			}}
		}
		cols = append(cols, of("difference", "Δ", Paired, 2, "difference of shares", (*paired).differenceCell),
			of("interval", "interval", Interval, 2, "difference of shares", (*paired).intervalCell),
			of("p", "Holm\u00a0p", PValue, 3, "probability", (*paired).holmCell))
	}
	fill(&t, cols, rows)
	if len(rows) > 0 {
		warnings, notes := f.declarationNotes()
		t.Warnings = append(warnings, lostSeeds(pairsOf(rows), "in the table of contrasts")...)
		t.Notes = append([]string{fmt.Sprintf("interval: %g%% cluster bootstrap by seed. Holm p: exact sign-flip test by seed, adjusted over all contrasts of one model on one measure that a run plans; %s: at most %g. The table of contrasts has them all.",
			100*tests.Bootstrap.Level, markFamily, tests.Family.Alpha)}, notes...)
	}
	f.finishTable(&t, "", modelsOf(groupsOf(rows)))
	return t
}

// An association sets two measures of episodes against each other, seed by seed:
// each a mean over the seed's episodes that audited.
type association struct {
	x, y      []float64
	xs, ys    [][]float64 // behind them, episode by episode
	undefined int         // seeds without an x
	single    bool        // x is one measurement a seed
}

// associate makes one of the seeds of a group, in ascending order. An episode
// without an x (F1 where nothing was stale and nothing flagged) is left out of
// its seed's mean of x.
func associate(g *Group, x, y *measure) association {
	var a association
	if g == nil {
		return a
	}
	for _, s := range g.Seeds {
		var xs, ys []float64
		for _, r := range s.Rows {
			if r.lost() || r.counts.Judged() == 0 {
				continue
			}
			ys = append(ys, *quotient(y.of(r)))
			if v := quotient(x.of(r)); v != nil {
				xs = append(xs, *v)
			}
		}
		switch {
		case len(ys) == 0:
		case len(xs) == 0:
			a.undefined++
		default:
			a.x, a.y = append(a.x, stats.Mean(xs)), append(a.y, stats.Mean(ys))
			a.xs, a.ys = append(a.xs, xs), append(a.ys, ys)
		}
	}
	return a
}

// detectionsOf returns the detections by the audit of some episodes: of the same
// model on the same lakes, with the same strategy, batch and wording. It returns
// nil where the run has none, or several and none of them under the same
// conditions.
func (f *Frame) detectionsOf(s Setting) *Group {
	s.Task = record.Detect
	if g := f.groups[s]; g != nil {
		return g
	}
	var found []*Group
	for at, g := range f.groups {
		if at.Condition = s.Condition; at == s { // prompts of episodes, say, are none of theirs
			found = append(found, g)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// associateF1 sets the F1 of the detection task on each seed's lake against a
// measure of the seed's episodes (paper, section 5.4, Figure 9). The F1 of the
// episodes' own audits would not do: it is 0 where nothing was stale yet, and in
// L3 it grows with how long an episode survives.
func (f *Frame) associateF1(g *Group, y *measure) association {
	a := association{single: true}
	if g == nil {
		return a
	}
	audits := f.detectionsOf(g.Setting)
	for _, s := range g.Seeds {
		var ys []float64
		for _, r := range s.Rows {
			if !r.lost() {
				ys = append(ys, *quotient(y.of(r)))
			}
		}
		x, _ := f1.seed(audits, audits.at(s.Seed))
		switch {
		case len(ys) == 0:
		case x == nil:
			a.undefined++
		default:
			a.x, a.y = append(a.x, *x), append(a.y, stats.Mean(ys))
			a.ys = append(a.ys, ys)
		}
	}
	return a
}

// A correlated is a correlation in both ways of the paper, and the greatest that
// measures so unreliable could show (Spearman 1904).
type correlated struct {
	pearson, spearman stats.CorrelationResult
	ceiling           stats.CeilingResult
}

func (a *association) correlate() correlated {
	k := correlated{
		pearson:  sure(stats.Pearson(a.x, a.y, stats.CorrelationOptions{})),
		spearman: sure(stats.Spearman(a.x, a.y, stats.CorrelationOptions{})),
	}
	reliability := sure(stats.Clusters(a.xs)).ICCMean
	if a.single { // which cannot say how reliable it is: what y alone allows
		reliability = new(1.0)
	}
	k.ceiling = sure(stats.Attenuation(reliability, sure(stats.Clusters(a.ys)).ICCMean, k.pearson.R))
	return k
}

// survived is whether an episode did not end in a hole.
var survived = &measure{key: "survival", words: "survival", high: 1, rate: true, of: func(r *Row) (int, int) { return index(r.end != endDeath), 1 }}

// routeSurvival tells whether finding what matters keeps agents alive (it sets
// the paper's section 5.4 and Figure 9 on the entries on the route, and on
// survival).
func (f *Frame) routeSurvival() Table {
	onRoute := recallOn(1, "recall_on", "recall on the route")
	correlation := map[*Group]map[string]*correlated{}
	of := func(g *Group, prefix string) *correlated { return correlation[g][prefix] }
	both := func(prefix, group string) []column {
		number := func(key, heading string, priority int, cell func(k *correlated) Cell) column {
			return column{Column{Key: prefix + key, Heading: heading, Group: group, Unit: "correlation", Kind: Number, Decimals: 2, Priority: priority}, func(g *Group) Cell { return cell(of(g, prefix)) }}
		}
		p := func(key, heading, method string, value func(k *correlated) *float64) column {
			return column{Column{Key: prefix + key, Heading: heading, Group: group, Unit: "probability", Kind: PValue, Decimals: 3}, func(g *Group) Cell { return Cell{Value: value(of(g, prefix)), Method: method} }}
		}
		return []column{
			number("_r", "r", 0, func(k *correlated) Cell {
				return Cell{Value: k.pearson.R, N: k.pearson.N, Warnings: k.pearson.Warnings}
			}),
			{Column{Key: prefix + "_interval", Heading: "95% interval", Group: group, Unit: "correlation", Kind: Interval, Decimals: 2, Priority: 1}, func(g *Group) Cell {
				cell := Cell{Level: 0.95, Method: "Fisher’s z"}
				if i := of(g, prefix).pearson.Interval; i != nil {
					cell.Low, cell.High = &i.Low, &i.High
				}
				return cell
			}},
			p("_p", "p", "Pearson’s correlation, t distribution", func(k *correlated) *float64 { return k.pearson.P }),
			number("_spearman", "Spearman", 2, func(k *correlated) Cell { return Cell{Value: k.spearman.R} }),
			p("_spearman_p", "Spearman’s p", "Spearman’s correlation, t distribution", func(k *correlated) *float64 { return k.spearman.P }).hidden(),
			number("_ceiling", "ceiling", 3, func(k *correlated) Cell { return Cell{Value: k.ceiling.Ceiling, Warnings: k.ceiling.Warnings} }),
		}
	}
	seeds := map[*Group]Cell{}
	return f.table(&spec{
		Table: Table{ID: "route-survival", Title: "Does finding the stale entries on the route keep the agent alive?", Topic: TopicDeaths, Paper: "section 5.4",
			About: "Each seed’s recall on stale entries on the route, in its episodes’ own audits, against its share of episodes that did not end in a hole. If detection still limits success, this correlation shows it where that of F1, which is mostly about entries nobody walks by, does not.",
			Need:  "episodes with audits: spatialstale run --task navigate --strategy omcd"},
		task: record.Navigate, by: episodeDims, dash: "one of the two does not vary, or there are too few seeds",
		has: func(g *Group) bool { return g.any(func(r *Row) bool { return r.route.stale(1).of > 0 }) },
		columns: func(_ *Frame, groups []*Group) []column {
			for _, g := range groups {
				route, score := associate(g, onRoute, survived), f.associateF1(g, survived)
				a, b := route.correlate(), score.correlate()
				correlation[g] = map[string]*correlated{"route": &a, "f1": &b}
				seeds[g] = Cell{Count: len(route.x), Of: len(route.x) + route.undefined}
			}
			cols := []column{
				{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(g *Group) Cell { return seeds[g] }},
				shareOf(onRoute).brief(),
				shareOf(ofPair("recall_beside", "beside the walk", "share of stale entries", func(r *Row) pair { return r.route.beside })).brief().last(4)}
			return append(append(cols, both("route", "recall on the route and survival")...), both("f1", "detection F1 and survival")...)
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"Recall on the route and survival are means over a seed’s episodes; an episode without a stale entry on the route is left out of its seed’s recall, a seed without any out of the correlation.",
				"detection F1: of the seed’s lake in the detection task, with the same strategy and batch (Figure 9); none where the run has no such task. The F1 of an episode’s own audits grows with how long it survives, and would be no cause.",
				"ceiling: the greatest correlation that measures so unreliable could show, from the agreement of a seed’s episodes (Spearman 1904); an estimate, and none where a reliability is estimated at or below 0.",
				"beside the walk: recall on stale entries whose cell the agent entered or came beside. It is a description only: a missed thaw attracts the walk, and so lowers it by itself."}
		},
	})
}
