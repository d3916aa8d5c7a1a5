package llm_test

import (
	"context"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// Would fail if a line of progress showed calls that have ended, the wrong one
// as the oldest, or pieces of answers that no call under way has got.
func TestInFlight(t *testing.T) {
	var calls llm.InFlight
	clock := time.Unix(100, 0)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	inside := make(chan llm.Snapshot, 1)
	inner := calls.Watch(modelFunc(func(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
		llm.TokenCame(ctx)
		inside <- calls.Snapshot()
		return &llm.Reply{}, nil
	}), now)
	outer := calls.Watch(modelFunc(func(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
		llm.TokenCame(ctx)
		llm.TokenCame(ctx)
		return inner.Generate(context.Background(), req)
	}), now)
	if _, err := outer.Generate(t.Context(), &llm.Request{}); err != nil {
		t.Fatal(err)
	}
	if s, want := <-inside, (llm.Snapshot{Calls: 2, Oldest: time.Unix(101, 0), Tokens: 3}); s != want {
		t.Errorf("under way: %+v, want %+v", s, want)
	}
	if s := calls.Snapshot(); s != (llm.Snapshot{}) {
		t.Errorf("at the end: %+v", s)
	}
	llm.TokenCame(t.Context()) // nobody watches: nothing to tell
}
