package analysis

import (
	"fmt"
	"math"
	"slices"
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
		if !ok || m.words == "" {
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
		if m.ours != nil && f.Model == "" && !slices.Contains([]string{"stale-share", "stale-share-least", "stale-share-most", "step-budget", "reward-success", "reward-death", "reward-timeout"}, f.Measure) {
			t.Errorf("%s: ours would be of no model", name)
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
		{"batch-f1-difference", []string{"F1, difference, B=10 less B=1"}, text - 1},
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
	} {
		if got := tt.f.said(); got != tt.want {
			t.Errorf("%+v is written %q, want %q", tt.f, got, tt.want)
		}
	}
}
