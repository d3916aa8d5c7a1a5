package run

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// Kept is a run as it was stored: what Verify reads. Trials and calls come in
// the plan's order.
type Kept interface {
	Plan() iter.Seq2[record.Spec, error]
	Instances() iter.Seq2[record.Instance, error]
	Trials() iter.Seq2[*record.Trial, error]
	Calls() iter.Seq2[*record.Call, error]
}

// A Verification counts what was compared.
type Verification struct {
	Planned, Ended, Failed int
	Replayed               int // trials made again from their calls, all that ended and did not fail
	Calls                  int
	Instances              int
	Parts                  int // texts and pictures whose hash was compared, by Check
}

// Verify compares a stored run with what its study makes of it now: the plan
// and the instances are made anew, and every finished trial is made again from
// its stored replies, which parses, scores and walks anew. Each difference is
// handed to found. The error is one of reading the run.
func Verify(ctx context.Context, s *study.Study, prompts study.Prompts, kept Kept, found func(problem string)) (Verification, error) {
	var v Verification
	if err := verifyPlan(s, kept, &v, found); err != nil {
		return v, err
	}
	if err := verifyInstances(s, kept, &v, found); err != nil {
		return v, err
	}
	err := eachFinished(ctx, s, prompts, kept, &v, func(a *again) {
		if made, err := a.made(ctx); err != nil {
			found(fmt.Sprintf("trial %s cannot be made again from its calls: %v", a.stored.Key, err))
		} else if v.Replayed++; !record.Same(a.stored, made) {
			found(fmt.Sprintf("trial %s comes out otherwise from its replies: %s", a.stored.Key, differ(a.stored, made)))
		}
	})
	return v, err
}

func verifyPlan(s *study.Study, kept Kept, v *Verification, found func(string)) error {
	next, stop := iter.Pull(s.Specs())
	defer stop()
	for spec, err := range kept.Plan() {
		if err != nil {
			return err
		}
		want, more := next()
		switch {
		case !more:
			found(fmt.Sprintf("the plan has trial %s, which the study does not make", spec.Key))
		case spec != want:
			found(fmt.Sprintf("trial %d of the plan is %s, the study makes it %s", v.Planned, spec.Key, want.Key))
		}
		v.Planned++
	}
	if _, more := next(); more {
		found(fmt.Sprintf("the plan ends after %d trials, the study makes %d", v.Planned, s.NumTrials()))
	}
	return nil
}

func verifyInstances(s *study.Study, kept Kept, v *Verification, found func(string)) error {
	want, err := s.Instances()
	if err != nil {
		return err
	}
	for in, err := range kept.Instances() {
		if err != nil {
			return err
		}
		if v.Instances >= len(want) || !record.Same(in, want[v.Instances]) {
			found(fmt.Sprintf("the instance of seed %d under %s is not what the seed gives", in.Seed, in.Regime))
		}
		v.Instances++
	}
	if v.Instances < len(want) {
		found(fmt.Sprintf("the run holds %d of %d instances", v.Instances, len(want)))
	}
	return nil
}

// An again is a finished trial with what it takes to make it again.
type again struct {
	stored   *record.Trial
	calls    []*record.Call
	planned  study.Trial
	replayer *Replayer
}

// made is the trial as its replies make it now.
func (a *again) made(ctx context.Context) (*record.Trial, error) {
	return a.replayer.Trial(ctx, &a.planned)
}

// eachFinished goes through the trials that ended without failing, in the plan's
// order, each with its calls.
func eachFinished(ctx context.Context, s *study.Study, prompts study.Prompts, kept Kept, v *Verification, each func(*again)) error {
	var past latest
	replayer, err := NewReplayer(s, prompts, &past)
	if err != nil {
		return err
	}
	nextTrial, stopTrials := iter.Pull2(kept.Trials())
	defer stopTrials()
	nextCall, stopCalls := iter.Pull2(kept.Calls())
	defer stopCalls()
	trial, trialErr, more := nextTrial()
	call, callErr, moreCalls := nextCall()
	for planned := range s.Plan() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		past.calls = past.calls[:0]
		for callErr == nil && moreCalls && call.Trial == planned.Key {
			past.calls = append(past.calls, call)
			v.Calls++
			call, callErr, moreCalls = nextCall()
		}
		if err := errors.Join(trialErr, callErr); err != nil {
			return err
		}
		if !more || trial.Key != planned.Key {
			continue
		}
		v.Ended++
		if trial.Outcome == record.Failed {
			v.Failed++
		} else {
			each(&again{trial, past.calls, planned, replayer})
		}
		trial, trialErr, more = nextTrial()
	}
	return errors.Join(trialErr, callErr)
}

// latest holds the calls of the trial being made again.
type latest struct{ calls []*record.Call }

// Lookup implements Past.
func (l *latest) Lookup(_ context.Context, _, slot string) (*record.Call, error) {
	for _, c := range l.calls {
		if c.Slot == slot {
			return c, nil
		}
	}
	return nil, nil
}

// differ says in a few words where two records of a trial differ.
func differ(a, b *record.Trial) string {
	switch {
	case a.Outcome != b.Outcome:
		return fmt.Sprintf("outcome %s is stored, %s comes out", a.Outcome, b.Outcome)
	case a.Counts != b.Counts:
		return fmt.Sprintf("counts %+v are stored, %+v come out", a.Counts, b.Counts)
	case len(a.Steps) != len(b.Steps):
		return fmt.Sprintf("%d steps are stored, %d come out", len(a.Steps), len(b.Steps))
	}
	for i := range a.Steps {
		if !record.Same(a.Steps[i], b.Steps[i]) {
			return fmt.Sprintf("step %d differs", i+1)
		}
	}
	for i := range a.Windows {
		if i >= len(b.Windows) || !record.Same(a.Windows[i], b.Windows[i]) {
			return fmt.Sprintf("window %d differs", i)
		}
	}
	return "their records differ"
}

// VerifyPart reports whether a stored part's content has the sum it is stored
// under.
func VerifyPart(p *record.Part) error {
	var part llm.Part
	if p.Kind == record.PartPNG {
		var err error
		if part, err = llm.PNG(p.Data); err != nil {
			return fmt.Errorf("a picture stored under %x: %w", p.Sum[:8], err)
		}
	} else {
		part = llm.Text(string(p.Data))
	}
	if part.Sum() != p.Sum {
		return fmt.Errorf("a %s stored under %x has the sum %x", p.Kind, p.Sum[:8], part.Sum())
	}
	return nil
}
