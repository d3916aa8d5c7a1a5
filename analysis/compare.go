package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A Difference is something in which the studies of two runs differ, in words
// for people.
type Difference struct{ What, A, B string }

// Compare sets two runs side by side: a table of what they are and how they
// differ, one of detections, one of episodes. Settings (model, modality, regime,
// strategy, batch, framing, size) that both have are paired seed by seed, and a
// seed's episodes are averaged first. Whatever one run has alone is named, and in
// no figure.
//
// A model is paired with the one that models names for it, else with that of the
// same name; when each run has one model, these two are, and so is what is left
// over when it is one model with other parameters.
//
// Rows that differ come first. Those that are equal on every seed are one line,
// unless all are asked for. Differences of seeds are tested as A's study declares
// it, each model and measure of a table a family.
func Compare(a, b *Frame, differences []Difference, models map[string]string, all bool) []Table {
	a.finish()
	b.finish()
	p := &twoRuns{a: a, b: b, all: all, only: map[string][]string{}}
	p.match(models)
	short := shortNames(slices.Concat(a.models(), b.models()))
	a.short, b.short = short, short
	runs := p.runs(differences)
	margins := func(m *measure) float64 { return m.margin }
	detection := p.table(record.Detect, byDetector, []*measure{f1, recall, fpr}, margins)
	detection.ID, detection.Title, detection.Topic = "compare-detection", "Detection: B minus A, seed by seed", TopicDetection
	if detection.Need == "" {
		detection.Need = "detections of one setting on one seed in both runs"
	}
	navigation := p.table(record.Navigate, byStrategy, []*measure{success, death}, margins)
	navigation.ID, navigation.Title, navigation.Topic = "compare-navigation", "Navigation: B minus A, seed by seed", TopicNavigation
	if navigation.Need == "" {
		navigation.Need = "episodes of one setting on one seed in both runs"
	}
	for _, name := range []string{"A", "B"} {
		if only := p.only[name]; len(only) > 0 {
			runs.Notes = append(runs.Notes, "Only in "+name+", and in no table below: "+strings.Join(only, "; ")+".")
		}
	}
	runs.Notes = append(runs.Notes, a.modelNotes(slices.Concat(a.models(), b.models()))...)
	return []Table{runs, detection, navigation}
}

// A twoRuns is two runs, and how their models correspond.
type twoRuns struct {
	a, b *Frame
	inB  map[string]string // the model of B that is compared with one of A
	all  bool
	only map[string][]string // what one of them has alone, in words
}

// match decides which models are compared.
func (p *twoRuns) match(named map[string]string) {
	p.inB = maps.Clone(named)
	if p.inB == nil {
		p.inB = map[string]string{}
	}
	ofA, ofB := p.a.models(), p.b.models()
	taken := func(b string) bool { return slices.Contains(slices.Collect(maps.Values(p.inB)), b) }
	for _, m := range ofA {
		if p.inB[m] == "" && slices.Contains(ofB, m) && !taken(m) {
			p.inB[m] = m
		}
	}
	leftA := slices.DeleteFunc(slices.Clone(ofA), func(m string) bool { return p.inB[m] != "" })
	leftB := slices.DeleteFunc(slices.Clone(ofB), taken)
	if len(ofA) == 1 && len(ofB) == 1 && len(leftA) == 1 && len(leftB) == 1 {
		p.inB[leftA[0]] = leftB[0]
		return
	}
	base := func(m string) string { name, _, _ := strings.Cut(m, "?"); return name }
	of := func(models []string, name string) (found []string) {
		for _, m := range models {
			if base(m) == name {
				found = append(found, m)
			}
		}
		return found
	}
	for _, m := range leftA {
		if as, bs := of(leftA, base(m)), of(leftB, base(m)); len(as) == 1 && len(bs) == 1 {
			p.inB[m] = bs[0]
		}
	}
}

// name is a model's name for people.
func (p *twoRuns) name(model string) string { c := p.a.modelCell(model); return c.Display() }

// other reports whether some models that are compared are not the same.
func (p *twoRuns) other() bool {
	for a, b := range p.inB {
		if a != b {
			return true
		}
	}
	return false
}

// runs is the table of what the two runs are and how their studies differ.
func (p *twoRuns) runs(differences []Difference) Table {
	t := Table{ID: "compare-runs", Title: "Two runs side by side", Topic: TopicRun, About: "What A and B are, and everything in which their studies differ."}
	col := func(key, heading string, of func(*Difference) string) colOf[*Difference] {
		return colOf[*Difference]{label(key, heading), func(d *Difference) Cell { return Cell{Label: of(d)} }}
	}
	var rows []*Difference
	for i := range differences {
		rows = append(rows, &differences[i])
	}
	fill(&t, []colOf[*Difference]{
		col("what", "", func(d *Difference) string { return d.What }), col("a", "A", func(d *Difference) string { return d.A }), col("b", "B", func(d *Difference) string { return d.B }),
	}, rows)
	for _, side := range []*Frame{p.a, p.b} { // a control that answered in a model's name, above all
		for _, w := range side.runWarnings() {
			addNew(&t.Warnings, w)
		}
	}
	for _, m := range p.a.models() {
		if b := p.inB[m]; b != "" && b != m {
			t.Notes = append(t.Notes, fmt.Sprintf("A’s %s is paired with B’s %s.", p.name(m), p.name(b)))
		}
	}
	shared, onlyA, onlyB := sides(p.a.seeds(), p.b.seeds())
	if len(shared) == 0 {
		t.Warnings = append(t.Warnings, "The runs share no seed: nothing can be paired.")
	}
	said := "Paired by seed: " + countOf(len(shared), "seed") + " in both runs"
	var alone []string
	for i, seeds := range [][]int{onlyA, onlyB} {
		if len(seeds) > 0 {
			alone = append(alone, countOf(len(seeds), "seed")+" only in "+"AB"[i:i+1]+listed(seeds))
		}
	}
	if len(alone) == 0 {
		said += ", none in one alone."
	} else {
		said += "; not used: " + strings.Join(alone, ", ") + "."
	}
	t.Notes = append(t.Notes, said)
	leftA := slices.DeleteFunc(p.a.models(), func(m string) bool { return p.inB[m] != "" })
	leftB := slices.DeleteFunc(p.b.models(), func(m string) bool { return slices.Contains(slices.Collect(maps.Values(p.inB)), m) })
	if len(leftA) > 0 && len(leftB) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("To compare a model of A with another one of B: spatialstale compare A B --pair '%s=%s'.", leftA[0], leftB[0]))
	}
	return t
}

// listed names seeds when they are few.
func listed(seeds []int) string {
	const few = 10
	if len(seeds) > few {
		return ""
	}
	words := make([]string, len(seeds))
	for i, s := range seeds {
		words[i] = strconv.Itoa(s)
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// seeds returns all seeds of a frame in ascending order.
func (f *Frame) seeds() []int {
	all := map[int]bool{}
	for _, g := range f.groups {
		for _, s := range g.Seeds {
			all[s.Seed] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// sides tells what two lists share from what one has alone.
func sides(a, b []int) (both, onlyA, onlyB []int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		} else {
			onlyA = append(onlyA, x)
		}
	}
	return both, onlyA, slices.DeleteFunc(slices.Clone(b), func(x int) bool { return slices.Contains(a, x) })
}

// table compares one task; what one run has alone is told in the table of runs.
func (p *twoRuns) table(task string, by dim, measures []*measure, margin func(*measure) float64) Table {
	dims := []dim{byModel, byRegime, byModality, by}
	keep := func(s *Setting) bool { return s.Task == task }
	as, bs := p.a.grouped(dims, keep, nil), p.b.grouped(dims, keep, nil)
	var rows []*versus
	matched := map[*Group]bool{}
	for _, a := range as {
		at := a.Setting
		at.Model = p.inB[at.Model]
		i := slices.IndexFunc(bs, func(b *Group) bool { return b.Setting == at })
		if i < 0 {
			continue
		}
		b := bs[i]
		matched[a], matched[b] = true, true
		for _, m := range measures {
			v := &versus{Group: *a, a: a, b: b, other: b.Model, paired: pairGroups(a, b, m, m, [2]string{"A", "B"})}
			if v.shared > 0 {
				rows = append(rows, v)
			}
		}
	}
	what := map[string]string{record.Detect: "detections", record.Navigate: "episodes"}[task]
	p.alone("A", what, as, bs, matched)
	p.alone("B", what, bs, as, matched)
	tests := p.a.tests()
	testAll(pairsOf(rows), &tests, func(int) bool { return true }, func(i int) string { return fmt.Sprint(rows[i].Model, rows[i].other, rows[i].measure.key) })
	for _, v := range rows {
		v.testEquivalence(&tests, cmpMargin(margin(v.measure), tests.Equivalence.Margin))
	}
	t := Table{About: "Means over the seeds that both runs have. B − A: the mean over seeds of the seed’s value in B minus its value in A, ± the standard deviation of these differences."}
	if p.other() {
		t.About += " The models are A’s → B’s."
	}
	t.Warnings = lostSeeds(pairsOf(rows), "")
	shown := rows
	if !p.all {
		equal := func(v *versus) bool { return v.effects.Positive+v.effects.Negative == 0 && !v.lossy }
		shown = slices.DeleteFunc(slices.Clone(rows), equal)
		if len(rows) > 0 && len(shown) == 0 {
			t.Need = fmt.Sprintf("a difference to show: on every seed all %s are equal", countOf(len(rows), "row"))
		} else if n := len(rows) - len(shown); n > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("Equal on every seed, and not listed: %s of %s. The data formats have them.", countOf(n, "row"), thousands(len(rows))))
		}
	}
	fill(&t, p.columns(shown, by, &tests), shown)
	if len(shown) > 0 {
		t.Notes = append(t.Notes, testNotes(tests.Bootstrap, "all rows of one model on one measure", tests.Family.Alpha)...)
		t.Notes = append(t.Notes, "within: whether two one-sided tests show that A and B differ by less than the margin of the measure (column margin); power: the chance to show it if they do not differ. not shown is no proof of a difference.")
		t.Notes = append(t.Notes, reachNotes(pairsOf(rows), tests.Family.Alpha)...)
		if task == record.Detect && hasRegime(groupsOf(rows), "L3") {
			t.Notes = append(t.Notes, noteL3)
		}
	}
	p.a.finishTable(&t, "", nil)
	return t
}

func cmpMargin(own, declared float64) float64 {
	if own == 0 {
		return declared
	}
	return own
}

func (p *twoRuns) columns(rows []*versus, by dim, tests *record.Tests) []versusColumn {
	model := versusColumn{Column{Key: "models", Heading: "models", Kind: Label, Section: true}, func(v *versus) Cell {
		c := p.a.modelCell(v.Model)
		if v.other != v.Model {
			b := p.a.modelCell(v.other)
			tag := ""
			if c.Tag == b.Tag {
				tag = c.Tag
			}
			c = Cell{Label: v.Model + " → " + v.other, Short: c.Display() + " → " + b.Display(), Tag: tag}
		}
		return c
	}}
	mean := func(key string, of func(*SeedPair) *float64) versusColumn {
		c := sideColumn(key, strings.ToUpper(key), of).brief()
		c.DataOnly = false
		return c
	}
	lost := func(key, heading string, of func(*versus) *Group) versusColumn {
		return versusColumn{Column{Key: key, Heading: heading, Unit: "seeds", Kind: Count, DataOnly: true}, func(v *versus) Cell {
			n := 0
			for _, s := range of(v).Seeds {
				var q progress
				q.add(s.Rows)
				n += index(q.lost() > 0 && v.a.at(s.Seed) != nil && v.b.at(s.Seed) != nil)
			}
			return Cell{Count: n}
		}}
	}
	cols := []versusColumn{model,
		versusColumn{label("model_a", "model of A"), func(v *versus) Cell { return Cell{Label: v.Model} }}.hidden(),
		versusColumn{label("model_b", "model of B"), func(v *versus) Cell { return Cell{Label: v.other} }}.hidden()}
	cols = append(cols, versusLabels(p.a.labels([]dim{byRegime, byModality, by}, true, groupsOf(rows)))...)
	cols = append(cols, versusColumn{label("measure", "measure"), func(v *versus) Cell { return Cell{Label: v.measure.key, Short: v.measure.words} }}, seedsOfPairs,
		versusColumn{Column{Key: "shared", Heading: "seeds that both plan", Unit: "seeds", Kind: Count}, func(v *versus) Cell { return Cell{Count: v.shared} }}.hidden(),
		lost("lost_a", "lost in A", func(v *versus) *Group { return v.a }), lost("lost_b", "lost in B", func(v *versus) *Group { return v.b }),
		mean("a", sideA), mean("b", sideB))
	tested := testColumns("B − A", "difference of shares", true)
	tested[0].Brief = false
	cols = append(append(cols, tested...), equivalenceColumns(tests.Equivalence, true)...)
	return append(cols, lossColumns(rows)...)
}

// alone says in words which settings one run has alone: first those that the
// other lacks for one reason, such as a regime, then each of the rest.
func (p *twoRuns) alone(name, what string, own, other []*Group, matched map[*Group]bool) {
	rest := slices.DeleteFunc(slices.Clone(own), func(g *Group) bool { return matched[g] })
	if len(rest) == 0 {
		return
	}
	say := func(part string) { p.only[name] = append(p.only[name], part) }
	if len(other) == 0 {
		say(fmt.Sprintf("all %s (%s)", what, countOf(len(rest), "setting")))
		return
	}
	dims := []dim{byRegime, byModality, byStrategy, byBatch, byFraming, bySize}
	if !p.other() {
		dims = append([]dim{byModel}, dims...)
	}
	words := func(d dim, g *Group) string {
		c := d.cell(p.a, &g.Setting)
		switch d.Key {
		case byBatch.Key:
			if g.Batch == 0 {
				return "no batches"
			}
			return "batches of " + c.Display()
		case byStrategy.Key:
			return c.Display()
		case byRegime.Key:
			return "regime " + c.Label
		case bySize.Key:
			return "lakes of " + c.Display()
		case byFraming.Key:
			return "the wording " + c.Display()
		}
		return d.Heading + " " + c.Display()
	}
	for _, d := range dims {
		count := map[string]int{}
		var values []string
		rest = slices.DeleteFunc(rest, func(g *Group) bool {
			v := words(d, g)
			if slices.ContainsFunc(other, func(o *Group) bool { return words(d, o) == v }) {
				return false
			}
			addNew(&values, v)
			count[v]++
			return true
		})
		for _, v := range values {
			say(fmt.Sprintf("%s with %s (%s)", what, v, countOf(count[v], "setting")))
		}
	}
	for _, g := range rest {
		var all []string
		for _, d := range dims {
			all = append(all, words(d, g))
		}
		say(what + " of " + strings.Join(all, ", "))
	}
}
