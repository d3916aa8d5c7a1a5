package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// pingAt pings a model of a server and returns the exit code and both outputs.
func pingAt(t *testing.T, url string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("P_BASE_URL", url)
	t.Setenv("P_API_KEY", "sk-ping-Q7w8E9r0T1")
	var out, errs bytes.Buffer
	code = execute(append([]string{"models", "--ping"}, args...), env{ctx: context.Background(), stdout: &out, stderr: &errs, now: time.Now})
	if strings.Contains(out.String()+errs.String(), "Q7w8E9r0T1") {
		t.Error("it shows the key")
	}
	return code, out.String(), errs.String()
}

func pongOf(t *testing.T, stdout string) pong {
	t.Helper()
	var pongs []pong
	if err := json.Unmarshal([]byte(stdout), &pongs); err != nil || len(pongs) != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	return pongs[0]
}

// Would fail if a ping made more than one call of a model that answers, or said
// of it what is not so.
func TestPing(t *testing.T) {
	s, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	code, stdout, stderr := pingAt(t, s.URL, "--json", "--model", "openai-api/p/ref/reader")
	p := pongOf(t, stdout)
	if code != exitDone || !p.OK || p.Picture != "seen" || p.Schema != "followed" || p.ServerModel != "ref/reader" || p.Answer == "" || p.Input == nil || p.Output == nil || len(p.Changes) != 0 {
		t.Errorf("exit %d: %+v, %s", code, p, stderr)
	}
	if n := len(s.Entries()); n != 2 { // a step, and what only a picture answers
		t.Errorf("%d requests", n)
	}

	refusing, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Refuse: []string{"response_format"}})
	if err != nil {
		t.Fatal(err)
	}
	defer refusing.Close()
	code, stdout, _ = pingAt(t, refusing.URL, "--model", "openai-api/p/ref/reader")
	for _, want := range []string{"schema    refused", "changed   response_format was left out", "picture   seen", `answer    {"action":`} {
		if code != exitDone || !strings.Contains(stdout, want) {
			t.Errorf("exit %d: %s lacks %q", code, stdout, want)
		}
	}
}

// Would fail if a proxy that drops pictures without a word passed for a model
// that sees.
func TestPingOfABlindModel(t *testing.T) {
	s, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Blind: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	code, stdout, _ := pingAt(t, s.URL, "--json", "--model", "openai-api/p/ref/reader")
	if p := pongOf(t, stdout); code != exitDone || !p.OK || !strings.HasPrefix(p.Picture, "taken, not seen: the model does not see pictures") {
		t.Errorf("exit %d: %+v", code, p)
	}
}

// Would fail if a server's speed were not measured by its own clock, or nothing
// said that a limit does not fit it; or if streaming, which has no such limit,
// were advised against.
func TestPingOfASlowModel(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"{\"action\":\"DOWN\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":90,"completion_tokens":10},
			"timings":{"prompt_n":90,"prompt_ms":9000,"predicted_n":10,"predicted_ms":20000}}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "may have 3024 tokens and take 1h40m48s, longer than the limit of 10m0s for a call; --stream"},
		{[]string{"--timeout", "2h"}, ""},
		{[]string{"--stream"}, ""},
	} {
		code, stdout, stderr := pingAt(t, server.URL, append(c.args, "--json", "--model", "openai-api/p/m")...)
		p := pongOf(t, stdout)
		if code != exitDone || p.TokensPerSecond == nil || *p.TokensPerSecond != 0.5 || !strings.Contains(p.TooSlow, c.want) || (p.TooSlow == "") != (c.want == "") {
			t.Errorf("%v: exit %d: %+v %s", c.args, code, p, stderr)
		}
	}
}

// A model that takes no picture is asked in text; one that answers neither is
// an error of one line.
func TestPingWithoutPictures(t *testing.T) {
	answers := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if answers == "" || bytes.Contains(body, []byte("image_url")) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model takes no pictures (`+r.Header.Get("Authorization")+`)."}}`)
			return
		}
		_, _ = io.WriteString(w, answers)
	}))
	defer server.Close()
	code, _, stderr := pingAt(t, server.URL, "--model", "openai-api/p/m")
	if code != exitFailed || !strings.HasPrefix(stderr, "openai-api/p/m: bad-request: HTTP 400: This model takes no pictures") || strings.Count(stderr, "\n") != 2 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	answers = `{"model":"m-2","choices":[{"message":{"content":"Well…\nI go \u001b[31mDOWN."},"finish_reason":"length"}]}`
	code, stdout, _ := pingAt(t, server.URL, "--json", "--model", "openai-api/p/m")
	p := pongOf(t, stdout)
	if code != exitDone || !strings.HasPrefix(p.Picture, "not taken: bad-request: HTTP 400: This model takes no pictures") || p.Schema != "not followed" || p.Answer != "Well… I go [31mDOWN." || p.Finish != "length" || p.Input != nil {
		t.Errorf("exit %d: %+v", code, p)
	}
	server.Close()
	if code, _, stderr := pingAt(t, server.URL, "--model", "openai-api/p/m"); code != exitFailed || !strings.Contains(stderr, "network: no connection") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
