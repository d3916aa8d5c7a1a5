package run_test

import (
	"context"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

// TestDistractors holds what the preset measures at its floor, at its ceiling and
// between: flags of distractors are counted apart, and judgments of the lake's
// entries are what they are without distractors.
func TestDistractors(t *testing.T) {
	s := preset(t, "distractors")
	s.Seeds = s.Seeds[:4]
	s.Models = []string{"ref/reader", "ref/believer", "ref/always-stale", "ref/mixed?tpr=1&fpr=0.5&vision_fpr=0.5"}
	plain := *s
	d := *s.Detection
	d.Distractors = 0
	plain.Detection = &d
	with, without := newKept(), newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: with, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Trials(context.Background(), &plain, run.Workers{Models: controls(t, &plain), Recorder: without, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	type sum struct{ entries, flagged, unanswered int }
	of := map[string]*sum{}
	counts := map[string]record.Counts{}
	for _, tr := range with.trials {
		if of[tr.Model] == nil {
			of[tr.Model] = &sum{}
		}
		for _, w := range tr.Windows {
			if len(w.Judgments) != 64 || len(w.Distractors) != 12 {
				t.Fatalf("%v: %d judgments and %d distractors", tr.Spec, len(w.Judgments), len(w.Distractors))
			}
			for _, d := range w.Distractors {
				m := of[tr.Model]
				m.entries++
				switch d.Verdict {
				case record.Stale:
					m.flagged++
				case record.Unanswered:
					m.unanswered++
				}
			}
		}
		counts[tr.Model] = counts[tr.Model].Plus(tr.Counts)
	}
	for model, share := range map[string]float64{"ref/reader": 0, "ref/believer": 0, "ref/always-stale": 1} {
		if m := of[model]; float64(m.flagged) != share*float64(m.entries) || m.entries == 0 || m.unanswered > 0 {
			t.Errorf("%s: %+v, want a share of %v flagged", model, *m, share)
		}
	}
	if m := of["ref/mixed?tpr=1&fpr=0.5&vision_fpr=0.5"]; m.flagged < m.entries*2/5 || m.flagged > m.entries*3/5 {
		t.Errorf("mixed flags at random, and yet %+v", *m)
	}
	plainly := map[string]record.Counts{}
	for key, tr := range without.trials {
		if with.trials[key] != nil {
			t.Errorf("%v has the same key with distractors", tr.Spec)
		}
		plainly[tr.Model] = plainly[tr.Model].Plus(tr.Counts)
	}
	for _, model := range []string{"ref/reader", "ref/believer", "ref/always-stale"} {
		if counts[model] != plainly[model] {
			t.Errorf("%s: %+v with distractors, %+v without", model, counts[model], plainly[model])
		}
	}
}
