package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A pairOfWalks is the same episode without an audit and with one.
type pairOfWalks struct {
	setting // of the first, without its strategy and batch
	seed    int
	episode int
	kind    int // index of pairKinds
	raw     *walk
	audited *walk
}

// pairKinds are the kinds of pairs, the one that shows most first.
var pairKinds = []string{
	"NoFilter died on a cell that its memory falsely called SAFE, and OMCD reached G",
	"NoFilter died, and OMCD reached G",
	"NoFilter died on a cell that its memory falsely called SAFE; OMCD did not reach G either",
	"NoFilter did not die on a stale entry",
}

func kindOfPair(raw, audited *walk) int {
	staleShown := raw.end == endDeath && causes[raw.cause].name == record.CauseStaleShown
	arrived := audited.end == endSuccess
	switch {
	case staleShown && arrived:
		return 0
	case raw.end == endDeath && arrived:
		return 1
	case staleShown:
		return 2
	}
	return 3
}

// pairRule says how the pair is found.
const pairRule = "Which episode is shown: the first in which NoFilter died on a cell that its memory falsely called SAFE and OMCD, on the same instance and episode, reached G; where the run has none, the first in which NoFilter died otherwise and OMCD reached G, then any. First: by the order of models, text before images, L2, L1, L3, then by seed and episode. Episodes in which a due change was dropped are not taken."

// lostWalks says what is lost of the episodes under these strategies, under any
// for none, in a sentence and in numbers.
func (c *Collector) lostWalks(strategies ...string) ([]string, *Trials) {
	keep, _ := c.principal(slices.Collect(maps.Keys(c.episodes)))
	var all []*episodeGroup
	var t *Trials
	for s, seeds := range c.episodes {
		if (len(strategies) == 0 || slices.Contains(strategies, s.strategy)) && keep(s) {
			all = append(all, &episodeGroup{setting: s, seeds: slices.Collect(maps.Values(seeds))})
			t = t.plus(trialsOf(seeds, progressOfEpisodes))
		}
	}
	return progressWarnings(all, "episodes", progressOfEpisodes), t
}

// regimesForPairs prefers the regime of the paper's trace, and those whose lake
// stands still.
var regimesForPairs = []string{"L2", "L1", "L3"}

// pairOf finds the episode that is drawn, nil for none.
func (c *Collector) pairOf() *pairOfWalks {
	keep, _ := c.principal(slices.Collect(maps.Keys(c.episodes)))
	var best *pairOfWalks
	for s, seeds := range c.episodes {
		if s.strategy != "no-filter" || !keep(s) {
			continue
		}
		audited := c.counterpartOf(s, auditStrategy, keep)
		for seed, e := range seeds {
			other := audited[seed]
			if other == nil || c.instances[instanceKey{s.regime, s.rows, s.cols, seed}] == nil {
				continue
			}
			for i := range e.walks {
				raw, with := &e.walks[i], other.walkAt(e.walks[i].episode)
				if raw.moves == nil || with == nil {
					continue
				}
				one := &pairOfWalks{bare(s), seed, raw.episode, kindOfPair(raw, with), raw, with}
				if best == nil || c.comparePairs(one, best) < 0 {
					best = one
				}
			}
		}
	}
	return best
}

// bare leaves out of a setting what strategies differ in.
func bare(s setting) setting {
	s.strategy, s.batch = "", 0
	return s
}

func (c *Collector) comparePairs(a, b *pairOfWalks) int {
	return cmp.Or(
		cmp.Compare(a.kind, b.kind),
		c.plan.compareModels(a.model, b.model),
		compareModalities(a.modality, b.modality),
		compareNames(a.regime, b.regime, regimesForPairs, c.plan.regimes),
		cmp.Compare(a.seed, b.seed),
		cmp.Compare(a.episode, b.episode),
	)
}

// counterpartOf returns the seeds of the same setting under another strategy.
func (c *Collector) counterpartOf(s setting, strategy string, keep func(setting) bool) map[int]*episodeTally {
	for o, seeds := range c.episodes {
		if o.strategy == strategy && bare(o) == bare(s) && keep(o) {
			return seeds
		}
	}
	return nil
}

// where names a pair's episode.
func (c *Collector) where(p *pairOfWalks) string {
	model := modelCell(p.model, c.modelNames())
	return fmt.Sprintf("%s %s, %s, seed %d, episode %d", named(Category{Name: model.Display(), Tag: model.Tag}), modalityNames[p.modality], regimeTitle(p.regime), p.seed, p.episode)
}

// endWords say how an episode ended.
var endWords = [3]string{"reached G", "died", "ran out of steps"}

func (k *walk) told() string {
	return fmt.Sprintf("%s after %s", endWords[k.end], countOf(k.steps, "step"))
}

// routeOf draws a walk.
func routeOf(strategy string, k *walk, s *setting) Route {
	return Route{Key: strategy, Name: StrategyName(strategy), Outcome: ends[k.end], Cells: k.cells(s.rows, s.cols)}
}

// needRoutes is what figures of routes ask for.
const needRoutes = "episodes of no-filter and omcd on the same instance: spatialstale run --task navigate --strategy no-filter,omcd"

// needPair is needRoutes, unless the run has planned such episodes and lost them.
func needPair(lost *Trials) string {
	if !lost.lossy() {
		return needRoutes
	}
	return fmt.Sprintf("finished episodes of no-filter and omcd on the same instance; %s planned ones finished", lost.told())
}

// routesFigure is one instance before and after, with the routes of NoFilter
// and OMCD (paper, Figure 1).
func (c *Collector) routesFigure() Figure {
	f := Figure{
		ID:    "figure-1-routes",
		Title: "One lake before and after, with the routes of NoFilter and OMCD",
		Paper: "Figure 1",
		About: "Left: the lake as the memory has it. Right: as it was when the agent walked. Both routes are of the same model on the same instance; NoFilter was shown the whole memory, OMCD what its audits left of it.",
		Need:  needRoutes,
	}
	warnings, lost := c.lostWalks("no-filter", auditStrategy)
	p := c.pairOf()
	if p == nil {
		f.Warnings, f.Need = warnings, needPair(lost)
		return f
	}
	f.lose(lost, "episodes of NoFilter and OMCD", "This one is found among those that have.")
	w := c.instances[instanceKey{p.regime, p.rows, p.cols, p.seed}]
	now := w.as(max(p.raw.steps, p.audited.steps) - 1)
	title := fmt.Sprintf("as it is: %d of %d entries stale", w.countFalse(&now), len(w.claims))
	if len(w.events) > 0 {
		title += " by the end"
	}
	before := &Scene{Rows: w.original.Rows()}
	after := w.scene(&now)
	for _, s := range []*Scene{before, after} {
		s.Routes = []Route{routeOf("no-filter", p.raw, &p.setting), routeOf("omcd", p.audited, &p.setting)}
	}
	f.Across = 2
	f.Panels = []Panel{{Title: "as remembered", Scene: before}, {Title: title, Scene: after}}
	f.Feet = []string{
		c.where(p) + ". NoFilter " + p.raw.told() + ", OMCD " + p.audited.told() + ".",
	}
	f.Notes = []string{pairRule, "Shown: " + pairKinds[p.kind] + "."}
	if p.kind > 0 {
		f.Warnings = []string{"The run has no episode in which " + pairKinds[0] + "; the closest is shown: " + pairKinds[p.kind] + "."}
	}
	f.Warnings = append(f.Warnings, warnings...)
	f.about(c, []string{p.model})
	return f
}

// traceFigure is one episode under each strategy (paper, appendix G).
func (c *Collector) traceFigure() Figure {
	f := Figure{
		ID:    "figure-trace",
		Title: "One episode under each strategy",
		Paper: "appendix G",
		About: "The same model on the same instance and episode, with each strategy’s memory: the way it went over the lake as it was at the end, and how that ended.",
		Need:  needRoutes,
	}
	warnings, lost := c.lostWalks()
	f.Warnings = warnings
	p := c.pairOf()
	if p == nil {
		f.Need = needPair(lost)
		return f
	}
	f.lose(lost, "episodes", "This one is found among those that have.")
	w := c.instances[instanceKey{p.regime, p.rows, p.cols, p.seed}]
	keep, _ := c.principal(slices.Collect(maps.Keys(c.episodes)))
	var strategies []string
	for s := range c.episodes {
		if bare(s) == p.setting && keep(s) {
			addNew(&strategies, s.strategy)
		}
	}
	slices.SortFunc(strategies, func(a, b string) int { return compareNames(a, b, strategyOrder, c.plan.strategies) })
	for _, strategy := range strategies {
		e := c.counterpartOf(p.setting, strategy, keep)[p.seed]
		if e == nil {
			continue
		}
		k := e.walkAt(p.episode)
		if k == nil {
			if e.lost() > 0 {
				start := w.as(-1)
				f.Panels = append(f.Panels, Panel{Title: StrategyName(strategy) + ": no result", Remarks: []string{"the episode failed or has no record"}, Scene: w.scene(&start)})
			}
			continue
		}
		now := w.as(k.steps - 1)
		scene := w.scene(&now)
		scene.Routes = []Route{routeOf(strategy, k, &p.setting)}
		f.Panels = append(f.Panels, Panel{Title: fmt.Sprintf("%s: %s", StrategyName(strategy), ends[k.end]), Remarks: []string{k.told()}, Scene: scene})
	}
	f.Across = min(3, max(1, len(f.Panels)))
	f.Feet = []string{c.where(p) + "."}
	f.Notes = []string{"The episode is that of the figure of routes. " + pairRule}
	f.about(c, []string{p.model})
	return f
}

// regimesFigure shows one seed's lake under each regime, and how much of the
// memory each makes stale over all seeds (paper, Figure 2).
func (c *Collector) regimesFigure() Figure {
	f := Figure{
		ID:    "figure-2-regimes",
		Title: "The regimes: one lake under each, and how much they make stale",
		Paper: "Figure 2",
		About: "Above: the lake of one seed as the memory has it, and after all changes of each regime. Below: the share of stale entries of all seeds.",
		Need:  "instances, which every run has",
	}
	groups := c.regimeGroups()
	if len(groups) == 0 {
		return f
	}
	size := [2]int{groups[0].rows, groups[0].cols} // of all of them: Figures sees to it
	seed, ok := c.sharedSeed(groups, size)
	if ok {
		for i, g := range groups {
			w := c.instances[instanceKey{g.regime, size[0], size[1], seed}]
			if i == 0 {
				f.Panels = append(f.Panels, Panel{Title: "as remembered", Scene: &Scene{Rows: w.original.Rows()}})
			}
			after := w.after()
			f.Panels = append(f.Panels, Panel{Title: regimeTitle(g.regime), Remarks: []string{fmt.Sprintf("%d of %d entries stale", w.countFalse(&after), len(w.claims))}, Scene: w.scene(&after)})
		}
	}
	f.Across = max(1, len(f.Panels))
	f.Panels = append(f.Panels, shareDistribution(groups))
	var ns []int
	for _, g := range groups {
		ns = append(ns, len(g.instances))
	}
	f.Feet = []string{spread("seed", ns) + " a regime. Discs: one share each, their area the number of seeds with it. Below them: mean ± standard deviation over seeds."}
	if ok {
		f.Feet = append(f.Feet, fmt.Sprintf("The lakes are those of seed %d; in L3, after its last change.", seed))
		f.Notes = append(f.Notes, "The seed is the smallest that the run has under every regime.")
	}
	return f
}

// sharedSeed returns the smallest seed that all groups have.
func (c *Collector) sharedSeed(groups []*regimeGroup, size [2]int) (int, bool) {
	best, found := 0, false
	for k := range c.instances {
		missing := slices.ContainsFunc(groups, func(g *regimeGroup) bool {
			return c.instances[instanceKey{g.regime, size[0], size[1], k.seed}] == nil
		})
		if !missing && (!found || k.seed < best) {
			best, found = k.seed, true
		}
	}
	return best, found
}

// shareDistribution is the chart of stale shares over seeds.
func shareDistribution(groups []*regimeGroup) Panel {
	p := Panel{Title: "stale share over seeds", Wide: true, X: Axis{Label: "share of the memory’s entries that are stale"}}
	seeds := Series{Key: "seeds", Name: "seeds", Mark: Discs}
	ours := Series{Key: "ours", Name: "this run, mean ± sd", Mark: Dots}
	paper := Series{Key: "paper", Name: "the paper, mean ± sd", Mark: Dots}
	for i, g := range groups {
		p.Categories = append(p.Categories, Category{Name: regimeTitle(g.regime)})
		counts := make(map[int]int)
		for _, w := range g.instances {
			counts[w.stale]++
		}
		for _, stale := range slices.Sorted(maps.Keys(counts)) {
			seeds.Points = append(seeds.Points, Point{Category: i, X: quotient(stale, g.cells()), N: counts[stale]})
		}
		ours.Points = append(ours.Points, meanAndSD(i, defined(g.shares())))
		if figure := g.published("stale-share"); figure != nil && figure.Value != nil {
			point := Point{Category: i, X: figure.Value, N: publishedSeeds, Label: fmt.Sprintf("%.3f", *figure.Value)}
			if figure.SD != nil {
				point.XRange = &Span{Low: *figure.Value - *figure.SD, High: *figure.Value + *figure.SD}
				point.Label += fmt.Sprintf(" ± %.3f", *figure.SD)
			}
			paper.Points = append(paper.Points, point)
		}
	}
	p.Series = []Series{seeds, ours}
	if len(paper.Points) > 0 {
		p.Series = append(p.Series, paper)
	}
	p.X.Max = niceMax(p.Series, 0.05)
	return p
}

// meanAndSD is a point whose whiskers are one standard deviation long.
func meanAndSD(category int, xs []float64) Point {
	p := Point{Category: category, N: len(xs)}
	if len(xs) == 0 {
		return p
	}
	mean := stats.Mean(xs)
	p.X, p.Label = &mean, fmt.Sprintf("%.3f", mean)
	if len(xs) > 1 {
		sd := stats.StdDev(xs)
		p.XRange = &Span{Low: max(0, mean-sd), High: mean + sd}
		p.Label += fmt.Sprintf(" ± %.3f", sd)
	}
	return p
}

// niceMax returns the least multiple of a step that no value along X exceeds.
func niceMax(series []Series, step float64) float64 {
	most := step
	for _, s := range series {
		for _, p := range s.Points {
			if p.X != nil {
				most = max(most, *p.X)
			}
			if p.XRange != nil {
				most = max(most, p.XRange.High)
			}
		}
	}
	n := 1
	for float64(n)*step < most {
		n++
	}
	return float64(n) * step
}

// joined names things in a sentence, as in "L1, L2 and L3".
func joined(names []string) string {
	switch n := len(names); n {
	case 0, 1:
		return strings.Join(names, "")
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}
