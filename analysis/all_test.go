package analysis

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// A drawn run has a few small lakes and trials of everything that a study can
// vary, consistent with each other and otherwise arbitrary.
type drawn struct {
	instances []record.Instance
	trials    []*record.Trial
}

func drawRun(t *rapid.T) *drawn {
	d := &drawn{}
	for seed := range rapid.IntRange(1, 3).Draw(t, "seeds") {
		for _, regime := range []string{"L1", "L3"} {
			d.instances = append(d.instances, drawInstance(t, seed, regime))
		}
	}
	seen := make(map[string]bool)
	for range rapid.IntRange(1, 25).Draw(t, "trials") {
		in := &d.instances[rapid.IntRange(0, len(d.instances)-1).Draw(t, "instance")]
		s := record.Spec{
			Task:     rapid.SampledFrom([]string{record.Detect, record.Navigate}).Draw(t, "task"),
			Model:    rapid.SampledFrom([]string{"openai/gpt-4o", "ref/reader"}).Draw(t, "model"),
			Modality: rapid.SampledFrom(modalityOrder).Draw(t, "modality"),
			Regime:   in.Regime, Seed: in.Seed, Rows: 4, Cols: 4,
			Framing: rapid.SampledFrom(framingOrder[:2]).Draw(t, "framing"),
		}
		if s.Task == record.Detect {
			s.Strategy = rapid.SampledFrom([]string{"omcd", scoreStrategy}).Draw(t, "detector")
			s.Batch = rapid.SampledFrom([]int{1, 10}).Draw(t, "batch")
		} else {
			s.Strategy = rapid.SampledFrom([]string{"no-memory", "no-filter", "omcd"}).Draw(t, "strategy")
			s.Episode = rapid.IntRange(1, 2).Draw(t, "episode")
		}
		s.Key = fmt.Sprint(s)
		if seen[s.Key] {
			continue
		}
		seen[s.Key] = true
		tr := &record.Trial{Version: record.Version, Spec: s}
		if s.Task == record.Detect {
			d.drawDetection(t, tr, in)
		} else {
			d.drawEpisode(t, tr, in)
		}
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			tr.Outcome = record.Failed
		}
		d.trials = append(d.trials, tr)
	}
	return d
}

func drawInstance(t *rapid.T, seed int, regime string) record.Instance {
	cells := func(label string) []string {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte("FFH")), 16, 16).Draw(t, label)
		b[0], b[15] = 'S', 'G'
		return []string{string(b[:4]), string(b[4:8]), string(b[8:12]), string(b[12:])}
	}
	in := record.Instance{Seed: seed, Regime: regime, Rows: cells("rows"), RowsAfter: cells("after")}
	if regime == "L3" {
		byStep := make(map[int][]record.Flip)
		for r := range 4 {
			for c := range 4 {
				if in.Rows[r][c] != in.RowsAfter[r][c] {
					step := rapid.IntRange(1, 6).Draw(t, "step")
					byStep[step] = append(byStep[step], record.Flip{Pos: record.Pos{r, c}, To: string(in.RowsAfter[r][c])})
				}
			}
		}
		for step := range 7 {
			if len(byStep[step]) > 0 {
				in.Events = append(in.Events, record.Event{Step: step, Flips: byStep[step]})
			}
		}
	}
	remember(&in)
	return in
}

// drawWindow judges every entry, truth being the lake's.
func drawWindow(t *rapid.T, in *record.Instance, step int, score bool) record.Window {
	rows := lakeAfter(in, step)
	w := record.Window{Step: step}
	for range rapid.IntRange(0, 2).Draw(t, "replies") {
		w.Replies = append(w.Replies, record.Parsed{
			Outcome: rapid.SampledFrom([]string{"answered", "partial", "refusal", "odd"}).Draw(t, "outcome"),
			Repairs: rapid.SliceOfN(rapid.SampledFrom([]string{"fence", "truncated"}), 0, 2).Draw(t, "repairs"),
		})
	}
	for _, e := range in.Memory {
		j := record.Judgment{MemoryID: e.ID, Pos: e.Pos, Claim: e.Claim,
			Truth:   (e.Claim == "DANGER") != (rows[e.Pos[0]][e.Pos[1]] == 'H'),
			Verdict: rapid.SampledFrom([]string{record.Stale, record.Valid, record.Unanswered}).Draw(t, "verdict"),
			Reason:  rapid.SampledFrom([]string{"", "F", "a hole", "unclear", "the memory says F", "F or H"}).Draw(t, "reason"),
		}
		if j.Verdict != record.Unanswered {
			x := rapid.SampledFrom([]float64{0, 0.1, 0.3, 0.7, 1.0 / 3, 1}).Draw(t, "number")
			if score {
				j.Score = &x
			} else if rapid.Bool().Draw(t, "says how sure") {
				j.Confidence = &x
			}
		}
		w.Judgments = append(w.Judgments, j)
	}
	return w
}

// lakeAfter returns an instance's lake after a number of moves.
func lakeAfter(in *record.Instance, moves int) [][]byte {
	rows := in.RowsAfter
	if len(in.Events) > 0 {
		rows = in.Rows
	}
	var out [][]byte
	for _, row := range rows {
		out = append(out, []byte(row))
	}
	for _, e := range in.Events {
		for _, f := range e.Flips {
			if e.Step <= moves {
				out[f.Pos[0]][f.Pos[1]] = f.To[0]
			}
		}
	}
	return out
}

func (d *drawn) drawDetection(t *rapid.T, tr *record.Trial, in *record.Instance) {
	tr.Outcome = record.Done
	steps := []int{0}
	for _, e := range in.Events {
		steps = append(steps, e.Step)
	}
	for i, step := range steps {
		w := drawWindow(t, in, step, tr.Strategy == scoreStrategy)
		w.Index = i
		tr.Windows = append(tr.Windows, w)
	}
	countJudgments(tr)
}

func countJudgments(tr *record.Trial) {
	for _, w := range tr.Windows {
		for _, j := range w.Judgments {
			tr.Counts.Add(j.Truth, j.Verdict)
		}
	}
}

func (d *drawn) drawEpisode(t *rapid.T, tr *record.Trial, in *record.Instance) {
	tr.Outcome = rapid.SampledFrom(ends[:]).Draw(t, "outcome")
	view := map[string]string{"no-memory": record.MemoryNone, "no-filter": record.MemoryAll, "omcd": record.MemoryFiltered}[tr.Strategy]
	var removed []string
	for i := range rapid.IntRange(1, 9).Draw(t, "steps") {
		s := record.Step{T: i + 1, Memory: view, Fallback: rapid.IntRange(0, 4).Draw(t, "fallback") == 0}
		if s.Fallback {
			s.Reply = rapid.SampledFrom([]string{"none", "refusal", ""}).Draw(t, "reading")
		}
		for _, e := range in.Events {
			for _, f := range e.Flips {
				if e.Step != i {
					continue
				}
				if rapid.IntRange(0, 4).Draw(t, "dropped") == 0 {
					s.Dropped = append(s.Dropped, f)
				} else {
					s.Event = append(s.Event, f)
				}
			}
		}
		if view == record.MemoryFiltered && (i == 0 || len(s.Event) > 0) {
			removed = nil
			for _, e := range in.Memory {
				if rapid.IntRange(0, 3).Draw(t, "removed") == 0 {
					removed = append(removed, e.ID)
				}
			}
		}
		s.Removed = removed
		tr.Steps = append(tr.Steps, s)
	}
	if tr.Outcome == record.Death {
		tr.Death = &record.DeathRecord{Cause: rapid.SampledFrom([]string{record.CauseStaleShown, record.CauseWarned, record.CauseFallback, "odd"}).Draw(t, "cause"),
			Pos: record.Pos{rapid.IntRange(0, 3).Draw(t, "row"), rapid.IntRange(0, 3).Draw(t, "column")}}
	}
	if view == record.MemoryFiltered {
		w := drawWindow(t, in, 0, false)
		tr.Windows = append(tr.Windows, w)
		countJudgments(tr)
	}
}

func (d *drawn) collect(t *rapid.T, instances []record.Instance, trials []*record.Trial, plan bool) *Collector {
	c := &Collector{}
	if plan {
		for _, tr := range d.trials {
			if err := c.Expect(tr.Spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, in := range instances {
		if err := c.AddInstance(in); err != nil {
			t.Fatal(err)
		}
	}
	for _, tr := range trials {
		if err := c.AddTrial(tr); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// The order in which trials finish must not reach a single bit of any table,
// and neither must that of the instances.
func TestNoTableDependsOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawRun(t)
		plan := rapid.Bool().Draw(t, "planned")
		want := d.collect(t, d.instances, d.trials, plan).All()
		got := d.collect(t, rapid.Permutation(d.instances).Draw(t, "instances in order"), rapid.Permutation(d.trials).Draw(t, "order"), plan).All()
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("another order gives\n%+v\nwant\n%+v", got[i], want[i])
			}
		}
	})
}

// Shares lie in [0,1] and are their count over their denominator; parts share
// out their whole; a table has rows or says what it needs.
func TestAllTablesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawRun(t)
		for _, table := range d.collect(t, d.instances, d.trials, true).All() {
			if len(table.Rows) == 0 && table.Need == "" {
				t.Fatalf("%s has no rows and does not say why", table.ID)
			}
			at := make(map[string]int)
			for i, col := range table.Columns {
				if _, ok := at[col.Key]; ok || col.Key == "" {
					t.Fatalf("%s: the key %q is not a column's own", table.ID, col.Key)
				}
				at[col.Key] = i
			}
			for _, row := range table.Rows {
				for i, col := range table.Columns {
					checkCell(t, table.ID, &col, &row[i])
				}
				sum := func(keys ...string) (n int) {
					for _, k := range keys {
						n += row[at[k]].Count
					}
					return n
				}
				equal := func(what string, got, want int) {
					if got != want {
						t.Fatalf("%s: %s: %d, want %d", table.ID, what, got, want)
					}
				}
				switch table.ID {
				case "deaths":
					var causes []string
					for k := range at {
						if strings.HasPrefix(k, "cause_") {
							causes = append(causes, k)
						}
					}
					equal("causes", sum(causes...), sum("deaths"))
				case "replies":
					equal("outcomes", sum("answered", "partial", "truncated", "refusal", "filtered", "empty", "unparsed", "other"), sum("calls"))
				case "fallback-free":
					equal("ends", sum("success", "death", "timeout"), row[at["success"]].Of)
					equal("free ends", sum("free_success", "free_death", "free_timeout"), sum("free_episodes"))
				case "exposure":
					equal("last steps", sum("stale_last"), sum("stale_last_success", "stale_last_death", "stale_last_timeout"))
				}
			}
		}
	})
}

func checkCell(t *rapid.T, id string, col *Column, c *Cell) {
	if c.Value != nil && (math.IsNaN(*c.Value) || math.IsInf(*c.Value, 0)) {
		t.Fatalf("%s: %s is %v", id, col.Key, *c.Value)
	}
	if strings.HasPrefix(col.Unit, "share") && c.Value != nil && (*c.Value < 0 || *c.Value > 1) {
		t.Fatalf("%s: %s is %v", id, col.Key, *c.Value)
	}
	if col.Kind == PValue && c.Value != nil && (*c.Value < 0 || *c.Value > 1) {
		t.Fatalf("%s: %s is %v", id, col.Key, *c.Value)
	}
	if col.Kind == Interval && ((c.Low == nil) != (c.High == nil) || c.Low != nil && *c.Low > *c.High) {
		t.Fatalf("%s: %s has the ends %v and %v", id, col.Key, c.Low, c.High)
	}
	if col.Kind != Share {
		return
	}
	if c.Count < 0 || c.Count > c.Of || (c.Of == 0) != (c.Value == nil) {
		t.Fatalf("%s: %s is %d of %d", id, col.Key, c.Count, c.Of)
	}
	if c.Value != nil && *c.Value != float64(c.Count)/float64(c.Of) {
		t.Fatalf("%s: %s is %v, but %d of %d", id, col.Key, *c.Value, c.Count, c.Of)
	}
}

// Exposure is what anyone finds who replays each step with the lake in hand.
func TestExposureAgainstReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawRun(t)
		var stale, staleOf, view, viewOf int
		for _, tr := range d.trials {
			if tr.Task != record.Navigate || tr.Outcome == record.Failed {
				continue
			}
			in := &d.instances[slices.IndexFunc(d.instances, func(in record.Instance) bool { return in.Seed == tr.Seed && in.Regime == tr.Regime })]
			rows := lakeAfter(in, 0)
			for _, s := range tr.Steps {
				for _, f := range s.Event {
					rows[f.Pos[0]][f.Pos[1]] = f.To[0]
				}
				for _, e := range in.Memory {
					isStale := (e.Claim == "DANGER") != (rows[e.Pos[0]][e.Pos[1]] == 'H')
					staleOf++
					if isStale {
						stale++
					}
					if s.Memory == record.MemoryNone || slices.Contains(s.Removed, e.ID) {
						continue
					}
					viewOf++
					if isStale {
						view++
					}
				}
			}
		}
		table := d.collect(t, d.instances, d.trials, false).Exposure()
		total := func(key string) (p pair) {
			i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
			for _, row := range table.Rows {
				p.plus(pair{row[i].Count, row[i].Of})
			}
			return p
		}
		if got := total("stale"); got != (pair{stale, staleOf}) {
			t.Fatalf("stale: %v, want %d of %d", got, stale, staleOf)
		}
		if got := total("view"); got != (pair{view, viewOf}) {
			t.Fatalf("in view: %v, want %d of %d", got, view, viewOf)
		}
	})
}

// BenchmarkAddEpisode adds episodes of 14 steps with an audited memory.
func BenchmarkAddEpisode(b *testing.B) {
	b.ReportAllocs()
	in := pond()
	var c Collector
	addInstance(b, &c, in)
	tr := walkOn(&in, "omcd", 0, record.Success, 14, record.MemoryFiltered, "mem_003", "mem_005")
	for i := 0; b.Loop(); i++ {
		tr.Episode = i
		if err := c.AddTrial(tr); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/14, "ns/step")
}
