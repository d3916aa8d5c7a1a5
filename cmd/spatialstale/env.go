package main

import (
	"os"

	"github.com/spatialstale/spatialstale/gym"
	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/study"
)

type envCmd struct {
	Regime       string     `default:"L1" placeholder:"L1|L2|L3" help:"Regime of change."`
	Size         study.Size `default:"8x8" placeholder:"ROWSxCOLS" help:"Size of the lake; one number for a square."`
	HoleFraction float64    `default:"0.25" placeholder:"P" help:"Probability that a cell is a hole."`
	Strict       bool       `name:"strict-schedule" help:"Apply every L3 change to the letter, even under the agent."`
}

// Run serves episodes on the standard input and output until the input ends.
func (c *envCmd) Run(e *env) error {
	regime, err := instance.ParseRegime(c.Regime)
	if err != nil {
		return usageError{err}
	}
	return gym.Serve(os.Stdin, e.stdout, gym.Options{
		Regime: regime,
		Config: instance.Config{Rows: c.Size.Rows, Cols: c.Size.Cols, HoleFraction: c.HoleFraction},
		Strict: c.Strict,
	})
}
