package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service is one that answers on the loopback.
type service struct {
	url  string
	log  *lockedBuffer
	stop func() error // finishes what is under way
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Tokens of the accounts that tests have.
const (
	alice = "alice-0123456789abcdef"
	bob   = "bob-0123456789abcdefgh"
)

func account(t *testing.T, name, token string) serve.Account {
	t.Helper()
	sum, err := serve.HashToken(token)
	if err != nil {
		t.Fatal(err)
	}
	return serve.Account{Name: name, Token: sum}
}

// listed is a model as requests may ask it.
func listed(name string, m audit.Model) serve.Model {
	return serve.Model{Name: name, Open: func(*price.Budget) (audit.Model, error) { return m, nil }}
}

func start(t *testing.T, o serve.Options) *service {
	t.Helper()
	s := &service{log: &lockedBuffer{}}
	o.Log = slog.New(slog.NewTextHandler(s.log, nil))
	if o.Models == nil {
		o.Models = []serve.Model{listed("gone", &audittest.Model{Rule: audittest.Gone})}
	}
	if o.Accounts == nil {
		o.Accounts = []serve.Account{account(t, "alice", alice), account(t, "bob", bob)}
		o.Accounts[0].Operator = true
	}
	on, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- on.Serve(context.Background(), l, stop) }()
	s.stop = sync.OnceValue(func() error {
		http.DefaultClient.CloseIdleConnections()
		close(stop)
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// into reads the body.
func (r *reply) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
}

// detail is what a problem says, for people.
func (r *reply) detail() string {
	var p struct{ Detail string }
	if r.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal([]byte(r.body), &p) != nil {
		return "no problem: " + r.body
	}
	return p.Detail
}

// do makes a request; change may alter it.
func (s *service) do(t *testing.T, token, method, path, body string, change func(*http.Request)) *reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &reply{resp.StatusCode, resp.Header, string(b)}
}

func (s *service) audit(t *testing.T, token, body string) *reply {
	t.Helper()
	return s.do(t, token, http.MethodPost, "/v1/audit", body, nil)
}

// farm is a request with one stale entry, one valid and one not covered.
const farm = `{"memories": [{"id": "a", "text": "dog is here"}, {"id": "b", "text": "cow is here"}, {"id": "b", "text": "cat is here"}],
	"observation": {"text": "dog is gone\ncow is here"}}`

// Would fail if the service did not answer what the library does.
func TestAudit(t *testing.T) {
	s := start(t, serve.Options{})
	r := s.audit(t, alice, farm)
	var got serve.AuditAnswer
	r.into(t, &got)
	if r.status != 200 || got.Counts != (serve.Counts{Stale: 1, Valid: 1, NotCovered: 1, Removed: 1}) || got.RequestID == "" || got.RequestID != r.header.Get("X-Request-Id") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if len(got.Kept) != 2 || got.Kept[0] != (serve.Kept{Index: 1, ID: "b#1", Text: "cow is here"}) || got.Kept[1].Index != 2 || got.Verdicts[0].Status != audit.Stale {
		t.Errorf("%s", r.body)
	}
	// Again: everything is known, under another policy as well.
	s.audit(t, alice, strings.Replace(farm, `{"memories"`, `{"policy": "mark", "memories"`, 1)).into(t, &got)
	if got.Usage.Calls != 0 || !got.Verdicts[0].Cached || got.Kept[0].Text != "[may no longer hold] dog is here" {
		t.Errorf("again: %+v", got)
	}
}

// Options must reach the audit, and those beyond what the operator allows must
// be refused.
func TestOptions(t *testing.T) {
	s := start(t, serve.Options{Honour: audit.Honour{Expiry: true}, Models: []serve.Model{
		listed("gone", &audittest.Model{Rule: audittest.Gone}), listed("all", &audittest.Model{Rule: func(string, string) string { return "stale" }}),
	}})
	for _, c := range []struct{ name, options, want string }{
		{"another model", `"model": "all"`, `"stale":3`},
		{"protected", `"model": "all", "protect": ["rule"]`, `"why":"protected"`},
		{"a cap", `"model": "all", "max_removed": 1`, `"escalated":true`},
		{"a share", `"model": "all", "max_removed_share": 0.5`, `"removed":0`},
		{"shadow", `"shadow": true`, `"removed":0`},
		{"correct", `"policy": "correct"`, `"proposed":"now: dog is here"`},
		{"unknown", `"policy": "unknown"`, `"action":"unknown"`},
		{"closed, with a cap on what is asked", `"context": "a farm", "closed": true, "max_asked": 1`, `"why":"over the cap"`},
		{"a claim that is honoured", `"honour": {"expiry": true}`, `"tier":"record"`},
		{"a claim that is not", `"honour": {"protected": true}`, `does not let requests honour protected`},
		{"rules alone", `"model": "none", "context": "x"`, `"why":"not asked"`},
		{"an unknown model", `"model": "openai/gpt-4o"`, `no model is called \"openai/gpt-4o\" here`},
		{"an unknown policy", `"policy": "burn"`, `body.policy`},
		{"an address", `"base_url": "http://10.0.0.1/"`, `unexpected property`},
		{"a share beyond all", `"max_removed_share": 1.5`, `body.max_removed_share`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{"memories": [{"text": "dog is here", "kind": "rule"}, {"text": "cow is here"}, {"text": "cat is here", "claims": {"expires": "2001-01-01T00:00:00Z", "protected": true}}],
				"observation": {"text": "dog is gone", "facts": {"x": "1"}}, ` + c.options + `}`
			if r := s.audit(t, alice, body); !strings.Contains(r.body, c.want) || r.status >= 500 {
				t.Errorf("%d %s; want %s", r.status, r.body, c.want)
			}
		})
	}
}

// A foreign page, a foreign name and whoever has no token must be turned away,
// and told why.
func TestDoors(t *testing.T) {
	s := start(t, serve.Options{Hosts: []string{"audit.example.org"}, Origins: []string{"https://app.example.org"}})
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, path := range []string{"/v1/audit", "/v1/models", "/v1/account", "/metrics", "/openapi.json", "/mcp", "/", "/nothing"} {
		method := http.MethodGet
		if path == "/v1/audit" || path == "/mcp" {
			method = http.MethodPost
		}
		for name, c := range map[string]struct {
			change func(*http.Request)
			status int
		}{
			"no token":                {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
			"a wrong token":           {header("Authorization", "Bearer "+alice+"x"), 401},
			"a token of another kind": {header("Authorization", "Basic "+alice), 401},
			"an empty token":          {header("Authorization", "Bearer "), 401},
			"a foreign host":          {host("evil.example"), 403},
			"a foreign host, a port":  {host("evil.example:80"), 403},
			"a host that looks ours":  {host("localhost.evil.example"), 403},
			"a foreign origin":        {header("Origin", "https://evil.example"), 403},
			"an origin of no place":   {header("Origin", "null"), 403},
			"another port's origin":   {header("Origin", "http://127.0.0.1:1"), 403},
			"a foreign origin asks":   {func(r *http.Request) { r.Method = "OPTIONS"; r.Header.Set("Origin", "https://evil.example") }, 403},
		} {
			r := s.do(t, alice, method, path, farm, c.change)
			if r.status != c.status || strings.HasPrefix(r.detail(), "no problem") || r.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %s: %d %s", path, name, r.status, r.body)
			}
		}
	}
	for name, change := range map[string]func(*http.Request){
		"a listed host": host("Audit.Example.org:443"), "localhost": host("localhost:1"), "IPv6": host("[::1]:1"), "a listed origin": header("Origin", "https://app.example.org"), "its own origin": header("Origin", s.url),
	} {
		if r := s.do(t, alice, http.MethodGet, "/v1/models", "", change); r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	asks := s.do(t, "", http.MethodOptions, "/v1/audit", "", header("Origin", "https://app.example.org"))
	if asks.status != 204 || asks.header.Get("Access-Control-Allow-Origin") != "https://app.example.org" {
		t.Errorf("a browser that asks for a listed page: %d %v", asks.status, asks.header)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if r := s.do(t, "", http.MethodGet, path, "", host("10.1.2.3")); r.status != 200 || r.body != "ok\n" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// A service that is told to stop must answer what it has begun.
func TestStop(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone, Delay: 300 * time.Millisecond}
	s := start(t, serve.Options{Models: []serve.Model{listed("slow", m)}, Limits: serve.Limits{Audits: 1}})
	answered := make(chan *reply)
	go func() { answered <- s.audit(t, alice, farm) }()
	for m.Calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	waits := make(chan *reply)
	go func() { waits <- s.audit(t, bob, farm) }()
	for !strings.Contains(s.do(t, alice, http.MethodGet, "/metrics", "", nil).body, "spatialstale_audits_waiting 1\n") {
		time.Sleep(time.Millisecond)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if r := <-answered; r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := <-waits; r.status != 503 || r.header.Get("Retry-After") == "" || r.detail() != "the service is stopping" {
		t.Errorf("one that waited: %d %s", r.status, r.body)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

// What is said of an audit must hold neither memories nor what was seen.
func TestLogs(t *testing.T) {
	s := start(t, serve.Options{})
	s.audit(t, alice, farm)
	s.audit(t, alice, `{"memories": [{"text": "dog is here", "id": "dog\u0007"}], "observation": {"text": "dog is gone"}}`)
	metrics := s.do(t, alice, http.MethodGet, "/metrics", "", nil).body
	for _, word := range []string{"dog", "cow", alice} {
		if text := s.log.String() + metrics; strings.Contains(text, word) {
			t.Errorf("%q is in\n%s", word, text)
		}
	}
	for _, want := range []string{`spatialstale_verdicts_total{token="alice",status="stale",tier="model",cached="false"} 1`, `spatialstale_audit_seconds_count{token="alice"} 2`, `spatialstale_requests_total{token="alice",for="POST /v1/audit",status="422"} 1`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	if others := s.do(t, bob, http.MethodGet, "/metrics", "", nil).body; strings.Contains(others, "alice") {
		t.Errorf("bob sees\n%s", others)
	}
}

// The description must be one that a client can be made from: every reference
// must lead somewhere.
func TestOpenAPI(t *testing.T) {
	s := start(t, serve.Options{Version: "1.2.3"})
	var doc map[string]any
	r := s.do(t, alice, http.MethodGet, "/openapi.json", "", nil)
	r.into(t, &doc)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				at := any(doc)
				for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					at = at.(map[string]any)[part]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, each := range v {
				walk(each)
			}
		case []any:
			for _, each := range v {
				walk(each)
			}
		}
	}
	walk(doc)
	if doc["openapi"] != "3.1.0" || fmt.Sprint(doc["info"].(map[string]any)["version"]) != "1.2.3" || doc["paths"].(map[string]any)["/v1/audit"] == nil {
		t.Errorf("%s", r.body)
	}
	if docs := s.do(t, alice, http.MethodGet, "/docs", "", nil); docs.status != 404 {
		t.Errorf("a page of documentation: %d", docs.status)
	}
}
