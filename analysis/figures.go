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

// figures are all of them, the paper's in its order, then the diagnostics. A
// further figure is a line here, and its specification in the file of its topic.
var figures = []func(*drawing){
	(*drawing).routes,
	(*drawing).regimes,
	(*drawing).detection,
	(*drawing).flagRates,
	func(d *drawing) { d.strategies(record.Text) },
	func(d *drawing) { d.strategies(record.Vision) },
	(*drawing).lengths,
	(*drawing).precisionRecall,
	(*drawing).directions,
	(*drawing).association,
	(*drawing).trace,
	(*drawing).staleDeaths,
	(*drawing).behaviours,
}

// Figures returns every figure, also those without panels, whose Need says how
// to get them. Where a run has lakes of several sizes each figure is of one: of
// the paper's where the run has it, of the smallest otherwise; those of the other
// sizes stand behind it, under its ID with their size.
func (f *Frame) Figures() []Figure {
	f.finish()
	sizes := f.gridSizes()
	out := make([]Figure, len(figures)*len(sizes))
	inParallel(len(out), func(i int) {
		d := &drawing{frame: f, size: sizes[i%len(sizes)], boot: f.tests().Bootstrap}
		figures[i/len(sizes)](d)
		out[i] = d.finish(sizes)
	})
	return slices.DeleteFunc(out, func(one Figure) bool { return one.ID == "" })
}

// gridSizes returns the sizes of the lakes: the paper's first, then from small to
// large.
func (f *Frame) gridSizes() []Setting {
	all := map[Setting]bool{}
	for k := range f.histories {
		all[Setting{Rows: k.rows, Cols: k.cols}] = true
	}
	for s := range f.groups {
		all[Setting{Rows: s.Rows, Cols: s.Cols}] = true
	}
	if len(all) == 0 {
		all[Setting{}] = true
	}
	other := func(s Setting) int { return index(s.Rows != publishedSide || s.Cols != publishedSide) }
	return slices.SortedFunc(maps.Keys(all), func(a, b Setting) int {
		return cmp.Or(other(a)-other(b), bySize.compare(nil, &a, &b))
	})
}

// A drawing is a figure in the making: the trials that it shows, all of one size
// and wording, and what its feet tell of them. Cells whose trials are all lost
// keep their places.
type drawing struct {
	Figure
	frame                     *Frame
	size                      Setting
	boot                      *record.Bootstrap
	groups                    []*Group
	only                      string   // the one model that it is about; empty for all
	choice                    string   // what is shown of what the run has; empty when that is all
	losses                    []string // the sentences that follow the one on lost trials
	seeds                     []int    // behind each point
	trials                    []int    // behind each seed of each point
	resampled, exact, without bool     // some intervals are made so, some values have none
}

// show picks the trials of a task for which where is true: where a run varies
// batch or wording, the paper's if it has them, the first otherwise.
func (d *drawing) show(task string, where func(*Setting) bool) {
	all := d.frame.grouped(nil, func(s *Setting) bool {
		return s.Task == task && s.Rows == d.size.Rows && s.Cols == d.size.Cols && where(s)
	}, nil)
	if len(all) == 0 {
		return
	}
	framing, batches := all[0].Framing, map[string]int{}
	if slices.ContainsFunc(all, func(g *Group) bool { return g.Framing == publishedFraming }) {
		framing = publishedFraming
	}
	for _, g := range all {
		if old, ok := batches[g.Strategy]; g.Framing == framing && (!ok || g.Batch == publishedBatch && old != publishedBatch) {
			batches[g.Strategy] = g.Batch
		}
	}
	var shown, others []string
	for _, g := range all {
		switch {
		case g.Framing != framing:
			addNew(&shown, "the "+framing+" wording")
			addNew(&others, "the "+g.Framing+" wording")
		case g.Batch != batches[g.Strategy]:
			addNew(&shown, fmt.Sprintf("audits of %d entries a call", batches[g.Strategy]))
			addNew(&others, fmt.Sprintf("audits of %d", g.Batch))
		default:
			d.groups = append(d.groups, g)
		}
	}
	if len(others) > 0 {
		d.choice = fmt.Sprintf("Shown: %s. The tables also have %s.", joined(shown), joined(others))
	}
}

// keep leaves some of the trials that were picked.
func (d *drawing) keep(where func(*Setting) bool) {
	d.groups = slices.DeleteFunc(d.groups, func(g *Group) bool { return !where(&g.Setting) })
}

// A facet is one value of what a chart is by: one of its panels, series or rows.
type facet struct {
	key, name, tag string
	group          string              // of a row
	axis           string              // of a panel, where it is not that of the whole chart
	of             func(*Setting) bool // the trials that it is of; nil for all
	cut            func(*Group) *Group // leaves some of their seeds; nil for all
	measure        *measure            // what it is of them; nil where another facet says it
}

func (k *facet) has(s *Setting) bool { return k.of == nil || k.of(s) }

// shown is a facet's name with its tag.
func (k *facet) shown() string {
	if k.tag == "" {
		return k.name
	}
	return k.name + " (" + k.tag + ")"
}

// by returns a facet for each value of some dims that the trials have, in their
// order, named as tables show it.
func (d *drawing) by(dims ...dim) []facet {
	same := func(x, y *Setting) bool {
		return !slices.ContainsFunc(dims, func(k dim) bool { return k.compare(&d.frame.order, x, y) != 0 })
	}
	groups := slices.Clone(d.groups)
	compare := d.frame.comparing(dims)
	slices.SortFunc(groups, func(x, y *Group) int { return compare(x.Setting, y.Setting) })
	var out []facet
	for i, g := range groups {
		if i > 0 && same(&groups[i-1].Setting, &g.Setting) {
			continue
		}
		one := facet{of: func(s *Setting) bool { return same(s, &g.Setting) }}
		for _, k := range dims {
			cell := k.cell(d.frame, &g.Setting)
			one.key, one.tag = cmp.Or(one.key, cell.Label), cmp.Or(one.tag, cell.Tag)
			one.name = strings.Trim(one.name+", "+cell.Display(), ", ")
		}
		out = append(out, one)
	}
	return out
}

// byLook is by modality, in words that say where the lake comes from.
var byLook = dim{compare: byModality.compare, cell: func(_ *Frame, s *Setting) Cell {
	return Cell{Label: s.Modality, Short: record.Modalities.Legend(s.Modality)}
}}

// byModel has several facets for a model of which the run has several conditions.
func (d *drawing) byModel() []facet { return d.by(byModel, byCondition) }

// numbered has them as series, whose keys are numbers.
func numbered(models []facet) []facet {
	out := slices.Clone(models)
	for i := range out {
		out[i] = facet{key: fmt.Sprint(i + 1), name: out[i].shown(), of: out[i].of}
	}
	return out
}

func keys(by []facet) []string {
	out := make([]string, len(by))
	for i, k := range by {
		out[i] = k.key
	}
	return out
}

// crossed are the panels of two facets, a row of them for each of the first.
func crossed(rows, columns []facet) []facet {
	var out []facet
	for _, r := range rows {
		for _, c := range columns {
			out = append(out, facet{name: strings.TrimSuffix(c.name+", "+r.shown(), ", "), axis: r.axis, measure: r.measure,
				of: func(s *Setting) bool { return r.has(s) && c.has(s) }})
		}
	}
	return out
}

// at returns the trials that facets have in common; nil where the run plans none.
func (d *drawing) at(by ...facet) *Group {
	var out *Group
	for _, g := range d.groups {
		if slices.ContainsFunc(by, func(k facet) bool { return !k.has(&g.Setting) }) {
			continue
		}
		if out == nil {
			out = &Group{Setting: g.Setting}
		}
		out.join(g)
	}
	for _, k := range by {
		if k.cut != nil && out != nil {
			out = k.cut(out)
		}
	}
	if out == nil || len(out.Seeds) == 0 {
		return nil
	}
	return out
}

// A chart is a specification of panels with rows: a panel, a series and a row
// have a bar of one measure.
type chart struct {
	panels, series, rows []facet
	measure              *measure // nil where a panel or a series has one
	axis                 string
	pooled               bool // over all trials, not a mean over seeds
	// label stands next to a value of which some trial has finished.
	label func(g *Group, series *facet, p *Point) string
	once  bool // all series are of the same trials: the first tells of losses
}

// chart draws one.
func (d *drawing) chart(c chart) {
	for _, panel := range c.panels {
		p := Panel{Title: panel.name, Categories: categories(c.rows), X: Axis{cmp.Or(panel.axis, c.axis), 0, 1}}
		for k, series := range c.series {
			s := Series{Key: series.key, Name: series.name, Mark: Bars}
			for i, row := range c.rows {
				g := d.at(panel, series, row)
				if g == nil {
					continue
				}
				point := d.point(g, cmp.Or(c.measure, series.measure, panel.measure), c.pooled)
				point.Category = i
				trials := trialsOf(g)
				if c.label != nil && trials.Finished > 0 {
					point.Label = c.label(g, &series, &point)
				}
				point.count(trials, !c.once || k == 0)
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		d.Panels = append(d.Panels, p)
	}
	d.Across = len(c.panels)
}

// labelN labels a value with what it rests on.
func labelN(_ *Group, _ *facet, p *Point) string { return "n = " + thousands(p.N) }

// plane draws panels of two axes after a pattern; points returns those of a panel
// and a series of which some trial has finished.
func (d *drawing) plane(pattern Panel, mark Mark, panels, series []facet, points func(*Group, *Panel) []Point) {
	for _, panel := range panels {
		p := pattern
		p.Title = panel.name
		var left []string // of series that have lost trials
		for _, one := range series {
			s := Series{Key: one.key, Name: one.name, Mark: mark}
			g := d.at(panel, one)
			t := trialsOf(g)
			if t != nil && t.Finished > 0 {
				s.Points = points(g, &p)
			}
			switch {
			case t.lossy() && len(series) > 1:
				left = append(left, one.name+" "+t.told())
			case t.lossy():
				left = append(left, t.told())
			}
			p.Series = append(p.Series, s)
		}
		switch t := trialsOf(d.at(panel)); {
		case t == nil:
			p.Empty = "not in this run"
		case t.Finished == 0:
			p.Empty = t.told() + " finished"
		case len(left) > 0:
			p.Remarks = append(p.Remarks, "finished: "+joined(left))
		}
		d.Panels = append(d.Panels, p)
	}
}

// point is a measure of some trials, a mean over seeds or pooled, with its
// interval: whole seeds are drawn again, so that what belongs to one seed stays
// together. Of all seeds equal, or one, it is that of the mean of equal values.
func (d *drawing) point(g *Group, m *measure, pooled bool) Point {
	var seeds []*Group
	for i := range g.Seeds {
		one := &Group{Setting: g.Setting, Seeds: g.Seeds[i : i+1]}
		if p := progressOf(one); p.finished > 0 {
			seeds, d.trials = append(seeds, one), append(d.trials, p.finished)
		}
	}
	xs, limits := defined(g.values(m)), stats.Range{Low: m.low, High: m.high}
	if !pooled {
		p := Point{N: len(xs), XBounds: g.reach(m)}
		if len(xs) > 0 {
			d.seeds = append(d.seeds, len(xs))
			p.X, p.XRange = new(stats.Mean(xs)), d.interval(stats.BootstrapMean(xs, bootstrapOptions(d.boot, limits)))
		}
		return p
	}
	if len(seeds) > 0 {
		d.seeds = append(d.seeds, len(seeds))
	}
	num, den := g.pooled(m)
	p := Point{X: quotient(num, den), N: den}
	if p.X == nil {
		return p
	}
	sums := make([][2]int, len(seeds))
	for i, one := range seeds {
		sums[i][0], sums[i][1] = one.pooled(m)
	}
	opt := stats.BootstrapOptions{Level: d.boot.Level, Draws: d.boot.Resamples, Seed: d.boot.Seed}
	r := sure(stats.Bootstrap(len(sums), func(units []int) (float64, bool) {
		num, den := 0, 0
		for _, u := range units {
			num, den = num+sums[u][0], den+sums[u][1]
		}
		return float64(num) / float64(max(1, den)), den > 0
	}, opt))
	if r.Interval == nil && m.low != m.high {
		r = sure(stats.BootstrapMean(xs, bootstrapOptions(d.boot, limits)))
	}
	p.XRange = d.interval(r, nil)
	return p
}

// interval is what a value's whiskers show; nil where the method has none, or
// where what it was given cannot have one.
func (d *drawing) interval(result stats.BootstrapResult, err error) *Span {
	in := sure(result, err).Interval
	if in == nil {
		d.without = true
		return nil
	}
	d.exact = d.exact || in.Method == stats.ExactBound
	d.resampled = d.resampled || in.Method != stats.ExactBound
	return &Span{in.Low, in.High, in.Method}
}

// foot is a line below a drawing that goes on with what the whiskers are.
func (d *drawing) foot(line string) {
	level := fmt.Sprintf("%g%%", 100*d.boot.Level)
	if d.resampled {
		line += " Whiskers: " + level + " bootstrap intervals, whole seeds drawn."
	}
	if d.exact {
		line += " Whiskers where all seeds are equal, or there is one: the exact " + level + " bound on what unseen seeds could change."
	}
	if d.without {
		line += " No whisker: too few seeds, or all of them equal."
	}
	d.Feet = append(d.Feet, line)
}

// trialsOf counts the trials of a group, nil for none.
func trialsOf(groups ...*Group) *Trials {
	if p := progressOf(slices.DeleteFunc(groups, func(g *Group) bool { return g == nil })...); p.planned() > 0 {
		return &Trials{p.finished, p.planned()}
	}
	return nil
}

// lossy says that some have no result.
func (t *Trials) lossy() bool { return t != nil && t.Finished < t.Planned }

// told says "3 of 8".
func (t *Trials) told() string { return thousands(t.Finished) + " of " + thousands(t.Planned) }

// count adds to a point the trials behind it. Where some are lost it is labelled
// with how many are left, unless another point of them is; where all are, the
// drawing says so in its place.
func (p *Point) count(t *Trials, labelled bool) {
	p.Trials = t
	if labelled && t.lossy() && t.Finished > 0 {
		p.Label = strings.TrimPrefix(p.Label+", "+t.told(), ", ")
	}
}

// nextTo explains the labels of count.
const nextTo = "Next to a value: finished of planned."

// finish completes a figure: what is lost of its trials, which of the run's they
// are, and what its models ask for. One without panels says what it needs; of a
// further size there is none.
func (d *drawing) finish(sizes []Setting) Figure {
	f := d.Figure
	f.Need, f.Across = d.frame.ask(f.Need), max(1, f.Across)
	if len(d.groups) > 0 {
		task := d.groups[0].Task
		f.Warnings = append(f.Warnings, lostWarnings(d.groups, task)...)
		if t := trialsOf(d.groups...); t.lossy() && len(f.Panels) > 0 {
			f.Incomplete = strings.Join(append([]string{fmt.Sprintf("Incomplete: %s of %s planned %s finished; the others failed or have no record, and are in none of the values.",
				thousands(t.Finished), thousands(t.Planned), unitsOfTasks[task])}, d.losses...), " ")
		}
	}
	if len(f.Panels) == 0 {
		if f.Feet, f.Notes = nil, nil; d.size != sizes[0] {
			return Figure{}
		}
		return f
	}
	if f.Topic != TopicLakes {
		f.Warnings = append(d.frame.runWarnings(), f.Warnings...)
	}
	if len(sizes) > 1 {
		is := bySize.cell(d.frame, &d.size)
		f.Feet = append([]string{"Lakes of " + is.Display() + "; those of other sizes have figures of their own."}, f.Feet...)
		if d.size != sizes[0] {
			f.ID, f.Title, f.Paper = f.ID+"-"+is.Label, f.Title+", on lakes of "+is.Display(), "" // the paper's lakes have its size only
		}
	}
	if d.choice != "" {
		f.Feet = append(f.Feet, d.choice)
	}
	models := []string{d.only}
	if d.only == "" {
		models = slices.Compact(keys(d.byModel()))
	}
	f.Notes = append(f.Notes, d.frame.modelNotes(models)...)
	f.Controls = len(models) > 0 && !slices.ContainsFunc(models, func(m string) bool { return !isControl(m) })
	return f
}

// categories are the rows of a chart.
func categories(rows []facet) []Category {
	out := make([]Category, len(rows))
	for i, r := range rows {
		out[i] = Category{Name: r.name, Tag: r.tag, Group: r.group}
	}
	return out
}

// spread returns "50 seeds" where all numbers are the same, "48–50 seeds"
// otherwise.
func spread(what string, ns []int) string {
	if len(ns) == 0 {
		ns = []int{0}
	}
	low, high := slices.Min(ns), slices.Max(ns)
	if low == high {
		return countOf(low, what)
	}
	return thousands(low) + "–" + countOf(high, what)
}

// niceMax returns the least multiple of a step that no value along X exceeds.
func niceMax(step float64, panels ...Panel) float64 {
	n := 1.0
	for _, panel := range panels {
		for _, s := range panel.Series {
			for _, p := range s.Points {
				for p.X != nil && n*step < *p.X || p.XRange != nil && n*step < p.XRange.High {
					n++
				}
			}
		}
	}
	return n * step
}
