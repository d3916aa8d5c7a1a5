package main

import (
	"errors"
	"fmt"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// rescore reads the stored replies of a run's own trials again. Prompts that are not those
// of the run are refused, because a reply is found by what was asked.
func rescore(e *env, stored *store.Run, dir, promptsDir string, own func(key string) bool, into *analysis.Rescoring) error {
	manifest := stored.Manifest()
	s, err := runnableStudy(stored, dir)
	if err != nil {
		return err
	}
	prompts := study.DefaultPrompts()
	if promptsDir != "" {
		if prompts, err = study.ReadPrompts(promptsDir); err != nil {
			return err
		}
	}
	if err := samePrompts(manifest.Prompts, prompts.Sums()); err != nil {
		return errors.Join(fmt.Errorf("%s: its replies cannot be scored again", dir), err)
	}
	err = run.Rescore(e.ctx, s, prompts, stored, func(r run.Rescored) error {
		if !own(r.Stored.Key) {
			return nil
		}
		if r.Stored.Task == record.Detect {
			return into.AddDetection(r.Stored, r.Now, run.Strict(r.Now))
		}
		return into.AddEpisode(&r.Stored.Spec, r.Steps, r.Otherwise)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
