package ollama_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

func open(name, host, key string) (llm.Model, error) {
	var r provider.Registry
	r.Add(ollama.Providers()...)
	return r.Open(name, provider.Env{Getenv: func(v string) string { return map[string]string{"OLLAMA_HOST": host, "OLLAMA_API_KEY": key}[v] }})
}

// Would fail if a form of OLLAMA_HOST that Ollama itself takes led elsewhere.
func TestHost(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "http://127.0.0.1:11434",
		"127.0.0.1:11500":          "http://127.0.0.1:11500",
		"gpu":                      "http://gpu:11434",
		"gpu.lab:80":               "http://gpu.lab:80",
		":11500":                   "http://127.0.0.1:11500",
		"0.0.0.0":                  "http://127.0.0.1:11434",
		"0.0.0.0:11500":            "http://127.0.0.1:11500",
		"http://0.0.0.0:11434":     "http://127.0.0.1:11434",
		"[::]:11500":               "http://[::1]:11500",
		"::1":                      "http://[::1]:11434",
		"[::1]":                    "http://[::1]:11434",
		`"gpu:1"`:                  "http://gpu:1",
		"http://gpu":               "http://gpu",
		"http://gpu:11434/":        "http://gpu:11434",
		"https://gate/team/ollama": "https://gate/team/ollama",
		"https://gate/api/chat":    "https://gate",
		"http://gpu:11434/api/":    "http://gpu:11434",
		"http://gpu:11434/v1":      "http://gpu:11434",
		"gpu/ollama":               "http://gpu:11434/ollama",
		"ollama.com":               "https://ollama.com",
		"http://[::1]":             "http://[::1]",
	} {
		m, err := open("ollama/m", host, "")
		if err != nil {
			t.Errorf("%q: %v", host, err)
			continue
		}
		if d, _ := llm.Describe(m); d.Endpoint != want+"/api/chat" {
			t.Errorf("%q: at %s, want %s", host, d.Endpoint, want)
		}
	}
	for _, bad := range []string{"ftp://gpu", "http://", "gpu:port", "gpu:70000", "http://me:secret@gpu:port", "://secret"} {
		m, err := open("ollama/m", bad, "")
		if err == nil || m != nil || !strings.Contains(err.Error(), "OLLAMA_HOST") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", bad, m, err)
		}
	}
}

// Would fail if a model's name or a key arrived otherwise than it was given.
func TestProvider(t *testing.T) {
	var auth, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		auth, body = r.Header.Get("Authorization"), string(sent)
		_, _ = io.WriteString(w, up)
	}))
	defer server.Close()
	for name, key := range map[string]string{"ollama/qwen3-vl:8b": "", "ollama/hf.co/unsloth/gemma-3-270m-it-GGUF:Q4_K_M": "k-12345678"} {
		m, err := open(name, strings.TrimPrefix(server.URL, "http://"), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), &llm.Request{}); err != nil {
			t.Fatal(err)
		}
		m.(*ollama.Client).CloseIdleConnections()
		want := ""
		if key != "" {
			want = "Bearer " + key
		}
		if auth != want || !strings.HasPrefix(body, `{"model":"`+strings.TrimPrefix(name, "ollama/")+`",`) {
			t.Errorf("%s: asked as %q with %s", name, auth, body)
		}
	}
	if _, err := open("ollama/", "", ""); err == nil || !strings.Contains(err.Error(), "want ollama/MODEL") {
		t.Error(err)
	}
	if _, err := open("ollama/m", "", "k\n-1"); llm.KindOf(err) != llm.KindAuth {
		t.Error(err)
	}
}
