package chat

import (
	"errors"
	"net/url"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A server is a provider that speaks this protocol.
type server struct {
	prefix, note  string
	access        provider.Access
	completionCap bool
	quotaIsRate   bool
	topLogprobs   int
}

var servers = []server{
	{
		prefix: "openai/", note: "OpenAI", completionCap: true, topLogprobs: 20,
		access: provider.Access{Credential: "OPENAI_API_KEY", BaseURLVar: "OPENAI_BASE_URL", BaseURL: "https://api.openai.com/v1"},
	},
	{
		prefix: "qwen/", note: "Alibaba Cloud Model Studio (DashScope); the address is the international one", quotaIsRate: true,
		access: provider.Access{Credential: "DASHSCOPE_API_KEY", BaseURLVar: "DASHSCOPE_BASE_URL", BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"},
	},
	{
		prefix: "zai/", note: "Z.ai (GLM)",
		access: provider.Access{Credential: "ZAI_API_KEY", BaseURLVar: "ZAI_BASE_URL", BaseURL: "https://api.z.ai/api/paas/v4"},
	},
	{
		prefix: "openrouter/", note: "OpenRouter; MODEL has a slash of its own",
		access: provider.Access{Credential: "OPENROUTER_API_KEY", BaseURLVar: "OPENROUTER_BASE_URL", BaseURL: "https://openrouter.ai/api/v1"},
	},
	{
		prefix: "vllm/", note: "a vLLM server of your own", topLogprobs: 20,
		access: provider.Access{Credential: "VLLM_API_KEY", Optional: true, BaseURLVar: "VLLM_BASE_URL", BaseURL: "http://localhost:8000/v1"},
	},
	{
		prefix: "llamacpp/", note: "a llama.cpp server of your own", topLogprobs: 20,
		access: provider.Access{Credential: "LLAMACPP_API_KEY", Optional: true, BaseURLVar: "LLAMACPP_BASE_URL", BaseURL: "http://localhost:8080/v1"},
	},
}

// Providers returns the providers that speak this protocol.
func Providers() []provider.Provider {
	var all []provider.Provider
	for _, s := range servers {
		all = append(all, provider.Provider{
			Prefix: s.prefix, Form: s.prefix + "MODEL", Note: s.note, Access: s.access,
			Open: func(model string, env provider.Env) (llm.Model, error) { return s.open(model, env) },
		})
		if s.prefix == "openai/" {
			all = append(all, azure)
		}
	}
	return append(all, other)
}

func (s *server) open(model string, env provider.Env) (llm.Model, error) {
	name := s.prefix + model
	key, err := s.access.Key(name, env)
	if err != nil {
		return nil, err
	}
	base, err := s.access.URL(name, env)
	if err != nil {
		return nil, err
	}
	return newModel(Options{
		Name: name, Model: model, URL: provider.WithPath(base, "/chat/completions"), Key: key,
		CompletionCap: s.completionCap, QuotaIsRate: s.quotaIsRate, TopLogprobs: s.topLogprobs, Settings: env.Settings,
	})
}

// newModel is New for a caller that wants an llm.Model: nil with an error.
func newModel(o Options) (llm.Model, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// azure is OpenAI's models on Azure: by its current interface, or by the dated
// one where OPENAI_API_VERSION names a date.
var azure = provider.Provider{
	Prefix: "openai/azure/", Form: "openai/azure/DEPLOYMENT", Note: "OpenAI's models on Azure; OPENAI_API_VERSION selects a dated interface",
	Access: azureAccess,
	Open: func(model string, env provider.Env) (llm.Model, error) {
		name := "openai/azure/" + model
		key, err := azureAccess.Key(name, env)
		if err != nil {
			return nil, err
		}
		base, err := azureAccess.URL(name, env)
		if err != nil {
			return nil, err
		}
		at := provider.WithPath(base, "/openai/v1") + "/chat/completions"
		if version := env.Get("OPENAI_API_VERSION"); version != "" {
			at = base + "/openai/deployments/" + url.PathEscape(model) + "/chat/completions?api-version=" + url.QueryEscape(version)
		}
		return newModel(Options{
			Name: name, Model: model, URL: at, Key: key, KeyHeader: "api-key", CompletionCap: true, TopLogprobs: 20, Settings: env.Settings,
		})
	},
}

var azureAccess = provider.Access{Credential: "AZURE_OPENAI_API_KEY", BaseURLVar: "AZURE_OPENAI_ENDPOINT"}

// other is any server that speaks this protocol, with environment variables of
// its own name.
var other = provider.Provider{
	Prefix: "openai-api/", Form: "openai-api/NAME/MODEL", Note: "any server with Chat Completions",
	Access: provider.Access{Credential: "NAME_API_KEY", Optional: true, BaseURLVar: "NAME_BASE_URL"},
	Check: func(model string) error {
		_, _, err := splitOther(model)
		return err
	},
	Open: func(model string, env provider.Env) (llm.Model, error) {
		variable, rest, err := splitOther(model)
		if err != nil {
			return nil, err
		}
		s := server{
			prefix: "openai-api/" + strings.TrimSuffix(model, rest),
			access: provider.Access{Credential: variable + "_API_KEY", Optional: true, BaseURLVar: variable + "_BASE_URL"},
		}
		return s.open(rest, env)
	},
}

// splitOther splits NAME/MODEL and returns the name as variables begin with it:
// in capitals, with _ for -.
func splitOther(model string) (variable, rest string, err error) {
	name, rest, _ := strings.Cut(model, "/")
	variable = strings.ReplaceAll(strings.ToUpper(name), "-", "_")
	if rest == "" || variable == "" || '0' <= variable[0] && variable[0] <= '9' || strings.Trim(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return "", "", errors.New("want openai-api/NAME/MODEL, with the address in NAME_BASE_URL and the key in NAME_API_KEY; NAME has letters, digits, - and _, begins with no digit, and is written in capitals with _ for - in the variables")
	}
	return variable, rest, nil
}
