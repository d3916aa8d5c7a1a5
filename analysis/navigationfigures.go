package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// An outings is what figures of episodes show of one modality: one batch,
// wording and size. Cells all of whose episodes are lost keep their places.
type outings struct {
	modality                    string
	groups                      groups[episodeTally]
	models, regimes, strategies []string
	choice                      string // what is shown of what the run has; empty when that is all
}

// shownEpisodes picks them.
func (c *Collector) shownEpisodes(modality string) outings {
	var settings []setting
	for s := range c.episodes {
		if s.modality == modality {
			settings = append(settings, s)
		}
	}
	keep, choice := c.principal(settings)
	o := outings{modality: modality, groups: make(groups[episodeTally]), choice: choice}
	for _, s := range settings {
		if !keep(s) {
			continue
		}
		o.groups[s] = c.episodes[s]
		addNew(&o.models, s.model)
		addNew(&o.regimes, s.regime)
		addNew(&o.strategies, s.strategy)
	}
	slices.SortFunc(o.models, c.plan.compareModels)
	slices.SortFunc(o.regimes, c.plan.compareRegimes)
	slices.SortFunc(o.strategies, func(a, b string) int { return compareNames(a, b, strategyOrder, c.plan.strategies) })
	return o
}

// at returns the seeds of one cell of a figure, nil for none.
func (o *outings) at(model, regime, strategy string) map[int]*episodeTally {
	for s, seeds := range o.groups {
		if s.model == model && s.regime == regime && s.strategy == strategy {
			return seeds
		}
	}
	return nil
}

// trials counts the episodes of a model under a strategy, in some regimes; of
// all models for an empty name.
func (o *outings) trials(model, strategy string, regimes []string) *Trials {
	var t *Trials
	for s, seeds := range o.groups {
		if (model == "" || s.model == model) && s.strategy == strategy && slices.Contains(regimes, s.regime) {
			t = t.plus(trialsOf(seeds, progressOfEpisodes))
		}
	}
	return t
}

// finish adds what all figures of episodes say of those under the strategies
// that it shows; then are the sentences that follow the one on lost trials.
func (o *outings) finish(c *Collector, f *Figure, strategies []string, then ...string) {
	var all []*episodeGroup
	var t *Trials
	for s, seeds := range o.groups {
		if slices.Contains(strategies, s.strategy) {
			all = append(all, &episodeGroup{setting: s, seeds: slices.Collect(maps.Values(seeds))})
			t = t.plus(trialsOf(seeds, progressOfEpisodes))
		}
	}
	f.Warnings = append(f.Warnings, progressWarnings(all, "episodes", progressOfEpisodes)...)
	f.lose(t, "episodes", then...)
	if o.choice != "" {
		f.Feet = append(f.Feet, o.choice)
	}
	f.about(c, o.models)
}

// needEpisodes says how to get the episodes of a modality.
func needEpisodes(modality string) string {
	if modality == record.Vision {
		return "episodes from images: spatialstale run vision"
	}
	return "episodes from text: spatialstale run --task navigate"
}

// strategiesFigure is what stale memory costs and what an audit gives back
// (paper, Figure 5).
func (c *Collector) strategiesFigure(modality string) Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-5-strategies",
		Title: "Success and death with raw, audited and truly filtered memory, " + modalityNames[modality],
		Paper: "Figure 5",
		About: "Mean over seeds of the share of episodes that reached G (above) and that ended in a hole (below). NoFilter is shown the whole memory, OMCD what its audits leave, Oracle what is true.",
		Need:  needEpisodes(modality),
	}
	if modality == record.Vision {
		f.ID += "-vision"
		f.Paper = ""
	}
	o := c.shownEpisodes(modality)
	var shown []string
	for _, s := range []string{"no-filter", "omcd", "oracle"} {
		if slices.Contains(o.strategies, s) {
			shown = append(shown, s)
		}
	}
	if len(shown) == 0 {
		return f
	}
	var ns, episodes []int
	for _, end := range []int{endSuccess, endDeath} {
		for _, regime := range o.regimes {
			p := Panel{Title: regimeTitle(regime), Categories: c.categoriesOf(o.models), X: share(ends[end] + " rate")}
			for _, strategy := range shown {
				s := Series{Key: strategy, Name: StrategyName(strategy), Mark: Bars}
				for i, model := range o.models {
					seeds := o.at(model, regime, strategy)
					if seeds == nil {
						continue
					}
					point := iv.mean(bySeed(seeds, progressOfEpisodes, func(e *episodeTally) *float64 { return quotient(e.ends[end], e.finished) }), 0, 1)
					point.Category = i
					point.count(trialsOf(seeds, progressOfEpisodes))
					point.XBounds = boundsOf(seeds, func(e *episodeTally) seedValue { return e.rate(end) })
					if point.N > 0 {
						ns = append(ns, point.N)
					}
					episodes = append(episodes, bySeed(seeds, progressOfEpisodes, func(e *episodeTally) int { return e.finished })...)
					s.Points = append(s.Points, point)
				}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Across = len(o.regimes)
	mean := "No episode has finished. "
	if len(ns) > 0 {
		mean = "Mean over " + spread("seed", ns) + " of " + spread("episode", episodes) + " each, which are averaged first. "
	}
	f.Feet = feet(mean + iv.words())
	if len(shown) < 3 {
		f.Notes = append(f.Notes, "The run has no "+missingOf([]string{"no-filter", "omcd", "oracle"}, shown)+": spatialstale run --task navigate --strategy no-filter,omcd,oracle.")
	}
	f.Notes = append(f.Notes, "The other strategies of the run are in the tables of navigation.")
	o.finish(c, &f, shown, beside)
	return f
}

// missingOf names the strategies that a run lacks.
func missingOf(all, has []string) string {
	var names []string
	for _, s := range all {
		if !slices.Contains(has, s) {
			names = append(names, StrategyName(s))
		}
	}
	return joined(names)
}

// lengthFigure is how long episodes last, by how they end (paper, Figure 6).
func (c *Collector) lengthFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-6-lengths",
		Title: "Length of episodes, by how they end",
		Paper: "Figure 6",
		About: "Mean number of steps over all episodes with that end, all regimes together, from text. A death after few steps is a rush into a hole.",
		Need:  needEpisodes(record.Text),
	}
	o := c.shownEpisodes(record.Text)
	var ns []int
	for _, end := range []int{endSuccess, endDeath} {
		p := Panel{Title: "episodes that " + []string{"reached G", "ended in a hole"}[end], Categories: c.categoriesOf(o.models), X: Axis{Label: "mean steps"}}
		for _, strategy := range o.strategies {
			s := Series{Key: strategy, Name: StrategyName(strategy), Mark: Bars}
			for i, model := range o.models {
				trials := o.trials(model, strategy, o.regimes)
				if trials == nil {
					continue
				}
				pairs := o.lengths(model, strategy, end)
				point := iv.pooled(pairs, nil)
				point.Category = i
				if trials.Finished > 0 {
					ns = append(ns, len(pairs))
					point.Label = "n = " + thousands(point.N)
				}
				point.count(trials)
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	if len(o.models) == 0 {
		f.Panels = nil
		return f
	}
	most := max(niceMax(f.Panels[0].Series, 5), niceMax(f.Panels[1].Series, 5))
	for i := range f.Panels {
		f.Panels[i].X.Max = most
	}
	f.Across = 2
	of := ""
	if len(ns) > 0 {
		of = "of " + spread("seed", ns) + ", "
	}
	f.Feet = feet("n: episodes with that end, " + of + joined(o.regimes) + " together. " + iv.words())
	f.Notes = append(f.Notes, "An episode that ran out of steps has the length of the step budget and is in neither chart. Without whiskers: too few seeds had such an episode, or all were equally long.")
	o.finish(c, &f, o.strategies, beside)
	return f
}

// lengths returns the steps and number of a model's episodes with one end, seed
// by seed, all regimes together.
func (o *outings) lengths(model, strategy string, end int) []pair {
	bySeed := make(map[int]pair)
	for _, regime := range o.regimes {
		for seed, e := range o.at(model, regime, strategy) {
			if e.finished > 0 {
				p := bySeed[seed]
				p.plus(pair{e.steps[end], e.ends[end]})
				bySeed[seed] = p
			}
		}
	}
	var out []pair
	for _, seed := range slices.Sorted(maps.Keys(bySeed)) {
		out = append(out, bySeed[seed])
	}
	return out
}

// An association sets two measures of episodes against each other, seed by
// seed: each a mean over the seed's episodes that audited.
type association struct {
	x, y      []float64
	xs, ys    [][]float64 // behind them, episode by episode
	undefined int         // seeds without an x
}

// associate makes one of the seeds of a setting, in ascending order. An episode
// without an x (F1 where nothing was stale and nothing flagged) is left out of
// its seed's mean of x.
func associate(seeds map[int]*episodeTally, x func(*walk) *float64, y func(*walk) float64) association {
	var a association
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		var xs, ys []float64
		walks := seeds[seed].inOrder()
		for i := range walks {
			k := &walks[i]
			if !k.audits.asked {
				continue
			}
			ys = append(ys, y(k))
			if v := x(k); v != nil {
				xs = append(xs, *v)
			}
		}
		if len(ys) == 0 {
			continue
		}
		if len(xs) == 0 {
			a.undefined++
			continue
		}
		a.x, a.y = append(a.x, stats.Mean(xs)), append(a.y, stats.Mean(ys))
		a.xs, a.ys = append(a.xs, xs), append(a.ys, ys)
	}
	return a
}

// ceiling returns the greatest correlation that measures so unreliable could
// show.
func (a *association) ceiling(observed *float64) (stats.CeilingResult, error) {
	x, err := stats.Clusters(a.xs)
	if err != nil {
		return stats.CeilingResult{}, err
	}
	y, err := stats.Clusters(a.ys)
	if err != nil {
		return stats.CeilingResult{}, err
	}
	return stats.Attenuation(x.ICCMean, y.ICCMean, observed)
}

// told says what the correlation is, a line for each of its parts.
func (a *association) told() []string {
	lines := []string{}
	pearson, err := stats.Pearson(a.x, a.y, stats.CorrelationOptions{})
	if err != nil {
		return []string{"no correlation: " + err.Error()}
	}
	spearman, err := stats.Spearman(a.x, a.y, stats.CorrelationOptions{})
	if err != nil {
		return []string{"no correlation: " + err.Error()}
	}
	if pearson.R == nil || spearman.R == nil {
		return []string{"no correlation: F1 or success does not vary, or too few seeds"}
	}
	line := "Pearson " + signed(*pearson.R)
	if pearson.Interval != nil {
		line += fmt.Sprintf(" [%s, %s]", signed(pearson.Interval.Low), signed(pearson.Interval.High))
	}
	lines = append(lines, line+", "+probability(pearson.P), "Spearman "+signed(*spearman.R)+", "+probability(spearman.P))
	return append(lines, ceilingWord(sure(a.ceiling(pearson.R))))
}

// ceilingWord says what the ceiling of a correlation is. An estimate at or below
// 0 of how reliable a measure is says only that these data cannot tell.
func ceilingWord(r stats.CeilingResult) string {
	switch {
	case r.Warned(stats.NegativeVar):
		return "ceiling not estimable: reliability estimated at or below\u00a00"
	case r.Ceiling == nil:
		return "ceiling undefined"
	case r.Warned(stats.OutsideRange):
		return fmt.Sprintf("ceiling estimated at %.2f, below r: sampling error", *r.Ceiling)
	}
	return fmt.Sprintf("ceiling %.2f", *r.Ceiling)
}

// signed writes a number with a minus sign that is as wide as a plus.
func signed(x float64) string {
	text := fmt.Sprintf("%.2f", x)
	switch {
	case text == "-0.00":
		return "0.00"
	case x < 0:
		return "−" + text[1:]
	}
	return text
}

// associationFigure sets F1 against success, seed by seed (paper, Figure 9).
func (c *Collector) associationFigure() Figure {
	f := Figure{
		ID:    "figure-9-f1-success",
		Title: "F1 of an agent’s own audits against its success, seed by seed",
		Paper: "Figure 9",
		About: "Each disc is a seed, or several: F1 of the audits that OMCD made in the seed’s own episodes against the share of them that reached G, from text. A correlation near 0 means little when its ceiling is low: r cannot be higher, because a mean over few episodes is a noisy measure.",
		Need:  "episodes of omcd from text: spatialstale run --task navigate --strategy omcd",
	}
	o := c.shownEpisodes(record.Text)
	names := c.categoriesOf(o.models)
	var ns []int
	undefined := 0
	for i, model := range o.models {
		for _, regime := range o.regimes {
			a := associate(o.at(model, regime, auditStrategy),
				func(k *walk) *float64 { return k.audits.f1() },
				func(k *walk) float64 { return float64(index(k.end == endSuccess)) })
			undefined += a.undefined
			p := Panel{Title: regimeTitle(regime), X: share("F1 of own audits"), Y: share("success rate")}
			if len(o.models) > 1 {
				p.Title = named(names[i]) + ", " + regime
			}
			trials := o.trials(model, auditStrategy, []string{regime})
			switch {
			case len(a.x) > 0:
				p.Series = []Series{{Key: "seeds", Name: "seeds", Mark: Discs, Points: stacked(a.x, a.y)}}
				p.Remarks = a.told()
				ns = append(ns, len(a.x))
			case trials.lossy() && trials.Finished == 0:
				p.Empty = trials.told() + " finished"
			default:
				p.Remarks = []string{"no audit with an F1"}
			}
			if trials.lossy() && trials.Finished > 0 {
				p.Remarks = append(p.Remarks, trials.told()+" episodes finished")
			}
			f.Panels = append(f.Panels, p)
		}
	}
	lost := o.trials("", auditStrategy, o.regimes).lossy()
	if len(ns) == 0 && !lost {
		f.Panels = nil
		return f
	}
	f.Across = len(o.regimes)
	f.Feet = []string{"No episode has finished."}
	if len(ns) > 0 {
		f.Feet = []string{
			spread("seed", ns) + " a chart; the area of a disc is their number.",
			"Brackets: 95% interval by Fisher’s z. Ceiling, an estimate: the greatest r that means so unreliable, by ICC(1,k), can show.",
		}
	}
	f.Notes = append(f.Notes, "F1 and success are means over a seed’s episodes; F1 of an episode is over all its audits together. The ceiling is the square root of the product of both reliabilities (Spearman 1904). Where a reliability is estimated at or below 0, or a measure does not vary, there is none: then the run cannot tell.")
	if undefined > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("Left out: %s whose audits have no F1, because nothing was stale and nothing flagged.", countOf(undefined, "seed")))
	}
	if len(o.models) == 1 {
		f.Notes = append(f.Notes, "Model: "+named(names[0])+".")
	}
	o.finish(c, &f, []string{auditStrategy}, "Seeds’ means are over what is left.")
	return f
}

// stacked puts pairs that are the same into one point, in ascending order.
func stacked(xs, ys []float64) []Point {
	type at struct{ x, y float64 }
	counts := make(map[at]int)
	for i := range xs {
		counts[at{xs[i], ys[i]}]++
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b at) int {
		switch {
		case a.x < b.x || a.x == b.x && a.y < b.y:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	out := make([]Point, len(keys))
	for i, k := range keys {
		out[i] = Point{X: new(k.x), Y: new(k.y), N: counts[k]}
	}
	return out
}

// f1Bins are the classes of F1 of an episode's own audits; the last holds 1
// alone.
var f1Bins = []struct {
	name      string
	low, high float64
}{
	{"F1 below 0.5", 0, 0.5},
	{"0.5 to 0.7", 0.5, 0.7},
	{"0.7 to 0.9", 0.7, 0.9},
	{"0.9 to below 1", 0.9, 1},
	{"F1 of 1", 1, 2},
}

// staleDeathFigure tells how often episodes end on a cell whose entry was
// stale, by how well their own audits did (paper, section 5.4).
func (c *Collector) staleDeathFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-stale-deaths",
		Title: "Deaths on stale cells, by the F1 of the episode’s own audits",
		Paper: "section 5.4",
		About: "Of the episodes of OMCD whose audits reached an F1, the share that died on a cell whose entry was stale then, from text. If detection were all that mattered, the bars would shrink to nothing from the top down.",
		Need:  "episodes of omcd from text: spatialstale run --task navigate --strategy omcd",
	}
	o := c.shownEpisodes(record.Text)
	names := c.categoriesOf(o.models)
	any := false
	for _, regime := range o.regimes {
		p := Panel{Title: regimeTitle(regime), X: share("died on a stale cell")}
		p.Remarks = finishedRemark(names, func(i int) *Trials { return o.trials(o.models[i], auditStrategy, []string{regime}) })
		for _, bin := range f1Bins {
			p.Categories = append(p.Categories, Category{Name: bin.name})
		}
		for i, model := range o.models {
			seeds := o.at(model, regime, auditStrategy)
			s := Series{Key: fmt.Sprint(i + 1), Name: named(names[i]), Mark: Bars}
			for b, bin := range f1Bins {
				pairs := staleDeaths(seeds, bin.low, bin.high)
				if len(pairs) == 0 {
					continue
				}
				any = true
				point := iv.pooled(pairs, &stats.Range{Low: 0, High: 1})
				point.Category = b
				point.Label = "n = " + thousands(point.N)
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	if !any && !o.trials("", auditStrategy, o.regimes).lossy() {
		f.Panels = nil
		return f
	}
	f.Across = len(o.regimes)
	f.Feet = feet("n: episodes. No bar: no episode with such an F1. " + iv.words())
	o.finish(c, &f, []string{auditStrategy}, "Nobody can tell what F1 theirs would have been.")
	return f
}

// staleDeaths returns, of each seed that has episodes whose audits' F1 lies
// from low to below high, how many of them died on a stale cell, of how many.
func staleDeaths(seeds map[int]*episodeTally, low, high float64) []pair {
	var out []pair
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		var p pair
		for _, k := range seeds[seed].walks {
			if f1 := k.audits.f1(); k.audits.asked && f1 != nil && low <= *f1 && *f1 < high {
				p.plus(pair{index(k.end == endDeath && k.onStale), 1})
			}
		}
		if p.of > 0 {
			out = append(out, p)
		}
	}
	return out
}
