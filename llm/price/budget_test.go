package price_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
)

// perToken costs one millionth of a dollar a token, in and out.
var perToken = &price.Price{Input: 1, Output: 1}

// requestOf is a request of which one attempt costs cap+1024 tokens at most.
func requestOf(slot string, limit int) *llm.Request {
	return &llm.Request{Trial: "t", Slot: slot, Params: llm.Params{MaxTokens: &limit}}
}

const tokensAround = 1024 // in every reservation

func dollars(tokens int) *price.USD { return new(price.USD(tokens) * price.Dollar / 1e6) }

// An answer is a model that does what its function says.
type answer func(ctx context.Context, req *llm.Request) (*llm.Reply, error)

func (a answer) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	return a(ctx, req)
}

// Whatever calls cost, as long as none costs more than its request allows, what
// the provider bills must stay within the budget, failures and answers that are
// never seen among it; the money must come back in full; and no call may wait
// for ever.
func TestBudgetHoldsTheBudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type attempt struct {
			cap, used int
			delay     time.Duration
			end       int // 0 answered, 1 answered without usage, 2 refused, 3 lost though billed, 4 lost
		}
		attempts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) attempt {
			limit := rapid.IntRange(1, 5000).Draw(t, "cap")
			return attempt{limit, rapid.IntRange(0, limit+tokensAround).Draw(t, "used"), time.Duration(rapid.IntRange(0, 50).Draw(t, "delay")) * time.Millisecond, rapid.IntRange(0, 4).Draw(t, "end")}
		}), 1, 40).Draw(rt, "attempts")
		limit := rapid.IntRange(0, 60_000).Draw(rt, "limit")
		workers := rapid.IntRange(1, 8).Draw(rt, "workers")
		synctest.Test(t, func(t *testing.T) {
			var kept price.USD
			var mu sync.Mutex
			billed := 0
			budget := price.NewBudget(dollars(limit))
			budget.Open(price.Balance{}, func(s price.Balance) error {
				mu.Lock()
				defer mu.Unlock()
				kept = s.Most()
				return nil
			})
			next := make(chan int)
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for i := range next {
						a := attempts[i]
						m := llm.Budgeted(answer(func(context.Context, *llm.Request) (*llm.Reply, error) {
							time.Sleep(a.delay)
							if a.end < 2 || a.end == 3 {
								mu.Lock()
								billed += a.used
								if *dollars(billed) > kept {
									t.Errorf("%d billed, and %v was kept as the most", billed, kept)
								}
								mu.Unlock()
							}
							switch a.end {
							case 0:
								return &llm.Reply{Usage: usage(a.used, -1, -1, 0)}, nil
							case 1:
								return &llm.Reply{}, nil
							case 2:
								return nil, &llm.Error{Kind: llm.KindRateLimit}
							}
							return nil, &llm.Error{Kind: llm.KindTimeout}
						}), budget.For("m", perToken, price.Terms{}))
						_, err := m.Generate(t.Context(), requestOf(fmt.Sprint(i), a.cap))
						var exhausted *price.ExhaustedError
						if errors.Is(err, llm.ErrBudget) && (!errors.As(err, &exhausted) || exhausted.Balance.Spent+exhausted.Balance.Lost+exhausted.Next <= exhausted.Limit) {
							t.Errorf("stopped though the next call fits: %v", err)
						}
					}
				})
			}
			for i := range attempts {
				next <- i
			}
			close(next)
			wg.Wait()
			s := budget.Balance()
			if *dollars(billed) > *dollars(limit) || s.Reserved != 0 || s.Spent+s.Lost > *dollars(limit) || *dollars(billed) > s.Spent+s.Lost || s.Overruns != 0 || kept != s.Spent+s.Lost {
				t.Errorf("%d billed of %d; %+v, kept %v", billed, limit, s, kept)
			}
		})
	})
}

// A call that does not fit beside those under way waits for what they give
// back, and goes before later ones that would fit.
func TestBudgetWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := price.NewBudget(dollars(10_000 + 2*tokensAround))
		var mu sync.Mutex
		var order []string
		call := func(slot string, limit, used int) func() {
			m := llm.Budgeted(answer(func(_ context.Context, req *llm.Request) (*llm.Reply, error) {
				mu.Lock()
				order = append(order, req.Slot)
				mu.Unlock()
				time.Sleep(time.Second)
				return &llm.Reply{Usage: usage(used, -1, -1, 0)}, nil
			}), budget.For("m", perToken, price.Terms{}))
			return func() {
				if _, err := m.Generate(t.Context(), requestOf(slot, limit)); err != nil {
					t.Errorf("%s: %v", slot, err)
				}
			}
		}
		for i, f := range []func(){call("first", 6000, 10), call("large", 9000, 20), call("small", 1500, 30)} {
			time.Sleep(time.Duration(i) * time.Millisecond)
			go f()
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(order, " "); got != "first large small" {
			t.Errorf("in the order %s", got)
		}
		if s := budget.Balance(); s.Spent != *dollars(60) {
			t.Errorf("%+v", s)
		}
	})
}

// Would fail if a stop of the run, or the end of its context, left a waiting
// call behind, or its money set aside.
func TestBudgetGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := price.NewBudget(dollars(5000))
		hold, err := budget.For("m", perToken, price.Terms{}).Reserve(t.Context(), requestOf("a", 3000))
		if err != nil {
			t.Fatal(err)
		}
		stopped := errors.New("stopped")
		quit, stop := context.WithCancelCause(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		var errs [2]error
		go func() {
			_, errs[0] = budget.For("m", perToken, price.Terms{}).Reserve(llm.WithQuit(t.Context(), quit), requestOf("b", 3000))
		}()
		go func() { _, errs[1] = budget.For("m", perToken, price.Terms{}).Reserve(ctx, requestOf("c", 3000)) }()
		synctest.Wait()
		stop(stopped)
		cancel()
		if _, err := budget.For("m", perToken, price.Terms{}).Reserve(llm.WithQuit(t.Context(), quit), requestOf("free", 1)); !errors.Is(err, stopped) {
			t.Errorf("a call that there is money for began after the stop: %v", err)
		}
		synctest.Wait()
		if !errors.Is(errs[0], stopped) || llm.KindOf(errs[1]) != llm.KindCanceled {
			t.Errorf("%v; %v", errs[0], errs[1])
		}
		hold(nil, &llm.Error{Kind: llm.KindServer})
		if s := budget.Balance(); s.Reserved != 0 || s.Lost != *dollars(3000 + tokensAround) {
			t.Errorf("%+v", s)
		}
		_, err = budget.For("m", perToken, price.Terms{}).Reserve(t.Context(), requestOf("d", 3000))
		if want := "the budget of $0.005: $0 spent, up to $0.004 on calls whose answer nobody saw or could use; the next call of m could cost $0.004"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err = budget.For("m", perToken, price.Terms{}).Reserve(t.Context(), requestOf("e", 1)); !errors.Is(err, llm.ErrBudget) {
			t.Errorf("after the budget was exhausted: %v", err)
		}
	})
}

// A server that writes more than it was allowed must be noticed, and what it
// took counts.
func TestBudgetNoticesAnOverrun(t *testing.T) {
	budget := price.NewBudget(dollars(10_000))
	budget.Open(price.Balance{Spent: *dollars(100), Lost: *dollars(7)}, nil)
	m := llm.Budgeted(answer(func(context.Context, *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Usage: usage(0, -1, -1, 9000)}, nil
	}), budget.For("m", perToken, price.Terms{}))
	if _, err := m.Generate(t.Context(), requestOf("a", 10)); err != nil {
		t.Fatal(err)
	}
	if s := budget.Balance(); s.Overruns != 1 || s.Spent != *dollars(9100) || s.Lost != *dollars(7) {
		t.Errorf("%+v", s)
	}
}

// An answer that was written and thrown away is paid for like one that counts,
// by what it says that it took, or else by the most; and so is a further request
// that it took to tell.
func TestBudgetBooksAnswersThatDoNotCount(t *testing.T) {
	thrown := func(kind llm.Kind, u llm.Usage) error { return &llm.Error{Kind: kind, Answered: true, Usage: u} }
	const most = tokensAround + 3000
	for _, c := range []struct {
		name        string
		reply       *llm.Reply
		err         error
		spent, lost int
	}{
		{"cut prompt", nil, thrown(llm.KindBadRequest, usage(40, -1, -1, 500)), 0, 540},
		{"an error in the middle", nil, thrown(llm.KindRateLimit, usage(40, -1, -1, 2)), 0, 42},
		{"no word of what it took", nil, thrown(llm.KindRateLimit, llm.Usage{}), 0, most},
		{"half a word", nil, thrown(llm.KindServer, usage(40, -1, -1, -1)), 0, most},
		{"refused", nil, &llm.Error{Kind: llm.KindRateLimit}, 0, 0},
		{"asked again", &llm.Reply{Usage: usage(40, -1, -1, 500), Besides: new(usage(60, -1, -1, 1))}, nil, 540, 61},
		{"asked again, no word", &llm.Reply{Usage: usage(40, -1, -1, 500), Besides: &llm.Usage{}}, nil, 540, most},
	} {
		budget := price.NewBudget(dollars(100_000))
		m := llm.Budgeted(answer(func(context.Context, *llm.Request) (*llm.Reply, error) { return c.reply, c.err }), budget.For("m", perToken, price.Terms{}))
		_, _ = m.Generate(t.Context(), requestOf("a", 3000))
		if s := budget.Balance(); s.Spent != *dollars(c.spent) || s.Lost != *dollars(c.lost) || s.Reserved != 0 {
			t.Errorf("%s: %+v, want %d spent and %d lost", c.name, s, c.spent, c.lost)
		}
	}
}

// A budget that cannot keep what is spent must let nothing begin.
func TestBudgetStopsWhenItCannotKeep(t *testing.T) {
	budget := price.NewBudget(nil)
	budget.Open(price.Balance{}, func(price.Balance) error { return errors.New("disk full") })
	_, err := budget.For("m", perToken, price.Terms{}).Reserve(t.Context(), requestOf("a", 10))
	if !errors.Is(err, llm.ErrJournal) || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
	if s := budget.Balance(); s != (price.Balance{}) {
		t.Errorf("%+v", s)
	}
}

func TestWorst(t *testing.T) {
	limit := 100
	text := &llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("three é")}, Params: llm.Params{MaxTokens: &limit}, Schema: &llm.Schema{JSON: []byte(`{}`)}}
	p := price.Price{Input: 1, CachedInput: new(0.1), CacheWrite: new(2.0), Output: 10}
	if got, err := p.MaxCost(text, price.Terms{}); err != nil || got != price.USD(1e6*(2*(tokensAround+8+4)+10*100)) {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := p.MaxCost(&llm.Request{Slot: "s"}, price.Terms{}); err == nil {
		t.Error("a call without a cap has a worst case")
	}
	if got, err := p.MaxCost(text, price.Terms{Extra: 500, Twice: true}); err != nil || got != price.USD(2e6*(2*(tokensAround+500+8+4)+10*100)) {
		t.Errorf("with what is added, and asked twice: %d, %v", got, err)
	}
	p.UpTo = 1000
	if _, err := p.MaxCost(text, price.Terms{}); err == nil || !strings.Contains(err.Error(), "one for up to 1000") {
		t.Errorf("%v", err)
	}
}

func TestUnbilled(t *testing.T) {
	for err, want := range map[error]bool{
		&llm.Error{Kind: llm.KindRateLimit}:                      true,
		&llm.Error{Kind: llm.KindBadRequest}:                     true,
		&llm.Error{Kind: llm.KindServer}:                         false,
		&llm.Error{Kind: llm.KindTimeout}:                        false,
		&llm.Error{Kind: llm.KindNetwork, Unreached: true}:       true,
		&llm.Error{Kind: llm.KindNoServer, Unreached: true}:      true,
		&llm.Error{Kind: llm.KindNetwork}:                        false,
		&llm.Error{Kind: llm.KindRateLimit, Answered: true}:      false, // in the middle of an answer
		&llm.Error{Kind: llm.KindBadRequest, Answered: true}:     false, // an answer that does not count
		fmt.Errorf("audit: %w", &llm.Error{Kind: llm.KindQuota}): true,
		errors.New("the model panicked"):                         false,
	} {
		if llm.Unbilled(err) != want {
			t.Errorf("%v", err)
		}
	}
}

// Without a price or a cap nothing is known of what an attempt costs: it runs
// over nothing, and one whose answer nobody saw is counted and not priced.
func TestBudgetKnowsWhatItDoesNotKnow(t *testing.T) {
	var kept []price.Balance
	budget := price.NewBudget(nil)
	budget.Open(price.Balance{}, func(s price.Balance) error { kept = append(kept, s); return nil })
	uncapped := requestOf("a", 10)
	uncapped.Params.MaxTokens = nil
	for _, b := range []llm.Budget{budget.For("m", perToken, price.Terms{}), budget.For("n", nil, price.Terms{})} {
		for _, end := range []error{nil, &llm.Error{Kind: llm.KindTimeout}, &llm.Error{Kind: llm.KindRateLimit}} {
			settle, err := b.Reserve(t.Context(), uncapped)
			if err != nil {
				t.Fatal(err)
			}
			if last := kept[len(kept)-1]; last.Blind != 1 {
				t.Errorf("under way: %+v", last)
			}
			if end == nil {
				settle(&llm.Reply{Usage: usage(5, -1, -1, 3)}, nil)
			} else {
				settle(nil, end)
			}
		}
	}
	if s := budget.Balance(); s.Overruns != 0 || s.Unseen != 2 || s.Blind != 0 || s.Spent != *dollars(8) {
		t.Errorf("%+v", s)
	}
	if _, err := price.NewBudget(dollars(1)).For("n", nil, price.Terms{}).Reserve(t.Context(), requestOf("a", 10)); !errors.Is(err, llm.ErrBudget) {
		t.Errorf("a budget for a model without a price: %v", err)
	}
}

// Would fail if the money that a killed session had set aside for a batch were
// counted twice when the batch is collected, or forgotten when it is not.
func TestBudgetOfACollectedBatch(t *testing.T) {
	held := map[string]bool{"collected": true, "waits": true}
	half := *perToken
	half.Batch = new(0.5)
	for _, c := range []struct {
		slot        string
		end         error
		spent, lost int // in tokens
	}{
		{"collected", nil, 50, 2024},                              // that of the other stays
		{"new", nil, 50, 4048},                                    // it takes nothing from what is held
		{"waits", &llm.Error{Kind: llm.KindRateLimit}, 0, 4048},   // and is still held
		{"collected", &llm.Error{Kind: llm.KindServer}, 0, 4048},  // billed or not, nobody knows
		{"new", &llm.Error{Kind: llm.KindServer}, 0, 4048 + 2024}, // the same
		{"new", &llm.Error{Kind: llm.KindRateLimit}, 0, 4048},     // not billed
	} {
		budget := price.NewBudget(dollars(6100)) // of two held and one new
		budget.Open(price.Balance{Lost: *dollars(4048)}, nil)
		terms := price.Terms{Held: func(req *llm.Request) bool { return held[req.Slot] }}
		m := llm.Budgeted(answer(func(context.Context, *llm.Request) (*llm.Reply, error) {
			if c.slot == "collected" {
				delete(held, c.slot)
				defer func() { held[c.slot] = true }()
			}
			if c.end != nil {
				return nil, c.end
			}
			return &llm.Reply{Usage: usage(100, -1, -1, 0), Batch: "b"}, nil
		}), budget.For("m", &half, terms))
		req := requestOf(c.slot, 3024)
		req.Batch = true
		if _, err := m.Generate(t.Context(), req); err != c.end {
			t.Errorf("%s: %v", c.slot, err)
		}
		if s := budget.Balance(); s.Spent != *dollars(c.spent) || s.Lost != *dollars(c.lost) || s.Reserved != 0 {
			t.Errorf("%s, %v: %+v", c.slot, c.end, s)
		}
	}
}
