package export

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// A dataset is written and read again; what a person or version 0.1 wrote is read
// too.
func TestFlipsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := flips().Draw(t, "flips")
		if got, err := parseFlips(flipsText(want)); err != nil || !record.Same(got, want) {
			t.Fatalf("%v became %q, and that %v, %v", want, flipsText(want), got, err)
		}
	})
	for _, text := range []string{`"(2,0)=H (2,3)=F"`, `[[2,0,"H"],[2,3,"F"]]`} {
		var got anyFlips
		if err := json.Unmarshal([]byte(text), &got); err != nil || flipsText(got) != "(2,0)=H (2,3)=F" {
			t.Errorf("%s was read as %v, %v", text, got, err)
		}
	}
}

func FuzzParseFlips(f *testing.F) {
	f.Add("(2,0)=H (2,3)=F")
	f.Add("(2,0)=")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseFlips(text)
		if err != nil {
			return
		}
		if again, err := parseFlips(flipsText(all)); err != nil || !record.Same(again, all) {
			t.Errorf("%q became %v, and that %v, %v", text, all, again, err)
		}
	})
}
