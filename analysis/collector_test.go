package analysis

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// judged makes a window out of letters, one an entry: upper case when the
// entry is truly stale; s flagged, v not flagged, u unanswered.
func judged(letters string) record.Window {
	var w record.Window
	for _, l := range letters {
		j := record.Judgment{Truth: l < 'a'}
		switch l | 0x20 {
		case 's':
			j.Verdict = record.Stale
		case 'v':
			j.Verdict = record.Valid
		case 'u':
			j.Verdict = record.Unanswered
		}
		w.Judgments = append(w.Judgments, j)
	}
	return w
}

// detection makes a finished detection trial of the given windows.
func detection(model, regime string, seed int, windows ...string) *record.Trial {
	t := &record.Trial{Version: record.Version, Outcome: record.Done, Spec: record.Spec{
		Key:  fmt.Sprint(model, regime, seed),
		Task: record.Detect, Model: model, Modality: record.Text, Regime: regime, Seed: seed,
		Rows: 8, Cols: 8, Strategy: "omcd", Batch: 10, Framing: "neutral"}}
	for i, letters := range windows {
		w := judged(letters)
		w.Index = i
		for _, j := range w.Judgments {
			t.Counts.Add(j.Truth, j.Verdict)
		}
		t.Windows = append(t.Windows, w)
	}
	return t
}

// episode makes an episode of a number of steps; the first ones are fallbacks.
func episode(model, strategy string, seed, n int, outcome string, steps, fallbacks int) *record.Trial {
	t := &record.Trial{Version: record.Version, Outcome: outcome, Spec: record.Spec{
		Key:  fmt.Sprint(model, strategy, seed, n),
		Task: record.Navigate, Model: model, Modality: record.Text, Regime: "L1", Seed: seed,
		Rows: 8, Cols: 8, Strategy: strategy, Framing: "neutral", Episode: n}}
	for i := range steps {
		t.Steps = append(t.Steps, record.Step{T: i + 1, Fallback: i < fallbacks})
	}
	return t
}

func add(t testing.TB, c *Collector, trials ...*record.Trial) {
	t.Helper()
	for _, tr := range trials {
		if err := c.AddTrial(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// cellOf finds the cell of a column in the row whose labels include the given
// ones.
func cellOf(t testing.TB, table Table, key string, labels ...string) Cell {
	t.Helper()
	col := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
	if col < 0 {
		t.Fatalf("table %s has no column %q", table.ID, key)
	}
	for _, row := range table.Rows {
		missing := slices.ContainsFunc(labels, func(l string) bool {
			return !slices.ContainsFunc(row, func(c Cell) bool { return c.Label == l })
		})
		if !missing {
			return row[col]
		}
	}
	t.Fatalf("table %s has no row %v", table.ID, labels)
	return Cell{}
}

// near compares an optional number with one worked out by hand; NaN stands for
// undefined.
func near(t testing.TB, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil && math.IsNaN(want):
	case got == nil:
		t.Errorf("%s is undefined, want %v", what, want)
	case math.IsNaN(want):
		t.Errorf("%s is %v, want it undefined", what, *got)
	case math.Abs(*got-want) > 1e-12:
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

var undefined = math.NaN()

func TestRegimesByHand(t *testing.T) {
	var c Collector
	for _, in := range []record.Instance{
		// Two of 16 stale: (0,1) thawed, (3,0) froze.
		{Seed: 2, Regime: "L2", Rows: []string{"SFFF", "FFFF", "FFFF", "HFFG"}, RowsAfter: []string{"SHFF", "FFFF", "FFFF", "FFFG"}},
		// Four of 16 stale: three thawed, (1,1) froze.
		{Seed: 1, Regime: "L2", Rows: []string{"SFFF", "FHFF", "FFFF", "FFFG"}, RowsAfter: []string{"SFFH", "FFFH", "FFFF", "HFFG"}},
		// One of 64 stale.
		{Seed: 1, Regime: "L1",
			Rows:      []string{"SFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"},
			RowsAfter: []string{"SFFFFFFF", "FFFFFFFF", "FFHFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFF", "FFFFFFFG"}},
	} {
		for range 2 { // the same instance may come again
			if err := c.AddInstance(in); err != nil {
				t.Fatal(err)
			}
		}
	}
	table := c.Regimes()
	if got := table.Rows[0][0].Display() + ", " + table.Rows[1][0].Display(); got != "L1 spot, L2 cluster" {
		t.Errorf("regimes come as %s", got)
	}
	share := cellOf(t, table, "stale_share", "L2")
	near(t, "mean", share.Value, 0.1875)
	near(t, "sd", share.SD, 0.0625*math.Sqrt2) // deviations ±1/16, n-1 = 1
	if share.N != 2 || share.Undefined != 0 {
		t.Errorf("share rests on %d seeds without %d, want 2 without 0", share.N, share.Undefined)
	}
	near(t, "min", cellOf(t, table, "stale_share_min", "L2").Value, 0.125)
	near(t, "max", cellOf(t, table, "stale_share_max", "L2").Value, 0.25)
	thaw := cellOf(t, table, "thaw_share", "L2")
	near(t, "thaw", thaw.Value, 4.0/6)
	if thaw.Count != 4 || thaw.Of != 6 {
		t.Errorf("thaw is %d of %d, want 4 of 6", thaw.Count, thaw.Of)
	}
	near(t, "the paper's L2 on a grid of another size", cellOf(t, table, "paper_stale_share", "L2").Value, undefined)
	near(t, "the paper's L1", cellOf(t, table, "paper_stale_share", "L1").Value, 0.094)
	one := cellOf(t, table, "stale_share", "L1")
	near(t, "mean of one seed", one.Value, 1.0/64)
	near(t, "sd of one seed", one.SD, undefined)
}

func TestDetectionByHand(t *testing.T) {
	var c Collector
	add(t, &c,
		// TP 2, FP 1, FN 1, TN 2 over two windows: P 2/3, R 2/3, F1 2/3, FPR 1/3.
		detection("m", "L3", 3, "Svs", "SVv"),
		// Nothing flagged: TP 0, FP 0, FN 2, TN 1: P undefined, R 0, F1 0, FPR 0.
		detection("m", "L3", 1, "VVv"),
		// TP 1, FP 0, FN 1 (unanswered), TN 2 (one unanswered): P 1, R 1/2, F1 2/3,
		// FPR 0; of the answered TP 1, TN 1: all 1.
		detection("m", "L3", 2, "SUuv"),
	)
	failed := detection("m", "L3", 4)
	failed.Outcome = record.Failed
	add(t, &c, failed)
	table := c.Detection()
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	for _, tt := range []struct {
		key        string
		mean, sd   float64
		n, leftOut int
		count, of  int
	}{
		{key: "precision", mean: 5.0 / 6, sd: math.Sqrt2 / 6, n: 2, leftOut: 1},
		{key: "recall", mean: 7.0 / 18, sd: math.Sqrt((25.0 + 49 + 4) / 324 / 2), n: 3},
		{key: "f1", mean: 4.0 / 9, sd: math.Sqrt(4.0 / 27), n: 3},
		{key: "fpr", mean: 1.0 / 9, sd: math.Sqrt(1.0 / 27), n: 3},
		{key: "precision_answered", mean: 5.0 / 6, sd: math.Sqrt2 / 6, n: 2, leftOut: 1},
		{key: "recall_answered", mean: 5.0 / 9, sd: math.Sqrt(7.0 / 27), n: 3},
		{key: "f1_answered", mean: 5.0 / 9, sd: math.Sqrt(7.0 / 27), n: 3},
		{key: "unanswered", mean: 2.0 / 13, sd: undefined, count: 2, of: 13},
		{key: "coverage", mean: 11.0 / 13, sd: undefined, count: 11, of: 13},
	} {
		got := cellOf(t, table, tt.key)
		near(t, tt.key, got.Value, tt.mean)
		near(t, tt.key+" sd", got.SD, tt.sd)
		if got.N != tt.n || got.Undefined != tt.leftOut || got.Count != tt.count || got.Of != tt.of {
			t.Errorf("%s: n %d, undefined %d, %d of %d; want %d, %d, %d of %d", tt.key, got.N, got.Undefined, got.Count, got.Of, tt.n, tt.leftOut, tt.count, tt.of)
		}
	}
	for key, want := range map[string]int{"tp": 3, "fp": 1, "fn": 4, "tn": 5, "seeds": 3, "planned": 4, "finished": 3, "failed": 1, "missing": 0} {
		if got := cellOf(t, table, key); got.Count != want {
			t.Errorf("%s is %d, want %d", key, got.Count, want)
		}
	}
	if len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "1 failed") {
		t.Errorf("the failed run is not in the warnings: %q", table.Warnings)
	}
}

// Without judgments nobody knows which entries the unanswered ones were.
func TestAnsweredScoresNeedJudgments(t *testing.T) {
	var c Collector
	tr := detection("m", "L1", 1, "SUuv")
	tr.Windows = nil
	add(t, &c, tr)
	table := c.Detection()
	near(t, "recall", cellOf(t, table, "recall").Value, 0.5)
	near(t, "recall of answered", cellOf(t, table, "recall_answered").Value, undefined)
}

func TestNavigationByHand(t *testing.T) {
	var c Collector
	trials := []*record.Trial{
		episode("m", "omcd", 1, 1, record.Success, 14, 0),
		episode("m", "omcd", 1, 2, record.Success, 16, 2),
		episode("m", "omcd", 2, 1, record.Death, 3, 0),
		episode("m", "omcd", 2, 2, record.Failed, 5, 5), // counts nowhere
		episode("m", "omcd", 3, 1, record.Timeout, 50, 1),
		episode("m", "omcd", 3, 2, record.Success, 20, 0),
	}
	trials[4].Steps[9].Dropped = []record.Flip{{To: "H"}, {To: "F"}}
	for _, tr := range trials {
		if err := c.Expect(tr.Spec); err != nil {
			t.Fatal(err)
		}
	}
	lost := episode("m", "omcd", 4, 1, "", 0, 0)
	if err := c.Expect(lost.Spec); err != nil {
		t.Fatal(err)
	}
	add(t, &c, trials...)
	table := c.Navigation(record.Text)
	// Seeds: success 1, 0, 1/2; death 0, 1, 0; timeout 0, 0, 1/2.
	for _, tt := range []struct {
		key          string
		mean, sd     float64
		n, count, of int
	}{
		{"success", 0.5, 0.5, 3, 3, 5},
		{"death", 1.0 / 3, math.Sqrt(1.0 / 3), 3, 1, 5},
		{"timeout", 1.0 / 6, math.Sqrt(1.0 / 12), 3, 1, 5},
		{"reward", 1.0 / 6, math.Sqrt(13.0 / 12), 3, 0, 0}, // 1, -1, 1/2
		{"fallback", 3.0 / 103, undefined, 0, 3, 103},
		{"steps_success", 50.0 / 3, undefined, 3, 0, 0},
		{"steps_death", 3, undefined, 1, 0, 0},
		{"steps_timeout", 50, undefined, 1, 0, 0},
		{"dropped_flips", undefined, undefined, 0, 2, 0},
		{"episodes", undefined, undefined, 0, 5, 7},
	} {
		got := cellOf(t, table, tt.key)
		near(t, tt.key, got.Value, tt.mean)
		near(t, tt.key+" sd", got.SD, tt.sd)
		if got.N != tt.n || got.Count != tt.count || got.Of != tt.of {
			t.Errorf("%s: n %d, %d of %d; want %d, %d of %d", tt.key, got.N, got.Count, got.Of, tt.n, tt.count, tt.of)
		}
	}
	if want := "of 7 planned episodes, 1 failed and 1 have no record"; len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], want) {
		t.Errorf("warnings %q, want %q", table.Warnings, want)
	}
	near(t, "steps in the table of lengths", cellOf(t, c.Lengths(), "steps").Value, 103.0/5)
}

// An end that never happened has no length: it is not zero.
func TestLengthOfNothing(t *testing.T) {
	var c Collector
	add(t, &c, episode("m", "omcd", 1, 1, record.Success, 14, 0))
	near(t, "steps to death", cellOf(t, c.Lengths(), "steps_death").Value, undefined)
	near(t, "death rate", cellOf(t, c.Navigation(record.Text), "death").Value, 0)
}

func TestCollectorRefuses(t *testing.T) {
	good := detection("m", "L1", 1, "Sv")
	alter := func(f func(*record.Trial)) *record.Trial {
		tr := detection("m", "L1", 1, "Sv")
		f(tr)
		return tr
	}
	for _, tt := range []struct {
		name, want string
		trial      *record.Trial
	}{
		{"a newer record", "newer program", alter(func(t *record.Trial) { t.Version = record.Version + 1 })},
		{"another task", `task "sing"`, alter(func(t *record.Trial) { t.Task = "sing" })},
		{"an episode's outcome", `cannot have the outcome "death"`, alter(func(t *record.Trial) { t.Outcome = record.Death })},
		{"counts that its judgments deny", "not those of its judgments", alter(func(t *record.Trial) { t.Counts.TP++ })},
		{"the same trial twice", "already added", good},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Collector
			if tt.trial == good {
				add(t, &c, good)
			}
			err := c.AddTrial(tt.trial)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	rows := []string{"SFFF", "FFFF", "FFFF", "FFFG"}
	for _, tt := range []struct {
		name, want string
		in         record.Instance
	}{
		{"bad rows", "rows: ", record.Instance{Rows: []string{"SX"}, RowsAfter: rows}},
		{"bad rows after", "rows_after: ", record.Instance{Rows: rows}},
		{"another size after", "4×4 and rows_after 4×5", record.Instance{Rows: rows, RowsAfter: []string{"SFFFF", "FFFFF", "FFFFF", "FFFFG"}}},
		{"another instance of the seed", "two different instances", record.Instance{Seed: 9, Rows: rows, RowsAfter: []string{"SFHF", "FFFF", "FFFF", "FFFG"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Collector
			if err := c.AddInstance(record.Instance{Seed: 9, Rows: rows, RowsAfter: rows}); err != nil {
				t.Fatal(err)
			}
			if err := c.AddInstance(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// drawTrials draws trials of a few settings, each at most once.
func drawTrials(t *rapid.T) []*record.Trial {
	var trials []*record.Trial
	seen := make(map[string]bool)
	for range rapid.IntRange(1, 40).Draw(t, "trials") {
		seed := rapid.IntRange(0, 9).Draw(t, "seed")
		model := rapid.SampledFrom([]string{"b", "a", "ref/mixed?trust=0.7&tpr=0.9&fpr=0.1"}).Draw(t, "model")
		var tr *record.Trial
		if rapid.Bool().Draw(t, "detect") {
			letters := rapid.StringOfN(rapid.SampledFrom([]rune("SVUsvu")), 1, 40, -1)
			tr = detection(model, rapid.SampledFrom([]string{"L3", "L1"}).Draw(t, "regime"), seed, letters.Draw(t, "window0"), letters.Draw(t, "window1"))
			tr.Modality = rapid.SampledFrom([]string{record.Text, record.Vision}).Draw(t, "modality")
			tr.Key += tr.Modality
		} else {
			outcome := rapid.SampledFrom([]string{record.Success, record.Death, record.Timeout, record.Failed}).Draw(t, "outcome")
			tr = episode(model, rapid.SampledFrom([]string{"oracle", "mine", "omcd"}).Draw(t, "strategy"), seed,
				rapid.IntRange(1, 3).Draw(t, "episode"), outcome, rapid.IntRange(1, 50).Draw(t, "steps"), rapid.IntRange(0, 3).Draw(t, "fallbacks"))
		}
		if !seen[tr.Key] {
			seen[tr.Key] = true
			trials = append(trials, tr)
		}
	}
	return trials
}

// The order in which trials finish must not reach a single bit of a table.
func TestTablesDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := drawTrials(t)
		planned := rapid.Bool().Draw(t, "planned")
		tables := func(order []*record.Trial) []Table {
			var c Collector
			if planned {
				for _, tr := range trials {
					if err := c.Expect(tr.Spec); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, tr := range order {
				if err := c.AddTrial(tr); err != nil {
					t.Fatal(err)
				}
			}
			return c.Tables()
		}
		want, got := tables(trials), tables(rapid.Permutation(trials).Draw(t, "order"))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("another order gives\n%+v\nwant\n%+v", got, want)
		}
	})
}

// Every rate lies in [0,1]; the three ends share out the finished episodes;
// unanswered and coverage share out the entries.
func TestTablesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Collector
		for _, tr := range drawTrials(t) {
			if err := c.AddTrial(tr); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range c.Tables() {
			at := make(map[string]int)
			for i, col := range table.Columns {
				at[col.Key] = i
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Fatalf("%s: %d cells under %d columns", table.ID, len(row), len(table.Columns))
				}
				for i, col := range table.Columns {
					if v := row[i].Value; v != nil && strings.HasPrefix(col.Unit, "share") && (*v < 0 || *v > 1) {
						t.Fatalf("%s: %s is %v", table.ID, col.Key, *v)
					}
				}
				sum := func(keys ...string) (s float64, defined bool) {
					for _, k := range keys {
						v := row[at[k]].Value
						if v == nil {
							return 0, false
						}
						s += *v
					}
					return s, true
				}
				var keys []string
				switch table.ID {
				case "navigation-text":
					keys = []string{"success", "death", "timeout"}
				case "detection":
					keys = []string{"unanswered", "coverage"}
				default:
					continue
				}
				if s, ok := sum(keys...); ok && math.Abs(s-1) > 1e-12 {
					t.Fatalf("%s: %v sum to %v", table.ID, keys, s)
				}
			}
		}
	})
}

// What a collector keeps of a trial must not grow with its steps or windows.
func TestCollectorKeepsNoTrials(t *testing.T) {
	const trials, allowed = 200, 1024 // bytes a trial; each holds about 100 kB
	kept := func(tr func(seed int) *record.Trial) uint64 {
		var c Collector
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for seed := range trials {
			if err := c.AddTrial(tr(seed)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(&c)
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
	}
	long := strings.Repeat("SVUsvu", 100)
	for name, tr := range map[string]func(int) *record.Trial{
		"windows": func(seed int) *record.Trial { return detection("m", "L3", seed, long) },
		"steps":   func(seed int) *record.Trial { return episode("m", "omcd", seed, 1, record.Timeout, 500, 0) },
	} {
		if n := kept(tr); n > trials*allowed {
			t.Errorf("%s: %d bytes kept of %d trials, want at most %d each", name, n, trials, allowed)
		}
	}
}

func BenchmarkAddTrial(b *testing.B) {
	b.ReportAllocs()
	tr := detection("m", "L3", 0, strings.Repeat("SVUsvu", 64))
	var c Collector
	for i := 0; b.Loop(); i++ {
		tr.Seed = i
		if err := c.AddTrial(tr); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/384, "ns/judgment")
}
