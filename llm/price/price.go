// Package price turns tokens into money by a dated list of prices, which ships
// with a few models and can be replaced. It refuses to guess: a model that is
// not on the list has no price, which is not a price of nothing.
package price

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed prices.yaml
var shipped []byte

// A List holds the prices of models by their provider/name.
type List struct {
	Date   string           `yaml:"date"` // when it was made, YYYY-MM-DD
	Models map[string]Price `yaml:"models"`
}

// A Price is what a model's tokens cost, in US dollars per million.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
	Source string  `yaml:"source"` // where the figures are from
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
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		return nil, fmt.Errorf("date %q: write it as 2026-11-30", l.Date)
	}
	for name, p := range l.Models {
		if !(p.Input >= 0 && p.Output >= 0) {
			return nil, fmt.Errorf("%s: input %v, output %v: a price is not negative", name, p.Input, p.Output)
		}
	}
	return &l, nil
}

// Of returns a model's price; false when the list has none.
func (l *List) Of(model string) (Price, bool) {
	p, ok := l.Models[model]
	return p, ok
}

// Cost returns what the tokens of a call cost, in US dollars.
func (p Price) Cost(input, output int) float64 {
	return (float64(input)*p.Input + float64(output)*p.Output) / 1e6
}
