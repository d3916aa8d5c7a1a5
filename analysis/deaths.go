package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// deaths tell what the memory had to do with the deaths (paper, section 5.4 and
// appendix G).
func (f *Frame) deaths() Table {
	died := func(r *Row) int { return index(r.end == endDeath) }
	causes := append(slices.Clone(record.Causes), record.Term{Name: "not-recorded", Label: "not recorded", About: "the record names no cause that this program knows"})
	of := func(i int) func(*Row) int {
		return func(r *Row) int { return index(r.end == endDeath && r.cause == i) }
	}
	happened := func(groups []*Group, i int) bool {
		return slices.ContainsFunc(groups, func(g *Group) bool { return g.sum(of(i)) > 0 })
	}
	return f.table(&spec{
		Table: Table{ID: "deaths", Title: "Deaths, by what the memory had to do with them", Topic: TopicDeaths, Paper: "section 5.4", Need: needWalks,
			About: "Each death has one cause. Shares are of the deaths in the row; in brackets, where there is room, their number."},
		task: record.Navigate, by: episodeDims, dash: "nobody died",
		columns: func(_ *Frame, groups []*Group) []column {
			cols := episodesColumns()
			cols[0] = cols[0].last(1)
			cols = append(cols, sumOf("deaths", "deaths", "episodes", died))
			for i, k := range causes {
				m := &measure{key: "cause_" + strings.ReplaceAll(k.Name, "-", "_"), words: k.Label, unit: "share of deaths", high: 1, of: func(r *Row) (int, int) { return of(i)(r), died(r) }}
				c := shareOf(m).under("cause").hiddenIf(!happened(groups, i))
				c.Decimals = 2
				cols = append(cols, c)
			}
			c := shareOf(ofPair("on_stale_cell", "on\u00a0stale cell", "share of deaths of which it is known", func(r *Row) pair { return r.onStale }))
			c.Decimals = 2
			return append(cols, c)
		},
		notes: func(_ *Frame, groups []*Group, _ *Table) (notes []string) {
			for i, k := range causes {
				if happened(groups, i) {
					notes = append(notes, k.Label+": "+k.About+".")
				}
			}
			if len(notes) == 0 {
				notes = append(notes, "No episode ended in a hole.")
			}
			return append(notes, "on stale cell: the entry for the cell of the death was stale then, whatever the cause and whether or not the agent was shown it.")
		},
	})
}

// exposure tells how much of the memory was stale while episodes walked: in L1
// and L2 all along, in L3 only as the changes come (paper, section 3.4).
func (f *Frame) exposure() Table {
	const whole, view = "stale in the memory", "stale in view"
	share := func(key, words, group string, of func(*Row) pair) column {
		return shareOf(ofPair(key, words, "share of entries", of)).under(group).brief()
	}
	last := func(end int) func(*Row) pair {
		return func(r *Row) pair {
			if r.end != end {
				return pair{}
			}
			return r.exposure.last
		}
	}
	count := func(groups []*Group, of func(*Row) bool) (n int) {
		for _, g := range groups {
			n += g.sum(func(r *Row) int { return index(of(r)) })
		}
		return n
	}
	return f.table(&spec{
		Table: Table{ID: "exposure", Title: "Exposure: how much of the memory was stale while the agent walked", Topic: TopicDeaths, Need: "episodes and their instances: spatialstale run --task navigate",
			About: "Shares of the memory’s entries that were stale as the agent decided: over all steps, at the last step, at the last step of the episodes that reached G, and if all changes of the schedule had been made. In view: shares of the entries that the agent was shown, after what audits removed."},
		task: record.Navigate, by: episodeDims, dash: "no entry was in view, or no episode reached G",
		has: func(g *Group) bool { return g.any(func(r *Row) bool { return r.exposure.known }) },
		columns: func(*Frame, []*Group) []column {
			return []column{
				{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count, Priority: 3}, func(g *Group) Cell {
					p := progressOf(g)
					return Cell{Count: g.sum(func(r *Row) int { return index(r.exposure.known) }), Of: p.planned()}
				}},
				sumOf("steps", "steps", "steps", func(r *Row) int { return int(r.steps) }).hidden(),
				share("stale", "all\u00a0steps", whole, func(r *Row) pair { return r.exposure.steps }),
				share("stale_last", "last step", whole, func(r *Row) pair { return r.exposure.last }).last(2),
				share("stale_last_success", "last, success", whole, last(endSuccess)),
				share("stale_last_death", "last, death", whole, last(endDeath)).hidden(),
				share("stale_last_timeout", "last, timeout", whole, last(endTimeout)).hidden(),
				share("stale_after", "after all changes", whole, func(r *Row) pair { return r.exposure.atEnd }),
				share("view", "all\u00a0steps", view, func(r *Row) pair { return r.exposure.view }),
				share("view_last", "last step", view, func(r *Row) pair { return r.exposure.viewLast }).last(1),
			}
		},
		notes: func(_ *Frame, groups []*Group, t *Table) []string {
			notes := nearL1(groups)
			if hasRegime(groups, "L3") {
				notes = append(notes, "On 8×8 lakes an L3 episode that walks straight to G ends at step 14, when two of the nine moments at which a change may come have passed and about 4% of the memory is stale.")
			}
			if n := count(groups, func(r *Row) bool { return !r.exposure.known }); n > 0 {
				t.Warnings = append(t.Warnings, fmt.Sprintf("Left out for want of their instance: %s.", countOf(n, "episode")))
			}
			if n := count(groups, func(r *Row) bool { return r.exposure.blind }); n > 0 {
				t.Warnings = append(t.Warnings, fmt.Sprintf("What was in view is not known of %s, whose instance came without its memory.", countOf(n, "episode")))
			}
			return append(notes, "Each step weighs the same, so long episodes weigh more. In L1 and L2 the share does not change while the agent walks.")
		},
	})
}

// safety tells what audits make of the danger: the thaws they miss, the deaths
// that come of it, and what else they take out of the memory.
func (f *Frame) safety() Table {
	average := func(key, words string, of func(*safetyCounts) int32) column {
		return averageOf(&measure{key: key, words: words, unit: "entries an episode", of: func(r *Row) (int, int) { return int(of(&r.safety)), index(r.safety.known) }}, 2).brief()
	}
	share := func(key, words, unit string, of func(*Row) (int, int)) column {
		return shareOf(&measure{key: key, words: words, unit: unit, high: 1, of: of})
	}
	removed := record.Causes.Index(record.CauseWarningRemoved)
	return f.table(&spec{
		Table: Table{ID: "safety", Title: "Safety: thaws missed, deaths that come of them, and what else is removed", Topic: TopicDeaths, Need: "episodes with a memory, and their instances: spatialstale run --task navigate",
			About: "A missed thaw is a SAFE entry about a hole that was in view at an episode’s last step. Flagging everything leaves none and empties the memory: the valid entries removed, and the true warnings among them, are shown with it."},
		task: record.Navigate, by: episodeDims, dash: "no thaw was audited, or none was missed",
		has: func(g *Group) bool { return g.any(func(r *Row) bool { return r.safety.known }) },
		columns: func(*Frame, []*Group) []column {
			return append(episodesColumns(),
				shareOf(ofPair("recall_thaw", "thaw recall", "share of thaws audited", func(r *Row) pair { return r.route.thaw() })).base(),
				average("missed_thaws", "missed thaws", func(s *safetyCounts) int32 { return s.missed }),
				share("deaths_per_missed_thaw", "deaths per missed thaw", "share of missed thaws", func(r *Row) (int, int) { return index(r.safety.killed), int(r.safety.missed) }).base(),
				average("valid_removed", "entries", func(s *safetyCounts) int32 { return s.valid }).under("removed though valid"),
				average("warnings_removed", "warnings", func(s *safetyCounts) int32 { return s.warnings }).under("removed though valid"),
				rateOf(death).brief(),
				share("death_warning_removed", "by a removed warning", "share of episodes", func(r *Row) (int, int) { return index(r.end == endDeath && r.cause == removed), 1 }).brief())
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"thaw recall: of the SAFE entries about a hole in the episodes’ own audits, all of them together, those that were flagged. deaths per missed thaw: deaths on a cell whose SAFE entry was in view, of the missed thaws; each episode dies of one at most.",
				"by a removed warning: of all episodes, those that died on a cell whose true DANGER entry an audit had removed."}
		},
	})
}
