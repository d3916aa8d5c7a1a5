package llm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A modelFunc is a model in a test.
type modelFunc func(ctx context.Context, req *llm.Request) (*llm.Reply, error)

func (f modelFunc) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	return f(ctx, req)
}

// failing answers after the given errors.
func failing(errs ...error) (m llm.Model, calls *int) {
	calls = new(int)
	return modelFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		*calls++
		if *calls <= len(errs) && errs[*calls-1] != nil {
			return nil, errs[*calls-1]
		}
		return &llm.Reply{Text: "done"}, nil
	}), calls
}

func kind(k llm.Kind) *llm.Error { return &llm.Error{Kind: k, Model: "m", Message: "words"} }

// Would fail if a call were tried again that cannot succeed, or given up that
// may.
func TestRetryTriesAgainOnlyWhatMayPass(t *testing.T) {
	for _, k := range []llm.Kind{llm.KindRateLimit, llm.KindServer, llm.KindNetwork, llm.KindTimeout, llm.KindMalformed} {
		m, calls := failing(kind(k), kind(k))
		reply, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
		if err != nil || reply.Text != "done" || *calls != 3 {
			t.Errorf("%s: %v after %d calls", k, err, *calls)
		}
	}
	for _, k := range []llm.Kind{llm.KindAuth, llm.KindQuota, llm.KindUnknownModel, llm.KindBadRequest, llm.KindCanceled} {
		m, calls := failing(kind(k))
		_, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
		if llm.KindOf(err) != k || *calls != 1 {
			t.Errorf("%s: %v after %d calls", k, err, *calls)
		}
	}
	plain := errors.New("no error of a call")
	m, calls := failing(plain)
	if _, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{}); err != plain || *calls != 1 {
		t.Errorf("%v after %d calls", err, *calls)
	}
}

// Would fail if a call that a server worked on for as long as it may were tried
// eight times unchanged, or if a server that only hung once lost it.
func TestRetryOfWhatIsTooSlow(t *testing.T) {
	slow := kind(llm.KindTimeout)
	slow.Slow = true
	m, calls := failing(slow, kind(llm.KindServer), slow, slow)
	_, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
	var e *llm.Error
	if !errors.As(err, &e) || !e.Slow || e.Attempts != 3 || *calls != 3 {
		t.Errorf("%v after %d calls", err, *calls)
	}
	m, calls = failing(slow)
	if reply, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{}); err != nil || reply.Text != "done" || *calls != 2 {
		t.Errorf("%v after %d calls", err, *calls)
	}
}

// A server that was never there is given up soon; one that was there is waited
// for as for any other trouble, also by calls that began before.
func TestRetryOfAServerThatIsNotThere(t *testing.T) {
	gone := &llm.Error{Kind: llm.KindNetwork, Model: "m", Message: "no connection", Unreached: true}
	for _, tt := range []struct {
		name  string
		errs  []error
		calls int
		kind  llm.Kind
	}{
		{"never there", []error{gone, gone, gone, gone}, 3, llm.KindNoServer},
		{"comes up", []error{gone, gone}, 3, ""},
		{"there, then gone", []error{kind(llm.KindServer), gone, gone, gone, gone}, 6, ""},
		{"there, and gone for good", []error{kind(llm.KindRateLimit), gone, gone, gone, gone, gone, gone, gone}, 8, llm.KindNetwork},
	} {
		m, calls := failing(tt.errs...)
		_, err := llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
		if llm.KindOf(err) != tt.kind || *calls != tt.calls {
			t.Errorf("%s: %v after %d calls, want %q after %d", tt.name, err, *calls, tt.kind, tt.calls)
		}
	}
	m, calls := failing(nil, gone, gone, gone, gone)
	retried := llm.Retry(m, llm.RetryOptions{Sleep: noSleep})
	for range 2 {
		if _, err := retried.Generate(t.Context(), &llm.Request{}); err != nil {
			t.Error(err)
		}
	}
	if *calls != 6 {
		t.Errorf("%d calls, want 6", *calls)
	}
}

func noSleep(context.Context, time.Duration) error { return nil }

func TestRetryGivesUp(t *testing.T) {
	m, calls := failing(kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer))
	_, err := llm.Retry(m, llm.RetryOptions{Attempts: 3, Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
	if *calls != 3 || llm.KindOf(err) != llm.KindServer || !strings.Contains(err.Error(), "tried 3 times") {
		t.Errorf("%v after %d calls", err, *calls)
	}
	m, calls = failing(kind(llm.KindServer), kind(llm.KindAuth))
	_, err = llm.Retry(m, llm.RetryOptions{Sleep: noSleep}).Generate(t.Context(), &llm.Request{})
	if *calls != 2 || llm.KindOf(err) != llm.KindAuth {
		t.Errorf("%v after %d calls", err, *calls)
	}
}

// The waits by the clock: doubled, drawn from the upper half, capped; the
// provider's own wish at least, and capped as well.
func TestRetryWaits(t *testing.T) {
	asked := func(d time.Duration) *llm.Error {
		e := kind(llm.KindRateLimit)
		e.RetryAfter = d
		return e
	}
	for _, c := range []struct {
		name   string
		errs   []error
		jitter float64
		want   string
	}{
		{"least", []error{kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer)}, 0, "500ms 1s 2s"},
		{"half", []error{kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer)}, 0.5, "750ms 1.5s 3s"},
		{"capped", []error{kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer), kind(llm.KindServer)}, 0.5, "750ms 1.5s 3s 6s 7.5s"},
		{"asked", []error{asked(7 * time.Second), asked(200 * time.Millisecond)}, 0.5, "7.5s 300ms"},
		{"asked too much", []error{asked(time.Hour)}, 0.9, "10s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := failing(c.errs...)
			var waits, told []string
			last := time.Now()
			timed := modelFunc(func(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
				if len(told) > 0 {
					waits = append(waits, time.Since(last).String())
				}
				last = time.Now()
				return m.Generate(ctx, req)
			})
			r := llm.Retry(timed, llm.RetryOptions{
				Cap:    10 * time.Second,
				Jitter: func() float64 { return c.jitter },
				Notify: func(w llm.Wait) { told = append(told, w.For.String()) },
			})
			if _, err := r.Generate(t.Context(), &llm.Request{Slot: "step1"}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(waits, " "); got != c.want {
				t.Errorf("%s: waited %s, want %s", c.name, got, c.want)
			}
			if got := strings.Join(told, " "); got != c.want {
				t.Errorf("%s: told of %s, want %s", c.name, got, c.want)
			}
		})
	}
}

// Would fail if a wait could be longer than the cap, shorter than what the
// provider asks within it, or negative from an overflow.
func TestRetryWaitsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "cap"))
		base := time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "base"))
		asked := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "asked"))
		e := kind(llm.KindServer)
		e.RetryAfter = asked
		m := modelFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { return nil, e })
		r := llm.Retry(m, llm.RetryOptions{
			Attempts: 70, Base: base, Cap: limit,
			Jitter: func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "jitter") },
			Sleep: func(_ context.Context, d time.Duration) error {
				if d < 0 || d > limit || d < min(asked, limit) {
					t.Fatalf("waits %v with base %v, cap %v, asked %v", d, base, limit, asked)
				}
				return nil
			},
		})
		if _, err := r.Generate(context.Background(), &llm.Request{}); err == nil {
			t.Fatal("no error")
		}
	})
}

func TestRetryIsShown(t *testing.T) {
	e := &llm.Error{Kind: llm.KindRateLimit, Model: "openai/gpt-4o", Slot: "step3", Message: "slow down", RetryAfter: 45 * time.Second}
	var shown string
	m, _ := failing(e)
	r := llm.Retry(m, llm.RetryOptions{Sleep: noSleep, Jitter: func() float64 { return 0 }, Notify: func(w llm.Wait) { shown = w.String() }})
	if _, err := r.Generate(t.Context(), &llm.Request{}); err != nil {
		t.Fatal(err)
	}
	if want := "openai/gpt-4o at step3: rate-limit: slow down; retrying in 45 s (attempt 2 of 8)"; shown != want {
		t.Errorf("shows %q, want %q", shown, want)
	}
}

// Would fail if a call outlived its context in a wait.
func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := modelFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { return nil, kind(llm.KindServer) })
		time.AfterFunc(3*time.Second, func() { cancel(reason) })
		began := time.Now()
		_, err := llm.Retry(m, llm.RetryOptions{}).Generate(ctx, &llm.Request{Slot: "step1"})
		if llm.KindOf(err) != llm.KindCanceled || !errors.Is(err, reason) {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("returned after %v", took)
		}
	})
}

type described struct{ llm.Model }

func (described) Describe() llm.Description {
	return llm.Description{Endpoint: "http://there", Changes: []llm.Change{{Param: "temperature"}}}
}

func TestDescribeLooksThroughWrappers(t *testing.T) {
	m, _ := failing()
	d, ok := llm.Describe(llm.Retry(llm.Limit(described{m}, llm.LimitOptions{}), llm.RetryOptions{}))
	if !ok || fmt.Sprint(d) != "{http://there [{temperature  }]}" {
		t.Errorf("%v, %v", d, ok)
	}
	if _, ok := llm.Describe(llm.Retry(m, llm.RetryOptions{})); ok {
		t.Error("a model that says nothing is described")
	}
}
