package analysis

import (
	"maps"
	"slices"
)

// addMethodCall adds a call of a program of one's own, whichever trial it was
// for.
func (f *Frame) addMethodCall(name string, call *paidCall) {
	if f.methods == nil {
		f.methods = map[string]*paid{}
	}
	if f.methods[name] == nil {
		f.methods[name] = &paid{}
	}
	f.methods[name].add(call)
}

// methodsTable tells what the calls of programs of one's own took. It has no rows
// for a run without any.
func (f *Frame) methodsTable() Table {
	type col = colOf[string]
	t := Table{ID: "methods", Title: "Methods: their calls, cost and time", Topic: TopicRun, Need: "an auditor, an agent or a memory in another program (docs/methods.md)",
		About: "What the calls of programs of one's own took, those of failed trials among them. Dollars are what a program says of itself; none where it says nothing."}
	fill(&t, []col{
		{label("method", "method"), func(name string) Cell { return Cell{Label: name} }},
		{Column{Key: "calls", Heading: "calls", Unit: "calls", Kind: Count}, func(name string) Cell { return Cell{Count: int(f.methods[name].calls)} }},
		{Column{Key: "usd", Heading: "US\u00a0$", Unit: "US dollars", Kind: Number, Decimals: 2}, func(name string) Cell {
			if p := f.methods[name]; p.cost.n > 0 {
				return dollarCell(new(float64(p.cost.sum)))
			}
			return Cell{}
		}},
		{Column{Key: "said", Heading: "calls with a cost", Unit: "calls", Kind: Count, Priority: 1}, func(name string) Cell { return Cell{Count: int(f.methods[name].cost.n)} }},
		{Column{Key: "seconds", Heading: "s a call", Unit: "seconds", Kind: Average, Decimals: 3, Brief: true, Priority: 1}, func(name string) Cell {
			p := f.methods[name]
			return Cell{Value: p.seconds(), N: int(p.latency.n)}
		}},
	}, slices.Sorted(maps.Keys(f.methods)))
	return t
}
