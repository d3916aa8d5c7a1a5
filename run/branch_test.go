package run_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// walked runs a study and returns its folder and its episodes.
func walked(t *testing.T, text string) (dir string, episodes []*record.Trial) {
	t.Helper()
	s, err := study.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "original")
	session, err := run.Start(t.Context(), s, run.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	return dir, episodesOf(t, dir)
}

func episodesOf(t *testing.T, dir string) (all []*record.Trial) {
	t.Helper()
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Task == record.Navigate {
			all = append(all, trial)
		}
	}
	if _, err := stored.Check(t.Context(), "", func(problem string) { t.Errorf("%s: %s", dir, problem) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// branches continues an episode and returns its branches.
func branches(t *testing.T, dir, key string, o run.BranchOptions) []*record.Trial {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "branch")
	session, err := run.Branch(t.Context(), dir, key, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	return episodesOf(t, o.Dir)
}

// A branch in which nothing is changed ends as the original, step by step, whatever
// kept its memory and whoever walked: a control that draws, a program, an audit
// whose verdicts stay until the next change.
func TestBranchUnchanged(t *testing.T) {
	for name, text := range map[string]string{
		"controls": `{base: quick, tasks: navigate, seeds: 1, regimes: [L2, L3], navigation: {modalities: text, episodes: 1}, models: [ref/reader, "ref/mixed?slip=0.2"]}`,
		"programs": `{base: baselines, tasks: navigate, seeds: 1, regimes: L3, navigation: {episodes: 1}}`,
		"policies": `{base: policies, tasks: navigate, seeds: 1, regimes: L3, navigation: {episodes: 1}, models: "ref/mixed?slip=0.1"}`,
		"partial":  `{base: partial, tasks: navigate, seeds: 1, regimes: L3, navigation: {episodes: 1}, models: ref/reader}`,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "partial" {
				t.Skip("one after another, and long under the race detector")
			}
			dir, episodes := walked(t, text)
			for i, e := range episodes {
				if len(e.Steps) == 0 {
					continue
				}
				for _, at := range []int{1, len(e.Steps)/2 + 1, len(e.Steps)}[i%2:] { // at its beginning every other time
					b := branches(t, dir, e.Key, run.BranchOptions{At: at})[0]
					if b.Outcome != e.Outcome || !record.Same(b.Steps, e.Steps) || !record.Same(b.Windows, e.Windows) || b.Key == e.Key {
						t.Errorf("%s %s %s at step %d of %d: %s after %d steps, the episode ended in %s", e.Model, e.Strategy, e.Regime, at, len(e.Steps), b.Outcome, len(b.Steps), e.Outcome)
					}
				}
			}
		})
	}
}

// With something changed, what came before stays, and what comes after follows
// from the change.
func TestBranchChanged(t *testing.T) {
	dir, episodes := walked(t, "{base: quick, tasks: navigate, seeds: 3, regimes: L2, navigation: {modalities: text, episodes: 1}, models: ref/believer}")
	i := slices.IndexFunc(episodes, func(e *record.Trial) bool {
		return e.Strategy == "no-filter" && e.Outcome == record.Death && len(e.Steps) > 2
	})
	e := episodes[i]
	at := len(e.Steps)
	for _, b := range branches(t, dir, e.Key, run.BranchOptions{At: at, Strategies: []string{"oracle", "no-memory"}, Model: "ref/reader"}) {
		if b.Outcome != record.Success || b.Model != "ref/reader" || !record.Same(b.Steps[:at-1], e.Steps[:at-1]) || b.Steps[at-1].Action == e.Steps[at-1].Action {
			t.Errorf("%s: %s after %+v", b.Strategy, b.Outcome, b.Steps)
		}
		if want := map[string]int{"oracle": 1}[b.Strategy]; len(b.Windows) != want || want == 1 && b.Windows[0].Step != at-1 {
			t.Errorf("%s was audited %d times", b.Strategy, len(b.Windows))
		}
	}
	forced := branches(t, dir, e.Key, run.BranchOptions{At: at, Action: "up"})[0]
	if !record.Same(forced.Steps[:at-1], e.Steps[:at-1]) || forced.Steps[at-1].Action != "UP" || forced.Steps[at-1].Fallback {
		t.Errorf("forced: %+v", forced.Steps)
	}
	same := branches(t, dir, e.Key, run.BranchOptions{At: at, Action: e.Steps[at-1].Action})[0]
	if same.Outcome != record.Death || !record.Same(same.Steps, e.Steps) || !record.Same(same.Death, e.Death) {
		t.Errorf("the same action: %s after %+v", same.Outcome, same.Steps)
	}
}

func TestBranchRefused(t *testing.T) {
	dir, episodes := walked(t, "{base: quick, seeds: 1, regimes: L1, models: ref/reader, detection: {modalities: text}, navigation: {modalities: text, episodes: 1}}")
	key, folder := episodes[0].Key, t.TempDir()
	detection := ""
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for spec, err := range stored.Plan() {
		if err == nil && spec.Task == record.Detect {
			detection = spec.Key
		}
	}
	b := filepath.Join(folder, "b")
	session, err := run.Branch(t.Context(), dir, key, run.BranchOptions{At: 2, Options: run.Options{Dir: b}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		dir, key string
		o        run.BranchOptions
	}{
		"the episode has steps 1 to":   {dir, key, run.BranchOptions{At: 0}},
		"step 99":                      {dir, key, run.BranchOptions{At: 99}},
		"unknown strategy":             {dir, key, run.BranchOptions{At: 1, Strategies: []string{"nothing"}}},
		"there are UP, DOWN":           {dir, key, run.BranchOptions{At: 1, Action: "JUMP"}},
		"is a detection":               {dir, detection, run.BranchOptions{At: 1}},
		"is a branch itself":           {b, episodesOf(t, b)[0].Key, run.BranchOptions{At: 1}},
		"unknown control":              {dir, key, run.BranchOptions{At: 1, Model: "ref/nobody"}},
		"no such trial":                {dir, "nothing", run.BranchOptions{At: 1}},
		"human/anna is a person":       {dir, key, run.BranchOptions{At: 1, Model: "human/anna"}},
		"agent/x is no agent of the s": {dir, key, run.BranchOptions{At: 1, Model: "agent/x"}},
	} {
		c.o.Dir = filepath.Join(folder, "none")
		if _, err := run.Branch(t.Context(), c.dir, c.key, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	var usage run.UsageError
	if _, err := run.Branch(t.Context(), dir, key, run.BranchOptions{At: 0}); !errors.As(err, &usage) {
		t.Errorf("%v is no mistake in what was asked", err)
	}
}
