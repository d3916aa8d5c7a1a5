package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// What is said of one model goes before what is said of all, and what belongs to
// the manifest is there without the values of headers.
func TestModelOptions(t *testing.T) {
	o := Options{Models: map[string]ModelOptions{
		"":    {RPM: 60, Detail: "low", ExtraBody: json.RawMessage("{\n \"a\": 1 }"), Header: map[string]string{"x-org": "all", "X-Other": "2"}},
		"one": {RPM: 7, ExtraBody: json.RawMessage(`{"top_k":20}`), Header: map[string]string{"X-Org": "mine"}},
	}}
	for name, want := range map[string]ModelOptions{
		"one":   {RPM: 7, Detail: "low", ExtraBody: json.RawMessage(`{"top_k":20}`), Header: map[string]string{"X-Org": "mine", "X-Other": "2"}},
		"other": {RPM: 60, Detail: "low", ExtraBody: json.RawMessage(`{"a":1}`), Header: map[string]string{"X-Org": "all", "X-Other": "2"}},
	} {
		got := o.modelOptions(name)
		recorded, err := got.recorded()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(&record.ModelSettings{Detail: "low", ExtraBody: want.ExtraBody, Headers: []string{"X-Org", "X-Other"}}, recorded); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if recorded, err := new(ModelOptions).recorded(); recorded != nil || err != nil {
		t.Errorf("nothing asked: %+v, %v", recorded, err)
	}
	leak := ModelOptions{Header: map[string]string{"X-Key": "Zx9-hidden-value"}, ExtraBody: json.RawMessage(`{"key":"Zx9-hidden-value"}`)}
	if _, err := leak.recorded(); err == nil || strings.Contains(err.Error(), "Zx9") {
		t.Errorf("a secret in the extra body: %v", err)
	}
}

// A run goes on with what it was made with; would fail if a resumption could
// change unseen what a model is sent.
func TestKeepSettings(t *testing.T) {
	made := &record.ModelSettings{Detail: "low", NoSchema: true, ExtraBody: json.RawMessage(`{"a":1}`), Headers: []string{"X-Org"}}
	var s ModelOptions
	err := keepSettings("m", made, &record.ModelSettings{Headers: []string{"X-Org"}}, &s)
	if err != nil || s.Detail != "low" || !s.NoSchema || string(s.ExtraBody) != `{"a":1}` {
		t.Errorf("%+v, %v", s, err)
	}
	if err := keepSettings("m", made, made, &s); err != nil {
		t.Error(err)
	}
	if err := keepSettings("m", nil, nil, &s); err != nil || s.Detail != "" || s.NoSchema || s.ExtraBody != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []struct {
		run, asked *record.ModelSettings
		want       string
	}{
		{made, nil, "give --header again"},
		{made, &record.ModelSettings{Headers: []string{"X-Org"}, Detail: "high"}, "detail low, not with high"},
		{made, &record.ModelSettings{Headers: []string{"X-Org"}, ExtraBody: json.RawMessage(`{"a":2}`)}, `the extra body {"a":1}, not with {"a":2}`},
		{made, &record.ModelSettings{Headers: []string{"X-Org", "X-New"}}, "no header X-New"},
		{nil, &record.ModelSettings{NoSchema: true}, "--no-schema"},
		{nil, &record.ModelSettings{ExtraBody: json.RawMessage(`{}`)}, "--extra-body"},
	} {
		if err := keepSettings("m", c.run, c.asked, &s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v asked %+v: %v", c.run, c.asked, err)
		}
	}
}
