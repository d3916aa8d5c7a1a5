package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// episodeDims are what tables of episodes are by, one modality behind the other.
var episodeDims = []dim{byModel, byModality, byRegime, byStrategy}

const needWalks = "episodes: spatialstale run --task navigate"

func noNotes(*Frame, []*Group, *Table) []string { return nil }

// navigation tells how the episodes of one modality end (paper, section 5.3;
// Table 3 for text, Table 2 for vision). Rates are means over seeds of the
// seed's share of its finished episodes, so that a seed that lost an episode
// weighs as much as the others.
func (f *Frame) navigation(modality string) Table {
	s := &spec{
		Table: Table{ID: "navigation-" + modality, Title: "Navigation " + record.Modalities.Legend(modality) + ": how episodes end", Topic: TopicNavigation, Paper: "Table 3", Need: needEpisodes(modality)},
		task:  record.Navigate, where: func(s *Setting) bool { return s.Modality == modality },
		by: episodeDims, order: []dim{byModel, byRegime, byModality, byStrategy},
		dash: "no episode has finished",
	}
	if modality == record.Vision {
		s.Paper = "Table 2"
	}
	s.columns = func(f *Frame, groups []*Group) []column {
		s.About = "The agent walks from S to G with raw, filtered or no memory, one model call a step. success: it reached G; death: it entered a hole; timeout: neither " + stepBudget(groups) + "."
		dropped := slices.ContainsFunc(groups, func(g *Group) bool { return g.any(func(r *Row) bool { return r.dropped > 0 }) })
		cols := append(episodesColumns(), column{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, DataOnly: true}, func(g *Group) Cell { return Cell{Count: len(g.values(success))} }},
			rateOf(success), rateOf(death), rateOf(timeout).last(1),
			f.paperColumn(groups, "paper_success", "success", inPaper, success, "success"), f.paperColumn(groups, "paper_death", "death", inPaper, death, "death"),
			meanOf(reward).brief().last(2), shareOf(fallback),
			sumOf("dropped_flips", "dropped flips", "flips", func(r *Row) int { return int(r.dropped) }).last(3).hiddenIf(!dropped))
		for _, m := range lengths { // people find them in the table of lengths
			cols = append(cols, averageOf(m, 1).under("mean steps to").hidden())
		}
		return cols
	}
	s.notes = func(f *Frame, groups []*Group, t *Table) []string {
		notes := []string{f.strategyNote(groups), "A seed’s episodes are averaged first."}
		if markBest(t, groups) {
			notes = append(notes, "Bold, or * in text: the best success and death of a model and regime, ties to the last digit shown too; none where nobody succeeded, or all died. Oracle knows the truth and does not compete.")
		}
		if slices.ContainsFunc(groups, func(g *Group) bool { return g.any(func(r *Row) bool { return r.fallbacks > 0 }) }) {
			notes = append(notes, "fallback: the share of steps that were a blind greedy step because the reply held no action; in brackets, where there is room, their number.")
		}
		if slices.ContainsFunc(groups, func(g *Group) bool { return g.any(func(r *Row) bool { return r.dropped > 0 }) }) {
			notes = append(notes, "dropped flips: changes that were due and left out because they would have hit the agent’s cell or cut off the goal.")
		}
		return append(notes, nearL1(groups)...)
	}
	t := f.table(s)
	t.About = s.About
	for i := range t.Columns {
		t.Columns[i].DataOnly = t.Columns[i].DataOnly || t.Columns[i].Key == "modality" // the whole table has one
	}
	return t
}

// needEpisodes says how to get the episodes of a modality.
func needEpisodes(modality string) string {
	if modality == record.Vision {
		return "episodes from images: spatialstale run vision"
	}
	return "episodes from text: spatialstale run --task navigate"
}

// bare leaves out of a setting what strategies differ in.
func bare(s Setting) Setting {
	s.Strategy, s.Batch = "", 0
	parts := slices.DeleteFunc(strings.Split(s.Condition, conditionsApart), func(part string) bool { return strings.HasPrefix(part, "strategy ") })
	s.Condition = strings.Join(parts, conditionsApart)
	return s
}

// markBest marks in a table of episodes the best of each part of it: of the
// strategies that a model walked with under the same regime, wording and size.
// Values that people are shown alike tie. It returns whether any is marked.
func markBest(t *Table, groups []*Group) bool {
	any := false
	for i := range t.Columns {
		m := rateNamed(t.Columns[i].Key)
		if m == nil || m == timeout {
			continue
		}
		shown := func(c *Cell) float64 {
			v := math.Round(*c.Value * math.Pow10(t.Columns[i].Decimals))
			if m.lower {
				return -v
			}
			return v
		}
		best, competing := map[Setting]float64{}, map[Setting]int{}
		each := func(do func(part Setting, c *Cell)) {
			for r := range t.Rows {
				if c := &t.Rows[r][i]; c.Value != nil && groups[r].Strategy != record.OracleStrategy {
					do(bare(groups[r].Setting), c)
				}
			}
		}
		each(func(part Setting, c *Cell) {
			if v := shown(c); competing[part] == 0 || v > best[part] {
				best[part] = v
			}
			competing[part]++
		})
		worst := 0.0 // nobody succeeded, or everybody died: that is best at nothing
		if m.lower {
			worst = -math.Pow10(t.Columns[i].Decimals)
		}
		each(func(part Setting, c *Cell) {
			if competing[part] > 1 && shown(c) == best[part] && best[part] != worst {
				c.Best, any = true, true
			}
		})
	}
	return any
}

// lengthsTable tells how long episodes last, by how they end (paper, section
// 5.4, appendix F, Table 6).
func (f *Frame) lengthsTable() Table {
	return f.table(&spec{
		Table: Table{ID: "lengths", Title: "Length of episodes, by how they end", Topic: TopicNavigation, Paper: "Table 6", Need: needWalks,
			About: "Mean number of steps, over all episodes with that end; in brackets how many there are. A death after few steps is a rush into a hole."},
		task: record.Navigate, by: episodeDims, dash: "no episode ended so",
		columns: func(*Frame, []*Group) []column {
			cols := episodesColumns()
			for _, m := range append(slices.Clone(lengths), steps) {
				cols = append(cols, averageOf(m, 1).as(m.key, m.words).under("mean steps to"))
			}
			for i := range lengths {
				cols[len(cols)-4+i].Heading = record.Outcomes[i].Name
			}
			return cols
		},
		notes: noNotes,
	})
}

// fallbackFree sets the episodes in which every step was the model's own next to
// all episodes. The first are a selected subset: a model may fail to answer
// where it is hard to answer.
func (f *Frame) fallbackFree() Table {
	const all, free = "all episodes", "without a fallback"
	own := func(end int) *measure {
		m := *rates[end]
		m.key, m.rate = "free_"+m.key, false
		m.of = func(r *Row) (int, int) { return index(r.end == end && r.fallbacks == 0), index(r.fallbacks == 0) }
		return &m
	}
	fell := slices.ContainsFunc(f.grouped(nil, nil, nil), func(g *Group) bool { return g.any(func(r *Row) bool { return r.fallbacks > 0 }) })
	t := Table{ID: "fallback-free", Title: "Episodes without a fallback next to all episodes", Topic: TopicReplies,
		About: "A fallback is a blind greedy step, made when a reply holds no action. Left, all finished episodes; right, those in which every step was the model’s own.",
		Need:  "episodes in which some step was a fallback; there is none, so all results are free of fallbacks"}
	if len(f.grouped(nil, func(s *Setting) bool { return s.Task == record.Navigate }, nil)) == 0 {
		t.Need = needWalks
	}
	return f.table(&spec{
		Table: t, task: record.Navigate, by: episodeDims, has: func(*Group) bool { return fell }, dash: "no episode was without a fallback",
		columns: func(*Frame, []*Group) []column {
			cols := episodesColumns()
			cols[0] = cols[0].under(all)
			priority := [3]int{0, 0, 1}
			for end, m := range rates {
				cols = append(cols, rateOf(m).in("share of those episodes").under(all).brief().last(priority[end]))
			}
			cols = append(cols, column{Column{Key: "free_episodes", Heading: "episodes", Group: free, Unit: "episodes", Kind: Count}, func(g *Group) Cell {
				p := progressOf(g)
				return Cell{Count: g.sum(func(r *Row) int { return index(r.fallbacks == 0) }), Of: p.finished}
			}})
			for end := range rates {
				cols = append(cols, rateOf(own(end)).in("share of those episodes").under(free).brief().last(priority[end]))
			}
			return cols
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"The right side is a selected subset, not a correction: episodes are long where they are hard, and the longer one is, the likelier it holds a fallback. It says what the model did where it always answered, and no more.",
				"Rates are means over seeds of the seed’s share of those episodes; a seed without any is left out."}
		},
	})
}

// variance tells how much of an outcome is the seed's: how far episodes on one
// seed agree, and what a mean over them is worth (paper, section 5.1,
// Inference).
func (f *Frame) variance() Table {
	tests := f.tests()
	result := func(g *Group) *stats.ClusterResult {
		r := sure(stats.Clusters(clusters(g, rateNamed(g.Label))))
		return &r
	}
	number := func(key, heading, unit string, decimals, priority int, of func(*stats.ClusterResult) *float64) column {
		return column{Column{Key: key, Heading: heading, Unit: unit, Kind: Number, Decimals: decimals, Priority: priority}, func(g *Group) Cell { return Cell{Value: of(result(g))} }}
	}
	return f.table(&spec{
		Table: Table{ID: "variance", Title: "Variance within and between seeds", Topic: TopicNavigation, Need: needWalks,
			About: "How much of an outcome the lake decides. ICC: the share of an episode’s variance that lies between seeds, 1 where a seed always ends the same way, about 0 where episodes on one seed agree no more than those on two. reliability: the same for a seed’s mean over its episodes, which is what the tests use."},
		task: record.Navigate, by: episodeDims, dash: "no seed has two episodes, or all ended the same way",
		parts: func(*Frame, *Group) []string { return tests.Family.Measures },
		part:  column{label("measure", "measure"), func(g *Group) Cell { return Cell{Label: g.Label} }},
		columns: func(*Frame, []*Group) []column {
			between := number("between", "between seeds", "variance", 3, 2, func(c *stats.ClusterResult) *float64 { return c.Between })
			between.cell = func(g *Group) Cell { r := result(g); return Cell{Value: r.Between, Warnings: r.Warnings} }
			return []column{
				{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(g *Group) Cell { r := result(g); return Cell{Count: r.NUsed, Of: r.N} }},
				{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count}, func(g *Group) Cell {
					p := progressOf(g)
					return Cell{Count: result(g).Values, Of: p.planned()}
				}},
				number("mean", "rate, all episodes", "share", 3, 0, func(c *stats.ClusterResult) *float64 { return c.Mean }),
				number("within", "within seeds", "variance", 3, 2, func(c *stats.ClusterResult) *float64 { return c.Within }), between,
				number("icc", "ICC", "correlation", 2, 0, func(c *stats.ClusterResult) *float64 { return c.ICC1 }),
				number("reliability", "reliability", "correlation", 2, 0, func(c *stats.ClusterResult) *float64 { return c.ICCMean }),
				number("design_effect", "design effect", "ratio", 2, 3, func(c *stats.ClusterResult) *float64 { return c.DesignEffect }),
			}
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{"One-way analysis of variance over seeds; ICC is ICC(1), reliability ICC(1,k). Both are estimates and can fall below 0. design effect: how many times more variance the mean has than if all episodes were independent."}
		},
	})
}

// clusters are a rate's ones and zeros, seed by seed.
func clusters(g *Group, m *measure) [][]float64 {
	out := make([][]float64, len(g.Seeds))
	for i, s := range g.Seeds {
		var p progress
		p.add(s.Rows)
		out[i] = make([]float64, p.finished)
		one := Group{Seeds: []Seed{s}}
		hits, _ := one.pooled(m)
		for k := range hits {
			out[i][k] = 1
		}
	}
	return out
}

// nearL1 says, in this run's figures, how near L3 comes to L1 for an agent that
// walks to G; nil without an episode that got there.
func nearL1(groups []*Group) []string {
	of := func(regime string, what func(*Row) pair) (p pair64) {
		for _, g := range groups {
			if g.Regime == regime {
				num, den := g.pooled(ofPair("", "", "", what))
				p.count, p.of = p.count+num, p.of+den
			}
		}
		return p
	}
	arrived := of("L3", func(r *Row) pair {
		if r.end != endSuccess {
			return pair{}
		}
		return r.exposure.last
	})
	if arrived.of == 0 {
		return nil
	}
	atEnd := func(r *Row) pair { return r.exposure.atEnd }
	walked := of("L3", func(r *Row) pair {
		return pair{r.steps * int32(index(r.end == endSuccess)), int32(index(r.end == endSuccess))}
	})
	note := fmt.Sprintf("L3 is nearer to L1 than its name suggests: the %s episodes that reached G took %.1f steps on average, and at their last step %s of the memory was stale, against %s once all changes are made",
		thousands(walked.of), *quotient(walked.count, walked.of), arrived.percent(), of("L3", atEnd).percent())
	if l1 := of("L1", atEnd); l1.of > 0 {
		note += fmt.Sprintf(" and %s all along in L1", l1.percent())
	}
	return []string{note + "."}
}

// A pair64 is a pair that sums over runs.
type pair64 struct{ count, of int }

func (p pair64) percent() string { return fmt.Sprintf("%.1f%%", 100**quotient(p.count, p.of)) }
