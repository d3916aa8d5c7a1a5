package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// sampleIDs names the samples of one log: what a trial is, but for its task,
// model and episode, in words that leave out what is the paper's. Where two
// would have one name, both get a sum of what they are behind it.
type sampleIDs struct {
	list    []string // in the plan's order
	names   map[sampleKey]string
	order   []sampleKey
	planned map[episodeOf]bool
	twice   error
}

// A sampleKey is all that tells a sample from the others of its log.
type sampleKey record.Spec

type episodeOf struct {
	sample  sampleKey
	episode int
}

func keyOfSample(s *record.Spec) sampleKey {
	k := sampleKey(*s)
	k.Key, k.Task, k.Model, k.Episode = "", "", "", 0
	return k
}

// add takes up a planned trial.
func (ids *sampleIDs) add(s *record.Spec) {
	if ids.names == nil {
		ids.names, ids.planned = map[sampleKey]string{}, map[episodeOf]bool{}
	}
	k := keyOfSample(s)
	if _, known := ids.names[k]; !known {
		ids.names[k] = k.words()
		ids.order = append(ids.order, k)
	}
	if at := (episodeOf{k, s.Episode}); !ids.planned[at] {
		ids.planned[at] = true
	} else if ids.twice == nil {
		ids.twice = fmt.Errorf("trial %s: the plan has another one of the same settings, and Inspect would take both for one sample (%s, epoch %d)", s.Key, k.words(), max(1, s.Episode))
	}
}

// settle makes the names differ.
func (ids *sampleIDs) settle() error {
	alike := map[string]int{}
	for _, name := range ids.names {
		alike[name]++
	}
	used := map[string]bool{}
	for _, k := range ids.order {
		name := ids.names[k]
		if alike[name] > 1 {
			what, err := json.Marshal(k)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(what)
			name += "_" + hex.EncodeToString(sum[:6])
			ids.names[k] = name
		}
		if used[name] { // it would take a strategy that is named after a sum
			return fmt.Errorf("two samples would be called %s; rename one of the study's strategies", name)
		}
		used[name] = true
		ids.list = append(ids.list, name)
	}
	ids.planned = nil // it is as large as the plan
	return ids.twice
}

// of returns the name of a planned trial's sample.
func (ids *sampleIDs) of(s *record.Spec) string { return ids.names[keyOfSample(s)] }

// words names a sample for people. Neither a slash nor _epoch_ is in it: the
// file of a sample is called samples/ID_epoch_N.json.
func (k sampleKey) words() string {
	parts := []string{fmt.Sprintf("seed%d", k.Seed), k.Regime, k.Modality, k.Strategy}
	if k.Batch != 0 && k.Batch != 10 {
		parts = append(parts, fmt.Sprintf("b%d", k.Batch))
	}
	if k.Framing != "neutral" && k.Framing != "" {
		parts = append(parts, k.Framing)
	}
	if k.Rows != 8 || k.Cols != 8 {
		parts = append(parts, fmt.Sprintf("%dx%d", k.Rows, k.Cols))
	}
	return strings.NewReplacer("/", "-", "_epoch_", "-epoch-").Replace(strings.Join(parts, "_"))
}
