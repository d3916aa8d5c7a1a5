package gemini_test

import (
	"net/http"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
)

// protocol says what the tests that all protocols share need to know of this
// one: the words are its servers'.
var protocol = conformance.Protocol{
	Open: func(t *testing.T, base string, s provider.Settings) llm.Model {
		return clientAt(t, gemini.Options{URL: base, Settings: s})
	},
	Endpoint: "http://127.0.0.1:1/v1/models/gemini-2.5-flash:generateContent",
	Hears: map[llmtest.Fault]conformance.Heard{
		llmtest.Filter:        {Words: "content_filter"},
		llmtest.RateLimit:     {Kind: llm.KindRateLimit, Words: "HTTP 429: GenerateRequestsPerMinute", After: conformance.Wait},
		llmtest.RateLimitDate: {Kind: llm.KindRateLimit, Words: "HTTP 429: Resource has been exhausted", After: conformance.Wait},
		llmtest.RateLimitMS:   {Kind: llm.KindRateLimit, Words: "HTTP 429: Resource has been exhausted", After: conformance.Wait},
		llmtest.Overloaded:    {Kind: llm.KindServer, Words: "HTTP 503: The model is overloaded", After: conformance.Wait},
		llmtest.Failure:       {Kind: llm.KindServer, Words: "HTTP 500: An internal error"},
		llmtest.Quota:         {Kind: llm.KindQuota, Words: "GenerateRequestsPerDay"},
		llmtest.BadKey:        {Kind: llm.KindAuth, Words: "HTTP 400: API key not valid"},
		llmtest.NoModel:       {Kind: llm.KindUnknownModel, Words: "HTTP 404: models/no-such-model is not found"},
		llmtest.TooLong:       {Kind: llm.KindBadRequest, Words: "exceeds the maximum number of tokens"},
		llmtest.ErrorObject:   {Kind: llm.KindServer, Words: "The provider behind this one returned an error."},
		llmtest.NoChoices:     {Kind: llm.KindMalformed, Words: "without candidates"},
		llmtest.NullContent:   {Kind: llm.KindMalformed, Words: "without content"},
	},
}

// served returns a client with a key for a server that a handler is.
func served(t *testing.T, handler http.HandlerFunc) llm.Model {
	return client(t, gemini.Options{Key: "sk-12345678"}, handler)
}

func TestFaults(t *testing.T)       { conformance.Faults(t, protocol) }
func TestRetries(t *testing.T)      { conformance.Retries(t, protocol) }
func TestNoConnection(t *testing.T) { conformance.NoConnection(t, protocol) }
func TestNoRedirect(t *testing.T)   { conformance.NoRedirect(t, served) }
