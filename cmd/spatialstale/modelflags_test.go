package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// Two models of which the one's name begins the other's.
var twoModels = []string{"openai/gpt-4o", "openai/gpt-4o=x", "ref/mixed?trust=0.5&tpr=0.9"}

func TestLimitFlags(t *testing.T) {
	f := modelFlags{RPM: []string{"openai/gpt-4o=x=7", "60", "openai/gpt-4o=500"}, TPM: []string{"9000", "8000"}, InFlight: []string{"ref/mixed?trust=0.5&tpr=0.9=3"}}
	for model, want := range map[string]llm.LimitOptions{
		"openai/gpt-4o":               {RPM: 500, TPM: 8000},
		"openai/gpt-4o=x":             {RPM: 7, TPM: 8000},
		"ref/mixed?trust=0.5&tpr=0.9": {RPM: 60, TPM: 8000, InFlight: 3},
	} {
		want.Model = model
		got, err := f.limits(model, twoModels)
		if err != nil || got.RPM != want.RPM || got.TPM != want.TPM || got.InFlight != want.InFlight || got.Model != model {
			t.Errorf("%s: %+v, %v", model, got, err)
		}
	}
	for _, bad := range []string{"x", "0", "-1", "openai/gpt-5=3", "openai/gpt-4o=", "1.5"} {
		if _, err := (&modelFlags{RPM: []string{bad}}).limits("openai/gpt-4o", twoModels); err == nil || !strings.Contains(err.Error(), "--rpm") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRequestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte("{\n \"top_k\": 20 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := requestFlags{
		Detail: "low", NoSchema: true,
		ExtraBody: []string{`{"a=b/c": "x/y=z"}`, "openai/gpt-4o=x=@" + file},
		Header:    []string{"x-org=all=of it", "openai/gpt-4o=X-Org=mine", "X-Other=2"},
	}
	for model, want := range map[string]provider.Settings{
		"openai/gpt-4o":   {Detail: "low", NoSchema: true, ExtraBody: []byte(`{"a=b/c":"x/y=z"}`), Header: map[string]string{"X-Org": "mine", "X-Other": "2"}},
		"openai/gpt-4o=x": {Detail: "low", NoSchema: true, ExtraBody: []byte(`{"top_k":20}`), Header: map[string]string{"X-Org": "all=of it", "X-Other": "2"}},
	} {
		got, asked, err := f.settings(model, twoModels)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{want.Detail, want.NoSchema, string(want.ExtraBody), want.Header}, []any{got.Detail, got.NoSchema, string(got.ExtraBody), got.Header}); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
		if diff := cmp.Diff(&record.ModelSettings{Detail: "low", NoSchema: true, ExtraBody: want.ExtraBody, Headers: []string{"X-Org", "X-Other"}}, asked); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
	if _, asked, err := (&requestFlags{}).settings("openai/gpt-4o", twoModels); asked != nil || err != nil {
		t.Errorf("nothing asked: %+v, %v", asked, err)
	}
	for _, bad := range []requestFlags{
		{ExtraBody: []string{"[1]"}}, {ExtraBody: []string{"null"}}, {ExtraBody: []string{`{"a":`}}, {ExtraBody: []string{"@nowhere"}}, {ExtraBody: []string{"openai/other={}"}},
		{Header: []string{"Zx9-hidden-value"}}, {Header: []string{"=Zx9-hidden-value"}}, {Header: []string{"openai/other=X=Zx9-hidden-value"}},
		{Header: []string{"X-Key=Zx9-hidden-value"}, ExtraBody: []string{`{"key":"Zx9-hidden-value"}`}},
	} {
		_, _, err := bad.settings("openai/gpt-4o", twoModels)
		if err == nil || strings.Contains(err.Error(), "Zx9") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A run goes on with what it was made with; would fail if a resumption could
// change unseen what a model is sent.
func TestKeepSettings(t *testing.T) {
	run := &record.ModelSettings{Detail: "low", NoSchema: true, ExtraBody: json.RawMessage(`{"a":1}`), Headers: []string{"X-Org"}}
	var s provider.Settings
	kept, err := keep("m", run, &record.ModelSettings{Headers: []string{"X-Org"}}, &s)
	if err != nil || kept != run || s.Detail != "low" || !s.NoSchema || string(s.ExtraBody) != `{"a":1}` {
		t.Errorf("%+v, %+v, %v", kept, s, err)
	}
	if _, err := keep("m", run, run, &s); err != nil {
		t.Error(err)
	}
	if _, err := keep("m", nil, nil, &s); err != nil || s.Detail != "" || s.NoSchema || s.ExtraBody != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []struct {
		run, asked *record.ModelSettings
		want       string
	}{
		{run, nil, "give --header again"},
		{run, &record.ModelSettings{Headers: []string{"X-Org"}, Detail: "high"}, "detail low, not with high"},
		{run, &record.ModelSettings{Headers: []string{"X-Org"}, ExtraBody: json.RawMessage(`{"a":2}`)}, `the extra body {"a":1}, not with {"a":2}`},
		{run, &record.ModelSettings{Headers: []string{"X-Org", "X-New"}}, "no header X-New"},
		{nil, &record.ModelSettings{NoSchema: true}, "--no-schema"},
		{nil, &record.ModelSettings{ExtraBody: json.RawMessage(`{}`)}, "--extra-body"},
	} {
		if _, err := keep("m", c.run, c.asked, &s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v asked %+v: %v", c.run, c.asked, err)
		}
	}
}
