package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/ollama/ollama/api"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

// ollamaOurs has no key: the official client signs its requests to Ollama's own
// servers and sends nothing to others, where ours sends a key that a gate wants.
func ollamaOurs(t *testing.T, s provider.Settings, base string) *ollama.Client {
	t.Helper()
	c, err := ollama.New(ollama.Options{Name: "ollama/m", Model: "m", URL: base + "/api/chat", Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ollamaTheirs makes a call by the official client and returns what it was told,
// an element for each part of a stream.
func ollamaTheirs(t *testing.T, base string, req *sdk.ChatRequest) ([]sdk.ChatResponse, error) {
	t.Helper()
	t.Setenv("OLLAMA_AUTH", "") // it signs nothing
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer stay.CloseIdleConnections()
	var told []sdk.ChatResponse
	err = sdk.NewClient(at, stay).Chat(t.Context(), req, func(r sdk.ChatResponse) error {
		told = append(told, r)
		return nil
	})
	return told, err
}

// Would fail if a request were written otherwise than the official client
// writes it. The context size, the cap, and that nothing is to be cut or
// forgotten without a word are our own choices in every request.
func TestOllamaRequests(t *testing.T) {
	user := func(text string, pictures ...sdk.ImageData) []sdk.Message {
		return []sdk.Message{{Role: "user", Content: text, Images: pictures}}
	}
	options := func(more ...any) map[string]any {
		o := map[string]any{"num_ctx": 4096, "num_predict": 100}
		for i := 0; i < len(more); i += 2 {
			o[more[i].(string)] = more[i+1]
		}
		return o
	}
	text := []llm.Part{llm.Text("Legend <S> & F.\n"), llm.Text("Row 0: “…”\n"), llm.Text("Which way?")}
	vision := []llm.Part{llm.Text("Legend.\n"), picture(t), llm.Text("Which way?")}
	asked := user("Legend <S> & F.\nRow 0: “…”\nWhich way?")
	png := picture(t)
	capped := llm.Params{MaxTokens: ptr(100)}
	with := func(set func(p *llm.Params)) llm.Params {
		p := capped
		set(&p)
		return p
	}
	for _, c := range []struct {
		name   string
		opts   provider.Settings
		ours   llm.Request
		theirs sdk.ChatRequest
	}{
		{"cap", provider.Settings{}, llm.Request{Parts: text, Params: capped}, sdk.ChatRequest{Messages: asked, Options: options()}},
		{"default cap", provider.Settings{}, llm.Request{Parts: text}, sdk.ChatRequest{Messages: asked, Options: options("num_ctx", 16384, "num_predict", 8192)}},
		{"sampling", provider.Settings{}, llm.Request{Parts: text, Params: with(func(p *llm.Params) { p.Temperature, p.TopP = ptr(0.), ptr(0.5) })},
			sdk.ChatRequest{Messages: asked, Options: options("temperature", 0, "top_p", 0.5)}},
		{"picture", provider.Settings{}, llm.Request{Parts: vision, Params: capped},
			sdk.ChatRequest{Messages: user("Legend.\nWhich way?", png.PNG()), Options: options()}},
		{"schema", provider.Settings{}, llm.Request{Parts: text, Schema: actionSchema, Params: capped},
			sdk.ChatRequest{Messages: asked, Format: actionSchema.JSON, Options: options()}},
		{"thinking", provider.Settings{}, llm.Request{Parts: text, Params: with(func(p *llm.Params) { p.Thinking = ptr(2048) })},
			sdk.ChatRequest{Messages: asked, Think: &sdk.ThinkValue{Value: true}, Options: options()}},
		{"no thinking", provider.Settings{}, llm.Request{Parts: text, Params: with(func(p *llm.Params) { p.Thinking = ptr(0) })},
			sdk.ChatRequest{Messages: asked, Think: &sdk.ThinkValue{Value: false}, Options: options()}},
		{"logprobs", provider.Settings{}, llm.Request{Parts: text, Params: with(func(p *llm.Params) { p.Logprobs = true })},
			sdk.ChatRequest{Messages: asked, Logprobs: true, TopLogprobs: 20, Options: options()}},
		{"extra body", provider.Settings{ExtraBody: json.RawMessage(`{"keep_alive": -1, "think": "high", "options": {"num_ctx": 32768, "min_p": 0.05}}`)},
			llm.Request{Parts: text, Params: with(func(p *llm.Params) { p.Thinking = ptr(2048) })},
			sdk.ChatRequest{Messages: asked, KeepAlive: &sdk.Duration{Duration: -1}, Think: &sdk.ThinkValue{Value: "high"}, Options: options("num_ctx", 32768, "min_p", 0.05)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.theirs.Model, c.theirs.Stream, c.theirs.Truncate, c.theirs.Shift = "m", ptr(false), ptr(false), ptr(false)
			Twins(t, `{"model":"m","message":{"role":"assistant","content":"UP"},"done":true,"done_reason":"stop"}`,
				func(base string) error {
					_, err := ollamaOurs(t, c.opts, base).Generate(t.Context(), &c.ours)
					return err
				},
				func(base string) error {
					_, err := ollamaTheirs(t, base, &c.theirs)
					return err
				})
		})
	}
}

// Would fail if an answer were read otherwise than the official client reads it.
func TestOllamaAnswers(t *testing.T) {
	Answers(t, "ollama", 37, map[string]string{
		"at-the-cap":   "a reply of as many tokens as the cap was cut at it, though older servers say stop",
		"cached-apart": "where more was cached than counted, the server counts what was cached apart",
		"load":         "a server that has loaded the model has not answered",
		"unload":       "a server that has unloaded the model has not answered",
		"no-message":   "a message that is not there is no empty reply",
		"null-content": "a text that is not there is no empty reply",
		"not-done":     "a part of a stream, which we do not ask for, is no whole reply",
		"stream":       "a stream, which we do not ask for, is no answer",
	},
		func(base string) read {
			return readOurs(ollamaOurs(t, provider.Settings{}, base).Generate(t.Context(),
				&llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("x")}, Params: llm.Params{MaxTokens: ptr(100), Logprobs: true}}))
		},
		func(base string, ar *Recorded) (read, bool) {
			told, err := ollamaTheirs(t, base, &sdk.ChatRequest{Model: "m", Messages: []sdk.Message{{Role: "user", Content: "x"}}, Stream: ptr(false)})
			return readOllama(told, err, ar)
		})
}

// readOllama says what came of a call of the official client. It passes on as an
// error whatever it cannot read, makes a response of any object, and zero of a
// count that was left out, as the server leaves out one of zero.
func readOllama(told []sdk.ChatResponse, err error, ar *Recorded) (read, bool) {
	var failed sdk.StatusError
	var denied sdk.AuthorizationError
	switch {
	case errors.As(err, &denied):
		return read{Failure: fmt.Sprintf("HTTP %d", denied.StatusCode)}, true // it keeps no words
	case errors.As(err, &failed):
		said := fmt.Sprintf("HTTP %d", failed.StatusCode)
		if m := failed.ErrorMessage; m != "" && !strings.ContainsAny(m[:1], "{<") { // a body of a form that it does not know
			said += ": " + m
		}
		return read{Failure: said}, true
	case err != nil:
		words, _ := json.Marshal(err.Error())
		return read{Failure: err.Error()}, ar.Says(`"error": ` + string(words))
	case len(told) == 0 || told[0].Model == "":
		return read{}, false
	}
	last := told[len(told)-1]
	r := read{Model: last.Model, Finish: last.DoneReason}
	var tokens provider.Tokens
	for _, part := range told {
		r.Text += part.Message.Content
		r.Reasoning += part.Message.Thinking
		for _, l := range part.Logprobs {
			t := provider.Token{TokenChoice: token(l.Token, l.Bytes, l.Logprob)}
			for _, other := range l.TopLogprobs {
				t.Others = append(t.Others, token(other.Token, other.Bytes, other.Logprob))
			}
			tokens = append(tokens, t)
		}
	}
	r.Booleans = booleans(tokens.Booleans(r.Text))
	var counts usage
	counts.add("input", count(int64(last.PromptEvalCount), last.PromptEvalCount != 0))
	counts.add("cached", last.PromptEvalCachedCount)
	counts.add("output", count(int64(last.EvalCount), last.EvalCount != 0))
	r.Usage = strings.Join(counts, ", ")
	return r, true
}
