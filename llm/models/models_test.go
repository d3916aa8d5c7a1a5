package models_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm/models"
)

func TestCheckNames(t *testing.T) {
	for name, want := range map[string]string{
		"openai/gpt-4o":       "",
		"ollama/qwen3-vl:8b":  "",
		"gpt-4o":              "did you mean openai/gpt-4o?",
		"nobody/knows":        "a name begins with one of mine/, ",
		"openai-api/x":        "want openai-api/NAME/MODEL",
		"openai/":             "want openai/MODEL",
		"anthropic/ claude-x": "want anthropic/MODEL",
	} {
		err := models.Check(name, "mine/")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q in it", name, err, want)
		}
	}
}

// TestOpen holds what a caller needs to mend: which variable is missing.
func TestOpen(t *testing.T) {
	none := func(string) string { return "" }
	if _, err := models.Open("openai/gpt-4o", models.Options{Getenv: none}); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY, which is not set; set it") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := models.Open("ollama/qwen3-vl:8b", models.Options{Getenv: none}); err != nil {
		t.Errorf("a local model wants no key: %v", err)
	}
}
