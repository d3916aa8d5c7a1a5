package judge

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Would fail if a bounded schema let a list go on past its entries, name another
// one or leave one out, or refused the answer that is asked for; or if the one
// without bounds, for servers that take none, did more than say the form.
func TestSchemaBounds(t *testing.T) {
	for _, of := range []judgmentSchema{verdictSchema, scoreSchema} {
		answer := func(ids ...string) any {
			list := []any{}
			for _, id := range ids {
				j := map[string]any{"memory_id": id, "reasoning": "x", "is_stale": true, "confidence": 0.5}
				if of.name == scoreSchema.name {
					j = map[string]any{"memory_id": id, "reasoning": "x", "score": 0.5}
				}
				list = append(list, j)
			}
			return map[string]any{"judgments": list}
		}
		schema := of.of([]string{"mem_001", `m"2`})
		for i, text := range []json.RawMessage{schema.JSON, schema.Bounded} {
			var s jsonschema.Schema
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err, string(text))
			}
			resolved, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				ids  []string
				fits bool // with bounds
			}{
				{[]string{"mem_001", `m"2`}, true},
				{[]string{"mem_001"}, false},
				{[]string{"mem_001", `m"2`, "mem_001"}, false},
				{[]string{"mem_001", "mem_003"}, false},
			} {
				if err := resolved.Validate(answer(c.ids...)); (err == nil) != (c.fits || i == 0) {
					t.Errorf("%s, %v: %v", text, c.ids, err)
				}
			}
		}
	}
	many := make([]string, maxBounded+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if s := verdictSchema.of(many); s.Bounded != nil {
		t.Error("a schema lists more values than providers take")
	}
}
