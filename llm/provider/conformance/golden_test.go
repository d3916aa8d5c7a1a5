package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A goldenRequest is a request whose body stands in the protocol's
// testdata/requests under its name.
type goldenRequest struct {
	name     string
	settings provider.Settings
	req      llm.Request
}

// Golden requests: would fail if what goes over the wire changed unseen.
func TestRequests(t *testing.T) {
	prompt := []llm.Part{llm.Text("Legend: S <start> & F.\n"), llm.Text("Row 0: (0,0)=S “…”\n"), llm.Text("Which way?")}
	pic := picture(t)
	withPicture := []llm.Part{llm.Text("Legend.\n"), pic, llm.Text("Agent at (0,0).\n"), llm.Text("Which way?")}
	all := llm.Params{Temperature: ptr(0.), TopP: ptr(0.9), MaxTokens: ptr(512)}
	noThinking := all
	noThinking.Thinking = ptr(0)
	bounded := &llm.Schema{Name: "audit", JSON: json.RawMessage(`{"type":"array"}`), Bounded: json.RawMessage(`{"type":"array","minItems":2,"maxItems":2}`)}
	extra := func(body string) provider.Settings { return provider.Settings{ExtraBody: json.RawMessage(body)} }
	shared := []goldenRequest{
		{"text", provider.Settings{}, llm.Request{Parts: prompt}},
		{"no-schema", provider.Settings{NoSchema: true}, llm.Request{Parts: prompt, Schema: actionSchema}},
		{"bounded-schema", provider.Settings{}, llm.Request{Parts: prompt, Schema: bounded}},
	}
	own := map[string][]goldenRequest{
		"chat": {
			{"picture", provider.Settings{}, llm.Request{Parts: withPicture}},
			{"pictures-side-by-side", provider.Settings{}, llm.Request{Parts: []llm.Part{pic, pic}}},
			{"detail", provider.Settings{Detail: "high"}, llm.Request{Parts: withPicture}},
			{"everything", provider.Settings{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: all}},
			{"logprobs", provider.Settings{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: llm.Params{Logprobs: true}}},
			{"stream", provider.Settings{Stream: true}, llm.Request{Parts: prompt}},
			{"extra-body", extra(`{"enable_thinking": false, "temperature": 0.25, "provider": {"order": ["x"]}}`), llm.Request{Parts: prompt, Params: all}},
		},
		"anthropic": {
			{"picture", provider.Settings{}, llm.Request{Parts: withPicture}},
			{"pictures-side-by-side", provider.Settings{}, llm.Request{Parts: []llm.Part{pic, llm.Text("\n"), pic}}},
			{"shared", provider.Settings{}, llm.Request{Parts: prompt, Shared: []int{1, 2}}},
			{"shared-picture", provider.Settings{}, llm.Request{Parts: withPicture, Shared: []int{1, 2}}},
			{"everything", provider.Settings{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: all}},
			{"thinking", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048)}}},
			{"thinking-capped", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048), MaxTokens: ptr(4096), Temperature: ptr(1.), TopP: ptr(0.99)}}},
			{"thinking-without-sampling", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2048), Temperature: ptr(0.), TopP: ptr(0.9)}}},
			{"no-thinking", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(0), Temperature: ptr(0.)}}},
			{"logprobs", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
			{"extra-body", extra(`{"metadata": {"user_id": "x"}, "temperature": 0.25, "thinking": {"type": "adaptive"}}`), llm.Request{Parts: prompt, Params: llm.Params{Temperature: ptr(1.), Thinking: ptr(1024)}}},
			{"extra-effort", extra(`{"output_config": {"effort": "low"}}`), llm.Request{Parts: prompt, Schema: actionSchema}},
			{"extra-format", extra(`{"output_config": {"format": {"type": "x"}}}`), llm.Request{Parts: prompt, Schema: actionSchema}},
		},
		"gemini": {
			{"picture", provider.Settings{}, llm.Request{Parts: withPicture}},
			{"pictures-side-by-side", provider.Settings{Detail: "high"}, llm.Request{Parts: []llm.Part{pic, pic}}},
			{"everything", provider.Settings{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: noThinking}},
			{"thinking", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Thinking: ptr(2000)}}},
			{"logprobs", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
			{"extra-body", extra(`{"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}], "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}, "temperature": 0.25, "topK": 20}}`),
				llm.Request{Parts: prompt, Params: noThinking}},
		},
		"ollama": {
			{"picture", provider.Settings{}, llm.Request{Parts: []llm.Part{llm.Text("Legend.\n"), pic, llm.Text("Agent at (0,0).\n"), pic, llm.Text("Which way?")}}},
			{"everything", provider.Settings{}, llm.Request{Parts: prompt, Schema: actionSchema, Params: noThinking}},
			{"thinking", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{MaxTokens: ptr(512), Thinking: ptr(2000)}}},
			{"logprobs", provider.Settings{}, llm.Request{Parts: prompt, Params: llm.Params{Logprobs: true}}},
			{"extra-body", extra(`{"keep_alive": -1, "truncate": true, "think": "high", "options": {"num_ctx": 2048, "temperature": 0.25, "min_p": 0.1}}`), llm.Request{Parts: prompt, Params: noThinking}},
		},
	}
	each(t, func(t *testing.T, p *protocol) {
		for _, c := range append(shared, own[p.name]...) {
			t.Run(c.name, func(t *testing.T) {
				var got []byte
				m := p.serve(t, "", c.settings, func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost || r.URL.String() != p.sent {
						t.Errorf("%s %s", r.Method, r.URL)
					}
					got, _ = io.ReadAll(r.Body)
					fmt.Fprint(w, p.up)
				})
				if _, err := m.Generate(t.Context(), &c.req); err != nil {
					t.Fatal(err)
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, got, "", "  "); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("..", p.name, "testdata", "requests", c.name+".json"), pretty.String()+"\n")
			})
		}
	})
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// answers returns the files of a protocol's answers.
func (p *protocol) answers(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", p.name, "testdata", "answers", "*.txtar"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// Would fail if a kind of answer that some server gives were read otherwise than
// its file says: status, content type and headers; the body; what comes of it. A
// further case is a further file.
func TestAnswers(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		for _, file := range p.answers(t) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				ar, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if *update && len(ar.Files) == 2 {
					ar.Files = append(ar.Files, txtar.File{Name: "want"})
				}
				if len(ar.Files) != 3 {
					t.Fatalf("%d parts", len(ar.Files))
				}
				streams := strings.HasPrefix(filepath.Base(file), "streamed")
				m := p.serve(t, "", provider.Settings{Stream: streams}, func(w http.ResponseWriter, _ *http.Request) { play(t, w, ar) })
				reply, err := m.Generate(t.Context(), &llm.Request{
					Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{MaxTokens: ptr(100), Logprobs: true},
				})
				got := show(t, reply, err)
				if *update {
					ar.Files[2].Data = []byte(got)
					if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(string(ar.Files[2].Data), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	})
}

// play sends the answer of a case.
func play(t *testing.T, w http.ResponseWriter, ar *txtar.Archive) {
	head, lines, _ := strings.Cut(string(ar.Files[0].Data), "\n")
	status, kind, _ := strings.Cut(head, " ")
	n, err := strconv.Atoi(status)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", kind)
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Set(name, value)
	}
	w.WriteHeader(n)
	_, _ = w.Write(ar.Files[1].Data)
}

// show writes what came of a call.
func show(t *testing.T, reply *llm.Reply, err error) string {
	t.Helper()
	if (reply == nil) == (err == nil) {
		t.Fatalf("%v with %v", reply, err)
	}
	if err != nil {
		e, ok := err.(*llm.Error)
		if !ok {
			t.Fatalf("%T", err)
		}
		text := err.Error() + "\n"
		if e.RetryAfter != 0 {
			text += fmt.Sprintf("retry after %v\n", e.RetryAfter)
		}
		return text
	}
	text, jsonErr := json.MarshalIndent(reply, "", "  ")
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(text) + "\n"
}

// FuzzAnswers would fail if an answer of any protocol broke the reader, came
// back as both a reply and an error or as neither, had no kind, counted less than
// nothing or more of a part than of the whole, or showed the key.
func FuzzAnswers(f *testing.F) {
	for i := range protocols {
		for _, file := range protocols[i].answers(f) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			head, _, _ := strings.Cut(string(ar.Files[0].Data), "\n")
			status, kind, _ := strings.Cut(head, " ")
			n, err := strconv.Atoi(status)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, n, kind, ar.Files[1].Data)
		}
	}
	const key = "sk-live-Q7w8E9r0T1y2U3i4"
	clients := make([]client, len(protocols))
	var status int
	var kind string
	var body []byte
	for i := range protocols {
		clients[i] = protocols[i].serve(f, key, provider.Settings{Stream: true}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write(append(body, key...))
		})
	}
	f.Fuzz(func(t *testing.T, which, code int, contentType string, text []byte) {
		if code < 200 || code > 599 || strings.ContainsAny(contentType, "\r\n\x00") {
			return
		}
		i := (which%len(clients) + len(clients)) % len(clients)
		status, kind, body = code, contentType, text
		reply, err := clients[i].Generate(t.Context(), &llm.Request{Slot: "s", Parts: []llm.Part{llm.Text("Row 0: (0,0)=S (0,1)=F")}, Params: llm.Params{Temperature: ptr(0.)}, Schema: actionSchema})
		shown := show(t, reply, err)
		if strings.Contains(shown, key) || err != nil && (llm.KindOf(err) == "" || len([]rune(err.Error())) > 600) {
			t.Fatalf("%s", shown)
		}
		if err != nil {
			return
		}
		u := reply.Usage
		for _, n := range []*int{u.InputTokens, u.CachedTokens, u.CacheWriteTokens, u.OutputTokens, u.ReasoningTokens} {
			if n != nil && *n < 0 {
				t.Fatalf("%d tokens", *n)
			}
		}
	})
}
