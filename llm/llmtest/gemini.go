package llmtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

const googleQuota = "You exceeded your current quota, please check your plan and billing details."

// gemini is the generateContent protocol of Google's Gemini API. It refuses
// members that it does not know, as Google's servers do.
var gemini = dialect{
	path: ":generateContent", inner: "generationConfig",
	names: map[string]string{
		"response_format": "responseJsonSchema", "max_tokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens", "top_p": "topP",
		"logprobs": "responseLogprobs", "thinking": "thinkingConfig",
	},
	read: func(r *http.Request, body provider.Value, p *prompt) error {
		config := body.At("generationConfig")
		for object, known := range map[*provider.Value][]string{
			&body:   {"contents", "generationConfig", "safetySettings"},
			&config: {"maxOutputTokens", "temperature", "topP", "responseMimeType", "responseJsonSchema", "mediaResolution", "responseLogprobs", "logprobs", "thinkingConfig"},
		} {
			for _, name := range object.Names() {
				if !slices.Contains(known, name) {
					return refusal("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
				}
			}
		}
		contents, _ := body.At("contents").List()
		top := number(config.At("logprobs"))
		switch {
		case len(contents) == 0:
			return refusal("* GenerateContentRequest.contents: contents is not specified")
		case config.At("responseJsonSchema").IsSet() && config.At("responseMimeType").Text() != "application/json":
			return refusal("response_json_schema is only supported with response_mime_type application/json")
		case top > 20:
			return refusal("* GenerateContentRequest.generation_config.logprobs: must be between 0 and 20")
		case top > 0 && !config.At("responseLogprobs").IsTrue():
			return refusal("* GenerateContentRequest.generation_config.logprobs: response_logprobs must be true when it is set")
		case config.At("thinkingConfig", "thinkingBudget").IsSet() && config.At("thinkingConfig", "thinkingLevel").IsSet():
			return refusal("You can only set only one of thinking budget and thinking level.")
		}
		p.cap, p.logprobs = number(config.At("maxOutputTokens")), config.At("responseLogprobs").IsTrue()
		for i, content := range contents {
			parts, _ := content.At("parts").List()
			for j, part := range parts {
				switch {
				case part.At("text").IsText():
					p.addText(part.At("text").Text())
				case part.At("inlineData", "mimeType").Text() != "image/png":
					return refusal("contents[%d].parts[%d]: neither a text nor a PNG", i, j)
				default:
					if err := p.addPNG(part.At("inlineData", "data").Text()); err != nil {
						return refusal("contents[%d].parts[%d]: %v", i, j, err)
					}
				}
			}
		}
		return nil
	},
	refuse: func(param string, _ provider.Value) error {
		if what, ok := map[string]string{"responseJsonSchema": "JSON mode", "responseLogprobs": "Logprobs", "thinkingConfig": "Thinking"}[param]; ok {
			return refusal("%s is not enabled for this model", what)
		}
		return refusal("Invalid JSON payload received. Unknown name %q at 'generation_config': Cannot find field.", param)
	},
	fail: func(f failure) any {
		if f.code == "" {
			f.code = map[int]string{401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}[f.status]
		}
		if f.code == "" {
			f.code = "INVALID_ARGUMENT"
		}
		e := map[string]any{"code": f.status, "message": f.words, "status": f.code}
		if f.status == http.StatusOK {
			e["code"] = http.StatusBadGateway
		}
		if len(f.details) > 0 {
			e["details"] = f.details
		}
		return map[string]any{"error": e}
	},
	failures: map[Fault]failure{
		RateLimit:  {status: 429, words: "Resource has been exhausted (e.g. check quota)."},
		Overloaded: {status: 503, words: "The model is overloaded. Please try again later."},
		Failure:    {status: 500, words: "An internal error has occurred. Please retry."},
		Quota:      {status: 429, words: googleQuota, details: []any{violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier")}},
		BadKey: {status: 400, words: "API key not valid. Please pass a valid API key.",
			details: []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}}},
		NoModel:     {status: 404, words: "models/no-such-model is not found for API version v1beta, or is not supported for generateContent."},
		TooLong:     {status: 400, words: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
		ErrorObject: {status: 200, words: "The provider behind this one returned an error.", code: "UNAVAILABLE"},
	},
	reply: func(p *prompt, s *said, f Fault) any {
		finish := map[llm.Finish]string{llm.FinishStop: "STOP", llm.FinishLength: "MAX_TOKENS", llm.FinishContentFilter: "SAFETY"}[s.finish]
		content := map[string]any{"role": "model"}
		if s.text != "" {
			content["parts"] = []any{map[string]any{"text": s.text}}
		}
		n := promptTokens(p.request)
		usage := map[string]any{"promptTokenCount": n, "totalTokenCount": n + s.tokens}
		if s.tokens > 0 { // a count of none is left out
			usage["candidatesTokenCount"] = s.tokens
		}
		candidate := map[string]any{"content": content, "finishReason": finish, "index": 0}
		if p.logprobs && s.certainty > 0 {
			candidate["logprobsResult"] = googleTokens(s.text, s.certainty)
		}
		m := map[string]any{"modelVersion": p.control.Name(), "responseId": "rehearsal", "usageMetadata": usage, "candidates": []any{candidate}}
		switch f {
		case NullContent:
			candidate["content"] = nil
		case NoChoices:
			delete(m, "candidates")
		}
		return m
	},
}

// violation says which limit was met.
func violation(id string) any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{
		"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": id, "quotaValue": "10",
	}}}
}

// geminiModel returns the model out of a request's path.
func geminiModel(path string) string {
	_, model, _ := strings.Cut(path, "/models/")
	return strings.TrimSuffix(model, gemini.path)
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
