package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// A certaintyTally holds one seed's probabilities behind verdicts. Entries are
// kept by the logarithm of their odds on a grid of 1/oddsGrid, which is too fine
// to make ties of its own that would show in a table, and bounds what is kept.
type certaintyTally struct {
	verdicts, without int // verdicts, and those of them without probabilities
	oneSided          int // with one of the two only
	byOdds            map[int32]oddsTally
	sums              [2]int64 // of the probabilities of stale, in billionths, of valid and of stale entries
	bins              [10]binTally
}

// An oddsTally counts entries by their truth.
type oddsTally struct{ valid, stale int }

const (
	oddsGrid = 10_000
	maxOdds  = 30 * oddsGrid // probabilities of 1e-13 and less are not told apart
)

// add counts a window's verdicts.
func (c *certaintyTally) add(w *record.Window) {
	for i := range w.Judgments {
		j := &w.Judgments[i]
		if j.Verdict == record.Unanswered {
			continue
		}
		c.verdicts++
		odds, ok := logOdds(j.StaleLogprob, j.ValidLogprob)
		if !ok {
			c.without++
			continue
		}
		c.oneSided += index(j.StaleLogprob == nil || j.ValidLogprob == nil)
		key := int32(max(-maxOdds, min(maxOdds, math.Round(odds*oddsGrid))))
		if c.byOdds == nil {
			c.byOdds = map[int32]oddsTally{}
		}
		t := c.byOdds[key]
		t.valid += index(!j.Truth)
		t.stale += index(j.Truth)
		c.byOdds[key] = t
		p := 1 / (1 + math.Exp(-odds))
		billionths, _ := fraction(&p)
		c.sums[index(j.Truth)] += billionths
		b := &c.bins[min(binOf(p), 9)]
		b.entries++
		b.stale += index(j.Truth)
		b.sum += billionths
	}
}

// logOdds returns the logarithm of the odds of stale against valid. Where the
// server gave one of the two only, all the rest counts for the other, which is
// then the least that can be said.
func logOdds(stale, valid *float64) (odds float64, ok bool) {
	given := func(p *float64) bool { return p != nil && *p <= 0 }
	switch {
	case given(stale) && given(valid):
		odds = *stale - *valid
	case given(stale):
		odds = *stale - math.Log(-math.Expm1(*stale))
	case given(valid):
		odds = math.Log(-math.Expm1(*valid)) - *valid
	default:
		return 0, false
	}
	return odds, !math.IsNaN(odds)
}

// auroc returns the probability that a stale entry has higher odds than a valid
// one, ties counting half; nil without an entry of each kind.
func (c *certaintyTally) auroc() *float64 {
	var valid, stale, above int // above counts pairs twice, so that halves are whole
	for _, key := range slices.Sorted(maps.Keys(c.byOdds)) {
		t := c.byOdds[key]
		above += t.stale * (2*valid + t.valid)
		valid += t.valid
		stale += t.stale
	}
	if valid == 0 || stale == 0 {
		return nil
	}
	return new(float64(above) / float64(2*valid*stale))
}

// mean returns the mean probability of stale over entries of one kind.
func (c *certaintyTally) mean(stale bool) *float64 {
	n := 0
	for _, t := range c.byOdds {
		if stale {
			n += t.stale
		} else {
			n += t.valid
		}
	}
	return meanOf(c.sums[index(stale)], n).Value
}

func hasCertainty(g *detectionGroup) bool {
	return slices.ContainsFunc(g.seeds, func(d *detectionTally) bool { return d.certainty.verdicts > d.certainty.without })
}

// certain returns the groups with probabilities behind their verdicts.
func (c *Collector) certain() []*detectionGroup {
	return slices.DeleteFunc(c.detection.sorted(nil, c.byModelRegimeModality), func(g *detectionGroup) bool { return !hasCertainty(g) })
}

const needCertainty = "detection by a model whose server gives log-probabilities: spatialstale run --task detect --logprobs"

// Certainty tells how well the probability of "stale" at the token of a verdict
// separates stale from valid entries. The paper could not look at it.
func (c *Collector) Certainty() Table {
	t := Table{
		ID:    "certainty",
		Title: "Token-level uncertainty: how likely “stale” was where a verdict was written",
		About: "p is the probability of “stale” against “not stale” at the token that gave the verdict. AUROC: how often a stale entry has a higher p than a valid one, ties half; 0.5 is chance.",
		Need:  needCertainty,
	}
	groups := c.certain()
	short := c.modelNames()
	over := func(g *detectionGroup, of func(*certaintyTally) *float64) Cell {
		var values []*float64
		for _, d := range g.seeds {
			if d.certainty.verdicts > d.certainty.without {
				values = append(values, of(&d.certainty))
			}
		}
		return overSeeds(values)
	}
	fill(&t, []definition[detectionGroup]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(g *detectionGroup) Cell { return modelCell(g.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(g *detectionGroup) Cell { return regimeCell(g.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(g *detectionGroup) Cell { return Cell{Label: g.modality} }},
		{Column{Key: "detector", Heading: "detector", Kind: Label}, func(g *detectionGroup) Cell { return strategyCell(g.strategy) }},
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: sameEverywhere(groups, func(g *detectionGroup) any { return g.framing })},
			func(g *detectionGroup) Cell { return Cell{Label: g.framing} }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: sameEverywhere(groups, func(g *detectionGroup) any { return [2]int{g.rows, g.cols} })},
			func(g *detectionGroup) Cell { return gridCell(g.rows, g.cols) }},
		{Column{Key: "known", Heading: "with p", Unit: "share of verdicts", Kind: Share, Decimals: 3, Base: true}, func(g *detectionGroup) Cell {
			verdicts, without := 0, 0
			for _, d := range g.seeds {
				verdicts += d.certainty.verdicts
				without += d.certainty.without
			}
			return shareOf(verdicts-without, verdicts)
		}},
		{Column{Key: "p_stale", Heading: "mean p, stale", Unit: "probability", Kind: Mean, Decimals: 3}, func(g *detectionGroup) Cell {
			return over(g, func(c *certaintyTally) *float64 { return c.mean(true) })
		}},
		{Column{Key: "p_valid", Heading: "mean p, valid", Unit: "probability", Kind: Mean, Decimals: 3}, func(g *detectionGroup) Cell {
			return over(g, func(c *certaintyTally) *float64 { return c.mean(false) })
		}},
		{Column{Key: "auroc", Heading: "AUROC", Unit: "share of pairs", Kind: Mean, Decimals: 3}, func(g *detectionGroup) Cell { return over(g, (*certaintyTally).auroc) }},
	}, groups)
	t.Notes = append([]string{noteSD,
		"with p: of the verdicts, those whose server gave it; in brackets, where there is room, the number of verdicts. Entries without an answer are in no column.",
		"Means and AUROC are each seed’s, over its entries with p, and then averaged over seeds. Odds are compared to four decimals of their logarithm."},
		undefinedNotes(&t, "–: undefined, which is not zero: no seed has such an entry.")...)
	if n := oneSided(groups); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d of the verdicts had only one of the two among the tokens that the server lists; the rest of the probability counts for the other.", n))
	}
	t.Warnings = progressWarnings(groups, "detection runs", progressOfDetection)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func oneSided(groups []*detectionGroup) int {
	n := 0
	for _, g := range groups {
		for _, d := range g.seeds {
			n += d.certainty.oneSided
		}
	}
	return n
}

// CertaintyCalibration tells how many of the entries with that probability of
// "stale" are truly stale.
func (c *Collector) CertaintyCalibration() Table {
	t := Table{
		ID:    "certainty-calibration",
		Title: "Calibration of token-level uncertainty: how many entries with that p are stale",
		About: "A calibrated model’s entries with a p of 0.6 are stale in 60% of cases. Bins hold probabilities from their first number on and below their last; the last one holds 1 as well.",
		Need:  needCertainty,
	}
	groups := c.certain()
	var rows []*binRow
	for _, g := range groups {
		for k := range (certaintyTally{}).bins {
			r := &binRow{setting: g.setting, bin: k}
			for _, d := range g.seeds {
				b := &d.certainty.bins[k]
				r.entries, r.stale, r.sum = r.entries+b.entries, r.stale+b.stale, r.sum+b.sum
			}
			if r.entries > 0 {
				rows = append(rows, r)
			}
		}
	}
	short := c.modelNames()
	fill(&t, []definition[binRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *binRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *binRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *binRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "detector", Heading: "detector", Kind: Label}, func(r *binRow) Cell { return strategyCell(r.strategy) }},
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: sameEverywhere(rows, func(r *binRow) any { return r.framing })},
			func(r *binRow) Cell { return Cell{Label: r.framing} }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: sameEverywhere(rows, func(r *binRow) any { return [2]int{r.rows, r.cols} })},
			func(r *binRow) Cell { return gridCell(r.rows, r.cols) }},
		{Column{Key: "p", Heading: "p", Kind: Label}, func(r *binRow) Cell { return Cell{Label: r.binName()} }},
		{Column{Key: "mean_p", Heading: "mean p", Unit: "probability", Kind: Average, Decimals: 3, Brief: true}, func(r *binRow) Cell { return meanOf(r.sum, r.entries) }},
		{Column{Key: "stale", Heading: "truly stale", Unit: "share of entries with such a p", Kind: Share, Decimals: 3, Base: true}, func(r *binRow) Cell { return shareOf(r.stale, r.entries) }},
	}, rows)
	t.Notes = append(t.Notes, "In brackets, where there is room, the number of entries of all seeds. Bins without an entry are left out, and so are verdicts without p.")
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
