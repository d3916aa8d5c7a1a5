package run

import (
	"context"
	"fmt"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A Rescored is a finished trial with what its stored replies say now.
type Rescored struct {
	Stored *record.Trial
	// Now is a detection as the parser of today reads its replies, nil for an
	// episode: another action would have been another walk.
	Now *record.Trial
	// Steps of an episode, and how many of them today's parser reads otherwise.
	Steps, Otherwise int
}

// Rescore parses the stored replies of every finished trial again: detections
// are scored anew, and for episodes the steps are counted that would now parse
// differently. Trials come in the plan's order; a detection whose calls do not
// suffice is an error.
func Rescore(ctx context.Context, s *study.Study, prompts study.Prompts, kept Kept, yield func(Rescored) error) error {
	var v Verification
	var failure error
	err := eachFinished(ctx, s, prompts, kept, &v, func(a *again) {
		if failure != nil {
			return
		}
		out := Rescored{Stored: a.stored}
		if a.stored.Task == record.Detect {
			if out.Now, failure = a.made(ctx); failure != nil {
				failure = fmt.Errorf("trial %s cannot be scored again: %w", a.stored.Key, failure)
				return
			}
		} else {
			out.Steps, out.Otherwise = reread(a.stored, a.calls)
		}
		failure = yield(out)
	})
	if failure != nil {
		return failure
	}
	return err
}

// reread counts an episode's steps, and those whose reply reads otherwise now.
func reread(t *record.Trial, calls []*record.Call) (steps, otherwise int) {
	replies := map[string]*record.Call{}
	for _, c := range calls {
		replies[c.Slot] = c
	}
	for i := range t.Steps {
		step := &t.Steps[i]
		c := replies[fmt.Sprintf("step%d", step.T)]
		if c == nil {
			continue
		}
		steps++
		action, reading := navigate.ParseAction(&llm.Reply{Text: c.Reply, Finish: llm.Finish(c.Finish)})
		if fallback := reading != ""; fallback != step.Fallback || !fallback && action.String() != step.Action {
			otherwise++
		}
	}
	return steps, otherwise
}

// Strict returns a detection as a parser without mercy would have it: a verdict
// that took any repair to read is no answer.
func Strict(t *record.Trial) *record.Trial {
	out := *t
	out.Counts = record.Counts{}
	out.Windows = make([]record.Window, len(t.Windows))
	for i, w := range t.Windows {
		out.Windows[i] = w
		out.Windows[i].Distractors = nil
		for _, d := range w.Distractors {
			if len(d.Repairs) > 0 {
				d.Verdict, d.Score, d.Confidence = record.Unanswered, nil, nil
			}
			out.Windows[i].Distractors = append(out.Windows[i].Distractors, d)
		}
		out.Windows[i].Judgments = make([]record.Judgment, len(w.Judgments))
		for j, judgment := range w.Judgments {
			if len(judgment.Repairs) > 0 {
				judgment.Verdict, judgment.Score, judgment.Confidence = record.Unanswered, nil, nil
			}
			out.Windows[i].Judgments[j] = judgment
			out.Counts.Add(judgment.Truth, judgment.Verdict)
		}
	}
	return &out
}
