package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

type checkCmd struct {
	Dir     string `arg:"" name:"run" type:"run" help:"Run folder, or latest."`
	Prompts string `placeholder:"DIR" help:"The folder of prompt files that the run was made with, if it was made with one."`
}

// shownProblems is how many problems are written out.
const shownProblems = 20

// Run verifies a run and changes nothing in it.
func (c *checkCmd) Run(e *env) error {
	stored, err := run.Open(c.Dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	problems := 0
	var unsaid error // what could not be written
	say := func(format string, args ...any) {
		if _, err := fmt.Fprintf(e.stdout, format, args...); err != nil {
			unsaid = err
		}
	}
	v, err := stored.Check(e.ctx, c.Prompts, func(text string) {
		if problems++; problems <= shownProblems {
			say("wrong: %s\n", text)
		}
	})
	if err != nil {
		return err
	}
	say("%d texts and pictures, %d calls, %d instances; %d of %d planned trials ended, %d of them failed; %d trials made again from their replies\n",
		v.Parts, v.Calls, v.Instances, v.Ended, v.Planned, v.Failed, v.Replayed)
	for _, m := range stored.Manifest().Models {
		sayModel(say, &m)
	}
	switch missing := v.Planned - v.Ended; {
	case problems > shownProblems:
		return fmt.Errorf("%s: %d things are wrong; the first %d are above", c.Dir, problems, shownProblems)
	case problems > 0:
		return fmt.Errorf("%s: %s wrong", c.Dir, count(problems, "thing"))
	case missing > 0:
		return stoppedError{fmt.Errorf("nothing is wrong, and %d trials are missing; go on with: spatialstale resume %s", missing, c.Dir)}
	case v.Failed > 0:
		return stoppedError{fmt.Errorf("nothing is wrong, and %d trials failed; try them again with: spatialstale resume %s --retry-errors", v.Failed, c.Dir)}
	}
	say("nothing is wrong and nothing is missing\n")
	return unsaid
}

// sayModel says what became of what a model with a server was asked.
func sayModel(say func(format string, args ...any), m *record.ModelInfo) {
	if m.Control {
		return
	}
	words := []string{cmp.Or(m.Note, "asked at "+strings.Join(m.Endpoints, ", "))}
	for _, c := range m.Changes {
		words = append(words, c.String())
	}
	switch len(m.ServerModels) {
	case 0:
	case 1:
		words = append(words, "its server calls it "+m.ServerModels[0])
	default:
		words = append(words, "its server reported several names, so that more than one model may have answered: "+strings.Join(m.ServerModels, ", "))
	}
	say("%s: %s\n", m.Name, strings.Join(words, "; "))
}
