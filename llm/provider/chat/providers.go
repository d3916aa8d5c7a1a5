package chat

import (
	"errors"
	"net/url"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A server is a provider that speaks this protocol; the options are what is its
// own.
type server struct {
	prefix, note string
	access       provider.Access
	options      Options
}

var servers = []server{
	{
		prefix: "openai/", note: "OpenAI", options: Options{CompletionCap: true, TopLogprobs: 20},
		access: provider.Access{Credential: "OPENAI_API_KEY", BaseURLVar: "OPENAI_BASE_URL", BaseURL: "https://api.openai.com/v1"},
	},
	{
		prefix: "qwen/", note: "Alibaba Cloud Model Studio (DashScope); the address is the international one", options: Options{QuotaIsRate: true},
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
		prefix: "vllm/", note: "a vLLM server of your own", options: Options{TopLogprobs: 20, Counting: "stream_options.continuous_usage_stats"},
		access: provider.Access{Credential: "VLLM_API_KEY", Optional: true, BaseURLVar: "VLLM_BASE_URL", BaseURL: "http://localhost:8000/v1"},
	},
	{
		prefix: "llamacpp/", note: "a llama.cpp server of your own", options: Options{TopLogprobs: 20, Counting: "timings_per_token"},
		access: provider.Access{Credential: "LLAMACPP_API_KEY", Optional: true, BaseURLVar: "LLAMACPP_BASE_URL", BaseURL: "http://localhost:8080/v1"},
	},
}

// Providers returns the providers that speak this protocol.
func Providers() []provider.Provider {
	var all []provider.Provider
	for _, s := range servers {
		all = append(all, provider.Of(s.prefix, s.note, s.access, s.options.open))
		if s.prefix == "openai/" {
			all = append(all, azure)
		}
	}
	return append(all, other)
}

// open opens a model of a server with these options.
func (o Options) open(shared provider.Options) (llm.Model, error) {
	o.Name, o.Model, o.URL, o.Key, o.Settings = shared.Name, shared.Model, provider.WithPath(shared.URL, "/chat/completions"), shared.Key, shared.Settings
	return provider.Opened(New(o))
}

// azure is OpenAI's models on Azure: by its current interface, or by the dated
// one where OPENAI_API_VERSION names a date.
var azure = provider.Provider{
	Prefix: "openai/azure/", Form: "openai/azure/DEPLOYMENT", Note: "OpenAI's models on Azure; OPENAI_API_VERSION selects a dated interface",
	Access: azureAccess,
	Open: func(model string, env provider.Env) (llm.Model, error) {
		return azureAccess.Open("openai/azure/"+model, model, env, func(o provider.Options) (llm.Model, error) {
			o.URL = azureURL(o.URL, model, env.Get("OPENAI_API_VERSION"))
			return Options{KeyHeader: "api-key", CompletionCap: true, TopLogprobs: 20}.open(o)
		})
	},
}

// azureURL returns where requests for a deployment go. An endpoint that says so
// itself, with the whole path or up to /openai/v1, is taken as it is, and so is
// its query; a date selects the dated interface of an endpoint without a path.
func azureURL(endpoint, model, version string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint // it was read before
	}
	path := strings.TrimRight(u.Path, "/")
	query := u.Query()
	dated := strings.ContainsAny(version, "0123456789") && strings.Contains(version, "-")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
	case strings.HasSuffix(path, "/openai/v1"):
		if version != "" && !dated && !query.Has("api-version") { // "preview"
			query.Set("api-version", version)
		}
	case dated || query.Has("api-version"):
		path = strings.TrimSuffix(path, "/openai") + "/openai/deployments/" + model
		if !query.Has("api-version") {
			query.Set("api-version", version)
		}
	default:
		path = strings.TrimSuffix(path, "/openai") + "/openai/v1"
		if version != "" {
			query.Set("api-version", version)
		}
	}
	u.Path, u.RawPath, u.RawQuery = path, "", query.Encode()
	return u.String()
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
		access := provider.Access{Credential: variable + "_API_KEY", Optional: true, BaseURLVar: variable + "_BASE_URL"}
		return access.Open("openai-api/"+model, rest, env, Options{}.open)
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
