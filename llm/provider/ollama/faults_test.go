package ollama_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

// protocol says what the tests that all protocols share need to know of this
// one: the words are its servers'.
var protocol = conformance.Protocol{
	Open: func(t *testing.T, base string, s provider.Settings) llm.Model {
		return clientAt(t, ollama.Options{URL: strings.TrimSuffix(base, "/v1") + "/api/chat", Settings: s})
	},
	Endpoint: "http://127.0.0.1:1/api/chat",
	Hears: map[llmtest.Fault]conformance.Heard{
		llmtest.Filter:        {Words: "content_filter"},
		llmtest.RateLimit:     {Kind: llm.KindRateLimit, Words: "HTTP 429: too many concurrent requests", After: conformance.Wait},
		llmtest.RateLimitDate: {Kind: llm.KindRateLimit, Words: "HTTP 429: too many concurrent requests", After: conformance.Wait},
		llmtest.RateLimitMS:   {Kind: llm.KindRateLimit, Words: "HTTP 429: too many concurrent requests", After: conformance.Wait},
		llmtest.Overloaded:    {Kind: llm.KindRateLimit, Words: "HTTP 503: server busy", After: conformance.Wait},
		llmtest.Failure:       {Kind: llm.KindServer, Words: "HTTP 500: llama runner process has terminated"},
		llmtest.Quota:         {Kind: llm.KindQuota, Words: "weekly usage limit"},
		llmtest.BadKey:        {Kind: llm.KindAuth, Words: "HTTP 401: unauthorized"},
		llmtest.NoModel:       {Kind: llm.KindUnknownModel, Words: "HTTP 404: model \"no-such-model\" not found, try pulling it first"},
		llmtest.TooLong:       {Kind: llm.KindBadRequest, Words: "exceeds the context length"},
		llmtest.ErrorObject:   {Kind: llm.KindServer, Words: "an error was encountered while running the model"},
		llmtest.NoChoices:     {Kind: llm.KindMalformed, Words: "without content"},
		llmtest.NullContent:   {Kind: llm.KindMalformed, Words: "without content"},
	},
}

// served returns a client with a key for a server that a handler is.
func served(t *testing.T, handler http.HandlerFunc) llm.Model {
	return client(t, ollama.Options{Key: "sk-12345678"}, handler)
}

func TestFaults(t *testing.T)       { conformance.Faults(t, protocol) }
func TestRetries(t *testing.T)      { conformance.Retries(t, protocol) }
func TestNoConnection(t *testing.T) { conformance.NoConnection(t, protocol) }
func TestNoRedirect(t *testing.T)   { conformance.NoRedirect(t, served) }
