package gemini_test

import (
	"net/http"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/conformance"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
)

func TestNothingSecretIsShown(t *testing.T) {
	conformance.Secrets(t, map[string]conformance.Echo{
		"refused parameter": func(said string) (int, any) {
			return http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 400, "status": "INVALID_ARGUMENT", "message": "Invalid value at generation_config.response_json_schema: " + said}}
		},
		"failure as an answer": func(said string) (int, any) {
			return http.StatusOK, map[string]any{"candidates": []any{}, "modelVersion": said}
		},
	}, func(t *testing.T, key string, s provider.Settings, handler http.HandlerFunc) llm.Model {
		return client(t, gemini.Options{Key: key, Settings: s}, handler)
	})
}
