package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// column returns what people see in a column, row by row.
func column(t *testing.T, table Table, key string) []string {
	t.Helper()
	i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
	if i < 0 {
		t.Fatalf("table %s has no column %q", table.ID, key)
	}
	var out []string
	for _, row := range table.Rows {
		out = append(out, row[i].Display())
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestRowsComeInThePapersOrder(t *testing.T) {
	var c Collector
	for _, s := range []string{"zebra", "oracle", "omcd", "ant", "no-filter", "self-verify", "no-memory"} {
		add(t, &c, episode("m", s, 1, 1, record.Success, 14, 0))
	}
	same(t, "strategies", column(t, c.Navigation(record.Text), "strategy"),
		"NoMemory", "NoFilter", "SelfVerify", "OMCD", "Oracle", "ant", "zebra")

	var d Collector
	for _, regime := range []string{"L3", "drift", "L1"} {
		for _, modality := range []string{record.Vision, record.Text} {
			tr := detection("m", regime, 1, "Sv")
			tr.Modality = modality
			add(t, &d, tr)
		}
	}
	same(t, "regimes", column(t, d.Detection(), "regime"), "L1 spot", "L1 spot", "L3 online", "L3 online", "drift", "drift")
	same(t, "modalities", column(t, d.Detection(), "modality"), "text", "vision", "text", "vision", "text", "vision")
}

func TestModelsComeInThePlansOrder(t *testing.T) {
	var c Collector
	trials := []*record.Trial{detection("z", "L1", 1, "Sv"), detection("a", "L1", 1, "Sv")}
	for _, tr := range trials {
		if err := c.Expect(tr.Spec); err != nil {
			t.Fatal(err)
		}
	}
	add(t, &c, trials[1], trials[0], detection("b", "L1", 1, "Sv")) // b was not planned
	same(t, "models", column(t, c.Detection(), "model"), "z", "a", "b")
}

// Two knobs set differently must not look the same, and a short name must be
// explained where it stands.
func TestLongNamesAreShortAndExplained(t *testing.T) {
	const one, two = "ref/mixed?trust=0.7&tpr=0.9&fpr=0.02", "ref/mixed?trust=0.2&tpr=0.9&fpr=0.02"
	var c Collector
	for _, m := range []string{two, one, "ref/mixed?tpr=0.5", "vllm/OpenGVLab/InternVL3-8B-Instruct"} {
		add(t, &c, detection(m, "L1", 1, "Sv"))
	}
	add(t, &c, episode(one, "omcd", 1, 1, record.Success, 14, 0))
	table := c.Detection()
	same(t, "names", column(t, table, "model"), "ref/mixed?tpr=0.5", "ref/mixed [1]", "ref/mixed [2]", "vllm/OpenGVLab/InternVL3-8B-Instruct")
	for _, want := range []string{"[1] " + two, "[2] " + one, noteControls} {
		if !slices.Contains(table.Notes, want) {
			t.Errorf("notes lack %q: %q", want, table.Notes)
		}
	}
	// The number means the same in a table with fewer models.
	if notes := c.Navigation(record.Text).Notes; !slices.Contains(notes, "[2] "+one) || slices.Contains(notes, "[1] "+two) {
		t.Errorf("notes of another table: %q", notes)
	}
}

func TestControlsNoticeOnlyWithControls(t *testing.T) {
	var c Collector
	add(t, &c, detection("openai/gpt-4o", "L1", 1, "Sv"))
	if notes := strings.Join(c.Detection().Notes, " "); strings.Contains(notes, "control") {
		t.Errorf("a named model's table speaks of controls: %s", notes)
	}
}

// A column that tells rows apart is shown; one that does not is left to the
// data. Strategies may have batches of their own without making batch a
// variable of the study.
func TestSettingsAreShownWhereTheyVary(t *testing.T) {
	shown := func(c *Collector, key string) bool {
		table := c.Detection()
		i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
		return !table.Columns[i].DataOnly
	}
	var c Collector
	whole := detection("m", "L1", 1, "Sv")
	whole.Strategy, whole.Batch = "self-verify", 0
	add(t, &c, detection("m", "L1", 1, "Sv"), whole)
	for _, key := range []string{"batch", "framing", "grid"} {
		if shown(&c, key) {
			t.Errorf("%s is shown though nothing varies", key)
		}
	}
	for key, alter := range map[string]func(*record.Trial){
		"batch":   func(t *record.Trial) { t.Batch = 1 },
		"framing": func(t *record.Trial) { t.Framing = "warned" },
		"grid":    func(t *record.Trial) { t.Rows, t.Cols = 16, 16 },
	} {
		var c Collector
		tr := detection("m", "L1", 1, "Sv")
		alter(tr)
		add(t, &c, detection("m", "L1", 1, "Sv"), tr)
		if !shown(&c, key) {
			t.Errorf("%s is hidden though rows differ in it", key)
		}
		if n := len(c.Detection().Rows); n != 2 {
			t.Errorf("trials that differ in %s share %d row", key, n)
		}
	}
}
