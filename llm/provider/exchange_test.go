package provider_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// modelNamed is what is kept of the name that a server gives its model.
func modelNamed(t *testing.T, client *provider.Client, name string) string {
	t.Helper()
	x := provider.Exchange{
		Client: client,
		Encode: func(*llm.Request) ([]string, []byte) { return nil, []byte("{}") },
		Read:   func(*llm.Request, *provider.Answer) (*llm.Reply, error) { return &llm.Reply{Model: name}, nil },
	}
	reply, err := x.Generate(t.Context(), &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Model
}

// What a server says of its answer is kept in the run, and so is the answer; a
// key that either repeats must not be. A key that may be a word is left in
// answers, where it may be meant.
func TestNoSecretInWhatIsSaidOfAnAnswer(t *testing.T) {
	const key = "Basic c2VjcmV0LXdvcmQtb2Ytb3Vycw=="
	client, stop := serve(t, func(http.ResponseWriter, *http.Request) {}, provider.Settings{Header: map[string]string{"X-Key": key, "X-Local": "EMPTY"}})
	defer stop()
	var text string
	x := provider.Exchange{
		Client: client,
		Encode: func(*llm.Request) ([]string, []byte) { return nil, []byte("{}") },
		Read: func(*llm.Request, *provider.Answer) (*llm.Reply, error) {
			return &llm.Reply{Text: text, Reasoning: "I was given " + key, Booleans: []record.Boolean{{At: 1}}, Model: "gpt-" + key, Finish: key}, nil
		},
	}
	if name := modelNamed(t, client, "served\x1b[2J\x1b[31m\nspatialstale: all is well\u202e"); name != "served[2J[31mspatialstale: all is well" {
		t.Errorf("a name that steers a terminal is kept as %q", name)
	}
	if name := modelNamed(t, client, strings.Repeat("long", 1<<20)); len(name) != 200 {
		t.Errorf("a name of %d bytes is kept", len(name))
	}
	for said, want := range map[string]string{
		"words":                          "words",
		"an EMPTY cell with " + key[:12]: "an EMPTY cell with " + key[:12],
		`{"reasoning": "` + key + `"} ` + url.QueryEscape(key):          `{"reasoning": "[credential]"} [credential]`,
		"in base64 " + base64.StdEncoding.EncodeToString([]byte(key)):   "in base64 [credential]",
		"twice " + key + key + hex.EncodeToString([]byte(key)) + ", so": "twice [credential][credential][credential], so",
	} {
		text = said
		reply, err := x.Generate(t.Context(), &llm.Request{Params: llm.Params{Logprobs: true}})
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
	client, stop := serve(t, func(http.ResponseWriter, *http.Request) {}, provider.Settings{})
	defer stop()
	x := provider.Exchange{
		Client: client,
		Encode: func(*llm.Request) ([]string, []byte) { return nil, []byte("{}") },
		Read: func(*llm.Request, *provider.Answer) (*llm.Reply, error) {
			return &llm.Reply{Booleans: []record.Boolean{{At: 1}}}, nil
		},
	}
	for _, asked := range []bool{false, true} {
		reply, err := x.Generate(t.Context(), &llm.Request{Params: llm.Params{Logprobs: asked}})
		if err != nil || (len(reply.Booleans) == 1) != asked {
			t.Errorf("asked %v: %+v %v", asked, reply, err)
		}
	}
}
