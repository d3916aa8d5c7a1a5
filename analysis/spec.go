package analysis

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A colOf is a column of a table whose rows are R, with the computation of its
// cells.
type colOf[R any] struct {
	Column
	cell func(row R) Cell
}

// A column is one of a table whose rows are groups of trials.
type column = colOf[*Group]

// The columns of a measure: its mean over seeds, the same with the counts behind
// it, pooled over all trials, and pooled with the number that it is an average
// over.
func meanOf(m *measure) column {
	return column{Column{Key: m.key, Heading: m.words, Unit: m.unit, Kind: Mean, Decimals: 3},
		func(g *Group) Cell { return overSeeds(g.values(m)) }}
}

func rateOf(m *measure) column {
	return column{Column{Key: m.key, Heading: m.words, Unit: m.unit, Kind: Rate, Decimals: 3},
		func(g *Group) Cell {
			c := overSeeds(g.values(m))
			c.Count, c.Of = g.pooled(m)
			return c
		}}
}

func shareOf(m *measure) column {
	return column{Column{Key: m.key, Heading: m.words, Unit: m.unit, Kind: Share, Decimals: 3},
		func(g *Group) Cell {
			num, den := g.pooled(m)
			return Cell{Value: quotient(num, den), Count: num, Of: den}
		}}
}

func averageOf(m *measure, decimals int) column {
	return column{Column{Key: m.key, Heading: m.words, Unit: m.unit, Kind: Average, Decimals: decimals},
		func(g *Group) Cell {
			num, den := g.pooled(m)
			return Cell{Value: quotient(num, den), N: den}
		}}
}

// sumOf counts something over all finished trials.
func sumOf(key, heading, unit string, of func(*Row) int) column {
	return column{Column{Key: key, Heading: heading, Unit: unit, Kind: Count},
		func(g *Group) Cell { return Cell{Count: g.sum(of)} }}
}

// Of a column, said in its table.
func (c colOf[R]) as(key, heading string) colOf[R] { c.Key, c.Heading = key, heading; return c }
func (c colOf[R]) under(group string) colOf[R]     { c.Group = group; return c }
func (c colOf[R]) brief() colOf[R]                 { c.Brief = true; return c }
func (c colOf[R]) base() colOf[R]                  { c.Base = true; return c }
func (c colOf[R]) last(priority int) colOf[R]      { c.Priority = priority; return c }
func (c colOf[R]) hidden() colOf[R]                { c.DataOnly = true; return c }
func (c colOf[R]) in(unit string) colOf[R]         { c.Unit = unit; return c }
func (c colOf[R]) hiddenIf(hide bool) colOf[R]     { c.DataOnly = c.DataOnly || hide; return c }

// A spec is a table: what its rows are by, and what its columns are.
type spec struct {
	Table
	task  string
	where func(*Setting) bool
	by    []dim
	order []dim    // of rows, where it is not that of by
	pool  []string // regimes that have rows together as well
	joins bool     // rows have the trials of both tasks
	over  bool     // rows are by these dims alone, over everything else
	plain bool     // the columns are these dims; wording and size are hidden where all rows have the same
	keep  func(groups []*Group) []*Group
	has   func(g *Group) bool // what a group must have for a row; nil for nothing
	parts func(f *Frame, g *Group) []string
	part  column // the label of a part
	// against compares rows with others of the table.
	against *pairing
	// columns may depend on the groups: on what occurs in them.
	columns func(f *Frame, groups []*Group) []column
	dash    string // what a dash means here
	notes   func(f *Frame, groups []*Group, t *Table) []string
}

// tasks' names in sentences, and the column that says what shares are of.
var unitsOfTasks = map[string]string{record.Detect: "detection runs", record.Navigate: "episodes"}

// groupsOf returns the rows of a spec before they are parted.
func (f *Frame) groupsOf(s *spec) []*Group {
	keep := func(at *Setting) bool {
		return (s.task == "" || at.Task == s.task) && (s.where == nil || s.where(at))
	}
	order := s.order
	if order == nil {
		order = s.by
	}
	var clear func(*Setting)
	switch {
	case s.over:
		clear = only(order...)
	case s.joins:
		clear = byTask.clear
	}
	groups := f.grouped(order, keep, clear)
	if s.keep != nil {
		groups = s.keep(groups)
	}
	if len(s.pool) > 0 {
		groups = withPooled(groups, s.pool)
	}
	return groups
}

// withPooled adds, behind the groups of a model and a regime, those that pool
// all of the given regimes.
func withPooled(groups []*Group, regimes []string) []*Group {
	name := strings.Join(regimes, "+")
	pooled := map[Setting]*Group{}
	parts := map[Setting]int{}
	for _, g := range groups {
		if slices.Contains(regimes, g.Regime) {
			at := g.Setting
			at.Regime = name
			if pooled[at] == nil {
				pooled[at] = &Group{Setting: at}
			}
			pooled[at].join(g)
			parts[at]++
		}
	}
	var out, waiting []*Group
	for i, g := range groups {
		if i > 0 && (g.Regime != groups[i-1].Regime || g.Model != groups[i-1].Model) {
			out, waiting = append(out, waiting...), nil
		}
		out = append(out, g)
		at := g.Setting
		at.Regime = name
		if g.Regime == regimes[len(regimes)-1] && parts[at] == len(regimes) {
			waiting = append(waiting, pooled[at])
		}
	}
	return append(out, waiting...)
}

// table makes a table of its specification.
func (f *Frame) table(s *spec) Table {
	groups := f.groupsOf(s)
	t := s.Table
	t.Warnings = append(t.Warnings, lostWarnings(f.unpooled(groups), s.task)...)
	if s.has != nil {
		groups = slices.DeleteFunc(groups, func(g *Group) bool { return !s.has(g) })
	}
	cols := f.labels(s.by, !s.over && !s.plain, groups)
	for i := range cols {
		if s.plain && (cols[i].Key == byFraming.Key && !f.differIn(byFraming, groups) || cols[i].Key == bySize.Key && !f.differIn(bySize, groups)) {
			cols[i] = cols[i].hidden()
		}
	}
	if (s.plain || s.over) && f.differIn(byCondition, groups) {
		cols = append(cols, f.labels([]dim{byCondition}, false, groups)...)
	}
	rows := groups
	if s.parts != nil {
		rows = nil
		for _, g := range groups {
			for _, label := range s.parts(f, g) {
				one := *g
				one.Label = label
				rows = append(rows, &one)
			}
		}
		cols = append(cols, s.part)
	}
	if s.against != nil {
		s.against.pair(f, rows)
	}
	cols = append(cols, s.columns(f, rows)...)
	fill(&t, cols, rows)
	if s.notes != nil && len(rows) > 0 {
		t.Notes = append(t.Notes, s.notes(f, rows, &t)...)
	}
	f.finishTable(&t, s.dash, modelsOf(rows))
	return t
}

// unpooled leaves out the rows that only pool others.
func (f *Frame) unpooled(groups []*Group) []*Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool { return strings.Contains(g.Regime, "+") })
}

// labels are the columns of a table's dims, and of the settings behind them:
// people are shown those only where rows of one strategy differ in them.
func (f *Frame) labels(by []dim, settings bool, groups []*Group) []column {
	var cols []column
	col := func(d dim) column {
		return column{d.Column, func(g *Group) Cell { return d.cell(f, &g.Setting) }}
	}
	for _, d := range by {
		cols = append(cols, col(d))
	}
	if !settings {
		return cols
	}
	for _, d := range settingDims {
		if slices.ContainsFunc(by, func(k dim) bool { return k.Key == d.Key }) {
			continue
		}
		varies := f.variesIn(d, groups)
		if d.Key == byCondition.Key && !varies && !slices.ContainsFunc(groups, func(g *Group) bool { return g.Condition != "" }) {
			continue
		}
		cols = append(cols, col(d).hiddenIf(!varies))
	}
	return cols
}

// variesIn reports whether groups of one strategy differ in a dim.
func (f *Frame) variesIn(d dim, groups []*Group) bool {
	first := map[string]string{}
	for _, g := range groups {
		cell := d.cell(f, &g.Setting)
		if old, ok := first[g.Strategy]; ok && old != cell.Label {
			return true
		}
		first[g.Strategy] = cell.Label
	}
	return false
}

// fill computes a table's columns and rows.
func fill[R any](t *Table, cols []colOf[R], rows []R) {
	for i := range cols {
		col := cols[i].Column
		if col.Align == "" {
			col.Align = Right
			if col.Kind == Label {
				col.Align = Left
			}
		}
		t.Columns = append(t.Columns, col)
	}
	for _, r := range rows {
		row := make([]Cell, len(cols))
		for i := range cols {
			row[i] = cols[i].cell(r)
		}
		t.Rows = append(t.Rows, row)
	}
}

// seedsColumns say how many seeds a detection's score rests on, episodesColumns
// how many episodes a rate is a share of; behind both, for data formats, what
// became of the plan.
func seedsColumns() []column {
	return append([]column{{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count, Priority: 3}, func(g *Group) Cell {
		c := Cell{}
		for _, s := range g.Seeds {
			var p progress
			p.add(s.Rows)
			// A pooled row has a seed once for each of its regimes.
			c.Count, c.Of = c.Count+min(p.finished, max(1, strings.Count(g.Regime, "+")+1)), c.Of+max(1, strings.Count(g.Regime, "+")+1)
		}
		return c
	}}}, planColumns()...)
}

func episodesColumns() []column {
	return append([]column{{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count}, func(g *Group) Cell {
		p := progressOf(g)
		return Cell{Count: p.finished, Of: p.planned()}
	}}}, planColumns()...)
}

func planColumns() []column {
	var out []column
	for _, c := range []struct {
		key string
		of  func(*progress) int
	}{
		{"planned", (*progress).planned},
		{"finished", func(p *progress) int { return p.finished }},
		{"failed", func(p *progress) int { return p.failed }},
		{"missing", func(p *progress) int { return p.missing }},
	} {
		out = append(out, column{Column{Key: c.key, Heading: c.key, Unit: "trials", Kind: Count, DataOnly: true}, func(g *Group) Cell {
			p := progressOf(g)
			return Cell{Count: c.of(&p)}
		}})
	}
	return out
}

// modelsOf returns the models of rows, in their order.
func modelsOf(rows []*Group) []string {
	var models []string
	for _, g := range rows {
		addNew(&models, g.Model)
	}
	return models
}
