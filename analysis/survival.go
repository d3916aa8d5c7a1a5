package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/stats"
)

// A survivalRow is one setting's episodes, with what their own audits found set
// against how they ended, seed by seed.
type survivalRow struct {
	*episodeGroup
	route     association // recall on the way against survival
	f1        association // F1 against survival
	routeSays correlated
	f1Says    correlated
}

// A correlated is a correlation in both ways of the paper, and the greatest
// that measures so unreliable could show.
type correlated struct {
	pearson, spearman stats.CorrelationResult
	ceiling           stats.CeilingResult
}

// correlate correlates the seeds of an association.
func (a *association) correlate() correlated {
	k := correlated{
		pearson:  sure(stats.Pearson(a.x, a.y, stats.CorrelationOptions{})),
		spearman: sure(stats.Spearman(a.x, a.y, stats.CorrelationOptions{})),
	}
	k.ceiling = sure(a.ceiling(k.pearson.R))
	return k
}

// RouteSurvival tells whether finding what matters keeps agents alive (it sets
// the paper's section 5.4 and Figure 9 on the entries on the way, and on
// survival).
func (c *Collector) RouteSurvival() Table {
	groups := c.episodes.sorted(nil, c.byModelAndModality)
	groups = slices.DeleteFunc(groups, func(g *episodeGroup) bool {
		return total(g.seeds, func(e *episodeTally) int { return e.route.stale(1).of }) == 0
	})
	var rows []*survivalRow
	survives := func(k *walk) float64 { return float64(index(k.end != endDeath)) }
	for _, g := range groups {
		seeds := c.episodes[g.setting]
		r := &survivalRow{
			episodeGroup: g,
			route:        associate(seeds, func(k *walk) *float64 { return quotient(k.audits.onRoute.count, k.audits.onRoute.of) }, survives),
			f1:           associate(seeds, func(k *walk) *float64 { return k.audits.f1() }, survives),
		}
		r.routeSays, r.f1Says = r.route.correlate(), r.f1.correlate()
		rows = append(rows, r)
	}
	t := Table{
		ID:    "route-survival",
		Title: "Does finding the stale entries on the way keep the agent alive?",
		Paper: "section 5.4",
		About: "Each seed’s recall on stale entries on the way, in its episodes’ own audits, against its share of episodes that did not end in a hole. If detection still limits success, this correlation shows it where that of F1, which is mostly about entries nobody walks by, does not.",
		Need:  "episodes with audits: spatialstale run --task navigate --strategy omcd",
	}
	short := c.modelNames()
	var defs []definition[survivalRow]
	for _, d := range episodeLabels(groups, short) {
		defs = append(defs, definition[survivalRow]{d.Column, func(r *survivalRow) Cell { return d.cell(r.episodeGroup) }})
	}
	const onWay, ofF1 = "recall on the way and survival", "F1 and survival"
	both := func(prefix, group string, of func(*survivalRow) *correlated) []definition[survivalRow] {
		return []definition[survivalRow]{
			{Column{Key: prefix + "_r", Heading: "r", Group: group, Unit: "correlation", Kind: Number, Decimals: 2}, func(r *survivalRow) Cell {
				return Cell{Value: of(r).pearson.R, N: of(r).pearson.N, Warnings: of(r).pearson.Warnings}
			}},
			{Column{Key: prefix + "_interval", Heading: "95% interval", Group: group, Unit: "correlation", Kind: Interval, Decimals: 2, Priority: 1}, func(r *survivalRow) Cell {
				cell := Cell{Level: 0.95, Method: "Fisher’s z"}
				if i := of(r).pearson.Interval; i != nil {
					cell.Low, cell.High = &i.Low, &i.High
				}
				return cell
			}},
			{Column{Key: prefix + "_p", Heading: "p", Group: group, Unit: "probability", Kind: PValue, Decimals: 3}, func(r *survivalRow) Cell {
				return Cell{Value: of(r).pearson.P, Method: "Pearson’s correlation, t distribution"}
			}},
			{Column{Key: prefix + "_spearman", Heading: "Spearman", Group: group, Unit: "correlation", Kind: Number, Decimals: 2, Priority: 2}, func(r *survivalRow) Cell {
				return Cell{Value: of(r).spearman.R}
			}},
			{Column{Key: prefix + "_spearman_p", Heading: "Spearman’s p", Group: group, Unit: "probability", Kind: PValue, Decimals: 3, DataOnly: true}, func(r *survivalRow) Cell {
				return Cell{Value: of(r).spearman.P, Method: "Spearman’s correlation, t distribution"}
			}},
			{Column{Key: prefix + "_ceiling", Heading: "ceiling", Group: group, Unit: "correlation", Kind: Number, Decimals: 2, Priority: 3}, func(r *survivalRow) Cell {
				return Cell{Value: of(r).ceiling.Ceiling, Warnings: of(r).ceiling.Warnings}
			}},
		}
	}
	defs = append(defs, definition[survivalRow]{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(r *survivalRow) Cell {
		return Cell{Count: len(r.route.x), Of: len(r.route.x) + r.route.undefined}
	}})
	defs = append(defs, definition[survivalRow]{Column{Key: "recall_on", Heading: "recall on the way", Unit: "share of stale entries", Kind: Share, Decimals: 3, Brief: true}, func(r *survivalRow) Cell {
		var p pair
		for _, e := range r.seeds {
			p.plus(e.route.stale(1))
		}
		return p.cell()
	}})
	defs = append(defs, definition[survivalRow]{Column{Key: "recall_beside", Heading: "beside the walk", Unit: "share of stale entries", Kind: Share, Decimals: 3, Brief: true, Priority: 4}, func(r *survivalRow) Cell {
		var p pair
		for _, e := range r.seeds {
			p.plus(e.route.beside)
		}
		return p.cell()
	}})
	defs = append(defs, both("route", onWay, func(r *survivalRow) *correlated { return &r.routeSays })...)
	defs = append(defs, both("f1", ofF1, func(r *survivalRow) *correlated { return &r.f1Says })...)
	fill(&t, defs, rows)
	if len(rows) > 0 {
		t.Notes = []string{
			"Both measures are means over a seed’s episodes; an episode without a stale entry on the way is left out of its seed’s recall, a seed without any out of the correlation.",
			"ceiling: the greatest correlation that measures so unreliable could show, from the agreement of a seed’s episodes (Spearman 1904); an estimate, and none where a reliability is estimated at or below 0.",
			"beside the walk: recall on stale entries whose cell the agent entered or came beside. It is a description only: a missed thaw attracts the walk, and so lowers it by itself.",
		}
	}
	t.Notes = append(t.Notes, undefinedNotes(&t, "–: undefined, which is not zero: one of the two does not vary, or there are too few seeds.")...)
	t.Warnings = progressWarnings(groups, "episodes", progressOfEpisodes)
	t.footnote()
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
