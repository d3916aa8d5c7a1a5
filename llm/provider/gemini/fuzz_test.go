package gemini

import (
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
// and an error or as neither, counted less than nothing, or named a parameter
// that was not sent.
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
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		reply, err := read(&llm.Request{}, &provider.Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body})
		if (reply == nil) == (err == nil) {
			t.Fatalf("%v with %v", reply, err)
		}
		if err == nil {
			u := reply.Usage
			for _, n := range []*int{u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens} {
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
		sent := []string{paramThinking, paramSchema, paramTemperature, paramTopP}
		if param := refused(flt, sent, &llm.Request{}); param != "" && !slices.Contains(sent, param) {
			t.Fatalf("%q was not sent", param)
		}
		if flt.RetryAfter < 0 {
			t.Fatalf("retry after %v", flt.RetryAfter)
		}
		if kind, filtered := flt.Kind(false); (kind == "") != filtered {
			t.Fatalf("kind %q, filtered %v", kind, filtered)
		}
	})
}
