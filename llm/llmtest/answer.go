package llmtest

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/llm"
)

// bytesPerToken is how this server counts tokens.
const bytesPerToken = 4

// tokensPerImage is what it counts for a picture.
const tokensPerImage = 256

// A response is what goes out, apart from how.
type response struct {
	status int
	header http.Header
	body   []byte
}

// answer asks the control and makes of its reply what the fault wants. The
// error is that of an end of the context.
func (s *Server) answer(ctx context.Context, p *prompt, f Fault) (*response, error) {
	switch f {
	case RateLimit, RateLimitDate, RateLimitMS, Overloaded:
		return s.refuseForNow(f), nil
	case Failure:
		return failure(http.StatusInternalServerError, "The server had an error while processing your request.", "server_error", nil), nil
	case Quota:
		return failure(http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"), nil
	case BadKey:
		return failure(http.StatusUnauthorized, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"), nil
	case NoModel:
		return failure(http.StatusNotFound, "The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"), nil
	case TooLong:
		return failure(http.StatusBadRequest, "This model's maximum context length is 1024 tokens.", "invalid_request_error", "context_length_exceeded"), nil
	case BadGateway:
		return page(http.StatusBadGateway, "502 Bad Gateway"), nil
	case Page:
		return page(http.StatusOK, "Please sign in"), nil
	case ErrorObject:
		r := failure(http.StatusBadGateway, "The provider behind this one returned an error.", "upstream_error", http.StatusBadGateway)
		r.status = http.StatusOK
		return r, nil
	}
	reply, err := p.control.Generate(ctx, p.request)
	if err != nil {
		return nil, err
	}
	m := message{Role: "assistant", Content: &reply.Text}
	choice := choice{Message: m, FinishReason: string(reply.Finish)}
	switch f {
	case NullContent:
		choice.Message.Content = nil
	case Length:
		cut(&choice, len(reply.Text)/2)
	case Filter:
		*choice.Message.Content, choice.FinishReason = "", string(llm.FinishContentFilter)
	}
	if p.cap > 0 && len(reply.Text) > p.cap*bytesPerToken {
		cut(&choice, p.cap*bytesPerToken)
	}
	c := completion{
		ID: "chatcmpl-rehearsal", Object: "chat.completion", Model: p.control.Name(), Choices: []any{choice},
		Usage: usage{Prompt: promptTokens(p.request)},
	}
	if t := choice.Message.Content; t != nil {
		c.Usage.Completion = (len(*t) + bytesPerToken - 1) / bytesPerToken
	}
	c.Usage.Total = c.Usage.Prompt + c.Usage.Completion
	if f == NoChoices {
		c.Choices = []any{}
	}
	return inJSON(http.StatusOK, c), nil
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

// cut ends a reply at the output cap, after at most n bytes.
func cut(c *choice, n int) {
	text := *c.Message.Content
	for n = min(n, len(text)); n > 0 && n < len(text) && !utf8.RuneStart(text[n]); n-- {
	}
	text = text[:n]
	c.Message.Content, c.FinishReason = &text, string(llm.FinishLength)
}

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

func inJSON(status int, v any) *response {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package
	}
	return &response{status, http.Header{"Content-Type": {"application/json"}}, body}
}

func failure(status int, message, kind string, code any) *response {
	return inJSON(status, map[string]any{"error": wireError{Message: message, Type: kind, Code: code}})
}

func page(status int, title string) *response {
	return &response{status, http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n", title, title)}
}

// refuseForNow tells the client to come back, in one of the ways there are.
func (s *Server) refuseForNow(f Fault) *response {
	wait := s.opts.RetryAfter
	r := failure(http.StatusTooManyRequests, "Rate limit reached for requests.", "requests", "rate_limit_exceeded")
	if f == Overloaded {
		r = failure(529, "Overloaded", "overloaded_error", nil)
	}
	switch f {
	case RateLimitMS:
		r.header.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
	case RateLimitDate:
		now := time.Now().UTC().Truncate(time.Second)
		r.header.Set("Date", now.Format(http.TimeFormat))
		r.header.Set("Retry-After", now.Add(wait).Format(http.TimeFormat))
	default:
		r.header.Set("Retry-After", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
	}
	return r
}

// deliver sends a response, or fails to.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, a *response, f Fault) {
	half := a.body[:len(a.body)/2]
	switch f {
	case Hang:
		s.wait(r.Context(), forever)
		panic(http.ErrAbortHandler)
	case Reset:
		reset(w)
		return
	case CutJSON:
		a.body = half
	case Gzip:
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			a.header.Set("Content-Encoding", "gzip")
			writeHeader(w, a)
			z := gzip.NewWriter(w)
			_, _ = z.Write(a.body) // here and below: the client may have gone
			_ = z.Close()
			return
		}
	}
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	writeHeader(w, a)
	switch f {
	case Silence, Cut:
		_, _ = w.Write(half)
		_ = http.NewResponseController(w).Flush()
		if f == Silence {
			s.wait(r.Context(), forever)
		}
		panic(http.ErrAbortHandler)
	case Trickle:
		for i := range a.body {
			_, _ = w.Write(a.body[i : i+1])
			_ = http.NewResponseController(w).Flush()
			if !s.wait(r.Context(), s.opts.Drip) {
				panic(http.ErrAbortHandler)
			}
		}
	default:
		_, _ = w.Write(a.body)
	}
}

// forever is longer than anybody waits.
const forever = 365 * 24 * time.Hour

func writeHeader(w http.ResponseWriter, a *response) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
}

// reset ends the connection the hard way.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
