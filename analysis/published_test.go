package analysis_test

import (
	"fmt"
	"math"
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

// byHand adds up trials that are written by hand.
func byHand(t testing.TB, trials ...*record.Trial) *analysis.Frame {
	t.Helper()
	f := &analysis.Frame{}
	if err := f.Begin("by-hand", &record.Manifest{}); err != nil {
		t.Fatal(err)
	}
	for i, trial := range trials {
		trial.Key = fmt.Sprint("trial", i)
		trial.Rows, trial.Cols, trial.Framing = 8, 8, "neutral"
		if trial.Model == "" {
			trial.Model = "openai/gpt-4o"
		}
		if trial.Modality == "" {
			trial.Modality = record.Text
		}
		if trial.Strategy == "omcd" {
			trial.Batch = 10
		}
		if _, err := f.Expect(trial.Spec); err != nil {
			t.Fatal(err)
		}
		if trial.Outcome != "" { // else there is no record of it
			if err := f.AddTrial(trial); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.End(); err != nil {
		t.Fatal(err)
	}
	return f
}

// episodes are those of a strategy, ten a seed; won says how many of them succeed.
func episodes(regime, strategy string, won ...int) (out []*record.Trial) {
	for seed, n := range won {
		for episode := range 10 {
			outcome := record.Death
			if episode < n {
				outcome = record.Success
			}
			out = append(out, &record.Trial{Spec: record.Spec{Task: record.Navigate, Regime: regime, Strategy: strategy, Seed: seed, Episode: episode}, Outcome: outcome})
		}
	}
	return out
}

// detections have these F1 in percent, in all regimes.
func detections(percent ...int) (out []*record.Trial) {
	for _, regime := range record.Regimes.Names() {
		for seed, f1 := range percent {
			out = append(out, &record.Trial{Spec: record.Spec{Task: record.Detect, Regime: regime, Strategy: "omcd", Seed: seed}, Outcome: record.Done,
				Counts: record.Counts{TP: f1, FP: 100 - f1, FN: 100 - f1}})
		}
	}
	return out
}

func repeated(n int, values ...int) (out []int) {
	for i := range n {
		out = append(out, values[i%len(values)])
	}
	return out
}

// A published value, a range and a bound are compared by one rule. Were it left
// out, six seeds on which nothing succeeded would agree with a rate of 0.288.
func TestOneRuleForAllVerdicts(t *testing.T) {
	const agrees, differs, tooFew = "agrees", "differs", "too few seeds to tell"
	success := map[string]string{"measure": "success", "regimes": "L2", "strategy": "no-memory"} // 0.288, margin 0.1
	bound := map[string]string{"measure": "f1", "model": "GPT-4o", "regimes": "L1+L2+L3"}        // above 0.88, margin 0.05
	span := map[string]string{"measure": "success-difference", "regimes": "L2", "against": "no-filter"}
	around := map[string]string{"measure": "success-difference", "regimes": "L2", "against": "omcd"}
	difference := func(against string, n int, of, from []int) []*record.Trial {
		return slices.Concat(episodes("L2", "oracle", repeated(n, of...)...), episodes("L2", against, repeated(n, from...)...))
	}
	lossy := func(trials []*record.Trial, n int) []*record.Trial {
		for _, trial := range trials[:10*n] {
			trial.Outcome = ""
		}
		return trials
	}
	for name, tt := range map[string]struct {
		row    map[string]string
		trials []*record.Trial
		want   string
		mark   bool
	}{
		"six seeds without a success":         {success, episodes("L2", "no-memory", repeated(6, 0)...), tooFew, false},
		"fifty seeds without one":             {success, episodes("L2", "no-memory", repeated(50, 0)...), differs, false},
		"fifty seeds around it":               {success, episodes("L2", "no-memory", repeated(50, 2, 3, 4)...), agrees, false},
		"near it, and yet not it":             {success, episodes("L2", "no-memory", repeated(50, 3, 4, 3, 3)...), agrees, false},
		"six seeds far apart":                 {success, episodes("L2", "no-memory", 0, 0, 10, 0, 0, 10), tooFew, false},
		"six seeds elsewhere":                 {success, episodes("L2", "no-memory", 8, 9, 8, 10, 9, 8), differs, false},
		"five seeds elsewhere":                {success, episodes("L2", "no-memory", 8, 9, 8, 10, 9), tooFew, false},
		"a bound that is kept":                {bound, detections(repeated(20, 90, 92)...), agrees, false},
		"a bound that is all but kept":        {bound, detections(repeated(20, 84, 88)...), agrees, false},
		"a bound that is not kept":            {bound, detections(repeated(20, 70, 72)...), differs, false},
		"a bound that may be kept":            {bound, detections(repeated(20, 60, 100)...), tooFew, false},
		"in a range":                          {span, difference("no-filter", 50, []int{6, 7}, []int{5, 4}), agrees, false},
		"beyond a range":                      {span, difference("no-filter", 50, []int{9}, []int{1, 2}), differs, false},
		"no difference on fifty seeds":        {around, difference("omcd", 50, []int{5}, []int{5}), agrees, false},
		"no difference on six seeds":          {around, difference("omcd", 6, []int{5}, []int{5}), tooFew, false},
		"a difference":                        {around, difference("omcd", 50, []int{9}, []int{5, 6}), differs, false},
		"losses that change nothing":          {success, lossy(episodes("L2", "no-memory", repeated(50, 9, 8)...), 2), differs, false},
		"losses that could overturn agreeing": {success, lossy(episodes("L2", "no-memory", repeated(50, 2, 3, 4)...), 20), tooFew, true},
	} {
		t.Run(name, func(t *testing.T) {
			row := rowOf(t, tableOf(t, byHand(t, tt.trials...), "published"), tt.row)
			if got := row["agrees"]; got.Label != tt.want || (got.Footnotes != "") != tt.mark {
				t.Errorf("%s, of %s in [%s, %s], footnote %q; want %s", got.Label, number(row["ours"].Value), number(row["interval"].Low), number(row["interval"].High), got.Footnotes, tt.want)
			}
		})
	}
	row := rowOf(t, tableOf(t, byHand(t), "published"), map[string]string{"measure": "step-budget"})
	if row["agrees"].Label != agrees {
		t.Errorf("the step budget %q", row["agrees"].Label)
	}
}

// Appendix H.1 has the mean of the runs' precision and recall. Counted over all
// entries together, runs with many flags would weigh more.
func TestPrecisionAndRecallAreMeansOverRuns(t *testing.T) {
	run := func(regime string, seed int, counts record.Counts) *record.Trial {
		return &record.Trial{Spec: record.Spec{Task: record.Detect, Model: "zai/glm-5.1", Modality: record.Vision, Regime: regime, Strategy: "omcd", Seed: seed}, Outcome: record.Done, Counts: counts}
	}
	table := tableOf(t, byHand(t,
		run("L1", 1, record.Counts{TP: 1, FP: 1, FN: 3}), run("L2", 1, record.Counts{TP: 8, FP: 2}),
		run("L1", 2, record.Counts{FN: 4, TN: 60}), run("L2", 2, record.Counts{TP: 1, FP: 3, FN: 1}),
	), "published")
	near(t, "precision", rowOf(t, table, map[string]string{"measure": "precision"})["ours"].Value, (0.5+0.8+0.25)/3) // of all entries 10/16; one run flags nothing
	near(t, "recall", rowOf(t, table, map[string]string{"measure": "recall"})["ours"].Value, (0.25+1+0+0.5)/4)
}

// Appendix I counts responses that hedge. Counted by reasons, one long response
// would hide that the model hedges in most of its calls.
func TestHedgingCountsResponses(t *testing.T) {
	var w record.Window
	for i := range 35 { // batches of 10: one hedging reason, none, no answers, all five hedge
		j := record.Judgment{MemoryID: fmt.Sprint(i), Pos: record.Pos{i / 8, i % 8}, Claim: "SAFE", Verdict: record.Valid, Reason: "The cell is frozen."}
		switch {
		case i == 3 || i >= 30:
			j.Reason = "It is unclear what the cell is."
		case i >= 20:
			j.Verdict, j.Reason = record.Unanswered, ""
		}
		w.Judgments = append(w.Judgments, j)
	}
	w.Replies = []record.Parsed{{Slot: "window0/batch0", Outcome: "answered"}, {Slot: "window0/batch1", Outcome: "answered"}, {Slot: "window0/batch2", Outcome: "refusal"}, {Slot: "window0/batch3", Outcome: "answered"}}
	trial := &record.Trial{Spec: record.Spec{Task: record.Detect, Modality: record.Vision, Regime: "L1", Strategy: "omcd", Seed: 1}, Outcome: record.Done,
		Counts: record.Counts{TN: 35, Unanswered: 10}, Windows: []record.Window{w}}
	row := rowOf(t, tableOf(t, byHand(t, trial), "published"), map[string]string{"measure": "hedging", "model": "GPT-4o"})
	near(t, "hedging", row["ours"].Value, 2.0/3) // by reasons it is 6/25
}

// Section 5.4 sets the F1 of the detection task against success. The F1 of the
// episodes' own audits, here the reverse, grows with survival by itself.
func TestF1AgainstSuccessIsThatOfDetection(t *testing.T) {
	var trials []*record.Trial
	for i, s := range []struct {
		detected, own record.Counts
		outcome       string
	}{
		{record.Counts{TP: 2}, record.Counts{FN: 2}, record.Success},
		{record.Counts{TP: 1, FP: 1, FN: 1}, record.Counts{FN: 2}, record.Success},
		{record.Counts{TP: 1, FP: 1, FN: 1}, record.Counts{TP: 2}, record.Death},
		{record.Counts{FN: 2}, record.Counts{TP: 2}, record.Death},
		{record.Counts{TP: 2}, record.Counts{TP: 2}, ""}, // lost
	} {
		for _, regime := range []string{"L1", "L2"} {
			walk := &record.Trial{Spec: record.Spec{Task: record.Navigate, Regime: regime, Strategy: "omcd", Seed: i, Episode: 1}, Outcome: s.outcome, Counts: s.own}
			if s.outcome == record.Death {
				walk.Death = &record.DeathRecord{Cause: record.CauseStaleShown}
			}
			trials = append(trials, walk, &record.Trial{Spec: record.Spec{Task: record.Detect, Regime: regime, Strategy: "omcd", Seed: i}, Outcome: record.Done, Counts: s.detected})
		}
	}
	table := tableOf(t, byHand(t, trials...), "published")
	pearson := rowOf(t, table, map[string]string{"measure": "pearson-f1-success", "regimes": "L1"})
	near(t, "Pearson", pearson["ours"].Value, math.Sqrt(0.5)) // 0.5/√(0.5·1)
	near(t, "Spearman", rowOf(t, table, map[string]string{"measure": "spearman-f1-success", "regimes": "L1"})["ours"].Value, 3/math.Sqrt(18))
	if got := pearson["whole"].Label; got != "4/5" {
		t.Errorf("seeds %q", got)
	}
	near(t, "F1 where stale cells kill", rowOf(t, table, map[string]string{"measure": "f1-of-runs-with-stale-deaths"})["ours"].Value, 0.25) // seeds 2 and 3
	alone := tableOf(t, byHand(t, trials[0], trials[2]), "published")
	if got := rowOf(t, alone, map[string]string{"measure": "pearson-f1-success", "regimes": "L1"})["ours"].Value; got != nil {
		t.Errorf("without detections the correlation is %v", *got)
	}
}

// A control stands for no model whatever its name, and what a control answered in
// a model's name is nobody's figure: next to the paper's it would pass for a
// replication. Of what is not there, the table says nothing.
func TestControlsAndRehearsalsStandNextToNothing(t *testing.T) {
	var control []*record.Trial
	for _, trial := range episodes("L2", "no-memory", repeated(6, 3)...) {
		trial.Model = "ref/gpt-4o"
		control = append(control, trial)
	}
	rehearsal := gptRun(t, func(*study.Study) {})
	rehearsal.manifest.Models[0].ServerModels = []string{mixed}
	for name, tt := range map[string]struct {
		f    *analysis.Frame
		note string
	}{
		"control":   {byHand(t, control...), "the run has no model of this name"},
		"rehearsal": {collect(t, []*keptRun{rehearsal}), "a built-in control answered in its name"},
	} {
		table := tableOf(t, tt.f, "published")
		agrees := slices.IndexFunc(table.Columns, func(c analysis.Column) bool { return c.Key == "agrees" })
		ours := slices.IndexFunc(table.Columns, func(c analysis.Column) bool { return c.Key == "ours" })
		for _, row := range table.Rows {
			if ofModel := row[2].Label != ""; ofModel && (row[ours].Value != nil || row[ours].Short != "" || row[agrees].Label != "") {
				t.Errorf("%s: %s of %s has %s, %q", name, row[1].Label, row[2].Label, number(row[ours].Value), row[agrees].Label)
			}
		}
		if got := rowOf(t, table, map[string]string{"measure": "success", "regimes": "L2", "strategy": "no-memory"})["note"].Label; got != tt.note {
			t.Errorf("%s: the note is %q", name, got)
		}
	}
}
