package analysis

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// PaperAlpha is the level of the paper's tests (section 4).
const PaperAlpha = 0.001

// Marks behind p-values that reach a level.
const (
	markFamily = "*" // the family's, after Holm's adjustment
	markPaper  = "†" // PaperAlpha, by the paper's test
)

// Declare says what a run's study declared that it would test; of several runs
// that are taken together, the first declaration counts, and the tables say when
// another differs. Without one, or for what one leaves open, the planned tests
// are made. Errors: numbers that no test can be made with.
func (c *Collector) Declare(t record.Tests) error {
	all := t.OrPlanned()
	if f := all.Family; !(f.Alpha > 0 && f.Alpha < 1) {
		return fmt.Errorf("the declared family has alpha %v; it must lie between 0 and 1", f.Alpha)
	}
	for _, m := range all.Family.Measures {
		if !slices.Contains(ends[:], m) {
			return fmt.Errorf("the declared family has the measure %q; there are %s", m, strings.Join(ends[:], ", "))
		}
	}
	if e := all.Equivalence; !(e.Margin > 0 && e.Margin < 1 && e.Alpha > 0 && e.Alpha < 0.5) {
		return fmt.Errorf("equivalence is declared with margin %v and alpha %v; the margin must lie between 0 and 1, alpha between 0 and 0.5", e.Margin, e.Alpha)
	}
	if b := all.Bootstrap; !(b.Level > 0 && b.Level < 1 && b.Resamples > 0) {
		return fmt.Errorf("the bootstrap is declared with level %v and %d resamples; the level must lie between 0 and 1, and there must be resamples", b.Level, b.Resamples)
	}
	c.declared = append(c.declared, t)
	return nil
}

// tests returns what is to be tested.
func (c *Collector) tests() record.Tests {
	for i := range c.declared {
		if c.declared[i].Declared() {
			return c.declared[i].OrPlanned()
		}
	}
	return record.PlannedTests()
}

// declarationNotes say where the tests come from, when it is not from the one
// study.
func (c *Collector) declarationNotes() (warnings, notes []string) {
	var first *record.Tests
	silent := len(c.declared) == 0
	for i := range c.declared {
		t := &c.declared[i]
		switch {
		case !t.Declared():
			silent = true
		case first == nil:
			first = t
		case !reflect.DeepEqual(first.OrPlanned(), t.OrPlanned()):
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

// A paired holds the per-seed values of two conditions and what the tests say
// of their difference, B less A.
type paired struct {
	pairs   []SeedPair // of the whole seeds, in ascending order
	shared  int        // seeds that both conditions plan
	missing bool       // the run does not plan both conditions

	lossy         bool      // some seed has lost a trial
	leasts, mosts []float64 // the least and the most that a shared seed's difference can be

	differences []float64 // of the pairs that are defined on both sides
	flip        stats.SignFlipResult
	wilcoxon    stats.WilcoxonResult
	effects     stats.EffectResult
	boot        stats.BootstrapResult

	holm       *float64 // the p-value adjusted in its family
	familySize int      // 0 when it is in none
	alpha      float64  // of the family
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
	p.differ()
	p.flip = sure(stats.SignFlip(p.differences, stats.SignFlipOptions{Seed: boot.Seed}))
	if !interval {
		return
	}
	p.wilcoxon = sure(stats.Wilcoxon(p.differences, stats.WilcoxonOptions{}))
	p.effects = sure(stats.Effects(p.differences))
	p.boot = sure(stats.BootstrapMean(p.differences, bootstrapOptions(boot, stats.Range{Low: -1, High: 1})))
}

func bootstrapOptions(b *record.Bootstrap, r stats.Range) stats.BootstrapOptions {
	return stats.BootstrapOptions{Level: b.Level, Draws: b.Resamples, Seed: b.Seed, Range: &r}
}

// sure returns a statistic of values that analysis has made itself: finite ones,
// with options that Declare has checked.
func sure[T any](v T, err error) T {
	if err != nil {
		panic("analysis: a statistic of finite values: " + err.Error())
	}
	return v
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

// inParallel calls do with every index below n, on all processors. What do writes must
// be of its own index, so that the order is of no consequence.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// meanOf is the mean of one side, or of the differences, over the pairs that are
// defined on both.
func (p *paired) meanOf(of func(*SeedPair) *float64) Cell {
	values := make([]*float64, len(p.pairs))
	for i := range p.pairs {
		if p.pairs[i].Difference() != nil {
			values[i] = of(&p.pairs[i])
		}
	}
	return overSeeds(values)
}

func (p *paired) seedsCell() Cell { return Cell{Count: len(p.pairs), Of: p.shared} }

func (p *paired) differenceCell() Cell {
	c := p.meanOf((*SeedPair).Difference)
	if c.Value != nil {
		c.Value = new(stats.Mean(p.differences)) // without what is only rounding
	}
	c.Pairs = p.pairs
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

func (p *paired) flipCell() Cell {
	return Cell{Value: p.flip.P, Method: p.flip.Method, Least: p.leastP(), Warnings: p.flip.Warnings}
}

// leastP is the smallest p-value that any signs of this many seeds can give; nil
// without seeds.
func (p *paired) leastP() *float64 {
	if len(p.differences) == 0 {
		return nil
	}
	return new(sure(stats.SmallestP(len(p.differences), stats.TwoSided)))
}

// holmCell is the p-value adjusted in its family, marked where it reaches the
// family's level.
func (p *paired) holmCell() Cell {
	c := Cell{Value: p.holm}
	if p.familySize == 0 {
		return c
	}
	c.Method = fmt.Sprintf("sign-flip test, Holm’s adjustment over %s", countOf2(p.familySize, "hypothesis", "hypotheses"))
	if least := p.leastP(); least != nil {
		c.Least = new(min(1, *least*float64(p.familySize)))
		if *c.Least > p.alpha {
			c.Warnings = []stats.Warning{{Code: stats.CannotReach, Text: fmt.Sprintf("with %s and %s in the family, no adjusted p can be below %.3g: the level %g cannot be reached",
				countOf(len(p.differences), "seed"), countOf2(p.familySize, "hypothesis", "hypotheses"), *c.Least, p.alpha)}}
		}
	}
	if c.Value != nil && *c.Value <= p.alpha {
		c.Mark = markFamily
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
	return c
}

// countOf2 is countOf for words whose plural is their own.
func countOf2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// testColumns are what every table of paired tests has behind its labels; R is a
// row, and of gives its test. What the difference is goes into heading.
func testColumns[R any](heading, unit string, holm bool, of func(*R) *paired) []definition[R] {
	number := func(v func(*paired) *float64) func(*R) Cell {
		return func(r *R) Cell { return Cell{Value: v(of(r))} }
	}
	defs := []definition[R]{
		{Column{Key: "difference", Heading: heading, Unit: unit, Kind: Paired, Decimals: 3, Brief: true}, func(r *R) Cell { return of(r).differenceCell() }},
		{Column{Key: "interval", Heading: "interval", Unit: unit, Kind: Interval, Decimals: 3}, func(r *R) Cell { return of(r).intervalCell() }},
		{Column{Key: "p", Heading: "p", Unit: "probability", Kind: PValue, Decimals: 3}, func(r *R) Cell { return of(r).flipCell() }},
	}
	if holm {
		defs = append(defs, definition[R]{Column{Key: "p_holm", Heading: "Holm\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3}, func(r *R) Cell { return of(r).holmCell() }})
	}
	return append(defs, []definition[R]{
		{Column{Key: "p_wilcoxon", Heading: "Wilcoxon\u00a0p", Unit: "probability", Kind: PValue, Decimals: 3, Priority: 1}, func(r *R) Cell { return of(r).wilcoxonCell() }},
		{Column{Key: "dz", Heading: "dz", Unit: "standard deviations of the difference", Kind: Number, Decimals: 2, Priority: 2}, number(func(p *paired) *float64 { return p.effects.Dz })},
		{Column{Key: "rank_biserial", Heading: "rank-biserial", Unit: "correlation", Kind: Number, Decimals: 2, Priority: 3}, number(func(p *paired) *float64 { return p.effects.RankBiserial })},
		{Column{Key: "hedges_g", Heading: "Hedges’ g", Unit: "standard deviations of the difference", Kind: Number, Decimals: 2, DataOnly: true}, number(func(p *paired) *float64 { return p.effects.HedgesG })},
		{Column{Key: "seeds_up", Heading: "seeds above 0", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *R) Cell { return Cell{Count: of(r).effects.Positive} }},
		{Column{Key: "seeds_down", Heading: "seeds below 0", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *R) Cell { return Cell{Count: of(r).effects.Negative} }},
		{Column{Key: "seeds_equal", Heading: "seeds at 0", Unit: "seeds", Kind: Count, DataOnly: true}, func(r *R) Cell { return Cell{Count: of(r).effects.Zero} }},
		{Column{Key: "family", Heading: "family", Unit: "hypotheses", Kind: Count, DataOnly: true}, func(r *R) Cell { return Cell{Count: of(r).familySize} }},
	}...)
}

// lossColumns say between what bounds the difference lies if lost trials are
// counted one way or the other. People are shown them where trials are lost.
func lossColumns[R any](rows []*R, of func(*R) *paired) []definition[R] {
	none := !slices.ContainsFunc(rows, func(r *R) bool { return of(r).lossy })
	group := "if lost trials had gone"
	return []definition[R]{
		{Column{Key: "difference_least", Heading: "against it", Group: group, Unit: "difference of shares", Kind: Number, Decimals: 3, DataOnly: none}, func(r *R) Cell { return Cell{Value: of(r).bounds().least} }},
		{Column{Key: "difference_most", Heading: "for it", Group: group, Unit: "difference of shares", Kind: Number, Decimals: 3, DataOnly: none}, func(r *R) Cell { return Cell{Value: of(r).bounds().most} }},
	}
}

// testNotes explain the columns of a table of paired tests.
func testNotes(boot *record.Bootstrap, family string, alpha float64) []string {
	notes := []string{fmt.Sprintf("The unit is the seed. interval: %g%% cluster bootstrap by seed, BCa, %s resamples, seed %d. p: sign-flip test on the seeds’ differences, two-sided, exact.",
		100*boot.Level, thousands(boot.Resamples), boot.Seed)}
	if family != "" {
		notes = append(notes, fmt.Sprintf("Holm p: p adjusted in its family, which is %s; %s: at most %g.", family, markFamily, alpha))
	}
	return append(notes, fmt.Sprintf("Wilcoxon p: the paper’s test, the signed-rank test, zeros left out (wilcox), exact up to 50 seeds that differ; %s: at most %g, the paper’s level. dz: mean over standard deviation of the differences; rank-biserial: from −1 to 1, the share of rank sum on the side of a gain less that on the other.",
		markPaper, PaperAlpha))
}
