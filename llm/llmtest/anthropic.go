package llmtest

import (
	"net/http"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// anthropic is the Anthropic Messages protocol. It refuses what Anthropic's
// servers refuse, so that a request which passes here has the right form.
//
// Its cache is warm: a prefix that is marked, and long enough, counts as read
// from it. A real one has to be written first, and which call finds it written
// hangs on the order in which calls come.
var anthropic = dialect{
	path:  "/messages",
	names: map[string]string{"response_format": "output_config", "max_completion_tokens": "max_tokens"},
	read: func(r *http.Request, body provider.Value, p *prompt) error {
		most, budget, temperature, format := body.At("max_tokens").Count(), number(body.At("thinking", "budget_tokens")), body.At("temperature").Number(), body.At("output_config", "format")
		thinks := body.At("thinking", "type").Text() == "enabled"
		messages, _ := body.At("messages").List()
		switch {
		case r.Header.Get("Anthropic-Version") == "":
			return refusal("anthropic-version: header is required")
		case !body.IsObject():
			return refusal("The body of the request is not a message in JSON.")
		case body.At("stream").IsTrue():
			return refusal("stream: this server does not stream")
		case most == nil:
			return refusal("max_tokens: Field required")
		case *most < 1:
			return refusal("max_tokens: Input should be greater than or equal to 1")
		case thinks && budget < 1024:
			return refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case thinks && budget >= *most:
			return refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
		case thinks && temperature != nil && *temperature != 1:
			return refusal("`temperature` may only be set to 1 when thinking is enabled.")
		case temperature != nil && !(*temperature >= 0 && *temperature <= 1):
			return refusal("temperature: range: 0..1")
		case format.IsSet() && (format.At("type").Text() != "json_schema" || !format.At("schema").IsObject()):
			return refusal("output_config.format: want a json_schema with its schema")
		case len(messages) == 0:
			return refusal("messages: at least one message is required")
		}
		p.cap = *most
		marks := 0
		for i, m := range messages {
			if err := p.readAnthropic(m.At("content"), &marks); err != nil {
				return refusal("messages.%d.content: %v", i, err)
			}
		}
		if marks > 4 {
			return refusal("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
		}
		return nil
	},
	refuse: func(param string, value provider.Value) error {
		switch param {
		case "max_tokens":
			const most = 4096
			if n := number(value); n > most {
				return refusal("max_tokens: %d > %d, which is the maximum allowed number of output tokens for this model", n, most)
			}
			return nil
		case "thinking":
			if kind := value.At("type").Text(); kind != "adaptive" {
				return refusal(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, kind)
			}
			return nil
		case "temperature", "top_p":
			return refusal("`%s` is deprecated for this model.", param)
		}
		return refusal("%s: Extra inputs are not permitted", param)
	},
	fail: func(f failure) any {
		if f.kind == "" {
			f.kind = map[int]string{401: "authentication_error", 404: "not_found_error", 500: "api_error"}[f.status]
		}
		if f.kind == "" {
			f.kind = "invalid_request_error"
		}
		return map[string]any{"type": "error", "error": map[string]any{"type": f.kind, "message": f.words}, "request_id": "req_rehearsal"}
	},
	failures: map[Fault]failure{
		RateLimit:   {status: 429, words: "This request would exceed your organization's rate limit.", kind: "rate_limit_error"},
		Overloaded:  {status: 529, words: "Overloaded", kind: "overloaded_error"},
		Failure:     {status: 500, words: "Internal server error", kind: "api_error"},
		Quota:       {status: 400, words: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
		BadKey:      {status: 401, words: "invalid x-api-key"},
		NoModel:     {status: 404, words: "model: no-such-model"},
		TooLong:     {status: 400, words: "prompt is too long: 210000 tokens > 200000 maximum"},
		ErrorObject: {status: 200, words: "The provider behind this one returned an error.", kind: "api_error"},
	},
	reply: func(p *prompt, s *said, f Fault) any {
		stop := map[llm.Finish]string{llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens", llm.FinishContentFilter: "refusal"}[s.finish]
		m := map[string]any{
			"id": "msg_rehearsal", "type": "message", "role": "assistant", "model": p.control.Name(),
			"content": []any{map[string]any{"type": "text", "text": s.text}}, "stop_reason": stop, "stop_sequence": nil,
			"usage": map[string]any{
				"input_tokens": promptTokens(p.request) - p.cached, "cache_read_input_tokens": p.cached, "cache_creation_input_tokens": 0,
				"output_tokens": s.tokens,
			},
		}
		switch {
		case f == NullContent:
			m["content"] = nil
		case f == NoChoices: // a message that has not begun
			m["content"], m["stop_reason"] = []any{}, nil
		case s.text == "":
			m["content"] = []any{}
		}
		return m
	},
}

// minCached is how many tokens a prefix must have to be cached.
const minCached = 1024

// readAnthropic adds the parts of a message's content, a string or a list of
// blocks.
func (p *prompt) readAnthropic(content provider.Value, marks *int) error {
	if content.IsText() {
		p.addText(content.Text())
		return nil
	}
	blocks, ok := content.List()
	if !ok {
		return refusal("it is neither a text nor a list of blocks")
	}
	for i, b := range blocks {
		source, kind := b.At("source"), b.At("type").Text()
		switch {
		case kind == "text" && strings.TrimSpace(b.At("text").Text()) == "":
			return refusal("%d: text content blocks must contain non-whitespace text", i)
		case kind == "text":
			p.addText(b.At("text").Text())
		case kind == "image" && (source.At("type").Text() != "base64" || source.At("media_type").Text() != "image/png"):
			return refusal("%d: a picture is not a PNG in base64", i)
		case kind == "image":
			if err := p.addPNG(source.At("data").Text()); err != nil {
				return refusal("%d: %v", i, err)
			}
		default:
			return refusal("%d: Input tag '%s' is not one of 'text', 'image'", i, kind)
		}
		if mark := b.At("cache_control"); mark.IsSet() {
			if kind := mark.At("type").Text(); kind != "ephemeral" {
				return refusal("%d: cache_control: Input tag '%s' is not 'ephemeral'", i, kind)
			}
			*marks++
			if n := promptTokens(p.request); n >= minCached {
				p.cached = n
			}
		}
	}
	return nil
}
