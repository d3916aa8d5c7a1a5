package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// An exposureTally says how stale the memory was while episodes walked. Shares
// are of entries, over all steps or over all last steps; in view means after
// what audits removed.
type exposureTally struct {
	episodes, unknown int // followed; not followed for want of the instance
	steps             pair
	last              [3]pair // at the last step, by end
	atEnd             pair    // were all changes of the schedule made
	view, viewLast    pair    // entries in view
	blind             int     // episodes whose view is not known
}

// A pair is a numerator and a denominator.
type pair struct{ count, of int }

func (p *pair) plus(q pair) { p.count, p.of = p.count+q.count, p.of+q.of }

func (p pair) cell() Cell { return shareOf(p.count, p.of) }

func (e *exposureTally) plus(d *exposureTally) {
	e.episodes += d.episodes
	e.unknown += d.unknown
	e.blind += d.blind
	e.steps.plus(d.steps)
	for i := range e.last {
		e.last[i].plus(d.last[i])
	}
	e.atEnd.plus(d.atEnd)
	e.view.plus(d.view)
	e.viewLast.plus(d.viewLast)
}

// follow walks a finished episode through its lake and counts at each step, as
// the agent decides, the entries that are false and those of them in view. It
// is an error when the view lacks an entry that the memory never had.
func follow(t *record.Trial, w *world) (exposureTally, error) {
	if w == nil {
		return exposureTally{unknown: 1}, nil
	}
	e := exposureTally{episodes: 1}
	e.atEnd = pair{w.atEnd, len(w.claims)}
	g := w.begin
	stale := w.countFalse(&g)
	var removed []string
	hidden, hiddenStale := 0, 0 // entries kept out of the view
	known := true
	for i := range t.Steps {
		s := &t.Steps[i]
		if len(s.Event) > 0 {
			apply(&g, s.Event)
			stale = w.countFalse(&g)
		}
		if len(s.Event) > 0 || !slices.Equal(removed, s.Removed) {
			var err error
			removed = s.Removed
			if hidden, hiddenStale, known, err = w.hidden(t.Key, removed, &g); err != nil {
				return e, err
			}
			if !known {
				e.blind = 1
			}
		}
		at := pair{stale, len(w.claims)}
		view := pair{stale - hiddenStale, len(w.claims) - hidden}
		if s.Memory == record.MemoryNone {
			view = pair{}
		}
		e.steps.plus(at)
		e.view.plus(view)
		if i == len(t.Steps)-1 {
			e.last[slices.Index(ends[:], t.Outcome)] = at
			e.viewLast = view
		}
	}
	if e.blind > 0 {
		e.view, e.viewLast = pair{}, pair{}
	}
	return e, nil
}

// hidden counts the entries of a memory that are kept out of the view, and
// those of them that are false; known is false when their ids mean nothing
// because the instance came without its memory.
func (w *world) hidden(trial string, removed []string, g *lake.Grid) (n, stale int, known bool, err error) {
	if w.roster == nil {
		return 0, 0, len(removed) == 0, nil
	}
	for _, id := range removed {
		i, ok := w.roster.index[id]
		if !ok {
			return 0, 0, false, fmt.Errorf("trial %s: the entry %s was kept out of view, but its instance's memory has none", trial, id)
		}
		n++
		if w.falseAt(i, g) {
			stale++
		}
	}
	return n, stale, true, nil
}

// Exposure tells how much of the memory was stale while episodes walked: in L1
// and L2 all along, in L3 only as the changes come (paper, section 3.4).
func (c *Collector) Exposure() Table {
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	t := Table{
		ID:    "exposure",
		Title: "Exposure: how much of the memory was stale while the agent walked",
		About: "Shares of the memory’s entries that were stale as the agent decided: over all steps, at the last step, at the last step of the episodes that reached G, and if all changes of the schedule had been made. In view: shares of the entries that the agent was shown, after what audits removed.",
		Need:  "episodes and their instances: spatialstale run --task navigate",
	}
	// Also of the settings that have no row because they have lost every episode.
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	groups = slices.DeleteFunc(groups, func(g *episodeGroup) bool {
		return total(g.seeds, func(e *episodeTally) int { return e.exposure.episodes }) == 0
	})
	short := c.modelNames()
	sum := func(of func(*exposureTally) pair) func(*episodeGroup) Cell {
		return func(g *episodeGroup) Cell {
			var p pair
			for _, e := range g.seeds {
				p.plus(of(&e.exposure))
			}
			return p.cell()
		}
	}
	share := func(key, heading, group string, of func(*exposureTally) pair) definition[episodeGroup] {
		return definition[episodeGroup]{Column{Key: key, Heading: heading, Group: group, Unit: "share of entries", Kind: Share, Decimals: 3, Brief: true}, sum(of)}
	}
	const whole, view = "stale in the memory", "stale in view"
	defs := append(episodeLabels(groups, short),
		definition[episodeGroup]{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count},
			func(g *episodeGroup) Cell {
				return Cell{
					Count: total(g.seeds, func(e *episodeTally) int { return e.exposure.episodes }),
					Of:    total(g.seeds, func(e *episodeTally) int { return e.all() }),
				}
			}},
		definition[episodeGroup]{Column{Key: "steps", Heading: "steps", Unit: "steps", Kind: Count, DataOnly: true},
			func(g *episodeGroup) Cell { return Cell{Count: total(g.seeds, (*episodeTally).allSteps)} }},
		share("stale", "all\u00a0steps", whole, func(e *exposureTally) pair { return e.steps }),
		share("stale_last", "last step", whole, (*exposureTally).lastOfAll),
		share("stale_last_success", "last, success", whole, func(e *exposureTally) pair { return e.last[endSuccess] }),
		share("stale_last_death", "last, death", whole, func(e *exposureTally) pair { return e.last[endDeath] }),
		share("stale_last_timeout", "last, timeout", whole, func(e *exposureTally) pair { return e.last[endTimeout] }),
		share("stale_after", "after all changes", whole, func(e *exposureTally) pair { return e.atEnd }),
		share("view", "all\u00a0steps", view, func(e *exposureTally) pair { return e.view }),
		share("view_last", "last step", view, func(e *exposureTally) pair { return e.viewLast }),
	)
	for i := range defs {
		switch d := &defs[i]; d.Key {
		case "stale_last_death", "stale_last_timeout":
			d.DataOnly = true
		case "episodes":
			d.Priority = 3
		case "stale_last":
			d.Priority = 2
		case "view_last":
			d.Priority = 1
		}
	}
	fill(&t, defs, groups)
	t.Notes = append(t.Notes, c.nearL1("")...)
	if anyGroup(groups, func(g *episodeGroup) bool { return g.regime == "L3" }) {
		t.Notes = append(t.Notes, "On 8×8 lakes an L3 episode that walks straight to G ends at step 14, when two of the nine moments at which a change may come have passed and about 4% of the memory is stale.")
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero: no entry was in view, or no episode reached G.")...)
	t.Notes = append(t.Notes, "Each step weighs the same, so long episodes weigh more. In L1 and L2 the share does not change while the agent walks.")
	if n := sumOver(groups, func(e *episodeTally) int { return e.exposure.unknown }); n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("Left out for want of their instance: %s.", countOf(n, "episode")))
	}
	if n := sumOver(groups, func(e *episodeTally) int { return e.exposure.blind }); n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("What was in view is not known of %s, whose instance came without its memory.", countOf(n, "episode")))
	}
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func (e *exposureTally) lastOfAll() pair {
	var p pair
	for _, q := range e.last {
		p.plus(q)
	}
	return p
}

// sumOver sums an integer over the seeds of all groups.
func sumOver[T any](groups []*group[T], of func(*T) int) int {
	n := 0
	for _, g := range groups {
		n += total(g.seeds, of)
	}
	return n
}

// byModelAndModality orders tables in which no modality has a table of its own.
func (c *Collector) byModelAndModality(x, y setting) int {
	return cmp.Or(
		c.plan.compareModels(x.model, y.model),
		compareModalities(x.modality, y.modality),
		c.plan.compareRegimes(x.regime, y.regime),
		c.plan.compareRest(x, y),
	)
}

// nearL1 says, in this run's figures, how near L3 comes to L1 for an agent that
// walks to G; nil without an episode that got there. An empty modality stands
// for all of them.
func (c *Collector) nearL1(modality string) []string {
	groups := c.episodes.sorted(func(s setting) bool { return modality == "" || s.modality == modality }, c.byModelAndModality)
	of := func(regime string, what func(*exposureTally) pair) pair {
		var p pair
		for _, g := range groups {
			if g.regime == regime {
				for _, e := range g.seeds {
					p.plus(what(&e.exposure))
				}
			}
		}
		return p
	}
	arrived := of("L3", func(e *exposureTally) pair { return e.last[endSuccess] })
	if arrived.of == 0 {
		return nil
	}
	atEnd := func(e *exposureTally) pair { return e.atEnd }
	episodes, steps := 0, 0
	for _, g := range groups {
		if g.regime == "L3" {
			episodes += total(g.seeds, func(e *episodeTally) int { return e.ends[endSuccess] })
			steps += total(g.seeds, func(e *episodeTally) int { return e.steps[endSuccess] })
		}
	}
	note := fmt.Sprintf("L3 is nearer to L1 than its name suggests: the %s episodes that reached G took %.1f steps on average, and at their last step %s of the memory was stale, against %s once all changes are made",
		thousands(episodes), *quotient(steps, episodes), percent(arrived), percent(of("L3", atEnd)))
	if l1 := of("L1", atEnd); l1.of > 0 {
		note += fmt.Sprintf(" and %s all along in L1", percent(l1))
	}
	return []string{note + "."}
}

func percent(p pair) string { return fmt.Sprintf("%.1f%%", 100**quotient(p.count, p.of)) }
