package analysis_test

import (
	"slices"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// rowOf returns the only row of a table that has these labels, by column.
func rowOf(t testing.TB, table analysis.Table, labels map[string]string) map[string]analysis.Cell {
	t.Helper()
	var found []map[string]analysis.Cell
	for _, row := range table.Rows {
		cells := map[string]analysis.Cell{}
		for i := range row {
			cells[table.Columns[i].Key] = row[i]
		}
		fits := true
		for key, want := range labels {
			fits = fits && cells[key].Label == want
		}
		if fits {
			found = append(found, cells)
		}
	}
	if len(found) != 1 {
		t.Fatalf("table %s has %d rows with %v", table.ID, len(found), labels)
	}
	return found[0]
}

func near(t testing.TB, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || *got < want-1e-9 || *got > want+1e-9 {
		t.Errorf("%s is %s, want %v", what, number(got), want)
	}
}

// gptRun is a small run whose model is called GPT-4o, with the prompts that ship.
func gptRun(t testing.TB, change func(*study.Study)) *keptRun {
	run := runOf(t, "gpt", preset(t, "quick", func(s *study.Study) {
		s.Seeds = instance.Seeds(2)
		s.Models = []string{mixed}
		s.Bootstrap.Resamples = 999
		s.Navigation.Episodes = 1
		s.AskRegimes([]instance.Regime{instance.L2})
		change(s)
	}), map[string]string{mixed: "openai/gpt-4o"})
	run.manifest.Prompts = study.DefaultPrompts().Sums()
	return run
}

// Were a run of another setting to stand next to the paper's figures, a reader
// would take the difference of settings for one of models.
func TestOnlyThePapersSettingStandsNextToIt(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	same := func(*keptRun) {}
	for name, tt := range map[string]struct {
		study func(*study.Study)
		run   func(*keptRun)
		says  string
	}{
		"the paper's":      {func(*study.Study) {}, same, ""},
		"with logprobs":    {func(s *study.Study) { s.Params.Logprobs = true }, same, ""},
		"view radius":      {func(s *study.Study) { s.ViewRadius = 2 }, same, "view radius 2"},
		"hole fraction":    {func(s *study.Study) { s.HoleFraction = 0.2 }, same, "hole fraction 0.2"},
		"strict schedule":  {func(s *study.Study) { s.Strict = true }, same, "strict schedule"},
		"asking again":     {func(s *study.Study) { s.Again = true }, same, "again"},
		"temperature":      {func(s *study.Study) { s.Params.Temperature = at(0.7) }, same, "temperature 0.7"},
		"temperature of 0": {func(s *study.Study) { s.Params.Temperature = at(0) }, same, "temperature 0"},
		"top_p":            {func(s *study.Study) { s.Params.TopP = at(0.9) }, same, "top p 0.9"},
		"framing":          {func(s *study.Study) { s.Framings = []string{"warned"} }, same, "framing warned"},
		"size":             {func(s *study.Study) { s.AskSizes([]study.Size{{Rows: 6, Cols: 6}}) }, same, "lakes of 6×6"},
		"prompt":           {func(*study.Study) {}, func(r *keptRun) { r.manifest.Prompts["navigate.txt"] = "0123" }, "another prompt navigate.txt"},
		"another's prompt": {func(*study.Study) {}, func(r *keptRun) { r.manifest.Prompts["framing-warned.txt"] = "0123" }, ""},
		"parameters beside": {func(*study.Study) {}, func(r *keptRun) {
			r.manifest.Models[0].Settings = &record.ModelSettings{ExtraBody: []byte(`{"seed":1}`)}
		}, `requests with {"seed":1}`},
		"strategy": {func(s *study.Study) {
			s.Navigation.Strategies = slices.Clone(s.Navigation.Strategies)
			for i := range s.Navigation.Strategies {
				if k := &s.Navigation.Strategies[i]; k.Name == "no-filter" {
					k.Memory = study.MemoryNone
				}
			}
		}, same, "another definition of no-filter"},
	} {
		t.Run(name, func(t *testing.T) {
			run := gptRun(t, tt.study)
			tt.run(run)
			f := collect(t, []*keptRun{run})
			row := rowOf(t, tableOf(t, f, "published"), map[string]string{"measure": "success", "model": "GPT-4o", "strategy": "no-filter"})
			ours, note := row["ours"], row["note"].Label
			paper := rowOf(t, tableOf(t, f, "navigation-text"), map[string]string{"strategy": "no-filter"})["paper_success"].Value
			if tt.says == "" {
				if ours.Value == nil || paper == nil {
					t.Errorf("nothing stands next to the paper’s figure: %q (a prompt or a strategy that ships belongs into data/paper.yaml)", note)
				}
				return
			}
			if ours.Value != nil || paper != nil {
				t.Errorf("ours is %s next to the paper’s, and %s in the table of episodes", number(ours.Value), number(paper))
			}
			if note != "not in the paper’s setting: "+tt.says || ours.Footnotes == "" {
				t.Errorf("the note is %q, the footnote %q; want %q", note, ours.Footnotes, tt.says)
			}
		})
	}
}

// Shares of stale entries of lakes with other holes are not the paper's either.
func TestOnlyThePapersLakesStandNextToIt(t *testing.T) {
	for fraction, want := range map[float64]bool{0.25: true, 0.2: false} {
		f := collect(t, []*keptRun{gptRun(t, func(s *study.Study) { s.HoleFraction = fraction })})
		row := rowOf(t, tableOf(t, f, "published"), map[string]string{"measure": "stale-share", "regimes": "L2"})
		if got := row["ours"].Value != nil; got != want {
			t.Errorf("hole fraction %v: ours is there: %v", fraction, got)
		}
		regimes := tableOf(t, f, "regimes")
		paper := slices.IndexFunc(regimes.Columns, func(c analysis.Column) bool { return c.Key == "paper_stale_share" })
		if got := !regimes.Columns[paper].DataOnly; got != want {
			t.Errorf("hole fraction %v: the paper’s is shown next to it: %v", fraction, got)
		}
	}
}
