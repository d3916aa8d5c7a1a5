package anthropic_test

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
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o anthropic.Options, handler http.HandlerFunc) *anthropic.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/v1/messages"
	return clientAt(t, o)
}

func clientAt(t testing.TB, o anthropic.Options) *anthropic.Client {
	t.Helper()
	if o.Name == "" {
		o.Name = "anthropic/m"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// up is an answer.
const up = `{"type":"message","content":[{"type":"text","text":"UP"}],"stop_reason":"end_turn"}`

func ptr[T any](v T) *T { return &v }

// Golden requests: would fail if what goes over the wire changed unseen.
func TestRequests(t *testing.T) {
	prompt := []llm.Part{llm.Text("Legend: S <start> & F.\n"), llm.Text("Row 0: (0,0)=S “…”\n"), llm.Text("Which way?")}
	withPicture := []llm.Part{llm.Text("Legend.\n"), conformance.Picture(t), llm.Text("Agent at (0,0).\n"), llm.Text("Which way?")}
	all := llm.Params{Temperature: ptr(0.), TopP: ptr(0.9), MaxTokens: ptr(512)}
	extra := func(body string) anthropic.Options {
		return anthropic.Options{Settings: provider.Settings{ExtraBody: json.RawMessage(body)}}
	}
	for _, c := range []struct {
		name string
		opts anthropic.Options
		req  llm.Request
	}{
		{"text", anthropic.Options{}, llm.Request{Parts: prompt}},
		{"picture", anthropic.Options{}, llm.Request{Parts: withPicture}},
		{"pictures-side-by-side", anthropic.Options{}, llm.Request{Parts: []llm.Part{conformance.Picture(t), llm.Text("\n"), conformance.Picture(t)}}},
		{"shared", anthropic.Options{}, llm.Request{Parts: prompt, Shared: []int{1, 2}}},
		{"shared-picture", anthropic.Options{}, llm.Request{Parts: withPicture, Shared: []int{1, 2}}},
		{"everything", anthropic.Options{}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema, Params: all}},
		{"no-schema", anthropic.Options{Settings: provider.Settings{NoSchema: true}}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema}},
		{"thinking", anthropic.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048)}}},
		{"thinking-capped", anthropic.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048), MaxTokens: ptr(4096), Temperature: ptr(1.), TopP: ptr(0.99)}}},
		{"thinking-without-sampling", anthropic.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048), Temperature: ptr(0.), TopP: ptr(0.9)}}},
		{"no-thinking", anthropic.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(0), Temperature: ptr(0.)}}},
		{"logprobs", anthropic.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
		{"extra-body", extra(`{"metadata": {"user_id": "x"}, "temperature": 0.25, "thinking": {"type": "adaptive"}}`), llm.Request{Parts: prompt, Params: llm.Params{Temperature: ptr(1.), Thinking: ptr(1024)}}},
		{"extra-effort", extra(`{"output_config": {"effort": "low"}}`), llm.Request{Parts: prompt, Schema: conformance.ActionSchema}},
		{"extra-format", extra(`{"output_config": {"format": {"type": "x"}}}`), llm.Request{Parts: prompt, Schema: conformance.ActionSchema}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conformance.Request(t, c.name, "/v1/messages", up, &c.req, func(t *testing.T, handler http.HandlerFunc) llm.Model {
				return client(t, c.opts, handler)
			})
		})
	}
}

// Would fail if a kind of answer were read otherwise than its file says.
func TestAnswers(t *testing.T) {
	conformance.Answers(t, 81, func(t *testing.T, handler http.HandlerFunc) llm.Model { return client(t, anthropic.Options{}, handler) })
}

// Would fail if the key were sent otherwise than the server wants it, or a
// user's header or the call's name were not sent.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		opts anthropic.Options
		want map[string]string
	}{
		{anthropic.Options{}, map[string]string{"X-Api-Key": "", "Authorization": "", llm.CallHeader: "", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json", "User-Agent": "spatialstale"}},
		{anthropic.Options{Key: "sk-12345678"}, map[string]string{"X-Api-Key": "sk-12345678", "Authorization": ""}},
		{anthropic.Options{Key: "sk-12345678", Settings: provider.Settings{Header: map[string]string{"anthropic-beta": "context-1m", "anthropic-version": "2099-01-01"}}},
			map[string]string{"X-Api-Key": "sk-12345678", "Anthropic-Beta": "context-1m", "Anthropic-Version": "2099-01-01"}},
		{anthropic.Options{Settings: provider.Settings{NameCalls: true}}, map[string]string{llm.CallHeader: "0123/window0/batch%203"}},
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
	for text, o := range map[string]anthropic.Options{
		"not a JSON object":                        {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`[1]`)}},
		"is not a JSON object":                     {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1} {}`)}},
		`"output_config" in the extra body is not`: {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"output_config":1}`)}},
		`cannot set "stream"`:                      {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"stream":true}`)}},
		`has "a" twice`:                            {URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(`{"a":1,"a":2}`)}},
		`header "X Y" cannot`:                      {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X Y": "z"}}},
		`header "X" cannot`:                        {URL: "http://h/", Settings: provider.Settings{Header: map[string]string{"X": "z\nq"}}},
		"address cannot be read":                   {URL: "h"},
	} {
		if _, err := anthropic.New(o); err == nil || !strings.Contains(err.Error(), text) {
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
	m := clientAt(t, anthropic.Options{URL: server.URL})
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
	m := client(t, anthropic.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		cancel(fmt.Errorf("enough"))
		<-r.Context().Done()
	})
	_, err := m.Generate(ctx, &llm.Request{Slot: "step1"})
	if llm.KindOf(err) != llm.KindCanceled || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}
