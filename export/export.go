// Package export writes a finished or a living run for other programs. It is
// the way out of the data flow: it reads records and says nothing that is not
// in them. docs/export.md describes every field.
//
// It never overwrites a file, and leaves none behind that is not whole.
package export

import (
	"iter"

	"github.com/spatialstale/spatialstale/record"
)

// A Source is a run to export, such as a *store.Run. Each sequence ends after
// its first error. Trials and calls come in the plan's order, whatever order
// they were made in.
type Source interface {
	Instances() iter.Seq2[record.Instance, error]
	Trials() iter.Seq2[*record.Trial, error]
	Calls() iter.Seq2[*record.Call, error]
}

// A Dated source says with which version of the run's tables it was made; a
// source that is not is of today. What version 1, that of program version 0.1,
// was exported as stays what it was, byte for byte.
type Dated interface{ FirstFormat() int }

// Names of the files that JSONL writes.
const (
	InstancesName = "instances.jsonl"
	TrialsName    = "trials.jsonl"
	JudgmentsName = "judgments.jsonl"
	StepsName     = "steps.jsonl"
	CallsName     = "calls.jsonl"
)

// JSONL writes a run to dir as five files with a JSON object a line. Parents
// are made as needed. Latencies stand in calls.jsonl only: all other files are
// byte-identical for runs of one study with the same outcomes, at any
// concurrency.
//
// It refuses when one of the files exists (the error wraps fs.ErrExist), and
// writes all of them or none.
func JSONL(run Source, dir string) error {
	out, err := newOutput(dir, InstancesName, TrialsName, JudgmentsName, StepsName, CallsName)
	if err != nil {
		return err
	}
	lines := &jsonLines{out: out}
	if dated, ok := run.(Dated); ok {
		lines.line.first = dated.FirstFormat() == 1
	}
	if err := pass(run, lines); err != nil {
		out.abandon()
		return err
	}
	return out.finish()
}

// A sink takes a run's records, in order.
type sink interface {
	instance(*record.Instance) error
	trial(*record.Trial) error
	call(*record.Call) error
}

// pass hands a run's records to a sink.
func pass(run Source, to sink) error {
	for in, err := range run.Instances() {
		if err == nil {
			err = to.instance(&in)
		}
		if err != nil {
			return err
		}
	}
	for t, err := range run.Trials() {
		if err == nil {
			err = to.trial(t)
		}
		if err != nil {
			return err
		}
	}
	for c, err := range run.Calls() {
		if err == nil {
			err = to.call(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// jsonLines writes records as lines of JSON.
type jsonLines struct {
	line line
	out  *output
}

func (s *jsonLines) instance(in *record.Instance) error {
	return s.out.write(InstancesName, s.line.instance(in))
}

func (s *jsonLines) call(c *record.Call) error { return s.out.write(CallsName, s.line.call(c)) }

// trial writes a trial's lines in the three files that tell of it.
func (s *jsonLines) trial(t *record.Trial) error {
	if err := s.out.write(TrialsName, s.line.trial(t)); err != nil {
		return err
	}
	for i := range t.Windows {
		w := &t.Windows[i]
		for k := range w.Judgments {
			if err := s.out.write(JudgmentsName, s.line.judgment(t.Key, w, &w.Judgments[k])); err != nil {
				return err
			}
		}
	}
	for i := range t.Steps {
		if err := s.out.write(StepsName, s.line.step(t.Key, &t.Steps[i])); err != nil {
			return err
		}
	}
	return nil
}
