package study

import (
	"slices"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/record"
)

// A Lake is a seed's lake at one size, under every regime of the study, with
// the memory taken of it.
type Lake struct {
	Instances map[string]*instance.Instance // by regime
	Memory    []memory.Entry                // the same under every regime
}

// Lake makes the lake of a seed: the one that the study was given, or the one
// that the seed gives.
func (s *Study) Lake(seed int, size Size) (*Lake, error) {
	l := &Lake{Instances: map[string]*instance.Instance{}}
	for _, regime := range s.Regimes {
		in, entries, err := s.draw(place{seed, size, regime})
		if err != nil {
			return nil, err
		}
		l.Instances[string(regime)] = in
		if l.Memory == nil {
			if l.Memory = entries; entries == nil {
				l.Memory = memory.Take(seed, &in.Original)
			}
		}
	}
	return l, nil
}

// Record returns the record of the lake's instance under a regime.
func (l *Lake) Record(regime string) record.Instance {
	in := l.Instances[regime]
	final := in.Final()
	rec := record.Instance{
		Seed:      in.Seed,
		Regime:    regime,
		Rows:      in.Original.Rows(),
		RowsAfter: final.Rows(),
		Events:    in.Schedule(),
		Memory:    make([]record.MemoryEntry, len(l.Memory)),
	}
	for i, e := range l.Memory {
		rec.Memory[i] = record.MemoryEntry{ID: e.ID, Pos: position(e.Pos), Claim: string(e.Claim), Text: e.Text, Visited: e.Visited}
	}
	return rec
}

func position(p lake.Pos) record.Pos { return record.Pos{p.Row, p.Col} }

// Instances returns the records of the study's instances: seed by seed, size
// by size, regime by regime.
func (s *Study) Instances() ([]record.Instance, error) {
	var out []record.Instance
	for _, seed := range s.Seeds {
		for _, size := range s.Sizes {
			l, err := s.Lake(seed, size)
			if err != nil {
				return nil, err
			}
			for _, regime := range s.Regimes {
				out = append(out, l.Record(string(regime)))
			}
		}
	}
	return slices.Clip(out), nil
}
