package analysis

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A fataler is a test of any kind.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// planned adds trials that were announced, those without an outcome as missing.
func planned(t fataler, trials ...*record.Trial) *Collector {
	t.Helper()
	c := new(Collector)
	for _, tr := range trials {
		if err := c.Expect(tr.Spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, tr := range trials {
		if tr.Outcome == "" {
			continue
		}
		if err := c.AddTrial(tr); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func failedTrial(tr *record.Trial) *record.Trial {
	tr.Outcome, tr.Windows, tr.Steps, tr.Counts = record.Failed, nil, nil, record.Counts{}
	return tr
}

// twoRuns are two runs of one model each, with everything that can be amiss
// with pairs.
func twoRuns(t testing.TB) (a, b *Collector) {
	a = planned(t,
		detection("m", "L1", 1, "SVsv"), // F1 1/2, recall 1/2, FPR 1/2
		detection("m", "L1", 2, "SSvv"), // F1 1, recall 1, FPR 0
		detection("m", "L1", 3, "vv"),   // F1 and recall undefined, FPR 0
		failedTrial(detection("m", "L1", 4, "SS")),
		detection("m", "L1", 5, "SS"), // B has no seed 5
		detection("m", "L2", 1, "SS"), // B has no L2
		episode("m", "omcd", 1, 1, record.Success, 14, 0),
		episode("m", "omcd", 1, 2, record.Death, 3, 0), // seed 1: success 1/2, death 1/2
		episode("m", "omcd", 2, 1, record.Success, 14, 0),
		episode("m", "omcd", 2, 2, record.Success, 14, 0), // seed 2: success 1
		episode("m", "omcd", 3, 1, record.Success, 14, 0),
		episode("m", "omcd", 3, 2, "", 0, 0), // seed 3 is not whole
		episode("m", "no-memory", 1, 1, record.Success, 14, 0),
	)
	b = planned(t,
		detection("n", "L1", 1, "SSvv"), // F1 1, recall 1, FPR 0
		detection("n", "L1", 2, "SVvv"), // F1 2/3, recall 1/2, FPR 0
		detection("n", "L1", 3, "SVvv"),
		detection("n", "L1", 4, "SVvv"),
		detection("n", "L1", 9, "SS"), // A has no seed 9
		episode("n", "omcd", 1, 1, record.Success, 14, 0),
		episode("n", "omcd", 2, 1, record.Death, 3, 0),
		failedTrial(episode("n", "omcd", 3, 1, "", 0, 0)),
		episode("n", "oracle", 1, 1, record.Success, 14, 0),
	)
	return a, b
}

func TestCompareByHand(t *testing.T) {
	a, b := twoRuns(t)
	tables := Compare(a, b, []Difference{{"temperature", "none", "0.5"}}, nil)
	runs, detection, navigation := tables[0], tables[1], tables[2]
	for _, tt := range []struct {
		table         Table
		measure       string
		a, b, diff    float64
		sd            float64
		n, undefined  int
		pairs, shared int
		least, most   float64
	}{
		// Seeds 1 and 2: 1/2 → 1 and 1 → 2/3; seed 3 is undefined in A, and in no
		// bound; seed 4 is lost there, and B's F1 on it is 2/3.
		{detection, "f1", 3.0 / 4, 5.0 / 6, 1.0 / 12, 5.0 / 6 / math.Sqrt2, 2, 1, 3, 4, -1.0 / 18, 5.0 / 18},
		{detection, "recall", 3.0 / 4, 3.0 / 4, 0, 1 / math.Sqrt2, 2, 1, 3, 4, -1.0 / 6, 1.0 / 6},
		{detection, "fpr", 1.0 / 6, 0, -1.0 / 6, math.Sqrt(1.0 / 12), 3, 0, 3, 4, -3.0 / 8, -1.0 / 8},
		// Seed 1: 1/2 → 1, seed 2: 1 → 0; seed 3: A has one success of two, B nothing.
		{navigation, "success", 3.0 / 4, 1.0 / 2, -1.0 / 4, 1.5 / math.Sqrt2, 2, 0, 2, 3, -1.0 / 2, 0},
		{navigation, "death", 1.0 / 4, 1.0 / 2, 1.0 / 4, 1.5 / math.Sqrt2, 2, 0, 2, 3, 0, 1.0 / 2},
	} {
		t.Run(tt.measure, func(t *testing.T) {
			near(t, "A", cellOf(t, tt.table, "a", tt.measure).Value, tt.a)
			near(t, "B", cellOf(t, tt.table, "b", tt.measure).Value, tt.b)
			d := cellOf(t, tt.table, "difference", tt.measure)
			near(t, "difference", d.Value, tt.diff)
			near(t, "its sd", d.SD, tt.sd)
			near(t, "against B", cellOf(t, tt.table, "difference_least", tt.measure).Value, tt.least)
			near(t, "for B", cellOf(t, tt.table, "difference_most", tt.measure).Value, tt.most)
			if d.N != tt.n || d.Undefined != tt.undefined || len(d.Pairs) != tt.pairs {
				t.Errorf("the difference rests on %d seeds without %d of %d pairs, want %d without %d of %d", d.N, d.Undefined, len(d.Pairs), tt.n, tt.undefined, tt.pairs)
			}
			if s := cellOf(t, tt.table, "seeds", tt.measure); s.Count != tt.pairs || s.Of != tt.shared {
				t.Errorf("%d of %d seeds, want %d of %d", s.Count, s.Of, tt.pairs, tt.shared)
			}
		})
	}
	// Differences 1/2 and -1/3: any signs give one of two sums as far from 0.
	near(t, "p", cellOf(t, detection, "p", "f1").Value, 1)
	// Three seeds of which two do not differ.
	near(t, "p", cellOf(t, detection, "p", "fpr").Value, 1)
	eq, err := stats.Equivalence([]float64{1. / 2, -1. / 3}, stats.EquivalenceOptions{Margin: 0.1, Alpha: 0.05, Seed: record.PlannedTests().Bootstrap.Seed})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "above the margin's lower end", cellOf(t, detection, "equivalence_p_lower", "f1").Value, *eq.PLower)
	near(t, "below its upper end", cellOf(t, detection, "equivalence_p_upper", "f1").Value, *eq.PUpper)
	if v := cellOf(t, detection, "equivalence_verdict", "f1").Label; v != "not shown" || eq.Equivalent {
		t.Errorf("two seeds that far apart are %q", v)
	}
	if f := cellOf(t, detection, "family", "f1").Count; f != 1 {
		t.Errorf("a family of %d, want the one row of the measure", f)
	}
	if len(detection.Rows) != 3 || len(navigation.Rows) != 2 {
		t.Errorf("%d and %d rows, want 3 and 2", len(detection.Rows), len(navigation.Rows))
	}
	seeds := ""
	for _, p := range cellOf(t, detection, "difference", "f1").Pairs {
		seeds += fmt.Sprint(p.Seed, " ", p.Difference() != nil, "; ")
	}
	if seeds != "1 true; 2 true; 3 false; " {
		t.Errorf("the pairs behind F1 are %s", seeds)
	}
	for key, want := range map[string]int{"lost_a": 1, "lost_b": 0} {
		if got := cellOf(t, detection, key, "f1").Count; got != want {
			t.Errorf("%s is %d, want %d", key, got, want)
		}
	}
	for key, want := range map[string]int{"lost_a": 1, "lost_b": 1} {
		if got := cellOf(t, navigation, key, "death").Count; got != want {
			t.Errorf("%s of episodes is %d, want %d", key, got, want)
		}
	}
	if diff := cmp.Diff([]string{
		"A’s m is paired with B’s n.",
		"Paired by seed: 4 seeds in both runs; not used: 1 seed only in A (5), 1 seed only in B (9).",
		"Only in A, and in no table below: detections with regime L2 (1 setting); episodes with NoMemory (1 setting).",
		"Only in B, and in no table below: episodes with Oracle (1 setting).",
	}, runs.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	want := "Incomplete: of 4 pairs, a setting and a seed each, 3 are whole; trials failed or have no record in A in 1, in B in 0."
	if len(detection.Warnings) != 1 || !strings.HasPrefix(detection.Warnings[0], want) {
		t.Errorf("warnings %q, want %q", detection.Warnings, want)
	}
	if runs.Rows[0][0].Label != "temperature" || runs.Rows[0][2].Label != "0.5" {
		t.Errorf("the difference of the studies reads %+v", runs.Rows[0])
	}
}

// Models are paired with others when there is one on each side, when what is left
// over is one with other parameters, and when it is said.
func TestWhichModelsArePaired(t *testing.T) {
	run := func(models ...string) *Collector {
		var trials []*record.Trial
		for _, m := range models {
			trials = append(trials, detection(m, "L1", 1, "SVsv"))
		}
		return planned(t, trials...)
	}
	for _, tt := range []struct {
		a, b   []string
		want   string // models of the rows
		only   string // what the notes say
		models map[string]string
	}{
		{[]string{"m"}, []string{"m"}, "m", "Paired by seed", nil},
		{[]string{"m"}, []string{"n"}, "m → n", "A’s m is paired with B’s n", nil},
		{[]string{"m", "n"}, []string{"n"}, "n", "Only in A, and in no table below: detections with the model m (1 setting).", nil},
		{[]string{"m", "n"}, []string{"o"}, "", "Only in B, and in no table below: detections with the model o (1 setting).", nil},
		{[]string{"m", "n"}, []string{"o"}, "", "spatialstale compare A B --pair 'm=o'", nil},
		{[]string{"m", "n?x=1"}, []string{"m", "n?x=2"}, "m,n?x=1 → n?x=2", "A’s n?x=1 is paired with B’s n?x=2", nil},
		{[]string{"m", "n?x=1", "n?x=2"}, []string{"m", "n?x=3"}, "m", "n?x=3", nil},
		{[]string{"m", "n"}, []string{"m", "n"}, "m → n,n → m", "A’s m is paired with B’s n", map[string]string{"m": "n", "n": "m"}},
		{[]string{"m", "n"}, []string{"m", "o"}, "m → o", "compare A B --pair 'n=m'", map[string]string{"m": "o"}},
	} {
		tables := Compare(run(tt.a...), run(tt.b...), nil, tt.models)
		models := column(t, tables[1], "models")
		if got := strings.Join(slices.Compact(models), ","); got != tt.want {
			t.Errorf("%v against %v: rows of %q, want %q", tt.a, tt.b, got, tt.want)
		}
		if notes := strings.Join(tables[0].Notes, "\n"); !strings.Contains(notes, tt.only) {
			t.Errorf("%v against %v: notes are %q, want %q", tt.a, tt.b, notes, tt.only)
		}
	}
}

func TestNoSharedSeed(t *testing.T) {
	a, b := planned(t, detection("m", "L1", 1, "SV")), planned(t, detection("m", "L1", 2, "SV"))
	tables := Compare(a, b, nil, nil)
	if len(tables[1].Rows) != 0 || len(tables[0].Warnings) != 1 || !strings.Contains(tables[0].Warnings[0], "share no seed") {
		t.Errorf("%d rows, warnings %q", len(tables[1].Rows), tables[0].Warnings)
	}
}

// drawSide draws a run in which anything may be lost or undefined.
func drawSide(rt *rapid.T, name string) *Collector {
	var trials []*record.Trial
	for _, model := range []string{"m", "n"} {
		for _, regime := range []string{"L1", "L2"} {
			for seed := range 4 {
				what := rapid.SampledFrom([]string{"absent", "missing", "failed", "Sv", "Vs", "vv", "SSVu", "SVsv"}).Draw(rt, name)
				tr := detection(model, regime, seed, what)
				switch what {
				case "absent":
					continue
				case "missing":
					tr = detection(model, regime, seed)
					tr.Outcome = ""
				case "failed":
					tr = failedTrial(detection(model, regime, seed))
				}
				trials = append(trials, tr)
			}
		}
	}
	return planned(rt, trials...)
}

// Turned round, every difference changes its sign; with itself a run has none;
// and a difference of means is the mean of differences.
func TestDifferencesAreAntisymmetric(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawSide(rt, "a"), drawSide(rt, "b")
		there, back, self := Compare(a, b, nil, nil)[1], Compare(b, a, nil, nil)[1], Compare(a, a, nil, nil)[1]
		if len(there.Rows) != len(back.Rows) {
			rt.Fatalf("%d rows there, %d back", len(there.Rows), len(back.Rows))
		}
		col := func(t Table, key string) int {
			return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
		}
		for i, row := range there.Rows {
			// Two runs of one other model each list the same row under another name.
			d, e := row[col(there, "difference")], back.Rows[i][col(back, "difference")]
			if d.N != e.N || d.Undefined != e.Undefined || (d.Value == nil) != (e.Value == nil) {
				rt.Fatalf("there %+v, back %+v", d, e)
			}
			if d.Value == nil {
				continue
			}
			means := *row[col(there, "b")].Value - *row[col(there, "a")].Value
			if *e.Value != -*d.Value || math.Abs(*d.Value-means) > 1e-12 {
				rt.Fatalf("there %v, back %v, of the means %v", *d.Value, *e.Value, means)
			}
		}
		for _, row := range self.Rows {
			if d := row[col(self, "difference")]; d.Value != nil && (*d.Value != 0 || d.SD != nil && *d.SD != 0) {
				rt.Fatalf("a run differs from itself: %+v", d)
			}
		}
	})
}

var settingsCounted = regexp.MustCompile(`\((\d+) settings?\)$`)

// What one run has alone is told whole: the settings counted and those named
// are as many as there are.
func TestNothingAloneIsDropped(t *testing.T) {
	draw := rapid.Custom(func(rt *rapid.T) setting {
		pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(rt, "name") }
		return setting{pick("m", "n"), pick("text", "vision"), pick("L1", "L3"), pick("omcd", "oracle"), pick("neutral", "warned"), rapid.SampledFrom([]int{0, 5}).Draw(rt, "batch"), 8, 8}
	})
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfDistinct(draw, func(s setting) setting { return s }).Draw(rt, "settings")
		cut := rapid.IntRange(0, len(all)).Draw(rt, "cut")
		p := &pairing{short: map[string]string{}, other: rapid.Bool().Draw(rt, "other models")}
		told := 0
		parts := p.alone("detections", all[:cut], all[cut:])
		for _, part := range parts {
			if m := settingsCounted.FindStringSubmatch(part); m != nil {
				n, _ := strconv.Atoi(m[1])
				told += n
			} else {
				told++
			}
		}
		if told != cut {
			rt.Errorf("%d settings are alone, %d are told: %q", cut, told, parts)
		}
	})
}
