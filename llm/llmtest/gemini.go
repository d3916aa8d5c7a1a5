package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// gemini is the generateContent protocol of Google's Gemini API. It refuses
// members that it does not know, as Google's servers do.
type gemini struct{}

// generate is what a path of this protocol ends with, behind the model.
const generate = ":generateContent"

func (gemini) read(r *http.Request, body []byte, p *prompt) (model string, problem *refusal) {
	type part struct {
		Text       *string `json:"text"`
		InlineData *struct {
			MimeType string `json:"mimeType"`
			Data     string `json:"data"`
		} `json:"inlineData"`
	}
	var q struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		} `json:"contents"`
		GenerationConfig struct {
			MaxOutputTokens int             `json:"maxOutputTokens"`
			Temperature     *float64        `json:"temperature"`
			TopP            *float64        `json:"topP"`
			MimeType        string          `json:"responseMimeType"`
			Schema          json.RawMessage `json:"responseJsonSchema"`
			MediaResolution string          `json:"mediaResolution"`
			Logprobs        bool            `json:"responseLogprobs"`
			TopLogprobs     int             `json:"logprobs"`
			Thinking        *struct {
				Budget  *int   `json:"thinkingBudget"`
				Level   string `json:"thinkingLevel"`
				Include bool   `json:"includeThoughts"`
			} `json:"thinkingConfig"`
		} `json:"generationConfig"`
		SafetySettings json.RawMessage `json:"safetySettings"`
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return "", refuse("", "Invalid JSON payload received. %v: Cannot find field.", err)
	}
	config := &q.GenerationConfig
	switch {
	case len(q.Contents) == 0:
		return "", refuse("", "* GenerateContentRequest.contents: contents is not specified")
	case len(config.Schema) > 0 && config.MimeType != "application/json":
		return "", refuse("", "response_json_schema is only supported with response_mime_type application/json")
	case config.TopLogprobs < 0 || config.TopLogprobs > 20:
		return "", refuse("", "* GenerateContentRequest.generation_config.logprobs: must be between 0 and 20")
	case config.TopLogprobs > 0 && !config.Logprobs:
		return "", refuse("", "* GenerateContentRequest.generation_config.logprobs: response_logprobs must be true when it is set")
	case config.Thinking != nil && config.Thinking.Budget != nil && config.Thinking.Level != "":
		return "", refuse("", "You can only set only one of thinking budget and thinking level.")
	}
	p.cap = config.MaxOutputTokens
	p.logprobs = config.Logprobs
	for i, content := range q.Contents {
		for j, part := range content.Parts {
			switch {
			case part.Text != nil:
				p.request.Parts = append(p.request.Parts, llm.Text(*part.Text))
			case part.InlineData == nil || part.InlineData.MimeType != "image/png":
				return "", refuse("", "contents[%d].parts[%d]: neither a text nor a PNG", i, j)
			default:
				if err := p.addPNG(part.InlineData.Data); err != nil {
					return "", refuse("", "contents[%d].parts[%d]: %v", i, j, err)
				}
			}
		}
	}
	_, model, _ = strings.Cut(r.URL.Path, "/models/")
	return strings.TrimSuffix(model, generate), nil
}

// refuseParam refuses in Google's words. Names of Chat Completions stand for
// what asks for the same here.
func (gemini) refuseParam(param string, members map[string]json.RawMessage) *refusal {
	switch param {
	case "response_format":
		param = "responseJsonSchema"
	case "max_tokens", "max_completion_tokens":
		param = "maxOutputTokens"
	case "top_p":
		param = "topP"
	case "logprobs":
		param = "responseLogprobs"
	case "thinking":
		param = "thinkingConfig"
	}
	var config map[string]json.RawMessage
	_ = json.Unmarshal(members["generationConfig"], &config) // none
	if _, ok := config[param]; !ok {
		return nil
	}
	switch param {
	case "responseJsonSchema":
		return refuse("", "JSON mode is not enabled for this model")
	case "responseLogprobs":
		return refuse("", "Logprobs is not enabled for this model")
	case "thinkingConfig":
		return refuse("", "Thinking is not enabled for this model")
	}
	return refuse("", "Invalid JSON payload received. Unknown name %q at 'generation_config': Cannot find field.", param)
}

func (gemini) refuse(r *refusal) *response {
	status := "INVALID_ARGUMENT"
	switch r.status {
	case http.StatusUnauthorized:
		status = "UNAUTHENTICATED"
	case http.StatusNotFound:
		status = "NOT_FOUND"
	case http.StatusInternalServerError:
		status = "INTERNAL"
	}
	return geminiError(r.status, r.status, r.Message, status)
}

const googleQuota = "You exceeded your current quota, please check your plan and billing details."

func (gemini) failure(f Fault) *response {
	switch f {
	case Overloaded:
		return geminiError(http.StatusServiceUnavailable, http.StatusServiceUnavailable, "The model is overloaded. Please try again later.", "UNAVAILABLE")
	case Failure:
		return geminiError(http.StatusInternalServerError, http.StatusInternalServerError, "An internal error has occurred. Please retry.", "INTERNAL")
	case Quota:
		return geminiError(http.StatusTooManyRequests, http.StatusTooManyRequests, googleQuota, "RESOURCE_EXHAUSTED",
			quotaFailure("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))
	case BadKey:
		return geminiError(http.StatusBadRequest, http.StatusBadRequest, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT",
			map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
	case NoModel:
		return geminiError(http.StatusNotFound, http.StatusNotFound, "models/no-such-model is not found for API version v1beta, or is not supported for generateContent.", "NOT_FOUND")
	case TooLong:
		return geminiError(http.StatusBadRequest, http.StatusBadRequest, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "INVALID_ARGUMENT")
	case ErrorObject:
		return geminiError(http.StatusOK, http.StatusBadGateway, "The provider behind this one returned an error.", "UNAVAILABLE")
	}
	return geminiError(http.StatusTooManyRequests, http.StatusTooManyRequests, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED")
}

// rateLimit refuses for now and says in the body, not in a header, how long.
func (gemini) rateLimit(wait time.Duration) *response {
	return geminiError(http.StatusTooManyRequests, http.StatusTooManyRequests, googleQuota, "RESOURCE_EXHAUSTED",
		quotaFailure("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
		map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", wait.Seconds())})
}

func quotaFailure(id string) map[string]any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{
		"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": id, "quotaValue": "10",
	}}}
}

func geminiError(status, code int, message, word string, details ...any) *response {
	e := map[string]any{"code": code, "message": message, "status": word}
	if len(details) > 0 {
		e["details"] = details
	}
	return inJSON(status, map[string]any{"error": e})
}

func (gemini) reply(p *prompt, said *said, f Fault) any {
	finish := "STOP"
	switch said.finish {
	case llm.FinishLength:
		finish = "MAX_TOKENS"
	case llm.FinishContentFilter:
		finish = "SAFETY"
	}
	content := map[string]any{"role": "model"}
	if said.text != "" {
		content["parts"] = []any{map[string]any{"text": said.text}}
	}
	usage := map[string]any{"promptTokenCount": promptTokens(p.request), "totalTokenCount": promptTokens(p.request) + said.tokens}
	if said.tokens > 0 { // a count of none is left out
		usage["candidatesTokenCount"] = said.tokens
	}
	m := map[string]any{"modelVersion": p.control.Name(), "responseId": "rehearsal", "usageMetadata": usage}
	if f == NullContent {
		m["candidates"] = []any{map[string]any{"content": nil, "finishReason": finish, "index": 0}}
	} else if f != NoChoices {
		candidate := map[string]any{"content": content, "finishReason": finish, "index": 0}
		if p.logprobs && said.certainty > 0 {
			candidate["logprobsResult"] = googleTokens(said.text, said.certainty)
		}
		m["candidates"] = []any{candidate}
	}
	return m
}

// googleTokens are a text's tokens as Google writes them: those that were
// chosen, and beside them the likeliest in each place.
func googleTokens(text string, certainty float64) map[string]any {
	one := func(t *wireToken) map[string]any {
		return map[string]any{"token": t.Token, "tokenId": 0, "logProbability": t.Logprob}
	}
	chosen, top := []any{}, []any{}
	for _, t := range tokens(text, certainty) {
		var candidates []any
		for i := range t.Top {
			candidates = append(candidates, one(&t.Top[i]))
		}
		chosen, top = append(chosen, one(&t)), append(top, map[string]any{"candidates": candidates})
	}
	return map[string]any{"chosenCandidates": chosen, "topCandidates": top}
}
