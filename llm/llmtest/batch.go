package llmtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/llm/provider"
)

// batches are those that the server was sent, by OpenAI's interface and by
// Anthropic's. Their calls are answered when somebody asks for a batch after its
// time is up (Options.BatchTime), in an order of no meaning.
type batches struct {
	mu    sync.Mutex
	files map[string][]byte
	all   []*batch
}

type batch struct {
	id      string
	file    string // of its calls, by OpenAI's interface
	dialect *dialect
	calls   []batchCall
	created time.Time
	failed  map[string]any // why it was refused as a whole
	ended   bool
	counts  map[Fault]int // of results: "" answered, Failure, Expire
	results [2][]byte     // answers, and by OpenAI's interface what went wrong
}

type batchCall struct {
	ID     string          `json:"custom_id"`
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body"`
	Params json.RawMessage `json:"params"`
}

// OpenAI's limits on a batch, and Anthropic's.
const (
	mostFileCalls, mostFileBytes   = 50_000, 200 << 20
	mostBatchCalls, mostBatchBytes = 100_000, 256 << 20
)

// serveBatches answers requests about batches and their files; it reports
// whether this was one.
func (s *Server) serveBatches(w http.ResponseWriter, r *http.Request) bool {
	_, path, ok := strings.Cut(r.URL.Path, "/v1/")
	if !ok {
		return false
	}
	b := &s.batches
	b.mu.Lock()
	defer b.mu.Unlock()
	parts := strings.Split(path, "/")
	about, post := r.Method+" "+parts[0], r.Method == http.MethodPost
	d := &chat
	if parts[0] == "messages" && len(parts) > 1 && parts[1] == "batches" {
		about, parts, d = r.Method+" messages/batches", parts[1:], &anthropic
	}
	var answer any
	var err error
	switch {
	case about == "POST files":
		answer, err = b.upload(r)
	case about == "GET files" && len(parts) == 3 && parts[2] == "content":
		text, known := b.files[parts[1]]
		if known {
			_, _ = w.Write(text) // the client may have gone
			return true
		}
		err = failure{status: http.StatusNotFound, words: "No such File object: " + parts[1]}
	case about == "POST batches":
		answer, err = s.createFile(r)
	case about == "POST messages/batches":
		answer, err = s.createBatch(r)
	case parts[0] != "batches" || post:
		return false
	case len(parts) == 1:
		answer = b.list(d, r)
	default:
		i := slices.IndexFunc(b.all, func(one *batch) bool { return one.id == parts[1] && one.dialect == d })
		if i < 0 {
			err = failure{status: http.StatusNotFound, words: "No batch found with id '" + parts[1] + "'."}
			break
		}
		one := b.all[i]
		if err = s.work(r, one); err == nil && len(parts) == 3 && parts[2] == "results" {
			_, _ = w.Write(one.results[0])
			return true
		}
		answer = one.describe()
	}
	if refused, ok := err.(failure); ok {
		write(w, d.failed(refused))
	} else if err != nil {
		write(w, d.failed(failure{status: http.StatusInternalServerError, words: err.Error()}))
	} else {
		write(w, inJSON(http.StatusOK, answer))
	}
	return true
}

func (b *batches) keep(text []byte) string {
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	id := fmt.Sprintf("file-%d", len(b.files)+1)
	b.files[id] = text
	return id
}

func (b *batches) upload(r *http.Request) (any, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, mostFileBytes+1<<20)
	file, _, err := r.FormFile("file")
	if err != nil || r.FormValue("purpose") != "batch" {
		return nil, refusal("want a file, and the purpose batch")
	}
	text, err := io.ReadAll(file)
	if err != nil || len(text) > mostFileBytes {
		return nil, refusal("The file is too large.")
	}
	return map[string]any{"id": b.keep(text), "object": "file", "purpose": "batch", "bytes": len(text)}, nil
}

// createFile makes a batch of a file. What is wrong with its lines is said of the
// batch, later.
func (s *Server) createFile(r *http.Request) (any, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	body, _ := provider.Parse(text)
	id := body.At("input_file_id").Text()
	file, known := s.batches.files[id]
	switch {
	case err != nil || !known:
		return nil, refusal("No such File object: %s", id)
	case body.At("endpoint").Text() != "/v1/chat/completions":
		return nil, refusal("Invalid endpoint: %s", body.At("endpoint").Text())
	case body.At("completion_window").Text() != "24h":
		return nil, refusal("completion_window: want 24h")
	}
	b := &batch{file: id, dialect: &chat}
	for line := range bytes.Lines(file) {
		var c batchCall
		if err := json.Unmarshal(line, &c); err != nil || c.Method != http.MethodPost || c.URL != "/v1/chat/completions" {
			b.failed = map[string]any{"code": "invalid_json_line", "message": "This line is not parseable as a request of this batch.", "line": len(b.calls) + 1}
			break
		}
		b.calls = append(b.calls, c)
	}
	if err := s.batches.add(b, mostFileCalls); err != nil {
		b.failed = map[string]any{"code": "invalid_request", "message": err.Error()}
	}
	if n := s.batches.waiting(b); s.opts.BatchMost > 0 && n > s.opts.BatchMost {
		b.failed = map[string]any{"code": "token_limit_exceeded", "message": "Enqueued token limit reached for this model. Please try again once some in_progress batches have been completed."}
	}
	return b.describe(), nil
}

func (s *Server) createBatch(r *http.Request) (any, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBatchBytes+1))
	if err != nil || len(text) > mostBatchBytes {
		return nil, failure{status: http.StatusRequestEntityTooLarge, words: "Request exceeds the maximum size", kind: "request_too_large"}
	}
	b := &batch{dialect: &anthropic}
	var body struct{ Requests []batchCall }
	if err := json.Unmarshal(text, &body); err != nil || len(body.Requests) == 0 {
		return nil, refusal("requests: want a list of at least one")
	}
	for _, c := range body.Requests {
		c.Body = c.Params
		b.calls = append(b.calls, c)
	}
	if err := s.batches.add(b, mostBatchCalls); err != nil {
		return nil, refusal("%v", err)
	}
	return b.describe(), nil
}

// waiting counts the calls of b and of the batches that have not ended.
func (b *batches) waiting(one *batch) int {
	n := len(one.calls)
	for _, other := range b.all {
		if other != one && !other.ended && other.failed == nil {
			n += len(other.calls)
		}
	}
	return n
}

// add takes in a batch, and says what is wrong with it.
func (b *batches) add(one *batch, most int) error {
	one.id, one.created = fmt.Sprintf("batch_%d", len(b.all)+1), time.Now()
	b.all = append(b.all, one)
	seen := map[string]bool{}
	for _, c := range one.calls {
		id := c.ID
		if id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || seen[id] {
			return fmt.Errorf("custom_id %q: want one of its own for each request, of at most 64 letters, digits, - and _", id)
		}
		seen[id] = true
	}
	if len(one.calls) > most {
		return fmt.Errorf("a batch of %d requests; %d is the most", len(one.calls), most)
	}
	return nil
}

// list describes the batches, the newest first, in pages.
func (b *batches) list(d *dialect, r *http.Request) any {
	after := cmp.Or(r.URL.Query().Get("after"), r.URL.Query().Get("after_id"))
	data := []any{}
	more, last := false, ""
	for _, one := range slices.Backward(b.all) {
		switch {
		case one.dialect != d:
		case after != "":
			if one.id == after {
				after = ""
			}
		case len(data) == 20:
			more = true
		default:
			data, last = append(data, one.describe()), one.id
		}
	}
	return map[string]any{"object": "list", "data": data, "has_more": more, "last_id": last}
}

func (b *batch) describe() any {
	answered, failed, expired := b.counts[""], b.counts[Failure], b.counts[Expire]
	if b.dialect == &anthropic {
		status, waiting := "in_progress", len(b.calls)
		if b.ended {
			status, waiting = "ended", 0
		}
		return map[string]any{
			"id": b.id, "type": "message_batch", "processing_status": status, "created_at": b.created.UTC().Format(time.RFC3339Nano),
			"request_counts": map[string]any{"processing": waiting, "succeeded": answered, "errored": len(b.calls) - waiting - answered - expired, "canceled": 0, "expired": expired},
		}
	}
	o := map[string]any{
		"id": b.id, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": b.file, "completion_window": "24h", "created_at": b.created.Unix(),
		"status": "in_progress", "errors": nil, "output_file_id": nil, "error_file_id": nil,
		"request_counts": map[string]any{"total": len(b.calls), "completed": answered, "failed": failed + expired},
	}
	switch {
	case b.failed != nil:
		o["status"], o["errors"] = "failed", map[string]any{"object": "list", "data": []any{b.failed}}
	case b.ended:
		if o["status"] = "completed"; expired > 0 {
			o["status"] = "expired"
		}
		for i, name := range []string{"output_file_id", "error_file_id"} {
			if len(b.results[i]) > 0 {
				o[name] = fmt.Sprintf("%s-%d", b.id, i)
			}
		}
	}
	return o
}

// work answers the calls of a batch once its time is up.
func (s *Server) work(r *http.Request, b *batch) error {
	if b.ended || b.failed != nil || time.Since(b.created) < s.opts.BatchTime {
		return nil
	}
	b.counts = map[Fault]int{}
	calls := slices.Clone(b.calls)
	slices.SortFunc(calls, func(x, y batchCall) int {
		a, b := sum([]byte(b.id), []byte(x.ID)), sum([]byte(b.id), []byte(y.ID))
		return bytes.Compare(a[:], b[:])
	})
	for _, c := range calls {
		entry := s.ledger.ask(c.ID, c.Body)
		a, err := s.workOn(r, b.dialect, c, &entry)
		if err == nil {
			err = s.ledger.add(entry)
		}
		if err != nil {
			return err
		}
		s.result(b, c.ID, a, entry.Fault)
	}
	b.ended = true
	for i, text := range b.results {
		if b.file != "" {
			s.batches.keep(nil) // numbers stay apart
			s.batches.files[fmt.Sprintf("%s-%d", b.id, i)] = text
		}
	}
	return nil
}

// workOn answers a call; nil where it is lost or has expired.
func (s *Server) workOn(r *http.Request, d *dialect, c batchCall, entry *Entry) (*response, error) {
	alone := &http.Request{Method: http.MethodPost, URL: r.URL, Header: http.Header{"Anthropic-Version": {"batch"}}}
	p, err := s.prepare(alone, c.Body, d)
	if refused, ok := err.(failure); ok {
		entry.Status = refused.status
		return d.failed(refused), nil
	}
	entry.Model = p.control.Name()
	if s.opts.Faults != nil {
		entry.Fault = s.opts.Faults(Asked{entry.ID, entry.Call, entry.Attempt})
	}
	switch entry.Fault {
	case Expire, Missing:
		return nil, nil
	case Hang, Silence, Reset, Cut, CutJSON, Page, BadGateway: // which a file cannot have
		entry.Fault = Failure
	}
	a, err := s.answer(context.Background(), p, d, entry.Fault) // whoever asked may be gone
	if err == nil {
		entry.Status = a.status
	}
	return a, err
}

// result writes the line of a result.
func (s *Server) result(b *batch, id string, a *response, f Fault) {
	line, to, kind := map[string]any{"custom_id": id}, 0, Fault("")
	switch {
	case f == Missing:
		return
	case f == Expire:
		to, kind = 1, Expire
		line["result"] = map[string]any{"type": "expired"}
		line["response"], line["error"] = nil, map[string]any{"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}
	case a.status != http.StatusOK:
		to, kind = 1, Failure
		line["result"] = map[string]any{"type": "errored", "error": json.RawMessage(a.body)}
	default:
		line["result"] = map[string]any{"type": "succeeded", "message": json.RawMessage(a.body)}
	}
	if b.dialect == &anthropic {
		to = 0
	} else {
		delete(line, "result")
		if line["id"] = "batch_req_" + id; f != Expire {
			line["error"], line["response"] = nil, map[string]any{"status_code": a.status, "request_id": "rehearsal", "body": json.RawMessage(a.body)}
		}
	}
	b.counts[kind]++
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a value of this package
	}
	b.results[to] = append(append(b.results[to], text...), '\n')
}
