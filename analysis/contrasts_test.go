package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// walked adds one episode a seed under a strategy: success where the word has S,
// death where it has D, failed where it has F.
func walked(regime, strategy, word string) (out []*record.Trial) {
	for i, end := range word {
		outcome := map[rune]string{'S': record.Success, 'D': record.Death, 'F': record.Success}[end]
		tr := episode("m", strategy, i+1, 1, outcome, 14, 0)
		tr.Regime = regime
		tr.Key = fmt.Sprint(regime, strategy, i)
		if end == 'F' {
			tr = failedTrial(tr)
		}
		out = append(out, tr)
	}
	return out
}

// rowOf returns a row by the values of its labels, and its cells by key.
func rowOf(t *testing.T, table *Table, labels ...string) func(key string) Cell {
	t.Helper()
	for _, row := range table.Rows {
		found := true
		for _, l := range labels {
			found = found && slices.ContainsFunc(row, func(c Cell) bool { return c.Label == l })
		}
		if found {
			return func(key string) Cell {
				at := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
				if at < 0 {
					t.Fatalf("%s has no column %s", table.ID, key)
				}
				return row[at]
			}
		}
	}
	t.Fatalf("%s has no row %q", table.ID, labels)
	return nil
}

func within(p *float64, want float64) bool { return p != nil && math.Abs(*p-want) < 1e-12 }

// A family is what a model's study plans on one measure; what it does not plan
// has its place outside of it, and a lost seed is in no test but in the bounds.
func TestContrasts(t *testing.T) {
	c := planned(t, slices.Concat(
		walked("L1", "no-memory", "SSSSSSSS"),
		walked("L1", "no-filter", "DDDDDDSF"),
		walked("L1", "omcd", "SSSSSSSS"),
		walked("L2", "no-memory", "SSSSSSSS"),
		walked("L2", "no-filter", "SSSSSSSS"),
		walked("L2", "omcd", "SSSSSSSS"),
	)...)
	table := c.Contrasts()
	tax := rowOf(t, &table, "success", "L1", "no-filter minus no-memory")
	if d := tax("difference"); !within(d.Value, -6./7) || d.N != 7 || len(d.Pairs) != 7 {
		t.Errorf("the difference is %+v", d)
	}
	if seeds := tax("seeds"); seeds.Count != 7 || seeds.Of != 8 {
		t.Errorf("seeds: %d of %d", seeds.Count, seeds.Of)
	}
	if p := tax("p"); !within(p.Value, 2./64) || !within(p.Least, 2./128) {
		t.Errorf("p is %+v", p)
	}
	// Three contrasts are planned in each of two regimes.
	if holm := tax("p_holm"); !within(holm.Value, 6*2./64) || holm.Mark != "" || len(holm.Warnings) != 1 || holm.Warnings[0].Code != stats.CannotReach {
		t.Errorf("Holm's p is %+v", holm)
	}
	if f := tax("family"); f.Count != 6 {
		t.Errorf("the family has %d", f.Count)
	}
	if least, most := tax("difference_least"), tax("difference_most"); !within(least.Value, -7./8) || !within(most.Value, -6./8) {
		t.Errorf("bounds %v and %v", least.Value, most.Value)
	}
	if w := tax("p_wilcoxon"); !within(w.Value, 2./64) || w.Mark != "" {
		t.Errorf("Wilcoxon's p is %+v", w)
	}
	oracle := rowOf(t, &table, "success", "oracle minus omcd")
	if d := oracle("difference"); d.Value != nil || len(d.Warnings) != 1 || d.Warnings[0].Code != NotRun || d.Footnotes == "" {
		t.Errorf("a contrast that is not run shows %+v", d)
	}
	if f := oracle("family"); f.Count != 0 {
		t.Errorf("a contrast that is not run is in a family of %d", f.Count)
	}
	notes := strings.Join(table.Notes, "\n")
	for _, want := range []string{"Not in this run, and in no family: SelfVerify − NoFilter", "The contrasts are the default ones; the run’s study does not declare any.", "0.0156 with 7 seeds"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	if len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "of 96 pairs, a row and a seed each, 4 have lost") {
		t.Errorf("warnings: %q", table.Warnings)
	}
}

// Strategies of several batch sizes are compared like with like.
func TestContrastsOfBatches(t *testing.T) {
	small, large := walked("L1", "omcd", "SSSS"), walked("L1", "omcd", "SSDD")
	for i := range small {
		small[i].Batch, large[i].Batch = 5, 20
		large[i].Key += " of 20"
	}
	c := planned(t, slices.Concat(small, large, walked("L1", "no-filter", "DDDD"))...)
	table := c.Contrasts()
	for batch, want := range map[string]float64{"5": 1, "20": 0.5} {
		if d := rowOf(t, &table, "success", "omcd minus no-filter", batch)("difference"); !within(d.Value, want) {
			t.Errorf("batch %s: %v, want %v", batch, d.Value, want)
		}
	}
}

// What a study declares is tested, and nothing else.
func TestDeclaredContrasts(t *testing.T) {
	c := planned(t, slices.Concat(walked("L1", "no-memory", "SSSSSSSSSSSS"), walked("L1", "mine", "DDDDDDDDDDDS"))...)
	declared := record.Tests{
		Contrasts: []record.Contrast{{A: "mine", B: "no-memory"}},
		Family:    &record.Family{Measures: []string{record.Death}, Alpha: 0.01},
		Bootstrap: &record.Bootstrap{Resamples: 100, Seed: 1, Level: 0.8},
	}
	if err := c.Declare(declared); err != nil {
		t.Fatal(err)
	}
	table := c.Contrasts()
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows for one contrast on one measure", len(table.Rows))
	}
	row := rowOf(t, &table, "mine minus no-memory")
	if p := row("p_holm"); !within(p.Value, 2./2048) || p.Mark != markFamily {
		t.Errorf("Holm's p is %+v", p)
	}
	if w := row("p_wilcoxon"); w.Mark != markPaper {
		t.Errorf("Wilcoxon's p is %+v", w)
	}
	if in := row("interval"); in.Level != 0.8 || in.Low == nil {
		t.Errorf("the interval is %+v", in)
	}
	if notes := strings.Join(table.Notes, "\n"); strings.Contains(notes, "default ones") {
		t.Errorf("the notes say that the contrasts are the default ones:\n%s", notes)
	}
	other := declared
	other.Family = &record.Family{Measures: []string{record.Death}, Alpha: 0.05}
	if err := c.Declare(other); err != nil {
		t.Fatal(err)
	}
	if table := c.Contrasts(); len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "declare different tests") {
		t.Errorf("warnings: %q", table.Warnings)
	}
	for name, bad := range map[string]record.Tests{
		"alpha":     {Family: &record.Family{Measures: []string{record.Death}, Alpha: 2}},
		"measure":   {Family: &record.Family{Measures: []string{"reward"}, Alpha: 0.05}},
		"margin":    {Equivalence: &record.Equivalence{Margin: 0, Alpha: 0.05}},
		"resamples": {Bootstrap: &record.Bootstrap{Resamples: -1, Level: 0.95}},
	} {
		if err := c.Declare(bad); err == nil {
			t.Errorf("a declaration with a bad %s is accepted", name)
		}
	}
}

// Each of two studies that are reported together keeps the family that it
// declared; studies that plan a setting together are one.
func TestFamiliesOfSeveralStudies(t *testing.T) {
	text := slices.Concat(walked("L1", "no-memory", "SSSSSS"), walked("L1", "no-filter", "DDDDDD"))
	seen := slices.Concat(walked("L1", "no-memory", "SSSSSS"), walked("L1", "no-filter", "DDDDDD"), walked("L2", "no-memory", "SSSSSS"), walked("L2", "no-filter", "DDDDDD"))
	for _, tr := range seen {
		tr.Modality = record.Vision
		tr.Key += " seen"
	}
	more := walked("L1", "omcd", "SSSSSS")
	late := episode("m", "no-filter", 7, 1, record.Death, 3, 0) // of a setting that the first study plans
	late.Key = "late"
	for _, c := range []struct {
		name         string
		studies      [][]*record.Trial
		text, vision int
	}{
		{"one study", [][]*record.Trial{slices.Concat(text, seen)}, 3, 3},
		{"two that share nothing", [][]*record.Trial{text, seen}, 1, 2},
		{"the other order", [][]*record.Trial{seen, text}, 1, 2},
		{"one completes the other's contrasts", [][]*record.Trial{text, more}, 3, 0},
		{"one adds seeds to the other's settings", [][]*record.Trial{slices.Concat(text, walked("L1", "omcd", "SSSSSS")), append([]*record.Trial{late}, seen...)}, 5, 5},
	} {
		var all Collector
		for _, trials := range c.studies {
			if err := all.Declare(record.PlannedTests()); err != nil {
				t.Fatal(err)
			}
			for _, tr := range trials {
				if err := all.Expect(tr.Spec); err != nil {
					t.Fatal(err)
				}
			}
			add(t, &all, trials...)
		}
		table := all.Contrasts()
		if f := rowOf(t, &table, "success", "text", "no-filter minus no-memory")("family"); f.Count != c.text {
			t.Errorf("%s: the family from text has %d, want %d", c.name, f.Count, c.text)
		}
		if c.vision > 0 {
			if f := rowOf(t, &table, "success", "vision", "no-filter minus no-memory")("family"); f.Count != c.vision {
				t.Errorf("%s: the family from images has %d, want %d", c.name, f.Count, c.vision)
			}
		}
	}
}
