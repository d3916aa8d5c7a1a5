package report

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// compared are two invented runs side by side.
func compared(t *testing.T, a, b *invented) []analysis.Table {
	return analysis.Compare(a.collect(t), b.collect(t), []analysis.Difference{
		{What: "run folder", A: "runs/monday", B: "runs/tuesday"},
		{What: "temperature", A: "the provider's default", B: "0.5"},
		{What: "prompt framing-neutral.txt", A: "SHA-256 0123456789ab…", B: "SHA-256 ba9876543210…"},
	}, nil)
}

func TestCompareGolden(t *testing.T) {
	// Three models against two of them, the second on fewer seeds; both have
	// lost trials.
	several := compared(t, broken(), (&invented{models: controls[1:], seeds: 4, episodes: 2, modalities: []string{record.Text}, fail: 0.02}).make())
	one := func(m inventedModel, seeds int) *invented {
		return (&invented{models: []inventedModel{m}, seeds: seeds, episodes: 1, vary: "framing"}).make()
	}
	others := compared(t, one(controls[2], 2), one(gpt4o, 3))
	for name, write := range map[string]func(io.Writer) error{
		"compare_80.txt":  func(w io.Writer) error { return Text(w, several, TextOptions{Width: 80}) },
		"compare_100.txt": func(w io.Writer) error { return Text(w, others, TextOptions{}) },
		"compare.md":      func(w io.Writer) error { return Markdown(w, others) },
		"compare.json":    func(w io.Writer) error { return JSON(w, only(others, "compare-runs", "compare-navigation")) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

// A test on the data of a comparison gets what the table shows: as many defined
// differences as n says, whose mean is the value.
func TestPairsAreThoseBehindTheMean(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, compared(t, broken(), named())); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tables []struct {
			Rows []struct {
				Difference *struct {
					Value *float64
					N     int
					Pairs []struct{ A, B, Difference *float64 }
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, table := range doc.Tables {
		for _, row := range table.Rows {
			if row.Difference == nil {
				continue
			}
			rows++
			n, sum := 0, 0.0
			for _, p := range row.Difference.Pairs {
				if p.Difference != nil {
					n++
					sum += *p.Difference
				}
			}
			d := row.Difference
			if n != d.N || (n == 0) != (d.Value == nil) || n > 0 && abs(sum/float64(n)-*d.Value) > 1e-12 {
				t.Errorf("%d pairs with the sum %v, but %+v", n, sum, d)
			}
		}
	}
	if rows == 0 {
		t.Error("no row was compared")
	}
}

func abs(x float64) float64 { return max(x, -x) }

// rescored is an invented run whose replies are read again: today's parser
// gives the last entry of each window a verdict it had not, a strict one gives
// every third none.
func rescored(t *testing.T) []analysis.Table {
	run := broken()
	r := analysis.NewRescoring(run.collect(t))
	for _, trial := range run.trials {
		var err error
		switch {
		case trial.Outcome == record.Failed:
		case trial.Task == record.Navigate:
			err = r.AddEpisode(&trial.Spec, len(trial.Steps), len(trial.Steps)/10)
		default:
			err = r.AddDetection(trial, reread(trial, func(i, n int, was string) string {
				if i == n-1 {
					return record.Stale
				}
				return was
			}), reread(trial, func(i, _ int, was string) string {
				if i%3 == 0 {
					return record.Unanswered
				}
				return was
			}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r.Tables()
}

// reread is a detection with other verdicts.
func reread(trial *record.Trial, verdict func(i, n int, was string) string) *record.Trial {
	out := *trial
	out.Windows, out.Counts = nil, record.Counts{}
	for _, w := range trial.Windows {
		judgments := append([]record.Judgment(nil), w.Judgments...)
		for i := range judgments {
			judgments[i].Verdict = verdict(i, len(judgments), judgments[i].Verdict)
			out.Counts.Add(judgments[i].Truth, judgments[i].Verdict)
		}
		w.Judgments = judgments
		out.Windows = append(out.Windows, w)
	}
	return &out
}

func TestRescoreGolden(t *testing.T) {
	tables := rescored(t)
	for name, write := range map[string]func(io.Writer) error{
		"rescore_80.txt":    func(w io.Writer) error { return Text(w, tables, TextOptions{Width: 80}) },
		"rescore_100.txt":   func(w io.Writer) error { return Text(w, tables, TextOptions{}) },
		"rescore-steps.csv": func(w io.Writer) error { return CSV(w, tables[1]) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}
