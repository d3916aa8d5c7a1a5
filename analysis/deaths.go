package analysis

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A cause of death, as records name it and as people are told.
type cause struct{ name, heading, words string }

// causes are the causes of death (SPEC 7, docs/export.md), in the order of the
// columns.
var causes = []cause{
	{record.CauseStaleShown, "stale shown", "the entry for the cell said SAFE, which was stale, and was in view"},
	{record.CauseStaleRemoved, "stale removed", "that entry had been removed from the view; the agent went there all the same"},
	{record.CauseWarned, "warned", "a true DANGER entry for the cell was in view"},
	{record.CauseWarningRemoved, "warning removed", "an audit had removed the true DANGER entry"},
	{record.CauseNoMemory, "no memory", "the agent was given no memory"},
	{record.CauseFallback, "fallback", "the step was the blind greedy one, because the reply held no action"},
	{record.CauseChange, "change", "the lake changed under the agent (strict schedules only)"},
	{"", "not recorded", "the record names no cause that this program knows"},
}

// A deathTally counts deaths by cause.
type deathTally struct {
	by    [8]int // in the order of causes
	stale pair   // deaths on a cell whose entry was stale, of those of which that is known
}

// add counts the death of a trial.
func (d *deathTally) add(t *record.Trial, w *world) {
	name := ""
	if t.Death != nil {
		name = t.Death.Cause
	}
	i := slices.IndexFunc(causes, func(c cause) bool { return c.name == name })
	if i < 0 {
		i = len(causes) - 1
	}
	d.by[i]++
	if stale, known := diedOnStale(t, w); known {
		d.stale.of++
		if stale {
			d.stale.count++
		}
	}
}

// diedOnStale reports whether the entry for the cell of a death was stale then,
// whether or not the agent was shown it: whether it says SAFE, because the cell
// was a hole. Without the instance it is what the cause says.
func diedOnStale(t *record.Trial, w *world) (stale, known bool) {
	if t.Death == nil {
		return false, false
	}
	if w != nil {
		safe := slices.ContainsFunc(w.claims, func(c claim) bool {
			return record.Pos{int(c.row), int(c.col)} == t.Death.Pos && !c.danger
		})
		return safe, true
	}
	switch t.Death.Cause {
	case record.CauseStaleShown, record.CauseStaleRemoved:
		return true, true
	case record.CauseWarned, record.CauseWarningRemoved:
		return false, true
	}
	return false, false
}

// Deaths tells what the memory had to do with the deaths (paper, section 5.4
// and appendix G).
func (c *Collector) Deaths() Table {
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	t := Table{
		ID:    "deaths",
		Title: "Deaths, by what the memory had to do with them",
		Paper: "section 5.4",
		About: "Each death has one cause. Shares are of the deaths in the row; in brackets, where there is room, their number.",
		Need:  "episodes: spatialstale run --task navigate",
	}
	short := c.modelNames()
	deaths := func(e *episodeTally) int { return e.ends[endDeath] }
	defs := append(episodeLabels(groups, short), finishedEpisodes()...)
	for i := range defs {
		if defs[i].Key == "episodes" {
			defs[i].Priority = 1
		}
	}
	defs = append(defs, definition[episodeGroup]{
		Column{Key: "deaths", Heading: "deaths", Unit: "episodes", Kind: Count},
		func(g *episodeGroup) Cell { return Cell{Count: total(g.seeds, deaths)} },
	})
	var happened []cause
	for i, k := range causes {
		of := func(e *episodeTally) int { return e.deaths.by[i] }
		never := sumOver(groups, of) == 0
		if !never {
			happened = append(happened, k)
		}
		key := k.name
		if key == "" {
			key = "not-recorded"
		}
		defs = append(defs, definition[episodeGroup]{
			Column{Key: "cause_" + strings.ReplaceAll(key, "-", "_"), Heading: k.heading, Group: "cause", Unit: "share of deaths", Kind: Share, Decimals: 2, DataOnly: never},
			func(g *episodeGroup) Cell { return shareOf(total(g.seeds, of), total(g.seeds, deaths)) },
		})
	}
	defs = append(defs, definition[episodeGroup]{
		Column{Key: "on_stale_cell", Heading: "on\u00a0stale cell", Unit: "share of deaths of which it is known", Kind: Share, Decimals: 2},
		func(g *episodeGroup) Cell {
			var p pair
			for _, e := range g.seeds {
				p.plus(e.deaths.stale)
			}
			return p.cell()
		},
	})
	fill(&t, defs, groups)
	if len(happened) == 0 {
		t.Notes = append(t.Notes, "No episode ended in a hole.")
	}
	for _, k := range happened {
		t.Notes = append(t.Notes, k.heading+": "+k.words+".")
	}
	t.Notes = append(t.Notes, "on stale cell: the entry for the cell of the death was stale then, whatever the cause and whether or not the agent was shown it.")
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero: nobody died.")...)
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
