package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

type branchCmd struct {
	Dir      string   `arg:"" name:"run" type:"run" help:"Run folder, or latest."`
	Trial    string   `arg:"" help:"The episode's key, or the beginning of it (trace and the viewer show keys)."`
	At       int      `required:"" placeholder:"STEP" help:"The first step that is another, from 1."`
	Strategy []string `placeholder:"NAME,…" help:"Go on under these strategies, a trial for each; the episode's own unless given."`
	Memory   string   `placeholder:"WHICH" enum:",none,raw,true" default:"" help:"Go on with this memory: none, raw (all entries), or true (without what is stale); short for the strategies no-memory, no-filter and oracle."`
	Model    string   `placeholder:"NAME" help:"Go on with this model; the episode's own unless given."`
	Action   string   `placeholder:"ACTION" enum:",UP,DOWN,LEFT,RIGHT" default:"" help:"Do this at the step: UP, DOWN, LEFT or RIGHT; whoever decides goes on behind it."`
	Out      string   `placeholder:"DIR" help:"Run folder to make; runs/branch-TIME unless given."`

	executionFlags `group:"How the study is run:"`
	modelFlags     `group:"How models are reached (docs/models.md):"`
}

// Run continues an episode from one step on, and shows how both ended.
func (c *branchCmd) Run(e *env) error {
	e.watchSignals()
	t, err := c.episode()
	if err != nil {
		return err
	}
	if c.Memory != "" {
		if len(c.Strategy) > 0 {
			return usageError{errors.New("--memory is short for a strategy; give one of the two")}
		}
		c.Strategy = []string{map[string]string{"none": "no-memory", "raw": "no-filter", "true": "oracle"}[c.Memory]}
	}
	model := t.Model
	if c.Model != "" {
		model = c.Model
	}
	o, err := c.options(&c.modelFlags, []string{model})
	if err != nil {
		return err
	}
	o.Dir, o.Now = c.Out, e.now
	session, err := e.begin(func(ctx context.Context) (*run.Session, error) {
		return run.Branch(ctx, c.Dir, t.Key, run.BranchOptions{Options: o, At: c.At, Strategies: c.Strategy, Model: c.Model, Action: c.Action})
	})
	if err != nil {
		return err
	}
	c.say(e, "From step %d of trial %s on, into %s\n", c.At, t.Key, session.Dir())
	if err := c.follow(e, session); err != nil || c.JSON || c.Format != "text" {
		return err
	}
	return c.ends(e, t, session.Dir())
}

// episode is the trial that is branched from.
func (c *branchCmd) episode() (*record.Trial, error) {
	stored, err := run.Open(c.Dir)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	var found []string
	for spec, err := range stored.Plan() {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(spec.Key, c.Trial) {
			found = append(found, spec.Key)
		}
	}
	if len(found) != 1 {
		return nil, usageError{fmt.Errorf("trial %s: %s of %s have a key that begins so; the viewer and trace show keys", c.Trial, count(len(found), "trial"), c.Dir)}
	}
	return stored.Trial(found[0])
}

// ends says how the episode ended, and how its branches did.
func (c *branchCmd) ends(e *env, t *record.Trial, dir string) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	say := func(what string, t *record.Trial) {
		fmt.Fprintf(e.stdout, "%-8s %s, %s: %s at step %d%s\n", what, t.Model, t.Strategy, t.Outcome, len(t.Steps), causeOf(t))
	}
	fmt.Fprintln(e.stdout)
	say("episode", t)
	for branch, err := range stored.Trials() {
		if err != nil {
			return err
		}
		say("branch", branch)
		fmt.Fprintf(e.stdout, "         %s\n", commandLine("trace", dir, branch.Key))
	}
	return nil
}

func causeOf(t *record.Trial) string {
	if t.Death == nil {
		return ""
	}
	return " (" + t.Death.Cause + ")"
}
