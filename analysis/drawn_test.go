package analysis_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report/figure"
)

// crowd is a run of n models, with names as long as people's are.
func crowd(n int) *invented {
	names := []string{
		"openai/gpt-4o", "openai-api/NAME/some-very-long-model-name-2026-08-01-preview", "anthropic/claude-sonnet-4-6",
		"vllm/OpenGVLab/InternVL3-8B", "qwen/qwen3.6-plus", "ollama/a_name_without_any_hyphen_or_slash_that_could_break_it",
		"ref/mixed?trust=0.7&tpr=0.9&fpr=0.02&vision_tpr=0.55", "zai/glm-5.1",
	}
	v := &invented{seeds: 5, episodes: 2, modalities: []string{record.Text, record.Vision}}
	for i, name := range names[:n] {
		v.models = append(v.models, inventedModel{name: name, tpr: 1 - float64(i)/8, fpr: 0.03 * float64(i), blur: 0.7, deadly: 0.1 * float64(i)})
	}
	return v.make()
}

// losing is a crowd on some seeds that loses a share of its trials, half of
// them without a record.
func losing(n, seeds int, share float64) *invented {
	v := crowd(n)
	one := &invented{seeds: seeds, episodes: 2, modalities: v.modalities, models: v.models, lose: share / 2}
	if share > 0 {
		one.fail = (share - one.lose) / (1 - one.lose)
	}
	return one.make()
}

func (v *invented) figures(tb testing.TB) []analysis.Figure { return v.collect(tb).Figures() }

// Everything that can be drawn is: without an error, which a value off its axis
// would be.
func TestFiguresAreDrawn(t *testing.T) {
	for name, run := range map[string]*invented{
		"broken": broken(), "one": crowd(1), "eight": crowd(8), "batch": ablation("batch"),
		"seven with losses": losing(7, 5, 0.4), "one seed": losing(7, 1, 0), "all lost": losing(7, 5, 1),
	} {
		t.Run(name, func(t *testing.T) {
			drawn := 0
			for _, f := range run.figures(t) {
				if len(f.Panels) == 0 {
					if f.Need == "" {
						t.Errorf("%s has no panels and needs nothing", f.ID)
					}
					continue
				}
				drawn++
				if len(f.Feet) == 0 {
					t.Errorf("%s does not say in the drawing what it rests on", f.ID)
				}
				svg := draw(t, &f, "svg", figure.Light)
				for _, bad := range []string{"NaN", "Inf", "%!"} {
					if bytes.Contains(svg, []byte(bad)) {
						t.Errorf("%s: the drawing holds %q", f.ID, bad)
					}
				}
			}
			if drawn == 0 {
				t.Error("no figure has data")
			}
		})
	}
}

func draw(t *testing.T, f *analysis.Figure, format string, theme figure.Theme) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := figure.Draw(&b, f, format, theme); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A run without anything has all figures in their places, with what they need.
func TestFiguresWithoutData(t *testing.T) {
	ids := make(map[string]bool)
	for _, f := range new(analysis.Frame).Figures() {
		var b bytes.Buffer
		if err := figure.Draw(&b, &f, "svg", figure.Light); !errors.Is(err, figure.ErrEmpty) || !strings.Contains(err.Error(), f.Need) || b.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want one that says what it needs, and none", f.ID, err, b.Len())
		}
		if f.Need == "" || f.Title == "" || f.About == "" || ids[f.ID] {
			t.Errorf("figure %q lacks a title, words or what it needs, or comes twice", f.ID)
		}
		ids[f.ID] = true
	}
	if len(ids) < 11 {
		t.Errorf("%d figures", len(ids))
	}
}

// A figure of controls says so in the drawing, and no other does.
func TestFiguresOfControls(t *testing.T) {
	f := figureOf(t, complete().figures(t), "figure-5-strategies")
	if !bytes.Contains(draw(t, f, "svg", figure.Light), []byte("Built-in controls")) {
		t.Error("a figure of controls does not say so")
	}
	for _, f := range crowd(3).figures(t) {
		if f.Controls {
			t.Errorf("%s says that models are controls", f.ID)
		}
	}
}

// The best of a part of a table is marked, with ties, and never Oracle.
func TestBest(t *testing.T) {
	table := tableOf(t, complete().collect(t), "navigation-text")
	column := func(key string) int {
		return slices.IndexFunc(table.Columns, func(c analysis.Column) bool { return c.Key == key })
	}
	success, strategy := column("success"), column("strategy")
	type part struct{ model, regime string }
	most := make(map[part]string)
	for _, row := range table.Rows {
		if row[strategy].Label == "oracle" {
			continue
		}
		p := part{row[column("model")].Label, row[column("regime")].Label}
		if shown := fmt.Sprintf("%.3f", *row[success].Value); shown > most[p] {
			most[p] = shown
		}
	}
	for _, row := range table.Rows {
		p := part{row[column("model")].Label, row[column("regime")].Label}
		want := row[strategy].Label != "oracle" && fmt.Sprintf("%.3f", *row[success].Value) == most[p]
		if row[success].Best != want {
			t.Errorf("%v %s: best is %t, want %t", p, row[strategy].Label, row[success].Best, want)
		}
	}
}

// A drawing says how many of its trials are lost, and a whole run's says nothing
// of the kind.
func TestDrawingsSayWhatIsLost(t *testing.T) {
	for _, f := range losing(2, 5, 0.3).figures(t) {
		if len(f.Panels) == 0 || f.ID == "figure-2-regimes" { // which is of lakes alone
			continue
		}
		if !regexp.MustCompile(`^Incomplete: \d+ of \d+ planned (detection runs|episodes)`).MatchString(f.Incomplete) {
			t.Errorf("%s says of lost trials: %q", f.ID, f.Incomplete)
		}
		if !bytes.Contains(draw(t, &f, "svg", figure.Light), []byte(">Incomplete: ")) {
			t.Errorf("the drawing of %s does not say that trials are lost", f.ID)
		}
	}
	for _, f := range complete().figures(t) {
		if f.Incomplete != "" {
			t.Errorf("%s of a whole run: %s", f.ID, f.Incomplete)
		}
	}
}

// A regime that has lost everything keeps its panels, which say so.
func TestLostPanelsStay(t *testing.T) {
	whole, run := crowd(2), crowd(2)
	for i, trial := range run.trials {
		if trial.Regime == "L3" {
			run.trials[i] = &record.Trial{Version: record.Version, Spec: trial.Spec, Outcome: record.Failed, Error: "invented"}
		}
	}
	want, got := whole.figures(t), run.figures(t)
	for i := range want {
		id := want[i].ID
		if len(got[i].Panels) != len(want[i].Panels) {
			t.Errorf("%s has %d panels, and with L3 %d", id, len(got[i].Panels), len(want[i].Panels))
			continue
		}
		switch id {
		case "figure-3-detection", "figure-8-directions", "figure-7-precision-recall", "figure-9-f1-success", "figure-5-strategies":
			// Five seeds; of two models, and of two episodes.
			words := regexp.MustCompile(`>0 of (5|10) finished<`)
			if !words.Match(draw(t, &got[i], "svg", figure.Light)) {
				t.Errorf("the drawing of %s does not say that nothing has finished", id)
			}
		}
	}
}

// Tables that count what is left of a run say that something is lost.
func TestTablesSayWhatIsLost(t *testing.T) {
	for _, table := range losing(2, 5, 0.4).collect(t).Tables() {
		switch table.ID {
		case "exposure", "confidence", "reasons", "replies":
			if !slices.ContainsFunc(table.Warnings, func(w string) bool { return strings.HasPrefix(w, "Incomplete: of ") }) {
				t.Errorf("%s warns of %q", table.ID, table.Warnings)
			}
		}
	}
	for _, table := range complete().collect(t).Tables() {
		switch table.ID {
		case "exposure", "confidence", "reasons", "replies":
			if len(table.Warnings) > 0 {
				t.Errorf("%s of a whole run warns of %q", table.ID, table.Warnings)
			}
		}
	}
	batch := tableOf(t, ablation("batch").collect(t), "batch")
	if !slices.ContainsFunc(batch.Notes, func(n string) bool { return strings.Contains(n, "Controls take no tokens") }) {
		t.Errorf("the batches of controls do not say why nothing of tokens stands there: %q", batch.Notes)
	}
}

// Trials finish in any order at any concurrency; no table may tell.
func TestTablesDoNotDependOnOrder(t *testing.T) {
	run := named()
	want := run.all(t)
	for seed := range uint64(5) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(run.trials), func(i, j int) {
			run.trials[i], run.trials[j] = run.trials[j], run.trials[i]
		})
		slices.Reverse(run.instances)
		if diff := cmp.Diff(want, run.all(t)); diff != "" {
			t.Fatalf("order %d changes the tables:\n%s", seed, diff)
		}
	}
}

// A test on the data of a comparison gets what the table shows: as many defined
// differences as N says, whose mean is the value.
func TestPairsAreThoseBehindTheMean(t *testing.T) {
	rows := 0
	for _, table := range analysis.Compare(broken().collect(t), named().collect(t), []analysis.Difference{{What: "run folder", A: "runs/monday", B: "runs/tuesday"}}, nil, true) {
		at := slices.IndexFunc(table.Columns, func(c analysis.Column) bool { return c.Kind == analysis.Paired })
		if at < 0 {
			continue
		}
		for _, row := range table.Rows {
			rows++
			n, sum := 0, 0.0
			for i := range row[at].Pairs {
				if d := row[at].Pairs[i].Difference(); d != nil {
					n++
					sum += *d
				}
			}
			c := &row[at]
			if n != c.N || (n == 0) != (c.Value == nil) || n > 0 && math.Abs(sum/float64(n)-*c.Value) > 1e-12 {
				t.Errorf("%s: %d pairs with the sum %v, but %+v", table.ID, n, sum, c)
			}
		}
	}
	if rows == 0 {
		t.Error("no row was compared")
	}
}
