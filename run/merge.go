package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// mergingSuffix is that of a folder in which a run is being put together.
const mergingSuffix = ".merging"

// A Merged says what came of a merge.
type Merged struct {
	Trials, Calls int
	Twice         int // trials that two of the runs have, alike
	Missing       int // planned trials that none of them has
}

// Merge makes one run of the shards of a study, as if it had been run at once: what
// is exported of it is the same. All shards must be there and finished, unless
// partial is true: the rest is then missing in the new run, which can be resumed.
// Errors: UsageError for runs that are no shards of one study, with what differs, for
// a trial that two have and that is not the same in both, and for shards that are
// missing or not finished, with the commands that make them. When it fails, or is
// killed, there is no new run.
func Merge(ctx context.Context, out string, dirs []string, partial bool) (m Merged, err error) {
	var runs []*Stored
	defer func() {
		for _, r := range runs {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, dir := range dirs {
		r, err := Open(dir)
		if err != nil {
			return m, err
		}
		runs = append(runs, r)
	}
	whole, manifest, err := shardsOf(runs, partial)
	if err != nil {
		return m, err
	}
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return m, UsageError{fmt.Errorf("%s is there already; choose another folder", out)}
	}
	work := filepath.Clean(out) + mergingSuffix
	if err := os.RemoveAll(work); err != nil { // of a merge that was killed
		return m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(work))
		}
	}()
	instances, err := whole.Instances()
	if err != nil {
		return m, err
	}
	manifest.Instances = map[string]string{}
	for i := range instances {
		name, sum, err := identify(&instances[i])
		if err != nil {
			return m, err
		}
		for _, r := range runs {
			if own, has := r.Manifest().Instances[name]; has && own != sum {
				return m, UsageError{fmt.Errorf("%s was run on another lake (%s) than the study gives now; it was made by another program", r.Dir, name)}
			}
		}
		manifest.Instances[name] = sum
	}
	w, err := store.Create(work, manifest, whole.Specs(), instances, store.Options{})
	if err != nil {
		return m, err
	}
	if err := errors.Join(m.copy(ctx, runs, w), w.Close()); err != nil {
		return m, err
	}
	m.Missing = whole.NumTrials() - m.Trials
	if err := mergeSpent(work, dirs); err != nil {
		return m, err
	}
	return m, os.Rename(work, out)
}

// shardsOf returns the study that runs are shards of, and the manifest of its run.
func shardsOf(runs []*Stored, partial bool) (whole *study.Study, m record.Manifest, err error) {
	refused := func(format string, args ...any) (*study.Study, record.Manifest, error) {
		return nil, m, UsageError{fmt.Errorf(format, args...)}
	}
	var first *study.Study
	have := map[int]bool{}
	var left []string
	for i, r := range runs {
		s, err := r.Study()
		if err != nil {
			return nil, m, err
		}
		if s.Shard == nil {
			return refused("%s is no shard, which run --shard K/N makes; runs of different seeds are reported together without being merged", r.Dir)
		}
		own := r.Manifest()
		if i == 0 {
			first, whole, m = s, s.Whole(), own
		}
		if diff := whole.Differences(s.Whole()); len(diff) > 0 || s.Shard.Of != first.Shard.Of {
			if len(diff) == 0 {
				diff = []string{fmt.Sprintf("  shard: the run has one of %d, asked is one of %d", first.Shard.Of, s.Shard.Of)}
			}
			return refused("%s and %s are not shards of one study:\n%s", runs[0].Dir, r.Dir, strings.Join(diff, "\n"))
		}
		if err := samePrompts(m.Prompts, own.Prompts); err != nil {
			return refused("%s and %s were made with different prompts", runs[0].Dir, r.Dir)
		}
		have[s.Shard.Index] = true
		missing, err := r.Missing()
		if err != nil {
			return nil, m, err
		}
		if missing > 0 {
			left = append(left, fmt.Sprintf("%s (shard %v) lacks %d trials: spatialstale resume %s", r.Dir, s.Shard, missing, r.Dir))
		}
		if own.Created.Before(m.Created) {
			m.Created = own.Created
		}
		for _, model := range own.Models {
			m.Models = mergeModel(m.Models, model)
		}
	}
	for i := 1; i <= first.Shard.Of; i++ {
		if !have[i] {
			left = append(left, fmt.Sprintf("shard %d/%d is missing: the study's command with --shard %d/%d", i, first.Shard.Of, i, first.Shard.Of))
		}
	}
	if len(left) > 0 && !partial {
		return refused("not all is there; with --partial it is merged all the same, and the rest can be resumed in the new run:\n  %s", strings.Join(left, "\n  "))
	}
	config, err := whole.Config()
	m.Study = config
	return whole, m, err
}

// mergeModel adds what another shard says of a model.
func mergeModel(all []record.ModelInfo, m record.ModelInfo) []record.ModelInfo {
	i := slices.IndexFunc(all, func(o record.ModelInfo) bool { return o.Name == m.Name })
	if i < 0 {
		return append(all, m)
	}
	for _, e := range m.Endpoints {
		if !slices.Contains(all[i].Endpoints, e) {
			all[i].Endpoints = append(slices.Clip(all[i].Endpoints), e)
		}
	}
	for _, s := range m.ServerModels {
		if !slices.Contains(all[i].ServerModels, s) {
			all[i].ServerModels = append(slices.Clip(all[i].ServerModels), s)
		}
	}
	for _, c := range m.Changes {
		if !slices.Contains(all[i].Changes, c) {
			all[i].Changes = append(slices.Clip(all[i].Changes), c)
		}
	}
	return all
}

// copy writes the trials and calls of runs, each trial once.
func (m *Merged) copy(ctx context.Context, runs []*Stored, w *store.Writer) error {
	from := map[string]*Stored{} // that a trial was taken from
	for _, r := range runs {
		var fault error
		taken := func(key string) bool {
			if from[key] == nil {
				from[key] = r
			}
			return from[key] == r
		}
		for c, err := range r.CallsWithPrompts() {
			if err != nil {
				return err
			}
			if taken(c.Trial) {
				m.Calls++
				fault = w.Call(ctx, c)
			}
			if fault != nil {
				return fault
			}
		}
		for t, err := range r.Trials() {
			if err != nil {
				return err
			}
			if taken(t.Key) {
				m.Trials++
				if err := w.Trial(ctx, t); err != nil {
					return err
				}
				continue
			}
			first := from[t.Key]
			other, err := first.Trial(t.Key)
			if err != nil || !record.Same(t, other) {
				return UsageError{fmt.Errorf("trial %s is in %s and in %s, and not the same in both; leave one of the two out", t.Key, first.Dir, r.Dir)}
			}
			m.Twice++
		}
	}
	return w.Flush(ctx)
}

// mergeSpent says in a run's folder what all of some runs have spent.
func mergeSpent(out string, dirs []string) error {
	var all price.Balance
	var limit price.USD
	limited, some, unpriced := true, false, false
	prices := ""
	for i, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, spentName)); err != nil {
			limited = false
			continue
		}
		before, err := readSpent(dir)
		if err != nil {
			return err
		}
		some = true
		all.Spent += price.USD(*before.Most - before.Lost)
		all.Lost += price.USD(before.Lost)
		all.Unseen += before.Unseen
		if limited = limited && before.Budget != nil; limited {
			limit += price.USD(*before.Budget)
		}
		if unpriced = unpriced || before.Unpriced; i == 0 {
			prices = before.Prices
		} else if prices != before.Prices {
			prices = ""
		}
	}
	if !some {
		return nil
	}
	file, _, err := openSpent(out)
	if err != nil {
		return err
	}
	file.unpriced, file.prices = unpriced, prices
	if limited {
		file.limit = &limit
	}
	return errors.Join(file.keep(all), file.file.Close())
}
