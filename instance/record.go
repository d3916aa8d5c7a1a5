package instance

import (
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// Schedule returns the events of an instance as records; empty for L1 and L2.
func (in *Instance) Schedule() []record.Event {
	out := make([]record.Event, len(in.Events))
	for i, e := range in.Events {
		out[i].Step = e.Step
		for _, f := range e.Flips {
			out[i].Flips = append(out[i].Flips, record.Flip{Pos: recordPos(f.Pos), To: f.Cell().String()})
		}
	}
	return out
}

func recordPos(p lake.Pos) record.Pos { return record.Pos{p.Row, p.Col} }
