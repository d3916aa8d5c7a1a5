// Package price turns tokens into money by a dated list of prices, which ships
// with some models and can be replaced, and keeps a run within a sum. It
// refuses to guess: a model that is not on the list has no price, which is not
// a price of nothing, and a cost says whether the true one may lie above or
// below it.
package price

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/spatialstale/spatialstale/llm"
)

//go:embed prices.yaml
var shipped []byte

// A List holds the prices of models by their provider/name.
type List struct {
	Date   string           `yaml:"date"` // when it was made, YYYY-MM-DD
	Models map[string]Price `yaml:"models"`
}

// A Price is what a model's tokens cost, in US dollars per million, with what
// else a bill depends on. What is absent is unknown.
type Price struct {
	Input       float64  `yaml:"input" json:"input"`
	CachedInput *float64 `yaml:"cached_input" json:"cached_input,omitempty"` // input read from the provider's cache
	CacheWrite  *float64 `yaml:"cache_write" json:"cache_write,omitempty"`   // input written to it
	Output      float64  `yaml:"output" json:"output"`                       // thinking as well
	Batch       *float64 `yaml:"batch" json:"batch,omitempty"`               // what a token costs in a batch, as a share of these prices
	UpTo        int      `yaml:"up_to" json:"up_to,omitempty"`               // the price is that of prompts of so many tokens; 0 for any
	CacheFrom   int      `yaml:"cache_from" json:"cache_from,omitempty"`     // the cache serves prefixes of at least so many tokens
	CacheStep   int      `yaml:"cache_step" json:"cache_step,omitempty"`     // and in steps of so many
	MaxOutput   int      `yaml:"max_output" json:"max_output,omitempty"`     // the most output tokens that may be asked for
	Thinks      *bool    `yaml:"thinks" json:"thinks,omitempty"`             // unless told otherwise it thinks, at the output's price
	Images      *Images  `yaml:"images" json:"images,omitempty"`
	Source      string   `yaml:"source" json:"source"` // where the figures are from
	Date        string   `yaml:"date" json:"date"`     // when they were read there; the list's unless given
	Note        string   `yaml:"note" json:"note,omitempty"`
	List        string   `yaml:"-" json:"list"` // the date of the list that it is in

	atMost bool // batches may cost less
}

// In returns the price of calls in batches, or p itself. Where the list does not
// say what batches cost, the ordinary price stands for it: none costs more.
func (p *Price) In(batch bool) *Price {
	if !batch || p == nil {
		return p
	}
	in := *p
	if p.Batch == nil {
		in.atMost = true
		return &in
	}
	in.Input *= *p.Batch
	in.Output *= *p.Batch
	for _, dollars := range []**float64{&in.CachedInput, &in.CacheWrite} {
		if *dollars != nil {
			*dollars = new(**dollars * *p.Batch)
		}
	}
	return &in
}

// Shipped returns the list that ships with the program.
func Shipped() *List {
	l, err := parse(shipped)
	if err != nil {
		panic("price: " + err.Error()) // embedded and tested: cannot happen
	}
	return l
}

// Read reads a list from a YAML file of the same form.
func Read(path string) (*List, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	l, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("prices: %s: %w", path, err)
	}
	return l, nil
}

func parse(text []byte) (*List, error) {
	var l List
	if err := yaml.UnmarshalWithOptions(text, &l, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	if err := checkDate(l.Date); err != nil {
		return nil, err
	}
	var given struct {
		Models map[string]struct {
			Input  *float64 `yaml:"input"`
			Output *float64 `yaml:"output"`
		} `yaml:"models"`
	}
	if err := yaml.Unmarshal(text, &given); err != nil {
		return nil, err // what strict reading takes, this does
	}
	for name, p := range l.Models {
		if g := given.Models[name]; g.Input == nil || g.Output == nil || p.Source == "" {
			return nil, fmt.Errorf("%s: a price has input, output and source; what is left out would count as nothing (for a model that costs nothing, say input: 0 and output: 0)", name)
		}
		if p.Date == "" {
			p.Date = l.Date
		}
		p.List = l.Date
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.Models[name] = p
	}
	return &l, nil
}

func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("date %q: write it as 2026-11-30", date)
	}
	return nil
}

// check returns what is wrong with a price.
func (p *Price) check() error {
	if b := p.Batch; b != nil && !(*b >= 0 && *b <= 1) {
		return fmt.Errorf("batch %v: it is a share of the price, from 0 to 1, as in 0.5 for half of it", *b)
	}
	for _, price := range []struct {
		what    string
		dollars *float64
	}{{"input", &p.Input}, {"output", &p.Output}, {"cached_input", p.CachedInput}, {"cache_write", p.CacheWrite}} {
		if price.dollars == nil {
			continue
		}
		if _, ok := perMillion(*price.dollars); !ok || p.Batch != nil && !isExact(*price.dollars**p.Batch) {
			return fmt.Errorf("%s %v: a price is a number of dollars from 0 to a million, with at most six decimals, in batches as well", price.what, *price.dollars)
		}
	}
	if p.UpTo < 0 || p.CacheFrom < 0 || p.CacheStep < 0 || p.MaxOutput < 0 {
		return errors.New("up_to, cache_from, cache_step and max_output are numbers of tokens")
	}
	if p.Images != nil {
		if err := p.Images.check(); err != nil {
			return err
		}
	}
	return checkDate(p.Date)
}

func isExact(dollars float64) bool {
	_, ok := perMillion(dollars)
	return ok
}

// Of returns a model's price; nil and false when the list has none.
func (l *List) Of(model string) (*Price, bool) {
	p, ok := l.Models[model]
	if !ok {
		return nil, false
	}
	return &p, true
}

// With returns the list with other prices for some models, such as those by
// which a run was begun.
func (l *List) With(prices map[string]Price) *List {
	out := &List{Date: l.Date, Models: maps.Clone(l.Models)}
	if out.Models == nil {
		out.Models = map[string]Price{}
	}
	maps.Copy(out.Models, prices)
	return out
}

// Dated returns the date of the list that has the model's price, or that lacks
// it.
func (l *List) Dated(model string) string {
	if p, ok := l.Of(model); ok {
		return p.List
	}
	return l.Date
}

// rates are the prices by the token. A price that has none for cached or
// written input has the input's there.
type rates struct{ input, cached, written, output Rate }

func (p *Price) rates() rates {
	of := func(dollars float64) Rate {
		r, _ := perMillion(dollars) // checked when it was read
		return r
	}
	r := rates{input: of(p.Input), output: of(p.Output)}
	r.cached, r.written = r.input, r.input
	if p.CachedInput != nil {
		r.cached = of(*p.CachedInput)
	}
	if p.CacheWrite != nil {
		r.written = of(*p.CacheWrite)
	}
	return r
}

// A Cost is what is known of a call's cost.
type Cost struct {
	USD USD
	// AtLeast is set when the true cost may be more: the server did not say how
	// many tokens there were, or the list has no price for some of them.
	AtLeast bool
	// AtMost is set when the true cost may be less: cached tokens were charged
	// as input, or batches as single calls, because the list has no price for
	// them.
	AtMost bool
}

// Cost returns what the tokens of a call cost.
func (p *Price) Cost(u llm.Usage) Cost {
	r := p.rates()
	c := Cost{AtLeast: u.InputTokens == nil || u.OutputTokens == nil, AtMost: p.atMost}
	if u.InputTokens != nil {
		cached := clamp(u.CachedTokens, *u.InputTokens)
		written := clamp(u.CacheWriteTokens, *u.InputTokens-cached)
		c.USD = r.input.of(*u.InputTokens - cached - written).plus(r.cached.of(cached)).plus(r.written.of(written))
		c.AtMost = c.AtMost || cached > 0 && p.CachedInput == nil
		c.AtLeast = c.AtLeast || written > 0 && p.CacheWrite == nil || p.UpTo > 0 && *u.InputTokens > p.UpTo
	}
	if u.OutputTokens != nil {
		c.USD = c.USD.plus(r.output.of(*u.OutputTokens))
	}
	return c
}

// clamp returns a part of n tokens: 0 where it is unknown, never more than all.
func clamp(part *int, n int) int {
	if part == nil {
		return 0
	}
	return max(0, min(*part, n))
}

// CachedOf returns how many tokens of a prefix that was sent before the
// provider's cache serves, 0 where nothing is known of its cache.
func (p *Price) CachedOf(prefix int) int {
	if p.CacheFrom == 0 || prefix < p.CacheFrom {
		return 0
	}
	if p.CacheStep > 0 {
		prefix -= prefix % p.CacheStep
	}
	return prefix
}
