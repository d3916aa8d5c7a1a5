package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A contrastRow is one contrast of two strategies on one measure.
type contrastRow struct {
	setting // of the first strategy; its batch is that of the audit in question
	record.Contrast
	batchB  int
	end     int
	a, b    map[int]*episodeTally // the strategies' seeds; nil when the run lacks one
	anyCell bool                  // stands for all regimes and modalities, because it is in none
	paired
}

// contrastRows returns a row for every declared contrast on every measure of the
// family, by model, then measure, then where it is tested. A contrast that a
// model has nowhere gets a row of its own, without numbers.
func (c *Collector) contrastRows(contrasts []record.Contrast, measures []string) []*contrastRow {
	var rows []*contrastRow
	byModel := make(map[string][]setting)
	for s := range c.episodes {
		byModel[s.model] = append(byModel[s.model], s)
	}
	for _, model := range slices.SortedFunc(maps.Keys(byModel), c.plan.compareModels) {
		places := placesOf(byModel[model], &c.plan)
		for _, measure := range measures {
			end := slices.Index(ends[:], measure)
			found := make(map[record.Contrast]bool)
			for _, at := range places {
				for _, contrast := range contrasts {
					some := c.contrastsAt(at, contrast, end)
					found[contrast] = found[contrast] || len(some) > 0
					rows = append(rows, some...)
				}
			}
			for _, contrast := range contrasts {
				if !found[contrast] {
					rows = append(rows, &contrastRow{setting: setting{model: model}, Contrast: contrast, end: end, anyCell: true, paired: paired{missing: true}})
				}
			}
		}
	}
	return rows
}

// placesOf returns where the settings of a model are compared: everything but
// their strategy and its batch, in the order of tables.
func placesOf(settings []setting, plan *appearance) []setting {
	seen := make(map[setting]bool)
	for _, s := range settings {
		s.strategy, s.batch = "", 0
		seen[s] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(x, y setting) int {
		return cmp.Or(compareModalities(x.modality, y.modality), plan.compareRegimes(x.regime, y.regime), plan.compareRest(x, y))
	})
}

// contrastsAt returns the rows of a contrast in one place: one, or one for each
// batch size where the same audit ran with several. Audits of the same batch
// size are compared with each other.
func (c *Collector) contrastsAt(at setting, contrast record.Contrast, end int) []*contrastRow {
	as, bs := c.batchesAt(at, contrast.A), c.batchesAt(at, contrast.B)
	var rows []*contrastRow
	for _, a := range as {
		for _, b := range bs {
			if a.batch != b.batch && slices.ContainsFunc(bs, func(o setting) bool { return o.batch == a.batch }) {
				continue
			}
			row := &contrastRow{setting: a, Contrast: contrast, batchB: b.batch, end: end, a: c.episodes[a], b: c.episodes[b]}
			row.setting.batch = cmp.Or(a.batch, b.batch)
			// The difference is the first strategy's value less the second's.
			pairSeeds(&row.paired, row.b, row.a, func(e *episodeTally) seedValue { return e.rate(end) })
			row.missing = row.shared == 0
			rows = append(rows, row)
		}
	}
	return rows
}

func (c *Collector) batchesAt(at setting, strategy string) []setting {
	var out []setting
	for s := range c.episodes {
		place := s
		place.strategy, place.batch = "", 0
		if s.strategy == strategy && place == at {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y setting) int { return cmp.Compare(x.batch, y.batch) })
	return out
}

// contrasted makes the tests of a model's contrasts and adjusts them by family:
// every planned contrast of a model on one measure. A contrast of strategies
// that the run does not plan was never part of it. Of several runs that are
// taken together each has families of its own, because each was declared by
// itself; runs that plan a setting together are one. Intervals are made for the
// rows that want says.
func (c *Collector) contrasted(tests *record.Tests, want func(*contrastRow) bool) []*contrastRow {
	rows := c.contrastRows(tests.Contrasts, tests.Family.Measures)
	inParallel(len(rows), func(i int) { rows[i].test(tests.Bootstrap, want(rows[i])) })
	type family struct {
		model string
		end   int
		study int
	}
	families := make(map[family][]*paired)
	studyOf := c.studies(rows)
	for _, r := range rows {
		if !r.missing {
			key := family{r.model, r.end, studyOf(r)}
			families[key] = append(families[key], &r.paired)
		}
	}
	for _, members := range families {
		adjust(members, tests.Family.Alpha)
	}
	return rows
}

// studies tells which study a row belongs to. Studies that plan a setting
// together, or the two sides of a row, are one, which goes by the first of them.
func (c *Collector) studies(rows []*contrastRow) func(*contrastRow) int {
	first := make([]int, len(c.declared)+1)
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
	join := func(a, b int) { first[max(root(a), root(b))] = min(root(a), root(b)) }
	at := make(map[setting]int)
	for s, homes := range c.homes {
		s.batch = 0
		for home := range homes {
			if _, ok := at[s]; !ok {
				at[s] = home
			}
			join(at[s], home)
		}
	}
	side := func(r *contrastRow, strategy string) int {
		s := r.setting
		s.strategy, s.batch = strategy, 0
		return at[s]
	}
	for _, r := range rows {
		if !r.missing {
			join(side(r, r.A), side(r, r.B))
		}
	}
	return func(r *contrastRow) int { return root(side(r, r.A)) }
}

// contrastCell shows a contrast.
func contrastCell(c record.Contrast) Cell {
	return Cell{Label: c.String(), Short: StrategyName(c.A) + " − " + StrategyName(c.B)}
}

// contrastLabels are the label columns that tables of contrasts share.
func contrastLabels(rows []*contrastRow, short map[string]string) []definition[contrastRow] {
	settings := make([]*group[struct{}], 0, len(rows))
	for _, r := range rows {
		if !r.anyCell {
			s := r.setting
			s.strategy = r.Contrast.String() // what batches, framings and grids may vary within
			settings = append(settings, &group[struct{}]{setting: s})
		}
	}
	blank := func(of func(r *contrastRow) Cell) func(r *contrastRow) Cell {
		return func(r *contrastRow) Cell {
			if r.anyCell {
				return Cell{Short: "any"}
			}
			return of(r)
		}
	}
	oneModality := true
	for _, g := range settings {
		oneModality = oneModality && g.modality == settings[0].modality
	}
	defs := []definition[contrastRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *contrastRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "measure", Heading: "measure", Kind: Label}, func(r *contrastRow) Cell { return Cell{Label: ends[r.end]} }},
		{Column{Key: "modality", Heading: "modality", Kind: Label, DataOnly: oneModality}, blank(func(r *contrastRow) Cell { return Cell{Label: r.modality} })},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, blank(func(r *contrastRow) Cell { return Cell{Label: r.regime} })},
	}
	for _, d := range settingColumns(settings) {
		defs = append(defs, definition[contrastRow]{d.Column, blank(func(r *contrastRow) Cell {
			return d.cell(&group[struct{}]{setting: r.setting})
		})})
	}
	return append(defs, definition[contrastRow]{Column{Key: "contrast", Heading: "contrast", Kind: Label}, func(r *contrastRow) Cell { return contrastCell(r.Contrast) }})
}

func pairedOfContrast(r *contrastRow) *paired { return &r.paired }

// contrastSides are the seeds behind a contrast and the means under its
// strategies.
func contrastSides() []definition[contrastRow] {
	return []definition[contrastRow]{
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *contrastRow) Cell { return r.seedsCell() }},
		{Column{Key: "first", Heading: "first", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true}, func(r *contrastRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.B }) }},
		{Column{Key: "second", Heading: "second", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: true}, func(r *contrastRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.A }) }},
	}
}

const needContrasts = "episodes under two strategies: spatialstale run --task navigate"

// Contrasts tests the declared contrasts of strategies on every model (paper,
// section 5.3): what raw, filtered and no memory do to success and death.
func (c *Collector) Contrasts() Table {
	tests := c.tests()
	rows := c.contrasted(&tests, func(*contrastRow) bool { return true })
	short := c.modelNames()
	t := Table{
		ID:    "contrasts",
		Title: "Contrasts of strategies, tested",
		Paper: "section 5.3",
		About: "The rate under the first strategy less that under the second, on the same seeds: above 0 the first has more of the measure. A seed’s episodes are averaged first.",
		Need:  needContrasts,
	}
	defs := append(contrastLabels(rows, short), contrastSides()...)
	defs = append(defs, testColumns("difference", "difference of shares", true, pairedOfContrast)...)
	defs = append(defs, lossColumns(rows, pairedOfContrast)...)
	fill(&t, defs, rows)
	c.finishContrasts(&t, rows, &tests)
	t.Notes = append(testNotes(tests.Bootstrap, "all contrasts of one model on one measure that a run plans", tests.Family.Alpha), t.Notes...)
	c.endNotes(&t, rows, short)
	return t
}

// finishContrasts says what lost trials and the declaration mean for a table.
func (c *Collector) finishContrasts(t *Table, rows []*contrastRow, tests *record.Tests) {
	var warnings, notes []string
	if len(rows) > 0 {
		warnings, notes = c.declarationNotes()
	}
	t.Warnings = append(t.Warnings, warnings...)
	lost := make([]*paired, len(rows))
	for i, r := range rows {
		lost[i] = &r.paired
	}
	t.Warnings = append(t.Warnings, lostSeeds(lost, "")...)
	t.Notes = append(t.Notes, notes...)
	t.Notes = append(t.Notes, reachNotes(lost, tests.Family.Alpha)...)
	absent := markMissing(t, rows)
	t.Notes = append(t.Notes, absent...)
}

// lostSeeds says how many seeds the loss of trials takes out of the tests, and
// where the bounds that they leave stand: beside, unless elsewhere is given.
func lostSeeds(rows []*paired, elsewhere string) []string {
	shared, whole := 0, 0
	for _, p := range rows {
		shared += p.shared
		whole += len(p.pairs)
	}
	if whole == shared {
		return nil
	}
	return append([]string{fmt.Sprintf("Incomplete: of %s, a row and a seed each, %s have lost trials and are in no test; whole/planned is shown. What the lost trials could change stands %s: the mean difference over all planned seeds if they had all gone against it, or for it.",
		countOf(shared, "pair"), thousands(shared-whole), cmp.Or(elsewhere, "beside"))}, ruledOutNotes(rows)...)
}

// reachNotes say which levels designs of these sizes cannot reach.
func reachNotes(rows []*paired, alpha float64) []string {
	sizes := make(map[int]bool)
	for _, p := range rows {
		if n := len(p.differences); n > 0 {
			sizes[n] = true
		}
	}
	var paper, own []string
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		least := sure(stats.SmallestP(n, stats.TwoSided))
		if least > PaperAlpha {
			paper = append(paper, fmt.Sprintf("%.3g with %s", least, countOf(n, "seed")))
		}
		if least > alpha {
			own = append(own, fmt.Sprint(n))
		}
	}
	if len(paper) == 0 {
		return nil
	}
	note := fmt.Sprintf("The smallest p that these tests can give is %s: the paper’s level %g cannot be reached there, whatever happens; it takes %d seeds.",
		strings.Join(paper, ", "), PaperAlpha, sure(stats.UnitsToReach(PaperAlpha, stats.TwoSided)))
	if len(own) > 0 {
		note += fmt.Sprintf(" With %s not even %g can.", strings.Join(own, ", "), alpha)
	}
	return []string{note}
}

// markMissing puts a warning into the first number of rows that the run has no
// trials for, and names the contrasts.
func markMissing(t *Table, rows []*contrastRow) []string {
	at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == "difference" })
	var names []string
	for i, r := range rows {
		if !r.missing {
			continue
		}
		t.Rows[i][at].Warnings = []stats.Warning{{Code: NotRun, Text: fmt.Sprintf("the run has no episodes of both %s and %s on one seed", StrategyName(r.A), StrategyName(r.B))}}
		addNew(&names, StrategyName(r.A)+" − "+StrategyName(r.B))
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"Not in this run, and in no family: " + strings.Join(names, ", ") + ". To have them: run with --strategy and both strategies."}
}

// endNotes finishes a table of contrasts: dashes, letters, models.
func (c *Collector) endNotes(t *Table, rows []*contrastRow, short map[string]string) {
	t.Notes = append(t.Notes, undefinedNotes(t, "–: undefined, which is not zero.")...)
	t.footnote()
	groups := make([]*group[struct{}], len(rows))
	for i, r := range rows {
		groups[i] = &group[struct{}]{setting: r.setting}
	}
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
}

// headlines are the contrasts that come first, with what they ask.
var headlines = []struct {
	record.Contrast
	asks string
}{
	{record.Contrast{A: "no-filter", B: "no-memory"}, "what stale memory costs"},
	{record.Contrast{A: "omcd", B: "no-filter"}, "what an audit gives back"},
}

// A headlineRow is a headline contrast in one place, on success and on death.
type headlineRow struct {
	*contrastRow
	asks string
	of   [len(ends)]*contrastRow
}

// Headline tells in a few rows what stale memory costs and what an audit gives
// back, of the contrasts that are declared.
func (c *Collector) Headline() Table {
	tests := c.tests()
	asks := make(map[record.Contrast]string)
	for _, h := range headlines {
		asks[h.Contrast] = h.asks
	}
	shown := func(r *contrastRow) bool { return asks[r.Contrast] != "" && !r.missing }
	all := c.contrasted(&tests, shown)
	var rows []*headlineRow
	at := make(map[string]*headlineRow)
	for _, r := range all {
		if !shown(r) {
			continue
		}
		key := fmt.Sprint(r.setting, r.Contrast, r.batchB)
		if at[key] == nil {
			at[key] = &headlineRow{contrastRow: r, asks: asks[r.Contrast]}
			rows = append(rows, at[key])
		}
		at[key].of[r.end] = r
	}
	t := Table{
		ID:    "headline",
		Title: "What stale memory costs, and what an audit gives back",
		About: "Differences of rates on the same seeds: NoFilter less NoMemory is what stale memory does, OMCD less NoFilter what the audit takes away again.",
		Need:  "episodes under no-memory and no-filter, or no-filter and omcd: spatialstale run --task navigate",
	}
	short := c.modelNames()
	plain := make([]*contrastRow, len(rows))
	for i, r := range rows {
		plain[i] = r.contrastRow
	}
	var defs []definition[headlineRow]
	for _, d := range contrastLabels(plain, short) {
		if d.Key != "measure" {
			defs = append(defs, definition[headlineRow]{d.Column, func(r *headlineRow) Cell { return d.cell(r.contrastRow) }})
		}
	}
	defs = append(defs,
		definition[headlineRow]{Column{Key: "asks", Heading: "asks", Kind: Label, DataOnly: true}, func(r *headlineRow) Cell { return Cell{Label: r.asks} }},
		definition[headlineRow]{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *headlineRow) Cell { return r.seedsCell() }})
	for _, measure := range tests.Family.Measures {
		end := slices.Index(ends[:], measure)
		cell := func(of func(*paired) Cell) func(*headlineRow) Cell {
			return func(r *headlineRow) Cell {
				if r.of[end] == nil {
					return Cell{}
				}
				return of(&r.of[end].paired)
			}
		}
		defs = append(defs, []definition[headlineRow]{
			{Column{Key: measure + "_difference", Heading: "Δ", Group: measure, Unit: "difference of shares", Kind: Paired, Decimals: 2, Brief: true}, cell((*paired).differenceCell)},
			{Column{Key: measure + "_interval", Heading: "interval", Group: measure, Unit: "difference of shares", Kind: Interval, Decimals: 2}, cell((*paired).intervalCell)},
			{Column{Key: measure + "_p", Heading: "Holm\u00a0p", Group: measure, Unit: "probability", Kind: PValue, Decimals: 3}, cell((*paired).holmCell)},
		}...)
	}
	fill(&t, defs, rows)
	if len(rows) > 0 {
		lost := make([]*paired, len(rows))
		for i, r := range rows {
			lost[i] = &r.paired
		}
		warnings, notes := c.declarationNotes()
		t.Warnings = append(warnings, lostSeeds(lost, "in the table of contrasts")...)
		t.Notes = append([]string{fmt.Sprintf("interval: %g%% cluster bootstrap by seed. Holm p: exact sign-flip test by seed, adjusted over all contrasts of one model on one measure that a run plans; %s: at most %g. The table of contrasts has them all.",
			100*tests.Bootstrap.Level, markFamily, tests.Family.Alpha)}, notes...)
	}
	c.endNotes(&t, plain, short)
	return t
}
