package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type resumeCmd struct {
	Dir         string   `arg:"" name:"run" help:"Run folder."`
	Add         []string `sep:"none" placeholder:"KEY=VALUE" help:"Make the run larger: a setting as in a study file, such as seeds=100, models=[ref/reader, ref/messy] or navigation.episodes=8. All that the run has must stay."`
	Set         []string `sep:"none" placeholder:"KEY=VALUE" help:"Check that the run has this setting; one that differs is refused."`
	Prompts     string   `placeholder:"DIR" help:"The folder of prompt files that the run was made with, if it was made with one."`
	RetryErrors bool     `help:"Make failed trials again; their finished calls are kept."`

	executionFlags `group:"How the study is run:"`
	modelFlags     `group:"How models are reached (docs/models.md):"`
}

// Validate is called when the command line has been read.
func (c *resumeCmd) Validate() error {
	return errors.Join(c.executionFlags.Validate(), c.modelFlags.Validate())
}

// Run goes on with a run: finished trials are kept, and an unfinished one is
// made again up to where it was from its finished calls.
func (c *resumeCmd) Run(e *env) error {
	e.watchSignals()
	run, err := store.Open(c.Dir)
	if err != nil {
		return err
	}
	manifest := run.Manifest()
	if err := notReplayed(c.Dir, &manifest); err != nil && len(c.Add) > 0 {
		return errors.Join(err, run.Close())
	}
	missing, err := run.Missing()
	s, studyErr := runnableStudy(run, c.Dir)
	if err := errors.Join(err, studyErr, run.Close()); err != nil {
		return err
	}
	if err := c.checkSettings(s); err != nil {
		return usageError{err}
	}
	x := execution{env: e, flags: &c.executionFlags, asking: &c.modelFlags, study: s, prompts: study.DefaultPrompts(), dir: c.Dir}
	if c.Prompts != "" {
		if x.prompts, err = study.ReadPrompts(c.Prompts); err != nil {
			return err
		}
	}
	if err := samePrompts(manifest.Prompts, x.prompts.Sums()); err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	if missing == 0 && len(c.Add) == 0 && !c.RetryErrors {
		x.say("%s is finished: nothing to do\n", c.Dir)
		return x.again()
	}
	if err := notReplayed(c.Dir, &manifest); err != nil {
		return err
	}
	how := store.Resumption{RetryErrors: c.RetryErrors}
	if len(c.Add) > 0 {
		if err := c.enlarge(s); err != nil {
			return usageError{err}
		}
	}
	if err := x.keepBudget(); err != nil {
		return err
	}
	if err := x.open(manifest.Models); err != nil {
		return err
	}
	how.Sync = x.paid() != nil
	instances, err := s.Instances()
	if err != nil {
		return err
	}
	if len(c.Add) > 0 {
		larger, err := x.manifest(instances)
		if err != nil {
			return err
		}
		larger.Created = manifest.Created
		how.Extend = &store.Extension{Manifest: larger, Plan: s.Specs(), Instances: instances}
	}
	w, err := store.Resume(c.Dir, how)
	if err != nil {
		return err
	}
	x.say("Going on with study %s in %s\n", s.Name, c.Dir)
	return x.run(w, instances)
}

// checkSettings refuses settings that are not the run's.
func (c *resumeCmd) checkSettings(s *study.Study) error {
	asked, err := copyOf(s)
	if err != nil {
		return err
	}
	for _, setting := range c.Set {
		if err := asked.Set(setting); err != nil {
			return err
		}
	}
	diff, err := differences(s, asked)
	if err != nil {
		return err
	}
	if len(diff) > 0 {
		return fmt.Errorf("the run's settings are the run's; it differs from what is asked:\n%s\nleave the setting out, or make a new run", strings.Join(diff, "\n"))
	}
	return nil
}

// growing are the settings in which a run can grow.
var growing = []string{
	"models", "seeds", "regimes", "sizes", "framings",
	"detection.modalities", "detection.detectors", "navigation.modalities", "navigation.strategies", "navigation.episodes",
}

// enlarge applies --add.
func (c *resumeCmd) enlarge(s *study.Study) error {
	before, err := copyOf(s)
	if err != nil {
		return err
	}
	for _, setting := range c.Add {
		key, _, _ := strings.Cut(setting, "=")
		if !slices.Contains(growing, key) {
			return fmt.Errorf("--add %s: a run grows in %s; any other setting makes another study, which wants a run of its own", key, strings.Join(growing, ", "))
		}
		if err := s.Set(setting); err != nil {
			return err
		}
	}
	if err := nameModels(s); err != nil {
		return err
	}
	if lost := lostBy(before, s); len(lost) > 0 {
		return fmt.Errorf("--add makes a run larger, and this would take from it:\n  %s\nname what the run has as well", strings.Join(lost, "\n  "))
	}
	return s.Check()
}

// lostBy lists what a study has and a larger one should have as well.
func lostBy(run, larger *study.Study) []string {
	var lost []string
	lose(&lost, "model", run.Models, larger.Models)
	lose(&lost, "seed", run.Seeds, larger.Seeds)
	lose(&lost, "regime", run.Regimes, larger.Regimes)
	lose(&lost, "size", run.Sizes, larger.Sizes)
	lose(&lost, "framing", run.Framings, larger.Framings)
	return lost
}

// lose notes the first of the values that another list lacks.
func lose[T comparable](lost *[]string, what string, values, others []T) {
	var gone []T
	for _, v := range values {
		if !slices.Contains(others, v) {
			gone = append(gone, v)
		}
	}
	switch len(gone) {
	case 0:
	case 1:
		*lost = append(*lost, fmt.Sprintf("%s %v", what, gone[0]))
	default:
		*lost = append(*lost, fmt.Sprintf("%s %v and %d more", what, gone[0], len(gone)-1))
	}
}

func copyOf(s *study.Study) (*study.Study, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &study.Study{}
	return out, json.Unmarshal(b, out)
}

// differences lists the settings in which two studies differ, a line each.
func differences(run, asked *study.Study) ([]string, error) {
	a, err := flat(run)
	if err != nil {
		return nil, err
	}
	b, err := flat(asked)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("  %s: the run has %s, asked is %s", k, orNone(a[k]), orNone(b[k])))
		}
	}
	return out, nil
}

func orNone(v string) string {
	if v == "" {
		return "nothing"
	}
	return v
}

// flat is a study's JSON by the paths of its keys; lists are values.
func flat(s *study.Study) (map[string]string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, err
	}
	out := map[string]string{}
	var walk func(prefix string, v any) error
	walk = func(prefix string, v any) error {
		if m, ok := v.(map[string]any); ok {
			for k, child := range m {
				if err := walk(strings.TrimPrefix(prefix+"."+k, "."), child); err != nil {
					return err
				}
			}
			return nil
		}
		b, err := json.Marshal(v)
		out[prefix] = string(b)
		return err
	}
	return out, walk("", tree)
}

// samePrompts refuses prompt files that are not those the run was made with:
// its finished calls would answer other questions.
func samePrompts(run, now map[string]string) error {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(run)) {
		if run[name] != now[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("the run was made with other prompts than these (%s differ); resume it with the program that made it, or with --prompts and the folder it was made with", strings.Join(changed, ", "))
	}
	return nil
}
