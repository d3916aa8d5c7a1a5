package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// anthropic is the Anthropic Messages protocol. It refuses what Anthropic's
// servers refuse, so that a request which passes here has the right form.
//
// Its cache is warm: a prefix that is marked, and long enough, counts as read
// from it. A real one has to be written first, and which call finds it written
// hangs on the order in which calls come.
type anthropic struct{}

// minCached is how many tokens a prefix must have to be cached.
const minCached = 1024

func (anthropic) read(r *http.Request, body []byte, p *prompt) (model string, problem *refusal) {
	var q struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens   *int     `json:"max_tokens"`
		Temperature *float64 `json:"temperature"`
		Thinking    *struct {
			Type   string `json:"type"`
			Budget int    `json:"budget_tokens"`
		} `json:"thinking"`
		OutputConfig *struct {
			Format *struct {
				Type   string          `json:"type"`
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
		Stream bool `json:"stream"`
	}
	err := json.Unmarshal(body, &q)
	thinks := q.Thinking != nil && q.Thinking.Type == "enabled"
	switch {
	case r.Header.Get("Anthropic-Version") == "":
		return "", refuse("", "anthropic-version: header is required")
	case err != nil:
		return "", refuse("", "The body of the request is not a message in JSON.")
	case q.Stream:
		return "", refuse("", "stream: this server does not stream")
	case q.MaxTokens == nil:
		return "", refuse("", "max_tokens: Field required")
	case *q.MaxTokens < 1:
		return "", refuse("", "max_tokens: Input should be greater than or equal to 1")
	case thinks && q.Thinking.Budget < 1024:
		return "", refuse("", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case thinks && q.Thinking.Budget >= *q.MaxTokens:
		return "", refuse("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	case thinks && q.Temperature != nil && *q.Temperature != 1:
		return "", refuse("", "`temperature` may only be set to 1 when thinking is enabled.")
	case q.Temperature != nil && !(*q.Temperature >= 0 && *q.Temperature <= 1):
		return "", refuse("", "temperature: range: 0..1")
	case q.OutputConfig != nil && q.OutputConfig.Format != nil && (q.OutputConfig.Format.Type != "json_schema" || !json.Valid(q.OutputConfig.Format.Schema)):
		return "", refuse("", "output_config.format: want a json_schema with its schema")
	case len(q.Messages) == 0:
		return "", refuse("", "messages: at least one message is required")
	}
	p.cap = *q.MaxTokens
	marks := 0
	for i := range q.Messages {
		if err := p.readAnthropic(q.Messages[i].Content, &marks); err != nil {
			return "", refuse("", "messages.%d.content: %v", i, err)
		}
	}
	if marks > 4 {
		return "", refuse("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return q.Model, nil
}

// readAnthropic adds the parts of a message's content, a string or a list of
// blocks.
func (p *prompt) readAnthropic(content json.RawMessage, marks *int) error {
	var text string
	if json.Unmarshal(content, &text) == nil {
		p.request.Parts = append(p.request.Parts, llm.Text(text))
		return nil
	}
	var blocks []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
		CacheControl *struct {
			Type string `json:"type"`
		} `json:"cache_control"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return errors.New("it is neither a text nor a list of blocks")
	}
	for i, b := range blocks {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) == "":
			return fmt.Errorf("%d: text content blocks must contain non-whitespace text", i)
		case b.Type == "text":
			p.request.Parts = append(p.request.Parts, llm.Text(b.Text))
		case b.Type == "image" && (b.Source.Type != "base64" || b.Source.MediaType != "image/png"):
			return fmt.Errorf("%d: a picture is not a PNG in base64", i)
		case b.Type == "image":
			if err := p.addPNG(b.Source.Data); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		default:
			return fmt.Errorf("%d: Input tag '%s' is not one of 'text', 'image'", i, b.Type)
		}
		if b.CacheControl != nil {
			if b.CacheControl.Type != "ephemeral" {
				return fmt.Errorf("%d: cache_control: Input tag '%s' is not 'ephemeral'", i, b.CacheControl.Type)
			}
			*marks++
			if n := promptTokens(p.request); n >= minCached {
				p.cached = n
			}
		}
	}
	return nil
}

// refuseParam refuses in Anthropic's words. Names of Chat Completions stand for
// what asks for the same here.
func (anthropic) refuseParam(param string, members map[string]json.RawMessage) *refusal {
	switch param {
	case "response_format":
		param = "output_config"
	case "max_completion_tokens":
		param = "max_tokens"
	}
	value, ok := members[param]
	if !ok {
		return nil
	}
	switch param {
	case "max_tokens":
		const most = 4096
		var n int
		if json.Unmarshal(value, &n) != nil || n <= most {
			return nil
		}
		return refuse("", "max_tokens: %d > %d, which is the maximum allowed number of output tokens for this model", n, most)
	case "thinking":
		var t struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(value, &t) != nil || t.Type == "adaptive" {
			return nil
		}
		return refuse("", `"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, t.Type)
	case "temperature", "top_p":
		return refuse("", "`%s` is deprecated for this model.", param)
	}
	return refuse("", "%s: Extra inputs are not permitted", param)
}

func (anthropic) refuse(r *refusal) *response {
	kind := "invalid_request_error"
	switch r.status {
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusInternalServerError:
		kind = "api_error"
	}
	return anthropicError(r.status, kind, r.Message)
}

func (anthropic) failure(f Fault) *response {
	switch f {
	case Overloaded:
		return anthropicError(529, "overloaded_error", "Overloaded")
	case Failure:
		return anthropicError(http.StatusInternalServerError, "api_error", "Internal server error")
	case Quota:
		return anthropicError(http.StatusBadRequest, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case BadKey:
		return anthropicError(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case NoModel:
		return anthropicError(http.StatusNotFound, "not_found_error", "model: no-such-model")
	case TooLong:
		return anthropicError(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
	case ErrorObject:
		return anthropicError(http.StatusOK, "api_error", "The provider behind this one returned an error.")
	}
	return anthropicError(http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your organization's rate limit.")
}

func anthropicError(status int, kind, message string) *response {
	return inJSON(status, map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_rehearsal",
	})
}

func (anthropic) reply(p *prompt, said *said, f Fault) any {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	stop := string(said.finish)
	switch said.finish {
	case llm.FinishStop:
		stop = "end_turn"
	case llm.FinishLength:
		stop = "max_tokens"
	case llm.FinishContentFilter:
		stop = "refusal"
	}
	m := map[string]any{
		"id": "msg_rehearsal", "type": "message", "role": "assistant", "model": p.control.Name(),
		"content": []block{{"text", said.text}}, "stop_reason": stop, "stop_sequence": nil,
		"usage": map[string]any{
			"input_tokens": promptTokens(p.request) - p.cached, "cache_read_input_tokens": p.cached, "cache_creation_input_tokens": 0,
			"output_tokens": said.tokens,
		},
	}
	switch {
	case f == NullContent:
		m["content"] = nil
	case f == NoChoices: // a message that has not begun
		m["content"], m["stop_reason"] = []block{}, nil
	case said.text == "":
		m["content"] = []block{}
	}
	return m
}
