package llmtest

import (
	"cmp"
	"net/http"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// ollama is Ollama's native protocol, as a server that knows "truncate": a
// prompt that does not fit the context is refused, or cut without a word. It
// has a tokenizer of its own: one token for each word, digit and other sign.
var ollama = dialect{
	path: "/api/chat", inner: "options",
	names: map[string]string{"response_format": "format", "max_tokens": "num_predict", "max_completion_tokens": "num_predict", "thinking": "think"},
	read: func(_ *http.Request, body provider.Value, p *prompt) error {
		format := body.At("format")
		switch {
		case !body.IsObject():
			return refusal("invalid character in the body of the request")
		case body.At("model").Text() == "":
			return refusal("model is required")
		case !body.At("stream").IsFalse():
			return refusal("this server does not stream; want \"stream\": false")
		case format.IsSet() && !format.IsObject() && format.Text() != "json":
			return refusal(`invalid format; expected "json" or a valid JSON Schema object`)
		}
		p.cap, p.logprobs = number(body.At("options", "num_predict")), body.At("logprobs").IsTrue()
		messages, _ := body.At("messages").List()
		for _, m := range messages {
			images, _ := m.At("images").List()
			for _, file := range images { // they come before the text
				if err := p.addPNG(file.Text()); err != nil {
					return refusal("%v", err)
				}
			}
			p.addText(m.At("content").Text())
		}
		context := cmp.Or(number(body.At("options", "num_ctx")), 4096)
		p.tokens = ollamaTokens(p.request)
		if p.tokens > context {
			if body.At("truncate").IsFalse() {
				return refusal("the input length exceeds the context length")
			}
			p.tokens = context
		}
		return nil
	},
	refuse: func(param string, _ provider.Value) error {
		switch param {
		case "format":
			return refusal("json: cannot unmarshal object into Go struct field ChatRequest.format of type string")
		case "think":
			return refusal("this model does not support thinking")
		}
		return refusal("%s is not supported by this model", param)
	},
	fail: func(f failure) any { return map[string]any{"error": f.words} },
	failures: map[Fault]failure{
		RateLimit:   {status: 429, words: "too many concurrent requests"},
		Overloaded:  {status: 503, words: "server busy, please try again.  maximum pending requests exceeded"},
		Failure:     {status: 500, words: "llama runner process has terminated: exit status 2"},
		Quota:       {status: 429, words: "you've reached your weekly usage limit, please upgrade to continue"},
		BadKey:      {status: 401, words: "unauthorized"},
		NoModel:     {status: 404, words: `model "no-such-model" not found, try pulling it first`},
		TooLong:     {status: 400, words: "the input length exceeds the context length"},
		ErrorObject: {status: 200, words: "an error was encountered while running the model: unexpected EOF"},
	},
	// The protocol knows of no content filter; the fault is what a gate before the
	// server might say.
	reply: func(p *prompt, s *said, f Fault) any {
		m := map[string]any{
			"model": p.control.Name(), "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": s.finish,
			"message":           map[string]any{"role": "assistant", "content": s.text},
			"prompt_eval_count": p.tokens, "eval_count": s.tokens,
		}
		if p.logprobs && s.certainty > 0 {
			m["logprobs"] = tokens(s.text, s.certainty)
		}
		switch f {
		case NullContent:
			m["message"] = map[string]any{"role": "assistant", "content": nil}
		case NoChoices:
			delete(m, "message")
		}
		return m
	},
}

func ollamaTokens(req *llm.Request) int {
	n := 0
	for i := range req.Parts {
		if req.Parts[i].IsImage() {
			n += tokensPerImage
			continue
		}
		word := false
		for _, r := range req.Parts[i].Text() {
			letter := unicode.IsLetter(r) || unicode.IsMark(r)
			if !unicode.IsSpace(r) && !(letter && word) {
				n++
			}
			word = letter
		}
	}
	return n
}
