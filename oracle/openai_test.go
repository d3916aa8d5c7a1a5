package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

func openaiOurs(t *testing.T, o chat.Options, base string) *provider.Model {
	t.Helper()
	o.Name, o.Model, o.URL, o.Key = "openai/m", "m", base+"/v1/chat/completions", key
	c, err := chat.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func openaiTheirs(base string) sdk.Client {
	return sdk.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func TestOpenAIRequests(t *testing.T) {
	text := []llm.Part{llm.Text("Legend <S> & F.\n"), llm.Text("Row 0: “…”\n"), llm.Text("Which way?")}
	vision := []llm.Part{llm.Text("Legend.\n"), picture(t), llm.Text("Which way?")}
	asked := []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Legend <S> & F.\nRow 0: “…”\nWhich way?")}
	seen := func(detail string) []sdk.ChatCompletionMessageParamUnion {
		return []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
			sdk.TextContentPart("Legend.\n"),
			sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixels, Detail: detail}),
			sdk.TextContentPart("Which way?"),
		})}
	}
	extra := sdk.ChatCompletionNewParams{Model: "m", Messages: asked}
	extra.SetExtraFields(map[string]any{"enable_thinking": false})
	for _, c := range []struct {
		name   string
		opts   chat.Options
		ours   llm.Request
		theirs sdk.ChatCompletionNewParams
	}{
		{"text", chat.Options{}, llm.Request{Parts: text}, sdk.ChatCompletionNewParams{Model: "m", Messages: asked}},
		{"sampling", chat.Options{}, llm.Request{Parts: text, Params: llm.Params{Temperature: ptr(0.), TopP: ptr(0.5)}},
			sdk.ChatCompletionNewParams{Model: "m", Messages: asked, Temperature: sdk.Float(0), TopP: sdk.Float(0.5)}},
		{"cap", chat.Options{}, llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.ChatCompletionNewParams{Model: "m", Messages: asked, MaxTokens: sdk.Int(100)}},
		{"completion cap", chat.Options{CompletionCap: true}, llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.ChatCompletionNewParams{Model: "m", Messages: asked, MaxCompletionTokens: sdk.Int(100)}},
		{"picture", chat.Options{}, llm.Request{Parts: vision}, sdk.ChatCompletionNewParams{Model: "m", Messages: seen("")}},
		{"detail", chat.Options{Settings: provider.Settings{Detail: "high"}}, llm.Request{Parts: vision}, sdk.ChatCompletionNewParams{Model: "m", Messages: seen("high")}},
		{"schema", chat.Options{}, llm.Request{Parts: text, Schema: actionSchema}, sdk.ChatCompletionNewParams{Model: "m", Messages: asked,
			ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "action", Strict: sdk.Bool(true), Schema: schemaMap(t)},
			}}}},
		{"logprobs", chat.Options{TopLogprobs: 20}, llm.Request{Parts: text, Params: llm.Params{Logprobs: true}},
			sdk.ChatCompletionNewParams{Model: "m", Messages: asked, Logprobs: sdk.Bool(true), TopLogprobs: sdk.Int(20)}},
		{"extra body", chat.Options{Settings: provider.Settings{ExtraBody: json.RawMessage(`{"enable_thinking": false}`)}}, llm.Request{Parts: text}, extra},
	} {
		t.Run(c.name, func(t *testing.T) {
			Twins(t, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"UP"},"finish_reason":"stop"}]}`,
				func(base string) error {
					_, err := openaiOurs(t, c.opts, base).Generate(t.Context(), &c.ours)
					return err
				},
				func(base string) error {
					client := openaiTheirs(base)
					_, err := client.Chat.Completions.New(t.Context(), c.theirs)
					return err
				})
		})
	}
}

func TestOpenAIAnswers(t *testing.T) {
	Answers(t, "chat", 45, map[string]string{
		"two-objects":       "more than one object is no answer to us",
		"usage-null":        "a count of none for a reply with text is no count to us",
		"usage-odd":         "a negative count is no count to us",
		"usage-other-names": "we know the names of other servers as well",
		"usage-cache-write": "we know a router's name for tokens written to the cache",
	},
		func(base string) read {
			return readOurs(openaiOurs(t, chat.Options{}, base).Generate(t.Context(), &llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("x")}, Params: llm.Params{Logprobs: true}}))
		},
		func(base string, ar *Recorded) (read, bool) {
			client := openaiTheirs(base)
			c, err := client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("x")}})
			for _, filter := range []string{"content_filter", "data_inspection_failed", "1301", "flagged"} {
				if ar.Status >= 400 && ar.Says(filter) { // which is an outcome to us, not a failure
					return read{}, false
				}
			}
			return readOpenAI(c, err)
		})
}

// readOpenAI says what came of a call of the official client. It does not know
// what other servers have added: thinking in three places, their own reasons of
// an end, errors with a status of success.
func readOpenAI(c *sdk.ChatCompletion, err error) (read, bool) {
	var failed *sdk.Error
	switch {
	case errors.As(err, &failed):
		return read{Failure: strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", failed.StatusCode, failed.Message), ": ")}, failed.StatusCode/100 != 3
	case err != nil:
		return read{Failure: err.Error()}, false
	case len(c.Choices) == 0:
		return read{}, false
	}
	m := c.Choices[0].Message
	_, failedIn200 := c.JSON.ExtraFields["error"]
	_, failedChoice := c.Choices[0].JSON.ExtraFields["error"]
	r := read{Text: m.Content, Finish: string(c.Choices[0].FinishReason), Model: string(c.Model)}
	if r.Text == "" {
		r.Text = m.Refusal
	}
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if f, ok := m.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &s) == nil && r.Reasoning == "" {
			r.Reasoning = s
		}
	}
	var tokens provider.Tokens
	for _, l := range c.Choices[0].Logprobs.Content {
		t := provider.Token{TokenChoice: token(l.Token, l.Bytes, l.Logprob)}
		for _, other := range l.TopLogprobs {
			t.Others = append(t.Others, token(other.Token, other.Bytes, other.Logprob))
		}
		tokens = append(tokens, t)
	}
	r.Booleans = booleans(tokens.Booleans(r.Text))
	known := (m.JSON.Content.Valid() || m.JSON.Refusal.Valid()) && !failedIn200 && !failedChoice
	switch r.Finish {
	case "stop", "length", "content_filter", "tool_calls", "":
	default:
		known = false
	}
	u := c.Usage
	var counts usage
	counts.add("input", count(u.PromptTokens, u.JSON.PromptTokens.Valid()))
	counts.add("cached", count(u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.JSON.CachedTokens.Valid()))
	counts.add("output", count(u.CompletionTokens, u.JSON.CompletionTokens.Valid()))
	counts.add("reasoning", count(u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokensDetails.JSON.ReasoningTokens.Valid()))
	r.Usage = strings.Join(counts, ", ")
	return r, known
}
