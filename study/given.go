package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/record"
)

// A place names an instance within a study.
type place struct {
	seed   int
	size   Size
	regime instance.Regime
}

// A given instance is one that the study was handed instead of drawing it.
type given struct {
	instance *instance.Instance
	memory   []memory.Entry
	sum      string // of its record; empty when its seed gives the same
}

// Take makes the study run on these instances in place of those that its seeds
// give, such as those of a dataset or of a stored run. Seeds, sizes and regimes
// become theirs: every combination must be among them.
//
// A trial on an instance that its seed gives too keeps its key, so the two runs
// are one; on any other, the instance is part of the key. Dataset then says
// that the study cannot be run without them.
func (s *Study) Take(all []record.Instance) error {
	if len(all) == 0 {
		return errors.New("no instances")
	}
	taken := map[place]*given{}
	memories := map[worldKey][]record.MemoryEntry{}
	own := false
	var seeds []int
	var sizes []Size
	var regimes []instance.Regime
	for i := range all {
		rec := &all[i]
		in, err := instance.Read(rec)
		if err != nil {
			return err
		}
		entries, err := memory.Read(rec.Memory, &in.Original)
		if err != nil {
			return fmt.Errorf("instance of seed %d, %s: %w", in.Seed, in.Regime, err)
		}
		size := Size{in.Original.NumRows(), in.Original.NumCols()}
		at := place{in.Seed, size, in.Regime}
		if taken[at] != nil {
			return fmt.Errorf("seed %d has two instances of %v cells under %s", at.seed, at.size, at.regime)
		}
		key := worldKey{in.Seed, size}
		if other, ok := memories[key]; ok && !same(other, rec.Memory) {
			return fmt.Errorf("seed %d, %v cells: the memory differs between regimes; it is taken before any change", in.Seed, size)
		}
		memories[key] = rec.Memory
		g := &given{instance: in, memory: entries}
		if g.sum, err = s.sumUnlessDrawn(rec, at); err != nil {
			return err
		}
		own = own || g.sum != ""
		taken[at] = g
		seeds, sizes, regimes = addNew(seeds, in.Seed), addNew(sizes, size), addNew(regimes, in.Regime)
	}
	for _, seed := range seeds {
		for _, size := range sizes {
			for _, regime := range regimes {
				if taken[place{seed, size, regime}] == nil {
					return fmt.Errorf("seed %d has no instance of %v cells under %s; a study takes every seed at every size under every regime", seed, size, regime)
				}
			}
		}
	}
	slices.Sort(regimes) // the plan's order is the paper's, not that of a file
	s.given, s.Dataset = taken, own
	s.Seeds, s.Sizes, s.Regimes = seeds, sizes, regimes
	return nil
}

// sumUnlessDrawn identifies an instance, unless it is the one its seed gives.
func (s *Study) sumUnlessDrawn(rec *record.Instance, at place) (string, error) {
	drawnBy := Study{HoleFraction: s.HoleFraction, Regimes: []instance.Regime{at.regime}}
	if w, err := newWorld(&drawnBy, at.seed, at.size); err == nil && same(*rec, w.record(string(at.regime))) {
		return "", nil
	}
	b, err := json.Marshal(rec)
	if err != nil {
		return "", err
	}
	// A list that is empty and one that is not there are the same.
	b = bytes.ReplaceAll(b, []byte(`"events":null`), []byte(`"events":[]`))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// draw returns the instance of a place: the given one with its memory, or that
// of its seed, whose memory is still to be taken.
func (s *Study) draw(at place) (*instance.Instance, []memory.Entry, error) {
	if g := s.given[at]; g != nil {
		return g.instance, g.memory, nil
	}
	if s.Dataset {
		return nil, nil, fmt.Errorf("the study runs on instances of its own, and there is none of seed %d with %v cells under %s", at.seed, at.size, at.regime)
	}
	in, err := instance.New(at.seed, at.regime, instance.Config{Rows: at.size.Rows, Cols: at.size.Cols, HoleFraction: s.HoleFraction})
	if err != nil {
		return nil, nil, err
	}
	return in, nil, nil
}

func addNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
