package store

import (
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/spatialstale/spatialstale/record"
)

// An outline is what a Writer keeps of the plan: enough to find a trial's place
// and to notice one that is not the planned one. The plan itself is in the
// database; of a large study it would take most of the memory.
type outline struct {
	seed     maphash.Seed
	ordinals map[string]int32
	sums     []uint64 // of the specs, by ordinal
}

func newOutline(plan iter.Seq[record.Spec]) (*outline, error) {
	o := &outline{seed: maphash.MakeSeed(), ordinals: map[string]int32{}}
	for spec := range plan {
		if first, twice := o.ordinals[spec.Key]; twice {
			return nil, fmt.Errorf("the plan has trial %q twice, as number %d and %d", spec.Key, first, len(o.sums))
		}
		o.ordinals[spec.Key] = int32(len(o.sums))
		o.sums = append(o.sums, maphash.Comparable(o.seed, spec))
	}
	return o, nil
}

// place returns a trial's place in the plan.
func (o *outline) place(key string) (int, error) {
	ordinal, ok := o.ordinals[key]
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrNotPlanned, key)
	}
	return int(ordinal), nil
}

// planned reports whether a spec is the one planned at its place.
func (o *outline) planned(ordinal int, spec record.Spec) bool {
	return o.sums[ordinal] == maphash.Comparable(o.seed, spec)
}
