package main

import (
	"fmt"

	"github.com/spatialstale/spatialstale/export"
	"github.com/spatialstale/spatialstale/store"
)

type exportCmd struct {
	Dir    string `arg:"" name:"run" help:"Run folder."`
	Format string `enum:"jsonl" default:"jsonl" help:"Form of the files: jsonl."`
	Out    string `required:"" placeholder:"DIR" help:"Folder to write them into."`
}

// Run writes the run's records as files.
func (c *exportCmd) Run(e *env) error {
	run, err := store.Open(c.Dir)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := export.JSONL(run, c.Out); err != nil {
		return err
	}
	n, err := run.Missing()
	if err != nil {
		return err
	}
	if n > 0 {
		fmt.Fprintf(e.stderr, "%d planned trials are not finished and are not in the files\n", n)
	}
	fmt.Fprintf(e.stdout, "%s\n", c.Out)
	return nil
}
