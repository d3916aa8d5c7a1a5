package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/llm/price"
)

func newService(t testing.TB) *Service {
	t.Helper()
	sum, err := HashToken("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{
		Accounts: []Account{{Name: "a", Token: sum}}, Limits: Limits{Memories: 100},
		Models: []Model{{Name: "gone", Open: func(*price.Budget) (audit.Model, error) { return &audittest.Model{Rule: audittest.Gone}, nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// depth is how deep a JSON text is nested, by the standard library.
func depth(b []byte) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(b))
	for now := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

// What is let through must be JSON in UTF-8 of a bounded depth, and what is JSON
// of that kind must be let through.
func FuzzCheckJSON(f *testing.F) {
	for _, text := range []string{`{"a": [1, "b\\\""]}`, "[[[", "\xff", strings.Repeat("[", 40) + strings.Repeat("]", 40), `"\ud800"`, "{}{}", `"[[["`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		good := utf8.Valid(b) && json.Valid(b) && depth(b) <= maxDepth
		if err := checkJSON(b, sizes{len(b) + 2, len(b) + 2}); (err == nil) != good {
			t.Errorf("%q: %v", b, err)
		}
	})
}

// Whatever is posted must be answered, and never as a fault of the program.
func FuzzAudit(f *testing.F) {
	f.Add([]byte(`{"memories": [{"id": "a", "text": "dog is here", "claims": {"expires": "2001-01-01T00:00:00Z"}}], "observation": {"text": "dog is gone"}}`))
	f.Add([]byte(`{"memories": [{"images": ["aGVsbG8="]}], "observation": {"facts": {"a": "b"}}, "policy": "correct", "max_removed_share": 0.5, "model": "none"}`))
	f.Add([]byte(`{"memories": null, "observation": {"images": null, "text": "\u0000"}, "protect": null, "honour": {"kind": false}}`))
	handler := newService(f).Handler()
	f.Fuzz(func(t *testing.T, b []byte) {
		r := httptest.NewRequest(http.MethodPost, "/v1/audit", bytes.NewReader(b))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer 0123456789abcdef")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !json.Valid(w.Body.Bytes()) || w.Code != 200 && w.Code != 400 && w.Code != 403 && w.Code != 422 {
			t.Errorf("%q: %d %s", b, w.Code, w.Body)
		}
	})
}

// Whatever comes in must end, and each line that is passed on must be a message.
func FuzzPassLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n\nhello\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	f.Add([]byte("[]\n3\n\x00\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var passed, refused bytes.Buffer
		k := &talk{out: &refused, unanswered: map[jsonrpc.ID]bool{}, told: make(chan struct{}, 1)}
		if err := k.passLines(bytes.NewReader(b), &Limits{Body: 200, Memories: 10}, &passed); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for line := range bytes.Lines(passed.Bytes()) {
			if _, err := jsonrpc.DecodeMessage(line); err != nil || len(line) > 201 {
				t.Errorf("%q was passed on: %v", line, err)
			}
		}
		for line := range bytes.Lines(refused.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("%q was answered", line)
			}
		}
	})
}

// A file of tokens is read or refused, and never shown.
func FuzzParseAccounts(f *testing.F) {
	f.Add([]byte("tokens:\n  - {name: a, token: 0123456789abcdef, budget: 1}\n"))
	f.Add([]byte("tokens: [{name: a, sha256: " + strings.Repeat("0f", 32) + "}]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if accounts, err := parseAccounts(b); err == nil && len(accounts) == 0 {
			t.Errorf("%q has no token", b)
		}
	})
}

// A fault of the program must end one audit, be told without what was sent, and
// leave the service as it is.
func TestFault(t *testing.T) {
	s := newService(t)
	_, _, err := s.safely(context.Background(), call{}, &AuditRequest{}) // without an account
	var f *fault
	if !errors.As(err, &f) || f.status != http.StatusInternalServerError {
		t.Errorf("%v", err)
	}
}
