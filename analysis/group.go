package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// An appearance remembers in which order plans name things that have no place
// in a vocabulary.
type appearance struct{ models, regimes, strategies, framings []string }

func (a *appearance) add(s *record.Spec) {
	addNew(&a.models, s.Model)
	addNew(&a.regimes, s.Regime)
	addNew(&a.strategies, s.Strategy)
	addNew(&a.framings, s.Framing)
}

// compareNames orders names by their place in a vocabulary, then by their place
// in planned, then by themselves; before names the term that those outside of
// the vocabulary come before, if any.
func compareNames(x, y string, v record.Vocabulary, planned []string, before string) int {
	place := func(name string) int {
		if i := v.Index(name); i >= 0 {
			if at := v.Index(before); at >= 0 && i >= at {
				return i + len(planned) + 1
			}
			return i
		}
		outside := len(v)
		if at := v.Index(before); at >= 0 {
			outside = at
		}
		if i := slices.Index(planned, name); i >= 0 {
			return outside + i
		}
		return outside + len(planned)
	}
	return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x, y))
}

func (a *appearance) compareModels(x, y string) int { return compareNames(x, y, nil, a.models, "") }

func (a *appearance) compareStrategies(x, y string) int {
	return compareNames(x, y, record.Strategies, a.strategies, record.OracleStrategy)
}

func (a *appearance) compareRegimes(x, y string) int {
	return compareNames(x, y, record.Regimes, a.regimes, "")
}

// A dim is a field of a setting that rows are by: how it is ordered and shown.
type dim struct {
	Column
	compare func(a *appearance, x, y *Setting) int
	cell    func(f *Frame, s *Setting) Cell
	clear   func(s *Setting)
}

func label(key, heading string) Column { return Column{Key: key, Heading: heading, Kind: Label} }

// The dims. A table names those that its rows are by, in the order of its
// columns; settingDims follow in all of them.
var (
	byModel = dim{Column{Key: "model", Heading: "model", Kind: Label, Section: true},
		func(a *appearance, x, y *Setting) int { return a.compareModels(x.Model, y.Model) },
		func(f *Frame, s *Setting) Cell { return f.modelCell(s.Model) },
		func(s *Setting) { s.Model = "" }}
	byTask = dim{label("task", "task"),
		func(_ *appearance, x, y *Setting) int { return cmp.Compare(x.Task, y.Task) },
		func(_ *Frame, s *Setting) Cell { return Cell{Label: s.Task} },
		func(s *Setting) { s.Task = "" }}
	byRegime = dim{label("regime", "regime"),
		func(a *appearance, x, y *Setting) int { return a.compareRegimes(x.Regime, y.Regime) },
		func(_ *Frame, s *Setting) Cell { return termCell(record.Regimes, s.Regime) },
		func(s *Setting) { s.Regime = "" }}
	byModality = dim{label("modality", "modality"),
		func(_ *appearance, x, y *Setting) int {
			return compareNames(x.Modality, y.Modality, record.Modalities, nil, "")
		},
		func(_ *Frame, s *Setting) Cell { return Cell{Label: s.Modality} },
		func(s *Setting) { s.Modality = "" }}
	byStrategy = dim{label("strategy", "strategy"),
		func(a *appearance, x, y *Setting) int { return a.compareStrategies(x.Strategy, y.Strategy) },
		func(_ *Frame, s *Setting) Cell { return termCell(record.Strategies, s.Strategy) },
		func(s *Setting) { s.Strategy = "" }}
	byDetector = dim{label("detector", "detector"), byStrategy.compare, byStrategy.cell, byStrategy.clear}
	byBatch    = dim{Column{Key: "batch", Heading: "batch", Unit: "entries a call", Kind: Label, Align: Right},
		func(_ *appearance, x, y *Setting) int { return cmp.Compare(x.Batch, y.Batch) },
		func(_ *Frame, s *Setting) Cell { return batchCell(s.Batch) },
		func(s *Setting) { s.Batch = 0 }}
	byFraming = dim{label("framing", "framing"),
		func(a *appearance, x, y *Setting) int {
			return compareNames(x.Framing, y.Framing, record.Framings, a.framings, "")
		},
		func(_ *Frame, s *Setting) Cell { return Cell{Label: s.Framing} },
		func(s *Setting) { s.Framing = "" }}
	bySize = dim{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, Align: Right},
		func(_ *appearance, x, y *Setting) int {
			return cmp.Or(cmp.Compare(x.Rows*x.Cols, y.Rows*y.Cols), cmp.Compare(x.Rows, y.Rows))
		},
		func(_ *Frame, s *Setting) Cell { return gridCell(s.Rows, s.Cols) },
		func(s *Setting) { s.Rows, s.Cols = 0, 0 }}
	byCondition = dim{label("condition", "setting"),
		func(_ *appearance, x, y *Setting) int { return cmp.Compare(x.Condition, y.Condition) },
		func(_ *Frame, s *Setting) Cell { return Cell{Label: s.Condition} },
		func(s *Setting) { s.Condition = "" }}
)

// allDims are all of them, each once.
var allDims = []dim{byModel, byTask, byRegime, byModality, byStrategy, byBatch, byFraming, bySize}

// settingDims are in every table of trials, shown to people only where rows that
// are otherwise alike differ in them.
var settingDims = []dim{byBatch, byFraming, bySize, byCondition}

func termCell(v record.Vocabulary, name string) Cell {
	c := Cell{Label: name}
	if t, ok := v.Find(name); ok && t.Label != name {
		c.Short = t.Label
	}
	return c
}

// batchCell shows entries a call; none where nothing is audited in batches.
func batchCell(batch int) Cell {
	c := Cell{Label: strconv.Itoa(batch)}
	if batch == 0 {
		c.Short = "–"
	}
	return c
}

func gridCell(rows, cols int) Cell {
	return Cell{Label: fmt.Sprintf("%dx%d", rows, cols), Short: fmt.Sprintf("%d×%d", rows, cols)}
}

// comparing orders settings by dims, and then by the rest in one order for all
// tables.
func (f *Frame) comparing(dims []dim) func(x, y Setting) int {
	all := slices.Concat(dims, []dim{byStrategy, byBatch, byFraming, bySize, byCondition, byModel, byTask, byRegime, byModality})
	return func(x, y Setting) int {
		for i := range all {
			if c := all[i].compare(&f.order, &x, &y); c != 0 {
				return c
			}
		}
		return 0
	}
}

// grouped returns the frame's trials for which keep is true, in groups by the
// setting that clear leaves of theirs, in the order of dims. A nil keep keeps
// all; a nil clear leaves settings whole.
func (f *Frame) grouped(dims []dim, keep func(*Setting) bool, clear func(*Setting)) []*Group {
	merged := map[Setting]*Group{}
	for _, s := range slices.SortedFunc(maps.Keys(f.groups), f.comparing(nil)) {
		if keep != nil && !keep(&s) {
			continue
		}
		g, key := f.groups[s], s
		if clear != nil {
			clear(&key)
		}
		if merged[key] == nil {
			merged[key] = &Group{Setting: key}
		}
		merged[key].join(g)
	}
	out := slices.Collect(maps.Values(merged))
	compare := f.comparing(dims)
	slices.SortFunc(out, func(x, y *Group) int { return compare(x.Setting, y.Setting) })
	return out
}

// join adds another group's trials, seed by seed, and the lines of its condition
// that are not its own.
func (g *Group) join(o *Group) {
	if g.whole == "" {
		g.whole = o.whole
	}
	for line := range strings.Lines(o.whole) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(strings.Split(g.whole, "\n"), line) {
			g.whole += "\n" + line
		}
	}
	for _, s := range o.Seeds {
		i, ok := slices.BinarySearchFunc(g.Seeds, s.Seed, func(x Seed, seed int) int { return x.Seed - seed })
		if !ok {
			g.Seeds = slices.Insert(g.Seeds, i, Seed{Seed: s.Seed})
		}
		g.Seeds[i].Rows = slices.Concat(g.Seeds[i].Rows, s.Rows)
	}
	for _, r := range o.runs {
		if !slices.Contains(g.runs, r) {
			g.runs = append(g.runs, r)
		}
	}
	slices.Sort(g.runs)
}

// differIn reports whether groups differ in a dim.
func (f *Frame) differIn(d dim, groups []*Group) bool {
	return slices.ContainsFunc(groups, func(g *Group) bool {
		return d.cell(f, &g.Setting).Label != d.cell(f, &groups[0].Setting).Label
	})
}

// only returns a function that clears all dims but some. What varies of a
// condition is never cleared.
func only(dims ...dim) func(*Setting) {
	var rest []dim
	for _, d := range allDims {
		if !slices.ContainsFunc(dims, func(k dim) bool { return k.Key == d.Key || k.Key == "detector" && d.Key == "strategy" }) {
			rest = append(rest, d)
		}
	}
	return func(s *Setting) {
		for _, d := range rest {
			d.clear(s)
		}
	}
}

// at returns the trials of a seed, nil when the group has none.
func (g *Group) at(seed int) []*Row {
	if g == nil {
		return nil
	}
	if i, ok := slices.BinarySearchFunc(g.Seeds, seed, func(x Seed, seed int) int { return x.Seed - seed }); ok {
		return g.Seeds[i].Rows
	}
	return nil
}

// rows are all trials.
func (g *Group) rows() (all []*Row) {
	for _, s := range g.Seeds {
		all = append(all, s.Rows...)
	}
	return all
}

// sum adds up a number of all finished trials.
func (g *Group) sum(of func(*Row) int) int {
	n := 0
	for _, s := range g.Seeds {
		for _, r := range s.Rows {
			if !r.lost() {
				n += of(r)
			}
		}
	}
	return n
}

// any reports whether a finished trial has something.
func (g *Group) any(has func(*Row) bool) bool {
	return g.sum(func(r *Row) int { return index(has(r)) }) > 0
}

// A progress counts planned trials: those that have finished, that failed, and
// of which there is no record.
type progress struct{ finished, failed, missing int }

func (p *progress) add(rows []*Row) {
	for _, r := range rows {
		switch {
		case !r.lost():
			p.finished++
		case r.failed:
			p.failed++
		default:
			p.missing++
		}
	}
}

func (p *progress) planned() int { return p.finished + p.lost() }
func (p *progress) lost() int    { return p.failed + p.missing }

func progressOf(groups ...*Group) (p progress) {
	for _, g := range groups {
		for _, s := range g.Seeds {
			p.add(s.Rows)
		}
	}
	return p
}

// Planned returns the number of trials that the runs plan.
func (f *Frame) Planned() int {
	n := 0
	for _, g := range f.trials {
		p := progressOf(g)
		n += p.planned()
	}
	return n
}

// controlPrefix begins the names of the built-in controls.
const controlPrefix = "ref/"

func isControl(model string) bool { return strings.HasPrefix(model, controlPrefix) }

// longName is the length, in bytes, from which a model's parameters are left
// out of its name.
const longName = 28

// models returns the frame's models in the order of its tables.
func (f *Frame) models() []string {
	all := map[string]bool{}
	for s := range f.groups {
		all[s.Model] = true
	}
	return slices.SortedFunc(maps.Keys(all), f.order.compareModels)
}

// shortNames returns how each model is shown where its full name would not fit:
// its name without parameters, and a number that the notes explain. Numbers
// follow the order of all models, so that they mean the same in every table.
func shortNames(models []string) map[string]string {
	short := map[string]string{}
	for _, name := range models {
		if base, _, ok := strings.Cut(name, "?"); ok && len(name) > longName && short[name] == "" {
			short[name] = fmt.Sprintf("%s [%d]", base, len(short)+1)
		}
	}
	return short
}

// modelCell shows a model.
func (f *Frame) modelCell(name string) Cell { return modelCell(name, f.short) }

func modelCell(name string, short map[string]string) Cell {
	c := Cell{Label: name, Short: short[name]}
	if isControl(name) {
		c.Tag = "control"
	}
	return c
}

// shown is a model's name for people, with its tag.
func (f *Frame) shown(model string) string {
	c := f.modelCell(model)
	if c.Tag == "" {
		return c.Display()
	}
	return c.Display() + " (" + c.Tag + ")"
}
