package main

import (
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/export"
	"github.com/spatialstale/spatialstale/study"
)

type datasetCmd struct {
	Study string `arg:"" optional:"" default:"paper" help:"Preset or YAML file whose instances to write."`
	lakeFlags
	Out string `required:"" placeholder:"DIR" help:"Folder to write."`
}

// Run writes a study's instances as a folder for other harnesses.
func (c *datasetCmd) Run(e *env) error {
	e.watchSignals()
	flags := studyFlags{Study: c.Study, lakeFlags: c.lakeFlags}
	s, err := flags.build()
	if err != nil {
		return err
	}
	instances, err := s.Instances()
	if err != nil {
		return err
	}
	if err := export.Dataset(untilInterrupt(e, each(instances)), s.ViewRadius, c.Out); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%s of study %s\n", count(len(instances), "instance"), s.Name)
	fmt.Fprintf(e.stdout, "%s\n", c.Out)
	return nil
}

// each is a list as a sequence that meets no error.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// takeDataset makes a study run on the instances of a dataset: those that the
// study asks for.
func takeDataset(s *study.Study, dir string) error {
	all, err := export.ReadDataset(dir)
	if err != nil {
		return err
	}
	if err := s.TakeAsked(all); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
