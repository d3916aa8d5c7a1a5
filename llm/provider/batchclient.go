package provider

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// batchAttempt is how long one request about batches may take: a file of calls
// has hundreds of megabytes.
const batchAttempt = time.Hour

// Beside returns the address of something beside that of calls: ending is what
// the latter's path ends with, the names of path take its place, and query is
// added.
func (c *Client) Beside(ending string, query url.Values, path ...string) string {
	u, err := url.Parse(c.url)
	if err != nil {
		return c.url // it was read before
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, ending), ""
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	u = u.JoinPath(path...)
	all := u.Query()
	for name, values := range query {
		all[name] = values
	}
	u.RawQuery = all.Encode()
	return u.String()
}

// Expired is the result of a call whose batch ran out of time.
func Expired(call string) BatchResult {
	return BatchResult{ID: call, Kind: llm.KindRateLimit, Words: "the batch expired before it came to this call"}
}

// Canceled is the result of a call whose batch was canceled at the provider: it
// is not asked again unless somebody wants it.
func Canceled(call string) BatchResult {
	return BatchResult{ID: call, Kind: llm.KindBadRequest, Words: "the batch was canceled at the provider; resume --retry-errors asks again"}
}

// Since is the time from which batches are listed that may be a submission: the
// provider's clock is another.
func (s *Submission) Since() time.Time { return s.At.Add(-time.Hour) }

// Ask makes a request and returns the answer in JSON. A body of that size may be
// nil. The error is a *BatchRefused for a status without success.
func (c *Client) Ask(ctx context.Context, method, address, contentType string, body io.Reader, size int64) (Value, error) {
	var v Value
	err := c.fetch(ctx, method, address, contentType, body, size, func(text io.Reader) error {
		all, err := io.ReadAll(io.LimitReader(text, maxAnswer))
		if err == nil {
			if v, err = Parse(all); err != nil || !v.IsObject() {
				return c.Error(&llm.Request{}, llm.KindMalformed, "an answer about batches that is no JSON object")
			}
		}
		return err
	})
	return v, err
}

// Lines gets lines of text, of any number.
func (c *Client) Lines(ctx context.Context, address string, yield func(line []byte) error) error {
	return c.fetch(ctx, http.MethodGet, address, "", nil, 0, func(text io.Reader) error {
		lines := bufio.NewReaderSize(text, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if len(strings.TrimSpace(string(line))) > 0 {
				if err := yield(line); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// fetch makes a request and has its answer read. An error of the connection is
// an *llm.Error, and one of read that is not is handed on.
func (c *Client) fetch(ctx context.Context, method, address, contentType string, body io.Reader, size int64, read func(io.Reader) error) error {
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	attempt := time.AfterFunc(max(batchAttempt, c.deadlines.Attempt), func() { stop(errAttempt) })
	defer attempt.Stop()
	r, err := http.NewRequestWithContext(within, method, address, body)
	if err != nil {
		return c.Error(&llm.Request{}, llm.KindBadRequest, "the request cannot be made")
	}
	r.Header, r.ContentLength = c.header.Clone(), size
	r.Header.Set("Accept", "*/*")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return c.broken(ctx, within, &llm.Request{}, err, -1)
	}
	defer resp.Body.Close()
	idle := time.AfterFunc(c.deadlines.Idle, func() { stop(silence(c.deadlines.Idle)) })
	defer idle.Stop()
	text := &pulse{r: resp.Body, beat: func() { idle.Reset(c.deadlines.Idle) }}
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(text, maxAnswer)) // the status says enough
		return &BatchRefused{&Answer{Status: resp.StatusCode, Header: resp.Header, Body: said, RetryAfter: RetryAfter(resp.Header, c.now())}}
	}
	var failed *readError
	if err := read(&readErrors{text, &failed}); failed != nil {
		return c.broken(ctx, within, &llm.Request{}, failed.err, text.n)
	} else if err != nil {
		return err
	}
	return nil
}

// readErrors keeps the error with which its reader broke off.
type readErrors struct {
	r      io.Reader
	failed **readError
}

type readError struct{ err error }

func (r *readErrors) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		*r.failed = &readError{err}
	}
	return n, err
}
