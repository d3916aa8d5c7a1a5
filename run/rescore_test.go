package run_test

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// stored is a run in memory as a store gives it back.
type stored struct {
	*kept
	study *study.Study
}

func (s stored) Plan() iter.Seq2[record.Spec, error] {
	return func(yield func(record.Spec, error) bool) {
		for spec := range s.study.Specs() {
			if !yield(spec, nil) {
				return
			}
		}
	}
}

func (s stored) Instances() iter.Seq2[record.Instance, error] {
	return func(yield func(record.Instance, error) bool) {
		all, err := s.study.Instances()
		for _, in := range all {
			if !yield(in, err) {
				return
			}
		}
	}
}

func (s stored) Trials() iter.Seq2[*record.Trial, error] {
	return func(yield func(*record.Trial, error) bool) {
		for spec := range s.study.Specs() {
			if t := s.trials[spec.Key]; t != nil && !yield(t, nil) {
				return
			}
		}
	}
}

func (s stored) Calls() iter.Seq2[*record.Call, error] {
	byTrial := map[string][]*record.Call{}
	for _, c := range s.calls {
		byTrial[c.Trial] = append(byTrial[c.Trial], c)
	}
	return func(yield func(*record.Call, error) bool) {
		for spec := range s.study.Specs() {
			calls := byTrial[spec.Key]
			slices.SortFunc(calls, func(a, b *record.Call) int { return cmp.Compare(a.Slot, b.Slot) })
			for _, c := range calls {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

func messyRun(t *testing.T) stored {
	t.Helper()
	s := preset(t, "quick")
	s.Seeds, s.Models = s.Seeds[:2], []string{"ref/messy"}
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	return stored{k, s}
}

// TestRescore scores a run of messy replies again: today's parser gives what
// was recorded, and a strict one answers less and never otherwise.
func TestRescore(t *testing.T) {
	made := messyRun(t)
	var now, strict record.Counts
	episodes, steps := 0, 0
	err := run.Rescore(context.Background(), made.study, study.DefaultPrompts(), made, func(r run.Rescored) error {
		if r.Stored.Task == record.Navigate {
			episodes++
			steps += r.Steps
			if r.Now != nil || r.Otherwise != 0 || r.Steps != len(r.Stored.Steps) {
				t.Errorf("episode %+v: %d of %d steps read otherwise", r.Stored.Spec, r.Otherwise, r.Steps)
			}
			return nil
		}
		if r.Now.Counts != r.Stored.Counts {
			t.Errorf("%+v: %+v is recorded, %+v comes out", r.Stored.Spec, r.Stored.Counts, r.Now.Counts)
		}
		now = now.Plus(r.Now.Counts)
		strict = strict.Plus(run.Strict(r.Now).Counts)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if episodes == 0 || steps == 0 {
		t.Errorf("%d episodes with %d steps", episodes, steps)
	}
	if strict.Judged() != now.Judged() || strict.Unanswered <= 2*now.Unanswered || strict.FP > now.FP || strict.TP >= now.TP {
		t.Errorf("strict %+v, now %+v", strict, now)
	}

	// A step whose record is not what its reply says is counted.
	for _, trial := range made.trials {
		if trial.Task == record.Navigate && !trial.Steps[0].Fallback {
			trial.Steps[0].Fallback = true
			break
		}
	}
	otherwise := 0
	if err := run.Rescore(context.Background(), made.study, study.DefaultPrompts(), made, func(r run.Rescored) error {
		otherwise += r.Otherwise
		return nil
	}); err != nil || otherwise != 1 {
		t.Errorf("%d steps read otherwise, %v", otherwise, err)
	}
}

// TestVerify would fail if a record that does not follow from its replies
// passed.
func TestVerify(t *testing.T) {
	made := messyRun(t)
	verify := func() (run.Verification, string) {
		var problems []string
		v, err := run.Verify(context.Background(), made.study, study.DefaultPrompts(), made, func(p string) { problems = append(problems, p) })
		if err != nil {
			t.Fatal(err)
		}
		return v, strings.Join(problems, "\n")
	}
	if v, problems := verify(); problems != "" || v.Replayed != made.study.NumTrials() || v.Planned != v.Ended {
		t.Fatalf("a sound run: %+v\n%s", v, problems)
	}
	var detection, episode *record.Trial
	for spec := range made.study.Specs() {
		if trial := made.trials[spec.Key]; spec.Task == record.Detect {
			detection = trial
		} else {
			episode = trial
		}
	}
	counts, last := detection.Counts, episode.Steps[len(episode.Steps)-1]
	for _, c := range []struct { // in this order: the last two are not mended
		name         string
		damage, mend func()
		want         string
	}{
		{"a count", func() { detection.Counts.TP++ }, func() { detection.Counts = counts }, "counts"},
		{"a step", func() { episode.Steps[len(episode.Steps)-1].Action = "NOWHERE" }, func() { episode.Steps[len(episode.Steps)-1] = last }, "step"},
		{"a verdict", func() { detection.Windows[0].Judgments[3].Reason += "!" }, func() {}, "window 0 differs"},
		{"a call", func() {
			for key := range made.calls {
				delete(made.calls, key)
				break
			}
		}, func() {}, "cannot be made again"},
	} {
		c.damage()
		if _, problems := verify(); !strings.Contains(problems, c.want) {
			t.Errorf("%s: %q, want %q", c.name, problems, c.want)
		}
		c.mend()
	}
}
