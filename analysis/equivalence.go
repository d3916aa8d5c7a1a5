package analysis

import (
	"fmt"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// An equivalenceRow is a contrast that is tested for having no difference that
// matters.
type equivalenceRow struct {
	*contrastRow
	result stats.EquivalenceResult
}

// Equivalence tests whether two strategies differ by less than what matters, by
// two one-sided tests. The paper leaves this open for Oracle and OMCD (section
// 5.3): that a difference was not found does not show that there is none.
func (c *Collector) Equivalence() Table {
	tests := c.tests()
	eq := tests.Equivalence
	plain := c.contrastRows(eq.Contrasts, tests.Family.Measures)
	rows := make([]*equivalenceRow, len(plain))
	inParallel(len(plain), func(i int) {
		plain[i].differ()
		rows[i] = &equivalenceRow{plain[i], sure(stats.Equivalence(plain[i].differences,
			stats.EquivalenceOptions{Margin: eq.Margin, Alpha: eq.Alpha, Seed: tests.Bootstrap.Seed}))}
	})
	short := c.modelNames()
	t := Table{
		ID:    "equivalence",
		Title: "Equivalence: is a difference smaller than what matters?",
		Paper: "section 5.3",
		About: fmt.Sprintf("Two one-sided tests on the seeds’ differences: equivalent means that the mean difference lies within ±%g, shown at %g. not shown is no proof of a difference: read the power, the chance of showing equivalence if the true difference is 0.", eq.Margin, eq.Alpha),
		Need:  "episodes under the strategies of a declared equivalence, such as oracle and omcd: spatialstale run --task navigate",
	}
	var defs []definition[equivalenceRow]
	for _, d := range append(contrastLabels(plain, short), contrastSides()...) {
		defs = append(defs, definition[equivalenceRow]{d.Column, func(r *equivalenceRow) Cell { return d.cell(r.contrastRow) }})
	}
	defs = append(defs, definition[equivalenceRow]{Column{Key: "difference", Heading: "difference", Unit: "difference of shares", Kind: Paired, Decimals: 3, Brief: true}, func(r *equivalenceRow) Cell { return r.differenceCell() }})
	defs = append(defs, equivalenceColumns(eq, false, func(r *equivalenceRow) *stats.EquivalenceResult { return &r.result })...)
	for _, d := range lossColumns(plain, pairedOfContrast) {
		defs = append(defs, definition[equivalenceRow]{d.Column, func(r *equivalenceRow) Cell { return d.cell(r.contrastRow) }})
	}
	fill(&t, defs, rows)
	if len(rows) > 0 {
		c.finishContrasts(&t, plain, &tests)
	}
	c.endNotes(&t, plain, short)
	return t
}

// equivalenceColumns are what two one-sided tests say. Beside other tests only
// the verdict and its power are shown, and their keys say what they belong to.
func equivalenceColumns[R any](eq *record.Equivalence, beside bool, of func(*R) *stats.EquivalenceResult) []definition[R] {
	prefix, verdict, priority := "", "verdict", 0
	if beside {
		prefix, verdict, priority = "equivalence_", fmt.Sprintf("within\u00a0±%g", eq.Margin), 4
	}
	oneSided := func(key, heading string, p func(*stats.EquivalenceResult) *float64) definition[R] {
		return definition[R]{Column{Key: prefix + key, Heading: heading, Unit: "probability", Kind: PValue, Decimals: 3, DataOnly: beside}, func(r *R) Cell {
			return Cell{Value: p(of(r)), Method: of(r).Method}
		}}
	}
	return []definition[R]{
		{Column{Key: prefix + "interval", Heading: fmt.Sprintf("%g%%\u00a0interval", 100*(1-2*eq.Alpha)), Unit: "difference of shares", Kind: Interval, Decimals: 3, DataOnly: beside}, func(r *R) Cell {
			return intervalCell(of(r).Interval, nil)
		}},
		oneSided("p_lower", fmt.Sprintf("p, above\u00a0−%g", eq.Margin), func(e *stats.EquivalenceResult) *float64 { return e.PLower }),
		oneSided("p_upper", fmt.Sprintf("p, below\u00a0%g", eq.Margin), func(e *stats.EquivalenceResult) *float64 { return e.PUpper }),
		{Column{Key: prefix + "verdict", Heading: verdict, Kind: Verdict, Priority: priority}, func(r *R) Cell {
			cell := Cell{Warnings: of(r).Warnings}
			switch {
			case of(r).P == nil:
			case of(r).Equivalent:
				cell.Label = "equivalent"
			default:
				cell.Label = "not shown"
			}
			return cell
		}},
		{Column{Key: prefix + "power", Heading: "power", Unit: "probability", Kind: Number, Decimals: 2, Priority: priority}, func(r *R) Cell { return Cell{Value: of(r).Power} }},
		{Column{Key: prefix + "margin", Heading: "margin", Unit: "difference of shares", Kind: Number, Decimals: 2, DataOnly: true}, func(*R) Cell { return Cell{Value: new(eq.Margin)} }},
		{Column{Key: prefix + "alpha", Heading: "alpha", Unit: "probability", Kind: Number, Decimals: 3, DataOnly: true}, func(*R) Cell { return Cell{Value: new(eq.Alpha)} }},
	}
}
