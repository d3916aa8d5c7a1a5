// Package conformance holds what a client of any wire protocol must do, as
// tests over all of them: golden requests and answers, every fault of llmtest's
// server, retries, and what a key must never do. What is one protocol's alone is
// tested in its own package.
package conformance

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client is a model that keeps connections.
type client interface {
	llm.Model
	CloseIdleConnections()
}

// A protocol is what the tests need to know of one.
type protocol struct {
	name string // of its package
	open func(o provider.Options) (client, error)
	at   string // the path under which the rehearsal server and most others are asked
	sent string // the path that a request goes to
	up   string // an answer, "UP"

	key     func(key string) (header, value string)
	refusal string // an error on a request's form, with %s for the words
	hears   map[llmtest.Fault]heard
	echoes  map[string]echo // failures of its own in which a server repeats what it was sent
	nested  string          // an object in the body; empty for none
}

// heard is what a caller must hear of a fault.
type heard struct {
	kind  llm.Kind // "" for a reply
	words string   // in the error, or the finish of the reply
	after time.Duration
}

// wait is the time that llmtest's server asks to wait here.
const wait = 3 * time.Second

func bearer(key string) (string, string) { return "Authorization", "Bearer " + key }

const openAIError = `{"error":{"message":%q,"type":"invalid_request_error","code":""}}`

var protocols = []protocol{
	{
		name: "chat", at: "/v1/chat/completions", sent: "/v1/chat/completions", key: bearer, refusal: openAIError,
		open: func(o provider.Options) (client, error) {
			return chat.New(chat.Options{Name: o.Name, Model: o.Model, URL: o.URL, Key: o.Key, Settings: o.Settings})
		},
		up: `{"choices":[{"message":{"content":"UP"}}]}`,
		hears: map[llmtest.Fault]heard{
			llmtest.Filter:        {words: "content_filter"},
			llmtest.RateLimit:     {llm.KindRateLimit, "HTTP 429: Rate limit reached", wait},
			llmtest.RateLimitDate: {llm.KindRateLimit, "HTTP 429: Rate limit reached", wait},
			llmtest.RateLimitMS:   {llm.KindRateLimit, "HTTP 429: Rate limit reached", wait},
			llmtest.Overloaded:    {llm.KindServer, "HTTP 529: Overloaded", wait},
			llmtest.Failure:       {llm.KindServer, "HTTP 500: The server had an error", 0},
			llmtest.Quota:         {llm.KindQuota, "check your plan and billing", 0},
			llmtest.BadKey:        {llm.KindAuth, "Incorrect API key", 0},
			llmtest.NoModel:       {llm.KindUnknownModel, "does not exist", 0},
			llmtest.TooLong:       {llm.KindBadRequest, "maximum context length", 0},
			llmtest.ErrorObject:   {llm.KindServer, "The provider behind this one returned an error. (502)", 0},
			llmtest.NoChoices:     {llm.KindMalformed, "without choices", 0},
			llmtest.NullContent:   {llm.KindMalformed, "without content", 0},
		},
		echoes: map[string]echo{
			"refused parameter": func(said string) (int, any) {
				return http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "response_format is not supported: " + said, "param": "response_format"}}
			},
			"failure as an answer": func(said string) (int, any) {
				return http.StatusOK, map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": ""}, "finish_reason": "error", "error": said}}}
			},
		},
	},
	{
		name: "anthropic", at: "/v1/messages", sent: "/v1/messages", nested: "output_config",
		open: func(o provider.Options) (client, error) { return anthropic.New(o) },
		key:  func(key string) (string, string) { return "X-Api-Key", key },
		up:   `{"type":"message","content":[{"type":"text","text":"UP"}],"stop_reason":"end_turn"}`, refusal: `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`,
		hears: map[llmtest.Fault]heard{
			llmtest.Filter:        {words: "refusal"},
			llmtest.RateLimit:     {llm.KindRateLimit, "HTTP 429: This request would exceed your organization's rate limit", wait},
			llmtest.RateLimitDate: {llm.KindRateLimit, "HTTP 429: This request would exceed your organization's rate limit", wait},
			llmtest.RateLimitMS:   {llm.KindRateLimit, "HTTP 429: This request would exceed your organization's rate limit", wait},
			llmtest.Overloaded:    {llm.KindServer, "HTTP 529: Overloaded", wait},
			llmtest.Failure:       {llm.KindServer, "HTTP 500: Internal server error", 0},
			llmtest.Quota:         {llm.KindQuota, "credit balance is too low", 0},
			llmtest.BadKey:        {llm.KindAuth, "HTTP 401: invalid x-api-key", 0},
			llmtest.NoModel:       {llm.KindUnknownModel, "HTTP 404: model: no-such-model", 0},
			llmtest.TooLong:       {llm.KindBadRequest, "prompt is too long", 0},
			llmtest.ErrorObject:   {llm.KindServer, "The provider behind this one returned an error.", 0},
			llmtest.NoChoices:     {llm.KindMalformed, "without content", 0},
			llmtest.NullContent:   {llm.KindMalformed, "without content", 0},
		},
		echoes: map[string]echo{
			"refused parameter": func(said string) (int, any) {
				return http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "output_config.format is not supported: " + said}}
			},
			"failure as an answer": func(said string) (int, any) {
				return http.StatusOK, map[string]any{"type": "message", "content": nil, "stop_reason": said, "error": said}
			},
		},
	},
	{
		name: "gemini", at: "", sent: "/v1beta/models/gemini-2.5-flash:generateContent", nested: "generationConfig",
		open: func(o provider.Options) (client, error) { return gemini.New(o) },
		key:  func(key string) (string, string) { return "X-Goog-Api-Key", key },
		up:   `{"candidates":[{"content":{"parts":[{"text":"UP"}],"role":"model"},"finishReason":"STOP","index":0}]}`, refusal: `{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`,
		hears: map[llmtest.Fault]heard{
			llmtest.Filter:        {words: "content_filter"},
			llmtest.RateLimit:     {llm.KindRateLimit, "HTTP 429: GenerateRequestsPerMinute", wait},
			llmtest.RateLimitDate: {llm.KindRateLimit, "HTTP 429: Resource has been exhausted", wait},
			llmtest.RateLimitMS:   {llm.KindRateLimit, "HTTP 429: Resource has been exhausted", wait},
			llmtest.Overloaded:    {llm.KindServer, "HTTP 503: The model is overloaded", wait},
			llmtest.Failure:       {llm.KindServer, "HTTP 500: An internal error", 0},
			llmtest.Quota:         {llm.KindQuota, "GenerateRequestsPerDay", 0},
			llmtest.BadKey:        {llm.KindAuth, "HTTP 400: API key not valid", 0},
			llmtest.NoModel:       {llm.KindUnknownModel, "HTTP 404: models/no-such-model is not found", 0},
			llmtest.TooLong:       {llm.KindBadRequest, "exceeds the maximum number of tokens", 0},
			llmtest.ErrorObject:   {llm.KindServer, "The provider behind this one returned an error.", 0},
			llmtest.NoChoices:     {llm.KindMalformed, "without candidates", 0},
			llmtest.NullContent:   {llm.KindMalformed, "without content", 0},
		},
		echoes: map[string]echo{
			"refused parameter": func(said string) (int, any) {
				return http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 400, "status": "INVALID_ARGUMENT", "message": "Invalid value at generation_config.response_json_schema: " + said}}
			},
			"failure as an answer": func(said string) (int, any) {
				return http.StatusOK, map[string]any{"candidates": []any{}, "modelVersion": said}
			},
		},
	},
	{
		name: "ollama", at: "/api/chat", sent: "/api/chat", key: bearer, refusal: `{"error":%q}`, nested: "options",
		open: func(o provider.Options) (client, error) { return ollama.New(o) },
		up:   `{"model":"m","message":{"role":"assistant","content":"UP"},"done":true,"done_reason":"stop","prompt_eval_count":500,"eval_count":2}`,
		hears: map[llmtest.Fault]heard{
			llmtest.Filter:        {words: "content_filter"},
			llmtest.RateLimit:     {llm.KindRateLimit, "HTTP 429: too many concurrent requests", wait},
			llmtest.RateLimitDate: {llm.KindRateLimit, "HTTP 429: too many concurrent requests", wait},
			llmtest.RateLimitMS:   {llm.KindRateLimit, "HTTP 429: too many concurrent requests", wait},
			llmtest.Overloaded:    {llm.KindRateLimit, "HTTP 503: server busy", wait},
			llmtest.Failure:       {llm.KindServer, "HTTP 500: llama runner process has terminated", 0},
			llmtest.Quota:         {llm.KindQuota, "weekly usage limit", 0},
			llmtest.BadKey:        {llm.KindAuth, "HTTP 401: unauthorized", 0},
			llmtest.NoModel:       {llm.KindUnknownModel, "HTTP 404: model \"no-such-model\" not found, try pulling it first", 0},
			llmtest.TooLong:       {llm.KindBadRequest, "exceeds the context length", 0},
			llmtest.ErrorObject:   {llm.KindServer, "an error was encountered while running the model", 0},
			llmtest.NoChoices:     {llm.KindMalformed, "without content", 0},
			llmtest.NullContent:   {llm.KindMalformed, "without content", 0},
		},
		echoes: map[string]echo{
			"refused parameter": func(said string) (int, any) {
				return http.StatusBadRequest, map[string]any{"error": "invalid format: " + said}
			},
			"failure as an answer": func(said string) (int, any) {
				return http.StatusOK, map[string]any{"model": said, "error": said, "done": true}
			},
		},
	},
}

// each runs a test for each protocol.
func each(t *testing.T, test func(t *testing.T, p *protocol)) {
	for i := range protocols {
		t.Run(protocols[i].name, func(t *testing.T) { test(t, &protocols[i]) })
	}
}

// names are what clients of the golden files are called.
var names = map[string]provider.Options{
	"chat": {Name: "openai-api/test/m", Model: "m"}, "anthropic": {Name: "anthropic/m", Model: "m"},
	"gemini": {Name: "google/gemini-2.5-flash", Model: "gemini-2.5-flash"}, "ollama": {Name: "ollama/qwen3-vl:8b", Model: "qwen3-vl:8b"},
}

// client returns a client for a server at a base URL, which ends with the test.
func (p *protocol) client(t testing.TB, base, key string, s provider.Settings) client {
	t.Helper()
	o := names[p.name]
	o.URL, o.Key, o.Settings = base+p.at, key, s
	c, err := p.open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// serve returns a client for a server whose answers a handler gives; both end
// with the test.
func (p *protocol) serve(t testing.TB, key string, s provider.Settings, handler http.HandlerFunc) client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return p.client(t, server.URL, key, s)
}

// listen returns a rehearsal server and a client for it.
func (p *protocol) listen(t *testing.T, o llmtest.Options, s provider.Settings) (*llmtest.Server, client) {
	t.Helper()
	server, err := llmtest.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, p.client(t, strings.TrimSuffix(server.URL, "/v1"), "", s)
}

// refuse answers a request with words on its form.
func (p *protocol) refuse(w http.ResponseWriter, status int, words string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, p.refusal, words)
}

// step is a prompt that a control can answer.
func step() *llm.Request {
	return &llm.Request{Trial: "0123", Slot: "step1", Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\n"),
		llm.Text("Agent at (0,0). Goal at (3,3).\nWhich way?"),
	}}
}

// actionSchema is a schema as a step asks for one.
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

func ptr[T any](v T) *T { return &v }
