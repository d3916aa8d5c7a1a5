package analysis

// FallbackFree sets the episodes in which every step was the model's own beside
// all episodes. The first are a selected subset: a model may fail to answer
// where it is hard to answer.
func (c *Collector) FallbackFree() Table {
	t := Table{
		ID:    "fallback-free",
		Title: "Episodes without a fallback beside all episodes",
		About: "A fallback is a blind greedy step, made when a reply holds no action. Left, all finished episodes; right, those in which every step was the model’s own.",
		Need:  "episodes in which some step was a fallback; there is none, so all results are free of fallbacks",
	}
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	if len(groups) == 0 {
		t.Need = "episodes: spatialstale run --task navigate"
	}
	if sumOver(groups, (*episodeTally).allFallbacks) == 0 {
		groups = nil
	}
	short := c.modelNames()
	const all, free = "all episodes", "without a fallback"
	defs := append(episodeLabels(groups, short), finishedEpisodes()...)
	for i := range defs {
		if defs[i].Key == "episodes" {
			defs[i].Group = all
		}
	}
	rate := func(key, heading, group string, cell func(*episodeGroup) Cell, priority int) definition[episodeGroup] {
		return definition[episodeGroup]{Column{Key: key, Heading: heading, Group: group, Unit: "share of those episodes", Kind: Rate, Decimals: 3, Brief: true, Priority: priority}, cell}
	}
	priorities := [3]int{0, 0, 1}
	for end, name := range ends {
		defs = append(defs, rate(name, name, all, rateOf(end), priorities[end]))
	}
	defs = append(defs, definition[episodeGroup]{
		Column{Key: "free_episodes", Heading: "episodes", Group: free, Unit: "episodes", Kind: Count},
		func(g *episodeGroup) Cell {
			return Cell{Count: total(g.seeds, (*episodeTally).allFree), Of: total(g.seeds, func(e *episodeTally) int { return e.finished })}
		}})
	for end, name := range ends {
		defs = append(defs, rate("free_"+name, name, free, freeRateOf(end), priorities[end]))
	}
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: no episode was without a fallback."),
		"The right side is a selected subset, not a correction: episodes are long where they are hard, and the longer one is, the likelier it holds a fallback. It says what the model did where it always answered, and no more.",
		"Rates are means over seeds of the seed’s share of those episodes; a seed without any is left out.")
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func (e *episodeTally) allFree() int {
	return e.free[endSuccess] + e.free[endDeath] + e.free[endTimeout]
}

// freeRateOf is rateOf over the episodes without a fallback.
func freeRateOf(end int) func(*episodeGroup) Cell {
	return func(g *episodeGroup) Cell {
		var values []*float64
		for _, e := range g.seeds {
			if e.finished > 0 {
				values = append(values, quotient(e.free[end], e.allFree()))
			}
		}
		c := overSeeds(values)
		c.Count = total(g.seeds, func(e *episodeTally) int { return e.free[end] })
		c.Of = total(g.seeds, (*episodeTally).allFree)
		return c
	}
}
