package analysis

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// Would fail if a reader were not told that two models may stand behind one
// name, or what a server did not take.
func TestModels(t *testing.T) {
	var c Collector
	if got := c.Models(); len(got.Rows) != 0 || len(got.Warnings) != 0 {
		t.Errorf("nothing known: %+v", got)
	}
	c.AddModel(record.ModelInfo{Name: "ref/reader", Control: true})
	c.AddModel(record.ModelInfo{
		Name: "a/m", Endpoints: []string{"https://a"}, ServerModels: []string{"m-1"},
		Settings: &record.ModelSettings{Detail: "low", NoSchema: true, ExtraBody: json.RawMessage(`{"k":1}`), Headers: []string{"X-Org"}},
	})
	if w := c.Models().Warnings; len(w) != 0 {
		t.Errorf("one name: %q", w)
	}
	for range 2 { // a second run of the same models says nothing new the second time
		c.AddModel(record.ModelInfo{Name: "a/m", Endpoints: []string{"https://a", "https://b"}, ServerModels: []string{"m-2"}, Changes: []record.ParamChange{{Param: "temperature"}, {Param: "max_tokens", Instead: "max_completion_tokens"}}})
	}
	got := c.Models()
	if len(got.Rows) != 1 {
		t.Fatalf("%d rows", len(got.Rows))
	}
	var cells []string
	for _, cell := range got.Rows[0] {
		cells = append(cells, cell.Label)
	}
	want := []string{"a/m", "m-1, m-2", "temperature was left out, max_tokens was sent as max_completion_tokens", `detail low, no schema, {"k":1}, header X-Org`, "https://a, https://b"}
	if !slices.Equal(cells, want) {
		t.Errorf("%q", cells)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "2 names: m-1, m-2") {
		t.Errorf("%q", got.Warnings)
	}
	tables := c.warned([]Table{{ID: "detection", Rows: [][]Cell{{}}}, {ID: "regimes", Rows: [][]Cell{{}}}, {ID: "deaths"}})
	if len(tables[0].Warnings) != 1 || len(tables[1].Warnings) != 0 || len(tables[2].Warnings) != 0 {
		t.Errorf("%+v", tables)
	}
}

// A model in whose name a control answered has no results, and tables must say
// so; what the others need names the run's models.
func TestRehearsals(t *testing.T) {
	c := planned(t, detection("openai/gpt-4o", "L1", 1, "SVsv"), detection("ref/reader", "L1", 1, "SVsv"))
	if o := ours(t, c.Published(), "ours", "binary-f1", "GPT-4o"); o.Value == nil {
		t.Error("nothing stands beside the paper's GPT-4o")
	}
	c.AddModel(record.ModelInfo{Name: "openai/gpt-4o", ServerModels: []string{"ref/mixed?tpr=0.7"}})
	c.AddModel(record.ModelInfo{Name: "ref/reader", Control: true})
	c.Warn("what concerns all")
	for _, table := range c.All() {
		switch {
		case len(table.Rows) == 0:
			if strings.Contains(table.Need, "spatialstale run") && strings.Count(table.Need, "--model openai/gpt-4o") != 1 {
				t.Errorf("%s needs %s", table.ID, table.Need)
			}
		case table.ID == "regimes", table.ID == "models":
		case len(table.Warnings) < 2 || !strings.HasPrefix(table.Warnings[0], "openai/gpt-4o is no such model here: the built-in control ref/mixed?tpr=0.7 answered in its name.") || table.Warnings[1] != "what concerns all":
			t.Errorf("%s warns %q", table.ID, table.Warnings)
		}
	}
	published := c.Published()
	if o := ours(t, published, "ours", "binary-f1", "GPT-4o"); o.Value != nil {
		t.Errorf("a rehearsal stands beside the paper's GPT-4o: %v", *o.Value)
	}
	for table, key := range map[*Table]string{new(c.Detection()): "paper_f1", new(c.Batch()): "paper_f1"} {
		for i := range table.Rows {
			if p := cellIn(t, *table, i, key); p.Value != nil {
				t.Errorf("%s puts the paper's %v beside a rehearsal", table.ID, *p.Value)
			}
		}
	}
	for _, f := range c.Figures() {
		if len(f.Panels) > 0 && f.ID != "figure-2-regimes" && (len(f.Warnings) < 2 || f.Warnings[1] != "what concerns all") {
			t.Errorf("%s warns %q", f.ID, f.Warnings)
		}
	}
}
