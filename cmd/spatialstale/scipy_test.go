package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/study"
)

// The tables of tests hold what NumPy, SciPy and statsmodels find in the run's
// export. testdata/tests/tests.py makes tests.json, and names the versions.
func TestTablesOfTestsAgainstSciPy(t *testing.T) {
	notShort(t)
	text, err := os.ReadFile("testdata/tests/tests.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]json.RawMessage
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tested")
	say := func(args ...string) []byte {
		var out, errs bytes.Buffer
		if code := execute(args, env{ctx: context.Background(), stdout: &out, stderr: &errs, now: time.Now}); code != exitDone {
			t.Fatalf("spatialstale %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
		}
		return out.Bytes()
	}
	prompts := filepath.Join(t.TempDir(), "prompts") // the golden run was asked in the words of version 0.1
	if err := study.PromptsOf("0.1").Write(prompts); err != nil {
		t.Fatal(err)
	}
	say("run", "paper", "--seeds", "12", "--episodes", "3", "--model", "ref/mixed?trust=0.6&tpr=0.8&fpr=0.03", "--model", "ref/reader", "--prompts", prompts, "--out", dir)
	var report struct {
		Tables []struct {
			ID   string
			Rows []map[string]any
		}
	}
	if err := json.Unmarshal(say("report", dir, "--format", "json"), &report); err != nil {
		t.Fatal(err)
	}
	labels := []string{"model", "measure", "modality", "regime", "strategy", "contrast"}
	name := func(row map[string]any, like map[string]any) string {
		var words []string
		for _, l := range labels {
			if _, ok := like[l]; ok {
				words = append(words, row[l].(string))
			}
		}
		return strings.Join(words, ", ")
	}
	// parts says where a value that stands beside a cell's main one is.
	parts := map[string][2]string{
		"low": {"interval", "low"}, "high": {"interval", "high"}, "method": {"interval", "method"},
		"sd": {"difference", "sd"}, "n": {"difference", "n"},
	}
	values := 0
	for _, table := range report.Tables {
		if golden[table.ID] == nil {
			continue
		}
		var rows []map[string]any
		if err := json.Unmarshal(golden[table.ID], &rows); err != nil {
			t.Fatal(err)
		}
		delete(golden, table.ID)
		got := map[string]map[string]any{}
		for _, row := range table.Rows {
			got[name(row, rows[0])] = row
		}
		if len(got) != len(rows) {
			t.Errorf("%s has %d rows, SciPy %d", table.ID, len(got), len(rows))
		}
		for _, row := range rows {
			at := name(row, row)
			for key, want := range row {
				cell := got[at][key]
				if part, ok := parts[key]; ok {
					cell = got[at][part[0]].(map[string]any)[part[1]]
				} else if object, ok := cell.(map[string]any); ok {
					cell = object["value"]
				}
				values++
				x, isNumber := want.(float64)
				y, both := cell.(float64)
				if isNumber && both && math.Abs(x-y) <= 1e-10*max(1, math.Abs(x)) || !isNumber && cell == want {
					continue
				}
				t.Errorf("%s, %s: %s is %v, SciPy has %v", table.ID, at, key, cell, want)
			}
		}
	}
	delete(golden, "made with")
	for id := range golden {
		t.Errorf("the report has no table %s", id)
	}
	if values < 1000 {
		t.Errorf("only %d values were compared", values)
	}
}
