package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// models tell how the models of the run were reached and what became of what
// they were asked: where, under which names their servers answered, what was
// asked beside the study's parameters, and what a server refused. It has rows
// for models with a server.
func (f *Frame) modelsTable() Table {
	type col = colOf[*record.ModelInfo]
	var rows []*record.ModelInfo
	for i := range f.runs {
		for _, m := range f.runs[i].models {
			if m.Control {
				continue
			}
			k := slices.IndexFunc(rows, func(r *record.ModelInfo) bool { return r.Name == m.Name })
			if k < 0 {
				rows = append(rows, &m)
				continue
			}
			for _, e := range m.Endpoints {
				addNew(&rows[k].Endpoints, e)
			}
			for _, s := range m.ServerModels {
				addNew(&rows[k].ServerModels, s)
			}
			rows[k].Changes = append(slices.Clip(rows[k].Changes), m.Changes...)
		}
	}
	list := func(key, heading string, priority int, of func(*record.ModelInfo) []string) col {
		return col{Column{Key: key, Heading: heading, Kind: Label, Priority: priority}, func(m *record.ModelInfo) Cell {
			if words := of(m); len(words) > 0 {
				return Cell{Label: strings.Join(words, ", ")}
			}
			return Cell{Label: "–"}
		}}
	}
	t := Table{ID: "models", Title: "Models: where they were asked, and what their servers said", Topic: TopicRun, Need: "a model with a server: spatialstale run quick --model openai/gpt-4o",
		About: "Parameters that a server does not take are left out or renamed after its refusal. A server that reports two names in one run may have answered with two models."}
	fill(&t, []col{
		{label("model", "model"), func(m *record.ModelInfo) Cell { return Cell{Label: m.Name} }},
		list("reported", "its server calls it", 0, func(m *record.ModelInfo) []string { return m.ServerModels }),
		list("changed", "refused parameters", 0, func(m *record.ModelInfo) (words []string) {
			for _, c := range m.Changes {
				addNew(&words, c.String())
			}
			return words
		}),
		list("settings", "asked besides", 0, func(m *record.ModelInfo) []string { return settingWords(m.Settings) }),
		list("endpoints", "at", 1, func(m *record.ModelInfo) []string { return m.Endpoints }),
	}, rows)
	t.Warnings = f.mixedModels()
	return t
}

func settingWords(s *record.ModelSettings) []string {
	var words []string
	if s == nil {
		return nil
	}
	if s.Detail != "" {
		words = append(words, "detail "+s.Detail)
	}
	if s.NoSchema {
		words = append(words, "no schema")
	}
	if len(s.ExtraBody) > 0 {
		words = append(words, string(s.ExtraBody))
	}
	for _, name := range s.Headers {
		words = append(words, "header "+name)
	}
	return words
}

// mean is the mean over the calls where it is known.
func (s knownSum) mean() *float64 {
	if s.n == 0 {
		return nil
	}
	return new(float64(s.sum) / float64(s.n))
}

// calls adds up what the calls of a group took, those of trials without a result
// as well.
func (g *Group) calls() *paid {
	var all paid
	for _, s := range g.Seeds {
		for _, r := range s.Rows {
			if r.paid == nil {
				continue
			}
			all.calls += r.paid.calls
			all.inexact += r.paid.inexact
			for _, k := range []struct{ into, of *knownSum }{{&all.input, &r.paid.input}, {&all.cached, &r.paid.cached}, {&all.output, &r.paid.output}, {&all.reasoning, &r.paid.reasoning}, {&all.cost, &r.paid.cost}, {&all.latency, &r.paid.latency}} {
				k.into.sum, k.into.n = k.into.sum+k.of.sum, k.into.n+k.of.n
			}
		}
	}
	return &all
}

// dollarCell shows a sum in picodollars as dollars, in cents where that says
// something.
func dollarCell(pico *float64) Cell {
	if pico == nil {
		return Cell{}
	}
	c := Cell{Value: new(*pico / 1e12)}
	if *c.Value < 0.1 {
		c.Decimals = 5
	}
	return c
}

// costs tell what the calls of models that are paid for took: tokens, money and
// time, of all calls, those of failed and unfinished trials as well. It has no
// rows for a run of controls.
func (f *Frame) costs() Table {
	sum := func(s knownSum) Cell {
		if s.n == 0 {
			return Cell{Decimals: -1}
		}
		return Cell{Value: new(float64(s.sum)), N: int(s.n), Decimals: -1}
	}
	tokens := func(key, heading string, priority int, of func(*paid) knownSum) column {
		return column{Column{Key: key, Heading: heading, Unit: "tokens", Kind: Number, Priority: priority}, func(g *Group) Cell { return sum(of(g.calls())) }}
	}
	return f.table(&spec{
		Table: Table{ID: "costs", Title: "Tokens, cost and time", Topic: TopicRun, Need: "a model that is paid for: spatialstale run quick --model openai/gpt-4o",
			About: "What the calls took, those of failed trials and audits before episodes among them. Tokens are those that the servers reported; dollars are what a list of prices says of them, not the provider’s bill."},
		by: []dim{byModel, byTask, byModality}, over: true, dash: "no server said how many, or the list of prices does not have the model",
		keep: func(groups []*Group) []*Group {
			return slices.DeleteFunc(groups, func(g *Group) bool { return g.calls().calls == 0 })
		},
		columns: func(*Frame, []*Group) []column {
			return []column{
				{Column{Key: "calls", Heading: "calls", Unit: "calls", Kind: Count}, func(g *Group) Cell { return Cell{Count: int(g.calls().calls)} }},
				tokens("input_tokens", "tokens in", 0, func(p *paid) knownSum { return p.input }), tokens("cached_tokens", "cached", 2, func(p *paid) knownSum { return p.cached }),
				tokens("output_tokens", "tokens out", 0, func(p *paid) knownSum { return p.output }), tokens("reasoning_tokens", "thinking", 3, func(p *paid) knownSum { return p.reasoning }),
				{Column{Key: "usd", Heading: "US\u00a0$", Unit: "US dollars", Kind: Number, Decimals: 2}, func(g *Group) Cell { return dollarCell(sum(g.calls().cost).Value) }},
				{Column{Key: "seconds", Heading: "s a call", Unit: "seconds", Kind: Average, Decimals: 2, Brief: true, Priority: 1}, func(g *Group) Cell {
					p := g.calls()
					return Cell{Value: p.seconds(), N: int(p.latency.n)}
				}},
			}
		},
		notes: func(f *Frame, groups []*Group, t *Table) []string {
			t.Warnings = nil // what is lost took calls as well
			for _, g := range groups {
				p := g.calls()
				where := g.Model + ", " + g.Task + ", " + g.Modality
				silent := p.calls - min(p.input.n, p.output.n)
				if silent > 0 {
					t.Warnings = append(t.Warnings, fmt.Sprintf("%s: of %s the tokens are not known in full; the sums leave them out.", where, countOf(int(silent), "call")))
				}
				if p.inexact > silent && p.cost.n > 0 {
					t.Warnings = append(t.Warnings, fmt.Sprintf("%s: of %s the list of prices does not have all that was used, so that the sum may be off.", where, countOf(int(p.inexact-silent), "call")))
				}
			}
			notes := []string{"cached: of the tokens in, those read from the provider’s cache; thinking: of the tokens out. s a call: the mean, with the waits of calls that were tried again."}
			if len(f.pricedBy) > 0 {
				notes = append(notes, "Dollars by the list of prices of "+strings.Join(f.pricedBy, " and of ")+".")
			}
			return notes
		},
	})
}
