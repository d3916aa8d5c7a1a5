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

// Asked says what of a study's seeds, sizes and regimes was asked for by name,
// in its file, by a setting or a flag, or because it is what a preset is for.
// The rest stands only until the study is given instances (TakeAsked).
type Asked struct {
	First                 int // so many seeds, whichever come first; 0 when no number was named
	Seeds, Sizes, Regimes bool
}

// AskFirst makes the study run on the first n of its seeds.
func (s *Study) AskFirst(n int) {
	s.Seeds, s.Asked.First, s.Asked.Seeds = instance.Seeds(n), n, false
}

// AskSeeds makes the study run on these seeds.
func (s *Study) AskSeeds(seeds []int) { s.Seeds, s.Asked.First, s.Asked.Seeds = seeds, 0, true }

// AskSizes makes the study run at these sizes.
func (s *Study) AskSizes(sizes []Size) { s.Sizes, s.Asked.Sizes = sizes, true }

// AskRegimes makes the study run under these regimes.
func (s *Study) AskRegimes(regimes []instance.Regime) { s.Regimes, s.Asked.Regimes = regimes, true }

// TakeAsked is Take of those of the instances that the study asks for. Its
// error says what it asks for and none of them is.
func (s *Study) TakeAsked(all []record.Instance) error {
	var some []record.Instance
	var seeds []int
	var sizes []Size
	var regimes []instance.Regime
	for _, in := range all {
		var size Size // an instance without rows is refused by Take
		if len(in.Rows) > 0 {
			size = Size{len(in.Rows), len(in.Rows[0])}
		}
		regime := instance.Regime(in.Regime)
		if s.Asked.Seeds && !slices.Contains(s.Seeds, in.Seed) || s.Asked.Regimes && !slices.Contains(s.Regimes, regime) ||
			s.Asked.Sizes && len(in.Rows) > 0 && !slices.Contains(s.Sizes, size) {
			continue
		}
		if s.Asked.First > 0 && len(seeds) == s.Asked.First && !slices.Contains(seeds, in.Seed) {
			continue
		}
		some, seeds, sizes, regimes = append(some, in), addNew(seeds, in.Seed), addNew(sizes, size), addNew(regimes, regime)
	}
	switch {
	case len(some) == 0:
		return errors.New("it has no instance of the seeds, regimes and sizes that were asked for")
	case len(seeds) < s.Asked.First:
		return fmt.Errorf("%d seeds were asked for, and it has instances of %d", s.Asked.First, len(seeds))
	}
	if err := lacking("of seed", s.Asked.Seeds, s.Seeds, seeds); err != nil {
		return err
	}
	if err := lacking("under", s.Asked.Regimes, s.Regimes, regimes); err != nil {
		return err
	}
	if err := lacking("of size", s.Asked.Sizes, s.Sizes, sizes); err != nil {
		return err
	}
	return s.Take(some)
}

// lacking returns an error for the first value that was asked for and is not
// there.
func lacking[T comparable](what string, asked bool, want, there []T) error {
	for _, v := range want {
		if asked && !slices.Contains(there, v) {
			return fmt.Errorf("it has no instance %s %v, which the study asks for", what, v)
		}
	}
	return nil
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
	memories := map[place][]record.MemoryEntry{} // by seed and size
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
		key := place{seed: in.Seed, size: size}
		if other, ok := memories[key]; ok && !record.Same(other, rec.Memory) {
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
	if l, err := drawnBy.Lake(at.seed, at.size); err == nil && record.Same(*rec, l.Record(string(at.regime))) {
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
