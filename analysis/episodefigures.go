package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// showEpisodes picks the episodes from one modality under some strategies, under
// all for none.
func (d *drawing) showEpisodes(modality string, strategies ...string) {
	d.show(record.Navigate, func(s *Setting) bool {
		return s.Modality == modality && (len(strategies) == 0 || slices.Contains(strategies, s.Strategy))
	})
}

// strategies are what stale memory costs and what an audit gives back (paper,
// Figure 5).
func (d *drawing) strategies(modality string) {
	d.Figure = Figure{ID: "figure-5-strategies", Title: "Success and death with raw, audited and truly filtered memory, " + record.Modalities.Legend(modality), Topic: TopicNavigation, Paper: "Figure 5", Need: needEpisodes(modality),
		About: "Mean over seeds of the share of episodes that reached G (above) and that ended in a hole (below). NoFilter is shown the whole memory, OMCD what its audits leave, Oracle what is true."}
	if modality == record.Vision {
		d.ID, d.Paper = d.ID+"-vision", ""
	}
	d.showEpisodes(modality, "no-filter", auditStrategy, record.OracleStrategy)
	d.losses = []string{nextTo}
	ends := []facet{{axis: "success rate", measure: success}, {axis: "death rate", measure: death}}
	d.chart(chart{panels: crossed(ends, d.by(byRegime)), series: d.by(byStrategy), rows: d.byModel()})
	d.Across = len(d.by(byRegime))
	d.foot("Mean over " + spread("seed", d.seeds) + " of " + spread("episode", d.trials) + " each, which are averaged first.")
	if shown := keys(d.by(byStrategy)); len(shown) < 3 {
		d.Notes = append(d.Notes, "Of the three strategies the run has "+joined(shown)+": spatialstale run --task navigate --strategy no-filter,omcd,oracle.")
	}
	d.Notes = append(d.Notes, "The other strategies of the run are in the tables of navigation.")
}

// lengths are how long episodes last, by how they end (paper, Figure 6).
func (d *drawing) lengths() {
	d.Figure = Figure{ID: "figure-6-lengths", Title: "Length of episodes, by how they end", Topic: TopicNavigation, Paper: "Figure 6", Need: needEpisodes(record.Text),
		About: "Mean number of steps over all episodes with that end, all regimes together, from text. A death after few steps is a rush into a hole."}
	d.showEpisodes(record.Text)
	if len(d.groups) == 0 {
		return
	}
	d.losses = []string{nextTo}
	ends := []facet{{name: "episodes that reached G", measure: lengths[endSuccess]}, {name: "episodes that ended in a hole", measure: lengths[endDeath]}}
	d.chart(chart{panels: ends, series: d.by(byStrategy), rows: d.byModel(), axis: "mean steps", pooled: true, label: labelN})
	most := niceMax(5, d.Panels...)
	for i := range d.Panels {
		d.Panels[i].X.Max = most
	}
	d.foot("n: episodes with that end, of " + spread("seed", d.seeds) + ", " + joined(keys(d.by(byRegime))) + " together.")
	d.Notes = []string{"An episode that ran out of steps has the length of the step budget and is in neither chart. Without whiskers: too few seeds had such an episode, or all were equally long."}
}

// showDetected picks the episodes of OMCD from text whose model the run has
// detections of by the same audit.
func (d *drawing) showDetected() {
	d.Need = "detections and episodes of omcd from text: spatialstale run --strategy omcd"
	d.showEpisodes(record.Text, auditStrategy)
	d.keep(func(s *Setting) bool { return d.frame.detectionsOf(*s) != nil })
	var detections []*Group
	for _, g := range d.groups {
		detections = append(detections, d.frame.detectionsOf(g.Setting))
	}
	d.Warnings = lostWarnings(detections, record.Detect)
}

// association sets the F1 of detection against success, seed by seed (paper,
// Figure 9).
func (d *drawing) association() {
	d.Figure = Figure{ID: "figure-9-f1-success", Title: "F1 in detection against success in navigation, seed by seed", Topic: TopicDeaths, Paper: "Figure 9",
		About: "Each disc is a seed, or several: the model’s F1 in the detection task on the seed’s lake against the share of the seed’s episodes under OMCD that reached G, both from text. A correlation near 0 means little when its ceiling is low: r cannot be higher, because a mean over few episodes is a noisy measure."}
	d.showDetected()
	d.losses = []string{"Seeds’ means are over what is left."}
	undefined := 0
	d.plane(Panel{X: Axis{"F1 in detection", 0, 1}, Y: Axis{"success rate", 0, 1}}, Discs, crossed(d.byModel(), d.by(byRegime)), []facet{{key: "seeds", name: "seeds"}}, func(g *Group, p *Panel) []Point {
		a := d.frame.associateF1(g, success)
		undefined, d.seeds = undefined+a.undefined, append(d.seeds, len(a.x))
		k := a.correlate()
		p.Remarks = append(p.Remarks, k.told("F1 or success does not vary, or too few seeds")...)
		return stacked(a.x, a.y)
	})
	d.Across = len(d.by(byRegime))
	d.Feet = []string{spread("seed", d.seeds) + " a chart; the area of a disc is their number.",
		"Brackets: 95% interval by Fisher’s z. Ceiling, an estimate: the greatest r that success over so few episodes, by ICC(1,k), can show."}
	d.Notes = []string{"F1 is that of one detection a seed (L3: of all its audits together), success the mean over the seed’s episodes. The ceiling is the square root of the reliability of success (Spearman 1904), F1 taken as exact, because one detection a seed does not tell how reliable it is. Where the reliability is estimated at or below 0, or success does not vary, there is none: then the run cannot tell."}
	if undefined > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("Left out: %s without an F1, because the detection was lost, or nothing was stale and nothing flagged.", countOf(undefined, "seed")))
	}
}

// told says what a correlation is, a line for each of its parts, or why there is
// none.
func (k *correlated) told(why string) []string {
	if k.pearson.R == nil || k.spearman.R == nil {
		return []string{"no correlation: " + why}
	}
	line := "Pearson " + signed(*k.pearson.R, 2)
	if in := k.pearson.Interval; in != nil {
		line += fmt.Sprintf(" [%s, %s]", signed(in.Low, 2), signed(in.High, 2))
	}
	ceiling := "ceiling undefined"
	switch r := k.ceiling; {
	case r.Warned(stats.NegativeVar): // which says only that these data cannot tell
		ceiling = "ceiling not estimable: reliability estimated at or below\u00a00"
	case r.Ceiling != nil && r.Warned(stats.OutsideRange):
		ceiling = fmt.Sprintf("ceiling estimated at %.2f, below r: sampling error", *r.Ceiling)
	case r.Ceiling != nil:
		ceiling = fmt.Sprintf("ceiling %.2f", *r.Ceiling)
	}
	return []string{line + ", " + probability(k.pearson.P), "Spearman " + signed(*k.spearman.R, 2) + ", " + probability(k.spearman.P), ceiling}
}

// stacked puts pairs that are the same into one point, in ascending order.
func stacked(xs, ys []float64) []Point {
	var out []Point
	for i := range xs {
		k, found := slices.BinarySearchFunc(out, i, func(p Point, i int) int { return cmp.Or(cmp.Compare(*p.X, xs[i]), cmp.Compare(*p.Y, ys[i])) })
		if !found {
			out = slices.Insert(out, k, Point{X: &xs[i], Y: &ys[i]})
		}
		out[k].N++
	}
	return out
}

// f1Bins are classes of F1, each from low to below high.
var f1Bins = []struct {
	name      string
	low, high float64
}{
	{"F1 below 0.5", 0, 0.5}, {"0.5 to 0.7", 0.5, 0.7}, {"0.7 to 0.9", 0.7, 0.9}, {"0.9 to below 1", 0.9, 1}, {"F1 of 1", 1, 2},
}

// staleDeath is how often an episode ended on a cell whose entry was stale.
var staleDeath = &measure{key: "stale_death", words: "died on a stale cell", high: 1, rate: true, lower: true,
	of: func(r *Row) (int, int) { return index(r.end == endDeath && r.onStale.count > 0), 1 }}

// staleDeaths tell how often episodes end on a cell whose entry was stale, by how
// well the model detects on the seed's lake (paper, section 5.4).
func (d *drawing) staleDeaths() {
	d.Figure = Figure{ID: "figure-stale-deaths", Title: "Deaths on stale cells, by the seed’s F1 in detection", Topic: TopicDeaths, Paper: "section 5.4",
		About: "Seeds by the model’s F1 in the detection task on their lakes: of their episodes under OMCD, the share that died on a cell whose entry was stale then, both from text. If detection were all that mattered, the bars would shrink to nothing from the top down."}
	d.showDetected()
	d.losses = []string{nextTo}
	var bins []facet
	for _, bin := range f1Bins {
		bins = append(bins, facet{name: bin.name, cut: func(g *Group) *Group {
			out, audits := &Group{Setting: g.Setting}, d.frame.detectionsOf(g.Setting)
			for _, s := range g.Seeds {
				if v, _ := f1.seed(audits, audits.at(s.Seed)); v != nil && bin.low <= *v && *v < bin.high {
					out.Seeds = append(out.Seeds, s)
				}
			}
			return out
		}})
	}
	d.chart(chart{panels: d.by(byRegime), series: numbered(d.byModel()), rows: bins, measure: staleDeath, axis: staleDeath.words, pooled: true, label: labelN})
	d.foot("n: episodes. No bar: no seed with such an F1; a seed without any is in none.")
}
