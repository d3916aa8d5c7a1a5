package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/reference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, o llmtest.Options) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask returns a client that names its calls.
func ask(t *testing.T, s *llmtest.Server, model string) llm.Model {
	t.Helper()
	c, err := chat.New(chat.Options{
		Name: "openai-api/rehearse/" + model, Model: model, URL: s.URL + "/chat/completions", Key: "k-rehearsal-1", Settings: provider.Settings{NameCalls: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A question is a step on a lake, in text or as a picture.
func question(t *testing.T, vision bool, slot string) *llm.Request {
	t.Helper()
	grid, err := lake.Parse([]string{"SFFF", "FHHF", "FHHF", "HFFG"})
	if err != nil {
		t.Fatal(err)
	}
	state := &observe.State{Grid: grid, Agent: grid.Start()}
	req := &llm.Request{Trial: "0123abcd", Slot: slot, Parts: []llm.Part{llm.Text("[mem_001] SAFE at (0,1): Frozen ice - safe to walk\n")}}
	if !vision {
		req.Parts = append(req.Parts, llm.Text(state.Text()))
		return req
	}
	img := observe.Render(state, nil)
	data, err := observe.EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	req.Parts = append(req.Parts, llm.Image(img, data), llm.Text("Which way?"))
	return req
}

// Would fail if what a control says over the wire were not what it says when
// asked directly: the draws of ref/mixed and ref/random depend on every byte of
// the prompt, the trial and the slot.
func TestAnswersAsTheControlDoes(t *testing.T) {
	s := listen(t, llmtest.Options{Control: "ref/random"})
	for _, name := range []string{"ref/reader", "ref/believer", "ref/mixed?slip=0.5&trust=0.5", "ref/random", "any-model"} {
		direct := name
		if name == "any-model" {
			direct = "ref/random"
		}
		control, err := reference.New(direct)
		if err != nil {
			t.Fatal(err)
		}
		m := ask(t, s, name)
		for _, vision := range []bool{false, true} {
			for i := range 20 {
				req := question(t, vision, fmt.Sprintf("step%d", i))
				got, err := m.Generate(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				joined := *req
				if !vision { // the client joins neighbouring texts
					joined.Parts = []llm.Part{llm.Text(req.Parts[0].Text() + req.Parts[1].Text())}
				}
				want, err := control.Generate(t.Context(), &joined)
				if err != nil {
					t.Fatal(err)
				}
				if got.Text != want.Text || got.Finish != want.Finish || got.Model != control.Name() {
					t.Fatalf("%s: %+v, want %+v", name, got, want)
				}
				if got.Usage.InputTokens == nil || *got.Usage.InputTokens == 0 || *got.Usage.OutputTokens != (len(got.Text)+3)/4 {
					t.Fatalf("%s: usage %v", name, got.Usage)
				}
			}
		}
	}
}

func TestCapIsKept(t *testing.T) {
	s := listen(t, llmtest.Options{})
	req := question(t, false, "step1")
	two := 2
	req.Params.MaxTokens = &two
	reply, err := ask(t, s, "m").Generate(t.Context(), req)
	if err != nil || reply.Text != `{"action` || reply.Finish != llm.FinishLength || *reply.Usage.OutputTokens != 2 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// Would fail if the ledger lost an answer, counted a failed one, took one call
// for another, or began anew after a restart.
func TestLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	faults := func(a llmtest.Asked) llmtest.Fault {
		if a.Attempt == 1 && a.Call == "0123abcd/step2" {
			return llmtest.Failure
		}
		return ""
	}
	s := listen(t, llmtest.Options{Ledger: file, Faults: faults})
	m := ask(t, s, "m")
	for _, slot := range []string{"step1", "step2", "step2", "step3", "step3", "step3"} {
		_, _ = m.Generate(t.Context(), question(t, false, slot))
	}
	want := llmtest.Totals{Asked: 6, Answered: 5, Distinct: 3, Repeated: 2}
	if got := llmtest.Count(s.Entries()); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"cut off`); err != nil { // as a killed server may leave it
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(n int) []llmtest.Entry {
		t.Helper()
		entries, err := llmtest.ReadLedger(file)
		if err != nil || len(entries) != n {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		return entries
	}
	check(6)
	again := listen(t, llmtest.Options{Ledger: file, Faults: faults})
	m = ask(t, again, "m")
	for _, slot := range []string{"step2", "step4"} {
		if _, err := m.Generate(t.Context(), question(t, false, slot)); err != nil {
			t.Fatal(err)
		}
	}
	entries := check(8)
	if got := entries[6]; got.Attempt != 3 || got.ID != entries[1].ID || got.Call != "0123abcd/step2" || got.Status != 200 {
		t.Errorf("%+v", got)
	}
	if got, want := llmtest.Count(entries), (llmtest.Totals{Asked: 8, Answered: 7, Distinct: 4, Repeated: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Would fail if the same body under two names were one call, or a call whose
// body changed were the same.
func TestIdentity(t *testing.T) {
	s := listen(t, llmtest.Options{})
	m := ask(t, s, "m")
	same := question(t, false, "a")
	for _, req := range []*llm.Request{same, question(t, false, "b"), question(t, true, "a"), same} {
		if _, err := m.Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	e := s.Entries()
	if e[0].ID == e[1].ID || e[0].ID == e[2].ID || e[0].ID != e[3].ID || e[0].Body != e[1].Body || e[0].Body == e[2].Body {
		t.Errorf("%+v", e)
	}
}

// The ledger has an answer before the client can: a client that has read an
// answer always finds it in the file.
func TestLedgerBeforeAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	s := listen(t, llmtest.Options{Ledger: file})
	m := ask(t, s, "m")
	for i := range 30 {
		if _, err := m.Generate(t.Context(), question(t, false, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if entries, err := llmtest.ReadLedger(file); err != nil || len(entries) != i+1 {
			t.Fatalf("%d entries after %d answers, %v", len(entries), i+1, err)
		}
	}
}

// A client that goes during the delay got no answer, and none is counted.
func TestGoneDuringTheDelay(t *testing.T) {
	arrived := make(chan bool)
	s := listen(t, llmtest.Options{Delay: time.Hour, Seen: func(*http.Request, []byte) { close(arrived) }})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := ask(t, s, "m").Generate(ctx, question(t, false, "step1")); llm.KindOf(err) != llm.KindCanceled {
			t.Error(err)
		}
	})
	<-arrived
	cancel()
	wg.Wait()
	if n := len(s.Entries()); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// A server that closes leaves no request hanging.
func TestCloseEndsRequests(t *testing.T) {
	arrived := make(chan bool)
	s := listen(t, llmtest.Options{Delay: time.Hour, Seen: func(*http.Request, []byte) { close(arrived) }})
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := ask(t, s, "m").Generate(t.Context(), question(t, false, "step1")); llm.KindOf(err) != llm.KindNetwork {
			t.Error(err)
		}
	})
	<-arrived
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestKeyAndRefusals(t *testing.T) {
	s := listen(t, llmtest.Options{Key: "k-other"})
	if _, err := ask(t, s, "m").Generate(t.Context(), question(t, false, "step1")); llm.KindOf(err) != llm.KindAuth {
		t.Error(err)
	}
	s = listen(t, llmtest.Options{Key: "k-rehearsal-1", Refuse: []string{"temperature", "max_tokens", "response_format"}})
	m := ask(t, s, "m")
	req := question(t, false, "step1")
	half, many := 0.5, 64
	req.Params = llm.Params{Temperature: &half, MaxTokens: &many}
	req.Schema = &llm.Schema{Name: "action", JSON: []byte(`{"type":"object"}`)}
	if _, err := m.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if d, _ := llm.Describe(m); len(d.Changes) != 3 {
		t.Errorf("%+v", d)
	}
	if got := llmtest.Count(s.Entries()); got != (llmtest.Totals{Asked: 4, Answered: 1, Distinct: 1}) {
		t.Errorf("%+v", got)
	}
}

// What is not asked well is told so, in the protocol's form.
func TestBadRequests(t *testing.T) {
	s := listen(t, llmtest.Options{})
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/v1/chat/completions", `not json`, 400, "not a chat completion in JSON"},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, 400, "no message"},
		{"POST", "/v1/chat/completions", `{"messages":[{"content":7}]}`, 400, "neither a text nor a list"},
		{"POST", "/v1/chat/completions", `{"messages":[{"content":[{"type":"audio"}]}]}`, 400, `type \"audio\"`},
		{"POST", "/v1/chat/completions", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"http://x"}}]}]}`, 400, "not a PNG in a data URL"},
		{"POST", "/v1/chat/completions", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}]}]}`, 400, "base64"},
		{"POST", "/v1/chat/completions", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`, 400, "not a readable PNG"},
		{"POST", "/v1/messages", `{"max_tokens":9,"messages":[{"content":"x"}]}`, 400, "anthropic-version"},
		{"POST", "/api/chat", `{"model":"m","messages":[{"content":"x"}]}`, 400, "does not stream"},
		{"POST", "/v1beta/models/m:generateContent", `{"contents":[],"tools":[]}`, 400, "Unknown name"},
		{"POST", "/v1/chat/completions", `{"model":"ref/mixed?tpr=7","messages":[{"content":"x"}]}`, 404, "model_not_found"},
		{"POST", "/v1/chat/completions", `{"model":"x","messages":[{"content":"hello"}]}`, 200, "I cannot find an observation"},
		{"POST", "/chat/completions", `{"model":"x","messages":[{"content":"hello"}]}`, 200, "I cannot find an observation"},
		{"GET", "/v1/models", "", 200, `"id":"ref/mixed"`},
		{"GET", "/", "", 404, "ask POST /v1/chat/completions"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, strings.TrimSuffix(s.URL, "/v1")+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.words) || !json.Valid(body) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, resp.StatusCode, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0", "127.0.0.1", ""} {
		if s, err := llmtest.Listen(address, llmtest.Options{}); err == nil {
			_ = s.Close()
			t.Errorf("listens at %q", address)
		}
	}
	if _, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Control: "ref/nobody"}); err == nil {
		t.Error("an unknown control")
	}
	if _, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Ledger: filepath.Join(t.TempDir(), "no", "such")}); err == nil {
		t.Error("a ledger in no folder")
	}
}

// Would fail if a script were not determined by seed, call and attempt, or its
// probabilities were not what it says.
func TestScript(t *testing.T) {
	choose, err := llmtest.Script("429=0.3, 500=0.2 ,hang=0,length=0.25,seed=7")
	if err != nil {
		t.Fatal(err)
	}
	other, err := llmtest.Script("429=0.3,500=0.2,length=0.25,seed=8")
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	counts := map[llmtest.Fault]float64{}
	differ, independent := 0, 0.
	for i := range n {
		a := llmtest.Asked{ID: fmt.Sprintf("%032x", i), Attempt: 1}
		f := choose(a)
		counts[f]++
		if choose(a) != f {
			t.Fatal("the same attempt fails otherwise")
		}
		if other(a) != f {
			differ++
		}
		b := a
		b.Attempt = 2
		if f == llmtest.RateLimit && choose(b) == llmtest.RateLimit {
			independent++
		}
		if (f == llmtest.Length || f == "") && (choose(b) == llmtest.Length || choose(b) == "") && f != choose(b) {
			t.Fatal("a lasting fault comes and goes")
		}
	}
	for f, p := range map[llmtest.Fault]float64{llmtest.RateLimit: 0.3, llmtest.Failure: 0.2, llmtest.Hang: 0, llmtest.Length: 0.125, "": 0.375} {
		if got := counts[f] / n; math.Abs(got-p) > 4*math.Sqrt(p*(1-p)/n) {
			t.Errorf("%q in %.3f of attempts, want %.3f", f, got, p)
		}
	}
	if math.Abs(independent/n-0.09) > 0.01 {
		t.Errorf("two refusals in a row in %.3f, want 0.09", independent/n)
	}
	if differ < n/4 {
		t.Errorf("another seed changes %d of %d", differ, n)
	}
	first, err := llmtest.Script("500=1,first=2")
	if err != nil {
		t.Fatal(err)
	}
	if first(llmtest.Asked{Attempt: 2}) != llmtest.Failure || first(llmtest.Asked{Attempt: 3}) != "" {
		t.Error("first=2 is not two")
	}
	for spec, want := range map[string]string{
		"418=0.1":         `there is no "418"; there are 429, 429-date`,
		"429":             "want a probability, as in 429=0.1",
		"429=2":           "want a probability",
		"429=NaN":         "want a probability",
		"429=0.6,500=0.6": "sum to 1.2",
		"seed=x":          "whole number",
		"first=-1":        "whole number",
	} {
		if _, err := llmtest.Script(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// An answer is the same at any number in flight, and the faults as well.
func TestSideBySide(t *testing.T) {
	choose, err := llmtest.Script("429-ms=0.2,500=0.2,reset=0.1,cut=0.1,length=0.1")
	if err != nil {
		t.Fatal(err)
	}
	run := func(inFlight int) string {
		s := listen(t, llmtest.Options{Control: "ref/random", Faults: choose, RetryAfter: time.Millisecond})
		m := llm.Retry(llm.Limit(ask(t, s, "m"), llm.LimitOptions{InFlight: inFlight}), llm.RetryOptions{Attempts: 50, Base: time.Microsecond, Cap: time.Millisecond})
		const n = 60
		texts := make([]string, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				reply, err := m.Generate(t.Context(), question(t, i%2 == 0, fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
					return
				}
				texts[i] = reply.Text + string(reply.Finish)
			})
		}
		wg.Wait()
		totals := llmtest.Count(s.Entries())
		if totals.Distinct != n || totals.Repeated != 0 || totals.Answered != n {
			t.Errorf("%+v", totals)
		}
		return fmt.Sprint(strings.Join(texts, "\n"), totals)
	}
	if one, many := run(1), run(16); one != many {
		t.Errorf("one at a time:\n%s\nsixteen:\n%s", one, many)
	}
}

func FuzzReadLedger(f *testing.F) {
	f.Add([]byte(`{"id":"00","body":"00","attempt":1,"status":200}` + "\n" + `{"id":`))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		entries, err := llmtest.ReadLedger(file)
		if err == nil && len(entries) != bytes.Count(data, []byte("\n")) {
			t.Fatalf("%d entries of %q", len(entries), data)
		}
		_ = llmtest.Count(entries)
	})
}

// FuzzScript would fail if a script could make the server fall over.
func FuzzScript(f *testing.F) {
	f.Add("429=0.1,seed=3,first=2", "00", 1)
	f.Add(",,=,", "", 0)
	f.Fuzz(func(t *testing.T, spec, id string, attempt int) {
		choose, err := llmtest.Script(spec)
		if err != nil {
			return
		}
		if f := choose(llmtest.Asked{ID: id, Attempt: attempt}); f != "" && !strings.Contains(spec, string(f)) {
			t.Fatalf("%q from %q", f, spec)
		}
	})
}

func TestRapidCutKeepsText(t *testing.T) {
	s := listen(t, llmtest.Options{Control: "ref/messy"})
	m := ask(t, s, "m")
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(rt, "cap")
		req := question(t, false, rapid.StringMatching(`[a-z0-9/]{1,12}`).Draw(rt, "slot"))
		whole, err := m.Generate(t.Context(), req)
		if err != nil {
			rt.Fatal(err)
		}
		req.Params.MaxTokens = &limit
		cut, err := m.Generate(t.Context(), req)
		if err != nil {
			rt.Fatal(err)
		}
		if !strings.HasPrefix(whole.Text, cut.Text) || len(cut.Text) > 4*limit {
			rt.Fatalf("%q of %q at %d", cut.Text, whole.Text, limit)
		}
	})
}

// Would fail if a server that ignores pictures passed for one that sees, or the
// other way about.
func TestBlindServer(t *testing.T) {
	for _, blind := range []bool{false, true} {
		server := listen(t, llmtest.Options{Blind: blind})
		m, err := chat.New(chat.Options{Name: "m", Model: "ref/reader", URL: server.URL + "/chat/completions"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.CloseIdleConnections)
		if err := llm.CheckSight(t.Context(), m); errors.Is(err, llm.ErrBlind) != blind || err != nil != blind {
			t.Errorf("blind %v: %v", blind, err)
		}
	}
}
