package llm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// at is an address that counts its calls, and fails as it is told.
type at struct {
	mu     sync.Mutex
	name   string
	calls  int
	fail   llm.Kind
	during func()
	gone   bool // not even reached
}

func (a *at) Generate(context.Context, *llm.Request) (*llm.Reply, error) {
	a.mu.Lock()
	a.calls++
	fail, during, gone := a.fail, a.during, a.gone
	a.mu.Unlock()
	if during != nil {
		during()
	}
	if fail != "" {
		return nil, &llm.Error{Kind: fail, Message: a.name, Unreached: gone}
	}
	return &llm.Reply{Text: a.name}, nil
}

func (a *at) Describe() llm.Description {
	return llm.Description{Endpoint: "http://" + a.name, Changes: []llm.Change{{Param: a.name}}}
}

// Calls go where the fewest are under way, so that a slow address gets fewer.
func TestBalanceByCalls(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	slow, fast := &at{name: "slow", during: func() { held <- struct{}{}; <-release }}, &at{name: "fast"}
	m := llm.Balance([]llm.Model{slow, fast}, time.Now)
	var group sync.WaitGroup
	group.Go(func() { m.Generate(t.Context(), &llm.Request{}) })
	<-held
	for range 10 {
		if r, err := m.Generate(t.Context(), &llm.Request{}); err != nil || r.Text != "fast" {
			t.Errorf("%v, %v", r, err)
		}
	}
	close(release)
	group.Wait()
	if d, ok := llm.Describe(m); !ok || d.Endpoint != "http://slow" || len(d.Changes) != 2 {
		t.Errorf("%+v", d)
	}
}

// An address that fails is left out, for longer each time, and tried again; what the
// request itself is to blame for is no reason to ask elsewhere.
func TestBalanceLeavesOut(t *testing.T) {
	now := time.Unix(0, 0)
	dead, alive := &at{name: "dead", fail: llm.KindNetwork, gone: true}, &at{name: "alive"}
	m := llm.Balance([]llm.Model{dead, alive}, func() time.Time { return now })
	ask := func(want string) {
		t.Helper()
		r, err := m.Generate(t.Context(), &llm.Request{})
		if got := ""; err != nil || r.Text != want {
			t.Errorf("%s answered, want %s: %v", got, want, err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		calls int // of the dead one by then
	}{{0, 1}, {500 * time.Millisecond, 1}, {time.Second, 2}, {2 * time.Second, 3}, {3 * time.Second, 3}, {2 * time.Minute, 4}} {
		now = now.Add(c.after)
		if ask("alive"); dead.calls != c.calls {
			t.Errorf("after %v the dead one was asked %d times, want %d", c.after, dead.calls, c.calls)
		}
	}
	dead.fail = ""
	now = now.Add(2 * time.Minute)
	ask("dead")
	if ask("dead"); alive.calls != 6 {
		t.Errorf("%d", alive.calls)
	}
	for _, kind := range []llm.Kind{llm.KindBadRequest, llm.KindAuth, llm.KindQuota, llm.KindRateLimit} {
		before := alive.calls
		dead.fail = kind
		if _, err := m.Generate(t.Context(), &llm.Request{}); llm.KindOf(err) != kind || alive.calls != before {
			t.Errorf("%s: %v, asked elsewhere %d times", kind, err, alive.calls-before)
		}
	}
	// What may have been answered is asked nowhere else by itself, but the next call is.
	dead.fail, dead.gone = llm.KindServer, false
	if _, err := m.Generate(t.Context(), &llm.Request{}); llm.KindOf(err) != llm.KindServer {
		t.Errorf("%v", err)
	}
	ask("alive")
	now = now.Add(time.Hour)
	dead.gone, alive.fail = true, llm.KindServer
	if _, err := m.Generate(t.Context(), &llm.Request{}); err == nil || !strings.Contains(err.Error(), "alive") {
		t.Errorf("with both dead the last failure is told: %v", err)
	}
	asked := dead.calls + alive.calls
	if _, err := m.Generate(t.Context(), &llm.Request{}); err == nil || dead.calls+alive.calls != asked+1 {
		t.Errorf("with both out one is asked, not none and not both: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now = now.Add(time.Hour)
	asked = dead.calls + alive.calls
	if _, err := m.Generate(ctx, &llm.Request{}); err == nil || errors.Is(err, context.Canceled) || dead.calls+alive.calls != asked+1 {
		t.Errorf("whoever has gone is asked for nowhere else: %v", err)
	}
}
