package llm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// slow answers after a second with what answer returns, and keeps count.
type slow struct {
	answer       func() (*llm.Reply, error)
	inside, most atomic.Int32
	mu           sync.Mutex
	began        []time.Time
}

func (m *slow) Generate(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
	n := m.inside.Add(1)
	defer m.inside.Add(-1)
	m.mu.Lock()
	m.most.Store(max(m.most.Load(), n))
	m.began = append(m.began, time.Now())
	m.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, &llm.Error{Kind: llm.KindCanceled, Err: context.Cause(ctx)}
	}
	if m.answer == nil {
		return &llm.Reply{}, nil
	}
	return m.answer()
}

// ask makes n calls side by side and returns the most that were under way.
func (m *slow) ask(t *testing.T, limited llm.Model, n int) int {
	t.Helper()
	m.most.Store(0)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { _, _ = limited.Generate(t.Context(), &llm.Request{}) })
	}
	wg.Wait()
	return int(m.most.Load())
}

// Would fail if the limit were exceeded, not used, not halved by a refusal,
// halved once for each of the calls refused together, shrunk by a failing
// server, or not regained.
func TestLimitInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		limited := llm.Limit(m, llm.LimitOptions{InFlight: 16})
		check := func(what string, want int) {
			t.Helper()
			if got := m.ask(t, limited, 40); got != want {
				t.Errorf("%s: %d in flight, want %d", what, got, want)
			}
		}
		check("at first", 16)
		m.answer = func() (*llm.Reply, error) { return nil, kind(llm.KindServer) }
		check("a failing server", 16)
		check("still", 16)
		m.answer = func() (*llm.Reply, error) { return nil, kind(llm.KindRateLimit) }
		if got := m.ask(t, limited, 16); got != 16 {
			t.Errorf("%d in flight", got)
		}
		m.answer = func() (*llm.Reply, error) { return nil, kind(llm.KindTimeout) }
		check("after one refused round", 8)
		m.answer = func() (*llm.Reply, error) { return nil, kind(llm.KindRateLimit) }
		check("refused", 8)
		m.answer = func() (*llm.Reply, error) { return nil, kind(llm.KindServer) }
		check("down to the last", 1)
		m.answer = nil
		if got := m.ask(t, limited, 10); got < 2 || got > 5 {
			t.Errorf("after ten answers %d in flight, want a few", got)
		}
		m.ask(t, limited, 200)
		check("regained", 16)
		check("never more", 16)
	})
}

// Would fail if calls were let in out of order or a place were lost when a
// waiting call gives up.
func TestLimitQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		limited := llm.Limit(m, llm.LimitOptions{Model: "m", InFlight: 1})
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		call := func(ctx context.Context, name string) {
			wg.Go(func() {
				_, err := limited.Generate(ctx, &llm.Request{Slot: name})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					name += " " + string(llm.KindOf(err))
					if !errors.Is(err, reason) || !strings.Contains(err.Error(), "m at ") {
						t.Error(err)
					}
				}
				order = append(order, name)
			})
			synctest.Wait()
		}
		call(t.Context(), "a")
		call(t.Context(), "b")
		call(ctx, "c")
		call(t.Context(), "d")
		cancel(reason)
		synctest.Wait()
		call(ctx, "e")
		wg.Wait()
		if got := strings.Join(order, ", "); got != "c canceled, e canceled, a, b, d" {
			t.Error(got)
		}
		if got := m.ask(t, limited, 3); got != 1 {
			t.Errorf("%d in flight", got)
		}
	})
}

// Would fail if a place were lost, or one too many given, when a call gives up
// at the moment of its turn.
func TestLimitGivesUpAtItsTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that both happen before the waiting call wakes
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			inside, most := 0, 0
			limited := llm.Limit(modelFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
				inside++
				most = max(most, inside)
				<-release
				inside--
				return &llm.Reply{}, nil
			}), llm.LimitOptions{InFlight: 1})
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = limited.Generate(t.Context(), &llm.Request{}) })
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() { _, _ = limited.Generate(ctx, &llm.Request{}) })
			synctest.Wait()
			wg.Go(func() { _, _ = limited.Generate(t.Context(), &llm.Request{}) })
			synctest.Wait()
			cancel()
			close(release)
			wg.Wait() // a lost place is a deadlock here
			if most != 1 {
				t.Fatalf("%d in flight", most)
			}
		})
	}
}

// Would fail if more calls than allowed began in any minute, or fewer than
// there could be.
// Would fail if a call that waits for a place began after the run was stopped:
// its answer would be paid for.
func TestLimitEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		limited := llm.Limit(m, llm.LimitOptions{InFlight: 1})
		stopped := errors.New("stopped")
		quit, stop := context.WithCancelCause(t.Context())
		var errs [6]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = limited.Generate(llm.WithQuit(t.Context(), quit), &llm.Request{}) })
		}
		synctest.Wait()
		stop(stopped)
		wg.Wait()
		given, ended := 0, 0
		for _, err := range errs {
			switch {
			case err == nil:
				given++
			case errors.Is(err, stopped):
				ended++
			}
		}
		if len(m.began) != 1 || given != 1 || ended != 5 {
			t.Errorf("%d calls began, %d were answered and %d ended: %v", len(m.began), given, ended, errs)
		}
		if got := m.ask(t, limited, 3); got != 1 || len(m.began) != 4 {
			t.Errorf("afterwards %d at once, %d in all", got, len(m.began))
		}
	})
}

func TestLimitRPM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		limited := llm.Limit(m, llm.LimitOptions{RPM: 30})
		began := time.Now()
		m.ask(t, limited, 91)
		if took := time.Since(began); took != 181*time.Second {
			t.Errorf("91 calls at 30 a minute took %v", took)
		}
		for i := range m.began {
			if i >= 30 && m.began[i].Sub(m.began[i-30]) < time.Minute-time.Millisecond {
				t.Fatalf("31 calls within %v", m.began[i].Sub(m.began[i-30]))
			}
		}
	})
}

// Would fail if a minute took more tokens than allowed by more than a call, if
// wrong estimates were not settled, or if a call that gave up were paid for.
func TestLimitTPM(t *testing.T) {
	for _, c := range []struct {
		name     string
		in, out  int
		text     string
		expected int // calls that fit in ten minutes
	}{
		{"as estimated", 500, 500, strings.Repeat("x", 2000), 100},
		{"longer", 1500, 500, strings.Repeat("x", 2000), 50},
		{"shorter", 200, 50, strings.Repeat("x", 8000), 400},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &slow{answer: func() (*llm.Reply, error) {
				return &llm.Reply{Usage: llm.Usage{InputTokens: &c.in, OutputTokens: &c.out}}, nil
			}}
			limited := llm.Limit(m, llm.LimitOptions{TPM: 10_000, InFlight: 8})
			req := &llm.Request{Parts: []llm.Part{llm.Text(c.text)}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for ctx.Err() == nil {
						_, _ = limited.Generate(ctx, req)
					}
				})
			}
			wg.Wait()
			if n := len(m.began); n < c.expected*8/10 || n > c.expected*11/10+8 {
				t.Errorf("%s: %d calls in ten minutes, want about %d", c.name, n, c.expected)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		limited := llm.Limit(m, llm.LimitOptions{TPM: 600})
		m.ask(t, limited, 1)
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := limited.Generate(ctx, &llm.Request{}); llm.KindOf(err) != llm.KindCanceled {
				t.Fatal(err)
			}
			cancel()
			if len(m.began) > 1 {
				break
			}
		}
		began := time.Now()
		m.ask(t, limited, 1)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("calls that were never made cost %v", took)
		}
	})
}

// A server may report any number of tokens.
func TestLimitSurvivesAbsurdUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := 1 << 40
		m := &slow{answer: func() (*llm.Reply, error) {
			return &llm.Reply{Usage: llm.Usage{InputTokens: &huge, OutputTokens: &huge}}, nil
		}}
		limited := llm.Limit(m, llm.LimitOptions{TPM: 6000})
		began := time.Now()
		m.ask(t, limited, 2)
		if took := time.Since(began); took > 30*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}
