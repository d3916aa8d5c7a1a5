package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// wire is what a caller hears of the faults that are the same for all.
var wire = map[llmtest.Fault]heard{
	"":                 {"", "stop", 0},
	llmtest.Gzip:       {"", "stop", 0},
	llmtest.Expire:     {"", "stop", 0}, // batches alone have it
	llmtest.Missing:    {"", "stop", 0},
	llmtest.Length:     {"", "length", 0},
	llmtest.Endless:    {"", "length", 0},
	llmtest.BadGateway: {llm.KindServer, `HTTP 502: a web page, titled "502 Bad Gateway"`, 0},
	llmtest.Hang:       {llm.KindTimeout, "no whole answer within 200ms", 0},
	llmtest.Silence:    {llm.KindTimeout, "silence for 50ms in the middle of an answer, after", 0},
	llmtest.Trickle:    {llm.KindTimeout, "no whole answer within 200ms", 0},
	llmtest.Reset:      {llm.KindNetwork, "the connection broke before an answer came", 0},
	llmtest.Cut:        {llm.KindNetwork, "the connection broke in the middle of an answer", 0},
	llmtest.CutJSON:    {llm.KindMalformed, "not readable as JSON", 0},
	llmtest.Page:       {llm.KindMalformed, `a web page in place of an answer, titled "Please sign in"`, 0},
}

// Would fail if one of the faults of llmtest's server were heard otherwise than
// it is said.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		all := maps.Clone(wire)
		maps.Copy(all, p.hears)
		for _, fault := range append([]llmtest.Fault{""}, llmtest.Faults...) {
			want, known := all[fault]
			if !known {
				t.Errorf("nothing says what is heard of the fault %q", fault)
			}
			t.Run(string(fault), func(t *testing.T) {
				deadlines := provider.Deadlines{Connect: time.Minute, Idle: time.Minute, Attempt: time.Minute}
				switch fault {
				case llmtest.Silence:
					deadlines.Idle = 50 * time.Millisecond
				case llmtest.Hang, llmtest.Trickle:
					deadlines.Attempt = 200 * time.Millisecond
				}
				server, m := p.listen(t, llmtest.Options{
					Faults: func(llmtest.Asked) llmtest.Fault { return fault }, RetryAfter: wait, Drip: 10 * time.Millisecond,
				}, provider.Settings{Deadlines: deadlines, NameCalls: true})
				reply, err := m.Generate(t.Context(), step())
				if got := show(t, reply, err); llm.KindOf(err) != want.kind || !strings.Contains(got, want.words) {
					t.Errorf("want %s %q, got %s", want.kind, want.words, got)
				}
				if err != nil && err.(*llm.Error).RetryAfter != want.after {
					t.Errorf("retry after %v, want %v", err.(*llm.Error).RetryAfter, want.after)
				}
				entries := server.Entries()
				if len(entries) != 1 || entries[0].Fault != fault || entries[0].Call != "0123/step1" {
					t.Errorf("ledger %+v", entries)
				}
			})
		}
	})
}

// passing are the faults that may pass when a call is tried again.
var passing = []llmtest.Fault{
	llmtest.RateLimit, llmtest.RateLimitDate, llmtest.RateLimitMS, llmtest.Overloaded, llmtest.Failure, llmtest.BadGateway, llmtest.Reset,
	llmtest.Cut, llmtest.CutJSON, llmtest.Page, llmtest.ErrorObject, llmtest.NoChoices, llmtest.NullContent,
}

// Would fail if a call that failed in any way that may pass were lost, or made
// once more than needed.
func TestRetries(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		server, m := p.listen(t, llmtest.Options{Faults: func(a llmtest.Asked) llmtest.Fault {
			if a.Attempt <= len(passing) {
				return passing[a.Attempt-1]
			}
			return ""
		}}, provider.Settings{NameCalls: true})
		var waits int
		r := llm.Retry(m, llm.RetryOptions{Attempts: 20, Base: time.Microsecond, Cap: time.Microsecond, Notify: func(llm.Wait) { waits++ }})
		reply, err := r.Generate(t.Context(), step())
		if err != nil || reply.Text != `{"action": "RIGHT"}` {
			t.Fatal(reply, err)
		}
		if waits != len(passing) {
			t.Errorf("%d waits for %d faults", waits, len(passing))
		}
		if got := llmtest.Count(server.Entries()); got != (llmtest.Totals{Asked: len(passing) + 1, Answered: 1, Distinct: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// Where nothing listens, where a name leads nowhere, and where the server has no
// certificate that we trust.
func TestNoConnection(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		for _, base := range []string{"http://127.0.0.1:1", "http://host.invalid"} {
			_, err := p.client(t, base, "", provider.Settings{}).Generate(t.Context(), step())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.KindNetwork || !e.Unreached || !strings.Contains(err.Error(), "no connection to "+base) {
				t.Error(err)
			}
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
		server.Config.ErrorLog = quiet
		server.StartTLS()
		defer server.Close()
		_, err := p.client(t, server.URL, "", provider.Settings{}).Generate(t.Context(), step())
		if llm.KindOf(err) != llm.KindNoServer || !strings.Contains(err.Error(), "the certificate of "+server.URL) || !strings.Contains(err.Error(), "x509") {
			t.Error(err)
		}
		plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer plain.Close()
		_, err = p.client(t, strings.Replace(plain.URL, "http:", "https:", 1), "", provider.Settings{}).Generate(t.Context(), step())
		if llm.KindOf(err) != llm.KindNoServer || !strings.Contains(err.Error(), "speaks http, not https") {
			t.Error(err)
		}
	})
}

// Would fail if a request, and the key in it, went where a redirect points.
func TestNoRedirect(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		followed := false
		m := p.serve(t, "sk-12345678", provider.Settings{}, func(w http.ResponseWriter, r *http.Request) {
			followed = followed || r.URL.Path == "/elsewhere"
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		})
		_, err := m.Generate(t.Context(), step())
		if followed || llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), "base URL") {
			t.Errorf("followed %v, %v", followed, err)
		}
	})
}

// Would fail if what a server says in words that no protocol has to itself were
// taken for something else.
func TestWordsOfAll(t *testing.T) {
	for _, c := range []struct {
		words  string
		status int
		kind   llm.Kind
		after  time.Duration
	}{
		{"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 20139, please reduce your message size and try again.", 429, llm.KindBadRequest, 0},
		{"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 20139.", 413, llm.KindBadRequest, 0},
		{"No endpoints found that support image input", 404, llm.KindBadRequest, 0},
		{"body is not valid JSON: unexpected end", 400, llm.KindServer, 0},
		{"Invalid JSON: EOF while parsing a string", 400, llm.KindServer, 0},
		{"You exceeded your current quota, please check your plan and billing details.", 429, llm.KindQuota, 0},
		{"You have reached your monthly spend limit.", 429, llm.KindQuota, 0},
		{"Rate limit reached. Please try again in 3.2s.", 429, llm.KindRateLimit, 3200 * time.Millisecond},
		{"Too many requests. Please retry after 20 seconds.", 429, llm.KindRateLimit, 20 * time.Second},
		{"slow down, try again in 1m26.5s", 429, llm.KindRateLimit, 86500 * time.Millisecond},
		{"slow down, wait 250 milliseconds", 429, llm.KindRateLimit, 250 * time.Millisecond},
		{"Try again with 3 messages fewer", 429, llm.KindRateLimit, 0},
	} {
		each(t, func(t *testing.T, p *protocol) {
			m := p.serve(t, "", provider.Settings{}, func(w http.ResponseWriter, _ *http.Request) { p.refuse(w, c.status, c.words) })
			_, err := m.Generate(t.Context(), step())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.RetryAfter != c.after {
				t.Errorf("%d %s: %v, after %v", c.status, c.words, err, e.RetryAfter)
			}
		})
	}
	for _, code := range []string{"monthly_spend_limit_exceeded", "organization_spend_limit_exceeded", "insufficient_quota"} {
		m := protocols[0].serve(t, "", provider.Settings{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, `{"error":{"message":"Too many requests","code":%q}}`, code)
		})
		if _, err := m.Generate(t.Context(), step()); llm.KindOf(err) != llm.KindQuota {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// Would fail if one of two parameters that exclude each other were not given up,
// or if the bounds of a schema cost the schema itself.
func TestRefusedByAll(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		for words, gone := range map[string]string{
			"`temperature` and `top_p` cannot both be specified for this model.": "top_?p",
			"Invalid schema: 'minItems' is not supported":                        "minItems",
		} {
			topP := map[bool]string{true: "topP", false: "top_p"}[p.name == "gemini"]
			mark := map[bool]string{true: topP, false: "minItems"}[gone == "top_?p"]
			requests := 0
			m := p.serve(t, "", provider.Settings{}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if requests++; bytes.Contains(body, []byte(mark)) {
					p.refuse(w, http.StatusBadRequest, "response_schema grammar output_config.format: "+words)
					return
				}
				if !bytes.Contains(body, []byte("emperature")) || gone == "minItems" && !bytes.Contains(body, []byte(`"array"`)) {
					t.Errorf("%s: too much is gone: %s", words, body)
				}
				fmt.Fprint(w, p.up)
			})
			req := step()
			req.Params = llm.Params{Temperature: ptr(1.), TopP: ptr(0.99)}
			if gone == "minItems" {
				req.Schema = &llm.Schema{Name: "audit", JSON: json.RawMessage(`{"type":"array"}`), Bounded: json.RawMessage(`{"type":"array","minItems":2}`)}
			}
			for range 2 {
				if _, err := m.Generate(t.Context(), req); err != nil {
					t.Fatal(words, err)
				}
			}
			if d, _ := llm.Describe(m); requests != 3 || len(d.Changes) != 1 || d.Changes[0].Words == "" {
				t.Errorf("%s: %d requests, %+v", words, requests, d.Changes)
			}
		}
	})
}

// Many calls learn of a refusal at once: each succeeds, and it is told once.
func TestRefusedTogether(t *testing.T) {
	const n = 20
	each(t, func(t *testing.T, p *protocol) {
		var first sync.WaitGroup // all first requests are there before any is refused
		first.Add(n)
		m := p.serve(t, "", provider.Settings{}, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("temperature")) {
				first.Done()
				first.Wait()
				p.refuse(w, http.StatusBadRequest, "temperature is not supported by this model")
				return
			}
			fmt.Fprint(w, p.up)
		})
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Temperature: ptr(1.)}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d, _ := llm.Describe(m); len(d.Changes) != 1 {
			t.Errorf("%+v", d.Changes)
		}
	})
}

// A parameter of the extra body is the user's own: it is not given up.
func TestExtraBodyIsKept(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		requests := 0
		extra := `{"temperature":0.1}`
		if p.nested != "" && p.nested != "output_config" {
			extra = `{"` + p.nested + `":` + extra + `}`
		}
		m := p.serve(t, "", provider.Settings{ExtraBody: json.RawMessage(extra)}, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			p.refuse(w, http.StatusBadRequest, "temperature is not supported by this model")
		})
		_, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Temperature: ptr(1.)}})
		if llm.KindOf(err) != llm.KindBadRequest || requests != 1 {
			t.Errorf("%v after %d requests", err, requests)
		}
	})
}

// Would fail if an extra body or a header that cannot be sent were found only by
// a server, or could set what is ours.
func TestNewRefuses(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		cases := map[string]provider.Options{
			"not a JSON object":      {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`[1]`)}},
			"is not a JSON object":   {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1} {}`)}},
			`cannot set "model"`:     {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"model":"x"}`)}},
			`has "a" twice`:          {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1,"a":2}`)}},
			`header "X Y" cannot`:    {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X Y": "z"}}},
			`header "X" cannot`:      {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X": "z\nq"}}},
			"address cannot be read": {URL: "h"},
		}
		if p.nested != "" {
			cases[fmt.Sprintf("%q in the extra body is not", p.nested)] = provider.Options{URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"` + p.nested + `":3}`)}}
		}
		for text, o := range cases {
			if p.name == "gemini" && o.URL == "h" {
				o.URL = ":"
			}
			if _, err := p.open(o); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want an error with %q", err, text)
			}
		}
	})
}

// FuzzExtra would fail if an extra body could break a request, or put a member
// into it that is ours.
func FuzzExtra(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":{"b":[1,2]},"temperature":null}`, `{"stream":true}`, `{"a":1}{}`, `[`, `{"a"`, `{"mode\u006c":1}`, `{"a":1,}`, `{"output_config":{"format":null}}`,
		`{"options":{"num_ctx":4096}}`, `{"generationConfig":{"candidateCount":2}}`, `{"output_config":{}}`, `{"output_config":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, extra []byte) {
		for i := range protocols {
			p := &protocols[i]
			sent := &transport{up: p.up}
			c, err := p.open(provider.Options{Name: "m", Model: "m", URL: "http://localhost", Settings: provider.Settings{ExtraBody: extra, Dial: sent.dial}})
			if err != nil {
				continue
			}
			_, _ = c.Generate(t.Context(), &llm.Request{Parts: []llm.Part{llm.Text("hello")}, Schema: actionSchema, Params: llm.Params{Thinking: ptr(1024)}})
			c.CloseIdleConnections()
			var members map[string]json.RawMessage
			if err := json.Unmarshal(sent.body, &members); err != nil {
				t.Fatalf("%s: %v in %q", p.name, err, sent.body)
			}
			prompt := append(slices.Clone(members["messages"]), members["contents"]...)
			if model, ok := members["model"]; ok && string(model) != `"m"` || bytes.Count(prompt, []byte("hello")) != 1 || len(prompt) > 80 {
				t.Fatalf("%s: %s", p.name, sent.body)
			}
			if stream, streams := members["stream"]; streams && string(stream) != "false" && p.name != "gemini" { // which has no such member
				t.Fatalf("%s: %s", p.name, sent.body)
			}
		}
	})
}

// A transport keeps the body of a request and gives an answer.
type transport struct {
	up   string
	body []byte
}

func (s *transport) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		r, err := http.ReadRequest(newReader(theirs))
		if err != nil {
			return
		}
		s.body, _ = io.ReadAll(r.Body)
		fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(s.up), s.up)
	}()
	return ours, nil
}

// Would fail if the key were sent otherwise than the server wants it or in the
// address, or a user's header or the call's name were not sent.
func TestHeaders(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		name, value := p.key("sk-12345678")
		for _, c := range []struct {
			key      string
			settings provider.Settings
			want     map[string]string
		}{
			{"", provider.Settings{}, map[string]string{name: "", "Authorization": "", llm.CallHeader: "", "Content-Type": "application/json", "User-Agent": "spatialstale"}},
			{"sk-12345678", provider.Settings{}, map[string]string{name: value}},
			{"sk-12345678", provider.Settings{Header: map[string]string{strings.ToLower(name): "other-12345678", "X-Team": "lake"}}, map[string]string{name: "other-12345678", "X-Team": "lake"}},
			{"", provider.Settings{NameCalls: true}, map[string]string{llm.CallHeader: "0123/window0/batch%203"}},
		} {
			var got http.Header
			m := p.serve(t, c.key, c.settings, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				if strings.Contains(r.URL.String(), "12345678") {
					t.Errorf("the key is in the address %s", r.URL)
				}
				fmt.Fprint(w, p.up)
			})
			if _, err := m.Generate(t.Context(), &llm.Request{Trial: "0123", Slot: "window0/batch 3"}); err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				if got.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.Get(name), want)
				}
			}
			if p.name == "anthropic" && got.Get("Anthropic-Version") == "" {
				t.Error("the protocol's version is not sent")
			}
			if text := fmt.Sprintf("%v %+v %#v", m, m, m); strings.Contains(text, "12345678") {
				t.Error(text)
			}
		}
	})
}

// Would fail if every call opened a connection of its own.
func TestConnectionsAreReused(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		var opened atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("fail")) {
				w.WriteHeader(http.StatusInternalServerError)
			}
			fmt.Fprint(w, p.up)
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				opened.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		m := p.client(t, server.URL, "", provider.Settings{})
		for i := range 20 {
			text := "go on"
			if i%3 == 0 {
				text = "fail"
			}
			_, err := m.Generate(t.Context(), &llm.Request{Parts: []llm.Part{llm.Text(text)}})
			if (err != nil) != (text == "fail") {
				t.Fatal(err)
			}
		}
		if n := opened.Load(); n != 1 {
			t.Errorf("%d connections for 20 calls one after another", n)
		}
	})
}

func TestCanceled(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := p.serve(t, "", provider.Settings{}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			cancel(fmt.Errorf("enough"))
			<-r.Context().Done()
		})
		_, err := m.Generate(ctx, &llm.Request{Slot: "step1"})
		if llm.KindOf(err) != llm.KindCanceled || !strings.Contains(err.Error(), "enough") {
			t.Error(err)
		}
	})
}
