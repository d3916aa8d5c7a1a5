package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o chat.Options, handler http.HandlerFunc) *chat.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/v1/chat/completions"
	return clientAt(t, o)
}

func clientAt(t testing.TB, o chat.Options) *chat.Client {
	t.Helper()
	if o.Name == "" {
		o.Name = "openai-api/test/m"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := chat.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// up is an answer.
const up = `{"choices":[{"message":{"content":"UP"}}]}`

func ptr[T any](v T) *T { return &v }

// Golden requests: would fail if what goes over the wire changed unseen.
func TestRequests(t *testing.T) {
	prompt := []llm.Part{llm.Text("Legend: S <start> & F.\n"), llm.Text("Row 0: (0,0)=S “…”\n"), llm.Text("Which way?")}
	withPicture := []llm.Part{llm.Text("Legend.\n"), conformance.Picture(t), llm.Text("Agent at (0,0).\n"), llm.Text("Which way?")}
	all := llm.Params{Temperature: ptr(0.), TopP: ptr(0.9), MaxTokens: ptr(512)}
	for _, c := range []struct {
		name string
		opts chat.Options
		req  llm.Request
	}{
		{"text", chat.Options{}, llm.Request{Parts: prompt}},
		{"picture", chat.Options{}, llm.Request{Parts: withPicture}},
		{"pictures-side-by-side", chat.Options{}, llm.Request{Parts: []llm.Part{conformance.Picture(t), conformance.Picture(t)}}},
		{"detail", chat.Options{Settings: provider.Settings{Detail: "high"}}, llm.Request{Parts: withPicture}},
		{"everything", chat.Options{}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema, Params: all}},
		{"logprobs", chat.Options{}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema, Params: llm.Params{Logprobs: true}}},
		{"logprobs-more", chat.Options{TopLogprobs: 20}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
		{"completion-cap", chat.Options{CompletionCap: true}, llm.Request{Parts: prompt, Params: all}},
		{"no-schema", chat.Options{Settings: provider.Settings{NoSchema: true}}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema}},
		{"extra-body", chat.Options{Settings: provider.Settings{
			ExtraBody: json.RawMessage(`{"enable_thinking": false, "temperature": 0.25, "provider": {"order": ["x"]}}`),
		}}, llm.Request{Parts: prompt, Params: all}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conformance.Request(t, c.name, "/v1/chat/completions", up, &c.req, func(t *testing.T, handler http.HandlerFunc) llm.Model {
				return client(t, c.opts, handler)
			})
		})
	}
}

// Would fail if a kind of answer were read otherwise than its file says.
func TestAnswers(t *testing.T) {
	conformance.Answers(t, 80, func(t *testing.T, handler http.HandlerFunc) llm.Model { return client(t, chat.Options{}, handler) })
}

// Would fail if the key were sent otherwise than the server wants it, or a
// user's header or the call's name were not sent.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		opts chat.Options
		want map[string]string
	}{
		{chat.Options{}, map[string]string{"Authorization": "", llm.CallHeader: "", "Content-Type": "application/json", "User-Agent": "spatialstale"}},
		{chat.Options{Key: "sk-12345678"}, map[string]string{"Authorization": "Bearer sk-12345678"}},
		{chat.Options{Key: "sk-12345678", KeyHeader: "api-key"}, map[string]string{"Authorization": "", "api-key": "sk-12345678"}},
		{chat.Options{Key: "sk-12345678", Settings: provider.Settings{Header: map[string]string{"authorization": "Basic x", "X-Team": "lake"}}},
			map[string]string{"Authorization": "Basic x", "X-Team": "lake"}},
		{chat.Options{Settings: provider.Settings{NameCalls: true}}, map[string]string{llm.CallHeader: "0123/window0/batch%203"}},
	} {
		var got http.Header
		m := client(t, c.opts, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			fmt.Fprint(w, up)
		})
		if _, err := m.Generate(t.Context(), &llm.Request{Trial: "0123", Slot: "window0/batch 3"}); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if got.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, got.Get(name), want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for text, o := range map[string]chat.Options{
		"not a JSON object":      {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`[1]`)}},
		"is not a JSON object":   {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1} {}`)}},
		`cannot set "stream"`:    {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"stream":true}`)}},
		`has "a" twice`:          {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1,"a":2}`)}},
		`header "X Y" cannot`:    {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X Y": "z"}}},
		`header "X" cannot`:      {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X": "z\nq"}}},
		"address cannot be read": {URL: "h"},
	} {
		if _, err := chat.New(o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want an error with %q", err, text)
		}
	}
}

// Would fail if every call opened a connection of its own.
func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("fail")) {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, up)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	m := clientAt(t, chat.Options{URL: server.URL})
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
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := client(t, chat.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		cancel(fmt.Errorf("enough"))
		<-r.Context().Done()
	})
	_, err := m.Generate(ctx, &llm.Request{Slot: "step1"})
	if llm.KindOf(err) != llm.KindCanceled || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}
