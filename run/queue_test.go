package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

// dead never answers. With a retry in front, its calls wait for ever.
type dead struct{ asked atomic.Int32 }

func (d *dead) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	d.asked.Add(1)
	return nil, &llm.Error{Kind: llm.KindNetwork, Model: "dead", Slot: req.Slot, Message: "no connection"}
}

// TestGivenUp runs a dead model beside two others, one of them paid for. It
// would fail if the dead one were asked on and on, if it kept any trial of the
// others from its end, or if what it left undone were taken for failed.
func TestGivenUp(t *testing.T) {
	s := preset(t, "quick")
	s.Models, s.Seeds = []string{"ref/reader", "ref/believer", "ref/mixed?trust=0.5&tpr=0.8&fpr=0.05&slip=0"}, s.Seeds[:1]
	models := controls(t, s)
	gone := &dead{}
	models["ref/believer"] = gone
	k := newKept()
	told := 0
	sum, err := run.Trials(context.Background(), s, run.Workers{
		Models: models, Paid: map[string]bool{"ref/reader": true, "ref/believer": true}, Recorder: k,
		Concurrency: 2, PaidConcurrency: 3, MaxErrors: 5,
		GaveUp: func(g run.GivenUp) { told++ },
	})
	each := sum.Planned / 3
	if err != nil || told != 1 || len(sum.GivenUp) != 1 || sum.GivenUp[0].Model != "ref/believer" || sum.GivenUp[0].Failed != 5 || llm.KindOf(sum.GivenUp[0].Err) != llm.KindNetwork {
		t.Fatalf("told %d times of %+v, %v", told, sum.GivenUp, err)
	}
	if sum.Finished != 2*each || sum.Failed < 5 || sum.Failed > 7 || len(k.trials) != sum.Finished+sum.Failed {
		t.Errorf("%+v of %d trials each; %d recorded", sum, each, len(k.trials))
	}
	if n := int(gone.asked.Load()); n != sum.Failed {
		t.Errorf("the dead model was asked %d times for %d failed trials", n, sum.Failed)
	}
	for _, tr := range k.trials {
		if (tr.Outcome == record.Failed) != (tr.Model == "ref/believer") {
			t.Errorf("%s ended as %s", tr.Model, tr.Outcome)
		}
	}

	// The first failure in the plan's order, not in that of the queues.
	for spec := range s.Specs() {
		if tr := k.trials[spec.Key]; tr != nil && tr.Outcome == record.Failed {
			if tr.Error != sum.FirstError.Error() {
				t.Errorf("the first error is %v", sum.FirstError)
			}
			break
		}
	}
}

// TestGivenUpWhileWaiting would fail if the trials that wait to try a dead
// model again were waited for once it is given up.
func TestGivenUpWhileWaiting(t *testing.T) {
	s := preset(t, "quick")
	s.Models, s.Seeds = []string{"ref/reader"}, s.Seeds[:1]
	var calls atomic.Int32
	m := llm.Retry(generate(func(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
		kind := llm.KindServer
		if calls.Add(1) > 4 {
			kind = llm.KindBadRequest // not tried again
		}
		return nil, &llm.Error{Kind: kind, Model: "dead", Slot: req.Slot, Message: "down"}
	}), llm.RetryOptions{Base: time.Hour, Cap: time.Hour})
	k := newKept()
	began := time.Now()
	sum, err := run.Trials(context.Background(), s, run.Workers{
		Models: map[string]llm.Model{"ref/reader": m}, Paid: map[string]bool{"ref/reader": true}, Recorder: k, Concurrency: 6, MaxErrors: 2,
	})
	if took := time.Since(began); err != nil || len(sum.GivenUp) != 1 || took > time.Minute {
		t.Errorf("%+v, %v, after %v", sum, err, took)
	}
	if sum.Finished != 0 || sum.Failed < 2 || sum.Failed > 3 || len(k.trials) != sum.Failed {
		t.Errorf("%+v; %d recorded", sum, len(k.trials))
	}
}

type generate func(context.Context, *llm.Request) (*llm.Reply, error)

func (g generate) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	return g(ctx, req)
}

// TestQueuesOfTheirOwn would fail if a model that does not answer held up
// another.
func TestQueuesOfTheirOwn(t *testing.T) {
	s := preset(t, "quick")
	s.Models, s.Seeds = []string{"ref/reader", "ref/believer"}, s.Seeds[:1]
	models := controls(t, s)
	quick := models["ref/reader"]
	stop := make(chan struct{})
	models["ref/believer"] = generate(func(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
		<-stop
		return nil, run.ErrStopped
	})
	each := s.NumTrials() / 2
	var ended atomic.Int32
	models["ref/reader"] = quick
	k := newKept()
	sum, err := run.Trials(context.Background(), s, run.Workers{
		Models: models, Paid: map[string]bool{"ref/reader": true, "ref/believer": true}, Concurrency: 2, Stop: stop,
		Recorder: &endings{k, func() {
			if int(ended.Add(1)) == each {
				close(stop)
			}
		}},
	})
	if err == nil || sum.Finished != each {
		t.Errorf("%+v, %v", sum, err)
	}
}

// endings is told of each trial's end.
type endings struct {
	*kept
	ended func()
}

func (c *endings) Trial(ctx context.Context, t *record.Trial) error {
	defer c.ended()
	return c.kept.Trial(ctx, t)
}
