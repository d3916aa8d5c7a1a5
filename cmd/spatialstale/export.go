package main

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/export"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
)

// An interruptible run ends every reading at the first interrupt.
type interruptible struct {
	*store.Run
	env *env
}

func (r *interruptible) Instances() iter.Seq2[record.Instance, error] {
	return untilInterrupt(r.env, r.Run.Instances())
}

func (r *interruptible) Trials() iter.Seq2[*record.Trial, error] {
	return untilInterrupt(r.env, r.Run.Trials())
}

func (r *interruptible) Calls() iter.Seq2[*record.Call, error] {
	return untilInterrupt(r.env, r.Run.Calls())
}

func (r *interruptible) CallsWithPrompts() iter.Seq2[*record.Call, error] {
	return untilInterrupt(r.env, r.Run.CallsWithPrompts())
}

func untilInterrupt[T any](e *env, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			select {
			case <-e.stop:
				err = errors.New("interrupted; nothing is left behind")
			default:
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

type exportCmd struct {
	Dir    string `arg:"" name:"run" type:"run" help:"Run folder, or latest."`
	Format string `enum:"jsonl,parquet,inspect" default:"jsonl" help:"Form of the files: jsonl, parquet, or inspect for the logs of Inspect."`
	Out    string `required:"" placeholder:"DIR" help:"Folder to write them into."`
}

// Run writes the run's records as files.
func (c *exportCmd) Run(e *env) error {
	run, err := store.Open(c.Dir)
	if err != nil {
		return err
	}
	defer run.Close()
	e.watchSignals()
	readable := &interruptible{run, e}
	switch c.Format {
	case "parquet":
		err = export.Parquet(readable, c.Out)
	case "inspect":
		err = export.Inspect(readable, c.Out)
	default:
		err = export.JSONL(readable, c.Out)
	}
	if err != nil {
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
