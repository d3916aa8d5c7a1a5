package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Shard is a part of a study that is run by itself, on a machine of its own: every
// so many-th seed, whole, so that pairs stay together. Its trials are those of the
// whole study, with the same keys.
type Shard struct {
	Index int   `json:"index"` // from 1
	Of    int   `json:"of"`
	Seeds []int `json:"seeds"` // of the whole study, in its order
}

// String returns "INDEX/OF".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Split makes the study the shard that text names, as in "3/8".
func (s *Study) Split(text string) error {
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	switch {
	case !ok || err1 != nil || err2 != nil || i < 1 || i > n:
		return fmt.Errorf("shard %q: write it as K/N, with K from 1 to N, as in 3/8", text)
	case n > len(s.Seeds):
		return fmt.Errorf("shard %s: the study has %d seeds, so some of %d shards would have none", text, len(s.Seeds), n)
	}
	s.Shard = &Shard{i, n, slices.Clone(s.Seeds)}
	s.Seeds = s.Shard.own()
	return nil
}

// Whole returns the study that a shard is of; the study itself when it is none.
func (s *Study) Whole() *Study {
	if s.Shard == nil {
		return s
	}
	whole := s.Clone()
	whole.Seeds, whole.Shard = slices.Clone(s.Shard.Seeds), nil
	return whole
}

func (s *Shard) own() (seeds []int) {
	for i := s.Index - 1; i < len(s.Seeds); i += s.Of {
		seeds = append(seeds, s.Seeds[i])
	}
	return seeds
}

// checkShard returns what is wrong with a study that is a shard.
func (s *Study) checkShard() error {
	switch b := s.Shard; {
	case b == nil:
	case b.Index < 1 || b.Index > b.Of || b.Of > len(b.Seeds) || !slices.Equal(s.Seeds, b.own()):
		return fmt.Errorf("shard %v: its seeds are not its part of the study's; a shard cannot grow by itself", b)
	}
	return nil
}
