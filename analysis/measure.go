package analysis

import (
	"fmt"
	"strconv"

	"github.com/spatialstale/spatialstale/stats"
)

// overSeeds is the mean and standard deviation of a measure over seeds, given
// in ascending order of seeds. A nil value does not exist for its seed and is
// left out.
func overSeeds(values []*float64) Cell {
	var xs []float64
	for _, v := range values {
		if v != nil {
			xs = append(xs, *v)
		}
	}
	c := Cell{N: len(xs), Undefined: len(values) - len(xs)}
	if len(xs) > 0 {
		c.Value = new(stats.Mean(xs))
	}
	if len(xs) > 1 {
		c.SD = new(stats.StdDev(xs))
	}
	return c
}

// shareOf is count out of of, undefined for none.
func shareOf(count, of int) Cell {
	return Cell{Value: quotient(count, of), Count: count, Of: of}
}

// averageOf is the mean of n things that sum to sum, undefined for none.
func averageOf(sum, n int) Cell { return Cell{Value: quotient(sum, n), N: n} }

func quotient(num, den int) *float64 {
	if den == 0 {
		return nil
	}
	return new(float64(num) / float64(den))
}

// total sums an integer over seeds.
func total[T any](seeds []*T, of func(*T) int) int {
	n := 0
	for _, s := range seeds {
		n += of(s)
	}
	return n
}

// progressColumns says how much of a row's plan is done. The first is what
// people read as the denominator; of returns a seed's progress.
func progressColumns[T any](first Column, count func(*T) Cell, of func(*T) *progress) []definition[group[T]] {
	sum := func(key, heading string, f func(*progress) int) definition[group[T]] {
		return definition[group[T]]{
			Column{Key: key, Heading: heading, Unit: "trials", Kind: Count, DataOnly: true},
			func(g *group[T]) Cell {
				return Cell{Count: total(g.seeds, func(t *T) int { return f(of(t)) })}
			},
		}
	}
	return []definition[group[T]]{
		{first, func(g *group[T]) Cell {
			var c Cell
			for _, s := range g.seeds {
				one := count(s)
				c.Count += one.Count
				c.Of += one.Of
			}
			return c
		}},
		sum("planned", "planned", func(p *progress) int { return p.finished + p.failed + p.missing() }),
		sum("finished", "finished", func(p *progress) int { return p.finished }),
		sum("failed", "failed", func(p *progress) int { return p.failed }),
		sum("missing", "missing", func(p *progress) int { return p.missing() }),
	}
}

// settingColumns are batch, framing and grid, shown to people only where rows
// that are otherwise alike differ in them.
func settingColumns[T any](groups []*group[T]) []definition[group[T]] {
	varies := func(value func(s setting) any) bool {
		first := make(map[string]any) // by strategy: what its rows share
		for _, g := range groups {
			v := value(g.setting)
			if old, ok := first[g.strategy]; ok && old != v {
				return true
			}
			first[g.strategy] = v
		}
		return false
	}
	return []definition[group[T]]{
		{
			Column{Key: "batch", Heading: "batch", Unit: "entries a call", Kind: Label, Align: Right,
				DataOnly: !varies(func(s setting) any { return s.batch })},
			func(g *group[T]) Cell { return batchCell(g.batch) },
		},
		{
			Column{Key: "framing", Heading: "framing", Kind: Label,
				DataOnly: !varies(func(s setting) any { return s.framing })},
			func(g *group[T]) Cell { return Cell{Label: g.framing} },
		},
		{
			Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, Align: Right,
				DataOnly: !varies(func(s setting) any { return [2]int{s.rows, s.cols} })},
			func(g *group[T]) Cell { return gridCell(g.rows, g.cols) },
		},
	}
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
