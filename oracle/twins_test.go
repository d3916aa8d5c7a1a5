package oracle

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

const key = "k-oracle-12345678"

func ptr[T any](v T) *T { return &v }

// A sent is what a client sent.
type sent struct {
	Method string
	Path   string // with the query, where no key belongs
	Auth   string // the headers that carry the key and the protocol's version
	Body   any
}

// Twins calls ours and theirs with the base URL of a server and compares what
// they send: method, path, key and the decoded body. The server gives both the
// answer.
func Twins(t *testing.T, answer string, ours, theirs func(base string) error) {
	t.Helper()
	capture := func(call func(base string) error) sent {
		t.Helper()
		var got sent
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			got = sent{Method: r.Method, Path: r.URL.String()}
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Anthropic-Version", "Content-Type"} {
				got.Auth += name + ": " + r.Header.Get(name) + "\n"
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(body, &got.Body)
			}
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		defer server.Close()
		if err := call(server.URL); err != nil {
			t.Fatal(err)
		}
		if requests != 1 {
			t.Fatalf("%d requests", requests)
		}
		return got
	}
	if diff := cmp.Diff(capture(theirs), capture(ours)); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}

// A read is what came of a call.
type read struct {
	Text      string
	Reasoning string
	Finish    string
	Usage     string // the counts that were given, by name
	Model     string
	Booleans  string // those of the text with their log-probabilities; empty for none
	Failure   string // the server's words; empty for a reply
}

// Answers serves each answer that a protocol's package keeps as test data to ours
// and theirs, and compares what they read. Where theirs cannot read an answer at
// all, or makes of it what it is not, it returns known false: we may read more,
// and that is for our own tests. Those named in apart are read otherwise by us,
// for the reason that stands there. It fails when fewer than least are compared,
// or one of those set apart is not.
func Answers(t *testing.T, protocol string, least int, apart map[string]string, ours func(base string) read, theirs func(base string, ar *Recorded) (r read, known bool)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "llm", "provider", protocol, "testdata", "answers", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			ar := recorded(t, file)
			server := httptest.NewServer(ar)
			defer server.Close()
			want, known := theirs(server.URL, ar)
			if !known {
				t.Skipf("theirs does not know: %+v", want)
			}
			compared[name] = true
			got := ours(server.URL)
			if why, ok := apart[name]; ok {
				if cmp.Equal(want, got) {
					t.Errorf("ours is the same as theirs, though: %s", why)
				}
				return
			}
			if want.Failure != "" { // what counts is that it is one, and what a person hears
				if !heard(got.Failure, want.Failure) {
					t.Errorf("theirs says %q, ours %q", want.Failure, got.Failure)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-theirs +ours):\n%s", diff)
			}
		})
	}
	if len(compared) < least {
		t.Errorf("%d answers were compared, want %d", len(compared), least)
	}
	for name := range apart {
		if !compared[name] {
			t.Errorf("%s is set apart, and was not compared", name)
		}
	}
}

// heard reports whether our error says what the server did. Ours is one line,
// and cuts what is long.
func heard(ours, said string) bool {
	said = strings.Join(strings.Fields(said), " ")
	ours, cut := strings.CutSuffix(ours, "…")
	_, words, _ := strings.Cut(ours, ": HTTP ")
	return strings.Contains(ours, said) || cut && words != "" && strings.HasPrefix(said, "HTTP "+words)
}

// A Recorded is an answer kept as test data. It is an http.Handler.
type Recorded struct {
	Status int
	Header http.Header
	Body   []byte
}

func recorded(t *testing.T, file string) *Recorded {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil || len(ar.Files) != 3 {
		t.Fatalf("%s: %d files, %v", file, len(ar.Files), err)
	}
	head, lines, _ := strings.Cut(string(ar.Files[0].Data), "\n")
	status, kind, _ := strings.Cut(head, " ")
	r := &Recorded{Header: http.Header{"Content-Type": {kind}}, Body: ar.Files[1].Data}
	if r.Status, err = strconv.Atoi(status); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (a *Recorded) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// Says reports whether a text stands in the answer's body.
func (a *Recorded) Says(text string) bool { return strings.Contains(string(a.Body), text) }

// readOurs says what came of a call of ours.
func readOurs(reply *llm.Reply, err error) read {
	if err != nil {
		return read{Failure: err.Error()}
	}
	var u usage
	u.add("input", reply.Usage.InputTokens)
	u.add("cached", reply.Usage.CachedTokens)
	u.add("cache write", reply.Usage.CacheWriteTokens)
	u.add("output", reply.Usage.OutputTokens)
	u.add("reasoning", reply.Usage.ReasoningTokens)
	return read{Text: reply.Text, Reasoning: reply.Reasoning, Finish: string(reply.Finish), Usage: strings.Join(u, ", "), Model: reply.Model, Booleans: booleans(reply.Booleans)}
}

// booleans writes the booleans of a reply.
func booleans(list []record.Boolean) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// token is a token of a reply, or one that could have stood in its place. Its
// bytes say more than its text: they may end within a character.
func token[Number int | int64](text string, bytes []Number, logprob float64) provider.TokenChoice {
	if len(bytes) > 0 {
		b := make([]byte, len(bytes))
		for i, n := range bytes {
			b[i] = byte(n)
		}
		text = string(b)
	}
	return provider.TokenChoice{Text: text, Logprob: &logprob}
}

// A usage lists counts by name.
type usage []string

func (u *usage) add(name string, n *int) {
	if n != nil {
		*u = append(*u, name+" "+strconv.Itoa(*n))
	}
}

// count returns n where it was given.
func count(n int64, given bool) *int {
	if !given {
		return nil
	}
	return ptr(int(n))
}

var actionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{
  "type": "object", "properties": {"action": {"type": "string", "enum": ["UP", "DOWN"]}}, "required": ["action"], "additionalProperties": false}`)}

// schemaMap is the schema as the official clients take it.
func schemaMap(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(actionSchema.JSON, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// pixels is a PNG of four pixels in base64.
const pixels = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACAQMAAABIeJ9nAAAABlBMVEUAAAD///+l2Z/dAAAAFElEQVR4AQAEAPv/AAAAAAEAAP//AAQAAbW4Y+IAAAAASUVORK5CYII="

func picture(t *testing.T) llm.Part {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(pixels)
	if err != nil {
		t.Fatal(err)
	}
	part, err := llm.PNG(data)
	if err != nil {
		t.Fatal(err)
	}
	return part
}
