package main

import (
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/export"
	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

type datasetCmd struct {
	Study string `arg:"" optional:"" default:"paper" help:"Preset or YAML file whose instances to write."`
	lakeFlags
	Out string `required:"" placeholder:"DIR" help:"Folder to write."`
}

// Run writes a study's instances as a folder for other harnesses.
func (c *datasetCmd) Run(e *env) error {
	flags := studyFlags{Study: c.Study, lakeFlags: c.lakeFlags}
	s, err := flags.build()
	if err != nil {
		return err
	}
	instances, err := s.Instances()
	if err != nil {
		return err
	}
	if err := export.Dataset(instances, c.Out); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%s of study %s\n", count(len(instances), "instance"), s.Name)
	fmt.Fprintf(e.stdout, "%s\n", c.Out)
	return nil
}

// takeDataset makes a study run on the instances of a dataset: all, or those of
// the seeds, regimes and sizes that the command line chose.
func takeDataset(s *study.Study, dir string, chosen *studyFlags) error {
	all, err := export.ReadDataset(dir)
	if err != nil {
		return err
	}
	var some []record.Instance
	seeds := map[int]bool{}
	for _, in := range all {
		if chosen.Seeds != nil && !seeds[in.Seed] {
			if len(seeds) == *chosen.Seeds {
				continue
			}
			seeds[in.Seed] = true
		}
		var size study.Size // an instance without rows is refused below
		if len(in.Rows) > 0 {
			size = study.Size{Rows: len(in.Rows), Cols: len(in.Rows[0])}
		}
		if keeps(chosen.Seed, in.Seed) && (len(in.Rows) == 0 || keeps(chosen.Size, size)) &&
			(len(chosen.Regime) == 0 || keeps(s.Regimes, instance.Regime(in.Regime))) {
			some = append(some, in)
		}
	}
	if len(some) == 0 {
		return fmt.Errorf("%s: it has no instance of the seeds, regimes and sizes that were asked for", dir)
	}
	if err := s.Take(some); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// keeps reports whether a choice admits a value; an empty one admits all.
func keeps[T comparable](choice []T, v T) bool { return len(choice) == 0 || slices.Contains(choice, v) }
