package ollama_test

import (
	"net/http"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

func TestNothingSecretIsShown(t *testing.T) {
	conformance.Secrets(t, map[string]conformance.Echo{
		"refused parameter": func(said string) (int, any) {
			return http.StatusBadRequest, map[string]any{"error": "invalid format: " + said}
		},
		"failure as an answer": func(said string) (int, any) {
			return http.StatusOK, map[string]any{"model": said, "error": said, "done": true}
		},
	}, func(t *testing.T, key string, s provider.Settings, handler http.HandlerFunc) llm.Model {
		return client(t, ollama.Options{Key: key, Settings: s}, handler)
	})
}
