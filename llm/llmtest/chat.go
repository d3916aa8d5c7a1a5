package llmtest

import (
	"net/http"
	"strings"

	"github.com/spatialstale/spatialstale/llm/provider"
)

// chat is Chat Completions, with OpenAI's words for failures.
var chat = dialect{
	path: "/chat/completions",
	read: func(_ *http.Request, body provider.Value, p *prompt) error {
		if !body.IsObject() {
			return refusal("The body of the request is not a chat completion in JSON.")
		}
		p.cap = max(number(body.At("max_tokens")), number(body.At("max_completion_tokens")))
		p.logprobs = body.At("logprobs").IsTrue()
		p.stream, p.counts = body.At("stream").IsTrue(), body.At("stream_options", "include_usage").IsTrue()
		messages, _ := body.At("messages").List()
		for i, m := range messages {
			if err := p.readChat(m.At("content")); err != nil {
				return refusal("Message %d: %v.", i, err)
			}
		}
		return nil
	},
	refuse: func(param string, _ provider.Value) error {
		f := failure{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, code: "unsupported_parameter",
			words: "Unsupported parameter: '" + param + "' is not supported with this model."}
		switch param {
		case "temperature", "top_p":
			f.words, f.code = "Unsupported value: '"+param+"' does not support this value with this model. Only the default (1) value is supported.", "unsupported_value"
		case "max_tokens":
			f.words += " Use 'max_completion_tokens' instead."
		}
		return f
	},
	fail: func(f failure) any {
		e := map[string]any{"message": f.words, "type": f.kind, "param": nil, "code": nil}
		if f.kind == "" {
			e["type"] = "invalid_request_error"
		}
		if f.param != "" {
			e["param"] = f.param
		}
		if f.code != "" {
			e["code"] = f.code
		}
		return map[string]any{"error": e}
	},
	failures: map[Fault]failure{
		RateLimit:   {status: 429, words: "Rate limit reached for requests.", kind: "requests", code: "rate_limit_exceeded"},
		Overloaded:  {status: 529, words: "Overloaded", kind: "overloaded_error"},
		Failure:     {status: 500, words: "The server had an error while processing your request.", kind: "server_error"},
		Quota:       {status: 429, words: "You exceeded your current quota, please check your plan and billing details.", kind: "insufficient_quota", code: "insufficient_quota"},
		BadKey:      {status: 401, words: "Incorrect API key provided.", kind: "invalid_request_error", code: "invalid_api_key"},
		NoModel:     {status: 404, words: "The model does not exist or you do not have access to it.", kind: "invalid_request_error", code: "model_not_found"},
		TooLong:     {status: 400, words: "This model's maximum context length is 1024 tokens.", kind: "invalid_request_error", code: "context_length_exceeded"},
		ErrorObject: {status: 200, words: "The provider behind this one returned an error.", kind: "upstream_error", code: "502"},
	},
	reply: func(p *prompt, s *said, f Fault) any {
		message := map[string]any{"role": "assistant", "content": s.text}
		if f == NullContent {
			message["content"] = nil
		}
		choice := map[string]any{"index": 0, "message": message, "finish_reason": s.finish}
		if p.logprobs && s.certainty > 0 {
			choice["logprobs"] = map[string]any{"content": tokens(s.text, s.certainty)}
		}
		choices := []any{choice}
		if f == NoChoices {
			choices = []any{}
		}
		return map[string]any{"id": "chatcmpl-rehearsal", "object": "chat.completion", "created": 0, "model": p.control.Name(), "choices": choices, "usage": chatUsage(p, s)}
	},
}

func chatUsage(p *prompt, s *said) map[string]any {
	n := promptTokens(p.request)
	return map[string]any{"prompt_tokens": n, "completion_tokens": s.tokens, "total_tokens": n + s.tokens}
}

// chatPieces are the events of a reply that comes in pieces, a token each, which
// are written one by one: a client may not listen to all of an endless one.
func chatPieces(p *prompt, s *said) []func() []byte {
	event := func(v map[string]any) func() []byte {
		return func() []byte {
			v["object"], v["model"] = "chat.completion.chunk", p.control.Name()
			return append(append([]byte("data: "), inJSON(http.StatusOK, v).body...), "\n\n"...)
		}
	}
	var pieces []func() []byte
	for _, t := range tokensOf(s.text) {
		pieces = append(pieces, event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": t}}}}))
	}
	pieces = append(pieces, event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": s.finish}}}))
	if p.counts {
		pieces = append(pieces, event(map[string]any{"choices": []any{}, "usage": chatUsage(p, s)}))
	}
	return append(pieces, func() []byte { return []byte("data: [DONE]\n\n") })
}

// tokensOf cuts a text into what this server counts as tokens, and between
// characters.
func tokensOf(text string) []string {
	var all []string
	start := 0
	for i := range text {
		if i-start >= bytesPerToken {
			all, start = append(all, text[start:i]), i
		}
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

// readChat adds the parts of a message's content, a string or a list.
func (p *prompt) readChat(content provider.Value) error {
	if content.IsText() {
		p.addText(content.Text())
		return nil
	}
	parts, ok := content.List()
	if !ok {
		return refusal("its content is neither a text nor a list of parts")
	}
	for _, part := range parts {
		switch kind := part.At("type").Text(); kind {
		case "text":
			p.addText(part.At("text").Text())
		case "image_url":
			data, ok := strings.CutPrefix(part.At("image_url", "url").Text(), "data:image/png;base64,")
			if !ok {
				return refusal("a picture is not a PNG in a data URL")
			}
			if err := p.addPNG(data); err != nil {
				return err
			}
		default:
			return refusal("a part has the type %q", kind)
		}
	}
	return nil
}
