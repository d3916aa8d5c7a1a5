package ollama_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o ollama.Options, handler http.HandlerFunc) *ollama.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/api/chat"
	return clientAt(t, o)
}

func clientAt(t testing.TB, o ollama.Options) *ollama.Client {
	t.Helper()
	if o.Name == "" {
		o.Name = "ollama/qwen3-vl:8b"
	}
	if o.Model == "" {
		o.Model = "qwen3-vl:8b"
	}
	c, err := ollama.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

const up = `{"model":"qwen3-vl:8b","message":{"role":"assistant","content":"UP"},"done":true,"done_reason":"stop","prompt_eval_count":50,"eval_count":2}`

func TestNewRefuses(t *testing.T) {
	for text, extra := range map[string]string{
		"num_ctx in the extra body is not":    `{"options":{"num_ctx":"big"}}`,
		"num_ctx in the extra body is not a ": `{"options":{"num_ctx":-1}}`,
	} {
		_, err := ollama.New(ollama.Options{URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(extra)}})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want an error with %q", err, text)
		}
	}
}

// Would fail if a refusal in the server's words were not understood, or if a
// parameter were given up for another reason.
func TestRefusedParameters(t *testing.T) {
	for _, c := range []struct {
		name, message string
		status        int
		want          string // the parameter that goes; "" when the call fails
	}{
		{"no thinking", `\"gemma3:270m\" does not support thinking`, 400, "think"},
		{"no such thinking", `think value \"false\" is not supported for this model`, 400, "think"},
		{"schema of an old server", "json: cannot unmarshal object into Go struct field ChatRequest.format of type string", 400, "format"},
		{"schema that is none", `invalid format: expected \"json\" or a JSON schema`, 400, "format"},
		{"grammar", "failed to load model vocabulary required for format", 500, "format"},
		{"strict server", "unknown field 'truncate'", 400, "truncate"},
		{"temperature", "temperature is not supported by this model", 400, "temperature"},

		{"out of range", "temperature must be between 0 and 2", 400, ""},
		{"picture format", "unsupported image format", 400, ""},
		{"too long", "the input length exceeds the context length", 400, ""},
		{"crash", "llama runner process has terminated: exit status 2", 500, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bodies []map[string]json.RawMessage
			m := client(t, ollama.Options{}, func(w http.ResponseWriter, r *http.Request) {
				var body, options map[string]json.RawMessage
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				if err := json.Unmarshal(body["options"], &options); err != nil {
					t.Error(err)
				}
				for name, value := range options {
					body[name] = value
				}
				bodies = append(bodies, body)
				if _, sent := body[c.want]; sent || c.want == "" {
					w.WriteHeader(c.status)
					fmt.Fprintf(w, `{"error":"%s"}`, c.message)
					return
				}
				fmt.Fprint(w, up)
			})
			req := &llm.Request{
				Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Schema: actionSchema,
				Params: llm.Params{Temperature: new(0.5), TopP: new(0.9), MaxTokens: new(64), Thinking: new(0)},
			}
			_, err := m.Generate(t.Context(), req)
			if c.want == "" {
				if len(bodies) != 1 || err == nil {
					t.Fatalf("%d requests, %v", len(bodies), err)
				}
				return
			}
			if err != nil || len(bodies) != 2 {
				t.Fatalf("%d requests, %v", len(bodies), err)
			}
			if _, err := m.Generate(t.Context(), req); err != nil || len(bodies) != 3 {
				t.Errorf("asked again: %d requests, %v", len(bodies), err)
			}
			for _, param := range []string{"temperature", "top_p", "num_predict", "format", "think", "truncate", "shift", "num_ctx"} {
				if _, sent := bodies[2][param]; sent == (param == c.want) {
					t.Errorf("%s sent: %v", param, sent)
				}
			}
			d, _ := llm.Describe(m)
			if len(d.Changes) != 1 || d.Changes[0].Param != c.want || d.Changes[0].Words == "" {
				t.Errorf("described as %+v", d.Changes)
			}
		})
	}
}

// actionSchema is a schema as a step asks for one.
var actionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{"type": "object", "properties": {"action": {"type": "string"}}}`)}
