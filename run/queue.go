package run

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A queue hands out the trials of some of the study's models, in the plan's
// order. Every paid model has one of its own, so that a slow or a dead server
// holds up no other; the other models share one, and with it the lakes that
// they walk on.
type queue struct {
	plan    *study.Study // with these models only
	places  []int        // of these models among the study's
	of      int          // how many models the study has
	batched bool         // its calls are asked in batches
}

// queues are those of the study's models.
func queues(s *study.Study, o *Workers) []queue {
	var all []queue
	shared := queue{of: len(s.Models)}
	for i, name := range s.Models {
		if o.Paid[name] {
			all = append(all, queue{plan: only(s, name), places: []int{i}, of: len(s.Models)}.byTask(o)...)
		} else {
			shared.places = append(shared.places, i)
		}
	}
	if len(shared.places) > 0 {
		var names []string
		for _, i := range shared.places {
			names = append(names, s.Models[i])
		}
		shared.plan = only(s, names...)
		all = append(all, shared)
	}
	return all
}

// byTask divides a queue of one model where one task's calls are asked in batches
// and another's are not.
func (q queue) byTask(o *Workers) []queue {
	if o.Batched == nil {
		return []queue{q}
	}
	whole := q.plan
	batched := func(task string) bool { return o.Batched(whole.Models[0], task) }
	if q.batched = batched(record.Detect); q.batched == batched(record.Navigate) {
		return []queue{q}
	}
	var out []queue
	for _, task := range []string{record.Detect, record.Navigate} {
		part := q
		part.plan, part.batched = only(whole, whole.Models...), batched(task)
		if task == record.Detect {
			part.plan.Navigation = nil
		} else {
			part.plan.Detection = nil
		}
		if part.plan.Detection != nil || part.plan.Navigation != nil {
			out = append(out, part)
		}
	}
	return out
}

// only is the study with fewer models. Keys of trials do not change by it.
func only(s *study.Study, models ...string) *study.Study {
	part := *s
	part.Models = models
	return &part
}

// ordinal is the place in the whole plan of the queue's i-th trial: the models
// are the plan's innermost loop. Where not every model has every trial it is
// only near, which is enough to say which of two failures came first.
func (q *queue) ordinal(i int) int {
	return i/len(q.places)*q.of + q.places[i%len(q.places)]
}

// A planned trial has its place in the plan.
type planned struct {
	ordinal int
	study.Trial
}

// feed hands out the queue's trials that are to be made, in the plan's order,
// and returns how many had ended before.
func (r *runner) feed(ctx context.Context, q *queue, next chan<- planned, ended func(string) bool) (before int, err error) {
	i := 0
	for t := range q.plan.Plan() {
		if ended != nil && ended(t.Key) {
			before++
		} else if breaker := r.breaker[t.Model]; !breaker.over() {
			select {
			case next <- planned{q.ordinal(i), t}:
			case <-breaker.lost:
			case <-r.shutdown.asked:
				return before, ErrStopped
			case <-r.shutdown.halted:
				return before, nil // the cause is known
			case <-ctx.Done():
				return before, context.Cause(ctx)
			}
		}
		i++
	}
	return before, nil
}

// errGivenUp is the end of a trial whose model was given up while it was under
// way.
var errGivenUp = errors.New("the model was given up")

// A GivenUp is a model that the run has given up.
type GivenUp struct {
	Model  string
	Failed int   // trials that failed, the last of them in a row
	Err    error // the last failure
}

// A breaker is a circuit breaker for one model: it counts the trials that failed
// one after another. Once they are too many the model is lost: no further trial
// begins, and waits between calls end.
type breaker struct {
	model string
	most  int // 0 for any number
	lost  chan struct{}
	quit  context.Context // ends with lost, and with the run
	end   context.CancelCauseFunc

	mu     sync.Mutex
	inARow int
	gaveUp *GivenUp
}

func newBreaker(model string, most int, run context.Context) *breaker {
	p := &breaker{model: model, most: most, lost: make(chan struct{})}
	p.quit, p.end = context.WithCancelCause(run)
	return p
}

// over reports whether the model is given up.
func (p *breaker) over() bool {
	select {
	case <-p.lost:
		return true
	default:
		return false
	}
}

// note counts the end of a trial. It returns what there is to say when this one
// was the last.
func (p *breaker) note(failure error) *GivenUp {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failure == nil {
		p.inARow = 0
		return nil
	}
	p.inARow++
	if p.most == 0 || p.inARow < p.most || p.gaveUp != nil {
		return nil
	}
	p.gaveUp = &GivenUp{p.model, p.inARow, failure}
	close(p.lost)
	p.end(errGivenUp)
	return p.gaveUp
}

// givenUp lists the models that were given up, in the study's order.
func (r *runner) givenUp() []GivenUp {
	var all []GivenUp
	for _, name := range r.study.Models {
		if p := r.breaker[name]; p.gaveUp != nil {
			all = append(all, *p.gaveUp)
		}
	}
	return slices.Clip(all)
}
