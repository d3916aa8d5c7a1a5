// Package conformance holds what a client of any wire protocol must do, as
// tests that each protocol's package runs: golden requests and answers, every
// fault of llmtest's server, retries, and what a key must never do. It is for
// tests alone; the command does not import it.
//
// It refuses to know a protocol: a package says how a client is opened and in
// which words its servers fail.
package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
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
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Serve returns a client for a server of a protocol whose answers a handler
// gives; both end with the test.
type Serve func(t *testing.T, handler http.HandlerFunc) llm.Model

// Step is a prompt that a control can answer.
func Step() *llm.Request {
	return &llm.Request{Trial: "0123", Slot: "step1", Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\n"),
		llm.Text("Agent at (0,0). Goal at (3,3).\nWhich way?"),
	}}
}

// ActionSchema is a schema as a step asks for one.
var ActionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{
  "type": "object", "properties": {"action": {"type": "string"}}, "required": ["action"], "additionalProperties": false}`)}

// Picture is a PNG of four pixels, as bytes that no encoder's release changes.
func Picture(t testing.TB) llm.Part {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACAQMAAABIeJ9nAAAABlBMVEUAAAD///+l2Z/dAAAAFElEQVR4AQAEAPv/AAAAAAEAAP//AAQAAbW4Y+IAAAAASUVORK5CYII=")
	if err != nil {
		t.Fatal(err)
	}
	part, err := llm.PNG(data)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// Request compares what goes over the wire for a request with the golden file
// testdata/requests/NAME.json. The address is its path with the query, the
// answer what the server says.
func Request(t *testing.T, name, address, answer string, req *llm.Request, serve Serve) {
	t.Helper()
	var got []byte
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.String() != address {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		got, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, answer)
	})
	if _, err := m.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "requests", name+".json"), pretty.String()+"\n")
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

// Answers fails when a kind of answer that some server gives is read otherwise
// than its file under testdata/answers says: status, content type and headers;
// the body; what comes of it. A further case is a further file; there are at
// least so many.
func Answers(t *testing.T, least int, serve Serve) {
	files, err := filepath.Glob(filepath.Join("testdata", "answers", "*.txtar"))
	if err != nil || len(files) < least {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
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
			m := serve(t, func(w http.ResponseWriter, _ *http.Request) { play(t, w, ar) })
			limit := 100
			reply, err := m.Generate(t.Context(), &llm.Request{Slot: "step1", Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{MaxTokens: &limit, Logprobs: true}})
			got := Show(t, reply, err)
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

// Show writes what came of a call.
func Show(t *testing.T, reply *llm.Reply, err error) string {
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
