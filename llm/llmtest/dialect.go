package llmtest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/reference"
)

// A dialect is a wire protocol that the server speaks.
type dialect struct {
	path string // what the paths of its requests end with
	// read reads a request into p: its parts and its cap. The error is what the
	// server says to one that it does not take.
	read func(r *http.Request, body provider.Value, p *prompt) error
	// names are what asks for the same as a parameter of Chat Completions; one
	// that is not listed has the same name. inner is the object that holds them,
	// empty for the body.
	names map[string]string
	inner string
	// refuse are the words on a parameter that the server does not take; nil for
	// one that it takes all the same.
	refuse func(param string, value provider.Value) error
	// fail writes an error.
	fail func(f failure) any
	// failures are what it says of the faults that are an error in JSON.
	failures map[Fault]failure
	// reply returns a reply, to be written in JSON. Of the faults it makes
	// NullContent and NoChoices; the others are in what was said.
	reply func(p *prompt, s *said, f Fault) any
}

// A failure is an error as a server words it. Dialects take of it what they have
// a place for.
type failure struct {
	status            int
	words, kind, code string
	param             string
	details           []any
}

func (f failure) Error() string { return f.words }

// refusal returns the error for a request that is not answered.
func refusal(format string, args ...any) error {
	return failure{status: http.StatusBadRequest, words: fmt.Sprintf(format, args...)}
}

var dialects = []*dialect{&chat, &anthropic, &gemini, &ollama}

// dialectOf returns the dialect of requests to a path; ok is false, and the
// dialect Chat Completions, where nothing says which is spoken.
func dialectOf(path string) (d *dialect, ok bool) {
	for _, d := range dialects {
		if strings.HasSuffix(path, d.path) {
			return d, true
		}
	}
	return &chat, false
}

// refuses returns what the server says to a request with a parameter that it
// does not take, nil where it has none.
func (d *dialect) refuses(param string, body provider.Value) error {
	if name, ok := d.names[param]; ok {
		param = name
	}
	for _, at := range []provider.Value{body, body.At(d.inner)} {
		if value := at.At(param); value.IsSet() {
			return d.refuse(param, value)
		}
	}
	return nil
}

// A prompt is a request that can be answered.
type prompt struct {
	control  *reference.Control
	request  *llm.Request
	cap      int  // on output tokens; 0 for none
	logprobs bool // whether the log-probabilities of tokens are asked for
	stream   bool // whether the answer is to come in pieces
	counts   bool // and its tokens at the end
	tokens   int  // of the prompt, where the protocol has a count of its own
	cached   int  // tokens of the prompt that count as read from a cache
}

// said is what a control said, as far as it is to be told.
type said struct {
	text      string
	finish    llm.Finish
	tokens    int
	certainty float64 // Options.Certainty
}

func (p *prompt) addText(text string) { p.request.Parts = append(p.request.Parts, llm.Text(text)) }

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

// number returns a number of tokens, 0 where there is none.
func number(v provider.Value) int {
	if n := v.Count(); n != nil {
		return *n
	}
	return 0
}

// bytesPerToken is how this server counts tokens.
const bytesPerToken = 4

// tokensPerImage is what it counts for a picture.
const tokensPerImage = 256

func promptTokens(req *llm.Request) int {
	n := 0
	for i := range req.Parts {
		if req.Parts[i].IsImage() {
			n += tokensPerImage
		} else {
			n += len(req.Parts[i].Text()) / bytesPerToken
		}
	}
	return n
}

// A wireToken is a token of a reply, as OpenAI writes one.
type wireToken struct {
	Token   string      `json:"token"`
	Logprob float64     `json:"logprob"`
	Bytes   []int       `json:"bytes"`
	Top     []wireToken `json:"top_logprobs,omitempty"`
}

// piece is a token of this server: a boolean with the white space before it, or
// a single character.
var piece = regexp.MustCompile(`(?s)^(?:\s*\b(?:true|false)\b|.)`)

// tokens cuts a text into tokens. A boolean has the probability p, and the other
// one the rest; everything else is certain.
func tokens(text string, p float64) []wireToken {
	var all []wireToken
	for text != "" {
		token := piece.FindString(text)
		text = text[len(token):]
		other := strings.NewReplacer("true", "false", "false", "true").Replace(token)
		if other == token {
			all = append(all, tokenOf(token, 0, tokenOf(token, 0)))
			continue
		}
		all = append(all, tokenOf(token, math.Log(p), tokenOf(token, math.Log(p)), tokenOf(other, math.Log1p(-p))))
	}
	return all
}

func tokenOf(text string, logprob float64, top ...wireToken) wireToken {
	t := wireToken{Token: text, Logprob: logprob, Bytes: make([]int, len(text)), Top: top}
	for i := range len(text) {
		t.Bytes[i] = int(text[i])
	}
	return t
}
