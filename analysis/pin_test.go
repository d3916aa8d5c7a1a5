package analysis_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A kept run is a run in memory: what a run folder would hold of it.
type keptRun struct {
	name      string
	manifest  record.Manifest
	plan      []record.Spec
	instances []record.Instance
	trials    map[string]*record.Trial
}

// runOf runs a study and reads what it left. as renames its models: a control
// that stands in for a model shows what tables would say of that model.
func runOf(t testing.TB, name string, s *study.Study, as map[string]string) *keptRun {
	t.Helper()
	s.Prompts = study.PromptsOf("0.1") // what is pinned was asked in its words
	session, err := run.Start(context.Background(), s, run.Options{Dir: filepath.Join(t.TempDir(), name)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	stored, err := run.Open(session.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	kept := &keptRun{name: name, trials: map[string]*record.Trial{}}
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		kept.trials[trial.Key] = trial
	}
	for in, err := range stored.Instances() {
		if err != nil {
			t.Fatal(err)
		}
		kept.instances = append(kept.instances, in)
	}
	config, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	kept.manifest.Study = config
	for _, m := range s.Models {
		named := m
		if as[m] != "" {
			named = as[m]
		}
		kept.manifest.Models = append(kept.manifest.Models, record.ModelInfo{Name: named, Control: named == m})
	}
	rename := func(spec *record.Spec) {
		if as[spec.Model] != "" {
			spec.Model = as[spec.Model]
		}
	}
	for spec := range s.Specs() {
		rename(&spec)
		kept.plan = append(kept.plan, spec)
	}
	for _, trial := range kept.trials {
		rename(&trial.Spec)
	}
	return kept
}

// lose drops some trials and lets others fail, by their keys.
func (r *keptRun) lose() *keptRun {
	for key, t := range r.trials {
		h := fnv.New32a()
		h.Write([]byte(key))
		switch h.Sum32() % 16 {
		case 0:
			delete(r.trials, key)
		case 1:
			failed := *t
			failed.Outcome, failed.Error, failed.Death = record.Failed, "HTTP 500", nil
			r.trials[key] = &failed
		}
	}
	return r
}

func preset(t testing.TB, name string, change func(*study.Study)) *study.Study {
	t.Helper()
	s, err := study.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	return s
}

const (
	mixed = "ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02"
	messy = "ref/messy"
)

// pinned are the runs whose numbers must not change.
func pinned(t testing.TB) map[string][]*keptRun {
	few := func(n, episodes int) func(*study.Study) {
		return func(s *study.Study) {
			s.Seeds = instance.Seeds(n)
			s.Bootstrap.Resamples = 999
			if s.Navigation != nil {
				s.Navigation.Episodes = episodes
			}
		}
	}
	gpt := map[string]string{mixed: "openai/gpt-4o"}
	ablations := preset(t, "framing", func(s *study.Study) {
		few(3, 1)(s)
		s.Models = []string{mixed}
		s.Framings = s.Framings[:2]
		s.AskSizes([]study.Size{{Rows: 8, Cols: 8}, {Rows: 5, Cols: 7}})
		s.AskRegimes([]instance.Regime{instance.L1})
		one := study.OMCD
		one.Batch = 20
		s.Detection.Detectors = []study.Strategy{study.OMCD, one, study.Score}
		s.Navigation.Strategies = []study.Strategy{study.NoFilter, study.OMCD}
	})
	lossy := runOf(t, "lossy", preset(t, "quick", func(s *study.Study) {
		few(4, 2)(s)
		s.Models = []string{mixed}
	}), gpt).lose()
	rehearsal := runOf(t, "rehearsal", preset(t, "quick", func(s *study.Study) {
		few(2, 1)(s)
		s.Models = []string{mixed, messy}
		s.Navigation.Modalities = study.Modalities
		s.AskRegimes([]instance.Regime{instance.L3})
	}), gpt)
	rehearsal.manifest.Models[0].ServerModels = []string{mixed}
	first := runOf(t, "first", preset(t, "quick", func(s *study.Study) {
		few(2, 1)(s)
		s.Models = []string{mixed}
		s.AskRegimes([]instance.Regime{instance.L1})
	}), gpt)
	second := runOf(t, "second", preset(t, "batch", func(s *study.Study) {
		few(3, 1)(s)
		s.Models = []string{mixed}
	}), gpt)
	return map[string][]*keptRun{
		"default":   {runOf(t, "default", preset(t, "paper", few(5, 2)), nil)},
		"lossy":     {lossy},
		"ablations": {runOf(t, "ablations", ablations, nil)},
		"rehearsal": {rehearsal},
		"two":       {first, second},
	}
}

// collect hands runs to the analysis.
func collect(t testing.TB, runs []*keptRun) *analysis.Frame {
	t.Helper()
	f := &analysis.Frame{}
	for _, r := range runs {
		if err := f.Begin(r.name, &r.manifest); err != nil {
			t.Fatal(err)
		}
		for _, spec := range r.plan {
			if _, err := f.Expect(spec); err != nil {
				t.Fatal(err)
			}
		}
		for _, in := range r.instances {
			if err := f.AddInstance(in); err != nil {
				t.Fatal(err)
			}
		}
		for _, trial := range r.trials {
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

// pinnedTable writes a table's numbers, one line a row, to 12 digits.
func pinnedTable(b *bytes.Buffer, t *analysis.Table) {
	fmt.Fprintf(b, "# %s\n", t.ID)
	w := csv.NewWriter(b)
	header := make([]string, len(t.Columns))
	for i := range t.Columns {
		header[i] = t.Columns[i].Key
	}
	w.Write(header)
	ours := slices.IndexFunc(t.Columns, func(c analysis.Column) bool { return c.Key == "ours" })
	for _, row := range t.Rows {
		if t.ID == "published" && row[ours].Value == nil {
			continue // the paper's own figure is in data/paper.yaml
		}
		line := make([]string, len(row))
		for i := range row {
			line[i] = pinnedCell(&t.Columns[i], &row[i])
		}
		w.Write(line)
	}
	w.Flush()
}

func number(x *float64) string {
	if x == nil {
		return "–"
	}
	return strconv.FormatFloat(*x, 'g', 12, 64)
}

func pinnedCell(col *analysis.Column, c *analysis.Cell) string {
	switch col.Kind {
	case analysis.Label, analysis.Verdict:
		return c.Label
	case analysis.Count:
		if c.Of != 0 && c.Of != c.Count {
			return fmt.Sprintf("%d/%d", c.Count, c.Of)
		}
		return strconv.Itoa(c.Count)
	case analysis.Share:
		return fmt.Sprintf("%d/%d", c.Count, c.Of)
	case analysis.Interval:
		return number(c.Low) + ".." + number(c.High)
	case analysis.Mean, analysis.Rate, analysis.Paired:
		parts := []string{number(c.Value), number(c.SD), strconv.Itoa(c.N)}
		if c.Undefined > 0 {
			parts = append(parts, "undefined "+strconv.Itoa(c.Undefined))
		}
		return strings.Join(parts, " ")
	case analysis.Average:
		return fmt.Sprintf("%s %d", number(c.Value), c.N)
	case analysis.PValue:
		return number(c.Value) + c.Mark
	}
	return number(c.Value)
}

// TestPinnedNumbers holds every number of every table of five small runs: the
// default study, one with lost trials, one with batches, scores, wordings and
// sizes, one rehearsal, and two runs together. A change of one is a change of
// what a table means, and goes with its reason.
func TestPinnedNumbers(t *testing.T) {
	for name, runs := range pinned(t) {
		t.Run(name, func(t *testing.T) {
			f := collect(t, runs)
			var b bytes.Buffer
			tables := f.Tables()
			for i := range tables {
				if len(tables[i].Rows) > 0 {
					pinnedTable(&b, &tables[i])
				}
			}
			path := filepath.Join("testdata", "pins", name+".csv")
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			comparePinned(t, string(want), b.String())
		})
	}
}

// A model that the summary calls by a short name is named in full below it.
func TestSummaryNamesModels(t *testing.T) {
	s := collect(t, pinned(t)["default"]).Summary()
	want := []string{"[1] ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02"}
	if !slices.Equal(s.Names, want) {
		t.Errorf("a summary that speaks of ref/mixed [1] names %q, want %q", s.Names, want)
	}
}

// comparePinned names the first lines that differ.
func comparePinned(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	ws, gs := strings.Split(want, "\n"), strings.Split(got, "\n")
	table, shown := "", 0
	for i := range max(len(ws), len(gs)) {
		var w, g string
		if i < len(ws) {
			w = ws[i]
		}
		if i < len(gs) {
			g = gs[i]
		}
		if strings.HasPrefix(w, "# ") {
			table = w
		}
		if w != g && shown < 4 {
			t.Errorf("%s, line %d:\n want %s\n  got %s", table, i+1, w, g)
			shown++
		}
	}
}
