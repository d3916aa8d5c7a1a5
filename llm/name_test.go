package llm_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

// Would fail if a server could take one call for another, or a name could not
// stand in a header.
func TestName(t *testing.T) {
	plain := &llm.Request{Trial: "0123abcd", Slot: "window0/batch3"}
	if got := plain.Name(); got != "0123abcd/window0/batch3" {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		req := &llm.Request{Trial: rapid.String().Draw(t, "trial"), Slot: rapid.String().Draw(t, "slot")}
		name := req.Name()
		trial, slot, ok := llm.ParseName(name)
		if !ok || trial != req.Trial || slot != req.Slot {
			t.Fatalf("%q reads back as %q, %q, %v", name, trial, slot, ok)
		}
		for i := range len(name) {
			if name[i] <= ' ' || name[i] > '~' {
				t.Fatalf("%q cannot stand in a header", name)
			}
		}
	})
	for _, bad := range []string{"", "trial", "%zz/slot", "trial/%z"} {
		if _, _, ok := llm.ParseName(bad); ok {
			t.Errorf("%q is taken for a name", bad)
		}
	}
}
