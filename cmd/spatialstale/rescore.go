package main

import (
	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// rescore reads the stored replies of a run's own trials again. Prompts that are
// not those of the run are refused, because a reply is found by what was asked.
func rescore(e *env, stored *run.Stored, promptsDir string, own func(key string) bool, into *analysis.Rescoring) error {
	var prompts study.Prompts
	if promptsDir != "" {
		var err error
		if prompts, err = study.ReadPrompts(promptsDir); err != nil {
			return err
		}
	}
	return stored.Rescore(e.ctx, prompts, func(r run.Rescored) error {
		if !own(r.Stored.Key) {
			return nil
		}
		if r.Stored.Task == record.Detect {
			return into.AddDetection(r.Stored, r.Now, run.Strict(r.Now))
		}
		return into.AddEpisode(&r.Stored.Spec, r.Steps, r.Otherwise)
	})
}
