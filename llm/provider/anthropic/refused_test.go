package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
)

// wants is a request with every parameter that a server may refuse.
func wants(thinking *int) *llm.Request {
	return &llm.Request{
		Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Schema: actionSchema,
		Params: llm.Params{Temperature: ptr(1.), TopP: ptr(0.97), Thinking: thinking},
	}
}

const answersUp = `{"type":"message","content":[{"type":"text","text":"UP"}],"stop_reason":"end_turn"}`

// Would fail if a refusal in the words of a real server were not understood, or
// if a parameter were given up for another reason.
func TestRefusedParameters(t *testing.T) {
	none, some := ptr(0), ptr(2048)
	for _, c := range []struct {
		name, message string
		status        int
		thinking      *int
		want          string // the change, "PARAM>INSTEAD"; "" when the call fails
		then          string // a member of the next request, "" when it is gone
	}{
		{"temperature", "`temperature` is deprecated for this model.", 400, nil, "temperature>", ""},
		{"top_p", "`top_p` is deprecated for this model.", 400, nil, "top_p>", ""},
		{"one of two", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", 400, nil, "top_p>", ""},
		{"temperature with thinking", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.", 400, some, "temperature>", ""},
		{"budget", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, 400, some,
			"thinking.budget_tokens>thinking.type.adaptive", `{"type":"adaptive","display":"summarized"}`},
		{"thinking", "thinking: Extra inputs are not permitted", 400, some, "thinking.budget_tokens>thinking.type.adaptive thinking.type.adaptive>", ""},
		{"no thinking at all", `"thinking.type.disabled" is not supported for this model.`, 400, none, "thinking.type.disabled>", ""},
		{"schema", "output_config.format: Extra inputs are not permitted", 400, nil, "output_config.format>", ""},
		{"output_config", "output_config: Extra inputs are not permitted", 400, nil, "output_config.format>", ""},
		{"schema by its content", "output_config.format.schema: For 'number' type, properties maximum, minimum are not supported", 400, nil, "output_config.format>", ""},
		{"schema of a model", "'claude-3-haiku-20240307' does not support output format.", 400, nil, "output_config.format>", ""},
		{"schema too large", "The compiled grammar is too large, which would cause performance issues.", 400, nil, "output_config.format>", ""},
		{"our cap", "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307", 400, nil, "max_tokens>4096", "4096"},

		{"out of range", "temperature: range: 0..1", 400, nil, "", ""},
		{"budget too small", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", 400, some, "", ""},
		{"too long", "prompt is too long: 210000 tokens > 200000 maximum", 400, nil, "", ""},
		{"another parameter", "top_k: Extra inputs are not permitted", 400, nil, "", ""},
		{"no vision", "This model does not support image input.", 400, nil, "", ""},
		{"unavailable", "output_config: service unavailable", 503, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bodies []map[string]json.RawMessage
			member, _, _ := strings.Cut(c.want[strings.LastIndex(c.want, " ")+1:], ">")
			member, _, _ = strings.Cut(member, ".")
			m := client(t, anthropic.Options{}, func(w http.ResponseWriter, r *http.Request) {
				var body map[string]json.RawMessage
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				bodies = append(bodies, body)
				if value, sent := body[member]; c.want == "" || sent && string(value) != c.then {
					w.WriteHeader(c.status)
					_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": c.message}})
					return
				}
				fmt.Fprint(w, answersUp)
			})
			_, err := m.Generate(t.Context(), wants(c.thinking))
			if c.want == "" {
				if len(bodies) != 1 || err == nil {
					t.Fatalf("%d requests, %v", len(bodies), err)
				}
				return
			}
			changes := strings.Split(c.want, " ")
			if err != nil || len(bodies) != len(changes)+1 {
				t.Fatalf("%d requests, %v", len(bodies), err)
			}
			if _, err := m.Generate(t.Context(), wants(c.thinking)); err != nil || len(bodies) != len(changes)+2 {
				t.Errorf("asked again: %d requests, %v", len(bodies), err)
			}
			last := bodies[len(bodies)-1]
			for _, param := range []string{"temperature", "top_p", "output_config", "max_tokens"} {
				if _, sent := last[param]; sent == (param == member && c.then == "") {
					t.Errorf("%s sent: %v", param, sent)
				}
			}
			if got := string(last[member]); got != c.then {
				t.Errorf("%s is %s, want %s", member, got, c.then)
			}
			if got := told(t, m); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// told lists what a model says was changed.
func told(t *testing.T, m llm.Model) string {
	t.Helper()
	d, _ := llm.Describe(m)
	var changes []string
	for _, c := range d.Changes {
		if c.Words == "" {
			t.Errorf("no words on %s", c.Param)
		}
		changes = append(changes, c.Param+">"+c.Instead)
	}
	return strings.Join(changes, " ")
}

// Would fail if a parameter that the protocol never takes beside thinking were
// left out without a word, or cost a request.
func TestChangesWithoutAsking(t *testing.T) {
	requests := 0
	m := client(t, anthropic.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		fmt.Fprint(w, answersUp)
	})
	_, err := m.Generate(t.Context(), &llm.Request{
		Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{Thinking: ptr(1024), Temperature: ptr(0.), TopP: ptr(0.5), Logprobs: true},
	})
	if got := told(t, m); err != nil || requests != 1 || got != "temperature> top_p> logprobs>" {
		t.Errorf("%q after %d requests, %v", got, requests, err)
	}
}

// Would fail if a cap that leaves nothing for the answer were sent, or said
// nothing of why.
func TestCapBelowThinking(t *testing.T) {
	m := client(t, anthropic.Options{}, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	_, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{Thinking: ptr(2048), MaxTokens: ptr(2048)}})
	if llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), "2048 output tokens leaves nothing") {
		t.Error(err)
	}
}

// A cap that the user set is for the user to hear of.
func TestCapOfTheUser(t *testing.T) {
	requests := 0
	m := client(t, anthropic.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 9000 > 4096, which is the maximum"}}`)
	})
	_, err := m.Generate(t.Context(), &llm.Request{Params: llm.Params{MaxTokens: ptr(9000)}})
	if llm.KindOf(err) != llm.KindBadRequest || requests != 1 || told(t, m) != "" {
		t.Errorf("%v after %d requests", err, requests)
	}
}

// Would fail if a server that refuses for ever were asked for ever.
func TestServerThatRefusesAll(t *testing.T) {
	for _, message := range []string{
		"max_tokens: 9 > 4, and again", "temperature: Extra inputs are not permitted", "thinking: Extra inputs are not permitted", "output_config: Extra inputs are not permitted",
	} {
		requests := 0
		m := client(t, anthropic.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, message)
		})
		_, err := m.Generate(t.Context(), wants(ptr(1024)))
		if llm.KindOf(err) != llm.KindBadRequest || requests > 3 {
			t.Errorf("%s: %v after %d requests", message, err, requests)
		}
	}
}

// The rehearsal server refuses in the same words, and has the last one on the
// form of what is sent.
func TestServerThatTakesLittle(t *testing.T) {
	server, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Refuse: []string{"response_format", "temperature", "top_p", "thinking", "max_tokens"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m := clientAt(t, anthropic.Options{URL: server.URL + "/messages"})
	req := step()
	req.Schema, req.Shared = actionSchema, []int{1}
	req.Params = llm.Params{Temperature: ptr(1.), TopP: ptr(0.99), Thinking: ptr(2048)}
	reply, err := m.Generate(t.Context(), req)
	if err != nil || reply.Text != `{"action": "RIGHT"}` {
		t.Fatal(reply, err)
	}
	if got := told(t, m); got != "output_config.format> temperature> top_p> thinking.budget_tokens>thinking.type.adaptive max_tokens>4096" {
		t.Error(got)
	}
}
