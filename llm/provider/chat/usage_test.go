package chat

import (
	"fmt"
	"testing"

	"github.com/spatialstale/spatialstale/llm/provider"
)

// Would fail if thinking that a server counts beside the completion were not
// paid for, or were counted twice where it is counted within.
func TestUsageOfThinking(t *testing.T) {
	for text, want := range map[string]int{
		`{"prompt_tokens":700,"completion_tokens":100,"total_tokens":8800,"completion_tokens_details":{"reasoning_tokens":8000}}`:  8100,
		`{"prompt_tokens":700,"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":8000}}`:                      8100,
		`{"prompt_tokens":700,"completion_tokens":8100,"total_tokens":8800,"completion_tokens_details":{"reasoning_tokens":8000}}`: 8100,
		`{"prompt_tokens":700,"completion_tokens":100,"total_tokens":8800,"reasoning_tokens":8000}`:                                8100,
		`{"prompt_tokens":700,"completion_tokens":100,"total_tokens":8800}`:                                                        8100,
		`{"prompt_tokens":700,"completion_tokens":100,"total_tokens":800}`:                                                         100,
		`{"prompt_tokens":700,"completion_tokens":100,"total_tokens":1}`:                                                           100,
	} {
		v, err := provider.Parse(fmt.Appendf(nil, `{"usage":%s}`, text))
		if err != nil {
			t.Fatal(err)
		}
		if u := usage(v); u.OutputTokens == nil || *u.OutputTokens != want {
			t.Errorf("%s: %d output tokens, want %d", text, *u.OutputTokens, want)
		}
	}
}

// Would fail if an address that Azure itself gives were taken apart.
func TestAzureAddresses(t *testing.T) {
	for _, c := range []struct{ endpoint, version, want string }{
		{"https://me.openai.azure.com", "", "https://me.openai.azure.com/openai/v1"},
		{"https://me.openai.azure.com/openai", "", "https://me.openai.azure.com/openai/v1"},
		{"https://me.openai.azure.com", "preview", "https://me.openai.azure.com/openai/v1?api-version=preview"},
		{"https://me.openai.azure.com", "2024-10-21", "https://me.openai.azure.com/openai/deployments/d/?api-version=2024-10-21"},
		{"https://me.openai.azure.com/openai/v1", "preview", "https://me.openai.azure.com/openai/v1?api-version=preview"},
		{"https://me.openai.azure.com/openai/v1", "2024-10-21", "https://me.openai.azure.com/openai/v1"},
		{"https://me.openai.azure.com/openai/v1?api-version=preview", "", "https://me.openai.azure.com/openai/v1?api-version=preview"},
		{"https://gate.example/?tenant=3", "2024-10-21", "https://gate.example/openai/deployments/d/?api-version=2024-10-21&tenant=3"},
		{"https://me.openai.azure.com/openai/deployments/other/chat/completions?api-version=2024-10-21", "2025-01-01", "https://me.openai.azure.com/openai/deployments/other/?api-version=2024-10-21"},
	} {
		want := provider.WithPath(c.want, "/chat/completions")
		if got := provider.WithPath(azureURL(c.endpoint, "d", c.version), "/chat/completions"); got != want {
			t.Errorf("%s with %q: %s, want %s", c.endpoint, c.version, got, want)
		}
	}
}
