package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// batches is the protocol's interface for batches: the requests go along with
// the one that submits them.
type batches struct{ client *provider.Client }

func newBatches(c *provider.Client) provider.BatchService { return &batches{c} }

func (b *batches) at(query url.Values, path ...string) string {
	return b.client.Beside("/messages", query, append([]string{"messages", "batches"}, path...)...)
}

// Limits implements provider.BatchService.
func (b *batches) Limits() (calls, bytes int) { return 100_000, 256_000_000 }

// Upload implements provider.BatchService: nothing goes ahead.
func (b *batches) Upload(context.Context, []provider.BatchCall) (string, error) { return "", nil }

// Create implements provider.BatchService.
func (b *batches) Create(ctx context.Context, _ string, calls []provider.BatchCall) (string, error) {
	var pieces []io.Reader
	var size int64
	add := func(text []byte) {
		pieces, size = append(pieces, bytes.NewReader(text)), size+int64(len(text))
	}
	before := `{"requests":[`
	for _, c := range calls {
		add(fmt.Appendf(nil, `%s{"custom_id":%q,"params":`, before, c.ID))
		add(c.Body)
		before = "},"
	}
	add([]byte("}]}"))
	v, err := b.client.Ask(ctx, http.MethodPost, b.at(nil), "application/json", io.MultiReader(pieces...), size)
	id := v.At("id").Text()
	if err == nil && id == "" {
		err = b.client.Error(&llm.Request{}, llm.KindMalformed, "an answer about batches without an id")
	}
	return id, err
}

// Find implements provider.BatchService. A batch does not say what is in it
// before it has ended; how many calls it has and when it was made is what there
// is.
func (b *batches) Find(ctx context.Context, s *provider.Submission) (ids []string, err error) {
	query := url.Values{"limit": {"100"}}
	for {
		v, err := b.client.Ask(ctx, http.MethodGet, b.at(query), "", nil, 0)
		if err != nil {
			return nil, err
		}
		list, _ := v.At("data").List()
		for _, batch := range list {
			if at, err := time.Parse(time.RFC3339, batch.At("created_at").Text()); err == nil && at.Before(s.Since()) {
				return ids, nil // the newest come first
			}
			n := 0
			for _, name := range batch.At("request_counts").Names() {
				if some := batch.At("request_counts", name).Count(); some != nil {
					n += *some
				}
			}
			if n == len(s.Calls) {
				ids = append(ids, batch.At("id").Text())
			}
		}
		if !v.At("has_more").IsTrue() || len(list) == 0 {
			return ids, nil
		}
		query.Set("after_id", list[len(list)-1].At("id").Text())
	}
}

// State implements provider.BatchService.
func (b *batches) State(ctx context.Context, id string) (provider.BatchState, error) {
	v, err := b.client.Ask(ctx, http.MethodGet, b.at(nil, id), "", nil, 0)
	return provider.BatchState{ID: id, Ended: v.At("processing_status").Text() == "ended"}, err
}

// statuses are those of answers with these types of errors.
var statuses = map[string]int{
	"authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429,
	"api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}

// Results implements provider.BatchService. The address is ours: the one that the
// server says would be sent the key, wherever it is.
func (b *batches) Results(ctx context.Context, s *provider.BatchState, yield func(provider.BatchResult) error) error {
	return b.client.Lines(ctx, b.at(nil, s.ID, "results"), func(line []byte) error {
		var l struct {
			ID     string `json:"custom_id"`
			Result struct {
				Type    string          `json:"type"`
				Message json.RawMessage `json:"message"`
				Error   json.RawMessage `json:"error"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return b.client.Error(&llm.Request{}, llm.KindMalformed, "a result of a batch that is no JSON")
		}
		a := &provider.Answer{Status: http.StatusOK, Header: http.Header{}, Body: l.Result.Message}
		switch l.Result.Type {
		case "succeeded":
		case "expired":
			return yield(provider.Expired(l.ID))
		case "canceled":
			return yield(provider.Canceled(l.ID))
		default:
			said, _ := provider.Parse(l.Result.Error) // what is none says nothing
			a.Body, a.Status = l.Result.Error, http.StatusBadRequest
			if status, ok := statuses[said.At("error", "type").Text()]; ok {
				a.Status = status
			}
		}
		return yield(provider.BatchResult{ID: l.ID, Answer: a})
	})
}
