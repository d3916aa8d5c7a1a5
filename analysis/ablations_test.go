package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
)

func TestBatchByHand(t *testing.T) {
	var c Collector
	audit := func(seed, batch, calls, mended int, letters string) *record.Trial {
		tr := detection("openai/gpt-4o", "L1", seed, letters)
		tr.Batch = batch
		for i := range calls {
			p := record.Parsed{Outcome: "answered"}
			if i < mended {
				p.Repairs = []string{"fence"}
			}
			tr.Windows[0].Replies = append(tr.Windows[0].Replies, p)
		}
		return tr
	}
	add(t, &c, audit(1, 10, 1, 0, "SVsv"))
	if table := c.Batch(); len(table.Rows) != 0 || !strings.Contains(table.Need, "run batch") {
		t.Error("one batch size is no ablation")
	}
	add(t, &c,
		audit(2, 10, 2, 1, "SSvu"),
		audit(1, 1, 4, 0, "SSvv"),
		audit(1, 20, 0, 0, "SSvv"), // its calls are not known
	)
	whole := detection("openai/gpt-4o", "L1", 1, "Sv")
	whole.Strategy, whole.Batch = "self-verify", 0
	add(t, &c, whole)
	table := c.Batch()
	same(t, "batches", column(t, table, "batch"), "1", "10", "20")
	near(t, "F1 at 10", cellOf(t, table, "f1", "10").Value, (0.5+1)/2)
	near(t, "calls at 10", cellOf(t, table, "calls_per_audit", "10").Value, 1.5)
	near(t, "calls at 20", cellOf(t, table, "calls_per_audit", "20").Value, undefined)
	isShare(t, table, "mended", 1, 3, "10")
	isShare(t, table, "mended", 0, 0, "20")
	isShare(t, table, "unanswered", 1, 8, "10")
	near(t, "the paper's F1 at 10", cellOf(t, table, "paper_f1", "10").Value, 0.914)
	near(t, "the paper's calls at 1", cellOf(t, table, "paper_calls", "1").Value, 64)
}

func scored(model string, seed int, scores map[float64]string) *record.Trial {
	tr := detection(model, "L1", seed)
	tr.Strategy = scoreStrategy
	w := record.Window{}
	for score, letters := range scores {
		for _, l := range letters {
			j := record.Judgment{Truth: l == 'S', Verdict: record.Valid, Score: new(score)}
			if score < 0 {
				j.Verdict, j.Score = record.Unanswered, nil
			}
			tr.Counts.Add(j.Truth, j.Verdict)
			w.Judgments = append(w.Judgments, j)
		}
	}
	tr.Windows = []record.Window{w}
	return tr
}

func TestScoreByHand(t *testing.T) {
	var c Collector
	add(t, &c,
		// From 0.3 on: TP 3, FP 2; from 0.5: TP 2, FP 1; from 0.7: TP 2, FP 0. One
		// stale entry has no score.
		scored("m", 1, map[float64]string{0.7: "S", 1: "S", 0.5: "v", 0.3: "Sv", 0.29: "v", -1: "S"}),
		detection("m", "L1", 1, "SSVvv"), // F1 0.8
		detection("m", "L1", 2, "SSVvv"),
		detection("m", "L2", 1, "SS"), // another lake: not beside it
	)
	table := c.Score()
	same(t, "rows", column(t, table, "verdict"), "score ≥ 0.3", "score ≥ 0.5", "score ≥ 0.7", "yes or no: OMCD")
	same(t, "best", column(t, table, "best"), "best", "", "", "") // ties with 0.7
	for verdict, want := range map[string][3]float64{
		"score >= 0.3": {6.0 / 9, 3.0 / 5, 3.0 / 4},
		"score >= 0.5": {4.0 / 7, 2.0 / 3, 2.0 / 4},
		"score >= 0.7": {4.0 / 6, 1, 2.0 / 4},
		"omcd":         {0.8, 1, 2.0 / 3},
	} {
		for i, key := range []string{"f1", "precision", "recall"} {
			near(t, verdict+" "+key, cellOf(t, table, key, verdict).Value, want[i])
		}
	}
	isShare(t, table, "unanswered", 1, 7, "score >= 0.7")
	if n := cellOf(t, table, "f1", "omcd").N; n != 2 {
		t.Errorf("the binary detector rests on %d seeds, want 2", n)
	}

	bins := c.Calibration()
	same(t, "bins", column(t, bins, "score"), "0.2 to <0.3", "0.3 to <0.4", "0.5 to <0.6", "0.7 to <0.8", "1")
	isShare(t, bins, "stale", 1, 2, "0.3 to <0.4")
	isShare(t, bins, "stale", 0, 1, "0.2 to <0.3")
	isShare(t, bins, "stale", 1, 1, "1")
	near(t, "mean score", cellOf(t, bins, "mean_score", "0.2 to <0.3").Value, 0.29)
	c = Collector{}
	add(t, &c, scored("anthropic/claude-sonnet-4-6", 1, map[float64]string{0.6: "Sv", 0.7: "S"}))
	near(t, "the paper's at 0.6", cellOf(t, c.Calibration(), "paper_stale", "0.6 to <0.7").Value, 0.35)
	near(t, "the paper's at 0.7", cellOf(t, c.Calibration(), "paper_stale", "0.7 to <0.8").Value, undefined)
}

// A threshold that ties with another is not better than it.
func TestBestThresholdIsTheFirst(t *testing.T) {
	var c Collector
	add(t, &c, scored("m", 1, map[float64]string{0.9: "SS", 0.1: "vv"}))
	same(t, "best", column(t, c.Score(), "best"), "best", "", "")
	c = Collector{}
	add(t, &c, scored("m", 1, map[float64]string{0.1: "vv"})) // F1 is undefined everywhere
	same(t, "best", column(t, c.Score(), "best"), "", "", "")
}

func TestFramingByHand(t *testing.T) {
	var c Collector
	framed := func(tr *record.Trial, framing string) *record.Trial {
		tr.Framing = framing
		tr.Key += framing
		return tr
	}
	walk := func(framing string, seed, n int, outcome string) *record.Trial {
		tr := framed(episode("m", "omcd", seed, n, outcome, 10, 0), framing)
		tr.Batch = 10
		return tr
	}
	add(t, &c, walk("neutral", 1, 1, record.Success))
	if len(c.Framing().Rows) != 0 {
		t.Error("one wording is no ablation")
	}
	add(t, &c,
		walk("neutral", 1, 2, record.Death), // seed 1: success 1/2
		walk("neutral", 2, 1, record.Success),
		walk("neutral", 3, 1, record.Success), // warned has no seed 3
		walk("warned", 1, 1, record.Success),
		walk("warned", 2, 1, record.Death),
		framed(detection("m", "L1", 1, "SVsv"), "neutral"), // F1 1/2
		framed(detection("m", "L1", 1, "SSvv"), "warned"),  // F1 1
		framed(detection("m", "L1", 2, "vv"), "neutral"),   // F1 undefined
		framed(detection("m", "L1", 2, "SSvv"), "warned"),
	)
	table := c.Framing()
	same(t, "wordings", column(t, table, "framing"), "neutral", "warned")
	near(t, "neutral success", cellOf(t, table, "success", "neutral").Value, 2.5/3)
	near(t, "warned success", cellOf(t, table, "success", "warned").Value, 0.5)
	// Per seed: 1 − 1/2 and 0 − 1.
	d := cellOf(t, table, "success_difference", "warned")
	near(t, "difference", d.Value, -0.25)
	near(t, "its sd", d.SD, 1.5/math.Sqrt2)
	if d.N != 2 {
		t.Errorf("the difference rests on %d seeds, want the 2 that both have", d.N)
	}
	near(t, "neutral to itself", cellOf(t, table, "success_difference", "neutral").Value, undefined)
	f1 := cellOf(t, table, "f1_difference", "warned")
	near(t, "F1 difference", f1.Value, 0.5)
	if f1.N != 1 || f1.Undefined != 1 {
		t.Errorf("F1 difference: n %d, undefined %d, want 1 and 1", f1.N, f1.Undefined)
	}
}

func TestSizesByHand(t *testing.T) {
	var c Collector
	sized := func(tr *record.Trial, side int) *record.Trial {
		tr.Rows, tr.Cols = side, side
		tr.Key += fmt.Sprint(side)
		return tr
	}
	add(t, &c,
		sized(episode("m", "no-filter", 1, 1, record.Success, 14, 0), 8),
		sized(episode("m", "no-filter", 1, 2, record.Death, 4, 0), 8),
		sized(episode("m", "no-filter", 1, 1, record.Success, 31, 0), 16),
	)
	table := c.Sizes()
	same(t, "sizes", column(t, table, "grid"), "8×8", "16×16")
	near(t, "success", cellOf(t, table, "success", "8x8").Value, 0.5)
	near(t, "steps", cellOf(t, table, "steps", "8x8").Value, 9)
	near(t, "steps to G", cellOf(t, table, "steps_success", "16x16").Value, 31)
	near(t, "F1", cellOf(t, table, "f1", "16x16").Value, undefined)
	if got := cellOf(t, table, "budget", "16x16").Count; got != 108 { // ⌈50·30/14⌉
		t.Errorf("budget %d, want 108", got)
	}
	for _, col := range table.Columns {
		if col.Key == "f1" && !col.DataOnly {
			t.Error("F1 is shown though the run has no detection")
		}
	}
}
