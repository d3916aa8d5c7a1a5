package analysis

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// PaperAlpha is the level of the paper's tests (section 5.1).
const PaperAlpha = 0.001

// Marks behind p-values that reach a level.
const (
	markFamily = "*" // the family's, after Holm's adjustment
	markPaper  = "†" // PaperAlpha, by the paper's test
)

// roundingOnly is less than any difference that rates of a run can have.
const roundingOnly = 1e-9

// A paired holds one measure's values of two conditions, seed by seed, and what
// the tests say of their difference, B less A.
type paired struct {
	measure *measure
	sides   [2]string // what A and B are
	pairs   []SeedPair
	shared  int // seeds that both conditions plan

	lossy         bool      // some seed has lost a trial
	partial       int       // of the pairs, those of which some trials are lost
	leasts, mosts []float64 // the least and the most that a shared seed's difference can be
	overturn      bool      // the mark of the family's level could be lost trials' doing
	overturnPaper bool      // that of the paper's level could

	differences []float64 // of the pairs that are defined on both sides
	flip        stats.SignFlipResult
	wilcoxon    stats.WilcoxonResult
	effects     stats.EffectResult
	boot        stats.BootstrapResult

	holm       *float64 // the p-value adjusted in its family
	familySize int      // 0 when it is in none
	alpha      float64  // of the family
}

// pairUp adds the values of two conditions on one seed. Both must plan it. Where
// trials are lost the value is that of what is left; a seed of which nothing is
// left on one side is in no test, but in the bounds.
func (p *paired) pairUp(seed int, a, b seedValue) {
	p.shared++
	lost := a.lost || b.lost
	if a.there && b.there {
		p.pairs = append(p.pairs, SeedPair{seed, a.value, b.value})
		p.partial += index(lost)
	}
	p.lossy = p.lossy || lost
	if a.least != nil && b.least != nil {
		p.leasts = append(p.leasts, *b.least-*a.most)
		p.mosts = append(p.mosts, *b.most-*a.least)
	}
}

// pairGroups pairs a measure on every seed that two groups plan.
func pairGroups(a, b *Group, ma, mb *measure, sides [2]string) *paired {
	p := &paired{measure: mb, sides: sides}
	if a != nil && b != nil {
		for _, s := range a.Seeds {
			if as, bs := ma.mine(s.Rows), mb.mine(b.at(s.Seed)); len(as) > 0 && len(bs) > 0 {
				p.pairUp(s.Seed, ma.valueOf(a, as), mb.valueOf(b, bs))
			}
		}
	}
	p.differ()
	return p
}

// differ fills in the differences. A difference that is only rounding is none.
func (p *paired) differ() {
	var b, a []float64
	for i := range p.pairs {
		if p.pairs[i].Difference() != nil {
			b, a = append(b, *p.pairs[i].B), append(a, *p.pairs[i].A)
		}
	}
	p.differences = sure(stats.Differences(b, a))
}

// test makes the tests; the interval only when it is asked for, because it takes
// the longest.
func (p *paired) test(boot *record.Bootstrap, interval bool) {
	p.flip = sure(stats.SignFlip(p.differences, stats.SignFlipOptions{Seed: boot.Seed}))
	p.effects = sure(stats.Effects(p.differences))
	if !interval {
		return
	}
	p.wilcoxon = sure(stats.Wilcoxon(p.differences, stats.WilcoxonOptions{}))
	p.boot = sure(stats.BootstrapMean(p.differences, bootstrapOptions(boot, stats.Range{Low: -1, High: 1})))
}

func bootstrapOptions(b *record.Bootstrap, r stats.Range) stats.BootstrapOptions {
	return stats.BootstrapOptions{Level: b.Level, Draws: b.Resamples, Seed: b.Seed, Range: &r}
}

// sure returns a statistic of values that analysis has made itself: finite ones,
// with options that Begin has checked.
func sure[T any](v T, err error) T {
	if err != nil {
		panic("analysis: a statistic of finite values: " + err.Error())
	}
	return v
}

// testAll tests rows in parallel and adjusts their p-values, family by family;
// a row whose family is "" is in none.
func testAll(rows []*paired, tests *record.Tests, interval func(i int) bool, family func(i int) string) {
	inParallel(len(rows), func(i int) { rows[i].test(tests.Bootstrap, interval(i)) })
	families := map[string][]*paired{}
	for i, p := range rows {
		if name := family(i); name != "" {
			families[name] = append(families[name], p)
		}
	}
	for _, members := range families {
		adjust(members, tests.Family.Alpha)
	}
	inParallel(len(rows), func(i int) { rows[i].doubt(tests.Bootstrap) })
}

// doubt asks whether lost trials could overturn a mark: whether it would be gone
// had they all gone one way, or the other.
func (p *paired) doubt(boot *record.Bootstrap) {
	if !p.lossy || p.flip.P == nil || *p.flip.P == 0 {
		return
	}
	mean := stats.Mean(p.differences)
	stands := func(level float64, test func(ds []float64) *float64) bool {
		for _, ds := range [][]float64{p.leasts, p.mosts} {
			ds = sure(stats.Differences(ds, make([]float64, len(ds)))) // without what is only rounding
			if v := test(ds); stats.Mean(ds)*mean <= 0 || v == nil || *v > level {
				return false
			}
		}
		return true
	}
	if p.holm != nil && *p.holm <= p.alpha {
		factor := *p.holm / *p.flip.P
		p.overturn = !stands(p.alpha, func(ds []float64) *float64 {
			if v := sure(stats.SignFlip(ds, stats.SignFlipOptions{Seed: boot.Seed})).P; v != nil {
				return new(*v * factor)
			}
			return nil
		})
	}
	if p.wilcoxon.P != nil && *p.wilcoxon.P <= PaperAlpha {
		p.overturnPaper = !stands(PaperAlpha, func(ds []float64) *float64 { return sure(stats.Wilcoxon(ds, stats.WilcoxonOptions{})).P })
	}
}

// couldOverturn is the warning on a row whose verdict or star lost trials could
// overturn.
func couldOverturn() stats.Warning {
	return stats.Warning{Code: Overturn, Text: "had the lost trials all gone one way, this would not be so"}
}

// adjust adjusts the p-values of one family by Holm's method. A member without
// a p-value stays one.
func adjust(family []*paired, alpha float64) {
	ps := make([]*float64, len(family))
	for i, p := range family {
		ps[i] = p.flip.P
	}
	res := sure(stats.Holm(ps, alpha))
	for i, p := range family {
		p.holm, p.familySize, p.alpha = res.Adjusted[i], len(family), alpha
	}
}

// inParallel calls do with every index below n, on all processors. What do
// writes must be of its own index, so that the order is of no consequence.
// A panic of do is one of the caller's, who can recover from it.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	var fault atomic.Pointer[any]
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					fault.CompareAndSwap(nil, &p)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
	if p := fault.Load(); p != nil {
		panic(*p)
	}
}

// bounds are the least and the most that the mean difference over all shared
// seeds can be; nil where nothing is lost.
func (p *paired) bounds() *Span {
	if !p.lossy || len(p.leasts) == 0 {
		return nil
	}
	return &Span{Low: stats.Mean(p.leasts), High: stats.Mean(p.mosts)}
}

// excludes reports whether a value lies outside of the bounds, if there are any.
func (s *Span) excludes(x float64) bool {
	return s != nil && (x < s.Low-roundingOnly || x > s.High+roundingOnly)
}

// mean is the mean of one side, or of the differences, over the pairs that are
// defined on both.
func (p *paired) mean(of func(*SeedPair) *float64) Cell {
	values := make([]*float64, len(p.pairs))
	for i := range p.pairs {
		if p.pairs[i].Difference() != nil {
			values[i] = of(&p.pairs[i])
		}
	}
	return overSeeds(values)
}

func sideA(p *SeedPair) *float64 { return p.A }
func sideB(p *SeedPair) *float64 { return p.B }

func (p *paired) seedsCell() Cell { return Cell{Count: len(p.pairs), Of: p.shared} }

func (p *paired) differenceCell() Cell {
	c := p.mean((*SeedPair).Difference)
	if c.Value != nil {
		c.Value = new(stats.Mean(p.differences)) // without what is only rounding
	}
	c.Pairs, c.Sides = p.pairs, p.sides
	return c
}

func (p *paired) intervalCell() Cell { return intervalCell(p.boot.Interval, p.boot.Warnings) }

func intervalCell(in *stats.Interval, warnings []stats.Warning) Cell {
	c := Cell{Warnings: warnings}
	if in != nil {
		c.Low, c.High, c.Level, c.Method = new(in.Low), new(in.High), in.Level, in.Method
	}
	return c
}

// leastP is the smallest p-value that any signs of this many seeds can give; nil
// without seeds.
func (p *paired) leastP() *float64 {
	if len(p.differences) == 0 {
		return nil
	}
	return new(sure(stats.SmallestP(len(p.differences), stats.TwoSided)))
}

func (p *paired) flipCell() Cell {
	return Cell{Value: p.flip.P, Method: p.flip.Method, Least: p.leastP(), Warnings: p.flip.Warnings}
}

// holmCell is the p-value adjusted in its family, marked where it reaches the
// family's level.
func (p *paired) holmCell() Cell {
	c := Cell{Value: p.holm}
	if p.familySize == 0 {
		return c
	}
	c.Method = "sign-flip test, Holm’s adjustment over " + countOf(p.familySize, "hypothesis", "hypotheses")
	if least := p.leastP(); least != nil {
		c.Least = new(min(1, *least*float64(p.familySize)))
		if *c.Least > p.alpha {
			c.Warnings = []stats.Warning{{Code: stats.CannotReach, Text: fmt.Sprintf("with %s and %s in the family, no adjusted p can be below %.3g: the level %g cannot be reached",
				countOf(len(p.differences), "seed"), countOf(p.familySize, "hypothesis", "hypotheses"), *c.Least, p.alpha)}}
		}
	}
	if c.Value != nil && *c.Value <= p.alpha {
		c.Mark = markFamily
	}
	if p.overturn {
		c.Warnings = append(c.Warnings, couldOverturn())
	}
	return c
}

// wilcoxonCell is the paper's test, marked where it reaches the paper's level.
func (p *paired) wilcoxonCell() Cell {
	c := Cell{Value: p.wilcoxon.P, Method: p.wilcoxon.Method, Least: p.leastP(), Warnings: slices.Clone(p.wilcoxon.Warnings)}
	if c.Least != nil && *c.Least > PaperAlpha {
		c.Warnings = append(c.Warnings, stats.Warning{Code: stats.CannotReach, Text: fmt.Sprintf("with %s, no p can be below %.3g: the paper’s level %g cannot be reached",
			countOf(len(p.differences), "seed"), *c.Least, PaperAlpha)})
	}
	if c.Value != nil && *c.Value <= PaperAlpha {
		c.Mark = markPaper
	}
	if p.overturnPaper {
		c.Warnings = append(c.Warnings, couldOverturn())
	}
	return c
}

// A versus is a row of a table of paired comparisons: two conditions on one
// measure.
type versus struct {
	Group    // what the row is about; its seeds are those of neither side
	contrast record.Contrast
	a, b     *Group // nil when the run lacks one
	other    string // in a comparison of two runs, the model of B
	*paired
	equal    stats.EquivalenceResult
	doubtful bool // lost trials could overturn that the two are equivalent
}

// A versusColumn is a column of a table of paired comparisons.
type versusColumn = colOf[*versus]

// pairsOf are the pairs of rows.
func pairsOf(rows []*versus) []*paired {
	out := make([]*paired, len(rows))
	for i, v := range rows {
		out[i] = v.paired
	}
	return out
}

// testColumns are what every table of paired tests has behind its labels. What
// the difference is goes into heading.
func testColumns(heading, unit string, holm bool) []versusColumn {
	number := func(key, heading, unit string, priority int, of func(*paired) *float64) versusColumn {
		return versusColumn{Column{Key: key, Heading: heading, Unit: unit, Kind: Number, Decimals: 2, Priority: priority}, func(v *versus) Cell { return Cell{Value: of(v.paired)} }}
	}
	count := func(key, heading, unit string, of func(*paired) int) versusColumn {
		return versusColumn{Column{Key: key, Heading: heading, Unit: unit, Kind: Count, DataOnly: true}, func(v *versus) Cell { return Cell{Count: of(v.paired)} }}
	}
	cols := []versusColumn{
		{Column{Key: "difference", Heading: heading, Unit: unit, Kind: Paired, Decimals: 3, Brief: true}, func(v *versus) Cell { return v.differenceCell() }},
		{Column{Key: "interval", Heading: "interval", Unit: unit, Kind: Interval, Decimals: 3}, func(v *versus) Cell { return v.intervalCell() }},
		{Column{Key: "p", Heading: "p", Unit: "probability", Kind: PValue, Decimals: 3}, func(v *versus) Cell { return v.flipCell() }},
	}
	if holm {
		cols = append(cols, versusColumn{Column{Key: "p_holm", Heading: "Holm\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3}, func(v *versus) Cell { return v.holmCell() }})
	}
	hedges := number("hedges_g", "Hedges’ g", "standard deviations of the difference", 0, func(p *paired) *float64 { return p.effects.HedgesG })
	hedges.DataOnly = true
	return append(cols,
		versusColumn{Column{Key: "p_wilcoxon", Heading: "Wilcoxon\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3, Priority: 1}, func(v *versus) Cell { return v.wilcoxonCell() }},
		number("dz", "dz", "standard deviations of the difference", 2, func(p *paired) *float64 { return p.effects.Dz }),
		number("rank_biserial", "rank-biserial", "correlation", 3, func(p *paired) *float64 { return p.effects.RankBiserial }),
		hedges,
		count("seeds_up", "seeds above 0", "seeds", func(p *paired) int { return p.effects.Positive }),
		count("seeds_down", "seeds below 0", "seeds", func(p *paired) int { return p.effects.Negative }),
		count("seeds_equal", "seeds at 0", "seeds", func(p *paired) int { return p.effects.Zero }),
		count("family", "family", "hypotheses", func(p *paired) int { return p.familySize }))
}

// lossColumns say between what bounds the difference lies if lost trials are
// counted one way or the other. People are shown them where trials are lost:
// against the first condition is what is worse for it, more deaths as well as
// fewer successes.
func lossColumns(rows []*versus) []versusColumn {
	none := !slices.ContainsFunc(rows, func(v *versus) bool { return v.lossy })
	bound := func(key, heading, group string, of func(*versus, *Span) float64) versusColumn {
		return versusColumn{Column{Key: key, Heading: heading, Group: group, Unit: "difference of shares", Kind: Number, Decimals: 3, DataOnly: none}, func(v *versus) Cell {
			if b := v.bounds(); b != nil {
				return Cell{Value: new(of(v, b))}
			}
			return Cell{}
		}}
	}
	worse := func(v *versus, b *Span) float64 {
		if v.measure.lower {
			return b.High
		}
		return b.Low
	}
	better := func(v *versus, b *Span) float64 { return b.Low + b.High - worse(v, b) }
	const group = "if lost trials had gone"
	return []versusColumn{
		bound("difference_least", "least", "", func(_ *versus, s *Span) float64 { return s.Low }).hidden(),
		bound("difference_most", "most", "", func(_ *versus, s *Span) float64 { return s.High }).hidden(),
		bound("difference_against", "against it", group, worse),
		bound("difference_for", "for it", group, better),
	}
}

// checkTests returns an error for numbers that no test can be made with.
func checkTests(all record.Tests) error {
	switch f, e, b := all.Family, all.Equivalence, all.Bootstrap; {
	case !(f.Alpha > 0 && f.Alpha < 1):
		return fmt.Errorf("the declared family has alpha %v; it must lie between 0 and 1", f.Alpha)
	case !(e.Margin > 0 && e.Margin < 1 && e.Alpha > 0 && e.Alpha < 0.5):
		return fmt.Errorf("equivalence is declared with margin %v and alpha %v; the margin must lie between 0 and 1, alpha between 0 and 0.5", e.Margin, e.Alpha)
	case !(b.Level > 0 && b.Level < 1 && b.Resamples > 0):
		return fmt.Errorf("the bootstrap is declared with level %v and %d resamples; the level must lie between 0 and 1, and there must be resamples", b.Level, b.Resamples)
	}
	for _, m := range all.Family.Measures {
		if rateNamed(m) == nil {
			return fmt.Errorf("the declared family has the measure %q; there are %s", m, strings.Join(record.Outcomes.Names(), ", "))
		}
	}
	return nil
}

// tests returns what is to be tested: what the first run that declares anything
// does.
func (f *Frame) tests() record.Tests {
	for i := range f.runs {
		if f.runs[i].declared.Declared() {
			return f.runs[i].declared.OrPlanned()
		}
	}
	return record.PlannedTests()
}

// declarationNotes say where the tests come from, when it is not from the one
// study.
func (f *Frame) declarationNotes() (warnings, notes []string) {
	var first *record.Tests
	silent := len(f.runs) == 0
	for i := range f.runs {
		t := &f.runs[i].declared
		switch {
		case !t.Declared():
			silent = true
		case first == nil:
			first = t
		case fmt.Sprint(testsText(first)) != fmt.Sprint(testsText(t)):
			warnings = []string{"The studies of these runs declare different tests. Those of the first run that declares any are made."}
		}
	}
	switch {
	case silent && first == nil:
		notes = []string{"The contrasts are the default ones; the run’s study does not declare any."}
	case silent:
		notes = []string{"One of the runs declares no tests; those that another declares are made."}
	}
	return warnings, notes
}

func testsText(t *record.Tests) string {
	all := t.OrPlanned()
	return fmt.Sprint(all.Contrasts, *all.Family, *all.Equivalence, *all.Bootstrap)
}

// testNotes explain the columns of a table of paired tests.
func testNotes(boot *record.Bootstrap, family string, alpha float64) []string {
	notes := []string{fmt.Sprintf("The unit is the seed. interval: %g%% cluster bootstrap by seed, BCa, %s resamples, seed %d. p: sign-flip test on the seeds’ differences, two-sided, exact.",
		100*boot.Level, thousands(boot.Resamples), boot.Seed)}
	if family != "" {
		notes = append(notes, fmt.Sprintf("Holm p: p adjusted in its family, which is %s; %s: at most %g.", family, markFamily, alpha))
	}
	return append(notes, fmt.Sprintf("Wilcoxon p: the paper’s test, the signed-rank test, zeros left out (wilcox), exact up to 50 seeds that differ; %s: at most %g, the paper’s level. dz: mean over standard deviation of the differences; rank-biserial: from −1 to 1, the share of rank sum on the side of a gain minus that on the other.",
		markPaper, PaperAlpha))
}

// lostSeeds says how many seeds the loss of trials touches, and what it means.
func lostSeeds(rows []*paired, elsewhere string) []string {
	shared, used, partial := 0, 0, 0
	for _, p := range rows {
		shared, used, partial = shared+p.shared, used+len(p.pairs), partial+p.partial
	}
	if used == shared && partial == 0 {
		return nil
	}
	if elsewhere == "" {
		elsewhere = "next to it"
	}
	return []string{fmt.Sprintf("Incomplete: of %s, a row and a seed each, %s have lost trials and count by what is left of them, and %s have nothing left on one side and are in no test; where some lack, used/planned is shown. What the lost trials could change is %s: the mean difference over all planned seeds if they had all gone against the first condition, or for it.",
		countOf(shared, "pair"), thousands(partial), thousands(shared-used), elsewhere)}
}

// reachNotes say which levels designs of these sizes cannot reach.
func reachNotes(rows []*paired, alpha float64) []string {
	sizes := map[int]bool{}
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

// signed writes a number with a minus sign that is as wide as a plus; what
// rounds to 0 has none.
func signed(x float64, decimals int) string {
	text := fmt.Sprintf("%.*f", decimals, math.Abs(x))
	if x < 0 && strings.Trim(text, "0.") != "" {
		return "−" + text
	}
	return text
}
