package chat_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
)

func TestNothingSecretIsShown(t *testing.T) {
	conformance.Secrets(t, map[string]conformance.Echo{
		"refused parameter": func(said string) (int, any) {
			return http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "response_format is not supported: " + said, "param": "response_format"}}
		},
		"failure as an answer": func(said string) (int, any) {
			return http.StatusOK, map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": ""}, "finish_reason": "error", "error": said}}}
		},
	}, func(t *testing.T, key string, s provider.Settings, handler http.HandlerFunc) llm.Model {
		return client(t, chat.Options{Key: key, Settings: s}, handler)
	})
}

// A password in the address is one as well.
func TestPasswordInTheAddress(t *testing.T) {
	var user, password string
	handler := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "no: %s", password)
	}
	plain := client(t, chat.Options{}, handler)
	d, _ := llm.Describe(plain)
	m := clientAt(t, chat.Options{URL: strings.Replace(d.Endpoint, "http://", "http://me:hidden-word@", 1) + "?token=hidden-word"})
	_, err := m.Generate(t.Context(), &llm.Request{})
	if user != "me" || password != "hidden-word" {
		t.Errorf("sent %q and %q", user, password)
	}
	again, _ := llm.Describe(m)
	if err == nil || strings.Contains(err.Error(), "hidden-word") || again.Endpoint != d.Endpoint {
		t.Errorf("%v, %v", err, again)
	}
	gone := clientAt(t, chat.Options{URL: "http://me:hidden-word@127.0.0.1:1/v1?token=hidden-word"})
	if _, err := gone.Generate(t.Context(), &llm.Request{}); err == nil || strings.Contains(err.Error(), "hidden-word") {
		t.Error(err)
	}
}
