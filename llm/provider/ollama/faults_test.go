package ollama_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

// rehearsal returns a server of llmtest and a client for it.
func rehearsal(t *testing.T, o llmtest.Options, c ollama.Options) (*llmtest.Server, *ollama.Client) {
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
	c.URL = strings.TrimSuffix(server.URL, "/v1") + "/api/chat"
	return server, clientAt(t, c)
}

// step is a prompt that a control can answer.
func step() *llm.Request {
	return &llm.Request{Trial: "0123", Slot: "step1", Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\n"),
		llm.Text("Agent at (0,0). Goal at (3,3).\nWhich way?"),
	}}
}

// Every fault of the wire, and what a caller must hear of it.
func TestFaults(t *testing.T) {
	brief := provider.Deadlines{Connect: time.Minute, Idle: time.Minute, Attempt: time.Minute}
	short := func(field string) provider.Deadlines {
		d := brief
		switch field {
		case "idle":
			d.Idle = 50 * time.Millisecond
		case "attempt":
			d.Attempt = 200 * time.Millisecond
		}
		return d
	}
	for _, c := range []struct {
		fault     llmtest.Fault
		deadlines provider.Deadlines
		kind      llm.Kind // "" for a reply
		words     string   // in the error, or the finish of the reply
		after     time.Duration
	}{
		{"", brief, "", "stop", 0},
		{llmtest.Gzip, brief, "", "stop", 0},
		{llmtest.Length, brief, "", "length", 0},
		{llmtest.Filter, brief, "", "content_filter", 0},
		{llmtest.RateLimit, brief, llm.KindRateLimit, "HTTP 429: too many concurrent requests", 3 * time.Second},
		{llmtest.RateLimitDate, brief, llm.KindRateLimit, "HTTP 429: too many concurrent requests", 3 * time.Second},
		{llmtest.RateLimitMS, brief, llm.KindRateLimit, "HTTP 429: too many concurrent requests", 3 * time.Second},
		{llmtest.Overloaded, brief, llm.KindRateLimit, "HTTP 503: server busy", 3 * time.Second},
		{llmtest.Failure, brief, llm.KindServer, "HTTP 500: llama runner process has terminated", 0},
		{llmtest.BadGateway, brief, llm.KindServer, `HTTP 502: a web page, titled "502 Bad Gateway"`, 0},
		{llmtest.Quota, brief, llm.KindQuota, "weekly usage limit", 0},
		{llmtest.BadKey, brief, llm.KindAuth, "HTTP 401: unauthorized", 0},
		{llmtest.NoModel, brief, llm.KindUnknownModel, "HTTP 404: model \"no-such-model\" not found, try pulling it first", 0},
		{llmtest.TooLong, brief, llm.KindBadRequest, "exceeds the context length", 0},
		{llmtest.Hang, short("attempt"), llm.KindTimeout, "no whole answer within 200ms", 0},
		{llmtest.Silence, short("idle"), llm.KindTimeout, "silence for 50ms in the middle of an answer, after", 0},
		{llmtest.Trickle, short("attempt"), llm.KindTimeout, "no whole answer within 200ms", 0},
		{llmtest.Reset, brief, llm.KindNetwork, "the connection broke before an answer came", 0},
		{llmtest.Cut, brief, llm.KindNetwork, "the connection broke in the middle of an answer", 0},
		{llmtest.CutJSON, brief, llm.KindMalformed, "not readable as JSON", 0},
		{llmtest.Page, brief, llm.KindMalformed, `a web page in place of an answer, titled "Please sign in"`, 0},
		{llmtest.ErrorObject, brief, llm.KindServer, "an error was encountered while running the model", 0},
		{llmtest.NoChoices, brief, llm.KindMalformed, "without content", 0},
		{llmtest.NullContent, brief, llm.KindMalformed, "without content", 0},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			server, m := rehearsal(t, llmtest.Options{
				Faults: func(llmtest.Asked) llmtest.Fault { return c.fault }, RetryAfter: 3 * time.Second, Drip: 10 * time.Millisecond,
			}, ollama.Options{Settings: provider.Settings{Deadlines: c.deadlines, NameCalls: true}})
			reply, err := m.Generate(t.Context(), step())
			if got := show(t, reply, err); llm.KindOf(err) != c.kind || !strings.Contains(got, c.words) {
				t.Errorf("want %s %q, got %s", c.kind, c.words, got)
			}
			if err != nil && err.(*llm.Error).RetryAfter != c.after {
				t.Errorf("retry after %v, want %v", err.(*llm.Error).RetryAfter, c.after)
			}
			entries := server.Entries()
			if len(entries) != 1 || entries[0].Fault != c.fault || entries[0].Call != "0123/step1" {
				t.Errorf("ledger %+v", entries)
			}
		})
	}
}

// The list above has every fault there is.
func TestFaultsAreAllTested(t *testing.T) {
	if len(llmtest.Faults) != 23 {
		t.Errorf("%d faults: add the new one to TestFaults", len(llmtest.Faults))
	}
}

// Would fail if a call that failed in any way that may pass were lost, or made
// once more than needed.
func TestRetryOverTheWire(t *testing.T) {
	var script []llmtest.Fault
	for _, f := range llmtest.Faults {
		switch f {
		case llmtest.RateLimit, llmtest.RateLimitDate, llmtest.RateLimitMS, llmtest.Overloaded, llmtest.Failure, llmtest.BadGateway, llmtest.Reset,
			llmtest.Cut, llmtest.CutJSON, llmtest.Page, llmtest.ErrorObject, llmtest.NoChoices, llmtest.NullContent:
			script = append(script, f)
		}
	}
	server, m := rehearsal(t, llmtest.Options{Faults: func(a llmtest.Asked) llmtest.Fault {
		if a.Attempt <= len(script) {
			return script[a.Attempt-1]
		}
		return ""
	}}, ollama.Options{Settings: provider.Settings{NameCalls: true}})
	var waits int
	r := llm.Retry(m, llm.RetryOptions{Attempts: 20, Base: time.Microsecond, Cap: time.Microsecond, Notify: func(llm.Wait) { waits++ }})
	reply, err := r.Generate(t.Context(), step())
	if err != nil || reply.Text != `{"action": "RIGHT"}` {
		t.Fatal(reply, err)
	}
	if waits != len(script) {
		t.Errorf("%d waits for %d faults", waits, len(script))
	}
	if got := llmtest.Count(server.Entries()); got != (llmtest.Totals{Asked: len(script) + 1, Answered: 1, Distinct: 1}) {
		t.Errorf("%+v", got)
	}
}

// Nothing listens there.
func TestNoConnection(t *testing.T) {
	m := clientAt(t, ollama.Options{URL: "http://127.0.0.1:1/api/chat"})
	_, err := m.Generate(t.Context(), step())
	if llm.KindOf(err) != llm.KindNetwork || !strings.Contains(err.Error(), "no connection to http://127.0.0.1:1/api/chat: ") {
		t.Error(err)
	}
}

// Would fail if the key went where a redirect points.
func TestRedirectIsNotFollowed(t *testing.T) {
	followed := false
	m := client(t, ollama.Options{Key: "sk-12345678"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed = true
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := m.Generate(t.Context(), step())
	if followed || llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("followed %v, %v", followed, err)
	}
}
