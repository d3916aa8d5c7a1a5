package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// A PaidCall is what tables take of a model call that was paid for. Nil is
// unknown.
type PaidCall struct {
	Input, Cached, Output, Reasoning *int   // tokens
	Cost                             *int64 // in millionths of a millionth of a US dollar; nil where the model has no price
	Inexact                          bool   // the true cost may be another: not all tokens or prices are known
	Latency                          time.Duration
}

// A callTally adds up the calls of one setting, in integers.
type callTally struct {
	calls                            int
	input, cached, output, reasoning knownSum
	cost                             knownSum // of money
	inexact                          int      // calls
	latency                          time.Duration
}

// A knownSum is a sum over the calls where the number is known.
type knownSum struct {
	sum int64
	n   int // calls
}

func (s *knownSum) add(n int64) { s.sum, s.n = s.sum+n, s.n+1 }

func (s *knownSum) addInt(n *int) {
	if n != nil {
		s.add(int64(*n))
	}
}

func (s *knownSum) plus(o knownSum) { s.sum, s.n = s.sum+o.sum, s.n+o.n }

// total is the sum, undefined when it is known of no call.
func (s knownSum) total() *float64 {
	if s.n == 0 {
		return nil
	}
	return new(float64(s.sum))
}

// mean is the mean over the calls where it is known.
func (s knownSum) mean() *float64 {
	if s.n == 0 {
		return nil
	}
	return new(float64(s.sum) / float64(s.n))
}

func (t *callTally) plus(o *callTally) {
	t.calls += o.calls
	t.input.plus(o.input)
	t.cached.plus(o.cached)
	t.output.plus(o.output)
	t.reasoning.plus(o.reasoning)
	t.cost.plus(o.cost)
	t.inexact += o.inexact
	t.latency += o.latency
}

// AddCall adds a call of a trial that was announced with Expect, or not.
func (c *Collector) AddCall(spec *record.Spec, call *PaidCall) {
	if c.calls == nil {
		c.calls = make(map[callKey]*callTally)
	}
	key := callKey{spec.Task, settingOf(spec)}
	t := c.calls[key]
	if t == nil {
		t = &callTally{}
		c.calls[key] = t
	}
	t.calls++
	t.input.addInt(call.Input)
	t.cached.addInt(call.Cached)
	t.output.addInt(call.Output)
	t.reasoning.addInt(call.Reasoning)
	if call.Cost != nil {
		t.cost.add(*call.Cost)
		if call.Inexact {
			t.inexact++
		}
	}
	t.latency += call.Latency
}

// PricedBy says of which day a list of prices is that costs are by. There may
// be several.
func (c *Collector) PricedBy(date string) {
	addNew(&c.pricedBy, date)
	slices.Sort(c.pricedBy)
}

// A callKey is a task and a setting.
type callKey struct {
	task string
	setting
}

// A costRow is one row of Costs.
type costRow struct {
	model, task, modality string
	callTally
}

// Costs tells what the calls of models that are paid for took: tokens, money and
// time, of all calls, those of failed and unfinished trials as well. It has no
// rows for a run of controls.
func (c *Collector) Costs() Table {
	t := Table{
		ID:    "costs",
		Title: "Tokens, cost and time",
		About: "What the calls took, those of failed trials and audits before episodes among them. Tokens are those that the servers reported; dollars are what a list of prices says of them, not the provider’s bill.",
		Need:  "a model that is paid for: spatialstale run quick --model openai/gpt-4o",
	}
	type place struct{ model, task, modality string }
	sums := make(map[place]*costRow)
	for key, tally := range c.calls {
		p := place{key.model, key.task, key.modality}
		if sums[p] == nil {
			sums[p] = &costRow{model: p.model, task: p.task, modality: p.modality}
		}
		sums[p].plus(tally)
	}
	rows := slices.SortedFunc(maps.Values(sums), func(x, y *costRow) int {
		return cmp.Or(c.plan.compareModels(x.model, y.model), cmp.Compare(x.task, y.task), compareModalities(x.modality, y.modality))
	})
	short := c.modelNames()
	tokens := func(key, heading string, of func(*costRow) knownSum, priority int) definition[costRow] {
		return definition[costRow]{Column{Key: key, Heading: heading, Unit: "tokens", Kind: Number, Decimals: 0, Priority: priority},
			func(r *costRow) Cell { return Cell{Value: of(r).total(), N: of(r).n, Decimals: -1} }}
	}
	fill(&t, []definition[costRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *costRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "task", Heading: "task", Kind: Label}, func(r *costRow) Cell { return Cell{Label: r.task} }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *costRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "calls", Heading: "calls", Unit: "calls", Kind: Count}, func(r *costRow) Cell { return Cell{Count: r.calls} }},
		tokens("input_tokens", "tokens in", func(r *costRow) knownSum { return r.input }, 0),
		tokens("cached_tokens", "cached", func(r *costRow) knownSum { return r.cached }, 2),
		tokens("output_tokens", "tokens out", func(r *costRow) knownSum { return r.output }, 0),
		tokens("reasoning_tokens", "thinking", func(r *costRow) knownSum { return r.reasoning }, 3),
		{Column{Key: "usd", Heading: "US\u00a0$", Unit: "US dollars", Kind: Number, Decimals: 2}, func(r *costRow) Cell { return dollarCell(r.cost.total()) }},
		{Column{Key: "seconds", Heading: "s a call", Unit: "seconds", Kind: Average, Decimals: 2, Brief: true, Priority: 1},
			func(r *costRow) Cell {
				return Cell{Value: new(r.latency.Seconds() / float64(r.calls)), N: r.calls}
			}},
	}, rows)
	if len(rows) == 0 {
		return t
	}
	t.Notes = undefinedNotes(&t, "–: no server said how many, or the list of prices does not have the model; it is not zero.")
	t.Notes = append(t.Notes, "cached: of the tokens in, those read from the provider’s cache; thinking: of the tokens out. s a call: the mean, with the waits of calls that were tried again.")
	if len(c.pricedBy) > 0 {
		t.Notes = append(t.Notes, "Dollars by the list of prices of "+strings.Join(c.pricedBy, " and of ")+".")
	}
	for _, r := range rows {
		silent := r.calls - min(r.input.n, r.output.n)
		if silent > 0 {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s, %s, %s: of %s the tokens are not known in full; the sums leave them out.", r.model, r.task, r.modality, countOf(silent, "call")))
		}
		if r.inexact > silent && r.cost.n > 0 {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s, %s, %s: of %s the list of prices does not have all that was used, so that the sum may be off.", r.model, r.task, r.modality, countOf(r.inexact-silent, "call")))
		}
	}
	return t
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

// callsOf returns the calls of a detection's setting that were paid for; none
// where there are none.
func (c *Collector) callsOf(s setting) *callTally {
	if t := c.calls[callKey{record.Detect, s}]; t != nil {
		return t
	}
	return &callTally{}
}

// priceColumns tell what an audit of a detection takes: the mean of a call by the
// calls of an audit. There are none where nothing was paid for.
func (c *Collector) priceColumns(groups []*detectionGroup) []definition[detectionGroup] {
	if !slices.ContainsFunc(groups, func(g *detectionGroup) bool { return c.callsOf(g.setting).calls > 0 }) {
		return nil
	}
	perAudit := func(g *detectionGroup, perCall *float64) *float64 {
		calls := quotient(total(g.seeds, (*detectionTally).allCalls), total(g.seeds, func(d *detectionTally) int { return d.asking.audits }))
		if perCall == nil || calls == nil {
			return nil
		}
		return new(*perCall * *calls)
	}
	return []definition[detectionGroup]{
		{Column{Key: "input_tokens_per_audit", Heading: "tokens in", Group: "an audit", Unit: "tokens", Kind: Number, Decimals: 0, Priority: 1},
			func(g *detectionGroup) Cell {
				return Cell{Value: perAudit(g, c.callsOf(g.setting).input.mean()), Decimals: -1}
			}},
		{Column{Key: "output_tokens_per_audit", Heading: "out", Group: "an audit", Unit: "tokens", Kind: Number, Decimals: 0, Priority: 1},
			func(g *detectionGroup) Cell {
				return Cell{Value: perAudit(g, c.callsOf(g.setting).output.mean()), Decimals: -1}
			}},
		{Column{Key: "usd_per_audit", Heading: "US\u00a0$", Group: "an audit", Unit: "US dollars", Kind: Number, Decimals: 4},
			func(g *detectionGroup) Cell { return dollarCell(perAudit(g, c.callsOf(g.setting).cost.mean())) }},
		{Column{Key: "seconds_per_audit", Heading: "s", Group: "an audit", Unit: "seconds", Kind: Number, Decimals: 1, Priority: 1},
			func(g *detectionGroup) Cell {
				t := c.callsOf(g.setting)
				if t.calls == 0 {
					return Cell{}
				}
				return Cell{Value: perAudit(g, new(t.latency.Seconds()/float64(t.calls)))}
			}},
	}
}
