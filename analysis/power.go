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

// wishedPower is the chance of finding a difference that designs are measured
// by.
const wishedPower = 0.8

// mostEpisodes is where the search for a number of episodes ends.
const mostEpisodes = 1_000

// A powerRow is one contrast, observed in a run or assumed.
type powerRow struct {
	*contrastRow              // nil when rates are assumed
	rateA, rateB *float64     // means
	one          bool         // the run has one episode a seed: nothing can be taken apart
	sd           sdByEpisodes // of a seed's difference, by episodes
}

// An sdByEpisodes is the standard deviation of a seed's difference at a number of
// episodes; 0 where nothing varies.
type sdByEpisodes func(episodes int) stats.DesignSD

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
	t := d.table([]*powerRow{row}, nil)
	t.Notes = append(t.Notes, fmt.Sprintf("Assumed: success, or death, in %g and %g of episodes; ICC %g, the share of an episode’s variance that lies between seeds; correlation %g of a seed’s chances under the two strategies. A run gives better ones: --from RUN.",
		rates.RateA, rates.RateB, rates.ICC, rates.Correlation))
	t.Notes = append(t.Notes, d.simulated(row, rates)...)
	return t, nil
}

// studies is how many are drawn to check a power, with what seed.
const (
	studies     = 1_000
	studiesSeed = 2024
)

// simulated checks the smallest difference, alone, by drawing studies with it.
func (d *Design) simulated(row *powerRow, rates stats.AssumedRates) []string {
	found := row.smallest(d, d.Tests.Family.Alpha)
	if found == nil {
		return nil
	}
	// The difference is laid around the mean of the two rates, inside 0 to 1.
	mean := (rates.RateA + rates.RateB) / 2
	low := min(max(mean-*found/2, 0), 1-*found)
	rates.RateA, rates.RateB = low+*found, low
	res := sure(rates.SimulatedPower(d.Seeds, d.Tests.Family.Alpha, studies, studiesSeed))
	return []string{fmt.Sprintf("Checked by simulation: of %s studies drawn with rates %.3f and %.3f, the exact sign-flip test finds the difference in %.1f%% (seed %d).",
		thousands(studies), rates.RateA, rates.RateB, 100*res.Power, studiesSeed)}
}

// Power says what a design can find if seeds and episodes vary as in this run,
// contrast by contrast.
func (c *Collector) Power(d Design) Table {
	var rows []*powerRow
	for _, r := range c.contrastRows(d.Tests.Contrasts, d.Tests.Family.Measures) {
		r.differ()
		if r.missing || len(r.differences) < 2 {
			continue
		}
		rows = append(rows, observed(r))
	}
	t := d.table(rows, c.modelNames())
	t.Need = "a run with episodes under two strategies on two seeds or more"
	if len(rows) > 0 {
		t.Notes = append(t.Notes, "How seeds and episodes vary is taken from the run: from the seeds that lost no trial, with the variance within seeds apart, so that another number of episodes can be asked about.")
	}
	if slices.ContainsFunc(rows, func(r *powerRow) bool { return r.one }) {
		t.Notes = append(t.Notes, "The run has one episode a seed, which does not tell seeds from episodes: all variance is taken to lie between seeds, so that more episodes do not help.")
	}
	return t
}

// observed takes a contrast's variance apart.
func observed(r *contrastRow) *powerRow {
	clusters := func(of map[int]*episodeTally) (out [][]float64, most int) {
		for _, p := range r.pairs {
			e := of[p.Seed]
			out = append(out, onesAndZeros(e.ends[r.end], e.finished))
			most = max(most, e.finished)
		}
		return out, most
	}
	a, episodes := clusters(r.a)
	b, _ := clusters(r.b)
	within := func(c [][]float64) float64 {
		if w := sure(stats.Clusters(c)).Within; w != nil {
			return *w
		}
		return 0
	}
	withinA, withinB := within(a), within(b)
	return &powerRow{
		contrastRow: r,
		rateA:       r.meanOf(func(p *SeedPair) *float64 { return p.B }).Value,
		rateB:       r.meanOf(func(p *SeedPair) *float64 { return p.A }).Value,
		one:         episodes == 1,
		sd: func(n int) stats.DesignSD {
			return sure(stats.ObservedSD(r.differences, episodes, withinA, withinB, n))
		},
	}
}

// paired is the comparison at a number of seeds and episodes; false where
// nothing varies.
func (r *powerRow) paired(seeds, episodes int, alpha float64) (stats.PairedDesign, bool) {
	sd := r.sd(episodes).SD
	return stats.PairedDesign{Units: seeds, SD: sd, Alpha: alpha}, sd > 0 && seeds >= 2
}

// smallest is the least difference that is found with the wished power; nil
// where the exact test cannot reach the level, or nothing varies.
func (r *powerRow) smallest(d *Design, alpha float64) *float64 {
	p, ok := r.paired(d.Seeds, d.Episodes, alpha)
	if !ok || sure(stats.SmallestP(d.Seeds, stats.TwoSided)) > alpha {
		return nil
	}
	found := sure(p.SmallestDifference(wishedPower)).Difference
	if found > 1 {
		return nil // rates differ by no more
	}
	return &found
}

func (r *powerRow) power(d *Design, alpha float64) *float64 {
	if sure(stats.SmallestP(d.Seeds, stats.TwoSided)) > alpha {
		return new(0.0)
	}
	p, ok := r.paired(d.Seeds, d.Episodes, alpha)
	if !ok {
		return nil
	}
	return new(sure(p.Power(d.Difference)).Power)
}

// seedsFor is how many seeds the wished difference needs.
func (r *powerRow) seedsFor(d *Design, alpha float64) *float64 {
	p, ok := r.paired(2, d.Episodes, alpha)
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
	if sure(stats.SmallestP(d.Seeds, stats.TwoSided)) > alpha {
		return nil
	}
	enough := func(n int) bool {
		p, ok := r.paired(d.Seeds, n, alpha)
		return ok && sure(p.Power(d.Difference)).Power >= wishedPower
	}
	if !enough(mostEpisodes) {
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
	p, ok := r.paired(d.Seeds, d.Episodes, eq.Alpha)
	if !ok {
		return nil, nil
	}
	power = new(sure(p.EquivalencePower(eq.Margin, 0)).Power)
	if needed, err := p.EquivalenceUnitsNeeded(eq.Margin, 0, wishedPower); err == nil {
		seeds = new(float64(needed.Units))
	}
	return power, seeds
}

// table lays out the answers; short names models, and is nil when rates are
// assumed.
func (d *Design) table(rows []*powerRow, short map[string]string) Table {
	alpha := d.Tests.Family.Alpha
	hypotheses := max(1, d.Hypotheses)
	first := alpha / float64(hypotheses)
	t := Table{
		ID:    "power",
		Title: "Power: what this design can find",
		About: fmt.Sprintf("%s with %s each. smallest Δ: the least difference of rates that is found with a chance of %g%%, at %g for one contrast alone, and where it must hold in a family of %s, at %.2g.",
			countOf(d.Seeds, "seed"), countOf(d.Episodes, "episode"), 100*wishedPower, alpha, countOf2(hypotheses, "hypothesis", "hypotheses"), first),
	}
	var defs []definition[powerRow]
	if short != nil {
		plain := make([]*contrastRow, len(rows))
		for i, r := range rows {
			plain[i] = r.contrastRow
		}
		for _, def := range contrastLabels(plain, short) {
			defs = append(defs, definition[powerRow]{def.Column, func(r *powerRow) Cell { return def.cell(r.contrastRow) }})
		}
	}
	number := func(key, heading, group, unit string, decimals, priority int, hidden bool, of func(*powerRow) *float64) definition[powerRow] {
		return definition[powerRow]{Column{Key: key, Heading: heading, Group: group, Unit: unit, Kind: Number, Decimals: decimals, Priority: priority, DataOnly: hidden},
			func(r *powerRow) Cell { return Cell{Value: of(r)} }}
	}
	wished := d.Difference != 0
	const smallest, equivalent = "smallest Δ", "equivalence"
	aim := fmt.Sprintf("to find %g", d.Difference)
	defs = append(defs,
		number("rate_first", "first", "rate", "share", 2, 3, false, func(r *powerRow) *float64 { return r.rateA }),
		number("rate_second", "second", "rate", "share", 2, 3, false, func(r *powerRow) *float64 { return r.rateB }),
		number("between", "between seeds", "", "variance", 4, 0, true, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).Between) }),
		number("within", "within seeds", "", "variance of one episode", 4, 0, true, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).Within) }),
		number("sd", "sd of\u00a0Δ", "", "difference of shares", 3, 2, false, func(r *powerRow) *float64 { return new(r.sd(d.Episodes).SD) }),
		number("smallest", "alone", smallest, "difference of shares", 3, 0, false, func(r *powerRow) *float64 { return r.smallest(d, alpha) }),
		number("smallest_family", "in family", smallest, "difference of shares", 3, 0, false, func(r *powerRow) *float64 { return r.smallest(d, first) }),
	)
	if wished {
		defs = append(defs,
			number("power", "power", aim, "probability", 2, 0, false, func(r *powerRow) *float64 { return r.power(d, alpha) }),
			number("power_family", "power, family", aim, "probability", 2, 1, false, func(r *powerRow) *float64 { return r.power(d, first) }),
			number("seeds", "seeds", aim, "seeds", 0, 0, false, func(r *powerRow) *float64 { return r.seedsFor(d, alpha) }),
			number("seeds_family", "seeds, family", aim, "seeds", 0, 1, false, func(r *powerRow) *float64 { return r.seedsFor(d, first) }),
			number("episodes", "episodes", aim, "episodes a seed", 0, 0, false, func(r *powerRow) *float64 { return r.episodesFor(d, alpha) }),
		)
	}
	defs = append(defs,
		number("equivalence_power", "power", equivalent, "probability", 2, 2, false, func(r *powerRow) *float64 { p, _ := r.equivalence(d); return p }),
		number("equivalence_seeds", "seeds", equivalent, "seeds", 0, 2, false, func(r *powerRow) *float64 { _, n := r.equivalence(d); return n }),
	)
	fill(&t, defs, rows)
	if len(rows) == 0 {
		return t
	}
	t.Notes = []string{
		"Power is that of the paired t test by seed, from the noncentral t distribution: an approximation to the exact sign-flip test, which comes close to it from about 10 seeds on.",
		fmt.Sprintf("equivalence: the chance of showing that the rates differ by less than ±%g when they do not differ at all, and the seeds that it takes for %g%%.", d.Tests.Equivalence.Margin, 100*wishedPower),
	}
	if wished {
		t.Notes = append(t.Notes, fmt.Sprintf("seeds: at %s each; episodes: at %s, – where no number up to %s is enough, because seeds differ among themselves.", countOf(d.Episodes, "episode"), countOf(d.Seeds, "seed"), thousands(mostEpisodes)))
	}
	if least := sure(stats.SmallestP(d.Seeds, stats.TwoSided)); least > min(first, PaperAlpha) {
		var levels []string
		for _, level := range []struct {
			what  string
			alpha float64
		}{{fmt.Sprintf("%g", alpha), alpha}, {fmt.Sprintf("the family’s %.2g", first), first}, {fmt.Sprintf("the paper’s %g", PaperAlpha), PaperAlpha}} {
			if least > level.alpha {
				levels = append(levels, fmt.Sprintf("%s (%d seeds)", level.what, sure(stats.UnitsToReach(level.alpha, stats.TwoSided))))
			}
		}
		t.Warnings = append(t.Warnings, fmt.Sprintf("With %s no p can be below %.3g, whatever happens. Out of reach, and what it would take: %s.", countOf(d.Seeds, "seed"), least, strings.Join(levels, ", ")))
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: no difference of rates is large enough, or nothing varies.")...)
	if short != nil {
		groups := make([]*group[struct{}], len(rows))
		for i, r := range rows {
			groups[i] = &group[struct{}]{setting: r.setting}
		}
		t.Notes = append(t.Notes, modelNotes(groups, short)...)
	}
	return t
}
