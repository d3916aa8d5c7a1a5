package analysis

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

type episodeGroup = group[episodeTally]

// Navigation tells how the episodes of one modality end (paper, section 5.3;
// Table 3 for text, Table 2 for vision). Rates are means over seeds of the
// seed's share of its finished episodes, so that a seed that lost an episode
// weighs as much as the others.
func (c *Collector) Navigation(modality string) Table {
	groups := c.episodes.sorted(func(s setting) bool { return s.modality == modality }, c.byModelRegimeModality)
	short := c.modelNames()
	t := Table{
		ID:    "navigation-" + modality,
		Title: "Navigation from " + modality + ": how episodes end",
		About: "The agent walks from S to G with raw, filtered or no memory, one model call a step. success: it reached G; death: it entered a hole; timeout: neither" + withinBudget(groups) + ".",
	}
	switch modality {
	case record.Text:
		t.Paper = "Table 3"
		t.Need = "episodes from text: spatialstale run --task navigate"
	case record.Vision:
		t.Paper = "Table 2"
		t.Title = "Navigation from images: how episodes end"
		t.Need = "episodes from images: spatialstale run vision"
	}
	fill(&t, c.navigationColumns(groups, short), groups)
	t.Notes = []string{strategyNote(groups), noteSD + " A seed’s episodes are averaged first."}
	if markBestEnds(&t, groups) {
		t.Notes = append(t.Notes, noteBest)
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero: no episode has finished.")...)
	if anyGroup(groups, func(g *episodeGroup) bool { return total(g.seeds, (*episodeTally).allFallbacks) > 0 }) {
		t.Notes = append(t.Notes, "fallback: the share of steps that were a blind greedy step because the reply held no action; in brackets, where there is room, their number.")
	}
	if anyGroup(groups, func(g *episodeGroup) bool { return total(g.seeds, (*episodeTally).allDropped) > 0 }) {
		t.Notes = append(t.Notes, "dropped flips: changes that were due and left out because they would have hit the agent’s cell or cut off the goal.")
	}
	t.Notes = append(t.Notes, c.nearL1(modality)...)
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func progressOfEpisodes(e *episodeTally) *progress { return &e.progress }

func (e *episodeTally) allFallbacks() int { return e.fallbacks }
func (e *episodeTally) allDropped() int   { return e.dropped }
func (e *episodeTally) allSteps() int {
	return e.steps[endSuccess] + e.steps[endDeath] + e.steps[endTimeout]
}

// withinBudget names the step budget when all episodes have the same.
func withinBudget(groups []*episodeGroup) string {
	budget := 0
	for _, g := range groups {
		grid, err := lake.New(g.rows, g.cols)
		if err != nil || budget != 0 && budget != grid.StepBudget() {
			return " within the step budget"
		}
		budget = grid.StepBudget()
	}
	return fmt.Sprintf(" within %d steps", budget)
}

// strategyWords say what each strategy does with the memory.
var strategyWords = map[string]string{
	"no-memory":   "no memory",
	"no-filter":   "every entry, stale ones too",
	"self-verify": "without what one audit at the start calls stale",
	"omcd":        "without what batched audits, renewed after every change, call stale",
	"oracle":      "without what is truly stale",
}

// strategyNote explains the strategies that occur.
func strategyNote(groups []*episodeGroup) string {
	var parts []string
	for _, name := range strategyOrder {
		if anyGroup(groups, func(g *episodeGroup) bool { return g.strategy == name }) {
			parts = append(parts, strategyNames[name]+": "+strategyWords[name])
		}
	}
	if len(parts) == 0 {
		return "The strategies are the study’s own."
	}
	return "The memory shown to the agent. " + strings.Join(parts, "; ") + "."
}

// episodeLabels are the label columns that tables of episodes share.
func episodeLabels(groups []*episodeGroup, short map[string]string) []definition[episodeGroup] {
	defs := []definition[episodeGroup]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true},
			func(g *episodeGroup) Cell { return modelCell(g.model, short) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label},
			func(g *episodeGroup) Cell { return Cell{Label: g.modality} }},
		{Column{Key: "regime", Heading: "regime", Kind: Label},
			func(g *episodeGroup) Cell { return regimeCell(g.regime) }},
		{Column{Key: "strategy", Heading: "strategy", Kind: Label},
			func(g *episodeGroup) Cell { return strategyCell(g.strategy) }},
	}
	return append(defs, settingColumns(groups)...)
}

// finishedEpisodes is the column that says what rates are a share of.
func finishedEpisodes() []definition[episodeGroup] {
	return progressColumns(
		Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count},
		func(e *episodeTally) Cell {
			return Cell{Count: e.finished, Of: e.finished + e.failed + e.missing()}
		},
		progressOfEpisodes,
	)
}

func (c *Collector) navigationColumns(groups []*episodeGroup, short map[string]string) []definition[episodeGroup] {
	noneDropped := !anyGroup(groups, func(g *episodeGroup) bool { return total(g.seeds, (*episodeTally).allDropped) > 0 })
	defs := episodeLabels(groups, short)
	for i := range defs {
		if defs[i].Key == "modality" {
			defs[i].DataOnly = true // the whole table has one
		}
	}
	defs = append(defs, finishedEpisodes()...)
	defs = append(defs, []definition[episodeGroup]{
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, DataOnly: true},
			func(g *episodeGroup) Cell {
				return Cell{Count: total(g.seeds, func(e *episodeTally) int { return min(e.finished, 1) })}
			}},
		{Column{Key: "success", Heading: "success", Unit: "share of finished episodes", Kind: Rate, Decimals: 3}, rateOf(endSuccess)},
		{Column{Key: "death", Heading: "death", Unit: "share of finished episodes", Kind: Rate, Decimals: 3}, rateOf(endDeath)},
		{Column{Key: "timeout", Heading: "timeout", Unit: "share of finished episodes", Kind: Rate, Decimals: 3, Priority: 1}, rateOf(endTimeout)},
		paperColumn(c, groups, "paper_success", "success", inPaper, "share of finished episodes", "success"),
		paperColumn(c, groups, "paper_death", "death", inPaper, "share of finished episodes", "death"),
		{Column{Key: "reward", Heading: "reward", Unit: "reward, -1 to 1", Kind: Mean, Decimals: 3, Brief: true, Priority: 2}, reward},
		{Column{Key: "fallback", Heading: "fallback", Unit: "share of steps", Kind: Share, Decimals: 3},
			func(g *episodeGroup) Cell {
				return shareOf(total(g.seeds, (*episodeTally).allFallbacks), total(g.seeds, (*episodeTally).allSteps))
			}},
		{Column{Key: "dropped_flips", Heading: "dropped flips", Unit: "flips", Kind: Count, DataOnly: noneDropped, Priority: 3},
			func(g *episodeGroup) Cell { return Cell{Count: total(g.seeds, (*episodeTally).allDropped)} }},
	}...)
	for end, name := range ends {
		col := lengthOf(end, name)
		col.DataOnly = true // people find it in the table of lengths
		defs = append(defs, col)
	}
	return defs
}

// rateOf is the share of one end: per seed, then over seeds.
func rateOf(end int) func(*episodeGroup) Cell {
	return func(g *episodeGroup) Cell {
		var values []*float64
		for _, e := range g.seeds {
			if e.finished > 0 {
				values = append(values, quotient(e.ends[end], e.finished))
			}
		}
		c := overSeeds(values)
		c.Count = total(g.seeds, func(e *episodeTally) int { return e.ends[end] })
		c.Of = total(g.seeds, func(e *episodeTally) int { return e.finished })
		return c
	}
}

// reward is the mean reward: per seed, then over seeds.
func reward(g *episodeGroup) Cell {
	var values []*float64
	for _, e := range g.seeds {
		if e.finished > 0 {
			values = append(values, quotient(e.ends[endSuccess]-e.ends[endDeath], e.finished))
		}
	}
	return overSeeds(values)
}

// lengthOf is the mean length of the episodes with one end. It is over
// episodes, not seeds: many seeds have no such episode, and one that has a
// single one would weigh as much as one that has five.
func lengthOf(end int, name string) definition[episodeGroup] {
	return definition[episodeGroup]{
		Column{Key: "steps_" + name, Heading: name, Group: "mean steps to", Unit: "steps", Kind: Average, Decimals: 1},
		func(g *episodeGroup) Cell {
			return averageOf(
				total(g.seeds, func(e *episodeTally) int { return e.steps[end] }),
				total(g.seeds, func(e *episodeTally) int { return e.ends[end] }))
		},
	}
}

// Lengths tells how long episodes last, by how they end (paper, section 5.4,
// appendix F, Table 6).
func (c *Collector) Lengths() Table {
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	short := c.modelNames()
	t := Table{
		ID:    "lengths",
		Title: "Length of episodes, by how they end",
		Paper: "Table 6",
		Need:  "episodes: spatialstale run --task navigate",
		About: "Mean number of steps, over all episodes with that end; in brackets how many there are. A death after few steps is a rush into a hole.",
	}
	defs := append(episodeLabels(groups, short), finishedEpisodes()...)
	for end, name := range ends {
		defs = append(defs, lengthOf(end, name))
	}
	defs = append(defs, definition[episodeGroup]{
		Column{Key: "steps", Heading: "any end", Group: "mean steps to", Unit: "steps", Kind: Average, Decimals: 1},
		func(g *episodeGroup) Cell {
			return averageOf(total(g.seeds, (*episodeTally).allSteps), total(g.seeds, func(e *episodeTally) int { return e.finished }))
		},
	})
	fill(&t, defs, groups)
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.Notes = append(undefinedNotes(&t, "–: no episode ended so."), modelNotes(groups, short)...)
	return t
}
