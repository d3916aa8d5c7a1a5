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
func (s *Server) answer(ctx context.Context, p *prompt, d dialect, f Fault) (*response, error) {
	switch f {
	case RateLimit, RateLimitDate, RateLimitMS, Overloaded:
		return s.refuseForNow(d, f), nil
	case Failure, Quota, BadKey, NoModel, TooLong, ErrorObject:
		return d.failure(f), nil
	case BadGateway:
		return page(http.StatusBadGateway, "502 Bad Gateway"), nil
	case Page:
		return page(http.StatusOK, "Please sign in"), nil
	}
	reply, err := s.generate(ctx, p)
	if err != nil {
		return nil, err
	}
	said := &said{text: reply.Text, finish: reply.Finish, certainty: s.opts.Certainty}
	switch f {
	case NullContent:
		said.text = ""
	case Length:
		said.cut(len(reply.Text) / 2)
	case Filter:
		said.text, said.finish = "", llm.FinishContentFilter
	}
	if p.cap > 0 && len(reply.Text) > p.cap*bytesPerToken {
		said.cut(p.cap * bytesPerToken)
	}
	said.tokens = (len(said.text) + bytesPerToken - 1) / bytesPerToken
	return inJSON(http.StatusOK, d.reply(p, said, f)), nil
}

// said is what a control said, as far as it is to be told.
type said struct {
	text      string
	finish    llm.Finish
	tokens    int
	certainty float64 // Options.Certainty
}

// cut ends a reply at the output cap, after at most n bytes.
func (s *said) cut(n int) {
	for n = min(n, len(s.text)); n > 0 && n < len(s.text) && !utf8.RuneStart(s.text[n]); n-- {
	}
	s.text, s.finish = s.text[:n], llm.FinishLength
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

func page(status int, title string) *response {
	return &response{status, http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n", title, title)}
}

// refuseForNow tells the client to come back, in one of the ways there are.
func (s *Server) refuseForNow(d dialect, f Fault) *response {
	wait := s.opts.RetryAfter
	if l, ok := d.(rateLimiter); ok && f == RateLimit {
		return l.rateLimit(wait)
	}
	r := d.failure(f)
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
