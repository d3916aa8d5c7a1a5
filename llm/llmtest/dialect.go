package llmtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// A dialect is a wire protocol that the server speaks.
type dialect interface {
	// read reads a request's body into p: its parts and its cap. It returns the
	// model that is asked for.
	read(r *http.Request, body []byte, p *prompt) (model string, problem *refusal)
	// refuseParam refuses a parameter that the server does not take, if it is
	// among the body's members; nil otherwise.
	refuseParam(param string, members map[string]json.RawMessage) *refusal
	// refuse writes a refusal.
	refuse(*refusal) *response
	// failure writes a fault that is an answer in JSON but no reply: one of those
	// that ask to wait, apart from the header that says how long, Failure, Quota,
	// BadKey, NoModel, TooLong or ErrorObject.
	failure(Fault) *response
	// reply returns a reply, to be written in JSON. Of the faults it makes
	// NullContent and NoChoices; the others are in what was said.
	reply(p *prompt, said *said, f Fault) any
}

// A rateLimiter is a dialect that says in the body how long to wait.
type rateLimiter interface {
	rateLimit(wait time.Duration) *response
}

// dialectOf returns the dialect of requests to a path, nil when there is none.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/api/chat"):
		return ollama{}
	case strings.HasSuffix(path, generate):
		return gemini{}
	}
	return nil
}

// orChat returns Chat Completions where nothing says which dialect is spoken.
func orChat(d dialect) dialect {
	if d == nil {
		return chat{}
	}
	return d
}

// A wireError is an error as Chat Completions has it. Other dialects take of it
// what they have a place for.
type wireError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}
