package provider_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Would fail if a parameter that a user sets within an object were lost, took
// the others of that object with it, or were given up as if it were ours.
func TestExtraBody(t *testing.T) {
	var body string
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		body = string(sent)
	})
	protocol := provider.Protocol{
		Ours: []string{"model", "options.count"},
		Encode: func(_ *llm.Request, b *provider.Body) {
			b.Try("x", 1)
			options := b.Object("options")
			options.Try("y", 2)
			options.Set("z", 3)
			b.Object("empty")
		},
		Read: func(*llm.Request, *provider.Answer) (*llm.Reply, error) { return &llm.Reply{}, nil },
	}
	for extra, want := range map[string]string{
		``: `{"x":1,"options":{"y":2,"z":3}}`,
		`{"a":1,"options":{"y":"<2>","n":null},"x":[3]}`: `{"x":[3],"options":{"y":"<2>","z":3,"n":null},"a":1}`,
		`{"empty":{"b":1}}`:         `{"x":1,"options":{"y":2,"z":3},"empty":{"b":1}}`,
		`{"options":1}`:             `"options" in the extra body is not a JSON object`,
		`{"options":[]}`:            `"options" in the extra body is not a JSON object`,
		`{"options":{"y":1,"y":2}}`: `"options" in the extra body is not a JSON object without repeats`,
		`{"options":{"count":1}}`:   `cannot set "count"`,
		`{"model":1}`:               `cannot set "model"`,
		`{"a":1,"a":2}`:             `has "a" twice`,
		`{"a":1} {}`:                `is not a JSON object`,
	} {
		m, err := provider.New(provider.Options{Name: "m", URL: server, Settings: provider.Settings{ExtraBody: json.RawMessage(extra)}}, protocol)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", extra, err, want)
			}
			continue
		}
		if _, err := m.Generate(context.Background(), &llm.Request{}); err != nil || body != want {
			t.Errorf("%s: sent %s, want %s; %v", extra, body, want, err)
		}
		m.CloseIdleConnections()
	}
}

// Would fail if the default cap did not hold ten verdicts of 110 tokens, or
// those of a whole store, or could outlast a request.
func TestDefaultCap(t *testing.T) {
	entry := "[mem_021] SAFE at (2,5): Frozen ice - safe to walk\n"
	budget := 2048
	for _, c := range []struct {
		entries  int
		thinking *int
		least    int
	}{{10, nil, 10 * 110}, {64, nil, 64 * 110}, {100, nil, 100 * 110}, {4096, nil, 20000}, {10, &budget, 10*110 + budget}} {
		prompt := strings.Repeat("x", 1600) + strings.Repeat("(0,1)=F ", c.entries) + strings.Repeat(entry, c.entries)
		n := provider.DefaultCap(&llm.Request{Parts: []llm.Part{llm.Text(prompt)}, Params: llm.Params{Thinking: c.thinking}})
		if n < c.least || n > 20000+budget {
			t.Errorf("%d for %d entries, want at least %d", n, c.entries, c.least)
		}
	}
}
