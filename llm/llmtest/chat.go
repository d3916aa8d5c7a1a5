package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// chat is Chat Completions, with OpenAI's words for failures.
type chat struct{}

func (chat) read(_ *http.Request, body []byte, p *prompt) (model string, problem *refusal) {
	var q struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens     int  `json:"max_tokens"`
		CompletionCap int  `json:"max_completion_tokens"`
		Stream        bool `json:"stream"`
		Logprobs      bool `json:"logprobs"`
	}
	if json.Unmarshal(body, &q) != nil {
		return "", refuse("", "The body of the request is not a chat completion in JSON.")
	}
	if q.Stream {
		return "", refuse("stream", "This server does not stream.")
	}
	p.cap = max(q.MaxTokens, q.CompletionCap)
	p.logprobs = q.Logprobs
	for i := range q.Messages {
		if err := p.readChat(q.Messages[i].Content); err != nil {
			return "", refuse("messages", "Message %d: %v.", i, err)
		}
	}
	return q.Model, nil
}

func (chat) refuse(r *refusal) *response {
	return inJSON(r.status, map[string]any{"error": r.wireError})
}

func (chat) failure(f Fault) *response {
	fail := func(status int, message, kind string, code any) *response {
		return inJSON(status, map[string]any{"error": wireError{Message: message, Type: kind, Code: code}})
	}
	switch f {
	case Overloaded:
		return fail(529, "Overloaded", "overloaded_error", nil)
	case Failure:
		return fail(http.StatusInternalServerError, "The server had an error while processing your request.", "server_error", nil)
	case Quota:
		return fail(http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota")
	case BadKey:
		return fail(http.StatusUnauthorized, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
	case NoModel:
		return fail(http.StatusNotFound, "The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")
	case TooLong:
		return fail(http.StatusBadRequest, "This model's maximum context length is 1024 tokens.", "invalid_request_error", "context_length_exceeded")
	case ErrorObject:
		return fail(http.StatusOK, "The provider behind this one returned an error.", "upstream_error", http.StatusBadGateway)
	}
	return fail(http.StatusTooManyRequests, "Rate limit reached for requests.", "requests", "rate_limit_exceeded")
}

func (chat) reply(p *prompt, said *said, f Fault) any {
	m := message{Role: "assistant", Content: &said.text}
	if f == NullContent {
		m.Content = nil
	}
	one := choice{Message: m, FinishReason: string(said.finish)}
	if p.logprobs && said.certainty > 0 {
		one.Logprobs = map[string]any{"content": tokens(said.text, said.certainty)}
	}
	c := completion{
		ID: "chatcmpl-rehearsal", Object: "chat.completion", Model: p.control.Name(),
		Choices: []any{one},
		Usage:   usage{Prompt: promptTokens(p.request), Completion: said.tokens},
	}
	c.Usage.Total = c.Usage.Prompt + c.Usage.Completion
	if f == NoChoices {
		c.Choices = []any{}
	}
	return c
}

type completion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int    `json:"created"`
	Model   string `json:"model"`
	Choices []any  `json:"choices"`
	Usage   usage  `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
	Logprobs     any     `json:"logprobs,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// refuseParam refuses in OpenAI's words.
func (chat) refuseParam(param string, members map[string]json.RawMessage) *refusal {
	if _, ok := members[param]; !ok {
		return nil
	}
	switch param {
	case "temperature", "top_p":
		e := refuse(param, "Unsupported value: '%s' does not support this value with this model. Only the default (1) value is supported.", param)
		e.Code = "unsupported_value"
		return e
	case "max_tokens":
		e := refuse(param, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
		e.Code = "unsupported_parameter"
		return e
	}
	e := refuse(param, "Unsupported parameter: '%s' is not supported with this model.", param)
	e.Code = "unsupported_parameter"
	return e
}

// readChat adds the parts of a message's content, a string or a list.
func (p *prompt) readChat(content json.RawMessage) error {
	var text string
	if json.Unmarshal(content, &text) == nil {
		p.request.Parts = append(p.request.Parts, llm.Text(text))
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return errors.New("its content is neither a text nor a list of parts")
	}
	for _, part := range parts {
		switch part.Type {
		case "text":
			p.request.Parts = append(p.request.Parts, llm.Text(part.Text))
		case "image_url":
			data, ok := strings.CutPrefix(part.ImageURL.URL, "data:image/png;base64,")
			if !ok {
				return errors.New("a picture is not a PNG in a data URL")
			}
			if err := p.addPNG(data); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a part has the type %q", part.Type)
		}
	}
	return nil
}
