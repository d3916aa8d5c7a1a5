package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A Design is a study before it is run, as far as its contrasts go.
type Design struct {
	Seeds, Episodes int // episodes a seed and strategy
	Hypotheses      int // in a family: contrasts of one model on one measure
	Tests           record.Tests
	// Difference is the one that one wishes to find, of rates; 0 for none.
	Difference float64
}

const (
	wishedPower  = 0.8   // the chance of finding a difference that designs are measured by
	mostEpisodes = 1_000 // where the search for a number of episodes ends
)

// A powerRow is one contrast, observed in a run or assumed.
type powerRow struct {
	*versus                                        // nil when rates are assumed
	rateA, rateB *float64                          // means
	one          bool                              // the run has one episode a seed: nothing can be taken apart
	sd           func(episodes int) stats.DesignSD // of a seed's difference; 0 where nothing varies
}

// AssumedPower says what a design can find if two strategies have the given
// rates. Errors: *stats.InputError for rates that are none.
func AssumedPower(d Design, rates stats.AssumedRates) (Table, error) {
	rates.Episodes = max(1, d.Episodes)
	if _, err := rates.DesignSD(); err != nil {
		return Table{}, err
	}
	row := &powerRow{rateA: &rates.RateA, rateB: &rates.RateB, sd: func(episodes int) stats.DesignSD {
		r := rates
		r.Episodes = episodes
		return sure(r.DesignSD())
	}}
	t := d.table(&Frame{}, []*powerRow{row})
	t.Notes = append(t.Notes, fmt.Sprintf("Assumed: success, or death, in %g and %g of episodes; ICC %g, the share of an episode’s variance that lies between seeds; correlation %g of a seed’s chances under the two strategies. A run gives better ones: --from RUN.",
		rates.RateA, rates.RateB, rates.ICC, rates.Correlation))
	if found := row.smallest(&d, d.Tests.Family.Alpha); found != nil {
		// The smallest difference, alone, is checked by drawing studies with it,
		// laid around the mean of the two rates, inside 0 to 1.
		const studies, seed = 1_000, 2024
		low := min(max((rates.RateA+rates.RateB)/2-*found/2, 0), 1-*found)
		rates.RateA, rates.RateB = low+*found, low
		res := sure(rates.SimulatedPower(d.Seeds, d.Tests.Family.Alpha, studies, seed))
		t.Notes = append(t.Notes, fmt.Sprintf("Checked by simulation: of %s studies drawn with rates %.3f and %.3f, the exact sign-flip test finds the difference in %.1f%% (seed %d).",
			thousands(studies), rates.RateA, rates.RateB, 100*res.Power, seed))
	}
	return t, nil
}

// Power says what a design can find if seeds and episodes vary as in this run,
// contrast by contrast.
func (f *Frame) Power(d Design) Table {
	f.finish()
	var rows []*powerRow
	for _, v := range f.contrastRows(d.Tests.Contrasts, d.Tests.Family.Measures) {
		if len(v.differences) < 2 {
			continue
		}
		within := func(g *Group) (variance float64, episodes int) {
			whole := &Group{Setting: g.Setting}
			for _, s := range g.Seeds {
				if slices.ContainsFunc(v.pairs, func(p SeedPair) bool { return p.Seed == s.Seed }) {
					whole.Seeds = append(whole.Seeds, s)
				}
			}
			ones := clusters(whole, v.measure)
			for _, c := range ones {
				episodes = max(episodes, len(c))
			}
			if w := sure(stats.Clusters(ones)).Within; w != nil {
				variance = *w
			}
			return variance, episodes
		}
		withinFirst, episodes := within(v.b)
		withinSecond, _ := within(v.a)
		rows = append(rows, &powerRow{versus: v, rateA: v.mean(sideB).Value, rateB: v.mean(sideA).Value, one: episodes == 1,
			sd: func(n int) stats.DesignSD {
				return sure(stats.ObservedSD(v.differences, episodes, withinFirst, withinSecond, n))
			}})
	}
	t := d.table(f, rows)
	t.Need = "a run with episodes under two strategies on two seeds or more"
	if len(rows) > 0 {
		t.Notes = append(t.Notes, "How seeds and episodes vary is taken from the run, with the variance within seeds apart, so that another number of episodes can be asked about.")
	}
	if slices.ContainsFunc(rows, func(r *powerRow) bool { return r.one }) {
		t.Notes = append(t.Notes, "The run has one episode a seed, which does not tell seeds from episodes: all variance is taken to lie between seeds, so that more episodes do not help.")
	}
	return t
}

// reaches reports whether the exact test can reach a level at all.
func (d *Design) reaches(alpha float64) bool {
	return sure(stats.SmallestP(d.Seeds, stats.TwoSided)) <= alpha
}

// design is the comparison at a number of seeds and episodes; false where
// nothing varies.
func (r *powerRow) design(seeds, episodes int, alpha float64) (stats.PairedDesign, bool) {
	sd := r.sd(episodes).SD
	return stats.PairedDesign{Units: seeds, SD: sd, Alpha: alpha, Range: 1}, sd > 0 && seeds >= 2
}

// smallest is the least difference that is found with the wished power; nil
// where the exact test cannot reach the level, or nothing varies.
func (r *powerRow) smallest(d *Design, alpha float64) *float64 {
	p, ok := r.design(d.Seeds, d.Episodes, alpha)
	if !ok || !d.reaches(alpha) {
		return nil
	}
	if found := sure(p.SmallestDifference(wishedPower)).Difference; found <= 1 { // rates differ by no more
		return &found
	}
	return nil
}

func (r *powerRow) power(d *Design, alpha float64) *float64 {
	if !d.reaches(alpha) {
		return new(0.0)
	}
	p, ok := r.design(d.Seeds, d.Episodes, alpha)
	if !ok {
		return nil
	}
	return new(sure(p.Power(d.Difference)).Power)
}

// seedsFor is how many seeds the wished difference needs.
func (r *powerRow) seedsFor(d *Design, alpha float64) *float64 {
	p, ok := r.design(2, d.Episodes, alpha)
	if !ok {
		return nil
	}
	found, err := p.UnitsNeeded(d.Difference, wishedPower)
	if err != nil {
		return nil // more than any design has
	}
	return new(float64(found.Units))
}

// episodesFor is how many episodes a seed the wished difference needs; nil when
// no number is enough, because seeds differ too much.
func (r *powerRow) episodesFor(d *Design, alpha float64) *float64 {
	enough := func(n int) bool {
		p, ok := r.design(d.Seeds, n, alpha)
		return ok && sure(p.Power(d.Difference)).Power >= wishedPower
	}
	if !d.reaches(alpha) || !enough(mostEpisodes) {
		return nil
	}
	low, high := 0, mostEpisodes // not enough, enough
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return new(float64(high))
}

// equivalence is the chance of showing that there is no difference that matters
// when there is none, and the seeds that the wished power needs.
func (r *powerRow) equivalence(d *Design) (power, seeds *float64) {
	eq := d.Tests.Equivalence
	p, ok := r.design(d.Seeds, d.Episodes, eq.Alpha)
	if !ok {
		return nil, nil
	}
	power = new(sure(p.EquivalencePower(eq.Margin, 0)).Power)
	if needed, err := p.EquivalenceUnitsNeeded(eq.Margin, 0, wishedPower); err == nil {
		seeds = new(float64(needed.Units))
	}
	return power, seeds
}

// table lays out the answers.
func (d *Design) table(f *Frame, rows []*powerRow) Table {
	alpha, hypotheses := d.Tests.Family.Alpha, max(1, d.Hypotheses)
	first := alpha / float64(hypotheses)
	t := Table{ID: "power", Title: "Power: what this design can find", Topic: TopicRun,
		About: fmt.Sprintf("%s with %s each. smallest Δ: the least difference of rates that is found with a chance of %g%%, at %g for one contrast alone, and where it must hold in a family of %s, at %.2g.",
			countOf(d.Seeds, "seed"), countOf(d.Episodes, "episode"), 100*wishedPower, alpha, countOf(hypotheses, "hypothesis", "hypotheses"), first)}
	var cols []colOf[*powerRow]
	var compared []*versus
	for _, r := range rows {
		if r.versus != nil {
			compared = append(compared, r.versus)
		}
	}
	if len(compared) > 0 {
		for _, c := range f.contrastLabels(compared) {
			cols = append(cols, colOf[*powerRow]{c.Column, func(r *powerRow) Cell { return c.cell(r.versus) }})
		}
	}
	number := func(key, heading, group, unit string, decimals, priority int, of func(*powerRow) *float64) colOf[*powerRow] {
		return colOf[*powerRow]{Column{Key: key, Heading: heading, Group: group, Unit: unit, Kind: Number, Decimals: decimals, Priority: priority}, func(r *powerRow) Cell { return Cell{Value: of(r)} }}
	}
	wished := d.Difference != 0
	const smallest, equivalent = "smallest Δ", "equivalence"
	aim := fmt.Sprintf("to find %g", d.Difference)
	cols = append(cols,
		number("rate_first", "first", "rate", "share", 2, 3, func(r *powerRow) *float64 { return r.rateA }),
		number("rate_second", "second", "rate", "share", 2, 3, func(r *powerRow) *float64 { return r.rateB }),
		number("between", "between seeds", "", "variance", 4, 0, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).Between) }).hidden(),
		number("within", "within seeds", "", "variance of one episode", 4, 0, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).Within) }).hidden(),
		number("sd", "sd of\u00a0Δ", "", "difference of shares", 3, 2, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).SD) }),
		number("smallest", "alone", smallest, "difference of shares", 3, 0, func(r *powerRow) *float64 { return r.smallest(d, alpha) }),
		number("smallest_family", "in family", smallest, "difference of shares", 3, 0, func(r *powerRow) *float64 { return r.smallest(d, first) }))
	if wished {
		cols = append(cols,
			number("power", "power", aim, "probability", 2, 0, func(r *powerRow) *float64 { return r.power(d, alpha) }),
			number("power_family", "power, family", aim, "probability", 2, 1, func(r *powerRow) *float64 { return r.power(d, first) }),
			number("seeds", "seeds", aim, "seeds", 0, 0, func(r *powerRow) *float64 { return r.seedsFor(d, alpha) }),
			number("seeds_family", "seeds, family", aim, "seeds", 0, 1, func(r *powerRow) *float64 { return r.seedsFor(d, first) }),
			number("episodes", "episodes", aim, "episodes a seed", 0, 0, func(r *powerRow) *float64 { return r.episodesFor(d, alpha) }))
	}
	cols = append(cols,
		number("equivalence_power", "power", equivalent, "probability", 2, 2, func(r *powerRow) *float64 { p, _ := r.equivalence(d); return p }),
		number("equivalence_seeds", "seeds", equivalent, "seeds", 0, 2, func(r *powerRow) *float64 { _, n := r.equivalence(d); return n }))
	fill(&t, cols, rows)
	if len(rows) == 0 {
		return t
	}
	t.Notes = []string{"Power is that of the paired t test by seed, from the noncentral t distribution: an approximation to the exact sign-flip test, which comes close to it from about 10 seeds on.",
		fmt.Sprintf("equivalence: the chance of showing that the rates differ by less than ±%g when they do not differ at all, and the seeds that it takes for %g%%.", d.Tests.Equivalence.Margin, 100*wishedPower)}
	if wished {
		t.Notes = append(t.Notes, fmt.Sprintf("seeds: at %s each; episodes: at %s, – where no number up to %s is enough, because seeds differ among themselves.", countOf(d.Episodes, "episode"), countOf(d.Seeds, "seed"), thousands(mostEpisodes)))
	}
	t.Warnings = outOfReach(d.Seeds, hypotheses, alpha)
	f.finishTable(&t, "no difference of rates is large enough, or nothing varies", modelsOf(groupsOf(compared)))
	return t
}

// outOfReach says which levels a number of seeds cannot reach, whatever happens:
// the declared one alone and in a family of hypotheses, and the paper's. It
// returns nothing where all can be reached.
func outOfReach(seeds, hypotheses int, alpha float64) []string {
	least := sure(stats.SmallestP(seeds, stats.TwoSided))
	first := alpha / float64(max(1, hypotheses))
	if least <= min(first, PaperAlpha) {
		return nil
	}
	var levels []string
	for _, level := range []struct {
		what  string
		alpha float64
	}{{fmt.Sprintf("%g", alpha), alpha}, {fmt.Sprintf("the family’s %.2g", first), first}, {fmt.Sprintf("the paper’s %g", PaperAlpha), PaperAlpha}} {
		if least > level.alpha {
			levels = append(levels, fmt.Sprintf("%s (%d seeds)", level.what, sure(stats.UnitsToReach(level.alpha, stats.TwoSided))))
		}
	}
	return []string{fmt.Sprintf("With %s no p can be below %.3g, whatever happens. Out of reach, and what it would take: %s.", countOf(seeds, "seed"), least, strings.Join(levels, ", "))}
}
