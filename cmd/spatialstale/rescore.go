package main

import (
	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

// rescoreRun reads the stored replies of a run's own trials again. Prompts that
// are not those of the run are refused, because a reply is found by what was
// asked.
func rescoreRun(e *env, dir, promptsDir string, frame *analysis.Frame, into *analysis.Rescoring) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	return stored.Rescore(e.ctx, promptsDir, func(r run.Rescored) error {
		switch {
		case !frame.Owns(dir, &r.Stored.Spec):
			return nil
		case r.Stored.Task == record.Detect:
			return into.AddDetection(r.Stored, r.Now, run.Strict(r.Now))
		}
		return into.AddEpisode(&r.Stored.Spec, r.Steps, r.Otherwise)
	})
}
