package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

func registry() *provider.Registry {
	var r provider.Registry
	r.Add(chat.Providers()...)
	return &r
}

func environ(pairs map[string]string) provider.Env {
	return provider.Env{Getenv: func(name string) string { return pairs[name] }}
}

// Would fail if a name led to another address, another model or another key
// than its provider's.
func TestProviders(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		at    string // URL of the request
		model string
		auth  string
		cap   string
	}{
		{"openai/gpt-4o", map[string]string{"OPENAI_API_KEY": "k-openai-1"},
			"https://api.openai.com/v1/chat/completions", "gpt-4o", "Bearer k-openai-1", "max_completion_tokens"},
		{"openai/gpt-4o", map[string]string{"OPENAI_API_KEY": "k-openai-1", "OPENAI_BASE_URL": "http://gate/openai/"},
			"http://gate/openai/chat/completions", "gpt-4o", "Bearer k-openai-1", "max_completion_tokens"},
		{"openai/azure/my-4o", map[string]string{"AZURE_OPENAI_API_KEY": "k-azure-12", "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/"},
			"https://me.openai.azure.com/openai/v1/chat/completions", "my-4o", "api-key k-azure-12", "max_completion_tokens"},
		{"openai/azure/my-4o", map[string]string{"AZURE_OPENAI_API_KEY": "k-azure-12", "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com", "OPENAI_API_VERSION": "2024-10-21"},
			"https://me.openai.azure.com/openai/deployments/my-4o/chat/completions?api-version=2024-10-21", "my-4o", "api-key k-azure-12", "max_completion_tokens"},
		{"qwen/qwen3.6-plus", map[string]string{"DASHSCOPE_API_KEY": "k-qwen-123"},
			"https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions", "qwen3.6-plus", "Bearer k-qwen-123", "max_tokens"},
		{"zai/glm-5.1", map[string]string{"ZAI_API_KEY": "k-zai-1234"},
			"https://api.z.ai/api/paas/v4/chat/completions", "glm-5.1", "Bearer k-zai-1234", "max_tokens"},
		{"openrouter/z-ai/glm-5.1:free", map[string]string{"OPENROUTER_API_KEY": "k-router-1"},
			"https://openrouter.ai/api/v1/chat/completions", "z-ai/glm-5.1:free", "Bearer k-router-1", "max_tokens"},
		{"vllm/OpenGVLab/InternVL3-8B", nil,
			"http://localhost:8000/v1/chat/completions", "OpenGVLab/InternVL3-8B", "", "max_tokens"},
		{"vllm/m", map[string]string{"VLLM_API_KEY": "k-vllm-123", "VLLM_BASE_URL": "http://gpu:9/v1"},
			"http://gpu:9/v1/chat/completions", "m", "Bearer k-vllm-123", "max_tokens"},
		{"llamacpp/gemma", nil, "http://localhost:8080/v1/chat/completions", "gemma", "", "max_tokens"},
		{"openai-api/my-gate/org/m", map[string]string{"MY_GATE_BASE_URL": "https://gate/v1?tenant=3", "MY_GATE_API_KEY": "k-gate-123"},
			"https://gate/v1/chat/completions?tenant=3", "org/m", "Bearer k-gate-123", "max_tokens"},
		{"openai-api/rehearse/ref/mixed?tpr=1", map[string]string{"REHEARSE_BASE_URL": "http://127.0.0.1:1/v1/chat/completions"},
			"http://127.0.0.1:1/v1/chat/completions", "ref/mixed?tpr=1", "", "max_tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var at, auth, body string
			gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				at = r.URL.String()
				auth = r.Header.Get("Authorization")
				if key := r.Header.Get("api-key"); key != "" {
					auth = "api-key " + key
				}
				sent, _ := io.ReadAll(r.Body)
				body = string(sent)
				fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
			}))
			defer gate.Close()
			env := environ(c.env)
			// Plain HTTP through a proxy of the test's own, so that each address
			// is asked as it would be.
			env.Getenv = func(name string) string { return strings.Replace(c.env[name], "https://", "http://", 1) }
			proxy, err := url.Parse(gate.URL)
			if err != nil {
				t.Fatal(err)
			}
			env.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
			want := strings.Replace(c.at, "https://", "http://", 1)
			if strings.HasPrefix(c.at, "https://") && !strings.Contains(strings.Join(values(c.env), " "), "https://") {
				// A built-in address: it is looked at, not asked.
				m, err := registry().Open(c.name, environ(c.env))
				if err != nil {
					t.Fatal(err)
				}
				if d, _ := llm.Describe(m); d.Endpoint != c.at {
					t.Errorf("at %s, want %s", d.Endpoint, c.at)
				}
				base := want[:strings.LastIndex(want, "/chat/")]
				variable := map[string]string{"openai": "OPENAI_BASE_URL", "qwen": "DASHSCOPE_BASE_URL", "zai": "ZAI_BASE_URL", "openrouter": "OPENROUTER_BASE_URL"}[c.name[:strings.Index(c.name, "/")]]
				get := env.Getenv
				env.Getenv = func(name string) string {
					if name == variable {
						return base
					}
					return get(name)
				}
			}
			m, err := registry().Open(c.name, env)
			if err != nil {
				t.Fatal(err)
			}
			defer m.(*provider.Model).CloseIdleConnections()
			if _, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{MaxTokens: ptr(5)}}); err != nil {
				t.Fatal(err)
			}
			if at != want || auth != c.auth || !strings.Contains(body, fmt.Sprintf(`{"model":%q,`, c.model)) || !strings.Contains(body, fmt.Sprintf(`"%s":5`, c.cap)) {
				t.Errorf("asked %s as %q with %s", at, auth, body)
			}
			if fmt.Sprint(m) != c.name {
				t.Errorf("called %v", m)
			}
		})
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestProvidersRefuse(t *testing.T) {
	for name, want := range map[string]string{
		"openai/gpt-4o":     "OPENAI_API_KEY, which is not set",
		"openai/azure/m":    "AZURE_OPENAI_API_KEY, which is not set",
		"openai/":           "want openai/MODEL",
		"openai-api/x":      "want openai-api/NAME/MODEL",
		"openai-api//m":     "want openai-api/NAME/MODEL",
		"openai-api/x y/m":  "want openai-api/NAME/MODEL",
		"openai-api/my-x/m": "MY_X_BASE_URL, which is not set",
		"gpt-4o":            `unknown model "gpt-4o"`,
	} {
		if m, err := registry().Open(name, environ(nil)); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// DashScope says insufficient_quota of a limit by the minute; to stop a run for
// that would be wrong. An account in arrears is another matter.
func TestQuotaThatPasses(t *testing.T) {
	status, body := 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	ask := func(name, key, base string) llm.Kind {
		m, err := registry().Open(name, environ(map[string]string{key: "k-12345678", base: server.URL}))
		if err != nil {
			t.Fatal(err)
		}
		defer m.(*provider.Model).CloseIdleConnections()
		_, err = m.Generate(t.Context(), &llm.Request{})
		return llm.KindOf(err)
	}
	if kind := ask("qwen/m", "DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL"); kind != llm.KindRateLimit {
		t.Errorf("qwen: %s", kind)
	}
	if kind := ask("openai/m", "OPENAI_API_KEY", "OPENAI_BASE_URL"); kind != llm.KindQuota {
		t.Errorf("openai: %s", kind)
	}
	status, body = 400, `{"error":{"message":"Access denied","code":"Arrearage"}}`
	if kind := ask("qwen/m", "DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL"); kind != llm.KindQuota {
		t.Errorf("qwen in arrears: %s", kind)
	}
}
