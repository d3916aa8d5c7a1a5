package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
)

// protocol says what the tests that all protocols share need to know of this
// one: the words are its servers'.
var protocol = conformance.Protocol{
	Open: func(t *testing.T, base string, s provider.Settings) llm.Model {
		return clientAt(t, anthropic.Options{URL: base + "/messages", Settings: s})
	},
	Endpoint: "http://127.0.0.1:1/v1/messages",
	Hears: map[llmtest.Fault]conformance.Heard{
		llmtest.Filter:        {Words: "refusal"},
		llmtest.RateLimit:     {Kind: llm.KindRateLimit, Words: "HTTP 429: This request would exceed your organization's rate limit", After: conformance.Wait},
		llmtest.RateLimitDate: {Kind: llm.KindRateLimit, Words: "HTTP 429: This request would exceed your organization's rate limit", After: conformance.Wait},
		llmtest.RateLimitMS:   {Kind: llm.KindRateLimit, Words: "HTTP 429: This request would exceed your organization's rate limit", After: conformance.Wait},
		llmtest.Overloaded:    {Kind: llm.KindServer, Words: "HTTP 529: Overloaded", After: conformance.Wait},
		llmtest.Failure:       {Kind: llm.KindServer, Words: "HTTP 500: Internal server error"},
		llmtest.Quota:         {Kind: llm.KindQuota, Words: "credit balance is too low"},
		llmtest.BadKey:        {Kind: llm.KindAuth, Words: "HTTP 401: invalid x-api-key"},
		llmtest.NoModel:       {Kind: llm.KindUnknownModel, Words: "HTTP 404: model: no-such-model"},
		llmtest.TooLong:       {Kind: llm.KindBadRequest, Words: "prompt is too long"},
		llmtest.ErrorObject:   {Kind: llm.KindServer, Words: "The provider behind this one returned an error."},
		llmtest.NoChoices:     {Kind: llm.KindMalformed, Words: "without content"},
		llmtest.NullContent:   {Kind: llm.KindMalformed, Words: "without content"},
	},
}

// served returns a client with a key for a server that a handler is.
func served(t *testing.T, handler http.HandlerFunc) llm.Model {
	return client(t, anthropic.Options{Key: "sk-12345678"}, handler)
}

func TestFaults(t *testing.T)       { conformance.Faults(t, protocol) }
func TestRetries(t *testing.T)      { conformance.Retries(t, protocol) }
func TestNoConnection(t *testing.T) { conformance.NoConnection(t, protocol) }
func TestNoRedirect(t *testing.T)   { conformance.NoRedirect(t, served) }

// A name that leads nowhere.
func TestNoSuchHost(t *testing.T) {
	m := clientAt(t, anthropic.Options{URL: "http://host.invalid/v1"})
	_, err := m.Generate(t.Context(), conformance.Step())
	if llm.KindOf(err) != llm.KindNetwork || !strings.Contains(err.Error(), "no connection to http://host.invalid/v1: ") {
		t.Error(err)
	}
}
