package chat_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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

func ptr[T any](v T) *T { return &v }

var actionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{
  "type": "object", "properties": {"action": {"type": "string"}}, "required": ["action"], "additionalProperties": false}`)}

// picture is a PNG of four pixels, as bytes that no encoder's release changes.
func picture(t testing.TB) llm.Part {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACAQMAAABIeJ9nAAAABlBMVEUAAAD///+l2Z/dAAAAFElEQVR4AQAEAPv/AAAAAAEAAP//AAQAAbW4Y+IAAAAASUVORK5CYII=")
	if err != nil {
		t.Fatal(err)
	}
	part, err := llm.PNG(data)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// Golden requests: would fail if what goes over the wire changed unseen.
func TestRequests(t *testing.T) {
	prompt := []llm.Part{llm.Text("Legend: S <start> & F.\n"), llm.Text("Row 0: (0,0)=S “…”\n"), llm.Text("Which way?")}
	withPicture := []llm.Part{llm.Text("Legend.\n"), picture(t), llm.Text("Agent at (0,0).\n"), llm.Text("Which way?")}
	all := llm.Params{Temperature: ptr(0.), TopP: ptr(0.9), MaxTokens: ptr(512)}
	for _, c := range []struct {
		name string
		opts chat.Options
		req  llm.Request
	}{
		{"text", chat.Options{}, llm.Request{Parts: prompt}},
		{"picture", chat.Options{}, llm.Request{Parts: withPicture}},
		{"pictures-side-by-side", chat.Options{}, llm.Request{Parts: []llm.Part{picture(t), picture(t)}}},
		{"detail", chat.Options{Settings: provider.Settings{Detail: "high"}}, llm.Request{Parts: withPicture}},
		{"everything", chat.Options{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: all}},
		{"logprobs", chat.Options{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: llm.Params{Logprobs: true}}},
		{"logprobs-more", chat.Options{TopLogprobs: 20}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
		{"completion-cap", chat.Options{CompletionCap: true}, llm.Request{Parts: prompt, Params: all}},
		{"no-schema", chat.Options{Settings: provider.Settings{NoSchema: true}}, llm.Request{Parts: prompt, Schema: actionSchema}},
		{"extra-body", chat.Options{Settings: provider.Settings{
			ExtraBody: json.RawMessage(`{"enable_thinking": false, "temperature": 0.25, "provider": {"order": ["x"]}}`),
		}}, llm.Request{Parts: prompt, Params: all}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []byte
			m := client(t, c.opts, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
					t.Errorf("%s %s", r.Method, r.URL.Path)
				}
				got, _ = io.ReadAll(r.Body)
				fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
			})
			if _, err := m.Generate(t.Context(), &c.req); err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, got, "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "requests", c.name+".json"), pretty.String()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Would fail if a kind of answer that some server gives were read otherwise
// than its file says. A further case is a further file.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "answers", "*.txtar"))
	if err != nil || len(files) < 80 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil || len(ar.Files) != 3 {
				t.Fatal(err)
			}
			m := client(t, chat.Options{}, func(w http.ResponseWriter, _ *http.Request) { play(t, w, ar) })
			reply, err := m.Generate(t.Context(), &llm.Request{Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{MaxTokens: ptr(100)}})
			got := show(t, reply, err)
			if *update {
				ar.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(ar.Files[2].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// play sends the answer of a case.
func play(t *testing.T, w http.ResponseWriter, ar *txtar.Archive) {
	head, lines, _ := strings.Cut(string(ar.Files[0].Data), "\n")
	status, kind, _ := strings.Cut(head, " ")
	n, err := strconv.Atoi(status)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", kind)
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Set(name, value)
	}
	w.WriteHeader(n)
	_, _ = w.Write(ar.Files[1].Data)
}

// show writes what came of a call.
func show(t *testing.T, reply *llm.Reply, err error) string {
	t.Helper()
	if (reply == nil) == (err == nil) {
		t.Fatalf("%v with %v", reply, err)
	}
	if err != nil {
		e, ok := err.(*llm.Error)
		if !ok {
			t.Fatalf("%T", err)
		}
		text := err.Error() + "\n"
		if e.RetryAfter != 0 {
			text += fmt.Sprintf("retry after %v\n", e.RetryAfter)
		}
		return text
	}
	text, jsonErr := json.MarshalIndent(reply, "", "  ")
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(text) + "\n"
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
			fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
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
		fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
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
