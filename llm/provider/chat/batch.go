package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// batches is OpenAI's interface for batches, which others copy: a file of
// requests is uploaded, a batch is made of it, and its results are one or two
// files.
type batches struct{ client *provider.Client }

func newBatches(c *provider.Client) provider.BatchService { return &batches{c} }

func (b *batches) at(query url.Values, path ...string) string {
	return b.client.Beside("/chat/completions", query, path...)
}

// Limits implements provider.BatchService.
func (b *batches) Limits() (calls, bytes int) { return 50_000, 200_000_000 }

// endpoint is what the calls of a batch are requests for.
const endpoint = "/v1/chat/completions"

// Upload implements provider.BatchService.
func (b *batches) Upload(ctx context.Context, calls []provider.BatchCall) (string, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	err := w.WriteField("purpose", "batch")
	if err == nil {
		_, err = w.CreateFormFile("file", "spatialstale.jsonl")
	}
	if err != nil {
		return "", err // a buffer does not fail
	}
	pieces, size := []io.Reader{bytes.NewReader(bytes.Clone(form.Bytes()))}, int64(form.Len())
	add := func(text []byte) {
		pieces, size = append(pieces, bytes.NewReader(text)), size+int64(len(text))
	}
	for _, c := range calls {
		add(fmt.Appendf(nil, `{"custom_id":%q,"method":"POST","url":%q,"body":`, c.ID, endpoint))
		add(c.Body)
		add([]byte("}\n"))
	}
	add(fmt.Appendf(nil, "\r\n--%s--\r\n", w.Boundary()))
	v, err := b.client.Ask(ctx, http.MethodPost, b.at(nil, "files"), w.FormDataContentType(), io.MultiReader(pieces...), size)
	return b.id(v, err)
}

// id is the id of what was made.
func (b *batches) id(v provider.Value, err error) (string, error) {
	id := v.At("id").Text()
	if err == nil && id == "" {
		err = b.client.Error(&llm.Request{}, llm.KindMalformed, "an answer about batches without an id")
	}
	return id, err
}

// Create implements provider.BatchService.
func (b *batches) Create(ctx context.Context, file string, _ []provider.BatchCall) (string, error) {
	body := provider.Compact(map[string]any{"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"})
	v, err := b.client.Ask(ctx, http.MethodPost, b.at(nil, "batches"), "application/json", bytes.NewReader(body), int64(len(body)))
	return b.id(v, err)
}

// Find implements provider.BatchService.
func (b *batches) Find(ctx context.Context, s *provider.Submission) ([]string, error) {
	if s.File == "" {
		return nil, nil // it comes before the batch
	}
	query := url.Values{"limit": {"100"}}
	for {
		v, err := b.client.Ask(ctx, http.MethodGet, b.at(query, "batches"), "", nil, 0)
		if err != nil {
			return nil, err
		}
		list, _ := v.At("data").List()
		for _, batch := range list {
			if batch.At("input_file_id").Text() == s.File {
				return []string{batch.At("id").Text()}, nil
			}
			if at := batch.At("created_at").Count(); at != nil && time.Unix(int64(*at), 0).Before(s.Since()) {
				return nil, nil // the newest come first
			}
		}
		if !v.At("has_more").IsTrue() || len(list) == 0 {
			return nil, nil
		}
		query.Set("after", list[len(list)-1].At("id").Text())
	}
}

// State implements provider.BatchService.
func (b *batches) State(ctx context.Context, id string) (provider.BatchState, error) {
	s := provider.BatchState{ID: id}
	v, err := b.client.Ask(ctx, http.MethodGet, b.at(nil, "batches", id), "", nil, 0)
	if err != nil {
		return s, err
	}
	switch v.At("status").Text() {
	case "completed", "expired", "cancelled":
		s.Ended = true
		for _, name := range []string{"output_file_id", "error_file_id"} {
			if file := v.At(name).Text(); file != "" {
				s.Files = append(s.Files, file)
			}
		}
	case "failed":
		s.Ended = true
		var said provider.Value
		if list, _ := v.At("errors", "data").List(); len(list) > 0 {
			said = list[0]
		}
		code := said.At("code").Text()
		s.TooMuch = code == "token_limit_exceeded"
		s.Failed = failed(http.StatusBadRequest, said.Raw())
		if s.TooMuch {
			s.Failed.Status = http.StatusTooManyRequests
		}
	}
	return s, nil
}

// failed is an answer to a request of its own that has this error.
func failed(status int, said any) *provider.Answer {
	return &provider.Answer{Status: status, Header: http.Header{}, Body: provider.Compact(map[string]any{"error": said})}
}

// Results implements provider.BatchService.
func (b *batches) Results(ctx context.Context, s *provider.BatchState, yield func(provider.BatchResult) error) error {
	for _, file := range s.Files {
		err := b.client.Lines(ctx, b.at(nil, "files", file, "content"), func(line []byte) error {
			var l struct {
				ID       string `json:"custom_id"`
				Response *struct {
					Status int             `json:"status_code"`
					Body   json.RawMessage `json:"body"`
				} `json:"response"`
				Error struct {
					Code string `json:"code"`
				} `json:"error"`
			}
			if err := json.Unmarshal(line, &l); err != nil {
				return b.client.Error(&llm.Request{}, llm.KindMalformed, "a result of a batch that is no JSON")
			}
			switch {
			case l.Error.Code == "batch_expired":
				return yield(provider.Expired(l.ID))
			case l.Error.Code == "batch_cancelled":
				return yield(provider.Canceled(l.ID))
			case l.Response != nil && l.Response.Status != 0:
				return yield(provider.BatchResult{ID: l.ID, Answer: &provider.Answer{Status: l.Response.Status, Header: http.Header{}, Body: l.Response.Body}})
			}
			v, _ := provider.Parse(line) // it was read
			return yield(provider.BatchResult{ID: l.ID, Answer: failed(http.StatusInternalServerError, v.At("error").Raw())})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
