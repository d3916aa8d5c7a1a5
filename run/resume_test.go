package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// counted counts the calls that reach a model, and may pull a plug.
type counted struct {
	llm.Model
	calls *atomic.Int64
	at    int64
	plug  func()
}

func (c *counted) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if c.calls.Add(1) == c.at {
		c.plug()
	}
	return c.Model.Generate(ctx, req)
}

// TestResume stops a run at many points, goes on, and compares with a run that
// was never disturbed: the same records, and no call made twice.
func TestResume(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds, s.Models = s.Seeds[:1], []string{"ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02"}
	s.Regimes = s.Regimes[1:]
	still := func() time.Time { return time.Time{} }
	attempt := func(k *kept, at int64, ended func(string) bool) (int64, run.Summary, error) {
		var calls atomic.Int64
		stop := make(chan struct{})
		model := &counted{Model: controls(t, s)[s.Models[0]], calls: &calls, at: at, plug: func() { close(stop) }}
		sum, err := run.Trials(context.Background(), s, run.Workers{
			Models: map[string]llm.Model{s.Models[0]: model}, Paid: map[string]bool{s.Models[0]: true},
			Recorder: k, Concurrency: 3, Now: still, Stop: stop, Ended: ended,
		})
		return calls.Load(), sum, err
	}
	whole := newKept()
	total, _, err := attempt(whole, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if whole.durable != int(total) {
		t.Errorf("%d of %d paid calls were kept as such", whole.durable, total)
	}
	want := encode(t, whole)
	for at := int64(1); at < total; at += total/17 + 1 {
		first := newKept()
		made, sum, err := attempt(first, at, nil)
		if !errors.Is(err, run.ErrStopped) {
			t.Fatalf("stopped at call %d: %v", at, err)
		}
		if len(first.calls) != int(made) || len(first.trials) != sum.Finished {
			t.Fatalf("%d calls made, %d kept; %d trials, %d finished", made, len(first.calls), len(first.trials), sum.Finished)
		}
		second := newKept()
		second.past = first.calls
		again, sum, err := attempt(second, 0, func(key string) bool { return first.trials[key] != nil })
		if err != nil {
			t.Fatal(err)
		}
		if made+again != total {
			t.Errorf("stopped at call %d: %d calls before and %d after, %d undisturbed", at, made, again, total)
		}
		if sum.Before != len(first.trials) || sum.Before+sum.Finished != sum.Planned {
			t.Errorf("summary %+v after %d finished trials", sum, len(first.trials))
		}
		for key, c := range first.calls {
			second.calls[key] = c
		}
		for key, tr := range first.trials {
			second.trials[key] = tr
		}
		if encode(t, second) != want {
			t.Errorf("stopped at call %d: the records differ from an undisturbed run's", at)
		}
	}
}

func encode(t *testing.T, k *kept) string {
	t.Helper()
	b, err := json.Marshal([]any{k.trials, k.calls})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReplay makes every trial of a run again from its calls, and notices a
// missing call and a changed prompt.
func TestReplay(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds, s.Models = s.Seeds[:1], []string{"ref/messy"}
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	past := newKept()
	past.past = k.calls
	r, err := run.NewReplayer(s, study.DefaultPrompts(), past)
	if err != nil {
		t.Fatal(err)
	}
	plan := slices.Collect(s.Plan())
	for i := range plan {
		got, err := r.Trial(context.Background(), &plan[i])
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(k.trials[plan[i].Key])
		if string(a) != string(b) {
			t.Fatalf("%v comes out otherwise:\n%s\n%s", plan[i].Spec, a, b)
		}
	}
	prompts := study.DefaultPrompts()
	prompts["audit.txt"] = "Now: " + prompts["audit.txt"]
	changed, err := run.NewReplayer(s, prompts, past)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := changed.Trial(context.Background(), &plan[0]); !errors.Is(err, llm.ErrChanged) {
		t.Errorf("another prompt: %v", err)
	}
	past.past = map[string]*record.Call{}
	if _, err := r.Trial(context.Background(), &plan[0]); !errors.Is(err, llm.ErrMissing) {
		t.Errorf("no call: %v", err)
	}
}
