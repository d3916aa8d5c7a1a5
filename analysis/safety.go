package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// A safetyTally says what episodes' agents were left with in view at their last
// step, and what it cost.
type safetyTally struct {
	known    int // episodes whose last view is known
	missed   int // SAFE entries about a hole, in view
	valid    int // valid entries kept out of view
	warnings int // of these, DANGER entries
	killed   int // deaths on a cell whose SAFE entry was in view
}

// add looks at a finished episode's last view. An agent without memory has
// none, and neither has one whose removed entries cannot be told.
func (s *safetyTally) add(t *record.Trial, w *world) {
	if w == nil || len(t.Steps) == 0 {
		return
	}
	last := &t.Steps[len(t.Steps)-1]
	if last.Memory == record.MemoryNone || w.roster == nil && len(last.Removed) > 0 {
		return
	}
	g := newReplay(w, t).at(last.T - 1)
	hidden := make([]bool, len(w.claims))
	for _, id := range last.Removed {
		hidden[w.roster.index[id]] = true // follow has refused any other id
	}
	s.known++
	for i, c := range w.claims {
		stale := w.falseAt(i, g)
		switch {
		case stale && !c.danger && !hidden[i]:
			s.missed++
			if t.Death != nil && t.Death.Pos == (record.Pos{int(c.row), int(c.col)}) {
				s.killed++
			}
		case !stale && hidden[i]:
			s.valid++
			s.warnings += index(c.danger)
		}
	}
}

// Safety tells what audits make of the danger: the thaws they miss, the deaths
// that come of it, and what else they take out of the memory.
func (c *Collector) Safety() Table {
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	groups = slices.DeleteFunc(groups, func(g *episodeGroup) bool {
		return total(g.seeds, func(e *episodeTally) int { return e.safety.known }) == 0
	})
	t := Table{
		ID:    "safety",
		Title: "Safety: thaws missed, deaths that come of them, and what else is removed",
		About: "A missed thaw is a SAFE entry about a hole that was in view at an episode’s last step. Flagging everything leaves none and empties the memory: the valid entries removed, and the true warnings among them, stand beside.",
		Need:  "episodes with a memory, and their instances: spatialstale run --task navigate",
	}
	short := c.modelNames()
	known := func(g *episodeGroup) int { return total(g.seeds, func(e *episodeTally) int { return e.safety.known }) }
	average := func(key, heading, group string, of func(*safetyTally) int) definition[episodeGroup] {
		return definition[episodeGroup]{Column{Key: key, Heading: heading, Group: group, Unit: "entries an episode", Kind: Average, Decimals: 2, Brief: true}, func(g *episodeGroup) Cell {
			return averageOf(total(g.seeds, func(e *episodeTally) int { return of(&e.safety) }), known(g))
		}}
	}
	const removed = "removed though valid"
	defs := append(episodeLabels(groups, short), finishedEpisodes()...)
	defs = append(defs,
		definition[episodeGroup]{Column{Key: "recall_thaw", Heading: "thaw recall", Unit: "share of thaws audited", Kind: Share, Decimals: 3, Base: true}, func(g *episodeGroup) Cell {
			var p pair
			for _, e := range g.seeds {
				p.plus(e.route.thaw())
			}
			return p.cell()
		}},
		average("missed_thaws", "missed thaws", "", func(s *safetyTally) int { return s.missed }),
		definition[episodeGroup]{Column{Key: "deaths_per_missed_thaw", Heading: "deaths per missed thaw", Unit: "share of missed thaws", Kind: Share, Decimals: 3, Base: true}, func(g *episodeGroup) Cell {
			return shareOf(total(g.seeds, func(e *episodeTally) int { return e.safety.killed }), total(g.seeds, func(e *episodeTally) int { return e.safety.missed }))
		}},
		average("valid_removed", "entries", removed, func(s *safetyTally) int { return s.valid }),
		average("warnings_removed", "warnings", removed, func(s *safetyTally) int { return s.warnings }),
		definition[episodeGroup]{Column{Key: "death", Heading: "death", Unit: "share of episodes", Kind: Share, Decimals: 3, Brief: true}, func(g *episodeGroup) Cell {
			return shareOf(total(g.seeds, func(e *episodeTally) int { return e.ends[endDeath] }), total(g.seeds, func(e *episodeTally) int { return e.finished }))
		}},
		definition[episodeGroup]{Column{Key: "death_warning_removed", Heading: "by a removed warning", Unit: "share of episodes", Kind: Share, Decimals: 3, Brief: true}, func(g *episodeGroup) Cell {
			i := slices.IndexFunc(causes, func(k cause) bool { return k.name == record.CauseWarningRemoved })
			return shareOf(total(g.seeds, func(e *episodeTally) int { return e.deaths.by[i] }), total(g.seeds, func(e *episodeTally) int { return e.finished }))
		}},
	)
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: no thaw was audited, or none was missed."),
		"thaw recall: of the SAFE entries about a hole in the episodes’ own audits, all of them together, those that were flagged. deaths per missed thaw: deaths on a cell whose SAFE entry was in view, of the missed thaws; each episode dies of one at most.",
		"by a removed warning: of all episodes, those that died on a cell whose true DANGER entry an audit had removed.")
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
