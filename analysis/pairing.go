package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A Difference is something in which the studies of two runs differ, in words
// for people.
type Difference struct{ What, A, B string }

// Compare sets two runs side by side: a table of what they are and how they
// differ, one of detections, one of episodes. Settings (model, modality,
// regime, strategy, batch, framing, size) that both have are paired seed by
// seed; a seed counts when no trial of it is lost on either side, and its
// episodes are averaged first. Whatever one run has alone is named, and in no
// figure.
//
// A model is paired with the one that models names for it, else with that of the
// same name; when each run has one model, these two are, and so is what is left
// over when it is one model with other parameters.
//
// The differences stand in the first table as they are given. Those of seeds are
// tested as A's study declares it, each model and measure of a table a family.
func Compare(a, b *Collector, differences []Difference, models map[string]string) []Table {
	p := &pairing{a: a, b: b, modelsA: a.models(), modelsB: b.models()}
	p.match(models)
	p.short = shortNames(slices.Concat(p.modelsA, p.modelsB))
	detections := matchSettings(p, a.detection, b.detection)
	episodes := matchSettings(p, a.episodes, b.episodes)
	runs := p.runs(differences)
	for _, side := range []struct {
		name string
		only []string
	}{
		{"A", slices.Concat(p.alone("detections", detections.onlyA, detections.inB), p.alone("episodes", episodes.onlyA, episodes.inB))},
		{"B", slices.Concat(p.alone("detections", detections.onlyB, detections.inA), p.alone("episodes", episodes.onlyB, episodes.inA))},
	} {
		if len(side.only) > 0 {
			runs.Notes = append(runs.Notes, "Only in "+side.name+", and in no table below: "+strings.Join(side.only, "; ")+".")
		}
	}
	runs.Notes = append(runs.Notes, p.unpaired()...)
	runs.Notes = append(runs.Notes, modelNotes(groupsOfModels(p.modelsA, p.modelsB), p.short)...)
	detection := p.table(rowsOf(detections, progressOfDetection, []measureOf[detectionTally]{
		{"f1", "F1", func(d *detectionTally) seedValue { return d.value(record.Counts.F1) }},
		{"recall", "recall", func(d *detectionTally) seedValue { return d.value(record.Counts.Recall) }},
		{"fpr", "FPR", func(d *detectionTally) seedValue { return d.value(record.Counts.FPR) }},
	}), "detector")
	detection.ID = "compare-detection"
	detection.Title = "Detection: B less A, seed by seed"
	detection.Need = "detections of one setting on one seed in both runs"
	navigation := p.table(rowsOf(episodes, progressOfEpisodes, []measureOf[episodeTally]{
		{"success", "success", func(e *episodeTally) seedValue { return e.rate(endSuccess) }},
		{"death", "death", func(e *episodeTally) seedValue { return e.rate(endDeath) }},
	}), "strategy")
	navigation.ID = "compare-navigation"
	navigation.Title = "Navigation: B less A, seed by seed"
	navigation.Need = "episodes of one setting on one seed in both runs"
	if len(navigation.Rows) > 0 {
		navigation.Notes = append(navigation.Notes, "A seed’s episodes are averaged first; a success or death rate is the mean over seeds.")
	}
	return []Table{runs, detection, navigation}
}

// A pairing is two runs, and how their models correspond.
type pairing struct {
	a, b             *Collector
	modelsA, modelsB []string
	inB              map[string]string // the model of B that is compared with one of A
	other            bool              // some of these are not the same
	short            map[string]string
}

// match decides which models are compared.
func (p *pairing) match(named map[string]string) {
	p.inB = make(map[string]string)
	taken := make(map[string]bool)
	pair := func(a, b string) {
		p.inB[a], taken[b] = b, true
		p.other = p.other || a != b
	}
	for a, b := range named {
		pair(a, b)
	}
	for _, a := range p.modelsA {
		if p.inB[a] == "" && slices.Contains(p.modelsB, a) && !taken[a] {
			pair(a, a)
		}
	}
	leftA := slices.DeleteFunc(slices.Clone(p.modelsA), func(m string) bool { return p.inB[m] != "" })
	leftB := slices.DeleteFunc(slices.Clone(p.modelsB), func(m string) bool { return taken[m] })
	if len(p.modelsA) == 1 && len(p.modelsB) == 1 && len(leftA) == 1 && len(leftB) == 1 {
		pair(leftA[0], leftB[0])
		return
	}
	of := func(models []string, base string) (found []string) {
		for _, m := range models {
			if name, _, _ := strings.Cut(m, "?"); name == base {
				found = append(found, m)
			}
		}
		return found
	}
	for _, a := range leftA {
		base, _, _ := strings.Cut(a, "?")
		if as, bs := of(leftA, base), of(leftB, base); len(as) == 1 && len(bs) == 1 {
			pair(a, bs[0])
		}
	}
}

// counterpart is a setting of A as B has it, if B's model is known.
func (p *pairing) counterpart(s setting) setting {
	if b, ok := p.inB[s.model]; ok {
		s.model = b
	}
	return s
}

// unpaired says how models that stand alone can be compared.
func (p *pairing) unpaired() []string {
	left := func(models []string, paired func(string) bool) []string {
		return slices.DeleteFunc(slices.Clone(models), paired)
	}
	a := left(p.modelsA, func(m string) bool { return p.inB[m] != "" })
	b := left(p.modelsB, func(m string) bool {
		for _, other := range p.inB {
			if m == other {
				return true
			}
		}
		return false
	})
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("To compare a model of A with another one of B: spatialstale compare A B --pair '%s=%s'.", a[0], b[0])}
}

// A matched is the settings of one task.
type matched[T any] struct {
	both         []couple[T]
	inA, inB     []setting // all of them
	onlyA, onlyB []setting
}

// A couple is a setting in both runs, with its seeds.
type couple[T any] struct {
	setting
	modelB string
	a, b   map[int]*T
}

// matchSettings pairs the settings of two runs, in the order of A's tables.
func matchSettings[T any](p *pairing, a, b groups[T]) *matched[T] {
	m := &matched[T]{
		inA: slices.SortedFunc(maps.Keys(a), p.a.byModelRegimeModality),
		inB: slices.SortedFunc(maps.Keys(b), p.b.byModelRegimeModality),
	}
	paired := make(map[setting]bool)
	for _, s := range m.inA {
		o := p.counterpart(s)
		if p.inB[s.model] == "" || b[o] == nil {
			m.onlyA = append(m.onlyA, s)
			continue
		}
		paired[o] = true
		m.both = append(m.both, couple[T]{s, o.model, a[s], b[o]})
	}
	for _, s := range m.inB {
		if !paired[s] {
			m.onlyB = append(m.onlyB, s)
		}
	}
	return m
}

// A measureOf is what is compared of a seed.
type measureOf[T any] struct {
	key, heading string
	read         func(*T) seedValue
}

// A coupleRow is one measure of a couple.
type coupleRow struct {
	setting
	modelB       string
	key, heading string
	lostA, lostB int // of the shared seeds, those that have lost a trial in A, in B
	paired           // B less A
	equivalence  stats.EquivalenceResult
}

// rowsOf returns a row for every measure of every couple that shares a seed.
func rowsOf[T any](m *matched[T], of func(*T) *progress, measures []measureOf[T]) []*coupleRow {
	var rows []*coupleRow
	for _, c := range m.both {
		for _, measure := range measures {
			r := &coupleRow{setting: c.setting, modelB: c.modelB, key: measure.key, heading: measure.heading}
			pairSeeds(&r.paired, c.a, c.b, measure.read)
			for seed, a := range c.a {
				if b := c.b[seed]; b != nil {
					r.lostA += index(of(a).lost() > 0)
					r.lostB += index(of(b).lost() > 0)
				}
			}
			if r.shared > 0 {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// testCouples tests the rows of a table, each model and measure a family.
func (p *pairing) testCouples(rows []*coupleRow) record.Tests {
	tests := p.a.tests()
	eq := tests.Equivalence
	inParallel(len(rows), func(i int) {
		rows[i].test(tests.Bootstrap, true)
		rows[i].equivalence = sure(stats.Equivalence(rows[i].differences, stats.EquivalenceOptions{Margin: eq.Margin, Alpha: eq.Alpha, Seed: tests.Bootstrap.Seed}))
	})
	families := make(map[[3]string][]*paired)
	for _, r := range rows {
		key := [3]string{r.model, r.modelB, r.key}
		families[key] = append(families[key], &r.paired)
	}
	for _, members := range families {
		adjust(members, tests.Family.Alpha)
	}
	return tests
}

// table is everything that tables of couples have in common.
func (p *pairing) table(rows []*coupleRow, strategy string) Table {
	t := Table{About: "Means over the seeds that both runs have. B − A: the mean over seeds of the seed’s value in B less its value in A, ± the standard deviation of these differences."}
	if p.other {
		t.About += " The models are A’s → B’s."
	}
	tests := p.testCouples(rows)
	settings := groupsOfRows(rows)
	defs := []definition[coupleRow]{
		{Column{Key: "models", Heading: "models", Kind: Label, Section: true}, func(r *coupleRow) Cell {
			c := modelCell(r.model, p.short)
			if r.modelB != r.model {
				b := modelCell(r.modelB, p.short)
				c = Cell{Label: r.model + " → " + r.modelB, Short: c.Display() + " → " + b.Display(), Tag: bothTags(c.Tag, b.Tag)}
			}
			return c
		}},
		{Column{Key: "model_a", Heading: "model of A", Kind: Label, DataOnly: true}, func(r *coupleRow) Cell { return Cell{Label: r.model} }},
		{Column{Key: "model_b", Heading: "model of B", Kind: Label, DataOnly: true}, func(r *coupleRow) Cell { return Cell{Label: r.modelB} }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *coupleRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *coupleRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: strategy, Heading: strategy, Kind: Label}, func(r *coupleRow) Cell { return strategyCell(r.strategy) }},
	}
	for _, d := range settingColumns(settings) {
		defs = append(defs, definition[coupleRow]{d.Column, func(r *coupleRow) Cell {
			return d.cell(&group[struct{}]{setting: r.setting})
		}})
	}
	defs = append(defs, []definition[coupleRow]{
		{Column{Key: "measure", Heading: "measure", Kind: Label}, func(r *coupleRow) Cell { return Cell{Label: r.key, Short: r.heading} }},
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *coupleRow) Cell { return Cell{Count: len(r.pairs), Of: r.shared} }},
		{Column{Key: "shared", Heading: "seeds that both plan", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *coupleRow) Cell { return Cell{Count: r.shared} }},
		{Column{Key: "lost_a", Heading: "lost in A", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *coupleRow) Cell { return Cell{Count: r.lostA} }},
		{Column{Key: "lost_b", Heading: "lost in B", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *coupleRow) Cell { return Cell{Count: r.lostB} }},
		{Column{Key: "a", Heading: "A", Unit: "share", Kind: Mean, Decimals: 3, Brief: true}, func(r *coupleRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.A }) }},
		{Column{Key: "b", Heading: "B", Unit: "share", Kind: Mean, Decimals: 3, Brief: true}, func(r *coupleRow) Cell { return r.meanOf(func(p *SeedPair) *float64 { return p.B }) }},
		{Column{Key: "difference", Heading: "B − A", Unit: "difference of shares", Kind: Paired, Decimals: 3}, func(r *coupleRow) Cell { return r.differenceCell() }},
	}...)
	defs = append(defs, testColumns("B − A", "difference of shares", true, func(r *coupleRow) *paired { return &r.paired })[1:]...)
	defs = append(defs, equivalenceColumns(tests.Equivalence, true, func(r *coupleRow) *stats.EquivalenceResult { return &r.equivalence })...)
	defs = append(defs, lossColumns(rows, func(r *coupleRow) *paired { return &r.paired })...)
	fill(&t, defs, rows)
	t.Warnings = incompletePairs(rows)
	if len(rows) > 0 {
		all := make([]*paired, len(rows))
		for i, r := range rows {
			all[i] = &r.paired
		}
		t.Warnings = append(t.Warnings, ruledOutNotes(all)...)
		t.Notes = testNotes(tests.Bootstrap, "all rows of one model on one measure", tests.Family.Alpha)
		t.Notes = append(t.Notes, fmt.Sprintf("within ±%g: whether two one-sided tests at %g show that A and B differ by less than that; power: the chance to show it if they do not differ. not shown is no proof of a difference.", tests.Equivalence.Margin, tests.Equivalence.Alpha))
		t.Notes = append(t.Notes, reachNotes(all, tests.Family.Alpha)...)
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero.")...)
	if slices.ContainsFunc(rows, func(r *coupleRow) bool { return r.regime == "L3" && strategy == "detector" }) {
		t.Notes = append(t.Notes, "L3: a seed’s counts are summed over its audits, one after each change, before its scores.")
	}
	t.footnote()
	return t
}

func bothTags(a, b string) string {
	if a == b {
		return a
	}
	return ""
}

// incompletePairs says how many pairs a loss of trials has left.
func incompletePairs(rows []*coupleRow) []string {
	var shared, left, lostA, lostB int
	for i, r := range rows {
		if i > 0 && rows[i-1].setting == r.setting {
			continue // another measure of the same trials
		}
		shared += r.shared
		left += len(r.pairs)
		lostA += r.lostA
		lostB += r.lostB
	}
	if left == shared {
		return nil
	}
	return []string{fmt.Sprintf("Incomplete: of %s, a setting and a seed each, %s are whole; trials failed or have no record in A in %s, in B in %s. Only whole pairs are tested; where some lack, whole/shared is shown. What the lost trials could change stands beside: the mean B − A over all shared seeds if they had all gone against B, or for it.",
		countOf(shared, "pair"), thousands(left), thousands(lostA), thousands(lostB))}
}
