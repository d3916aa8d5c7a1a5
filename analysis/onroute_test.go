package analysis

import (
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// corridor is a lake with one way before the change, along the top and down the
// right side, and another after it.
func corridor() record.Instance {
	in := record.Instance{
		Seed: 7, Regime: "L1",
		Rows:      []string{"SFFF", "HHHF", "FFFF", "FFFG"},
		RowsAfter: []string{"SFFF", "FHHH", "FFFF", "FHFG"},
	}
	for i := range 16 {
		p := record.Pos{i / 4, i % 4}
		claim := "SAFE"
		if in.Rows[p[0]][p[1]] == 'H' {
			claim = "DANGER"
		}
		in.Memory = append(in.Memory, record.MemoryEntry{ID: string(rune('a' + i)), Pos: p, Claim: claim})
	}
	return in
}

func audited(flagged ...record.Pos) *record.Trial {
	in := corridor()
	t := &record.Trial{Version: 1, Outcome: record.Done, Spec: record.Spec{Key: "k", Task: record.Detect, Model: "m", Modality: record.Text, Regime: "L1", Seed: 7, Rows: 4, Cols: 4, Strategy: "omcd", Batch: 10, Framing: "neutral"}}
	w := record.Window{}
	for _, m := range in.Memory {
		j := record.Judgment{MemoryID: m.ID, Pos: m.Pos, Claim: m.Claim, Verdict: record.Valid}
		j.Truth = (in.Rows[m.Pos[0]][m.Pos[1]] == 'H') != (in.RowsAfter[m.Pos[0]][m.Pos[1]] == 'H')
		for _, f := range flagged {
			if f == m.Pos {
				j.Verdict = record.Stale
			}
		}
		w.Judgments = append(w.Judgments, j)
		t.Counts.Add(j.Truth, j.Verdict)
	}
	t.Windows = []record.Window{w}
	return t
}

// The stale entries are (1,0), a hole that is gone, on the way that is shortest
// now; (1,3), on the way that was; and (3,1), on neither.
func TestRecallOnTheWay(t *testing.T) {
	var c Collector
	if err := c.AddInstance(corridor()); err != nil {
		t.Fatal(err)
	}
	trial := audited(record.Pos{1, 3}, record.Pos{3, 1}, record.Pos{0, 1}, record.Pos{3, 0})
	if err := c.AddTrial(trial); err != nil {
		t.Fatal(err)
	}
	got := c.detection.at(&trial.Spec).route
	// On the way now: S, (1,0), (2,0), (2,1), (2,2), (2,3) or (3,2), G. Before: the
	// top row, (1,3), (2,3), G.
	want := routeTally{
		recall: [2][2]pair{
			{saysSafe: {1, 1}},                     // (3,1)
			{saysSafe: {1, 1}, saysDanger: {0, 1}}, // (1,3) found, (1,0) missed
		},
		wrong: [2]pair{{1, 3}, {1, 10}}, // (3,0) off the way, (0,1) on it
	}
	if got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// The set is the cells of every shortest way and no other.
func TestShortest(t *testing.T) {
	g, err := lake.Parse([]string{"SFFF", "FHHF", "FFFF", "HFFG"})
	if err != nil {
		t.Fatal(err)
	}
	set := shortest(&g)
	want := []string{"####", "#..#", "####", ".###"}
	for r := range 4 {
		for col := range 4 {
			if set.has(record.Pos{r, col}) != (want[r][col] == '#') {
				t.Errorf("(%d,%d) on a shortest way: %v", r, col, set.has(record.Pos{r, col}))
			}
		}
	}
	closed, err := lake.Parse([]string{"SHFF", "HFFF", "FFFF", "FFFG"})
	if err != nil {
		t.Fatal(err)
	}
	if shortest(&closed) != (cellSet{}) {
		t.Error("a lake without a way has cells on one")
	}
}

// An emptied memory misses no thaw, and its price stands beside.
func TestSafetyOfAnEmptiedMemory(t *testing.T) {
	in := corridor()
	var c Collector
	if err := c.AddInstance(in); err != nil {
		t.Fatal(err)
	}
	walk := func(key, strategy string, episode int, removed []string, memory string) {
		trial := audited()
		trial.Task, trial.Key, trial.Strategy, trial.Episode, trial.Outcome = record.Navigate, key, strategy, episode, record.Death
		trial.Windows, trial.Counts = nil, record.Counts{}
		id := "h"
		cause := record.CauseStaleShown
		if len(removed) > 0 {
			cause = record.CauseStaleRemoved
		}
		trial.Steps = []record.Step{
			{T: 1, Pos: record.Pos{0, 0}, Action: "RIGHT", Next: record.Pos{0, 1}, Cell: "F", Memory: memory, Removed: removed},
			{T: 2, Pos: record.Pos{0, 1}, Action: "RIGHT", Next: record.Pos{0, 2}, Cell: "F", Memory: memory, Removed: removed},
			{T: 3, Pos: record.Pos{0, 2}, Action: "RIGHT", Next: record.Pos{0, 3}, Cell: "F", Memory: memory, Removed: removed},
			{T: 4, Pos: record.Pos{0, 3}, Action: "DOWN", Next: record.Pos{1, 3}, Cell: "H", Memory: memory, Removed: removed},
		}
		trial.Death = &record.DeathRecord{Pos: record.Pos{1, 3}, MemoryID: &id, Cause: cause}
		if err := c.AddTrial(trial); err != nil {
			t.Fatal(err)
		}
		got := c.episodes.at(&trial.Spec).safety
		want := map[string]safetyTally{
			"no-filter": {known: 1, missed: 2, killed: 1},
			"omcd":      {known: 1, valid: 13, warnings: 2},
			"no-memory": {},
		}[strategy]
		if got != want {
			t.Errorf("%s: %+v, want %+v", strategy, got, want)
		}
	}
	var all []string
	for _, m := range in.Memory {
		all = append(all, m.ID)
	}
	walk("1", "no-filter", 1, nil, record.MemoryAll)
	walk("2", "omcd", 1, all, record.MemoryFiltered)
	walk("3", "no-memory", 1, nil, record.MemoryNone)
}
