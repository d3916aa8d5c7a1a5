package llmtest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/llm"
)

// A response is what goes out, apart from how. One that comes in pieces has no
// body.
type response struct {
	status int
	header http.Header
	body   []byte
	pieces []func() []byte
}

// answer asks the control and makes of its reply what the fault wants. The
// error is that of an end of the context.
func (s *Server) answer(ctx context.Context, p *prompt, d *dialect, f Fault) (*response, error) {
	switch f {
	case RateLimit, RateLimitDate, RateLimitMS, Overloaded:
		return s.refuseForNow(d, f), nil
	case Expire, Missing:
		f = "" // those of batches
	case BadGateway:
		return page(http.StatusBadGateway, "502 Bad Gateway"), nil
	case Page:
		return page(http.StatusOK, "Please sign in"), nil
	}
	if failure, ok := d.failures[f]; ok {
		return d.failed(failure), nil
	}
	reply, err := s.generate(ctx, p)
	if err != nil {
		return nil, err
	}
	said := &said{text: reply.Text, finish: reply.Finish, certainty: s.opts.Certainty}
	limit := p.cap * bytesPerToken
	switch f {
	case NullContent:
		said.text = ""
	case Length:
		said.cut(len(reply.Text) / 2)
	case Filter:
		said.text, said.finish = "", llm.FinishContentFilter
	case Endless: // it says the same over and over, up to the cap or to what a client waits for
		said.text = strings.Repeat(reply.Text+"\n", 1+(64<<10)/(len(reply.Text)+1))
		if limit == 0 || p.stream { // a stream does not keep to its cap
			limit = len(said.text) - 1
		}
	}
	if limit > 0 && len(said.text) > limit {
		said.cut(limit)
	}
	said.tokens = (len(said.text) + bytesPerToken - 1) / bytesPerToken
	if p.stream && f != NoChoices && f != NullContent {
		return &response{http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, nil, chatPieces(p, said)}, nil
	}
	return inJSON(http.StatusOK, d.reply(p, said, f)), nil
}

// generate answers a request: the question of llm.CheckSight by the picture, as
// a model that sees, and everything else by the control. A blind server drops
// the pictures without a word.
func (s *Server) generate(ctx context.Context, p *prompt) (*llm.Reply, error) {
	isImage := func(part llm.Part) bool { return part.IsImage() }
	if s.opts.Blind {
		p.request.Parts = slices.DeleteFunc(slices.Clone(p.request.Parts), isImage)
	}
	parts := p.request.Parts
	if !slices.ContainsFunc(parts, func(part llm.Part) bool { return strings.Contains(part.Text(), llm.SightQuestion) }) {
		return p.control.Generate(ctx, p.request)
	}
	text := "red, green, blue" // a guess
	if i := slices.IndexFunc(parts, isImage); i >= 0 {
		text = colorsOfBars(parts[i].PNG())
	}
	return &llm.Reply{Text: text, Finish: llm.FinishStop}, nil
}

// colorsOfBars names the colours of three bars from left to right.
func colorsOfBars(file []byte) string {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return "I cannot read the picture."
	}
	var names []string
	box := img.Bounds()
	for i := range 3 {
		seen := img.At(box.Min.X+box.Dx()*(2*i+1)/6, box.Min.Y+box.Dy()/2)
		for name, color := range llm.SightColors {
			if seen == color {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// cut ends a reply at the output cap, after at most n bytes.
func (s *said) cut(n int) {
	for n = min(n, len(s.text)); n > 0 && n < len(s.text) && !utf8.RuneStart(s.text[n]); n-- {
	}
	s.text, s.finish = s.text[:n], llm.FinishLength
}

func inJSON(status int, v any) *response {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package
	}
	return &response{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}
}

func page(status int, title string) *response {
	return &response{status: status, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n", title, title)}
}

// failed writes a failure.
func (d *dialect) failed(f failure) *response { return inJSON(f.status, d.fail(f)) }

// refuseForNow tells the client to come back, in one of the ways there are.
func (s *Server) refuseForNow(d *dialect, f Fault) *response {
	wait := s.opts.RetryAfter
	if d == &gemini && f == RateLimit { // which says in the body, not in a header, how long
		return d.failed(failure{status: http.StatusTooManyRequests, words: googleQuota, details: []any{
			violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", wait.Seconds())},
		}})
	}
	failure, ok := d.failures[f]
	if !ok {
		failure = d.failures[RateLimit]
	}
	r := d.failed(failure)
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
	switch f {
	case Hang:
		s.wait(r.Context(), forever)
		panic(http.ErrAbortHandler)
	case Reset:
		reset(w)
		return
	case CutJSON:
		a.body, a.pieces = a.body[:len(a.body)/2], a.pieces[:len(a.pieces)/2]
	case Gzip:
		if a.pieces == nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			a.header.Set("Content-Encoding", "gzip")
			writeHeader(w, a)
			z := gzip.NewWriter(w)
			_, _ = z.Write(a.body) // here and below: the client may have gone
			_ = z.Close()
			return
		}
	}
	pieces := a.pieces
	if pieces == nil {
		a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
		parts := [][]byte{a.body[:len(a.body)/2], a.body[len(a.body)/2:]}
		if f == Trickle {
			parts = bytes.SplitAfter(a.body, nil)
		}
		for _, part := range parts {
			pieces = append(pieces, func() []byte { return part })
		}
	}
	writeHeader(w, a)
	for i, piece := range pieces {
		if (f == Silence || f == Cut) && i >= len(pieces)/2 {
			if f == Silence {
				s.wait(r.Context(), forever)
			}
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(piece()); err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		if f == "" && a.pieces == nil {
			continue
		}
		_ = http.NewResponseController(w).Flush()
		if f == Trickle && !s.wait(r.Context(), s.opts.Drip) {
			panic(http.ErrAbortHandler)
		}
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
