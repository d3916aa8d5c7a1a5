package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/audit/check"
	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// checkedBy checks a model of which a rule audits memories and a control the lake.
func checkedBy(t *testing.T, rule audittest.Rule, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	lake, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer lake.Close()
	memories := (&audittest.Model{Rule: rule}).Serve()
	defer memories.Close()
	to := func(address string) http.Handler {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	}
	lakes, audits := to(lake.URL), to(memories.URL)
	both := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("You audit the memory of an agent")) {
			audits.ServeHTTP(w, r)
		} else {
			lakes.ServeHTTP(w, r)
		}
	}))
	defer both.Close()
	u, err := url.Parse(lake.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_BASE_URL", both.URL+u.Path)
	t.Setenv("FAKE_API_KEY", "sk-check-Q7w8E9r0T1")
	var out, errs bytes.Buffer
	code = execute(append([]string{"models", "--check", "--model", "openai-api/fake/ref/reader"}, args...), env{ctx: context.Background(), stdout: &out, stderr: &errs, now: time.Now})
	return code, out.String(), errs.String()
}

// truth is a rule that is right on every built-in case.
func truth() audittest.Rule {
	verdicts := map[string]string{}
	for _, c := range check.Cases() {
		for name, verdict := range c.Truth() {
			verdicts[name] = strings.ReplaceAll(verdict, "-", "_")
		}
	}
	return func(entry, _ string) string { return verdicts[entry] }
}

func TestModelsCheck(t *testing.T) {
	notShort(t)
	code, stdout, stderr := checkedBy(t, truth())
	if code != exitDone || !strings.Contains(stdout, "openai-api/fake/ref/reader is fit to remove") || strings.Count(stdout, "\n") > 30 ||
		!strings.Contains(stdout, "One seed of the frozen lake, in text: 5 of 5") || !strings.Contains(stdout, "in pictures: 5 of 5") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ = checkedBy(t, func(string, string) string { return "valid" }, "--json")
	var got []checked
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitUnfit || len(got) != 1 || got[0].Verdict != check.Unfit || len(got[0].Lake) != 2 {
		t.Errorf("exit %d, %v\n%s", code, err, stdout)
	}
	code, _, stderr = checkedBy(t, nil, "--model", "ref/believer")
	if code != exitUsage || !strings.Contains(stderr, "is a control") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}
