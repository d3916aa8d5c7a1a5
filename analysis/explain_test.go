package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

// pond is a lake of 16 cells in L3: after move 5 (0,3) thaws, after move 10
// (1,1) freezes and (0,3) freezes again.
func pond() record.Instance {
	in := record.Instance{
		Seed: 1, Regime: "L3",
		Rows:      []string{"SFFF", "FHFF", "FFFF", "FFFG"},
		RowsAfter: []string{"SFFF", "FFFF", "FFFF", "FFFG"},
		Events: []record.Event{
			{Step: 5, Flips: []record.Flip{{Pos: record.Pos{0, 3}, To: "H"}}},
			{Step: 10, Flips: []record.Flip{{Pos: record.Pos{1, 1}, To: "F"}, {Pos: record.Pos{0, 3}, To: "F"}}},
		},
	}
	remember(&in)
	return in
}

// remember gives an instance the memory of its original lake.
func remember(in *record.Instance) {
	in.Memory = nil
	for r, row := range in.Rows {
		for c := range row {
			claim := "SAFE"
			if row[c] == 'H' {
				claim = "DANGER"
			}
			in.Memory = append(in.Memory, record.MemoryEntry{ID: fmt.Sprintf("mem_%03d", r*len(row)+c), Pos: record.Pos{r, c}, Claim: claim})
		}
	}
}

// walkOn makes an episode on the pond of a number of steps, which gets what
// the schedule holds.
func walkOn(in *record.Instance, strategy string, n int, outcome string, steps int, view string, removed ...string) *record.Trial {
	t := episode("m", strategy, in.Seed, n, outcome, steps, 0)
	t.Regime, t.Rows, t.Cols = in.Regime, len(in.Rows), len(in.Rows[0])
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Memory, s.Removed = view, removed
		for _, e := range in.Events {
			if e.Step == i {
				s.Event = e.Flips
			}
		}
	}
	return t
}

func addInstance(t testing.TB, c *Collector, instances ...record.Instance) {
	t.Helper()
	for _, in := range instances {
		if err := c.AddInstance(in); err != nil {
			t.Fatal(err)
		}
	}
}

// isShare compares a share and both its numbers.
func isShare(t *testing.T, table Table, key string, count, of int, labels ...string) {
	t.Helper()
	got := cellOf(t, table, key, labels...)
	if got.Count != count || got.Of != of {
		t.Errorf("%s of %v: %d of %d, want %d of %d", key, labels, got.Count, got.Of, count, of)
	}
	want := undefined
	if of > 0 {
		want = float64(count) / float64(of)
	}
	near(t, fmt.Sprint(key, labels), got.Value, want)
}

func TestExposureByHand(t *testing.T) {
	in := pond()
	l1 := record.Instance{Seed: 1, Regime: "L1", Rows: in.Rows, RowsAfter: []string{"SFFF", "FHFF", "FFFH", "FFFG"}}
	remember(&l1)
	var c Collector
	addInstance(t, &c, in, l1)
	add(t, &c,
		// Twelve steps: five with nothing stale, five with (0,3), two with (1,1).
		walkOn(&in, "no-filter", 1, record.Success, 12, record.MemoryAll),
		// Seven steps: five with nothing stale, two with (0,3).
		walkOn(&in, "no-filter", 2, record.Death, 7, record.MemoryAll),
		// (0,3) is kept out of view: it is stale in steps 6 to 10, (1,1) in 11 and 12.
		walkOn(&in, "omcd", 1, record.Success, 12, record.MemoryFiltered, "mem_003"),
		walkOn(&in, "no-memory", 1, record.Timeout, 3, record.MemoryNone),
		walkOn(&l1, "no-filter", 1, record.Success, 6, record.MemoryAll),
	)
	table := c.Exposure()
	l3 := []string{"L3", "no-filter"}
	isShare(t, table, "stale", 5+2+2, 19*16, l3...)
	isShare(t, table, "stale_last", 2, 32, l3...)
	isShare(t, table, "stale_last_success", 1, 16, l3...)
	isShare(t, table, "stale_last_death", 1, 16, l3...)
	isShare(t, table, "stale_last_timeout", 0, 0, l3...)
	isShare(t, table, "stale_after", 2, 32, l3...)
	isShare(t, table, "view", 9, 19*16, l3...)
	isShare(t, table, "view_last", 2, 32, l3...)
	isShare(t, table, "stale", 7, 12*16, "L3", "omcd")
	isShare(t, table, "view", 2, 12*15, "L3", "omcd")
	isShare(t, table, "view_last", 1, 15, "L3", "omcd")
	isShare(t, table, "stale", 0, 3*16, "L3", "no-memory")
	isShare(t, table, "view", 0, 0, "L3", "no-memory")
	isShare(t, table, "stale", 6, 6*16, "L1", "no-filter")

	// Two episodes reached G in L3, in 12 steps each, with one of 16 entries stale.
	want := "the 2 episodes that reached G took 12.0 steps on average, and at their last step 6.2% of the memory was stale, against 6.2% once all changes are made and 6.2% all along in L1."
	for _, table := range []Table{table, c.Navigation(record.Text)} {
		if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("the notes of %s lack %q:\n%s", table.ID, want, notes)
		}
	}
}

func TestExposureWithoutInstance(t *testing.T) {
	in := pond()
	var c Collector
	add(t, &c, walkOn(&in, "no-filter", 1, record.Success, 12, record.MemoryAll))
	if table := c.Exposure(); len(table.Rows) != 0 || table.Need == "" {
		t.Errorf("exposure is shown of lakes that are not known: %v", table.Rows)
	}
	// Without the memory ids mean nothing: the view is not known, the rest is.
	in.Memory = nil
	c = Collector{}
	addInstance(t, &c, in)
	add(t, &c, walkOn(&in, "omcd", 1, record.Success, 12, record.MemoryFiltered, "mem_003"))
	table := c.Exposure()
	isShare(t, table, "stale", 7, 12*16)
	isShare(t, table, "view", 0, 0)
	if len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "not known of 1 episode,") {
		t.Errorf("warnings %q", table.Warnings)
	}
}

func TestEpisodesMustFitTheirInstance(t *testing.T) {
	in := pond()
	var c Collector
	addInstance(t, &c, in)
	err := c.AddTrial(walkOn(&in, "omcd", 1, record.Success, 12, record.MemoryFiltered, "mem_099"))
	if err == nil || !strings.Contains(err.Error(), "mem_099") {
		t.Errorf("error %v, want one that names the entry that the memory lacks", err)
	}
	if n := len(c.Navigation(record.Text).Rows); n != 1 {
		t.Fatalf("%d rows", n)
	}
	if got := cellOf(t, c.Navigation(record.Text), "finished").Count; got != 0 {
		t.Error("a refused trial counts all the same")
	}
}

func TestInstancesMustHold(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		alter      func(*record.Instance)
	}{
		{"a change off the grid", "off the grid", func(in *record.Instance) { in.Events[0].Flips[0].Pos = record.Pos{4, 0} }},
		{"an entry off the grid", "off the grid", func(in *record.Instance) { in.Memory[0].Pos = record.Pos{0, -1} }},
		{"an entry that claims something else", `claims "WET"`, func(in *record.Instance) { in.Memory[0].Claim = "WET" }},
		{"another memory of the same seed", "two different instances", func(in *record.Instance) { in.Memory[0].ID = "other" }},
		{"another schedule of the same seed", "two different instances", func(in *record.Instance) { in.Events[0].Step = 6 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Collector
			addInstance(t, &c, pond(), pond())
			in := pond()
			tt.alter(&in)
			if err := c.AddInstance(in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDeathsByHand(t *testing.T) {
	in := pond()
	var c Collector
	addInstance(t, &c, in)
	die := func(n int, strategy, cause string, at record.Pos) *record.Trial {
		tr := walkOn(&in, strategy, n, record.Death, 6, record.MemoryAll)
		tr.Death = &record.DeathRecord{Pos: at, Cause: cause}
		return tr
	}
	unexplained := walkOn(&in, "no-filter", 8, record.Death, 6, record.MemoryAll)
	add(t, &c,
		die(1, "no-filter", record.CauseStaleShown, record.Pos{0, 3}),
		die(2, "no-filter", record.CauseStaleShown, record.Pos{0, 3}),
		die(3, "no-filter", record.CauseWarned, record.Pos{1, 1}),
		die(4, "no-filter", record.CauseFallback, record.Pos{0, 3}), // on a stale cell, by a fallback
		die(5, "no-filter", "lightning", record.Pos{1, 1}),
		walkOn(&in, "no-filter", 6, record.Success, 6, record.MemoryAll),
		unexplained,
		die(1, "no-memory", record.CauseNoMemory, record.Pos{1, 1}),
		walkOn(&in, "oracle", 1, record.Success, 6, record.MemoryAll),
	)
	table := c.Deaths()
	for key, want := range map[string]int{"cause_stale_shown": 2, "cause_warned": 1, "cause_fallback": 1, "cause_not_recorded": 2, "cause_stale_removed": 0, "cause_change": 0} {
		isShare(t, table, key, want, 6, "no-filter")
	}
	isShare(t, table, "on_stale_cell", 3, 5, "no-filter") // of the last nobody knows where
	isShare(t, table, "on_stale_cell", 0, 1, "no-memory")
	isShare(t, table, "cause_no_memory", 1, 1, "no-memory")
	isShare(t, table, "cause_stale_shown", 0, 0, "oracle") // nobody died: undefined
	for _, col := range table.Columns {
		if hidden := col.Key == "cause_stale_removed" || col.Key == "cause_warning_removed" || col.Key == "cause_change"; strings.HasPrefix(col.Key, "cause_") && col.DataOnly != hidden {
			t.Errorf("%s is shown to people: %v, want %v", col.Key, !col.DataOnly, !hidden)
		}
	}

	// Without the instance the cause is all there is.
	c = Collector{}
	add(t, &c, die(1, "no-filter", record.CauseStaleShown, record.Pos{0, 3}), die(2, "no-filter", record.CauseWarned, record.Pos{1, 1}),
		die(3, "no-filter", record.CauseFallback, record.Pos{0, 3}))
	isShare(t, c.Deaths(), "on_stale_cell", 1, 2)
}

func TestFallbackFreeByHand(t *testing.T) {
	var c Collector
	add(t, &c,
		episode("m", "omcd", 1, 1, record.Success, 14, 0),
		episode("m", "omcd", 1, 2, record.Death, 6, 2),
		episode("m", "omcd", 2, 1, record.Death, 5, 0),
		episode("m", "omcd", 2, 2, record.Success, 14, 0),
		episode("m", "omcd", 3, 1, record.Success, 14, 1), // nothing is left of seed 3
		episode("m", "omcd", 4, 1, record.Timeout, 50, 0),
	)
	table := c.FallbackFree()
	// All: success 1/2, 1/2, 1, 0. Free: 1, 1/2, undefined, 0.
	for _, tt := range []struct {
		key                    string
		mean                   float64
		n, leftOut, count, of_ int
	}{
		{"success", 0.5, 4, 0, 3, 6},
		{"death", 0.25, 4, 0, 2, 6},
		{"timeout", 0.25, 4, 0, 1, 6},
		{"free_success", 0.5, 3, 1, 2, 4},
		{"free_death", 1.0 / 6, 3, 1, 1, 4},
		{"free_timeout", 1.0 / 3, 3, 1, 1, 4},
	} {
		got := cellOf(t, table, tt.key)
		near(t, tt.key, got.Value, tt.mean)
		if got.N != tt.n || got.Undefined != tt.leftOut || got.Count != tt.count || got.Of != tt.of_ {
			t.Errorf("%s: n %d, undefined %d, %d of %d; want %d, %d, %d of %d", tt.key, got.N, got.Undefined, got.Count, got.Of, tt.n, tt.leftOut, tt.count, tt.of_)
		}
	}
	if got := cellOf(t, table, "free_episodes"); got.Count != 4 || got.Of != 6 {
		t.Errorf("%d of %d episodes are free, want 4 of 6", got.Count, got.Of)
	}
	if !strings.Contains(strings.Join(table.Notes, " "), "selected subset") {
		t.Error("nothing says that the subset is selected")
	}
	c = Collector{}
	add(t, &c, episode("m", "omcd", 1, 1, record.Success, 14, 0))
	if table := c.FallbackFree(); len(table.Rows) != 0 || !strings.Contains(table.Need, "there is none") {
		t.Error("a run without fallbacks shows the same results twice")
	}
}

func TestBoundsByHand(t *testing.T) {
	var c Collector
	trials := []*record.Trial{
		episode("m", "omcd", 1, 1, record.Success, 14, 0),
		episode("m", "omcd", 1, 2, record.Death, 3, 0),
		episode("m", "omcd", 2, 1, record.Success, 14, 0),
		episode("m", "omcd", 2, 2, record.Failed, 0, 0),
		episode("m", "oracle", 1, 1, record.Success, 14, 0),
		detection("m", "L1", 1, "SSsv"), // F1 4/5
		detection("m", "L1", 2, "Sv"),   // no record
		detection("m", "L2", 1, "Sv"),
	}
	for _, tr := range trials {
		if err := c.Expect(tr.Spec); err != nil {
			t.Fatal(err)
		}
	}
	lost := episode("m", "omcd", 3, 1, "", 0, 0) // seed 3 has no record at all
	if err := c.Expect(lost.Spec); err != nil {
		t.Fatal(err)
	}
	add(t, &c, trials[:6]...)
	add(t, &c, trials[7])
	tables := c.Bounds()
	if n := len(tables[1].Rows); n != 1 {
		t.Fatalf("%d rows, want one: nothing is lost of the oracle", n)
	}
	// Success of seeds 1, 2, 3: least 1/2, 1/2, 0; most 1/2, 1, 1.
	near(t, "least success", cellOf(t, tables[1], "success_least").Value, 1.0/3)
	near(t, "success", cellOf(t, tables[1], "success").Value, 0.75)
	near(t, "most success", cellOf(t, tables[1], "success_most").Value, 2.5/3)
	near(t, "least death", cellOf(t, tables[1], "death_least").Value, 0.5/3)
	near(t, "most death", cellOf(t, tables[1], "death_most").Value, (0.5+0.5+1)/3)
	if got := cellOf(t, tables[1], "lost"); got.Count != 2 || got.Of != 5 {
		t.Errorf("lost %d of %d, want 2 of 5", got.Count, got.Of)
	}
	near(t, "least F1", cellOf(t, tables[0], "f1_least", "L1").Value, 0.4)
	near(t, "most F1", cellOf(t, tables[0], "f1_most", "L1").Value, 0.9)
	if n := len(tables[0].Rows); n != 1 {
		t.Errorf("%d rows of detection, want the one that lost a run", n)
	}
}

func TestNothingIsPlannedTwice(t *testing.T) {
	var c Collector
	spec := episode("m", "omcd", 1, 70, "", 0, 0).Spec
	if err := c.Expect(spec); err != nil {
		t.Fatal(err)
	}
	spec.Key = "another"
	if err := c.Expect(spec); err == nil || !strings.Contains(err.Error(), "planned twice") {
		t.Errorf("error %v, want one that says so", err)
	}
	if got := cellOf(t, c.Navigation(record.Text), "planned").Count; got != 1 {
		t.Errorf("%d episodes are planned, want 1", got)
	}
}

func TestPooledRegimes(t *testing.T) {
	var c Collector
	for _, regime := range []string{"L1", "L2", "L3"} {
		for seed := range 2 {
			tr := detection("m", regime, seed, "SVsv")
			for i := range tr.Windows[0].Judgments {
				tr.Windows[0].Judgments[i].Claim = "SAFE"
			}
			add(t, &c, tr)
		}
	}
	same(t, "regimes", column(t, c.Flags(), "regime"), "L1 spot", "L2 cluster", "L1+L2", "L3 online")
	isShare(t, c.Flags(), "safe_deadly", 4, 8, "L1+L2")
	isShare(t, c.Flags(), "safe_safe", 2, 4, "L1")
	if w := c.Flags().Warnings; len(w) != 0 {
		t.Errorf("warnings of a complete run: %q", w)
	}
}

// One window on 16 cells: (0,1) has thawed and (2,2) has frozen; (0,2) is
// flagged wrongly beside the first, (3,0) beside nothing, (2,1) is let pass.
func TestFlagsAndDirectionsByHand(t *testing.T) {
	tr := detection("m", "L1", 1)
	w := record.Window{}
	for r := range 4 {
		for col := range 4 {
			j := record.Judgment{Pos: record.Pos{r, col}, Claim: "SAFE", Verdict: record.Valid}
			switch j.Pos {
			case record.Pos{0, 1}:
				j.Truth, j.Verdict = true, record.Stale
			case record.Pos{2, 2}:
				j.Truth, j.Claim = true, "DANGER" // missed
			case record.Pos{1, 1}:
				j.Claim, j.Verdict = "DANGER", record.Unanswered
			case record.Pos{0, 2}, record.Pos{3, 0}:
				j.Verdict = record.Stale
			}
			tr.Counts.Add(j.Truth, j.Verdict)
			w.Judgments = append(w.Judgments, j)
		}
	}
	tr.Windows = []record.Window{w}
	var c Collector
	add(t, &c, tr)
	flags := c.Flags()
	isShare(t, flags, "safe_deadly", 1, 1)
	isShare(t, flags, "safe_safe", 2, 13)
	isShare(t, flags, "danger_safe", 0, 1)
	isShare(t, flags, "danger_deadly", 0, 1)
	directions := c.Directions()
	isShare(t, directions, "recall_thaw", 1, 1)
	isShare(t, directions, "recall_freeze", 0, 1)
	isShare(t, directions, "missed_thaw", 0, 1)
	isShare(t, directions, "wrong_beside_stale", 1, 2)
	// Beside (0,1): (0,0), (0,2), (1,1); beside (2,2): (1,2), (3,2), (2,1), (2,3).
	isShare(t, directions, "valid_beside_stale", 7, 14)
}

func TestBesideAtTheEdges(t *testing.T) {
	for _, tt := range []struct {
		in, p record.Pos
		want  bool
	}{
		{record.Pos{0, 0}, record.Pos{0, 1}, true},
		{record.Pos{0, 0}, record.Pos{1, 1}, false},
		{record.Pos{0, 0}, record.Pos{0, 0}, false},
		{record.Pos{63, 63}, record.Pos{62, 63}, true},
		{record.Pos{63, 63}, record.Pos{63, 62}, true},
		{record.Pos{0, 63}, record.Pos{1, 0}, false},
		{record.Pos{0, 63}, record.Pos{0, 0}, false},
		{record.Pos{9, 9}, record.Pos{-1, 70}, false},
	} {
		var s cellSet
		s.add(tt.in)
		s.add(record.Pos{-1, 200}) // off any grid: nothing
		if got := s.beside(tt.p); got != tt.want {
			t.Errorf("%v beside %v: %v", tt.p, tt.in, got)
		}
	}
}
