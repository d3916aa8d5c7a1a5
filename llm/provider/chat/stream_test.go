package chat_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

// question is a prompt that the rehearsal server's control answers.
func question() *llm.Request {
	return &llm.Request{Trial: "0123", Slot: "step1", Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\n"),
		llm.Text("Agent at (0,0). Goal at (3,3).\nWhich way?"),
	}}
}

// rehearsal returns a streaming client of a rehearsal server with one fault.
func rehearsal(t *testing.T, fault llmtest.Fault, d provider.Deadlines) *provider.Model {
	t.Helper()
	server, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Faults: func(llmtest.Asked) llmtest.Fault { return fault }, Drip: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return clientAt(t, chat.Options{URL: server.URL + "/chat/completions", Settings: provider.Settings{Stream: true, Deadlines: d}})
}

// Would fail if an answer that comes as slowly as one token after the other were
// given up at the limit of a whole one, or came otherwise than at once.
func TestDribblingServer(t *testing.T) {
	want, err := rehearsal(t, "", provider.Deadlines{}).Generate(t.Context(), question())
	if err != nil || !strings.HasPrefix(want.Text, `{"action"`) || want.Finish != llm.FinishStop || want.Usage.OutputTokens == nil {
		t.Fatal(want, err)
	}
	began := time.Now()
	var calls llm.InFlight
	m := calls.Watch(rehearsal(t, llmtest.Trickle, provider.Deadlines{Attempt: 60 * time.Millisecond, Idle: 10 * time.Second}), time.Now)
	got, err := m.Generate(t.Context(), question())
	if err != nil || got.Text != want.Text || got.Finish != want.Finish || *got.Usage.OutputTokens != *want.Usage.OutputTokens {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("it took %v only: the limit was never met", took)
	}
}

// Would fail if a server that falls silent in the middle, or never begins, were
// waited for longer than its limit, or a slow one that reads other prompts
// between two tokens no longer than one that is silent within an answer.
func TestSilentStream(t *testing.T) {
	_, err := rehearsal(t, llmtest.Silence, provider.Deadlines{Attempt: 10 * time.Second, Idle: 50 * time.Millisecond}).Generate(t.Context(), question())
	if llm.KindOf(err) != llm.KindTimeout || !strings.Contains(err.Error(), "silence for 50ms in the middle of an answer") || !strings.Contains(err.Error(), "--idle-timeout") {
		t.Error(err)
	}
	_, err = rehearsal(t, llmtest.Silence, provider.Deadlines{Attempt: 70 * time.Millisecond}).Generate(t.Context(), question())
	if llm.KindOf(err) != llm.KindTimeout || !strings.Contains(err.Error(), "silence for 70ms in the middle of an answer") {
		t.Error(err)
	}
	_, err = rehearsal(t, llmtest.Hang, provider.Deadlines{Attempt: 50 * time.Millisecond, Idle: 10 * time.Second}).Generate(t.Context(), question())
	if llm.KindOf(err) != llm.KindTimeout || !err.(*llm.Error).Slow || !strings.Contains(err.Error(), "no first token within 50ms; --timeout") {
		t.Error(err)
	}
	_, err = rehearsal(t, llmtest.Cut, provider.Deadlines{}).Generate(t.Context(), question())
	if !llm.KindOf(err).Retryable() {
		t.Error(err)
	}
}

// Would fail if a model that never stops were listened to for ever, beyond its
// cap, or beyond what was asked.
func TestEndlessServer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(req *llm.Request)
		finish llm.Finish
		most   int // bytes of text
	}{
		"it repeats itself": {func(*llm.Request) {}, llm.FinishRepeats, 8 << 10},
		"beyond its cap":    {func(r *llm.Request) { r.Params.MaxTokens = ptr(20) }, llm.FinishLength, 180},
		"all is said":       {func(r *llm.Request) { r.Done = func(text string) bool { return strings.Contains(text, "}") } }, llm.FinishDone, 40},
	} {
		req := question()
		c.change(req)
		server, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Faults: func(llmtest.Asked) llmtest.Fault { return llmtest.Endless }, Drip: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		m := clientAt(t, chat.Options{URL: server.URL + "/chat/completions", Settings: provider.Settings{Stream: true}})
		reply, err := m.Generate(t.Context(), req)
		if err != nil || reply.Finish != c.finish || !strings.HasPrefix(reply.Text, `{"action"`) || len(reply.Text) > c.most {
			t.Errorf("%s: %d bytes, finish %s, %v", name, len(reply.Text), reply.Finish, err)
		}
		if reply.Usage.OutputTokens != nil {
			t.Errorf("%s: a count of %d tokens that nobody gave", name, *reply.Usage.OutputTokens)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Would fail if a server that does not stream, or refuses to, lost its answer.
func TestStreamNotTaken(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		requests := 0
		m := client(t, chat.Options{Settings: provider.Settings{Stream: true}}, func(w http.ResponseWriter, r *http.Request) {
			requests++
			if refuses {
				refuser("stream", "stream_options")(w, r)
				return
			}
			fmt.Fprint(w, up)
		})
		reply, err := m.Generate(t.Context(), question())
		if d, _ := llm.Describe(m); err != nil || reply.Text != "UP" || refuses != (requests > 1) || refuses != (len(d.Changes) > 0) {
			t.Errorf("%+v, %v after %d requests, %+v", reply, err, requests, d.Changes)
		}
	}
}

// Would fail if what a piece of a stream can hold were lost: thinking, a
// refusal, log-probabilities, the counts and times of llama.cpp, an error in the
// middle, a mark of a proxy.
func TestPieces(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string // the reply, or the error
	}{
		"thinking":   {[]string{`{"model":"m-1","choices":[{"delta":{"reasoning_content":"Hm"}}]}`, `{"choices":[{"delta":{"reasoning_content":"m."}}]}`, `{"choices":[{"delta":{"content":"UP"},"finish_reason":"stop"}]}`}, `"UP" "Hmm." stop m-1 [] -`},
		"refusal":    {[]string{`{"choices":[{"delta":{"refusal":"I "}}]}`, `{"choices":[{"delta":{"refusal":"won't."},"finish_reason":"stop"}]}`}, `"I won't." "" stop  [] -`},
		"logprobs":   {[]string{`{"choices":[{"delta":{"content":"a:"},"logprobs":{"content":[{"token":"a:","logprob":0}]}}]}`, `{"choices":[{"delta":{"content":" true"},"logprobs":{"content":[{"token":" true","logprob":-0.5}]},"finish_reason":"stop"}]}`}, `"a: true" "" stop  [3] -`},
		"keep-alive": {[]string{`not JSON`, `{"choices":[{"delta":{"content":"UP"},"finish_reason":"stop"}]}`}, `"UP" "" stop  [] -`},
		"llama.cpp":  {[]string{`{"choices":[{"delta":{"content":"UP"},"finish_reason":"stop"}],"timings":{"cache_n":7,"prompt_n":3,"prompt_ms":100,"predicted_n":2,"predicted_ms":1000}}`}, `"UP" "" stop  [] 10 in, 2 out, 1s`},
		"no end":     {[]string{`{"choices":[{"delta":{"content":"UP"}}]}`}, "ended before the answer did"},
		"error":      {[]string{`{"choices":[{"delta":{"content":"UP"}}]}`, `{"error":{"message":"the GPU is gone","code":502}}`}, "server: the GPU is gone (502)"},
		"nothing":    {[]string{`[DONE]`}, "without choices"},
	} {
		m := client(t, chat.Options{Settings: provider.Settings{Stream: true}}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, ": waiting\n\n")
			for _, e := range c.events {
				fmt.Fprintf(w, "data: %s\r\n\r\n", e)
			}
		})
		reply, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Logprobs: true}})
		got := fmt.Sprint(err)
		if err == nil {
			at := []int{}
			for _, b := range reply.Booleans {
				at = append(at, b.At)
			}
			counts := "-"
			if reply.Timings != nil {
				counts = fmt.Sprintf("%d in, %d out, %v", *reply.Usage.InputTokens, *reply.Usage.OutputTokens, reply.Timings.Output)
			}
			got = fmt.Sprintf("%q %q %s %s %v %s", reply.Text, reply.Reasoning, reply.Finish, reply.Model, at, counts)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
