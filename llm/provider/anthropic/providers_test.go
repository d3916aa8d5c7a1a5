package anthropic_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
)

func open(name string, env map[string]string) (llm.Model, error) {
	var r provider.Registry
	r.Add(anthropic.Providers()...)
	return r.Open(name, provider.Env{Getenv: func(name string) string { return env[name] }})
}

// Would fail if a name led to another address than its provider's.
func TestProviders(t *testing.T) {
	for base, want := range map[string]string{
		"":                         "https://api.anthropic.com/v1/messages",
		"http://gate":              "http://gate/v1/messages",
		"http://gate/":             "http://gate/v1/messages",
		"http://gate/v1":           "http://gate/v1/messages",
		"http://gate/v1/":          "http://gate/v1/messages",
		"http://gate/v1/messages":  "http://gate/v1/messages",
		"http://gate/anthropic":    "http://gate/anthropic/v1/messages",
		"http://gate/anthropic/v1": "http://gate/anthropic/v1/messages",
		"http://gate?tenant=v1":    "http://gate/v1/messages",
	} {
		m, err := open("anthropic/claude-sonnet-4-6", map[string]string{"ANTHROPIC_API_KEY": "k-12345678", "ANTHROPIC_BASE_URL": base})
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := llm.Describe(m); d.Endpoint != want {
			t.Errorf("%s: at %s, want %s", base, d.Endpoint, want)
		}
	}
}

func TestProvidersRefuse(t *testing.T) {
	for name, want := range map[string]string{
		"anthropic/claude-sonnet-4-6": "ANTHROPIC_API_KEY, which is not set",
		"anthropic/":                  "want anthropic/MODEL",
	} {
		if m, err := open(name, nil); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Would fail if the key or the model's name did not reach the server as it
// wants them, or the server's marks of a warm cache were lost on the way back.
func TestOpenedModel(t *testing.T) {
	server, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Key: "k-12345678"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m, err := open("anthropic/ref/believer", map[string]string{"ANTHROPIC_API_KEY": "k-12345678", "ANTHROPIC_BASE_URL": strings.TrimSuffix(server.URL, "/v1")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.(*anthropic.Client).CloseIdleConnections()
	req := step()
	req.Parts = append([]llm.Part{llm.Text(strings.Repeat("Legend. ", 1000))}, req.Parts...)
	req.Shared = []int{1}
	reply, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	u := reply.Usage
	if reply.Model != "ref/believer" || u.InputTokens == nil || *u.InputTokens <= 2000 || u.CachedTokens == nil || *u.CachedTokens != 2000 || u.OutputTokens == nil || *u.OutputTokens < 1 {
		t.Errorf("%+v", reply)
	}
}
