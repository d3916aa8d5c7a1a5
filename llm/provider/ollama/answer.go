package ollama

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A response is what is read of a server's answer.
type response struct {
	Model   provider.Text `json:"model"`
	Message struct {
		Content  json.RawMessage `json:"content"`
		Thinking provider.Text   `json:"thinking"`
	} `json:"message"`
	Done       json.RawMessage `json:"done"`
	DoneReason provider.Text   `json:"done_reason"`
	Prompt     provider.Count  `json:"prompt_eval_count"`
	Cached     provider.Count  `json:"prompt_eval_cached_count"`
	Output     provider.Count  `json:"eval_count"`
	Logprobs   json.RawMessage `json:"logprobs"` // none from servers before version 0.12.11
	Error      json.RawMessage `json:"error"`
}

// read reads a server's answer. The error is a *provider.Fault where the server
// says that it failed, another where the answer cannot be read.
func read(req *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	if a.Status/100 != 2 {
		return nil, readFault(a)
	}
	body := a.Text()
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		if line, more, ok := bytes.Cut(body, []byte("\n")); ok && len(more) > 0 && json.Valid(line) {
			return nil, provider.Malformed("a stream in place of an answer")
		}
		return nil, a.Unreadable("chat response", err)
	}
	if provider.IsSet(r.Error) {
		f := provider.ErrorMember(r.Error)
		f.Means = means(f)
		return nil, f
	}
	reply := &llm.Reply{
		Reasoning: string(r.Message.Thinking),
		Finish:    finish(string(r.DoneReason)),
		Usage:     usage(&r),
		Model:     string(r.Model),
	}
	var text *string
	given := json.Unmarshal(r.Message.Content, &text) == nil && text != nil
	if given {
		reply.Text = *text
		reply.Booleans = provider.ReadTokens(r.Logprobs).Booleans(reply.Text)
	}
	switch {
	case reply.Text == "" && (r.DoneReason == "load" || r.DoneReason == "unload"):
		return nil, provider.Malformed("the server " + string(r.DoneReason) + "ed the model and did not answer")
	case string(r.Done) == "false":
		return nil, provider.Malformed("a part of a stream in place of an answer")
	case given, reply.Reasoning != "", reply.Finish == llm.FinishLength:
	default:
		return nil, provider.Malformed("a reply without content")
	}
	if out := reply.Usage.OutputTokens; out != nil && *out >= outputCap(req) && reply.Finish != llm.FinishLength {
		reply.Finish = llm.FinishLength // older servers say stop of it
	}
	return reply, nil
}

// usage reads the counts of tokens. A prompt has some: a count of none stands
// for one that is left out.
func usage(r *response) llm.Usage {
	u := llm.Usage{InputTokens: r.Prompt.N, CachedTokens: r.Cached.N, OutputTokens: r.Output.N}
	if u.InputTokens != nil && *u.InputTokens == 0 {
		u.InputTokens = nil
	}
	if u.InputTokens == nil {
		u.CachedTokens = nil
	}
	if c := u.CachedTokens; c != nil && *c > *u.InputTokens { // it was not counted in
		n := *u.InputTokens + *c
		u.InputTokens = &n
	}
	return u
}

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch word {
	case "stop":
		return llm.FinishStop
	case "length":
		return llm.FinishLength
	}
	return llm.Finish(word)
}

// Words of this server, which has no codes.
var (
	saysNoModel = regexp.MustCompile(`(?i)model\b.{0,200}\bnot found`)
	saysUseless = regexp.MustCompile(`(?i)requires more system memory|does not support chat|not supported by your version of ollama|this server cannot run this`)
	saysBusy    = regexp.MustCompile(`(?i)server busy|maximum pending requests`)
	saysLimit   = regexp.MustCompile(`(?i)usage limit`)
	saysPicture = regexp.MustCompile(`(?i)image input|does not support (images?|vision)|multimodal`)
	saysThink   = regexp.MustCompile(`(?i)does not support thinking|think value .* is not supported`)
	saysFormat  = regexp.MustCompile(`ChatRequest\.format|(?i)invalid format|required for format|\bgrammar\b|json[ _]?schema|structured outputs?`)
)

// readFault reads an answer whose status is not of success.
func readFault(a *provider.Answer) *provider.Fault {
	f := a.Fault()
	if a.Status == http.StatusNotFound && saysNoModel.MatchString(f.Message) {
		f.Message = strings.TrimSuffix(f.Message, "; is the base URL right?")
	}
	f.Means = means(f)
	return f
}

// means says what a fault means by its words, "" where they say nothing of their
// own.
func means(f *provider.Fault) llm.Kind {
	switch {
	case saysNoModel.MatchString(f.Message), saysUseless.MatchString(f.Message):
		return llm.KindUnknownModel // no call of it can be answered
	case saysBusy.MatchString(f.Message):
		return llm.KindRateLimit
	case saysLimit.MatchString(f.Message) && f.Status == http.StatusTooManyRequests:
		return llm.KindQuota
	case saysPicture.MatchString(f.Message):
		return llm.KindBadRequest // with status 500 at times
	}
	return ""
}

// refused returns which of the sent parameters a server refuses to take.
func refused(f *provider.Fault, sent []string) string {
	for _, param := range sent {
		var is bool
		switch param {
		case paramThink:
			is = f.Status == http.StatusBadRequest && saysThink.MatchString(f.Message) || f.Refuses(param)
		case paramFormat:
			is = (f.Status == http.StatusBadRequest || f.Status == http.StatusInternalServerError) && saysFormat.MatchString(f.Message)
		default:
			is = f.Refuses(param)
		}
		if is {
			return param
		}
	}
	return ""
}
