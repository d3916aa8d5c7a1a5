package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A lakes is the instances of one regime and size, in ascending order of seeds.
type lakes struct {
	regime     string
	rows, cols int
	drawn      string // how they were drawn, where the runs differ in it
	instances  []*history
}

func (l *lakes) cells() int { return l.rows * l.cols }

func (l *lakes) shares() []*float64 {
	out := make([]*float64, len(l.instances))
	for i, h := range l.instances {
		out[i] = quotient(h.stale, l.cells())
	}
	return out
}

func (l *lakes) sum(of func(*history) int) int {
	n := 0
	for _, h := range l.instances {
		n += of(h)
	}
	return n
}

// lakes returns the instances by regime and size.
func (f *Frame) lakes() []*lakes {
	keys := slices.SortedFunc(maps.Keys(f.histories), func(a, b lakeKey) int {
		return cmp.Or(f.order.compareRegimes(a.regime, b.regime), cmp.Compare(a.rows*a.cols, b.rows*b.cols), cmp.Compare(a.rows, b.rows),
			strings.Compare(a.lakes, b.lakes), cmp.Compare(a.seed, b.seed))
	})
	var out []*lakes
	for _, k := range keys {
		if n := len(out); n == 0 || out[n-1].regime != k.regime || out[n-1].rows != k.rows || out[n-1].cols != k.cols || out[n-1].drawn != k.lakes {
			out = append(out, &lakes{regime: k.regime, rows: k.rows, cols: k.cols, drawn: k.lakes})
		}
		last := out[len(out)-1]
		last.instances = append(last.instances, f.histories[k])
	}
	return out
}

// ofPaper reports whether the instances are drawn as the paper's.
func (l *lakes) ofPaper() bool {
	fraction, dataset, _ := strings.Cut(l.drawn, " ")
	return l.rows == publishedSide && l.cols == publishedSide && dataset == "" && (fraction == "" || slices.Contains(paper().Setting["hole_fraction"], fraction))
}

// published returns the paper's figure for the row, nil when it has none.
func (l *lakes) published(measure string) *publishedFigure {
	if !l.ofPaper() {
		return nil
	}
	return findPublished(func(p *publishedFigure) bool { return p.Measure == measure && strings.Join(p.Regimes, "+") == l.regime })
}

// regimes tell how much of the memory each regime makes stale, next to the
// paper's figures (section 3.4, Table 1).
func (f *Frame) regimes() Table {
	rows := f.lakes()
	t := Table{ID: "regimes", Title: "Regimes: how much of the memory is stale", Topic: TopicLakes, Paper: "Table 1", Need: "instances",
		About: "A memory holds one entry a cell. An entry is stale when the lake’s changes made it false about danger. Shares are of all entries; in L3, after the last change."}
	type col = colOf[*lakes]
	oneSize, oneDraw, noPaper := true, true, true
	for _, l := range rows {
		oneSize = oneSize && l.rows == rows[0].rows && l.cols == rows[0].cols
		oneDraw = oneDraw && l.drawn == rows[0].drawn
		noPaper = noPaper && l.published("stale-share") == nil
	}
	number := func(key, heading, group string, kind Kind, priority int, cell func(*lakes) Cell) col {
		return col{Column{Key: key, Heading: heading, Group: group, Unit: "share", Kind: kind, Decimals: 3, Priority: priority}, cell}
	}
	paper := func(key, heading, measure string, kind Kind, priority int) col {
		return number(key, heading, inPaper, kind, priority, func(l *lakes) Cell {
			c := paperCell(l.published(measure))
			if c.SD != nil {
				c.N = publishedSeeds
			}
			return c
		}).hiddenIf(noPaper)
	}
	count := func(key string, of func(*lakes) int) col {
		return col{Column{Key: key, Heading: strings.ReplaceAll(key, "_", " "), Unit: "entries", Kind: Count, DataOnly: true}, func(l *lakes) Cell { return Cell{Count: of(l)} }}
	}
	extreme := func(of func(*lakes, func(a, b *history) int) *history) func(*lakes) Cell {
		return func(l *lakes) Cell {
			return Cell{Value: quotient(of(l, func(a, b *history) int { return cmp.Compare(a.stale, b.stale) }).stale, l.cells())}
		}
	}
	least := func(l *lakes, by func(a, b *history) int) *history { return slices.MinFunc(l.instances, by) }
	most := func(l *lakes, by func(a, b *history) int) *history { return slices.MaxFunc(l.instances, by) }
	stale := func(l *lakes) int { return l.sum(func(h *history) int { return h.stale }) }
	const ours = "stale share"
	cols := []col{
		{label("regime", "regime"), func(l *lakes) Cell { return termCell(record.Regimes, l.regime) }},
		{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, Align: Right, DataOnly: oneSize}, func(l *lakes) Cell { return gridCell(l.rows, l.cols) }},
		{Column{Key: "seeds", Heading: "seeds", Unit: "seeds", Kind: Count}, func(l *lakes) Cell { return Cell{Count: len(l.instances)} }},
		number("stale_share", "mean\u00a0±\u00a0sd", ours, Mean, 0, func(l *lakes) Cell { return overSeeds(l.shares()) }),
		number("stale_share_min", "min", ours, Number, 0, extreme(least)),
		number("stale_share_max", "max", ours, Number, 0, extreme(most)),
		paper("paper_stale_share", "mean\u00a0±\u00a0sd", "stale-share", Mean, 0),
		paper("paper_stale_share_min", "min", "stale-share-least", Number, 1), paper("paper_stale_share_max", "max", "stale-share-most", Number, 1),
		{Column{Key: "thaw_share", Heading: "thaw", Unit: "share of stale entries", Kind: Share, Decimals: 3}, func(l *lakes) Cell {
			thaw := l.sum(func(h *history) int { return h.thaw })
			return Cell{Value: quotient(thaw, stale(l)), Count: thaw, Of: stale(l)}
		}},
		count("stale_entries", stale), count("entries", func(l *lakes) int { return len(l.instances) * l.cells() }),
	}
	if !oneDraw {
		cols = slices.Insert(cols, 2, col{label("condition", "lakes drawn with"), func(l *lakes) Cell { return Cell{Label: "hole fraction " + strings.TrimSpace(l.drawn)} }})
	}
	fill(&t, cols, rows)
	t.Notes = []string{"thaw: of the stale entries, those that say SAFE where the cell now kills; the others warn of a hole that is gone. In brackets, where there is room, their number over all seeds.",
		fmt.Sprintf("The paper’s figures: arXiv 2608.04574, section 3.4 and appendix A, %d seeds on 8×8 grids.", publishedSeeds)}
	f.finishTable(&t, "", nil)
	return t
}
