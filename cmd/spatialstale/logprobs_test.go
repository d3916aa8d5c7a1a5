package main

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// Would fail if a verdict lost the probabilities behind it anywhere between a
// server's answer and an export, had them the wrong way round, or if a run with
// them could not be checked.
func TestLogprobs(t *testing.T) {
	notShort(t)
	url, stop := rehearse(t, "--certainty", "0.9", "--control", "ref/mixed?tpr=0.6&fpr=0.2")
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	t.Setenv("GOOGLE_BASE_URL", strings.TrimSuffix(url, "/v1"))
	t.Setenv("GEMINI_API_KEY", "none")
	t.Setenv("OLLAMA_HOST", strings.TrimSuffix(url, "/v1"))
	for _, model := range []string{"openai-api/rehearse/m", "google/m", "ollama/m"} {
		t.Run(model, func(t *testing.T) { logprobsOf(t, model) })
	}
}

func logprobsOf(t *testing.T, model string) {
	dir := t.TempDir()
	run, tables := filepath.Join(dir, "run"), filepath.Join(dir, "tables")
	study := []string{"--task", "detect", "--modality", "text", "--seeds", "2", "--model", model}
	inProcess(t, append([]string{"run", "quick", "--out", run, "--logprobs"}, study...)...)
	inProcess(t, "check", run)
	inProcess(t, "export", run, "--format", "jsonl", "--out", tables)
	if report := inProcess(t, "report", run); !strings.Contains(report, "Token-level uncertainty") || strings.Contains(report, "certainty needs") {
		t.Error("the report has no table of it")
	}

	file, err := os.Open(filepath.Join(tables, "judgments.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	flags, verdicts := 0, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var j struct {
			Verdict      string
			StaleLogprob *float64 `json:"stale_logprob"`
			ValidLogprob *float64 `json:"valid_logprob"`
		}
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		own, other := j.ValidLogprob, j.StaleLogprob
		if j.Verdict == record.Stale {
			own, other = other, own
			flags++
		}
		verdicts++
		if own == nil || other == nil || math.Abs(*own-math.Log(0.9)) > 1e-9 || math.Abs(*other-math.Log(0.1)) > 1e-9 {
			t.Fatalf("%s", lines.Text())
		}
	}
	if flags == 0 || flags == verdicts {
		t.Errorf("%d of %d verdicts are stale", flags, verdicts)
	}

	// Not asked for, not given.
	without := filepath.Join(dir, "without")
	inProcess(t, append([]string{"run", "quick", "--out", without}, study...)...)
	if report := inProcess(t, "report", without); !strings.Contains(report, "certainty needs") {
		t.Error("probabilities that nobody asked for")
	}
}
