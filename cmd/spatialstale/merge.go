package main

import (
	"fmt"

	"github.com/spatialstale/spatialstale/run"
)

type mergeCmd struct {
	Out     string   `arg:"" help:"Run folder to make."`
	Shards  []string `arg:"" name:"shard" type:"existingdir" help:"Run folders that run --shard K/N made."`
	Partial bool     `help:"Merge what is there, though shards are missing or not finished; resume makes the rest."`
}

// Run makes one run of shards.
func (c *mergeCmd) Run(e *env) error {
	m, err := run.Merge(e.ctx, c.Out, c.Shards, c.Partial)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: %s and %s of %s", c.Out, count(m.Trials, "trial"), count(m.Calls, "call"), count(len(c.Shards), "shard"))
	if m.Twice > 0 {
		fmt.Fprintf(e.stdout, "; %s in two of them, alike", count(m.Twice, "trial"))
	}
	fmt.Fprintln(e.stdout)
	if m.Missing > 0 {
		fmt.Fprintf(e.stdout, "%s missing: %s\n", count(m.Missing, "trial"), commandLine("resume", c.Out))
	}
	fmt.Fprintf(e.stdout, "Its tables: %s\n", commandLine("report", c.Out))
	return nil
}
