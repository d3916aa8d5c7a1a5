package run

import (
	"context"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// A sight is a judge.Source that is asked about what is new in view, and gives
// its last verdict on every other entry: not covered for one whose cell was
// never seen.
type sight struct {
	source   judge.Source
	world    *world
	verdicts []judge.Verdict        // the latest, by entry
	looks    map[lake.Pos]lake.Cell // of cells when they were audited last
	news     []int                  // entries that an audit is due of
	audited  *judge.Result          // what the latest audit was asked about
}

func newSight(source judge.Source, w *world) *sight {
	s := &sight{source: source, world: w, looks: map[lake.Pos]lake.Cell{}}
	for i := range w.entries {
		s.verdicts = append(s.verdicts, judge.Verdict{ID: w.entries[i].ID, Status: record.NotCovered})
	}
	return s
}

// look finds what is new in a state, and reports whether there is anything.
func (s *sight) look(state *observe.State) bool {
	s.news = s.news[:0]
	for i := range s.world.Memory {
		p := s.world.Memory[i].Pos
		if last, known := s.looks[p]; state.Sees(p) && (!known || last != state.Grid.At(p)) {
			s.news = append(s.news, i)
		}
	}
	return len(s.news) > 0
}

// Audit implements judge.Source, in the state that was looked at last.
func (s *sight) Audit(ctx context.Context, w judge.Where, entries []judge.Entry, seen []llm.Part) (*judge.Result, error) {
	asked := make([]judge.Entry, len(s.news))
	for k, i := range s.news {
		asked[k] = entries[i]
	}
	res, err := s.source.Audit(ctx, w, asked, seen)
	if err != nil {
		return nil, err
	}
	for k, i := range s.news {
		s.verdicts[i] = res.Verdicts[k]
	}
	s.audited = res
	return &judge.Result{Verdicts: append([]judge.Verdict(nil), s.verdicts...), Replies: res.Replies, Usage: res.Usage}, nil
}

// keep notes how what was audited looked.
func (s *sight) keep(state *observe.State) {
	for _, i := range s.news {
		p := s.world.Memory[i].Pos
		s.looks[p] = state.Grid.At(p)
	}
}
