package report_test

import (
	"fmt"
	"os"
	"slices"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
)

// Records go in one by one, tables come out, and are shown.
func ExampleText() {
	var results analysis.Frame
	for seed, counts := range []record.Counts{{TP: 5, FN: 1, TN: 58}, {TP: 6, FP: 1, TN: 57}} {
		trial := &record.Trial{Outcome: record.Done, Counts: counts}
		trial.Spec = record.Spec{Task: record.Detect, Model: "openai/gpt-4o", Modality: record.Text, Regime: "L1", Seed: seed, Rows: 8, Cols: 8, Strategy: "omcd"}
		if err := results.AddTrial(trial); err != nil {
			fmt.Println(err)
			return
		}
	}
	tables := slices.DeleteFunc(results.Tables(), func(t analysis.Table) bool { return t.ID != "detection" })
	if err := report.Text(os.Stdout, tables, report.TextOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Detection: which stale entries are found · the paper’s Figure 3
	// ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
	// The model audits every memory entry against the current observation. Recall: the stale entries it
	// finds; precision: its flags that are right; F1: both in one; FPR: the valid entries it flags.
	//
	//                                                                                               no
	//   regime   modality  detector  seeds        F1         precision      recall=TPR     FPR  answer
	// ────────────────────────────────────────────────────────────────────────────────────────────────
	// openai/gpt-4o
	//   L1 spot  text      OMCD          2  0.916 ± 0.010  0.929 ± 0.101  0.917 ± 0.118  0.009       0
	// ────────────────────────────────────────────────────────────────────────────────────────────────
	// · ± is the sample standard deviation over seeds.
}
