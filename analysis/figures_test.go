package analysis_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// figureOf returns a figure by its ID.
func figureOf(t testing.TB, figures []analysis.Figure, id string) *analysis.Figure {
	t.Helper()
	i := slices.IndexFunc(figures, func(f analysis.Figure) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("no figure %s", id)
	}
	return &figures[i]
}

// A lookup finds cells of tables by the labels of their rows, as people see them.
type lookup []analysis.Table

func (l lookup) cell(t testing.TB, table, key string, labels map[string]string) *analysis.Cell {
	t.Helper()
	for i := range l {
		tab := &l[i]
		if tab.ID != table {
			continue
		}
		column := func(key string) int {
			return slices.IndexFunc(tab.Columns, func(c analysis.Column) bool { return c.Key == key })
		}
		for _, row := range tab.Rows {
			fits := true
			for k, want := range labels {
				c := &row[column(k)]
				fits = fits && (c.Label == want || c.Display() == want)
			}
			if fits {
				return &row[column(key)]
			}
		}
	}
	t.Fatalf("%s has no %s of %v", table, key, labels)
	return nil
}

func same(t *testing.T, what string, got, want *float64) {
	t.Helper()
	if (got == nil) != (want == nil) || got != nil && math.Abs(*got-*want) > 1e-12 {
		t.Errorf("%s: the figure has %s, the table %s", what, number(got), number(want))
	}
}

// A figure that shows another number than the table of the same cell would make
// one of them wrong. Bars, intervals' bounds by lost trials, and p-values are
// those of the tables, with and without losses.
func testAgreement(t *testing.T, runs map[string][]*keptRun) {
	points := 0
	for _, name := range []string{"default", "lossy"} {
		t.Run(name, func(t *testing.T) {
			f := collect(t, runs[name])
			figures, tables := f.Figures(), lookup(f.Tables())
			each := func(id string, do func(what string, p *analysis.Panel, s *analysis.Series, pt *analysis.Point, at map[string]string)) {
				figure := figureOf(t, figures, id)
				for i := range figure.Panels {
					p := &figure.Panels[i]
					for k := range p.Series {
						for j := range p.Series[k].Points {
							pt := &p.Series[k].Points[j]
							points++
							do(fmt.Sprintf("%s, %s, %s, point %d", id, p.Title, p.Series[k].Name, j), p, &p.Series[k], pt,
								map[string]string{"model": p.Categories[pt.Category].Name})
						}
					}
				}
			}
			bounded := func(what, table, key string, pt *analysis.Point, at map[string]string) {
				if pt.Trials.Finished == pt.Trials.Planned {
					if pt.XBounds != nil {
						t.Errorf("%s: bounds, though nothing is lost", what)
					}
					return
				}
				if pt.XBounds == nil {
					t.Errorf("%s: no bounds, though trials are lost", what)
					return
				}
				same(t, what+", least", &pt.XBounds.Low, tables.cell(t, table, key+"_least", at).Value)
				same(t, what+", most", &pt.XBounds.High, tables.cell(t, table, key+"_most", at).Value)
			}
			each("figure-3-detection", func(what string, p *analysis.Panel, s *analysis.Series, pt *analysis.Point, at map[string]string) {
				at["regime"], at["modality"] = strings.TrimSuffix(p.Title, ": images − text"), s.Key
				if s.Key == "difference" {
					delete(at, "modality")
					same(t, what, pt.X, tables.cell(t, "vision-text", "difference", at).Value)
					if in := tables.cell(t, "vision-text", "interval", at); pt.XRange != nil {
						same(t, what+", interval", &pt.XRange.Low, in.Low)
					}
					return
				}
				same(t, what, pt.X, tables.cell(t, "detection", "f1", at).Value)
				bounded(what, "bounds-detection", "f1", pt, at)
			})
			each("figure-5-strategies", func(what string, p *analysis.Panel, s *analysis.Series, pt *analysis.Point, at map[string]string) {
				at["regime"], at["strategy"], at["modality"] = p.Title, s.Key, record.Text
				key := strings.TrimSuffix(p.X.Label, " rate")
				same(t, what, pt.X, tables.cell(t, "navigation-text", key, at).Value)
				bounded(what, "bounds-navigation", key, pt, at)
			})
			each("figure-4-flags", func(what string, p *analysis.Panel, s *analysis.Series, pt *analysis.Point, at map[string]string) {
				at["regime"] = "L1+L2"
				at["modality"] = map[string]string{"from text": record.Text, "from images": record.Vision}[p.Title]
				key := map[string]string{"thaw": "safe_deadly", "safe": "safe_safe", "freeze": "danger_safe", "danger": "danger_deadly"}[s.Key]
				same(t, what, pt.X, tables.cell(t, "flags", key, at).Value)
				if test := tables.cell(t, "flags-test", "p", at); s.Key == "safe" && test.Value != nil && *test.Value >= 0.001 && *test.Value <= 0.9995 {
					if want := fmt.Sprintf("p = %.3f", *test.Value); !strings.HasPrefix(pt.Label, want) {
						t.Errorf("%s: label %q, want %q", what, pt.Label, want)
					}
				}
			})
			each("figure-8-directions", func(what string, p *analysis.Panel, s *analysis.Series, pt *analysis.Point, at map[string]string) {
				regime, modality, _ := strings.Cut(p.Title, ", ")
				at["regime"], at["modality"] = regime, map[string]string{"from text": record.Text, "from images": record.Vision}[modality]
				c := tables.cell(t, "directions", "recall_"+s.Key, at)
				same(t, what, pt.X, c.Value)
				if pt.N != c.Of {
					t.Errorf("%s: n = %d, the table has %d entries", what, pt.N, c.Of)
				}
			})
		})
	}
	if points < 150 {
		t.Errorf("only %d points were compared", points)
	}
}

// TestFigures makes the pinned runs once for what is asked of their figures.
func TestFigures(t *testing.T) {
	runs := pinned(t)
	for name, test := range map[string]func(*testing.T, map[string][]*keptRun){
		"agreement": testAgreement, "losses": testLosses, "determinism": testDeterminism, "sizes": testSizes, "detection task": testFigure9,
	} {
		t.Run(name, func(t *testing.T) { test(t, runs) })
	}
}

// A cell that has lost all its trials keeps its place, empty, and the figure says
// how much is lost; left out, it would look as if the run had not planned it.
func testLosses(t *testing.T, runs map[string][]*keptRun) {
	run := *runs["default"][0]
	run.trials = maps.Clone(run.trials)
	maps.DeleteFunc(run.trials, func(_ string, trial *record.Trial) bool { return trial.Regime == "L2" && trial.Model == "ref/reader" })
	for _, f := range collect(t, []*keptRun{&run}).Figures() {
		if len(f.Panels) == 0 || f.Topic == analysis.TopicLakes {
			continue
		}
		if !strings.Contains(f.Incomplete, "planned") || len(f.Warnings) == 0 {
			t.Errorf("%s says nothing of lost trials: %q, %q", f.ID, f.Incomplete, f.Warnings)
		}
		places := 0
		for _, p := range f.Panels {
			for _, s := range p.Series {
				for _, pt := range s.Points {
					if pt.Trials != nil && pt.Trials.Finished == 0 {
						places++
						if pt.X != nil || pt.XRange != nil {
							t.Errorf("%s, %s: a value of no trial", f.ID, p.Title)
						}
					}
				}
			}
			if p.Empty != "" {
				places++
			}
		}
		if places == 0 && slices.Contains([]string{"figure-3-detection", "figure-5-strategies", "figure-8-directions", "figure-9-f1-success"}, f.ID) {
			t.Errorf("%s: the cells without a result have no place", f.ID)
		}
	}
}

// The order in which trials come must not show: they are stored as they finish.
func testDeterminism(t *testing.T, all map[string][]*keptRun) {
	for name, runs := range all {
		var texts [2]string
		for i := range texts {
			text, err := json.Marshal(collect(t, runs).Figures()) // trials come in the order of a map
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: two readings of one run give different figures", name)
		}
	}
}

// A figure that mixed sizes would average lakes that are not alike; one of
// another size than the paper's must not pass for the paper's figure.
func testSizes(t *testing.T, runs map[string][]*keptRun) {
	f := collect(t, runs["ablations"])
	figures := f.Figures()
	ids := map[string]bool{}
	for _, one := range figures {
		if ids[one.ID] {
			t.Errorf("two figures are %s", one.ID)
		}
		ids[one.ID] = true
		if strings.HasSuffix(one.ID, "-5x7") && one.Paper != "" {
			t.Errorf("%s passes for the paper’s %s", one.ID, one.Paper)
		}
	}
	tables := lookup(f.Tables())
	for id, grid := range map[string]string{"figure-3-detection": "8x8", "figure-3-detection-5x7": "5x7"} {
		one := figureOf(t, figures, id)
		pt := one.Panels[0].Series[0].Points[0]
		same(t, id, pt.X, tables.cell(t, "detection", "f1", map[string]string{"grid": grid, "modality": one.Panels[0].Series[0].Key, "batch": "10", "framing": "neutral", "detector": "omcd"}).Value)
		if !strings.Contains(strings.Join(one.Feet, " "), "The tables also have") {
			t.Errorf("%s does not say that the run has other batches and wordings: %q", id, one.Feet)
		}
	}
}

// The F1 of Figure 9 is that of the detection task, counted here from the
// records: that of an episode's own audits grows with its survival.
func testFigure9(t *testing.T, runs map[string][]*keptRun) {
	run := runs["default"][0]
	type at struct {
		model, regime string
		seed          int
	}
	counts, arrived, episodes := map[at]record.Counts{}, map[at]float64{}, map[at]float64{}
	for _, trial := range run.trials {
		k := at{trial.Model, trial.Regime, trial.Seed}
		switch {
		case trial.Strategy != "omcd" || trial.Modality != record.Text:
		case trial.Task == record.Detect:
			counts[k] = trial.Counts
		default:
			episodes[k]++
			if trial.Outcome == record.Success {
				arrived[k]++
			}
		}
	}
	figure := figureOf(t, collect(t, []*keptRun{run}).Figures(), "figure-9-f1-success")
	found := 0
	for _, p := range figure.Panels {
		want := map[[2]float64]int{}
		for k, n := range episodes {
			if regime, model, _ := strings.Cut(p.Title, ", "); !strings.HasPrefix(regime, k.regime) || !strings.HasPrefix(k.model, strings.TrimSuffix(strings.TrimSuffix(model, " (control)"), " [1]")) {
				continue
			}
			if f1 := counts[k].F1(); f1 != nil {
				want[[2]float64{*f1, arrived[k] / n}]++
			}
		}
		for _, pt := range p.Series[0].Points {
			found++
			if n := want[[2]float64{*pt.X, *pt.Y}]; n != pt.N {
				t.Errorf("%s: %d seeds at F1 %.3f, success %.3f; the records have %d", p.Title, pt.N, *pt.X, *pt.Y, n)
			}
		}
	}
	if found < 9 {
		t.Errorf("only %d points were compared", found)
	}
}

// Closed and open models are told apart by their names; a wrong heading would
// say of a model what is not so, and a control must never stand among models.
func TestFigure3GroupsModels(t *testing.T) {
	want := []struct{ model, group string }{
		{"openai/gpt-4o", "closed models"}, {"anthropic/claude-sonnet-4-6", "closed models"}, {"qwen/qwen3.6-plus", "closed models"},
		{"zai/glm-5.1", "closed models"}, {"openrouter/google/gemini-2.5-pro", "closed models"},
		{"vllm/OpenGVLab/InternVL3-8B", "open models"}, {"ollama/qwen3-vl:8b", "open models"}, {"openai/gpt-oss-20b", "open models"},
		{"openrouter/google/gemma-3-27b-it", "open models"}, {"qwen/qwen3-vl-8b-instruct", "open models"},
		{"openai-api/mine/secret", "models not known to be closed or open"},
		{"ref/reader", "controls"},
	}
	s := preset(t, "quick", func(s *study.Study) {
		s.Seeds, s.Navigation, s.Models = instance.Seeds(1), nil, nil
		s.AskRegimes([]instance.Regime{instance.L1})
	})
	as := map[string]string{}
	for i, w := range slices.Backward(want) { // planned the other way round
		stand := strings.Replace(mixed, "trust=0.5", fmt.Sprintf("trust=0.%d1", i), 1)
		if w.model == "ref/reader" {
			stand = w.model
		} else {
			as[stand] = w.model
		}
		s.Models = append(s.Models, stand)
	}
	figure := figureOf(t, collect(t, []*keptRun{runOf(t, "all", s, as)}).Figures(), "figure-3-detection")
	groups := map[string]string{}
	var headings []string
	for i, c := range figure.Panels[0].Categories {
		groups[c.Name] = c.Group
		if i == 0 || headings[len(headings)-1] != c.Group {
			headings = append(headings, c.Group)
		}
	}
	for _, w := range want {
		if groups[w.model] != w.group {
			t.Errorf("%s is under %q, want %q", w.model, groups[w.model], w.group)
		}
	}
	if len(headings) != 4 || headings[3] != "controls" {
		t.Errorf("headings %q: each once, controls last", headings)
	}
}

// One model at two temperatures is two rows: averaged, they would be of no model
// that anybody asked.
func TestFiguresKeepConditionsApart(t *testing.T) {
	at := func(name string, temperature float64) *keptRun {
		return runOf(t, name, preset(t, "quick", func(s *study.Study) {
			s.Seeds, s.Navigation, s.Models = instance.Seeds(2), nil, []string{mixed}
			if name == "hot" {
				s.Seeds = instance.Seeds(4)[2:]
			}
			s.Params.Temperature = &temperature
			s.AskRegimes([]instance.Regime{instance.L1})
		}), map[string]string{mixed: "openai/gpt-4o"})
	}
	figure := figureOf(t, collect(t, []*keptRun{at("cold", 0.1), at("hot", 0.9)}).Figures(), "figure-3-detection")
	var names []string
	for _, c := range figure.Panels[0].Categories {
		names = append(names, c.Name)
	}
	if len(names) != 2 || !strings.Contains(names[0], "temperature 0.1") || !strings.Contains(names[1], "temperature 0.9") {
		t.Errorf("rows %q, want one a temperature", names)
	}
	for _, pt := range figure.Panels[0].Series[0].Points {
		if pt.N != 2 {
			t.Errorf("a row rests on %d seeds, want its own 2", pt.N)
		}
	}
}
