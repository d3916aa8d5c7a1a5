package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type runCmd struct {
	studyFlags
	executionFlags `group:"How the study is run:"`
	Dataset        string   `group:"How the study is run:" placeholder:"DIR" help:"Run on the instances of this dataset folder (see dataset) in place of those that the seeds give."`
	Replay         []string `group:"How the study is run:" sep:"none" placeholder:"RUN" help:"Ask no model: take every answer from the recorded replies of this run; repeat for several. The study is that run's unless one is named."`
	Shard          string   `group:"How the study is run:" placeholder:"K/N" help:"Run the K-th of N parts of the study, every N-th seed, to be merged with the others; a budget is divided by N. auto/N takes K from the task of a Slurm array or of an indexed job of Kubernetes."`
	Out            string   `group:"How the study is run:" placeholder:"DIR" help:"Run folder to make; runs/STUDY-TIME unless given. {shard} in it stands for K."`
	OrResume       bool     `group:"How the study is run:" help:"Go on with the run in the folder of --out when it is there."`
	modelFlags     `group:"How models are reached (docs/models.md):"`
}

// Run makes the run folder, runs the study and prints its tables.
func (c *runCmd) Run(e *env) error {
	e.watchSignals()
	s, err := c.chosen()
	if err != nil {
		return err
	}
	if c.Dataset != "" {
		if err := takeDataset(s, c.Dataset); err != nil {
			return err
		}
	}
	if err := run.NameStudy(s); err != nil {
		return err
	}
	o, err := c.options(&c.modelFlags, s.Models)
	if err != nil {
		return err
	}
	if c.Shard != "" {
		if err := s.Split(shardOfTask(c.Shard, os.Getenv)); err != nil {
			return usageError{err}
		}
		c.Out = strings.ReplaceAll(c.Out, "{shard}", fmt.Sprint(s.Shard.Index))
	}
	o.Dir, o.Now = c.Out, e.now
	if c.OrResume {
		if c.Out == "" {
			return usageError{errors.New("--or-resume goes with --out, which names the folder")}
		}
		if _, err := os.Stat(filepath.Join(c.Out, store.DatabaseName)); err == nil {
			return (&resumeCmd{Dir: c.Out, executionFlags: c.executionFlags, modelFlags: c.modelFlags}).goOn(e, s)
		}
		if err := store.Discard(c.Out); err != nil {
			return err
		}
	}
	if s.Shard != nil {
		if o.Budget != nil {
			part := *o.Budget / price.USD(s.Shard.Of)
			c.say(e, "Of the budget of %v this shard takes its part, %v.\n", *o.Budget, part)
			o.Budget = &part
		}
	}
	begin := func(ctx context.Context) (*run.Session, error) { return run.Start(ctx, s, o) }
	if len(c.Replay) > 0 {
		if err := c.unanswered(); err != nil {
			return err
		}
		begin = func(ctx context.Context) (*run.Session, error) { return run.Replay(ctx, s, c.Replay, o) }
	}
	session, err := e.begin(begin)
	if err != nil {
		return err
	}
	c.say(e, "Study %s: %d trials of %s on %s, into %s\n",
		s.Name, s.NumTrials(), count(len(s.Models), "model"), count(len(s.Seeds), "seed"), session.Dir())
	return c.follow(e, session)
}

// shardOfTask gives a shard that is to be that of a scheduler's task its number.
func shardOfTask(shard string, getenv func(string) string) string {
	of, auto := strings.CutPrefix(shard, "auto/")
	if !auto {
		return shard
	}
	if task := getenv("SLURM_ARRAY_TASK_ID"); task != "" {
		return task + "/" + of
	}
	if index, err := strconv.Atoi(getenv("JOB_COMPLETION_INDEX")); err == nil { // which counts from 0
		return fmt.Sprint(index+1) + "/" + of
	}
	return shard
}

// begin begins a session. An interrupt before it is under way ends it at once:
// there is nothing yet that could be lost.
func (e *env) begin(session func(context.Context) (*run.Session, error)) (*run.Session, error) {
	ctx, cancel := context.WithCancel(e.ctx)
	begun := make(chan struct{})
	go func() {
		select {
		case <-begun:
		case <-e.stop:
			select {
			case <-begun:
			default:
				cancel()
			}
		}
	}()
	s, err := session(ctx)
	close(begun)
	if err != nil && ctx.Err() != nil {
		cancel()
		return nil, stoppedError{errors.New("interrupted before the run was under way; nothing was made")}
	}
	return s, err
}

// chosen returns the study: that of the flags, or of the run that is replayed.
func (c *runCmd) chosen() (*study.Study, error) {
	if len(c.Replay) == 0 || c.Study != "" {
		return c.build()
	}
	stored, err := run.Open(c.Replay[0])
	if err != nil {
		return nil, err
	}
	s, err := stored.Study()
	if err := errors.Join(err, stored.Close()); err != nil {
		return nil, err
	}
	return c.change(s)
}

// unanswered refuses flags that say what a server is sent, or may be paid, of a
// run that asks none.
func (c *runCmd) unanswered() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"budget", c.Budget != nil}, {"batch-api", c.BatchAPI}, {"detail", c.Detail != ""}, {"no-schema", c.NoSchema}, {"extra-body", len(c.ExtraBody) > 0}, {"header", len(c.Header) > 0},
	} {
		if f.given {
			return usageError{fmt.Errorf("--%s says something of how models are asked, and --replay asks none; leave it out", f.name)}
		}
	}
	return nil
}

// say tells a person something; programs read events instead.
func (f *executionFlags) say(e *env, format string, args ...any) {
	if !f.JSON {
		fmt.Fprintf(e.stderr, format, args...)
	}
}

// follow shows a session until it is over, prints what came out, and returns
// the error that says how it ended.
func (f *executionFlags) follow(e *env, session *run.Session) error {
	over := make(chan struct{})
	go func() {
		select {
		case <-e.stop:
			session.Stop()
		case <-over:
		}
	}()
	if f.View {
		v, address, err := watch(e, session)
		if err != nil {
			f.say(e, "it cannot be viewed: %v\n", err) // the run is no worse for it
		} else {
			defer v.stop()
			f.say(e, "View:        %s\n", address)
			if isTerminal(e.stderr) {
				openBrowser(address)
			}
		}
	}
	showProgress(e.stderr, session, f.JSON)
	close(over)
	result, err := session.Wait()
	dir := session.Dir()
	done := result.Progress.Done
	stopped := errors.Is(err, run.ErrStopped) || errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrBudget)
	if err != nil && !stopped {
		return f.brokenOff(err, dir, result.Planned)
	}
	if done == result.Progress.Failed && f.Format == "text" && !f.JSON {
		f.say(e, "\nNo trial finished, so there is no table to show.\n")
		f.say(e, "\nRun folder: %s\n", dir)
	} else if err := f.results(e, dir, true); err != nil {
		return err
	}
	f.say(e, "%s", bill(result))
	switch {
	case errors.Is(err, llm.ErrBudget):
		return stoppedError{fmt.Errorf("stopped after %d of %d trials, because %w\nnothing is lost. Go on with: spatialstale resume %s --budget USD, where the sum counts all that the run has spent", done, result.Planned, budgetCause(err), dir)}
	case stopped:
		return stoppedError{fmt.Errorf("stopped after %d of %d trials; nothing is lost. Go on with: spatialstale resume %s", done, result.Planned, dir)}
	case len(result.GivenUp) > 0:
		var lines []string
		for _, g := range result.GivenUp {
			lines = append(lines, fmt.Sprintf("%s was given up after %d failed trials in a row; the last: %v", g.Model, g.Failed, g.Err))
		}
		return stoppedError{fmt.Errorf("%s\n%d of %d trials ended, %d of them failed; when the cause is removed, go on with: spatialstale resume %s --retry-errors",
			strings.Join(lines, "\n"), done, result.Planned, result.Failed, dir)}
	case result.Progress.Failed > 0:
		return stoppedError{failedTrials(dir, result.Progress.Failed, result.Planned, result.FirstError)}
	}
	return nil
}

// failedTrials is the error of a run some of whose trials failed.
func failedTrials(dir string, failed, planned int, first error) error {
	err := fmt.Errorf("%d of %d trials failed and are in no table; try them again with: spatialstale resume %s --retry-errors", failed, planned, dir)
	if first != nil {
		err = fmt.Errorf("%w\nthe first: %w", err, first)
	}
	return err
}

// brokenOff is the error of a run that could not go on. What the folder holds is
// looked up: after a failed write it may be less than was made.
func (f *executionFlags) brokenOff(cause error, dir string, planned int) error {
	stored, err := run.Open(dir)
	if err != nil {
		return cause // a replay that was not whole leaves nothing
	}
	defer stored.Close()
	missing, err := stored.Missing()
	if err != nil {
		return errors.Join(cause, err)
	}
	if llm.KindOf(cause) == llm.KindNoServer {
		cause = fmt.Errorf("%w; does the server run, and is this its address? spatialstale models names the variable that sets it", cause)
	}
	err = fmt.Errorf("%w\n%d of %d trials are in %s; when the cause is removed, go on with: spatialstale resume %s", cause, planned-missing, planned, dir, dir)
	if llm.KindOf(cause).Fatal() {
		return err
	}
	return stoppedError{err}
}

// budgetCause is what is behind the failure of a call for want of money, without
// the places that it passed through.
func budgetCause(err error) error {
	var exhausted *price.ExhaustedError
	if errors.As(err, &exhausted) {
		return exhausted
	}
	return err
}

// bill says at the end what the run was billed for, over all its sessions.
func bill(r *run.Result) string {
	s, balance := &r.Progress.Spent, r.Balance
	if s.Calls == 0 {
		if balance.Lost == 0 {
			return ""
		}
		return fmt.Sprintf("Cost: up to %v for calls whose answer nobody saw or could use\n", balance.Lost)
	}
	text := fmt.Sprintf("Tokens: %s in", grouped(s.Input))
	if s.Cached > 0 {
		text += fmt.Sprintf(" (%s from a cache)", grouped(s.Cached))
	}
	text += fmt.Sprintf(", %s out, in %s", grouped(s.Output), count(s.Calls, "call"))
	if s.Silent > 0 {
		text += fmt.Sprintf(", of which %s did not say all", grouped(s.Silent))
	}
	text += "\nCost: " + s.String()
	if r.Limit != nil {
		text += fmt.Sprintf(" of %v", *r.Limit)
	}
	if balance.Lost > 0 {
		text += fmt.Sprintf(", and up to %v for calls whose answer nobody saw or could use", balance.Lost)
	}
	if balance.Unseen > 0 {
		text += fmt.Sprintf(", and what %s whose cost nobody saw may have been billed for", count(balance.Unseen, "call"))
	}
	var dates []string
	for _, m := range r.Models {
		if date := r.Prices.Dated(m.Model); m.Spent.Calls > 0 && !slices.Contains(dates, date) {
			dates = append(dates, date)
		}
	}
	slices.Sort(dates)
	if list := strings.Join(dates, " and "); list == "" { // no model that is paid for
		text += ", as the methods say\n"
	} else if s.Unknown == s.Calls {
		text += fmt.Sprintf("; the list of prices of %s does not have it\n", list)
	} else {
		text += fmt.Sprintf(", by the list of prices of %s\n", list)
	}
	if balance.Overruns > 0 {
		text += fmt.Sprintf("%s cost more than the most that a call can take: a server counts more tokens than it was sent, or writes more than its cap, and a budget cannot hold it\n", count(balance.Overruns, "call"))
	}
	return text
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count writes "1 seed", "2 seeds".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
