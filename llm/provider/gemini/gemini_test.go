package gemini_test

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
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o gemini.Options, handler http.HandlerFunc) *provider.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL
	return clientAt(t, o)
}

func clientAt(t testing.TB, o gemini.Options) *provider.Model {
	t.Helper()
	if o.Name == "" {
		o.Name = "google/gemini-2.5-flash"
	}
	if o.Model == "" {
		o.Model = "gemini-2.5-flash"
	}
	c, err := gemini.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

const up = `{"candidates":[{"content":{"parts":[{"text":"UP"}],"role":"model"},"finishReason":"STOP","index":0}]}`

// Would fail if a name, a base URL or a key led elsewhere.
func TestProvider(t *testing.T) {
	var r provider.Registry
	r.Add(gemini.Providers()...)
	open := func(name string, env map[string]string) (llm.Model, error) {
		return r.Open(name, provider.Env{Getenv: func(v string) string { return env[v] }})
	}
	for _, c := range []struct{ name, base, want string }{
		{"google/gemini-2.5-pro", "", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"},
		{"google/gemini-2.5-pro", "https://gate", "https://gate/v1beta/models/gemini-2.5-pro:generateContent"},
		{"google/gemini-2.5-pro", "https://gate/google/", "https://gate/google/v1beta/models/gemini-2.5-pro:generateContent"},
		{"google/gemini-2.5-pro", "http://gate/v1/", "http://gate/v1/models/gemini-2.5-pro:generateContent"},
		{"google/gemini-2.5-pro", "http://gate/v1alpha", "http://gate/v1alpha/models/gemini-2.5-pro:generateContent"},
		{"google/models/gemma-3-27b-it", "", "https://generativelanguage.googleapis.com/v1beta/models/gemma-3-27b-it:generateContent"},
		{"google/tunedModels/mine", "", "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:generateContent"},
	} {
		m, err := open(c.name, map[string]string{"GEMINI_API_KEY": "k-12345678", "GOOGLE_BASE_URL": c.base})
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := llm.Describe(m); d.Endpoint != c.want {
			t.Errorf("%s with %q: at %s, want %s", c.name, c.base, d.Endpoint, c.want)
		}
	}
	var at, key string
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, key = r.URL.String(), r.Header.Get("X-Goog-Api-Key")
		fmt.Fprint(w, up)
	}))
	defer gate.Close()
	m, err := open("google/ref/mixed?tpr=1", map[string]string{"GOOGLE_API_KEY": "k-12345678", "GOOGLE_BASE_URL": gate.URL + "?tenant=3"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.(*provider.Model).CloseIdleConnections()
	if _, err := m.Generate(t.Context(), &llm.Request{}); err != nil || at != "/v1beta/models/ref/mixed%3Ftpr=1:generateContent?tenant=3" || key != "k-12345678" {
		t.Errorf("asked %s with %q, %v", at, key, err)
	}
	if m, err := open("google/m", nil); m != nil || llm.KindOf(err) != llm.KindAuth || !strings.Contains(err.Error(), "GEMINI_API_KEY or GOOGLE_API_KEY, which is not set") {
		t.Error(err)
	}
	if _, err := open("google/", nil); err == nil || !strings.Contains(err.Error(), "want google/MODEL") {
		t.Error(err)
	}
}

// Would fail if a refusal in the server's words were not understood, or if a
// parameter were given up for another reason.
func TestRefusedParameters(t *testing.T) {
	for _, c := range []struct {
		name, message string
		thinking      int
		want          string // the parameter that goes; "" when the call fails
	}{
		{"cannot but think", "Budget 0 is invalid. This model only works in thinking mode.", 0, "thinkingConfig"},
		{"cannot but think, otherwise", "The model does not support setting thinking_budget to 0.", 0, "thinkingConfig"},
		{"cannot but think, as Vertex has it", "Unable to submit request because Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from your request and try again.", 0, "thinkingConfig"},
		{"cannot think", "Thinking is not enabled for this model", 512, "thinkingConfig"},
		{"cannot think, otherwise", "Unable to submit request because thinking is not supported by this model.", 512, "thinkingConfig"},
		{"no JSON", "JSON mode is not enabled for models/gemma-3-27b-it", 0, "responseJsonSchema"},
		{"older server", "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field.", 0, "responseJsonSchema"},
		{"schema too large", "The specified schema produces a constraint that has too many states for serving.", 0, "responseJsonSchema"},
		{"temperature", "temperature is not supported by this model", 0, "temperature"},
		{"top_p", "Invalid JSON payload received. Unknown name \"topP\" at 'generation_config': Cannot find field.", 0, "topP"},
		{"resolution", "Media resolution is not enabled for this model", 0, "mediaResolution"},
		{"no probabilities", "Logprobs is not enabled for models/gemini-2.5-pro", 0, "responseLogprobs"},
		{"no probabilities, as Vertex has it", "Unable to submit request because Logprobs is not supported for this model.", 0, "responseLogprobs"},

		{"budget out of range", "The thinking budget 52428 is invalid. Please choose a value between 512 and 24576.", 52428, ""},
		{"a budget of another", "Budget 0 is invalid. This model only works in thinking mode.", 512, ""},
		{"out of range", "Unable to submit request because it has a temperature value of 5 but the supported range is from 0 (inclusive) to 2.0001 (exclusive).", 0, ""},
		{"no word", "Request contains an invalid argument.", 0, ""},
		{"no pictures", "Image input modality is not enabled for models/gemma-3-1b-it", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var configs []map[string]json.RawMessage
			m := client(t, gemini.Options{Settings: provider.Settings{Detail: "low"}}, func(w http.ResponseWriter, r *http.Request) {
				var body struct{ GenerationConfig map[string]json.RawMessage }
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				configs = append(configs, body.GenerationConfig)
				if _, sent := body.GenerationConfig[c.want]; sent || c.want == "" {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, c.message)
					return
				}
				fmt.Fprint(w, up)
			})
			req := &llm.Request{
				Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Schema: actionSchema,
				Params: llm.Params{Temperature: new(0.5), TopP: new(0.9), MaxTokens: new(64), Thinking: new(c.thinking), Logprobs: true},
			}
			_, err := m.Generate(t.Context(), req)
			if c.want == "" {
				if len(configs) != 1 || llm.KindOf(err) != llm.KindBadRequest {
					t.Fatalf("%d requests, %v", len(configs), err)
				}
				if c.name == "no word" && !strings.Contains(err.Error(), "thinking budget of 0") {
					t.Error(err)
				}
				return
			}
			if err != nil || len(configs) != 2 {
				t.Fatalf("%d requests, %v", len(configs), err)
			}
			if _, err := m.Generate(t.Context(), req); err != nil || len(configs) != 3 {
				t.Errorf("asked again: %d requests, %v", len(configs), err)
			}
			for _, param := range []string{"temperature", "topP", "maxOutputTokens", "responseJsonSchema", "responseMimeType", "thinkingConfig", "mediaResolution", "responseLogprobs", "logprobs"} {
				gone := param == c.want || param == "responseMimeType" && c.want == "responseJsonSchema" || param == "logprobs" && c.want == "responseLogprobs"
				if _, sent := configs[2][param]; sent == gone {
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
