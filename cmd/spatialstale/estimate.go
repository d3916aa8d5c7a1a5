package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// An estimate is what a study would take of one model: tokens, and dollars
// where its price is known. Nil is unknown.
type estimate struct {
	Model   string     `json:"model"`
	Control bool       `json:"control,omitempty"` // it costs nothing
	Trials  int        `json:"trials"`
	Calls   run.Bounds `json:"calls"`
	// Tokens. Output at the most is the cap on every call.
	Input  *run.Bounds `json:"input_tokens"`
	Cached int         `json:"cached_tokens"` // of the input, at the most, that a prompt cache serves
	Output run.Bounds  `json:"output_tokens"`
	// Least is with all that a cache may serve, likely and most without.
	USD   *dollarBounds `json:"usd"`
	Price *price.Price  `json:"price"`
	Notes []string      `json:"notes,omitempty"`

	sums sums // of money, exactly
}

type dollarBounds struct {
	Least  float64 `json:"least"`
	Likely float64 `json:"likely"`
	Most   float64 `json:"most"`
}

type sums struct{ least, likely, most price.USD }

// Output tokens of an answer: a bare verdict and action, and ones as models
// write them when they are asked for JSON and nothing else.
const (
	bareVerdict   = 30
	usualVerdict  = 70
	bareAction    = 6
	usualAction   = 12
	usualEnvelope = 10 // around the verdicts of a call
)

// estimateModel estimates one model's part of a plan.
func estimateModel(name string, volumes []run.Volume, params llm.Params, prices *price.List, detail string) estimate {
	e := estimate{Model: name, Control: isControl(name), Input: &run.Bounds{}}
	p, priced := prices.Of(name)
	if priced && !e.Control {
		e.Price = p
	}
	room := capOptions(prices, name)
	var saved price.USD // by a cache, at the most
	blind := false
	for i := range volumes {
		v := &volumes[i]
		if v.Model != name {
			continue
		}
		e.Trials += v.Trials
		add(&e.Calls, run.Bounds{Least: v.Calls.Least, Likely: v.Likely, Most: v.Calls.Most})
		add(e.Input, v.Text)
		e.Input.Most += v.Schema
		picture := llm.Tokens{}
		switch {
		case v.Pictures.Most == 0:
		case priced && p.Images != nil:
			picture = p.Images.Of(v.Width, v.Height, detail)
			add(e.Input, run.Bounds{Least: v.Pictures.Least * picture.Low, Likely: v.Pictures.Likely * picture.Middle(), Most: v.Pictures.Most * picture.High})
		default:
			blind = true
		}
		if priced {
			if n := v.Text.Most + v.Pictures.Most*picture.High; p.UpTo > 0 && n > p.UpTo*v.Calls.Most {
				e.note("prompts of %s are longer than the %d tokens that its price is for", v.Size, p.UpTo)
			}
			for _, b := range v.Beginnings {
				e.Cached += b.Calls.Most * p.CachedOf(b.Text.High+b.Pictures*picture.High)
				if n := b.Calls.Least * p.CachedOf(b.Text.Low+b.Pictures*picture.Low); p.CachedInput != nil {
					saved += p.Cost(llm.Usage{InputTokens: &n, OutputTokens: new(0)}).USD - p.Cost(llm.Usage{InputTokens: &n, CachedTokens: &n, OutputTokens: new(0)}).USD
				}
			}
		}
		add(&e.Output, run.Bounds{
			Least:  v.Verdicts.Least*bareVerdict + v.Actions.Least*bareAction,
			Likely: v.Verdicts.Likely*usualVerdict + v.Actions.Likely*usualAction + (v.Likely-v.Actions.Likely)*usualEnvelope,
			Most:   mostOutput(v, params, room),
		})
	}
	e.Output.Likely = min(e.Output.Likely, e.Output.Most)
	e.Output.Least = min(e.Output.Least, e.Output.Likely)
	if e.Control {
		return e
	}
	if blind {
		e.Input = nil
		e.note("how many tokens a picture has is unknown for it")
	}
	if room.Thinking > 0 && params.Thinking == nil {
		e.note("the likely output is without thinking, which may be many times as much")
	}
	if !priced {
		e.note("the list of prices of %s does not have it; give one with --prices FILE", prices.Date)
		return e
	}
	if p.CachedInput != nil && e.Cached > 0 && p.CacheFrom > 0 {
		e.note("a cache serves what begins alike from %d tokens on, if calls follow each other within minutes", p.CacheFrom)
	}
	if e.Input == nil {
		return e
	}
	cost := func(input, output int) price.USD {
		return p.Cost(llm.Usage{InputTokens: &input, OutputTokens: &output}).USD
	}
	e.sums = sums{cost(e.Input.Least, e.Output.Least) - saved, cost(e.Input.Likely, e.Output.Likely), cost(e.Input.Most, e.Output.Most)}
	if p.CacheWrite != nil { // all of it may be written
		e.sums.most = p.Cost(llm.Usage{InputTokens: &e.Input.Most, CacheWriteTokens: &e.Input.Most, OutputTokens: &e.Output.Most}).USD
	}
	e.USD = &dollarBounds{e.sums.least.Dollars(), e.sums.likely.Dollars(), e.sums.most.Dollars()}
	return e
}

func (e *estimate) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(e.Notes, n) {
		e.Notes = append(e.Notes, n)
	}
}

// mostOutput is the cap on all calls of a group together.
func mostOutput(v *run.Volume, params llm.Params, room llm.CapOptions) int {
	if params.MaxTokens != nil {
		return v.Calls.Most * *params.MaxTokens
	}
	n := v.Answers + v.Calls.Most*room.Room(&params)
	if room.Most > 0 {
		n = min(n, v.Calls.Most*room.Most)
	}
	return n
}

func add(to *run.Bounds, b run.Bounds) {
	to.Least += b.Least
	to.Likely += b.Likely
	to.Most += b.Most
}

// estimates estimates each model's part of a study.
func estimates(s *study.Study, volumes []run.Volume, prices *price.List, detail string) []estimate {
	var out []estimate
	for _, name := range s.Models {
		out = append(out, estimateModel(name, volumes, s.Params, prices, detail))
	}
	return out
}

// spread writes what is likely, and in brackets the least and the most.
func spread(b *run.Bounds) string {
	if b == nil {
		return "unknown"
	}
	if b.Least == b.Most {
		return short(b.Likely)
	}
	return fmt.Sprintf("%s (%s to %s)", short(b.Likely), short(b.Least), short(b.Most))
}

func (e *estimate) cached() string {
	switch {
	case e.Price == nil || e.Price.CacheFrom == 0:
		return "unknown"
	case e.Cached == 0:
		return "none"
	}
	return "up to " + short(e.Cached)
}

func (e *estimate) money() string {
	if e.USD == nil {
		return "unknown"
	}
	return e.sums.String()
}

func (s sums) String() string { return fmt.Sprintf("%v (%v to %v)", s.likely, s.least, s.most) }

// totalMoney is what all models together would cost; unknown when it is for one.
func totalMoney(all []estimate) string {
	var total sums
	var unknown []string
	for i := range all {
		switch {
		case all[i].Control:
		case all[i].USD == nil:
			unknown = append(unknown, all[i].Model)
		default:
			total.least += all[i].sums.least
			total.likely += all[i].sums.likely
			total.most += all[i].sums.most
		}
	}
	known := len(all) - len(unknown) - controls(all)
	switch {
	case known == 0:
		return "unknown"
	case len(unknown) > 0:
		return fmt.Sprintf("%v, and an unknown sum for %s", total, strings.Join(unknown, ", "))
	}
	return total.String()
}

func controls(all []estimate) int {
	n := 0
	for i := range all {
		if all[i].Control {
			n++
		}
	}
	return n
}

// notes are those of all estimates, each once, with the models it is of.
func notes(all []estimate) []string {
	var order []string
	of := map[string][]string{}
	for i := range all {
		for _, n := range all[i].Notes {
			if !slices.Contains(order, n) {
				order = append(order, n)
			}
			of[n] = append(of[n], all[i].Model)
		}
	}
	for i, n := range order {
		order[i] = strings.Join(of[n], ", ") + ": " + n
	}
	return order
}
