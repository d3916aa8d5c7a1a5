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
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o gemini.Options, handler http.HandlerFunc) *gemini.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL
	return clientAt(t, o)
}

func clientAt(t testing.TB, o gemini.Options) *gemini.Client {
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

// Golden requests: would fail if what goes over the wire changed unseen.
func TestRequests(t *testing.T) {
	prompt := []llm.Part{llm.Text("Legend: S <start> & F.\n"), llm.Text("Row 0: (0,0)=S “…”\n"), llm.Text("Which way?")}
	all := llm.Params{Temperature: new(0.), TopP: new(0.9), MaxTokens: new(512), Thinking: new(0)}
	for _, c := range []struct {
		name string
		opts gemini.Options
		req  llm.Request
	}{
		{"text", gemini.Options{}, llm.Request{Parts: prompt}},
		{"picture", gemini.Options{}, llm.Request{Parts: []llm.Part{llm.Text("Legend.\n"), conformance.Picture(t), llm.Text("Agent at (0,0).\n"), llm.Text("Which way?")}}},
		{"pictures-side-by-side", gemini.Options{Settings: provider.Settings{Detail: "high"}}, llm.Request{Parts: []llm.Part{conformance.Picture(t), conformance.Picture(t)}}},
		{"everything", gemini.Options{}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema, Params: all}},
		{"thinking", gemini.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: new(2000)}}},
		{"logprobs", gemini.Options{}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
		{"no-schema", gemini.Options{Settings: provider.Settings{NoSchema: true}}, llm.Request{Parts: prompt, Schema: conformance.ActionSchema}},
		{"extra-body", gemini.Options{Settings: provider.Settings{
			ExtraBody: json.RawMessage(`{"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}], "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}, "temperature": 0.25, "topK": 20}}`),
		}}, llm.Request{Parts: prompt, Params: all}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conformance.Request(t, c.name, "/v1beta/models/gemini-2.5-flash:generateContent", up, &c.req, func(t *testing.T, handler http.HandlerFunc) llm.Model {
				return client(t, c.opts, handler)
			})
		})
	}
}

// Would fail if a kind of answer were read otherwise than its file says.
func TestAnswers(t *testing.T) {
	conformance.Answers(t, 30, func(t *testing.T, handler http.HandlerFunc) llm.Model { return client(t, gemini.Options{}, handler) })
}

// Would fail if the key were sent otherwise than in its header, or a user's
// header or the call's name were not sent.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		opts gemini.Options
		want map[string]string
	}{
		{gemini.Options{}, map[string]string{"X-Goog-Api-Key": "", "Authorization": "", llm.CallHeader: "", "Content-Type": "application/json", "User-Agent": "spatialstale"}},
		{gemini.Options{Key: "AIza12345678"}, map[string]string{"X-Goog-Api-Key": "AIza12345678", "Authorization": ""}},
		{gemini.Options{Key: "AIza12345678", Settings: provider.Settings{Header: map[string]string{"x-goog-api-key": "other", "X-Team": "lake"}}},
			map[string]string{"X-Goog-Api-Key": "other", "X-Team": "lake"}},
		{gemini.Options{Settings: provider.Settings{NameCalls: true}}, map[string]string{llm.CallHeader: "0123/window0/batch%203"}},
	} {
		var got http.Header
		m := client(t, c.opts, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			if strings.Contains(r.URL.String(), "AIza") {
				t.Errorf("the key is in the address %s", r.URL)
			}
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
		if text := fmt.Sprintf("%v %+v %#v", m, m, m); strings.Contains(text, "12345678") {
			t.Error(text)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for text, extra := range map[string]string{
		"not a JSON object":            `[1]`,
		`cannot set "contents"`:        `{"contents":[]}`,
		`cannot set "candidateCount"`:  `{"generationConfig":{"candidateCount":2}}`,
		`"generationConfig" in the ex`: `{"generationConfig":3}`,
	} {
		_, err := gemini.New(gemini.Options{URL: "http://h/", Settings: provider.Settings{ExtraBody: json.RawMessage(extra)}})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want an error with %q", err, text)
		}
	}
}

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
	defer m.(*gemini.Client).CloseIdleConnections()
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
				Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Schema: conformance.ActionSchema,
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
