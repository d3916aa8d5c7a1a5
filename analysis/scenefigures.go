package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A walkPair is the same episode of one model without an audit and with one.
type walkPair struct {
	kind         int // index of pairKinds
	setting      Setting
	raw, audited *Row
	history      *history
}

// pairKinds are the kinds of pairs, the one that shows most first.
var pairKinds = []string{
	"NoFilter died on a cell that its memory falsely called SAFE, and OMCD reached G",
	"NoFilter died, and OMCD reached G",
	"NoFilter died on a cell that its memory falsely called SAFE; OMCD did not reach G either",
	"NoFilter did not die on a stale entry",
}

func kindOfPair(raw, audited *Row) int {
	died := raw.end == endDeath
	switch staleShown := died && raw.cause == record.Causes.Index(record.CauseStaleShown); {
	case audited.end == endSuccess && staleShown:
		return 0
	case audited.end == endSuccess && died:
		return 1
	case staleShown:
		return 2
	}
	return 3
}

// pairRule says how the pair is found.
const pairRule = "Which episode is shown: the first in which NoFilter died on a cell that its memory falsely called SAFE and OMCD, on the same instance and episode, reached G; where the run has none, the first in which NoFilter died otherwise and OMCD reached G, then any. First: by the order of models, text before images, L2, L1, L3, then by seed and episode. Episodes in which a due change was dropped are not taken."

// regimesForPairs prefers the regime of the paper's trace, and those whose lake
// stands still.
var regimesForPairs = record.Vocabulary{{Name: "L2"}, {Name: "L1"}, {Name: "L3"}}

// pair finds the episode that is drawn, nil for none.
func (d *drawing) pair() (best *walkPair) {
	f := d.frame
	order := func(a, b *walkPair) int {
		x, y := &a.setting, &b.setting
		return cmp.Or(cmp.Compare(a.kind, b.kind), byModel.compare(&f.order, x, y), byModality.compare(&f.order, x, y),
			compareNames(x.Regime, y.Regime, regimesForPairs, f.order.regimes, ""), cmp.Compare(a.raw.Seed, b.raw.Seed), cmp.Compare(a.raw.Episode, b.raw.Episode))
	}
	for _, g := range d.groups {
		audited := d.under(g.Setting, auditStrategy)
		if g.Strategy != "no-filter" || audited == nil {
			continue
		}
		for _, s := range g.Seeds {
			h := f.lakeOf(g.Setting, s.Seed)
			for _, raw := range s.Rows {
				with := audited.row(s.Seed, raw.Episode)
				if h == nil || !raw.drawable() || !with.drawable() {
					continue
				}
				if one := (&walkPair{kindOfPair(raw, with), g.Setting, raw, with, h}); best == nil || order(one, best) < 0 {
					best = one
				}
			}
		}
	}
	return best
}

// drawable reports whether the route of an episode is known.
func (r *Row) drawable() bool { return r != nil && !r.lost() && r.moves != nil }

// under returns the trials that differ from a setting's in the strategy alone,
// nil for none.
func (d *drawing) under(at Setting, strategy string) *Group {
	return d.at(facet{of: func(s *Setting) bool { return s.Strategy == strategy && bare(*s) == bare(at) }})
}

// row returns the trial of an episode, nil when none is planned.
func (g *Group) row(seed, episode int) *Row {
	rows := g.at(seed)
	if i := slices.IndexFunc(rows, func(r *Row) bool { return r.Episode == episode }); i >= 0 {
		return rows[i]
	}
	return nil
}

// lakeOf returns the history behind the trials of a seed, nil when it was not
// added.
func (f *Frame) lakeOf(s Setting, seed int) *history {
	whole := Setting{Condition: f.groups[s].whole}
	drawn := lakeCondition(map[string]string{"hole_fraction": whole.value("hole_fraction"), "dataset": whole.value("dataset")})
	return f.histories[lakeKey{s.Regime, s.Rows, s.Cols, seed, drawn}]
}

// scene is a state of the lake with the cells whose entries are false then.
func (h *history) scene(g lake.Grid, routes ...Route) *Scene {
	s := &Scene{Rows: g.Rows(), Routes: routes}
	for i, c := range h.claims {
		switch {
		case !h.falseAt(i, &g):
		case c.danger:
			s.Freeze = append(s.Freeze, c.pos)
		default:
			s.Thaw = append(s.Thaw, c.pos)
		}
	}
	return s
}

// told says how an episode ended.
func (r *Row) told() string {
	return record.Outcomes[r.end].Legend + " after " + countOf(int(r.steps), "step")
}

// route draws an episode of a pair's setting.
func (p *walkPair) route(strategy string, r *Row) Route {
	return Route{Key: strategy, Name: record.Strategies.Label(strategy), Outcome: record.Outcomes[r.end].Name, Cells: r.cells(p.setting.Rows, p.setting.Cols)}
}

// showPair finds one episode among those under some strategies, under all for
// none; nil when there is none to draw.
func (d *drawing) showPair(f Figure, strategies ...string) *walkPair {
	d.Figure = f
	d.Topic, d.Need = TopicNavigation, "episodes of no-filter and omcd on the same instance: spatialstale run --task navigate --strategy no-filter,omcd"
	d.losses = []string{"The one drawn is found among those that have."}
	d.show(record.Navigate, func(s *Setting) bool { return len(strategies) == 0 || slices.Contains(strategies, s.Strategy) })
	p := d.pair()
	if p == nil {
		if t := trialsOf(d.groups...); t.lossy() {
			d.Need = "finished episodes of no-filter and omcd on the same instance; " + t.told() + " planned ones finished"
		}
		return nil
	}
	s := &p.setting
	d.only = s.Model
	d.Feet = []string{fmt.Sprintf("%s %s, %s, seed %d, episode %d.", d.frame.shown(s.Model), record.Modalities.Legend(s.Modality), record.Regimes.Label(s.Regime), p.raw.Seed, p.raw.Episode)}
	return p
}

// routes are one instance before and after, with the routes of NoFilter and OMCD
// (paper, Figure 1).
func (d *drawing) routes() {
	p := d.showPair(Figure{ID: "figure-1-routes", Title: "One lake before and after, with the routes of NoFilter and OMCD", Paper: "Figure 1",
		About: "Left: the lake as the memory has it. Right: as it was when the agent walked. Both routes are of the same model on the same instance; NoFilter was shown the whole memory, OMCD what its audits left of it."}, "no-filter", auditStrategy)
	if p == nil {
		return
	}
	h, both := p.history, []Route{p.route("no-filter", p.raw), p.route(auditStrategy, p.audited)}
	now := h.as(int(max(p.raw.steps, p.audited.steps)) - 1)
	title := fmt.Sprintf("as it is: %d of %d entries stale", h.countFalse(&now), len(h.claims))
	if len(h.events) > 0 {
		title += " by the end"
	}
	d.Across = 2
	d.Panels = []Panel{{Title: "as remembered", Scene: &Scene{Rows: h.original.Rows(), Routes: both}}, {Title: title, Scene: h.scene(now, both...)}}
	d.Feet[0] += " NoFilter " + p.raw.told() + ", OMCD " + p.audited.told() + "."
	d.Notes = []string{pairRule, "Shown: " + pairKinds[p.kind] + "."}
	if p.kind > 0 {
		d.Warnings = []string{"The run has no episode in which " + pairKinds[0] + "; the closest is shown: " + pairKinds[p.kind] + "."}
	}
}

// trace is one episode under each strategy (paper, appendix G).
func (d *drawing) trace() {
	p := d.showPair(Figure{ID: "figure-trace", Title: "One episode under each strategy", Paper: "appendix G",
		About: "The same model on the same instance and episode, with each strategy’s memory: the route it took over the lake as it was at the end, and how that ended."})
	if p == nil {
		return
	}
	for _, strategy := range d.by(byStrategy) {
		switch r := d.under(p.setting, strategy.key).row(p.raw.Seed, p.raw.Episode); {
		case r != nil && r.lost():
			d.Panels = append(d.Panels, Panel{Title: strategy.name + ": no result", Remarks: []string{"the episode failed or has no record"}, Scene: p.history.scene(p.history.begin)})
		case r.drawable():
			d.Panels = append(d.Panels, Panel{Title: strategy.name + ": " + record.Outcomes[r.end].Name, Remarks: []string{r.told()},
				Scene: p.history.scene(p.history.as(int(r.steps)-1), p.route(strategy.key, r))})
		}
	}
	d.Across = min(3, len(d.Panels))
	d.Notes = []string{"The episode is that of the figure of routes. " + pairRule}
}

// regimes are one seed's lake under each regime, and how much of the memory each
// makes stale over all seeds (paper, Figure 2).
func (d *drawing) regimes() {
	d.Figure = Figure{ID: "figure-2-regimes", Title: "The regimes: one lake under each, and how much they make stale", Topic: TopicLakes, Paper: "Figure 2", Need: "instances, which every run has",
		About: "Above: the lake of one seed as the memory has it, and after all changes of each regime. Below: the share of stale entries of all seeds."}
	all := slices.DeleteFunc(d.frame.lakes(), func(l *lakes) bool { return l.rows != d.size.Rows || l.cols != d.size.Cols })
	if len(all) == 0 {
		return
	}
	shares := Panel{Title: "stale share over seeds", Wide: true, X: Axis{Label: "share of the memory’s entries that are stale"},
		Series: []Series{{Key: "seeds", Name: "seeds", Mark: Discs}, {Key: "ours", Name: "this run, mean ± sd", Mark: Dots}, {Key: "paper", Name: "the paper, mean ± sd", Mark: Dots}}}
	shared := map[int][]*history{} // of each seed
	for i, l := range all {
		name := record.Regimes.Label(l.regime)
		if slices.ContainsFunc(all, func(o *lakes) bool { return o.drawn != l.drawn }) {
			name += ", hole fraction " + l.drawn
		}
		shares.Categories = append(shares.Categories, Category{Name: name})
		counts := map[int]int{}
		for _, h := range l.instances {
			counts[h.stale]++
			shared[h.Seed] = append(shared[h.Seed], h)
		}
		for _, stale := range slices.Sorted(maps.Keys(counts)) {
			shares.Series[0].Points = append(shares.Series[0].Points, Point{Category: i, X: quotient(stale, l.cells()), N: counts[stale]})
		}
		paper := paperCell(l.published("stale-share"))
		paper.N = publishedSeeds
		for k, c := range []Cell{overSeeds(l.shares()), paper} {
			if c.Value != nil {
				shares.Series[k+1].Points = append(shares.Series[k+1].Points, meanAndSD(i, c))
			}
		}
		d.seeds = append(d.seeds, len(l.instances))
	}
	shares.Series = slices.DeleteFunc(shares.Series, func(s Series) bool { return len(s.Points) == 0 })
	shares.X.Max = niceMax(0.05, shares)
	d.Feet = []string{spread("seed", d.seeds) + " a regime. Discs: one share each, their area the number of seeds with it. Below them: mean ± standard deviation over seeds."}
	maps.DeleteFunc(shared, func(_ int, hs []*history) bool { return len(hs) < len(all) })
	if len(shared) > 0 {
		seed := slices.Min(slices.Collect(maps.Keys(shared)))
		d.Panels = []Panel{{Title: "as remembered", Scene: &Scene{Rows: shared[seed][0].original.Rows()}}}
		for i, h := range shared[seed] {
			d.Panels = append(d.Panels, Panel{Title: shares.Categories[i].Name, Remarks: []string{fmt.Sprintf("%d of %d entries stale", h.atEnd, len(h.claims))}, Scene: h.scene(h.after)})
		}
		d.Feet = append(d.Feet, fmt.Sprintf("The lakes are those of seed %d; in L3, after its last change.", seed))
		d.Notes = []string{"The seed is the smallest that the run has under every regime."}
	}
	d.Across = len(d.Panels)
	d.Panels = append(d.Panels, shares)
}

// meanAndSD is a point whose whiskers are one standard deviation long.
func meanAndSD(category int, c Cell) Point {
	p := Point{Category: category, X: c.Value, N: c.N, Label: fmt.Sprintf("%.3f", *c.Value)}
	if c.SD != nil {
		p.XRange = &Span{Low: max(0, *c.Value-*c.SD), High: *c.Value + *c.SD}
		p.Label += fmt.Sprintf(" ± %.3f", *c.SD)
	}
	return p
}
