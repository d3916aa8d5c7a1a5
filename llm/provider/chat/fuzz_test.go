package chat

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// FuzzAnswer would fail if an answer broke the reader, came back as both a reply
// and an error or as neither, had no kind, or showed the key.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "answers", "*.txtar"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
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
		f.Add(n, kind, ar.Files[1].Data)
	}
	const key = "sk-live-Q7w8E9r0T1y2U3i4"
	c, err := New(Options{Name: "m", Model: "m", URL: "http://localhost/", Key: key})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		reply, err := readAnswer(&provider.Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body})
		if (reply == nil) == (err == nil) {
			t.Fatalf("%v with %v", reply, err)
		}
		if err == nil {
			for _, n := range []*int{reply.Usage.InputTokens, reply.Usage.CachedTokens, reply.Usage.CacheWriteTokens, reply.Usage.OutputTokens, reply.Usage.ReasoningTokens} {
				if n != nil && *n < 0 {
					t.Fatalf("%d tokens", *n)
				}
			}
			return
		}
		var flt *provider.Fault
		if !errors.As(err, &flt) {
			return
		}
		sent := []string{paramTokens, paramTemperature, paramTopP, paramSchema}
		if param := refused(flt, sent); param != "" && !slices.Contains(sent, param) {
			t.Fatalf("%q was not sent", param)
		}
		k, filtered := flt.Kind(false)
		if (k == "") != filtered {
			t.Fatalf("kind %q, filtered %v", k, filtered)
		}
		words := c.http.Words(&llm.Request{Parts: []llm.Part{llm.Text("Row 0: (0,0)=S (0,1)=F")}}, flt.Words()+key)
		if strings.Contains(words, key) || len([]rune(words)) > 300 {
			t.Fatalf("shows %q", words)
		}
	})
}

// FuzzExtra would fail if an extra body could break a request, or put a member
// into it that is ours.
func FuzzExtra(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2]},"temperature":null}`, `{"stream":true}`, `{"a":1}{}`, `[`, `{"a"`, `{"mode\u006c":1}`, `{"a":1,}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, extra []byte) {
		c, err := New(Options{Name: "m", Model: "m", URL: "http://localhost/", Settings: provider.Settings{ExtraBody: extra}})
		if err != nil {
			return
		}
		_, body := c.encode(&llm.Request{Parts: []llm.Part{llm.Text("hello")}})
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if string(members["model"]) != `"m"` || string(members["messages"]) != `[{"role":"user","content":"hello"}]` {
			t.Fatalf("%s", body)
		}
		if _, streams := members["stream"]; streams {
			t.Fatalf("%s", body)
		}
	})
}
