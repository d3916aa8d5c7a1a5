package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// The file of the paper's figures says nothing that the program does not
// understand, and every figure says what it is.
func TestPublishedFiguresHold(t *testing.T) {
	used := make(map[string]bool)
	for i := range published() {
		f := &published()[i]
		name := fmt.Sprintf("%s %s %s", f.Place, f.Measure, f.Model)
		m, ok := measures[f.Measure]
		used[f.Measure] = true
		if !ok || m.words == "" || m.ours == nil {
			t.Errorf("%s: the measure is none", name)
		}
		if f.Place == "" || f.Value == nil && f.Text == "" {
			t.Errorf("%s: no place, or neither a value nor a text", name)
		}
		if !slices.Contains([]string{"", "about", "above", "below", "at most", "up to"}, f.Relation) || (f.Relation == "up to") != (f.High != nil) {
			t.Errorf("%s: relation %q", name, f.Relation)
		}
		for _, r := range f.Regimes {
			if !slices.Contains(regimeOrder, r) {
				t.Errorf("%s: regime %q", name, r)
			}
		}
		for _, s := range []string{f.Strategy, f.Against} {
			if s != "" && !slices.Contains(strategyOrder, s) {
				t.Errorf("%s: strategy %q", name, s)
			}
		}
		if f.Modality != "" && !slices.Contains(modalityOrder, f.Modality) {
			t.Errorf("%s: modality %q", name, f.Modality)
		}
		// Of the lakes, of the settings, of all models: any other needs one.
		if f.Model == "" && !slices.Contains([]string{"stale-share", "stale-share-least", "stale-share-most", "trace-stale-entries",
			"step-budget", "reward-success", "reward-death", "reward-timeout", "alpha", "tokens-16x16",
			"best-over-worst-f1", "deaths-within", "success-length-spread", "f1-of-runs-with-stale-deaths"}, f.Measure) {
			t.Errorf("%s: ours would be of no model", name)
		}
		if len(f.Regimes) == 0 && f.Model != "" && f.Measure != "success-greatest" {
			t.Errorf("%s: ours would be of no regime", name)
		}
	}
	for name := range measures {
		if !used[name] {
			t.Errorf("no figure is of the measure %s", name)
		}
	}
}

func TestPaperNames(t *testing.T) {
	for ours, want := range map[string]string{
		"openai/gpt-4o":                  "GPT-4o",
		"anthropic/claude-sonnet-4-6":    "Claude-Sonnet-4.6",
		"qwen/qwen3.6-plus":              "Qwen3.6-Plus",
		"zai/glm-5.1":                    "GLM-5.1",
		"vllm/OpenGVLab/InternVL3-8B":    "InternVL3-8B",
		"openai-api/gate/GPT-4o?x=1":     "GPT-4o",
		"openai/gpt-4o-mini":             "",
		"openai/gpt-4o-2024-08-06":       "",
		"ref/gpt-4o":                     "", // a control stands for no model
		"ref/mixed?trust=0.5":            "",
		"vllm/OpenGVLab/InternVL3-8B-hf": "",
	} {
		got := ""
		for i := range published() {
			if f := &published()[i]; f.of(ours) {
				got = f.Model
			}
		}
		if got != want {
			t.Errorf("%s stands for %q, want %q", ours, got, want)
		}
	}
}

// The figures stand beside rows of the same cell, and no other.
func TestPaperBesideOurs(t *testing.T) {
	var c Collector
	for _, tt := range []struct{ model, regime, strategy string }{
		{"openai/gpt-4o", "L2", "no-filter"}, {"openai/gpt-4o", "L1", "no-filter"}, {"openai/gpt-4o", "L2", "oracle"}, {"ref/gpt-4o", "L2", "no-filter"},
	} {
		tr := episode(tt.model, tt.strategy, 1, 1, record.Death, 8, 0)
		tr.Regime = tt.regime
		add(t, &c, tr)
	}
	large := episode("openai/gpt-4o", "no-filter", 1, 1, record.Death, 8, 0)
	large.Regime, large.Rows, large.Cols = "L2", 16, 16
	warned := episode("openai/gpt-4o", "no-filter", 1, 1, record.Death, 8, 0)
	warned.Regime, warned.Framing = "L2", "warned"
	tall := episode("openai/gpt-4o", "no-filter", 1, 1, record.Death, 8, 0)
	tall.Regime, tall.Rows = "L2", 16
	add(t, &c, large, tall, warned)
	table := c.Navigation(record.Text)
	near(t, "the paper's success", cellOf(t, table, "paper_success", "openai/gpt-4o", "L2", "no-filter", "8x8", "neutral").Value, 0.144)
	near(t, "the paper's death", cellOf(t, table, "paper_death", "openai/gpt-4o", "L2", "no-filter", "8x8", "neutral").Value, 0.744)
	for _, labels := range [][]string{
		{"openai/gpt-4o", "L1"}, {"openai/gpt-4o", "oracle"}, {"ref/gpt-4o"}, {"openai/gpt-4o", "16x16"}, {"openai/gpt-4o", "16x8"}, {"openai/gpt-4o", "warned"},
	} {
		near(t, fmt.Sprint("the paper's success of ", labels), cellOf(t, table, "paper_success", labels...).Value, undefined)
	}
	var controls Collector
	add(t, &controls, episode("ref/reader", "no-filter", 1, 1, record.Success, 14, 0))
	for _, col := range controls.Navigation(record.Text).Columns {
		if col.Key == "paper_success" && !col.DataOnly {
			t.Error("a run of controls shows a column of the paper's figures")
		}
	}
}

// ourFigure finds what the table of published figures has beside one of them.
func ourFigure(t *testing.T, table Table, measure string, labels ...string) Cell {
	t.Helper()
	return cellOf(t, table, "ours", append(labels, measure)...)
}

func TestPublishedByHand(t *testing.T) {
	const model = "openai/gpt-4o"
	var c Collector
	for _, regime := range regimeOrder {
		for _, modality := range modalityOrder {
			for seed, letters := range []string{"SSsv", "SVvv"} { // F1 4/5 and 2/3
				if modality == record.Vision {
					letters = "SVVv" // F1 1/2
				}
				tr := detection(model, regime, seed, letters)
				tr.Modality = modality
				for i := range tr.Windows[0].Judgments {
					tr.Windows[0].Judgments[i].Claim = claimNames[i%2] // SAFE, DANGER, …
				}
				withReplies(tr, record.Parsed{}, record.Parsed{}, record.Parsed{})
				add(t, &c, tr)
			}
		}
		for i, strategy := range []string{"no-memory", "no-filter", "omcd", "oracle"} {
			for n, outcome := range []string{record.Death, record.Death, record.Death, record.Death} {
				if n < i {
					outcome = record.Success // 0, 1, 2 and 3 of 4
				}
				tr := episode(model, strategy, 1, n+1, outcome, 10+n, 0)
				tr.Regime = regime
				if strategy == "omcd" {
					tr.Batch = 10
				}
				add(t, &c, tr)
			}
		}
	}
	one := detection(model, "L1", 1, "SSvv")
	one.Batch = 1
	withReplies(one, make([]record.Parsed, 64)...)
	add(t, &c, one, scored(model, 1, map[float64]string{0.7: "S", 0.6: "SSSSv", 0.1: "vvv"}))
	table := c.Published()
	text := (0.8 + 2.0/3) / 2
	for _, tt := range []struct {
		measure string
		labels  []string
		want    float64
	}{
		{"f1", []string{"GPT-4o", "L1+L2+L3"}, text},
		{"f1", []string{"GPT-4o", "L1+L2"}, text},
		{"f1", []string{"GLM-5.1"}, undefined},
		{"f1-vision-less-text", []string{"GPT-4o"}, 0.5 - text},
		{"success", []string{"GPT-4o", "no-filter"}, 0.25},
		{"death", []string{"GPT-4o", "omcd"}, 0.5},
		{"timeout", []string{"GPT-4o", "no-memory"}, 0},
		{"success-difference", []string{"GPT-4o", "L1", "omcd", "no-filter"}, 0.25},
		{"success-difference-size", []string{"GPT-4o", "L3", "oracle", "omcd"}, 0.25},
		{"deaths-over", []string{"GPT-4o"}, 0.75},
		{"steps-death", []string{"GPT-4o", "no-filter"}, (11.0 + 12 + 13) / 3},
		{"steps-success", []string{"GPT-4o", "no-filter"}, 10},
		{"batch-f1", []string{"GPT-4o", "F1, B=1"}, 1},
		{"batch-f1", []string{"GPT-4o", "F1, B=10"}, text},
		{"batch-f1-difference", []string{"F1, difference, B=10 less B=1"}, 2.0/3 - 1}, // seed 1, which both have
		{"batch-f1-difference", []string{"F1, difference, B=20 less B=10"}, undefined},
		{"batch-calls", []string{"calls an audit, B=1"}, 64},
		{"batch-calls", []string{"calls an audit, B=10"}, 3},
		{"binary-f1", []string{"GPT-4o"}, text},
		{"score-f1", []string{"GPT-4o"}, 2.0 / 6}, // TP 1, FN 4
		{"stale-at-score", []string{"GPT-4o"}, 0.8},
		// Stale and missed over both modalities: text's second DANGER claims (3),
		// vision's second and third claims of both seeds (6 DANGER, 6 SAFE).
		{"missed-thaw", []string{"GPT-4o"}, 6.0 / 15},
		{"missed-freeze", []string{"GPT-4o"}, 9.0 / 15},
		{"recall-text-over-vision", []string{"GPT-4o"}, (3.0 / 4) / (1.0 / 3)},
		{"step-budget", nil, 50},
		{"reward-death", nil, -1},
		{"stale-share", []string{"L1"}, undefined}, // no instance was added
		{"trace", []string{"no-filter"}, undefined},
	} {
		var labels []string
		words := ""
		for _, l := range tt.labels {
			if slices.Contains([]string{"F", "c"}, l[:1]) && len(l) > 5 {
				words = l
			} else {
				labels = append(labels, l)
			}
		}
		var got Cell
		if words == "" {
			got = ourFigure(t, table, tt.measure, labels...)
		} else {
			for i, row := range table.Rows {
				for k := range row {
					if row[k].Label == tt.measure && row[k].Short == words {
						got = table.Rows[i][slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == "ours" })]
					}
				}
			}
		}
		near(t, fmt.Sprint(tt.measure, tt.labels), got.Value, tt.want)
	}
}

func TestPublishedDiagnosticsByHand(t *testing.T) {
	var c Collector
	for _, regime := range []string{"L1", "L2"} {
		tr := withReplies(detection("zai/glm-5.1", regime, 1, "SsvV"), record.Parsed{Outcome: "refusal"}, record.Parsed{Outcome: "answered"}, record.Parsed{Outcome: "answered"})
		tr.Modality = record.Vision
		for i := range tr.Windows[0].Judgments {
			j := &tr.Windows[0].Judgments[i]
			j.Claim, j.Confidence, j.Reason = "SAFE", new(1.0), "frozen"
		}
		tr.Windows[0].Judgments[0].Confidence = new(0.5)
		tr.Windows[0].Judgments[1].Reason = "unclear"
		add(t, &c, tr)
	}
	table := c.Published()
	for measure, want := range map[string]float64{
		"refusals": 1.0 / 3, "hedging": 0.25, "certain": 0.75, "precision-pooled": 0.5, "recall-pooled": 0.5,
		"flag-rate-safe-deadly": 0.5, "flag-rate-safe-safe": 0.5, "f1": undefined, // there is no L3
	} {
		near(t, measure, ourFigure(t, table, measure, "GLM-5.1", "vision").Value, want)
	}
}

func TestPublishedStaleShares(t *testing.T) {
	var c Collector
	in := record.Instance{Seed: 1, Regime: "L1",
		Rows:      []string{"SFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"},
		RowsAfter: []string{"SFFFFFFF", "FFFFFFFF", "FFHFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"}}
	small := pond()
	small.Regime = "L1"
	addInstance(t, &c, in, small)
	table := c.Published()
	near(t, "ours", ourFigure(t, table, "stale-share-least", "L1").Value, 1.0/64)
	near(t, "the paper's", cellOf(t, table, "paper_value", "stale-share", "L1").Value, 0.094)
	near(t, "ours of L2", ourFigure(t, table, "stale-share", "L2").Value, math.NaN())
}

func TestHowFiguresAreWritten(t *testing.T) {
	for _, tt := range []struct {
		f    figure
		want string
	}{
		{figure{Measure: "f1", Value: new(0.5)}, "0.500"},
		{figure{Measure: "f1", Value: new(0.88), Relation: "above"}, "above 0.88"},
		{figure{Measure: "success", Value: new(0.4), Relation: "at most"}, "at most 0.40"},
		{figure{Measure: "success-difference", Value: new(0.005), High: new(0.06), Relation: "up to"}, "0.005 to 0.060"},
		{figure{Measure: "f1-vision-less-text", Value: new(-0.011)}, "−0.011"},
		{figure{Measure: "stale-share", Value: new(0.094), SD: new(0.011)}, "0.094 ± 0.011"},
		{figure{Measure: "steps-death", Value: new(8.5)}, "8.5"},
		{figure{Measure: "deaths-over", Value: new(2.7), Relation: "about"}, "about 2.7"},
		{figure{Measure: "best-over-worst-f1", Value: new(13.0), Relation: "about"}, "about 13"},
		{figure{Measure: "trace", Text: "death, step 9"}, "death, step 9"},
		{figure{Measure: "success-difference", Value: new(0.144), P: "p < 0.001"}, "0.144 (p<0.001)"},
		{figure{Measure: "f1-vision-less-text", Value: new(-0.011), P: "not significant"}, "−0.011 (n.s.)"},
		{figure{Measure: "recall-thaw", Value: new(0.945), Of: 436}, "0.945 (of 436)"},
	} {
		if got := tt.f.saidInFull(); got != tt.want {
			t.Errorf("%+v is written %q, want %q", tt.f, got, tt.want)
		}
	}
}

// ours is a shorthand: what the table has in one column for a measure and labels.
func ours(t *testing.T, table Table, key, measure string, labels ...string) Cell {
	t.Helper()
	return cellOf(t, table, key, append(labels, measure)...)
}

// A figure is made of the seeds that have lost nothing in any of its cells; what
// is left of the others is in no number, and what they could have been stands
// beside it.
func TestPublishedOfWholeSeeds(t *testing.T) {
	const model = "openai/gpt-4o"
	walk := func(regime, strategy string, seed, n int, outcome string) *record.Trial {
		tr := episode(model, strategy, seed, n, outcome, 10, 0)
		tr.Regime = regime
		if strategy == "omcd" {
			tr.Batch = 10
		}
		return tr
	}
	var trials []*record.Trial
	// Seed 1 is whole: 2/2 under OMCD, 1/2 under NoFilter. Of seed 2 OMCD has lost
	// an episode, of seed 3 NoFilter one, whose other episodes say something else.
	for _, w := range []struct {
		strategy string
		seed     int
		ends     [2]string
	}{
		{"omcd", 1, [2]string{record.Success, record.Success}}, {"no-filter", 1, [2]string{record.Success, record.Death}},
		{"omcd", 2, [2]string{record.Death, ""}}, {"no-filter", 2, [2]string{record.Success, record.Success}},
		{"omcd", 3, [2]string{record.Success, record.Death}}, {"no-filter", 3, [2]string{record.Death, record.Failed}},
	} {
		for n, end := range w.ends {
			tr := walk("L1", w.strategy, w.seed, n+1, end)
			if end == record.Failed {
				tr = failedTrial(tr)
			}
			trials = append(trials, tr)
		}
	}
	trials = append(trials, walk("L2", "no-memory", 1, 1, record.Success), failedTrial(walk("L2", "no-memory", 1, 2, record.Success)))
	table := planned(t, trials...).Published()
	at := []string{"GPT-4o", "L1", "omcd", "no-filter"}
	near(t, "the difference", ours(t, table, "ours", "success-difference", at...).Value, 0.5)
	// Seed 1: 0.5. Seed 2: OMCD 0 to 0.5, NoFilter 1: −1 to −0.5. Seed 3: OMCD 0.5, NoFilter 0 to 0.5: 0 to 0.5.
	near(t, "at least", ours(t, table, "ours_least", "success-difference", at...).Value, (0.5-1+0)/3)
	near(t, "at most", ours(t, table, "ours_most", "success-difference", at...).Value, 0.5/3) // 0.5 − 0.5 + 0.5
	if got := ours(t, table, "whole", "success-difference", at...).Label; got != "1/3" {
		t.Errorf("seeds %q", got)
	}
	near(t, "seeds", ours(t, table, "seeds", "success-difference", at...).Value, 1)
	near(t, "planned", ours(t, table, "seeds_planned", "success-difference", at...).Value, 3)
	// No seed is left, though an episode of one has finished.
	at = []string{"GPT-4o", "L2", "no-memory"}
	near(t, "a rate of nothing whole", ours(t, table, "ours", "success", at...).Value, undefined)
	near(t, "its least", ours(t, table, "ours_least", "success", at...).Value, 0.5)
	near(t, "its most", ours(t, table, "ours_most", "success", at...).Value, 1)
	if got := ours(t, table, "whole", "success", at...).Label + ours(t, table, "note", "success", at...).Label; got != "0/1"+noWhole {
		t.Errorf("seeds and note %q", got)
	}
	if got := ours(t, table, "note", "success", "GPT-4o", "no-filter").Label; got != noCell {
		t.Errorf("a cell that the run lacks: %q", got)
	}
	if got := ours(t, table, "note", "success", "Claude-Sonnet-4.6", "no-memory").Label; !strings.Contains(got, "no model of this name") {
		t.Errorf("a model that the run lacks: %q", got)
	}
	if len(table.Warnings) != 1 || !strings.HasPrefix(table.Warnings[0], "Incomplete: of ") {
		t.Errorf("warnings %q", table.Warnings)
	}
	if w := planned(t, walk("L1", "omcd", 1, 1, record.Success)).Published().Warnings; w != nil {
		t.Errorf("a whole run warns: %q", w)
	}
}

// What is said of deaths: a ratio and a reduction on the same seeds, shares of
// steps, F1 of audits that did not help.
func TestPublishedDeathsByHand(t *testing.T) {
	c := new(Collector)
	for _, model := range []string{"openai/gpt-4o", "anthropic/claude-sonnet-4-6"} {
		for _, regime := range regimeOrder {
			// Two seeds with two episodes: deaths NoFilter 2/2 and 1/2, NoMemory 1/2 and
			// 0/2, OMCD 1/2 and 0/2.
			for strategy, deaths := range map[string][2]int{"no-filter": {2, 1}, "no-memory": {1, 0}, "omcd": {1, 0}} {
				for seed, n := range deaths {
					for e := range 2 {
						outcome, steps := record.Success, 14+2*e
						if strategy == "omcd" {
							steps += 3
						}
						if e < n {
							outcome, steps = record.Death, 15+e // the second comes after step 15
						}
						tr := episode(model, strategy, seed+1, e+1, outcome, steps, 0)
						tr.Regime = regime
						if strategy == "omcd" {
							tr.Batch = 10
							tr.Windows = []record.Window{judged("SSsv")} // F1 4/5
							if outcome == record.Death {
								tr.Windows = []record.Window{judged("SSSVv")} // F1 6/7
								tr.Death = &record.DeathRecord{Cause: record.CauseStaleRemoved}
							}
							countJudgments(tr)
						}
						add(t, c, tr)
					}
				}
			}
		}
	}
	// A control is nobody's stand-in, neither for one model nor for all.
	add(t, c, episode("ref/reader", "no-filter", 1, 1, record.Death, 40, 0))
	table := c.Published()
	near(t, "times the deaths", ours(t, table, "ours", "deaths-over", "GPT-4o", "L2").Value, 0.75/0.25)
	near(t, "deaths avoided", ours(t, table, "ours", "death-reduction", "Claude-Sonnet-4.6").Value, 1-0.25/0.75)
	near(t, "deaths within 15 steps", ours(t, table, "ours", "deaths-within").Value, 2.0/3) // 2 of 3 in each cell
	near(t, "F1 of what killed all the same", ours(t, table, "ours", "f1-of-runs-with-stale-deaths").Value, 6.0/7)
	// NoFilter: one success, of 16 steps. NoMemory: of 16, 14, 16. OMCD: each 3 more than that.
	near(t, "spread of successes", ours(t, table, "ours", "success-length-spread").Value, 3)
	for _, measure := range []string{"deaths-within", "success-length-spread"} {
		if got := ours(t, table, "note", measure).Label; got == "" {
			t.Errorf("%s: nothing is said of how ours compares", measure)
		}
	}
	near(t, "a share against steps", ours(t, table, "difference", "deaths-within").Value, undefined)
}

// Extremes are of what has a value; what has lost everything is named.
func TestPublishedExtremesByHand(t *testing.T) {
	see := func(model, regime string, seed int, letters string) *record.Trial {
		tr := detection(model, regime, seed, letters)
		tr.Modality = record.Vision
		return tr
	}
	var trials []*record.Trial
	for _, regime := range regimeOrder {
		trials = append(trials, see("a/best", regime, 1, "SSvv"), see("b/worst", regime, 1, "SVvv"), see("ref/reader", regime, 1, "VVss"),
			failedTrial(see("c/lost", regime, 1, "SS")))
	}
	table := planned(t, trials...).Published()
	near(t, "best over worst", ours(t, table, "ours", "best-over-worst-f1").Value, 1/(2.0/3))
	note := ours(t, table, "note", "best-over-worst-f1").Label
	for _, want := range []string{"best: a/best", "worst: b/worst", "without c/lost"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note %q lacks %q", note, want)
		}
	}
	near(t, "of one model", ours(t, planned(t, trials[0], trials[4], trials[8]).Published(), "ours", "best-over-worst-f1").Value, undefined)

	walk := func(regime, strategy string, n int, outcome string) *record.Trial {
		tr := episode("openai/gpt-4o", strategy, 1, n, outcome, 20, 0)
		tr.Regime, tr.Modality = regime, record.Vision
		return tr
	}
	table = planned(t,
		walk("L1", "no-memory", 1, record.Success), walk("L1", "no-memory", 2, record.Death),
		walk("L3", "no-filter", 1, record.Death), walk("L3", "no-filter", 2, record.Death),
		walk("L2", "no-filter", 1, record.Success), walk("L2", "no-filter", 2, ""), // 1/2 to 2/2
	).Published()
	near(t, "greatest success", ours(t, table, "ours", "success-greatest", "GPT-4o").Value, 0.5)
	near(t, "at least", ours(t, table, "ours_least", "success-greatest", "GPT-4o").Value, 0.5)
	near(t, "at most", ours(t, table, "ours_most", "success-greatest", "GPT-4o").Value, 1)
	if note := ours(t, table, "note", "success-greatest", "GPT-4o").Label; !strings.Contains(note, "without L2 NoFilter") || !strings.Contains(note, "L1 NoMemory") {
		t.Errorf("the note is %q", note)
	}
}

// Traces are those of the paper's seed, whose lake is another one with us.
func TestPublishedTraces(t *testing.T) {
	in := record.Instance{Seed: 4810, Regime: "L2",
		Rows:      []string{"SFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"},
		RowsAfter: []string{"SFFFFFFF", "FFFFFFFF", "FFHHFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"}}
	var c Collector
	addInstance(t, &c, in)
	for n, steps := range []int{11, 7} {
		tr := episode("openai/gpt-4o", "no-filter", 4810, 2-n, record.Death, steps, 0)
		tr.Regime = "L2"
		add(t, &c, tr)
	}
	table := c.Published()
	near(t, "stale entries", ours(t, table, "ours", "trace-stale-entries").Value, 2)
	near(t, "less the paper's", ours(t, table, "difference", "trace-stale-entries").Value, -12)
	if got := ours(t, table, "agrees", "trace-stale-entries").Label; got != "" {
		t.Errorf("another lake agrees: %q", got)
	}
	// Of the first episode, whatever came first.
	if got := ours(t, table, "ours", "trace", "no-filter").Short + "|" + ours(t, table, "ours_text", "trace", "no-filter").Label; got != "death, step 7|death, step 7" {
		t.Errorf("the trace is %q", got)
	}
	if got := ours(t, table, "note", "trace", "omcd").Label; got != "the run has no seed 4810" {
		t.Errorf("the note of a trace that is not there is %q", got)
	}
}

// Correlations are those of figure 9, of the whole seeds.
func TestPublishedCorrelationsByHand(t *testing.T) {
	var trials []*record.Trial
	// F1 and success of four seeds: (1, 1), (1/2, 1), (1/2, 0), (0, 0).
	for i, s := range []struct{ letters, outcome string }{{"SSvv", record.Success}, {"SVsv", record.Success}, {"SVsv", record.Death}, {"VVvv", record.Death}} {
		tr := episode("openai/gpt-4o", "omcd", i+1, 1, s.outcome, 14, 0)
		tr.Batch, tr.Windows = 10, []record.Window{judged(s.letters)}
		countJudgments(tr)
		trials = append(trials, tr)
	}
	lost := episode("openai/gpt-4o", "omcd", 5, 1, "", 0, 0)
	lost.Batch = 10
	table := planned(t, append(trials, lost)...).Published()
	near(t, "Pearson", ours(t, table, "ours", "pearson-f1-success", "L1").Value, math.Sqrt(0.5)) // 0.5/√(0.5·1)
	near(t, "Spearman", ours(t, table, "ours", "spearman-f1-success-size", "L1").Value, 3/math.Sqrt(18))
	if got := ours(t, table, "whole", "pearson-f1-success", "L1").Label; got != "4/5" {
		t.Errorf("seeds %q", got)
	}
	in := ours(t, table, "interval", "pearson-f1-success", "L1")
	z, half := math.Atanh(math.Sqrt(0.5)), 1.959963984540054
	near(t, "from", in.Low, math.Tanh(z-half))
	near(t, "to", in.High, math.Tanh(z+half))
}

// An interval of a size has no sign, and holds 0 where the signed one does.
func TestSizes(t *testing.T) {
	for _, tt := range []struct{ value, low, high, wantLow, wantHigh float64 }{
		{-0.1, -0.3, 0.1, 0, 0.3}, {-0.2, -0.3, -0.1, 0.1, 0.3}, {0.2, 0.1, 0.3, 0.1, 0.3}, {0.1, -0.1, 0.3, 0, 0.3},
	} {
		o := ourSide{value: Cell{Value: &tt.value}, interval: Cell{Low: &tt.low, High: &tt.high}, bound: bound{&tt.low, &tt.high}}.size()
		for _, in := range [][2]*float64{{o.interval.Low, o.interval.High}, {o.least, o.most}} {
			near(t, "low", in[0], tt.wantLow)
			near(t, "high", in[1], tt.wantHigh)
		}
		near(t, "size", o.value.Value, math.Abs(tt.value))
	}
	if o := (ourSide{}).size(); o.value.Value != nil || o.interval.Low != nil || o.least != nil {
		t.Errorf("nothing has the size %+v", o)
	}
}
