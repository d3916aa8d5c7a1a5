package provider_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// newServer returns the URL of a server that ends with the test.
func newServer(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// says returns a model that answers with a reply, whatever the server says.
func says(t *testing.T, reply llm.Reply, settings provider.Settings) *provider.Model {
	t.Helper()
	m, err := provider.New(provider.Options{Name: "m", URL: newServer(t, func(http.ResponseWriter, *http.Request) {}), Settings: settings}, provider.Protocol{
		Encode: func(*llm.Request, *provider.Body) {},
		Read: func(*llm.Request, *provider.Answer) (*llm.Reply, error) {
			r := reply
			return &r, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdleConnections)
	return m
}

// What a server says of its answer is kept in the run, and so is the answer; a
// key that either repeats must not be. A key that may be a word is left in
// answers, where it may be meant.
func TestNoSecretInWhatIsSaidOfAnAnswer(t *testing.T) {
	const key = "Basic c2VjcmV0LXdvcmQtb2Ytb3Vycw=="
	settings := provider.Settings{Header: map[string]string{"X-Key": key, "X-Local": "EMPTY"}}
	for name, want := range map[string]string{
		"served\x1b[2J\x1b[31m\nspatialstale: all is well\u202e": "served[2J[31mspatialstale: all is well",
		strings.Repeat("long", 1<<20):                            strings.Repeat("long", 50),
	} {
		reply, err := says(t, llm.Reply{Model: name}, settings).Generate(t.Context(), &llm.Request{})
		if err != nil || reply.Model != want {
			t.Errorf("a name is kept as %q, want %q; %v", reply.Model, want, err)
		}
	}
	for said, want := range map[string]string{
		"words":                          "words",
		"an EMPTY cell with " + key[:12]: "an EMPTY cell with " + key[:12],
		`{"reasoning": "` + key + `"} ` + url.QueryEscape(key):          `{"reasoning": "[credential]"} [credential]`,
		"in base64 " + base64.StdEncoding.EncodeToString([]byte(key)):   "in base64 [credential]",
		"twice " + key + key + hex.EncodeToString([]byte(key)) + ", so": "twice [credential][credential][credential], so",
	} {
		m := says(t, llm.Reply{Text: said, Reasoning: "I was given " + key, Booleans: []record.Boolean{{At: 1}}, Model: "gpt-" + key, Finish: key}, settings)
		reply, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Logprobs: true}})
		if err != nil || reply.Model != "gpt-[credential]" || reply.Finish != "[credential]" || reply.Reasoning != "I was given [credential]" || reply.Text != want {
			t.Errorf("%+v %v", reply, err)
		}
		if kept := len(reply.Booleans) == 1; kept != (said == want) {
			t.Errorf("%q: places in the text are kept: %v", said, kept)
		}
	}
}

// Would fail if a reply had probabilities that nobody asked for: a server that
// sends them unasked would make a run with them of one without.
func TestBooleansOnlyWhereAsked(t *testing.T) {
	m := says(t, llm.Reply{Booleans: []record.Boolean{{At: 1}}}, provider.Settings{})
	for _, asked := range []bool{false, true} {
		reply, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Logprobs: asked}})
		if err != nil || (len(reply.Booleans) == 1) != asked {
			t.Errorf("asked %v: %+v %v", asked, reply, err)
		}
	}
}

// Would fail if a reply with a text could cost nothing because a server counts
// no tokens.
func TestCountsOfNothing(t *testing.T) {
	none := llm.Usage{InputTokens: new(0), OutputTokens: new(0), CachedTokens: new(0), ReasoningTokens: new(0)}
	for text, known := range map[string]bool{"UP": false, "": true} {
		reply, err := says(t, llm.Reply{Text: text, Usage: none}, provider.Settings{}).Generate(t.Context(), &llm.Request{})
		if err != nil || reply.Usage.InputTokens != nil || (reply.Usage.OutputTokens != nil) != known {
			t.Errorf("%q: %+v, %v", text, reply.Usage, err)
		}
	}
}
