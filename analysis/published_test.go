package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// A figure is written with the digits, bounds and p-values that the paper prints.
func TestHowPublishedFiguresAreWritten(t *testing.T) {
	table := tableOf(t, byHand(t), "published")
	for _, tt := range []struct {
		labels map[string]string
		want   string
	}{
		{map[string]string{"measure": "stale-share", "regimes": "L1"}, "0.094 ± 0.011"},
		{map[string]string{"measure": "f1", "model": "GPT-4o", "regimes": "L1+L2"}, "above 0.91"},
		{map[string]string{"measure": "success-greatest", "model": "GPT-4o"}, "at most 0.40"},
		{map[string]string{"measure": "pearson-f1-success", "regimes": "L1"}, "0.005 to 0.060 (p>0.67)"},
		{map[string]string{"measure": "spearman-f1-success", "regimes": "L1"}, "within ±0.05"},
		{map[string]string{"measure": "f1-vision-less-text", "model": "Qwen3.6-Plus"}, "−0.011 (n.s.)"},
		{map[string]string{"measure": "success-difference", "regimes": "L1", "against": "no-filter"}, "0.144 (p<0.001)"},
		{map[string]string{"measure": "steps-death", "model": "GPT-4o"}, "8.5"},
		{map[string]string{"measure": "best-over-worst-f1"}, "about 13"},
		{map[string]string{"measure": "trace", "strategy": "no-filter"}, "death, step 9"},
		{map[string]string{"measure": "recall-thaw"}, "0.945 (of 436)"},
		{map[string]string{"measure": "reward-death"}, "−1"},
	} {
		published := rowOf(t, table, tt.labels)["published"]
		if got := published.Display(); got != tt.want {
			t.Errorf("%v is written %q, want %q", tt.labels, got, tt.want)
		}
	}
	for _, row := range table.Rows {
		if row[0].Label == "" || row[1].Short == "" || row[8].Label == "" {
			t.Errorf("%s, %s: a figure without a place, words or a value", row[0].Label, row[1].Label)
		}
	}
}

// A seed counts by what is left of it, unless nothing is; what the lost trials
// could have been is said next to it.
func TestOursUsesWhatLostTrialsLeave(t *testing.T) {
	walk := func(strategy string, seed, episode int, outcome string) *record.Trial {
		return &record.Trial{Spec: record.Spec{Task: record.Navigate, Regime: "L1", Strategy: strategy, Seed: seed, Episode: episode}, Outcome: outcome}
	}
	f := byHand(t,
		walk("omcd", 1, 1, record.Success), walk("omcd", 1, 2, record.Success), walk("no-filter", 1, 1, record.Success), walk("no-filter", 1, 2, record.Death),
		walk("omcd", 2, 1, record.Death), walk("omcd", 2, 2, ""), walk("no-filter", 2, 1, record.Success), walk("no-filter", 2, 2, record.Success),
		walk("omcd", 3, 1, record.Success), walk("omcd", 3, 2, record.Death), walk("no-filter", 3, 1, record.Death), walk("no-filter", 3, 2, record.Failed),
		walk("omcd", 4, 1, ""), walk("omcd", 4, 2, record.Failed), walk("no-filter", 4, 1, record.Success), walk("no-filter", 4, 2, record.Death),
	)
	row := rowOf(t, tableOf(t, f, "published"), map[string]string{"measure": "success-difference", "regimes": "L1", "against": "no-filter"})
	near(t, "the difference", row["ours"].Value, (0.5-1+0.5)/3)
	// Seed 1: 0.5. Seed 2: OMCD 0 to 0.5, NoFilter 1. Seed 3: OMCD 0.5, NoFilter 0 to 0.5. Seed 4: OMCD 0 to 1, NoFilter 0.5.
	near(t, "at least", row["ours_least"].Value, (0.5-1+0-0.5)/4)
	near(t, "at most", row["ours_most"].Value, (0+0.5+0.5)/4)
	if row["whole"].Label != "3/4" {
		t.Errorf("seeds %q", row["whole"].Label)
	}
	if w := tableOf(t, f, "published").Warnings; len(w) != 1 {
		t.Errorf("warnings %q", w)
	}
}

// Two tables must not say two things of the same cell, whatever is lost.
func TestPublishedAgreesWithContrasts(t *testing.T) {
	run := gptRun(t, func(s *study.Study) {
		s.Seeds = instance.Seeds(6)
		s.Navigation.Episodes = 2
		s.AskRegimes([]instance.Regime{instance.L1, instance.L2, instance.L3})
	}).lose()
	f := collect(t, []*keptRun{run})
	published, contrasts := tableOf(t, f, "published"), tableOf(t, f, "contrasts")
	for _, at := range [][3]string{{"L1", "omcd", "no-filter"}, {"L2", "oracle", "no-filter"}, {"L3", "oracle", "omcd"}} {
		ours := rowOf(t, published, map[string]string{"measure": "success-difference", "model": "GPT-4o", "regimes": at[0], "strategy": at[1], "against": at[2]})
		other := rowOf(t, contrasts, map[string]string{"measure": "success", "regime": at[0], "contrast": at[1] + " minus " + at[2]})
		near(t, fmt.Sprint(at), ours["ours"].Value, *other["difference"].Value)
		near(t, fmt.Sprint(at, ", low"), ours["interval"].Low, *other["interval"].Low)
		near(t, fmt.Sprint(at, ", high"), ours["interval"].High, *other["interval"].High)
		if seeds := other["seeds"]; *ours["seeds"].Value != float64(seeds.Count) || *ours["seeds_planned"].Value != float64(seeds.Of) {
			t.Errorf("%v: seeds %q, and %d of %d in the contrasts", at, ours["whole"].Label, seeds.Count, seeds.Of)
		}
		if least := other["difference_least"].Value; least != nil {
			near(t, fmt.Sprint(at, ", least"), ours["ours_least"].Value, *least)
			near(t, fmt.Sprint(at, ", most"), ours["ours_most"].Value, *other["difference_most"].Value)
		}
	}
}

// Ratios and reductions of deaths, and what is said of their steps.
func TestDeathsNextToThePaper(t *testing.T) {
	var trials []*record.Trial
	for _, model := range []string{"openai/gpt-4o", "anthropic/claude-sonnet-4-6"} {
		for _, regime := range record.Regimes.Names() {
			// Of two episodes on two seeds, under NoFilter 2 and 1 die, under NoMemory and OMCD 1 and 0.
			for strategy, deaths := range map[string][2]int{"no-filter": {2, 1}, "no-memory": {1, 0}, "omcd": {1, 0}} {
				for seed, n := range deaths {
					for episode := range 2 {
						outcome, steps := record.Success, 14+2*episode
						if strategy == "omcd" {
							steps += 3
						}
						if episode < n {
							outcome, steps = record.Death, 15+episode
						}
						trials = append(trials, &record.Trial{Spec: record.Spec{Task: record.Navigate, Model: model, Regime: regime, Strategy: strategy, Seed: seed, Episode: episode},
							Outcome: outcome, Steps: make([]record.Step, steps)})
					}
				}
			}
		}
	}
	// A control is nobody's stand-in, neither for one model nor for all.
	trials = append(trials, &record.Trial{Spec: record.Spec{Task: record.Navigate, Model: "ref/reader", Regime: "L1", Strategy: "no-filter"}, Outcome: record.Death, Steps: make([]record.Step, 40)})
	table := tableOf(t, byHand(t, trials...), "published")
	for measure, want := range map[string]float64{
		"deaths-over":           0.75 / 0.25,
		"deaths-within":         2.0 / 3, // the second death on a seed comes after step 15
		"success-length-spread": 3,       // NoFilter: one success, of 16 steps. NoMemory: of 16, 14 and 16. OMCD: 3 more.
	} {
		near(t, measure, rowOf(t, table, map[string]string{"measure": measure})["ours"].Value, want)
	}
	near(t, "death-reduction", rowOf(t, table, map[string]string{"measure": "death-reduction", "model": "Claude-Sonnet-4.6"})["ours"].Value, 1-0.25/0.75)
	near(t, "steps to death", rowOf(t, table, map[string]string{"measure": "steps-death", "model": "GPT-4o"})["ours"].Value, (15+16+15)/3.0)
	spread := rowOf(t, table, map[string]string{"measure": "success-length-spread"})
	if spread["agrees"].Label != "" || !strings.Contains(spread["note"].Label, "an extreme") {
		t.Errorf("an extreme without an interval %q; the note is %q", spread["agrees"].Label, spread["note"].Label)
	}
}

// Extremes are of what has a value; what has lost everything is named.
func TestExtremesNextToThePaper(t *testing.T) {
	see := func(model string, counts record.Counts, outcome string) (out []*record.Trial) {
		for _, regime := range record.Regimes.Names() {
			out = append(out, &record.Trial{Spec: record.Spec{Task: record.Detect, Model: model, Modality: record.Vision, Regime: regime, Strategy: "omcd", Seed: 1}, Outcome: outcome, Counts: counts})
		}
		return out
	}
	best, worst := see("a/best", record.Counts{TP: 2}, record.Done), see("b/worst", record.Counts{TP: 1, FN: 1}, record.Done)
	all := slices.Concat(best, worst, see("ref/reader", record.Counts{FN: 2}, record.Done), see("c/lost", record.Counts{}, record.Failed))
	row := rowOf(t, tableOf(t, byHand(t, all...), "published"), map[string]string{"measure": "best-over-worst-f1"})
	near(t, "best over worst", row["ours"].Value, 1/(2.0/3))
	if want := "greatest: a/best, least: b/worst; no interval: an extreme of the same trials that chose it; without c/lost, of which nothing is left"; row["note"].Label != want {
		t.Errorf("the note is %q", row["note"].Label)
	}
	if got := rowOf(t, tableOf(t, byHand(t, best...), "published"), map[string]string{"measure": "best-over-worst-f1"})["ours"].Value; got != nil {
		t.Errorf("one model is %v times as good as itself", *got)
	}
	var walks []*record.Trial
	for _, w := range []struct{ regime, strategy, first, second string }{
		{"L1", "no-memory", record.Success, record.Death}, {"L3", "no-filter", record.Death, record.Death}, {"L2", "no-filter", record.Success, ""},
	} {
		for i, outcome := range []string{w.first, w.second} {
			walks = append(walks, &record.Trial{Spec: record.Spec{Task: record.Navigate, Modality: record.Vision, Regime: w.regime, Strategy: w.strategy, Seed: 1, Episode: i}, Outcome: outcome})
		}
	}
	row = rowOf(t, tableOf(t, byHand(t, walks...), "published"), map[string]string{"measure": "success-greatest", "model": "GPT-4o"})
	near(t, "greatest success", row["ours"].Value, 1) // of what is left of L2
	if !strings.Contains(row["note"].Label, "ours: greatest: L2; ") {
		t.Errorf("the note is %q", row["note"].Label)
	}
}

// A trace is shown and not judged: the lake of our seed 4810 is not the paper's.
func TestTracesAreNotJudged(t *testing.T) {
	var trials []*record.Trial
	for _, episode := range []int{2, 1} {
		trials = append(trials, &record.Trial{Spec: record.Spec{Task: record.Navigate, Regime: "L2", Strategy: "no-filter", Seed: 4810, Episode: episode}, Outcome: record.Death, Steps: make([]record.Step, 6+episode)})
	}
	row := rowOf(t, tableOf(t, byHand(t, trials...), "published"), map[string]string{"measure": "trace", "strategy": "no-filter"})
	if row["ours_text"].Label != "death, step 7" || row["agrees"].Label != "" {
		t.Errorf("the first episode is %q, the verdict %q", row["ours_text"].Label, row["agrees"].Label)
	}
	f := collect(t, []*keptRun{gptRun(t, func(s *study.Study) { s.Seeds = []int{4810} })})
	stale := rowOf(t, tableOf(t, f, "published"), map[string]string{"measure": "trace-stale-entries"})
	near(t, "stale entries", stale["ours"].Value, *rowOf(t, tableOf(t, f, "regimes"), map[string]string{"regime": "L2"})["stale_share"].Value*64)
	if stale["agrees"].Label != "" {
		t.Errorf("another lake %q", stale["agrees"].Label)
	}
}
