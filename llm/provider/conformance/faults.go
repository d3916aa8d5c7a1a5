package conformance

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A Protocol is what the tests of faults need to know of one.
type Protocol struct {
	// Open returns a client for an llmtest server at a base URL that ends in
	// /v1; it ends with the test.
	Open func(t *testing.T, base string, s provider.Settings) llm.Model
	// Endpoint is what a client says of http://127.0.0.1:1/v1 in an error.
	Endpoint string
	// Hears says what a caller hears of the faults that the protocol's servers
	// put in words of their own.
	Hears map[llmtest.Fault]Heard
}

// Heard is what a caller must hear of a fault.
type Heard struct {
	Kind  llm.Kind // "" for a reply
	Words string   // in the error, or the finish of the reply
	After time.Duration
}

// wire is what a caller hears of the faults that are the same for all.
var wire = map[llmtest.Fault]Heard{
	"":                 {"", "stop", 0},
	llmtest.Gzip:       {"", "stop", 0},
	llmtest.Length:     {"", "length", 0},
	llmtest.BadGateway: {llm.KindServer, `HTTP 502: a web page, titled "502 Bad Gateway"`, 0},
	llmtest.Hang:       {llm.KindTimeout, "no whole answer within 200ms", 0},
	llmtest.Silence:    {llm.KindTimeout, "silence for 50ms in the middle of an answer, after", 0},
	llmtest.Trickle:    {llm.KindTimeout, "no whole answer within 200ms", 0},
	llmtest.Reset:      {llm.KindNetwork, "the connection broke before an answer came", 0},
	llmtest.Cut:        {llm.KindNetwork, "the connection broke in the middle of an answer", 0},
	llmtest.CutJSON:    {llm.KindMalformed, "not readable as JSON", 0},
	llmtest.Page:       {llm.KindMalformed, `a web page in place of an answer, titled "Please sign in"`, 0},
}

// Wait is the time that llmtest's server asks to wait here.
const Wait = 3 * time.Second

// Faults runs a call into each fault of llmtest's server, and fails when one is
// not accounted for.
func Faults(t *testing.T, p Protocol) {
	all := maps.Clone(wire)
	maps.Copy(all, p.Hears)
	for _, f := range llmtest.Faults {
		if _, ok := all[f]; !ok {
			t.Errorf("nothing says what is heard of the fault %q", f)
		}
	}
	if len(all) != len(llmtest.Faults)+1 { // and none
		t.Errorf("%d faults are accounted for, there are %d", len(all)-1, len(llmtest.Faults))
	}
	for _, fault := range append([]llmtest.Fault{""}, llmtest.Faults...) {
		want := all[fault]
		t.Run(string(fault), func(t *testing.T) {
			deadlines := provider.Deadlines{Connect: time.Minute, Idle: time.Minute, Attempt: time.Minute}
			switch fault {
			case llmtest.Silence:
				deadlines.Idle = 50 * time.Millisecond
			case llmtest.Hang, llmtest.Trickle:
				deadlines.Attempt = 200 * time.Millisecond
			}
			server := listen(t, llmtest.Options{
				Faults: func(llmtest.Asked) llmtest.Fault { return fault }, RetryAfter: Wait, Drip: 10 * time.Millisecond,
			})
			m := p.Open(t, server.URL, provider.Settings{Deadlines: deadlines, NameCalls: true})
			reply, err := m.Generate(t.Context(), Step())
			if got := Show(t, reply, err); llm.KindOf(err) != want.Kind || !strings.Contains(got, want.Words) {
				t.Errorf("want %s %q, got %s", want.Kind, want.Words, got)
			}
			if err != nil && err.(*llm.Error).RetryAfter != want.After {
				t.Errorf("retry after %v, want %v", err.(*llm.Error).RetryAfter, want.After)
			}
			entries := server.Entries()
			if len(entries) != 1 || entries[0].Fault != fault || entries[0].Call != "0123/step1" {
				t.Errorf("ledger %+v", entries)
			}
		})
	}
}

// listen returns a server that ends with the test.
func listen(t *testing.T, o llmtest.Options) *llmtest.Server {
	t.Helper()
	server, err := llmtest.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Retries fails when a call that failed in any way that may pass is lost, or
// made once more than needed.
func Retries(t *testing.T, p Protocol) {
	server := listen(t, llmtest.Options{Faults: func(a llmtest.Asked) llmtest.Fault {
		if a.Attempt <= len(passing) {
			return passing[a.Attempt-1]
		}
		return ""
	}})
	m := p.Open(t, server.URL, provider.Settings{NameCalls: true})
	var waits int
	r := llm.Retry(m, llm.RetryOptions{Attempts: 20, Base: time.Microsecond, Cap: time.Microsecond, Notify: func(llm.Wait) { waits++ }})
	reply, err := r.Generate(t.Context(), Step())
	if err != nil || reply.Text != `{"action": "RIGHT"}` {
		t.Fatal(reply, err)
	}
	if waits != len(passing) {
		t.Errorf("%d waits for %d faults", waits, len(passing))
	}
	if got := llmtest.Count(server.Entries()); got != (llmtest.Totals{Asked: len(passing) + 1, Answered: 1, Distinct: 1}) {
		t.Errorf("%+v", got)
	}
}

// passing are the faults that may pass when a call is tried again.
var passing = []llmtest.Fault{
	llmtest.RateLimit, llmtest.RateLimitDate, llmtest.RateLimitMS, llmtest.Overloaded, llmtest.Failure, llmtest.BadGateway, llmtest.Reset,
	llmtest.Cut, llmtest.CutJSON, llmtest.Page, llmtest.ErrorObject, llmtest.NoChoices, llmtest.NullContent,
}

// NoConnection asks where nothing listens.
func NoConnection(t *testing.T, p Protocol) {
	_, err := p.Open(t, "http://127.0.0.1:1/v1", provider.Settings{}).Generate(t.Context(), Step())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.KindNetwork || !e.Unreached || !strings.Contains(err.Error(), "no connection to "+p.Endpoint+": ") {
		t.Error(err)
	}
}

// NoRedirect fails when a request, and the key in it, goes where a redirect
// points.
func NoRedirect(t *testing.T, serve Serve) {
	followed := false
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed = true
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := m.Generate(t.Context(), Step())
	if followed || llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("followed %v, %v", followed, err)
	}
}
