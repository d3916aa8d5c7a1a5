package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

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
	control  *reference.Control
	request  *llm.Request
	cap      int  // on output tokens; 0 for none
	logprobs bool // whether the log-probabilities of tokens are asked for
	tokens   int  // of the prompt, where the protocol has a count of its own
	cached   int  // tokens of the prompt that count as read from a cache
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
func (s *Server) prepare(r *http.Request, body []byte, d dialect) (*prompt, *refusal) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(body, &members) // what is no object the dialect refuses
	for _, param := range s.opts.Refuse {
		if problem := d.refuseParam(param, members); problem != nil {
			return nil, problem
		}
	}
	p := &prompt{request: &llm.Request{}}
	p.request.Trial, p.request.Slot, _ = llm.ParseName(r.Header.Get(llm.CallHeader))
	model, problem := d.read(r, body, p)
	if problem != nil {
		return nil, problem
	}
	if len(p.request.Parts) == 0 {
		return nil, refuse("messages", "There is no message.")
	}
	name := controlName(model)
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

// addPNG adds a picture, written in base64.
func (p *prompt) addPNG(data string) error {
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return errors.New("a picture is not written in base64")
	}
	img, err := llm.PNG(file)
	if err != nil {
		return err
	}
	p.request.Parts = append(p.request.Parts, img)
	return nil
}
