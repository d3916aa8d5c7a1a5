package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/serve"
)

// A message is one of JSON-RPC, as a client of our own reads it.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
}

// A tool is one as it is listed.
type tool struct {
	Name         string
	InputSchema  map[string]any
	OutputSchema map[string]any
	Annotations  map[string]any
}

// A toolResult is what came of a call.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`
)

func callTool(id, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"` + name + `","_meta":{"progressToken":"p-` + id + `"},"arguments":` + strings.ReplaceAll(arguments, "\n", " ") + `}}`
}

// A talk is a session over a pair of streams.
type talk struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Scanner
	ended chan error
	stop  chan struct{}
}

func speak(t *testing.T, o serve.Options) *talk {
	t.Helper()
	if o.Models == nil {
		o.Models = []serve.Model{listed("gone", &audittest.Model{Rule: audittest.Gone})}
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	fromUs, in := io.Pipe()
	out, toUs := io.Pipe()
	k := &talk{t: t, in: in, out: bufio.NewScanner(out), ended: make(chan error, 1), stop: make(chan struct{})}
	k.out.Buffer(nil, 64<<20)
	go func() {
		err := s.ServeStdio(t.Context(), fromUs, toUs, serve.Account{Name: "stdio"}, k.stop)
		toUs.Close()
		fromUs.Close()
		k.ended <- err
	}()
	k.say(initialize)
	if got := k.hear("init"); got.Error != nil {
		t.Fatal(got.Error)
	}
	k.say(initialized)
	return k
}

func (k *talk) say(line string) {
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Error(err)
	}
}

// hear returns the answer to a request, and fails on what is no message.
func (k *talk) hear(id any) (m message) {
	k.t.Helper()
	for k.out.Scan() {
		m = message{}
		if err := json.Unmarshal(k.out.Bytes(), &m); err != nil {
			k.t.Fatalf("%s: %v", k.out.Bytes(), err)
		}
		if m.Method == "" && m.ID == id {
			return m
		}
	}
	k.t.Fatalf("no answer to %v: %v", id, k.out.Err())
	return m
}

func (k *talk) end() {
	k.t.Helper()
	k.in.Close()
	for k.out.Scan() {
	}
	if err := <-k.ended; err != nil {
		k.t.Error(err)
	}
}

func resultOf(t *testing.T, m message) (r toolResult) {
	t.Helper()
	if m.Error != nil {
		t.Fatal(m.Error)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// What a client needs to know of the tools must be said, and the answer must be
// there for machines and, the same, for readers of text.
func TestMCP(t *testing.T) {
	k := speak(t, serve.Options{})
	defer k.end()
	k.say(listTools)
	var list struct{ Tools []tool }
	if err := json.Unmarshal(k.hear("list").Result, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.InputSchema["type"] != "object" || tool.OutputSchema["type"] != "object" || tool.Annotations["readOnlyHint"] != true {
			t.Errorf("%+v", tool)
		}
	}
	if want := []string{"audit_memory", "get_spending", "list_models"}; !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
	k.say(callTool("1", "audit_memory", farm))
	r := resultOf(t, k.hear("1"))
	var got serve.AuditAnswer
	if err := json.Unmarshal(r.StructuredContent, &got); err != nil || got.Counts.Stale != 1 || len(got.Kept) != 2 || r.IsError {
		t.Fatalf("%s, %v", r.StructuredContent, err)
	}
	if text := r.Content[0]; text.Type != "text" || text.Text != string(r.StructuredContent) {
		t.Errorf("as text: %+v", text)
	}
	for name, c := range map[string]struct{ tool, arguments, want string }{
		"models":              {"list_models", `{}`, `"name":"gone"`},
		"spending":            {"get_spending", `{}`, `"spent_usd":0`},
		"nothing is seen":     {"audit_memory", `{"memories": [], "observation": {}}`, "the observation is empty"},
		"an unknown model":    {"audit_memory", `{"model": "x", "memories": [], "observation": {"text": "x"}}`, "no model is called"},
		"a wrong type":        {"audit_memory", `{"memories": [{"id": 1}], "observation": {"text": "x"}}`, `has type "integer", want "string"`},
		"an unknown property": {"audit_memory", `{"memories": [], "observation": {"text": "x"}, "url": "x"}`, "url"},
	} {
		k.say(callTool(name, c.tool, c.arguments))
		if r := resultOf(t, k.hear(name)); !strings.Contains(r.Content[0].Text, c.want) || r.IsError != (c.tool == "audit_memory") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A client that sends what cannot be read must be told, and be able to go on.
func TestStdioHostile(t *testing.T) {
	k := speak(t, serve.Options{Limits: serve.Limits{Body: 1 << 20}})
	defer k.end()
	for name, line := range map[string]string{
		"no JSON":              "hello",
		"a message cut":        `{"jsonrpc":"2.0","id":1,`,
		"two on a line":        listTools + listTools,
		"a number":             "3",
		"an empty batch":       "[]",
		"a batch":              "[" + listTools + "]",
		"a nesting of 10,000":  strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"invalid UTF-8":        callTool("x", "audit_memory", `{"memories": [{"text": "`+"\xff\xfe"+`"}], "observation": {"text": "x"}}`),
		"ten megabytes":        callTool("x", "audit_memory", `{"memories": [{"text": "`+strings.Repeat("x", 10<<20)+`"}], "observation": {"text": "x"}}`),
		"another version":      `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"characters of NUL":    "\x00\x00",
		"a byte order mark":    "\ufeff" + listTools,
		"an unescaped control": "{\"jsonrpc\":\"2.0\",\"id\":\"\x01\",\"method\":\"ping\"}",
	} {
		k.say(line)
		if got := k.hear(nil); got.Error == nil || got.Error.Code != -32700 && got.Error.Code != -32600 || !strings.HasPrefix(got.Error.Message, "the message ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	k.say("")
	k.say(`{"jsonrpc":"2.0","id":77,"result":{}}`) // an answer that nobody waits for
	k.say(callTool("after", "audit_memory", farm))
	if r := resultOf(t, k.hear("after")); r.IsError {
		t.Errorf("afterwards: %+v", r)
	}
}

// What was asked before the stream ended, or before the service was told to
// stop, must be answered.
func TestStdioEnds(t *testing.T) {
	for name, end := range map[string]func(*talk){
		"the stream ends": func(k *talk) { k.in.Close() },
		"told to stop":    func(k *talk) { close(k.stop) },
	} {
		m := &audittest.Model{Rule: audittest.Gone, Delay: 200 * time.Millisecond}
		k := speak(t, serve.Options{Models: []serve.Model{listed("slow", m)}})
		k.say(callTool("1", "audit_memory", farm))
		for m.Calls() == 0 {
			time.Sleep(time.Millisecond)
		}
		end(k)
		if r := resultOf(t, k.hear("1")); r.IsError {
			t.Errorf("%s: %+v", name, r)
		}
		k.end()
	}
}

// A hanging is a model that answers nothing until it is given up.
type hanging struct{ asked, gone chan struct{} }

func newHanging() *hanging { return &hanging{make(chan struct{}, 100), make(chan struct{}, 100)} }

func (h *hanging) Generate(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	h.gone <- struct{}{}
	return nil, &llm.Error{Kind: llm.KindCanceled, Model: "hanging", Err: ctx.Err()}
}

// givenUp fails when the model's call goes on.
func (h *hanging) givenUp(t *testing.T) {
	t.Helper()
	select {
	case <-h.gone:
	case <-time.After(10 * time.Second):
		t.Error("the model's call goes on")
	}
}

// Would fail if a cancelled call went on, and on.
func TestStdioCancel(t *testing.T) {
	m := newHanging()
	k := speak(t, serve.Options{Models: []serve.Model{listed("hanging", m)}})
	k.say(callTool("1", "audit_memory", farm))
	<-m.asked
	k.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1","reason":"enough"}}`)
	m.givenUp(t)
	k.end()
}

// post speaks to the service by HTTP, and returns what came, message by message.
func (s *service) post(t *testing.T, ctx context.Context, body string, header http.Header) (status int, came []message, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + alice}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, nil, err
	}
	for line := range bytes.Lines(b) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var m message
		if ok || resp.Header.Get("Content-Type") == "application/json" {
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			came = append(came, m)
		}
	}
	return resp.StatusCode, came, nil
}

// A client of the protocol as it was, and one as it is now, must be answered the
// same, told how far it is, and need no session.
func TestMCPOverHTTP(t *testing.T) {
	s := start(t, serve.Options{})
	if status, came, err := s.post(t, t.Context(), initialize, nil); status != 200 || len(came) != 1 || came[0].Error != nil || err != nil {
		t.Fatalf("%d %+v %v", status, came, err)
	}
	var entries []string
	for i := range 25 {
		entries = append(entries, `{"text": "dog`+strings.Repeat("x", i)+` is here"}`)
	}
	status, came, err := s.post(t, t.Context(), callTool("1", "audit_memory", `{"memories": [`+strings.Join(entries, ",")+`], "observation": {"text": "dogx is gone"}}`), http.Header{"Mcp-Protocol-Version": {"2025-06-18"}})
	if status != 200 || len(came) != 4 || err != nil {
		t.Fatalf("%d %+v %v", status, came, err)
	}
	for i, want := range []bool{true, true, true, false} {
		if (came[i].Method == "notifications/progress" && strings.Contains(string(came[i].Params), `"p-1"`)) != want {
			t.Errorf("message %d: %+v", i, came[i])
		}
	}
	var got serve.AuditAnswer
	if err := json.Unmarshal(resultOf(t, came[3]).StructuredContent, &got); err != nil || got.Counts.Stale != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	// The same by the other door: the answer is remembered.
	var again serve.AuditAnswer
	s.audit(t, alice, `{"memories": [`+strings.Join(entries, ",")+`], "observation": {"text": "dogx is gone"}}`).into(t, &again)
	if again.Usage.Calls != 0 || !reflect.DeepEqual(again.Counts, got.Counts) {
		t.Errorf("by HTTP: %+v", again)
	}
	const now = `"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"}, "io.modelcontextprotocol/clientCapabilities": {}}`
	status, came, err = s.post(t, t.Context(), `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {`+now+`, "name": "audit_memory", "arguments": `+farm+`}}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"audit_memory"}})
	if status != 200 || len(came) != 1 || err != nil || !strings.Contains(string(resultOf(t, came[0]).StructuredContent), `"stale":1`) {
		t.Errorf("the protocol as it is now: %d %+v %v", status, came, err)
	}
	for name, body := range map[string]string{"no JSON": "{", "a batch": "[" + callTool("1", "list_models", "{}") + "]"} {
		if status, _, _ := s.post(t, t.Context(), body, nil); status != 400 {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if r := s.do(t, alice, method, "/mcp", "", nil); r.status != 405 {
			t.Errorf("%s: %d", method, r.status)
		}
	}
}

// A client that goes away must not be paid for any longer, whatever the door.
func TestGone(t *testing.T) {
	m := newHanging()
	s := start(t, serve.Options{Models: []serve.Model{listed("hanging", m)}})
	for name, ask := range map[string]func(context.Context){
		"HTTP": func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/audit", strings.NewReader(farm))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+alice)
			req.Header.Set("Content-Type", "application/json")
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
				t.Error("it was answered")
			}
		},
		"MCP": func(ctx context.Context) {
			if _, _, err := s.post(t, ctx, callTool("1", "audit_memory", farm), http.Header{"Mcp-Protocol-Version": {"2025-06-18"}}); err == nil {
				t.Error("it was answered")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { ask(ctx); close(done) }()
			<-m.asked
			cancel()
			<-done
			m.givenUp(t)
		})
	}
}

var _ audit.Model = (*hanging)(nil)
