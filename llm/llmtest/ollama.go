package llmtest

import (
	"encoding/json"
	"net/http"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
)

// ollama is Ollama's native protocol, as a server that knows "truncate": a
// prompt that does not fit the context is refused, or cut without a word. It
// has a tokenizer of its own: one token for each word, digit and other sign.
type ollama struct{}

// ollamaContext is the context of a request that asks for none.
const ollamaContext = 4096

func (ollama) read(_ *http.Request, body []byte, p *prompt) (model string, problem *refusal) {
	var q struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string   `json:"content"`
			Images  []string `json:"images"`
		} `json:"messages"`
		Format   json.RawMessage `json:"format"`
		Logprobs bool            `json:"logprobs"`
		Stream   *bool           `json:"stream"`
		Truncate *bool           `json:"truncate"`
		Options  struct {
			Context int `json:"num_ctx"`
			Predict int `json:"num_predict"`
		} `json:"options"`
	}
	var schema map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		return "", refuse("", "%v", err)
	}
	switch {
	case q.Model == "":
		return "", refuse("", "model is required")
	case q.Stream == nil || *q.Stream:
		return "", refuse("", "this server does not stream; want \"stream\": false")
	case len(q.Format) > 0 && string(q.Format) != `"json"` && json.Unmarshal(q.Format, &schema) != nil:
		return "", refuse("", `invalid format: %s; expected "json" or a valid JSON Schema object`, q.Format)
	}
	p.cap = max(0, q.Options.Predict)
	p.logprobs = q.Logprobs
	for _, m := range q.Messages {
		for _, file := range m.Images { // they stand before the text
			if err := p.addPNG(file); err != nil {
				return "", refuse("", "%v", err)
			}
		}
		p.request.Parts = append(p.request.Parts, llm.Text(m.Content))
	}
	context := q.Options.Context
	if context <= 0 {
		context = ollamaContext
	}
	p.tokens = ollamaTokens(p.request)
	if p.tokens > context {
		if q.Truncate != nil && !*q.Truncate {
			return "", refuse("", "the input length exceeds the context length")
		}
		p.tokens = context
	}
	return q.Model, nil
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

// refuseParam refuses in Ollama's words. Names of Chat Completions stand for
// what asks for the same here.
func (ollama) refuseParam(param string, members map[string]json.RawMessage) *refusal {
	switch param {
	case "response_format":
		param = "format"
	case "max_tokens", "max_completion_tokens":
		param = "num_predict"
	case "thinking":
		param = "think"
	}
	var options map[string]json.RawMessage
	_ = json.Unmarshal(members["options"], &options) // none
	_, ok := members[param]
	if _, inner := options[param]; !ok && !inner {
		return nil
	}
	switch param {
	case "format":
		return refuse("", "json: cannot unmarshal object into Go struct field ChatRequest.format of type string")
	case "think":
		return refuse("", "this model does not support thinking")
	}
	return refuse("", "%s is not supported by this model", param)
}

func (ollama) refuse(r *refusal) *response { return ollamaError(r.status, r.Message) }

func (ollama) failure(f Fault) *response {
	switch f {
	case Overloaded:
		return ollamaError(http.StatusServiceUnavailable, "server busy, please try again.  maximum pending requests exceeded")
	case Failure:
		return ollamaError(http.StatusInternalServerError, "llama runner process has terminated: exit status 2")
	case Quota:
		return ollamaError(http.StatusTooManyRequests, "you've reached your weekly usage limit, please upgrade to continue")
	case BadKey:
		return ollamaError(http.StatusUnauthorized, "unauthorized")
	case NoModel:
		return ollamaError(http.StatusNotFound, `model "no-such-model" not found, try pulling it first`)
	case TooLong:
		return ollamaError(http.StatusBadRequest, "the input length exceeds the context length")
	case ErrorObject:
		return ollamaError(http.StatusOK, "an error was encountered while running the model: unexpected EOF")
	}
	return ollamaError(http.StatusTooManyRequests, "too many concurrent requests")
}

func ollamaError(status int, message string) *response {
	return inJSON(status, map[string]any{"error": message})
}

// reply returns a reply. The protocol knows of no content filter; the fault is
// what a gate before the server might say.
func (ollama) reply(p *prompt, said *said, f Fault) any {
	m := map[string]any{
		"model": p.control.Name(), "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": string(said.finish),
		"message":           map[string]any{"role": "assistant", "content": said.text},
		"prompt_eval_count": p.tokens, "eval_count": said.tokens,
	}
	if p.logprobs && said.certainty > 0 {
		m["logprobs"] = tokens(said.text, said.certainty)
	}
	switch f {
	case NullContent:
		m["message"] = map[string]any{"role": "assistant", "content": nil}
	case NoChoices:
		delete(m, "message")
	}
	return m
}
