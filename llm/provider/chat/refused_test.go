package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

// wants is a request with every parameter that a server may refuse.
func wants() *llm.Request {
	return &llm.Request{
		Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Schema: actionSchema,
		Params: llm.Params{Temperature: ptr(0.5), TopP: ptr(0.9), MaxTokens: ptr(64), Logprobs: true},
	}
}

// Would fail if a refusal in the words of a real server were not understood, or
// if a parameter were given up for another reason.
func TestRefusedParameters(t *testing.T) {
	oai := func(message, param, code string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":%q,"code":%q}}`, message, param, code)
	}
	for _, c := range []struct {
		name, body string
		status     int
		want       string // the parameter that goes; "" when the call fails
	}{
		{"openai temperature", oai("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), 400, "temperature"},
		{"openai top_p", oai("Unsupported parameter: 'top_p' is not supported with this model.", "top_p", "unsupported_parameter"), 400, "top_p"},
		{"openai cap", oai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), 400, "max_tokens"},
		{"openai schema", oai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "response_format", ""), 400, "response_format"},
		{"openai schema content", oai("Invalid schema for response_format 'action': In context=(), 'required' is required to be supplied.", "response_format", ""), 400, "response_format"},
		{"deepseek schema", oai("This response_format type is unavailable now", "", "invalid_request_error"), 400, "response_format"},
		{"ark schema", oai("The parameter `response_format.type` specified in the request are not valid: invalid value: `json_schema`, supported values are: `json_object` and `text`.", "response_format.type", "InvalidParameter"), 400, "response_format"},
		{"groq schema", oai("This model does not support response format `json_schema`. See supported models.", "", ""), 400, "response_format"},
		{"llama.cpp schema", `{"error":{"code":400,"message":"Failed to parse grammar","type":"invalid_request_error"}}`, 400, "response_format"},
		{"vllm extra", `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'top_p'), 'msg': 'Extra inputs are not permitted', 'input': 0.9}]","type":"BadRequestError","param":null,"code":400}`, 400, "top_p"},
		{"fastapi", `{"detail":[{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"Extra inputs are not permitted","input":64}]}`, 422, "max_tokens"},
		{"nested logprobs", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","logprobs"],"msg":"Extra inputs are not permitted"}]}}`, 422, "logprobs"},
		{"nested cap", `{"message":{"detail":[{"loc":["body","max_tokens"],"msg":"Extra inputs are not permitted"}]}}`, 422, "max_tokens"},
		{"nested schema", `{"error":{"message":{"detail":[{"loc":["body","response_format","type"],"msg":"Input should be 'text' or 'json_object'"},{"loc":["body","response_format"],"msg":"unexpected value"}]}}}`, 422, "response_format"},
		{"moonshot", oai("invalid temperature: only 1 is allowed for this model", "", "invalid_request_error"), 400, "temperature"},
		{"thinking", oai("`temperature` may only be set to 1 when thinking is enabled.", "", ""), 400, "temperature"},
		{"openai logprobs", oai("You are not allowed to request logprobs from this model.", "", ""), 403, "logprobs"},
		{"openai forbidden", oai("You are not allowed to sample from this model.", "", ""), 403, ""},
		{"openai reasoning logprobs", oai("Unsupported parameter: 'logprobs' is not supported with this model.", "logprobs", "unsupported_parameter"), 400, "logprobs"},
		{"not allowed logprobs", oai("You are not allowed to request logprobs from this model", "", ""), 400, "logprobs"},
		{"deepseek logprobs", oai("This model does not support the parameter `logprobs`", "", "invalid_request_error"), 400, "logprobs"},
		{"only the number", oai("Unsupported parameter: 'top_logprobs'", "top_logprobs", "unsupported_parameter"), 400, "top_logprobs"},
		{"too many", oai("Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5, but got 20 instead.", "top_logprobs", "integer_above_max_value"), 400, ""},
		{"router", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"temperature is deprecated for this model\"}}"}}}`, 200, "temperature"},

		{"out of range", oai("Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 instead.", "temperature", "decimal_above_max_value"), 400, ""},
		{"too large a cap", oai("max_tokens is too large: 64. This model supports at most 32 completion tokens, whereas you provided 64.", "max_tokens", "invalid_value"), 400, ""},
		{"another parameter", oai("Unsupported parameter: 'foo' is not supported with this model.", "foo", "unsupported_parameter"), 400, ""},
		{"another name", oai("Unsupported parameter: 'xtemperature' is unknown", "", ""), 400, ""},
		{"too long", oai("This model's maximum context length is 8 tokens; max_completion_tokens is part of it.", "messages", "context_length_exceeded"), 400, ""},
		{"unavailable server", oai("response_format service unavailable", "", ""), 503, ""},
		{"no vision", oai("This model does not support image input.", "messages", ""), 400, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bodies []map[string]json.RawMessage
			m := client(t, chat.Options{}, func(w http.ResponseWriter, r *http.Request) {
				var body map[string]json.RawMessage
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				bodies = append(bodies, body)
				if _, sent := body[c.want]; sent || c.want == "" {
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
			})
			_, err := m.Generate(t.Context(), wants())
			if c.want == "" {
				if len(bodies) != 1 || err == nil {
					t.Fatalf("%d requests, %v", len(bodies), err)
				}
				return
			}
			if err != nil || len(bodies) != 2 {
				t.Fatalf("%d requests, %v", len(bodies), err)
			}
			if _, err := m.Generate(t.Context(), wants()); err != nil || len(bodies) != 3 {
				t.Errorf("asked again: %d requests, %v", len(bodies), err)
			}
			for _, param := range []string{"temperature", "top_p", "max_tokens", "response_format", "logprobs", "top_logprobs"} {
				gone := param == c.want || param == "top_logprobs" && c.want == "logprobs" // an error without the switch
				if _, sent := bodies[1][param]; sent == gone {
					t.Errorf("%s sent: %v", param, sent)
				}
			}
			_, renamed := bodies[1]["max_completion_tokens"]
			if renamed != (c.want == "max_tokens") {
				t.Errorf("max_completion_tokens sent: %v", renamed)
			}
			d, _ := llm.Describe(m)
			if len(d.Changes) != 1 || d.Changes[0].Param != c.want || d.Changes[0].Words == "" || (d.Changes[0].Instead != "") != renamed {
				t.Errorf("described as %+v", d.Changes)
			}
		})
	}
}

// refuser refuses the listed parameters, in order.
func refuser(params ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		for _, param := range params {
			if _, sent := body[param]; sent {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s'","param":"%s","code":"unsupported_parameter"}}`, param, param)
				return
			}
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"UP"}}]}`)
	}
}

func TestServerThatTakesNothing(t *testing.T) {
	m := client(t, chat.Options{CompletionCap: true}, refuser("response_format", "temperature", "top_p", "max_completion_tokens"))
	if _, err := m.Generate(t.Context(), wants()); err != nil {
		t.Fatal(err)
	}
	d, _ := llm.Describe(m)
	var changes []string
	for _, c := range d.Changes {
		changes = append(changes, c.Param+">"+c.Instead)
	}
	if got := strings.Join(changes, " "); got != "response_format> temperature> top_p> max_completion_tokens>max_tokens" {
		t.Error(got)
	}
}

// Would fail if a call could go on for ever, or be sent without any cap.
func TestServerThatTakesNoCap(t *testing.T) {
	requests := 0
	refuse := refuser("max_completion_tokens", "max_tokens")
	m := client(t, chat.Options{}, func(w http.ResponseWriter, r *http.Request) {
		requests++
		refuse(w, r)
	})
	_, err := m.Generate(t.Context(), wants())
	if llm.KindOf(err) != llm.KindBadRequest || requests != 2 {
		t.Errorf("%v after %d requests", err, requests)
	}
}
