package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/run"
)

// Two models of which the one's name begins the other's.
var twoModels = []string{"openai/gpt-4o", "openai/gpt-4o=x", "ref/mixed?trust=0.5&tpr=0.9"}

// TestModelFlags would fail if what is said of one model were taken for
// another's, or a secret shown in an error.
func TestModelFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte("{\n \"top_k\": 20 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := modelFlags{
		RPM: []string{"openai/gpt-4o=x=7", "60", "openai/gpt-4o=500"}, TPM: []string{"9000", "8000"}, InFlight: []string{"ref/mixed?trust=0.5&tpr=0.9=3"},
		requestFlags: requestFlags{
			Detail: "low", NoSchema: true,
			ExtraBody: []string{`{"a=b/c": "x/y=z"}`, "openai/gpt-4o=x=@" + file},
			Header:    []string{"x-org=all=of it", "openai/gpt-4o=X-Org=mine", "X-Other=2"},
		},
	}
	got, err := f.models(twoModels)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]run.ModelOptions{
		"":                            {RPM: 60, TPM: 8000, Detail: "low", NoSchema: true, ExtraBody: json.RawMessage(`{"a=b/c": "x/y=z"}`), Header: map[string]string{"x-org": "all=of it", "X-Other": "2"}},
		"openai/gpt-4o":               {RPM: 500, Header: map[string]string{"X-Org": "mine"}},
		"openai/gpt-4o=x":             {RPM: 7, ExtraBody: json.RawMessage("{\n \"top_k\": 20 }\n")},
		"ref/mixed?trust=0.5&tpr=0.9": {InFlight: 3},
	}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"x", "0", "-1", "openai/gpt-5=3", "openai/gpt-4o=", "1.5"} {
		if _, err := (&modelFlags{RPM: []string{bad}}).models(twoModels); err == nil || !strings.Contains(err.Error(), "--rpm") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []requestFlags{
		{ExtraBody: []string{"[1]"}}, {ExtraBody: []string{"null"}}, {ExtraBody: []string{`{"a":`}}, {ExtraBody: []string{"@nowhere"}}, {ExtraBody: []string{"openai/other={}"}},
		{Header: []string{"Zx9-hidden-value"}}, {Header: []string{"=Zx9-hidden-value"}}, {Header: []string{"openai/other=X=Zx9-hidden-value"}},
	} {
		if _, err := bad.models(twoModels); err == nil || strings.Contains(err.Error(), "Zx9") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
