package run

import (
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/study"
)

// An Estimate is what a study would take of one model: tokens, and dollars
// where its price is known. Nil is unknown.
type Estimate struct {
	Model   string `json:"model"`
	Control bool   `json:"control,omitempty"` // it costs nothing
	Trials  int    `json:"trials"`
	Calls   Bounds `json:"calls"`
	// Tokens. Output at the most is the cap on every call.
	Input  *Bounds `json:"input_tokens"`
	Cached int     `json:"cached_tokens"` // of the input, at the most, that a prompt cache serves
	Output Bounds  `json:"output_tokens"`
	// Least is with all that a cache may serve, likely and most without.
	USD   *Dollars     `json:"usd"`
	Price *price.Price `json:"price"`
	Notes []string     `json:"notes,omitempty"`

	Sums Sums `json:"-"` // of money, exactly
}

// Dollars are the dollars of an estimate.
type Dollars struct {
	Least  float64 `json:"least"`
	Likely float64 `json:"likely"`
	Most   float64 `json:"most"`
}

// Sums are the dollars of an estimate, exactly.
type Sums struct{ Least, Likely, Most price.USD }

func (s *Sums) add(o Sums) {
	s.Least, s.Likely, s.Most = s.Least+o.Least, s.Likely+o.Likely, s.Most+o.Most
}

// plus adds the estimate of another part of the same model's trials.
func (e *Estimate) plus(o Estimate) {
	e.Trials += o.Trials
	e.Cached += o.Cached
	add(&e.Calls, o.Calls)
	add(&e.Output, o.Output)
	if e.Input != nil && o.Input != nil {
		add(e.Input, *o.Input)
	} else {
		e.Input = nil
	}
	e.Sums.add(o.Sums)
	if e.USD != nil && o.USD != nil {
		e.USD = &Dollars{e.Sums.Least.Dollars(), e.Sums.Likely.Dollars(), e.Sums.Most.Dollars()}
	} else {
		e.USD = nil
	}
	for _, n := range o.Notes {
		e.note("%s", n)
	}
}

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
func estimateModel(name string, volumes []Volume, params llm.Params, prices *price.List, detail string) Estimate {
	e := Estimate{Model: name, Control: IsControl(name) || !study.HasServer(name), Input: &Bounds{}}
	p, priced := prices.Of(name)
	if priced && !e.Control {
		e.Price = p
	}
	room := models.CapOptions(prices, name)
	var saved price.USD // by a cache, at the most
	blind := false
	for i := range volumes {
		v := &volumes[i]
		if v.Model != name {
			continue
		}
		e.Trials += v.Trials
		add(&e.Calls, Bounds{Least: v.Calls.Least, Likely: v.Likely, Most: v.Calls.Most})
		add(e.Input, v.Text)
		e.Input.Most += v.Schema
		picture := llm.Tokens{}
		switch {
		case v.Pictures.Most == 0:
		case priced && p.Images != nil:
			picture = p.Images.Of(v.Width, v.Height, detail)
			add(e.Input, Bounds{Least: v.Pictures.Least * picture.Low, Likely: v.Pictures.Likely * picture.Middle(), Most: v.Pictures.Most * picture.High})
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
		add(&e.Output, Bounds{
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
	e.Sums = Sums{cost(e.Input.Least, e.Output.Least) - saved, cost(e.Input.Likely, e.Output.Likely), cost(e.Input.Most, e.Output.Most)}
	if p.CacheWrite != nil { // all of it may be written
		e.Sums.Most = p.Cost(llm.Usage{InputTokens: &e.Input.Most, CacheWriteTokens: &e.Input.Most, OutputTokens: &e.Output.Most}).USD
	}
	e.USD = &Dollars{e.Sums.Least.Dollars(), e.Sums.Likely.Dollars(), e.Sums.Most.Dollars()}
	return e
}

func (e *Estimate) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(e.Notes, n) {
		e.Notes = append(e.Notes, n)
	}
}

// mostOutput is the cap on all calls of a group together.
func mostOutput(v *Volume, params llm.Params, room llm.CapOptions) int {
	if params.MaxTokens != nil {
		return v.Calls.Most * *params.MaxTokens
	}
	n := v.Answers + v.Calls.Most*room.Room(&params)
	if room.Most > 0 {
		n = min(n, v.Calls.Most*room.Most)
	}
	return n
}

func add(to *Bounds, b Bounds) {
	to.Least += b.Least
	to.Likely += b.Likely
	to.Most += b.Most
}

// EstimatesOf estimates each model's part of a study, whose calls are asked in
// batches as said; nil for none.
func EstimatesOf(s *study.Study, volumes []Volume, prices *price.List, detail string, batches *Batches) []Estimate {
	var alone, batched []Volume
	for _, v := range volumes {
		if batches.Has(v.Task) {
			batched = append(batched, v)
		} else {
			alone = append(alone, v)
		}
	}
	var out []Estimate
	for _, name := range s.Models {
		p, known := prices.Of(name)
		if !known || len(batched) == 0 || !models.TakesBatches(name) {
			out = append(out, estimateModel(name, volumes, s.Params, prices, detail))
			continue
		}
		e := estimateModel(name, alone, s.Params, prices, detail)
		e.plus(estimateModel(name, batched, s.Params, prices.With(map[string]price.Price{name: *p.In(true)}), detail))
		if p.Batch == nil {
			e.note("the list of prices does not say what batches cost; they are counted as calls of their own")
		}
		out = append(out, e)
	}
	return out
}
