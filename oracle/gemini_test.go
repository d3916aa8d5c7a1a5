package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "google.golang.org/genai"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
)

func geminiOurs(t *testing.T, o gemini.Options, base string) *provider.Model {
	t.Helper()
	o.Name, o.URL, o.Key = "google/m", base, key
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := gemini.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func geminiTheirs(t *testing.T, base string) *sdk.Client {
	t.Helper()
	c, err := sdk.NewClient(t.Context(), &sdk.ClientConfig{APIKey: key, Backend: sdk.BackendGeminiAPI, HTTPOptions: sdk.HTTPOptions{BaseURL: base}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Would fail if a request were written otherwise than the official client
// writes it: addressed to another place, with the key elsewhere than in its
// header, or with a parameter that the server does not read.
func TestGeminiRequests(t *testing.T) {
	user := func(parts ...*sdk.Part) []*sdk.Content {
		return []*sdk.Content{sdk.NewContentFromParts(parts, sdk.RoleUser)}
	}
	text := []llm.Part{llm.Text("Legend <S> & F.\n"), llm.Text("Row 0: “…”\n"), llm.Text("Which way?")}
	vision := []llm.Part{llm.Text("Legend.\n"), picture(t), llm.Text("Which way?")}
	asked := user(sdk.NewPartFromText("Legend <S> & F.\nRow 0: “…”\nWhich way?"))
	png := picture(t)
	seen := user(sdk.NewPartFromText("Legend.\n"), sdk.NewPartFromBytes(png.PNG(), "image/png"), sdk.NewPartFromText("Which way?"))
	for _, c := range []struct {
		name     string
		opts     gemini.Options
		ours     llm.Request
		contents []*sdk.Content
		config   *sdk.GenerateContentConfig
	}{
		{"text", gemini.Options{}, llm.Request{Parts: text}, asked, nil},
		{"model with its collection", gemini.Options{Model: "models/m"}, llm.Request{Parts: text}, asked, nil},
		{"tuned model", gemini.Options{Model: "tunedModels/m"}, llm.Request{Parts: text}, asked, nil},
		{"cap", gemini.Options{}, llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100)}}, asked, &sdk.GenerateContentConfig{MaxOutputTokens: 100}},
		{"sampling", gemini.Options{}, llm.Request{Parts: text, Params: llm.Params{Temperature: ptr(0.), TopP: ptr(0.5)}}, asked,
			&sdk.GenerateContentConfig{Temperature: sdk.Ptr[float32](0), TopP: sdk.Ptr[float32](0.5)}},
		{"picture", gemini.Options{}, llm.Request{Parts: vision}, seen, nil},
		{"detail", gemini.Options{Settings: provider.Settings{Detail: "low"}}, llm.Request{Parts: vision}, seen,
			&sdk.GenerateContentConfig{MediaResolution: sdk.MediaResolutionLow}},
		{"schema", gemini.Options{}, llm.Request{Parts: text, Schema: actionSchema}, asked,
			&sdk.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: schemaMap(t)}},
		{"thinking", gemini.Options{}, llm.Request{Parts: text, Params: llm.Params{Thinking: ptr(2048)}}, asked,
			&sdk.GenerateContentConfig{ThinkingConfig: &sdk.ThinkingConfig{ThinkingBudget: sdk.Ptr[int32](2048), IncludeThoughts: true}}},
		{"no thinking", gemini.Options{}, llm.Request{Parts: text, Params: llm.Params{Thinking: ptr(0)}}, asked,
			&sdk.GenerateContentConfig{ThinkingConfig: &sdk.ThinkingConfig{ThinkingBudget: sdk.Ptr[int32](0)}}},
		{"logprobs", gemini.Options{}, llm.Request{Parts: text, Params: llm.Params{Logprobs: true}}, asked,
			&sdk.GenerateContentConfig{ResponseLogprobs: true, Logprobs: sdk.Ptr[int32](20)}},
		{"extra body", gemini.Options{Settings: provider.Settings{ExtraBody: json.RawMessage(
			`{"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}], "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}, "topK": 20}}`)}},
			llm.Request{Parts: text, Params: llm.Params{MaxTokens: ptr(100), Thinking: ptr(2048)}}, asked,
			&sdk.GenerateContentConfig{MaxOutputTokens: 100, TopK: sdk.Ptr[float32](20), ThinkingConfig: &sdk.ThinkingConfig{ThinkingLevel: sdk.ThinkingLevelLow},
				SafetySettings: []*sdk.SafetySetting{{Category: sdk.HarmCategoryHarassment, Threshold: sdk.HarmBlockThresholdOff}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			Twins(t, `{"candidates":[{"content":{"role":"model","parts":[{"text":"UP"}]},"finishReason":"STOP"}]}`,
				func(base string) error {
					_, err := geminiOurs(t, c.opts, base).Generate(t.Context(), &c.ours)
					return err
				},
				func(base string) error {
					model := c.opts.Model
					if model == "" {
						model = "m"
					}
					_, err := geminiTheirs(t, base).Models.GenerateContent(t.Context(), model, c.contents, c.config)
					return err
				})
		})
	}
}

// geminiAsk is a call whose answer is compared, by both clients.
var geminiAsk = &llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("x")}, Params: llm.Params{MaxTokens: ptr(100), Logprobs: true}}

// geminiTold returns what the official client reads of an answer. It goes on
// with a reply that the server stopped at a limit of one request's only where
// it is told to: it never ends where each answer is the same.
func geminiTold(t *testing.T, base string, goOn bool) (r read, known bool) {
	defer func() {
		if recover() != nil { // at a member of another type than it knows
			r, known = read{}, false
		}
	}()
	return readGemini(geminiTheirs(t, base).Models.GenerateContent(t.Context(), "m", sdk.Text("x"), &sdk.GenerateContentConfig{AutomaticContinuation: &goOn}))
}

// Would fail if an answer were read otherwise than the official client reads it.
func TestGeminiAnswers(t *testing.T) {
	Answers(t, "gemini", 55, map[string]string{
		"at-the-cap":        "a reply of as many tokens as the cap was cut at it, though the server says STOP",
		"function-call":     "a call of a function, of which we offer none, is no reply",
		"stop-empty":        "a reply that is over without a part is a failure of the server, and asked for again",
		"stop-null-content": "a reply that is over without a part is a failure of the server, and asked for again",
	},
		func(base string) read {
			return readOurs(geminiOurs(t, gemini.Options{}, base).Generate(t.Context(), geminiAsk))
		},
		func(base string, _ *Recorded) (read, bool) { return geminiTold(t, base, false) })
}

// Would fail if a reason that the official client knows for the end of a reply,
// or for a blocked prompt, meant something else to us: if a reply that was cut
// were taken for whole, or a blocked prompt for a failure.
func TestGeminiReasons(t *testing.T) {
	bodies := map[string]string{}
	for _, reason := range []sdk.FinishReason{
		sdk.FinishReasonUnspecified, sdk.FinishReasonStop, sdk.FinishReasonMaxTokens, sdk.FinishReasonSafety, sdk.FinishReasonRecitation,
		sdk.FinishReasonLanguage, sdk.FinishReasonOther, sdk.FinishReasonBlocklist, sdk.FinishReasonProhibitedContent, sdk.FinishReasonSPII,
		sdk.FinishReasonMalformedFunctionCall, sdk.FinishReasonImageSafety, sdk.FinishReasonUnexpectedToolCall, sdk.FinishReasonTooManyToolCalls,
		sdk.FinishReasonImageProhibitedContent, sdk.FinishReasonNoImage, sdk.FinishReasonImageRecitation, sdk.FinishReasonImageOther,
		sdk.FinishReasonContinuation,
	} {
		bodies["finish "+string(reason)] = fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":"U"}]},"finishReason":%q}]}`, reason)
	}
	for _, reason := range []sdk.BlockedReason{
		sdk.BlockedReasonUnspecified, sdk.BlockedReasonSafety, sdk.BlockedReasonOther, sdk.BlockedReasonBlocklist, sdk.BlockedReasonProhibitedContent,
		sdk.BlockedReasonImageSafety, sdk.BlockedReasonModelArmor, sdk.BlockedReasonJailbreak,
	} {
		bodies["block "+string(reason)] = fmt.Sprintf(`{"promptFeedback":{"blockReason":%q}}`, reason)
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&Recorded{Status: http.StatusOK, Body: []byte(body)})
			defer server.Close()
			want, known := geminiTold(t, server.URL, false)
			got := readOurs(geminiOurs(t, gemini.Options{}, server.URL).Generate(t.Context(), geminiAsk))
			if diff := cmp.Diff(want, got); diff != "" || !known {
				t.Errorf("(-theirs +ours):\n%s", diff)
			}
		})
	}
}

// Would fail if our way of one request a call were lost on a reply that the
// server is ready to go on with. The official client asks again by itself and
// joins what comes; to us such a reply was cut, as one at the cap is, so that a
// call costs what it is counted for.
func TestGeminiContinuation(t *testing.T) {
	answers := []string{
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"U"}]},"finishReason":"CONTINUATION","continuationToken":"bW9yZQ=="}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"P"}]},"finishReason":"STOP"}]}`,
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answers[min(requests, 1)])
		requests++
	}))
	defer server.Close()
	if r, known := geminiTold(t, server.URL, true); !known || requests != 2 || r.Text != "UP" || r.Finish != string(llm.FinishStop) {
		t.Errorf("theirs: %d requests, %+v", requests, r)
	}
	requests = 0
	r := readOurs(geminiOurs(t, gemini.Options{}, server.URL).Generate(t.Context(), geminiAsk))
	if requests != 1 || r.Text != "U" || r.Finish != string(llm.FinishLength) {
		t.Errorf("ours: %d requests, %+v", requests, r)
	}
}

// readGemini says what came of a call of the official client. It makes an empty
// response of an answer that is none, an error with a status of success among
// them, and zero of a count that was left out.
func readGemini(resp *sdk.GenerateContentResponse, err error) (read, bool) {
	var failed sdk.APIError
	switch {
	case errors.As(err, &failed):
		return read{Failure: geminiSaid(&failed)}, true
	case err != nil:
		return read{Failure: err.Error()}, false
	}
	r := read{Model: resp.ModelVersion}
	if u := resp.UsageMetadata; u != nil {
		output := u.CandidatesTokenCount + u.ThoughtsTokenCount
		if output == 0 {
			output = u.TotalTokenCount - u.PromptTokenCount - u.ToolUsePromptTokenCount // it is the sum
		}
		var counts usage
		counts.add("input", count(int64(u.PromptTokenCount), u.PromptTokenCount != 0))
		counts.add("cached", count(int64(u.CachedContentTokenCount), u.CachedContentTokenCount != 0))
		counts.add("output", count(int64(output), u.TotalTokenCount != 0))
		counts.add("reasoning", count(int64(u.ThoughtsTokenCount), u.ThoughtsTokenCount != 0))
		r.Usage = strings.Join(counts, ", ")
	}
	if len(resp.Candidates) == 0 {
		r.Finish = string(llm.FinishContentFilter)
		return r, resp.PromptFeedback != nil && resp.PromptFeedback.BlockReason != ""
	}
	first := resp.Candidates[0]
	if first.Content != nil {
		for _, p := range first.Content.Parts {
			if p.Thought {
				r.Reasoning += p.Text
			} else {
				r.Text += p.Text
			}
		}
	}
	if l := first.LogprobsResult; l != nil {
		var tokens provider.Tokens
		for i, chosen := range l.ChosenCandidates {
			t := provider.Token{TokenChoice: token[int](chosen.Token, nil, float64(chosen.LogProbability))}
			if i < len(l.TopCandidates) {
				for _, other := range l.TopCandidates[i].Candidates {
					t.Others = append(t.Others, token[int](other.Token, nil, float64(other.LogProbability)))
				}
			}
			tokens = append(tokens, t)
		}
		r.Booleans = booleans(tokens.Booleans(r.Text))
	}
	switch first.FinishReason {
	case sdk.FinishReasonStop:
		r.Finish = string(llm.FinishStop)
	case sdk.FinishReasonMaxTokens, sdk.FinishReasonContinuation:
		r.Finish = string(llm.FinishLength)
	case sdk.FinishReasonSafety, sdk.FinishReasonRecitation, sdk.FinishReasonBlocklist, sdk.FinishReasonProhibitedContent, sdk.FinishReasonSPII,
		sdk.FinishReasonImageSafety, sdk.FinishReasonImageProhibitedContent, sdk.FinishReasonImageRecitation:
		r.Finish = string(llm.FinishContentFilter)
	case sdk.FinishReasonUnspecified:
	default:
		r.Finish = strings.ToLower(string(first.FinishReason))
	}
	return r, true
}

// geminiSaid writes an error of the official client as ours are written: which
// limits were exceeded stands before the message, which says it late.
func geminiSaid(failed *sdk.APIError) string {
	var limits []string
	add := func(limit any) {
		if text, ok := limit.(string); ok {
			limits = append(limits, text)
		}
	}
	for _, d := range failed.Details {
		if metadata, ok := d["metadata"].(map[string]any); ok {
			add(metadata["quota_limit"])
		}
		violations, _ := d["violations"].([]any)
		for _, v := range violations {
			if v, ok := v.(map[string]any); ok {
				add(v["quotaId"])
			}
		}
	}
	said := fmt.Sprintf("HTTP %d", failed.Code)
	if len(limits) > 0 {
		said += ": " + strings.Join(limits, ", ")
	}
	if failed.Message != "" && !strings.ContainsAny(failed.Message[:1], "{[<") { // a body of a form that it does not know
		said += ": " + failed.Message
	}
	return said
}
