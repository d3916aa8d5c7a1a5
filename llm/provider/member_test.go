package provider_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm/provider"
)

// Would fail if a parameter that a user sets within an object were lost, or
// took the others of that object with it.
func TestTakeObject(t *testing.T) {
	extra, err := provider.ReadExtra([]byte(`{"a":1,"options":{"x":"<2>","y":null},"b":[3]}`))
	if err != nil {
		t.Fatal(err)
	}
	inner, rest, err := provider.TakeObject(extra, "options")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(provider.Object(inner)); got != `{"x":"<2>","y":null}` {
		t.Error(got)
	}
	if got := string(provider.Object(rest)); got != `{"a":1,"b":[3]}` {
		t.Error(got)
	}
	if len(extra) != 3 || extra[1].Name != "options" {
		t.Errorf("the members themselves were changed: %v", extra)
	}
	ours := []provider.Member{{Name: "x", Value: []byte("1")}, {Name: "z", Value: []byte("2")}}
	members, sent := provider.Overlay(ours, inner, []string{"x", "z"})
	if got := string(provider.Object(members)); got != `{"x":"<2>","z":2,"y":null}` || strings.Join(sent, " ") != "z" {
		t.Errorf("%s, sent %v", got, sent)
	}
	if inner, rest, err := provider.TakeObject(extra, "none"); inner != nil || len(rest) != 3 || err != nil {
		t.Error(inner, rest, err)
	}
	if got := string(provider.Object(nil)); got != "{}" {
		t.Error(got)
	}
	for _, bad := range []string{`{"options":1}`, `{"options":[]}`, `{"options":{"x":1,"x":2}}`} {
		extra, err := provider.ReadExtra([]byte(bad))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := provider.TakeObject(extra, "options"); err == nil || !strings.Contains(err.Error(), `"options" in the extra body`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
