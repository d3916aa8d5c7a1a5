package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
)

func anthropicOurs(t *testing.T, base string) *anthropic.Client {
	t.Helper()
	c, err := anthropic.New(anthropic.Options{Name: "anthropic/m", Model: "m", URL: base + "/v1/messages", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func anthropicTheirs(base string) sdk.Client {
	return sdk.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func TestAnthropicRequests(t *testing.T) {
	marked := func(b sdk.ContentBlockParamUnion) sdk.ContentBlockParamUnion {
		mark := sdk.NewCacheControlEphemeralParam()
		if b.OfText != nil {
			b.OfText.CacheControl = mark
		} else {
			b.OfImage.CacheControl = mark
		}
		return b
	}
	user := func(blocks ...sdk.ContentBlockParamUnion) []sdk.MessageParam {
		return []sdk.MessageParam{sdk.NewUserMessage(blocks...)}
	}
	text := []llm.Part{llm.Text("Legend <S> & F.\n"), llm.Text("Row 0: “…”\n"), llm.Text("Which way?")}
	vision := []llm.Part{llm.Text("Legend.\n"), picture(t), llm.Text("Which way?")}
	joined := sdk.NewTextBlock("Legend <S> & F.\nRow 0: “…”\nWhich way?")
	image := sdk.NewImageBlockBase64("image/png", pixels)
	for _, c := range []struct {
		name   string
		ours   llm.Request
		theirs sdk.MessageNewParams
	}{
		{"text", llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(joined)}},
		{"default cap", llm.Request{Parts: text},
			sdk.MessageNewParams{Model: "m", MaxTokens: int64(provider.DefaultCap(&llm.Request{Parts: text})), Messages: user(joined)}},
		{"sampling", llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100), Temperature: ptr(0.), TopP: ptr(0.5)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(joined), Temperature: sdk.Float(0), TopP: sdk.Float(0.5)}},
		{"picture", llm.Request{Parts: vision, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(sdk.NewTextBlock("Legend.\n"), image, sdk.NewTextBlock("Which way?"))}},
		{"cache marks", llm.Request{Parts: vision, Shared: []int{1, 2}, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(
				marked(sdk.NewTextBlock("Legend.\n")), marked(sdk.NewImageBlockBase64("image/png", pixels)), sdk.NewTextBlock("Which way?"))}},
		{"schema", llm.Request{Parts: text, Schema: actionSchema, Params: llm.Params{MaxTokens: ptr(100)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(joined),
				OutputConfig: sdk.OutputConfigParam{Format: sdk.JSONOutputFormatParam{Schema: schemaMap(t)}}}},
		{"thinking", llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(4096), Thinking: ptr(2048)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 4096, Messages: user(joined),
				Thinking: sdk.ThinkingConfigParamUnion{OfEnabled: &sdk.ThinkingConfigEnabledParam{BudgetTokens: 2048}}}},
		{"no thinking", llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100), Thinking: ptr(0)}},
			sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: user(joined),
				Thinking: sdk.ThinkingConfigParamUnion{OfDisabled: ptr(sdk.NewThinkingConfigDisabledParam())}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			Twins(t, `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"UP"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
				func(base string) error {
					_, err := anthropicOurs(t, base).Generate(t.Context(), &c.ours)
					return err
				},
				func(base string) error {
					client := anthropicTheirs(base)
					_, err := client.Messages.New(t.Context(), c.theirs)
					return err
				})
		})
	}
}

// The form of thinking that a server asks for in place of a budget.
func TestAnthropicAdaptive(t *testing.T) {
	want := sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}}
	ours := func(base string) error {
		c := anthropicOurs(t, base)
		_, err := c.Generate(t.Context(), &llm.Request{Parts: []llm.Part{llm.Text("x")}, Params: llm.Params{MaxTokens: ptr(4096), Thinking: ptr(2048)}})
		return err
	}
	Twins(t, `{"type":"message","content":[{"type":"text","text":"UP"}],"stop_reason":"end_turn"}`,
		func(base string) error { return throughRefusal(t, base, ours) },
		func(base string) error {
			client := anthropicTheirs(base)
			_, err := client.Messages.New(t.Context(), sdk.MessageNewParams{Model: "m", MaxTokens: 4096, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("x"))}, Thinking: want})
			return err
		})
}

func TestAnthropicAnswers(t *testing.T) {
	Answers(t, "anthropic", 55, map[string]string{
		"two-objects": "more than one object is no answer to us",
		"usage-odd":   "a negative count, or one in quotes, is no count to us",
		"number-text": "a number is no text to us",
	},
		func(base string) read {
			return readOurs(anthropicOurs(t, base).Generate(t.Context(), &llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("x")}}))
		},
		func(base string, ar *Recorded) (read, bool) {
			client := anthropicTheirs(base)
			m, err := client.Messages.New(t.Context(), sdk.MessageNewParams{Model: "m", MaxTokens: 9, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("x"))}})
			if ar.Says("content filtering policy") { // which is an outcome to us, not a failure
				return read{}, false
			}
			return readAnthropic(m, err)
		})
}

// readAnthropic says what came of a call of the official client. It does not
// know answers that are no message: it makes an empty one of them.
func readAnthropic(m *sdk.Message, err error) (read, bool) {
	var failed *sdk.Error
	switch {
	case errors.As(err, &failed):
		return read{Failure: strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", failed.StatusCode, said(failed)), ": ")}, failed.StatusCode/100 != 3
	case err != nil:
		return read{Failure: err.Error()}, false
	case m.Type != "message" || !m.JSON.Content.Valid():
		return read{}, false
	}
	r := read{Finish: string(m.StopReason), Model: string(m.Model)}
	known := len(m.Content) == 0
	var thoughts []string
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case sdk.TextBlock:
			r.Text += b.Text
			known = known || b.JSON.Text.Valid()
		case sdk.ThinkingBlock:
			known = true
			if b.Thinking != "" {
				thoughts = append(thoughts, b.Thinking)
			}
		case sdk.RedactedThinkingBlock:
			known = true
		}
	}
	r.Reasoning = strings.Join(thoughts, "\n")
	switch m.StopReason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		r.Finish = string(llm.FinishStop)
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		r.Finish = string(llm.FinishLength)
	case sdk.StopReasonRefusal:
		if r.Text == "" {
			r.Text = m.StopDetails.Explanation
		}
	case "":
		known = known && len(m.Content) > 0
	}
	u := m.Usage
	var all *int
	if u.JSON.InputTokens.Valid() {
		all = count(u.InputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens, true)
	}
	var counts usage
	counts.add("input", all)
	counts.add("cached", count(u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid()))
	counts.add("cache write", count(u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid()))
	counts.add("output", count(u.OutputTokens, u.JSON.OutputTokens.Valid()))
	counts.add("reasoning", count(u.OutputTokensDetails.ThinkingTokens, u.OutputTokensDetails.JSON.ThinkingTokens.Valid()))
	r.Usage = strings.Join(counts, ", ")
	return r, known
}

// said returns the message of an error of the official client.
func said(failed *sdk.Error) string {
	var body sdk.ErrorResponse
	if json.Unmarshal([]byte(failed.RawJSON()), &body) != nil {
		return ""
	}
	return body.Error.Message
}

// throughRefusal calls a server that refuses budgets of thinking and passes all
// else on to base.
func throughRefusal(t *testing.T, base string, call func(base string) error) error {
	t.Helper()
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte("budget_tokens")) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\"."}}`)
			return
		}
		on, err := http.NewRequestWithContext(r.Context(), r.Method, base+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		on.Header = r.Header
		resp, err := http.DefaultClient.Do(on)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(w, resp.Body)
	}))
	defer gate.Close()
	return call(gate.URL)
}
