package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/reference"
)

// maxBody bounds the size of a request, in bytes.
const maxBody = 64 << 20

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, errors.New("the request's body cannot be read")
	}
	return body, nil
}

// A prompt is a request that can be answered.
type prompt struct {
	control *reference.Control
	request *llm.Request
	cap     int // on output tokens; 0 for none
}

// A refusal is a request that is not answered.
type refusal struct {
	status int
	wireError
}

func refuse(param, format string, args ...any) *refusal {
	e := wireError{Message: fmt.Sprintf(format, args...), Type: "invalid_request_error"}
	if param != "" {
		e.Param = &param
	}
	return &refusal{http.StatusBadRequest, e}
}

// prepare reads a request's body.
func (s *Server) prepare(r *http.Request, body []byte) (*prompt, *refusal) {
	var q struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens     int  `json:"max_tokens"`
		CompletionCap int  `json:"max_completion_tokens"`
		Stream        bool `json:"stream"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(body, &q) != nil {
		return nil, refuse("", "The body of the request is not a chat completion in JSON.")
	}
	for _, param := range s.opts.Refuse {
		if _, ok := members[param]; ok {
			return nil, refuseParam(param)
		}
	}
	if q.Stream {
		return nil, refuse("stream", "This server does not stream.")
	}
	p := &prompt{request: &llm.Request{}, cap: max(q.MaxTokens, q.CompletionCap)}
	p.request.Trial, p.request.Slot, _ = llm.ParseName(r.Header.Get(llm.CallHeader))
	for i := range q.Messages {
		if err := p.read(q.Messages[i].Content); err != nil {
			return nil, refuse("messages", "Message %d: %v.", i, err)
		}
	}
	if len(p.request.Parts) == 0 {
		return nil, refuse("messages", "There is no message.")
	}
	name := controlName(q.Model)
	if name == "" {
		name = s.opts.Control
	}
	var err error
	if p.control, err = s.control(name); err != nil {
		e := refuse("model", "%v", err)
		e.status, e.Code = http.StatusNotFound, "model_not_found"
		return nil, e
	}
	return p, nil
}

// refuseParam refuses a parameter in OpenAI's words.
func refuseParam(param string) *refusal {
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

// read adds the parts of a message's content, a string or a list.
func (p *prompt) read(content json.RawMessage) error {
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
			file, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return errors.New("a picture is not written in base64")
			}
			img, err := llm.PNG(file)
			if err != nil {
				return err
			}
			p.request.Parts = append(p.request.Parts, img)
		default:
			return fmt.Errorf("a part has the type %q", part.Type)
		}
	}
	return nil
}
