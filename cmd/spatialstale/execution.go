package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// executionFlags say how a study is run; no result depends on them.
type executionFlags struct {
	Concurrency *int    `placeholder:"N" help:"Trials in progress at once: of each model with a server, 16 unless given; of the controls together, as many as there are processors. No result depends on it."`
	Format      string  `enum:"text,md,json" default:"text" help:"Form of the tables: text, md or json."`
	Prices      string  `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	Budget      *amount `placeholder:"USD" help:"Stop, so that it can be resumed, before a call could make the run cost more than this, all its sessions and models together. Needs the price of each model."`
	JSON        bool    `name:"json" help:"For programs: progress as JSON lines on the standard error, tables as JSON."`
}

// Validate is called when the command line has been read.
func (f *executionFlags) Validate() error {
	if f.Concurrency != nil && *f.Concurrency < 1 {
		return fmt.Errorf("--concurrency %d: at least one trial must be in progress", *f.Concurrency)
	}
	return nil
}

// wiredConcurrency is how many trials of a model with a server are in progress
// at once unless a flag says otherwise: they wait, and cost no processor.
const wiredConcurrency = 16

// concurrency is how many trials are in progress at once: of the controls
// together, and of each model with a server.
func (f *executionFlags) concurrency() (controls, wired int) {
	if f.Concurrency != nil {
		return *f.Concurrency, *f.Concurrency
	}
	return runtime.GOMAXPROCS(0), wiredConcurrency
}

// An execution is a run of a study into a folder, its first or a later one.
type execution struct {
	env       *env
	flags     *executionFlags
	asking    *modelFlags
	study     *study.Study
	models    map[string]llm.Model
	effective effective
	prompts   study.Prompts
	dir       string
	prices    *price.List
	budget    *price.Budget
	replay    *replaySource         // where every answer comes from, when no model is asked
	ledger    *ledger               // of a run that is paid for, once it has begun
	tally     atomic.Pointer[tally] // once the run has begun
}

// open reads the prices and makes the study's models ready. A run that goes on
// says what its models were asked so far.
func (x *execution) open(run []record.ModelInfo) (err error) {
	if x.prices, err = readPrices(x.flags.Prices); err != nil {
		return err
	}
	if x.prices, err = pricesOf(x.prices, x.flags.Prices, run); err != nil {
		return err
	}
	x.budget = price.NewBudget((*price.USD)(x.flags.Budget))
	x.effective.say = x.notice
	o := opener{flags: x.asking, run: map[string]record.ModelInfo{}, prices: x.prices, watch: &x.effective, paidFor: x.paidFor, waits: func(w llm.Wait) {
		if t := x.tally.Load(); t != nil {
			t.waits(w)
		}
	}}
	for _, m := range run {
		o.run[m.Name] = m
	}
	if x.models, err = o.open(x.study); err != nil {
		return err
	}
	return x.checkBudget()
}

// notice tells the person something at once, in its place in the progress once
// there is one.
func (x *execution) notice(line string) {
	if t := x.tally.Load(); t != nil {
		t.notice(line)
		return
	}
	x.say("%s\n", line)
}

// paid returns the models whose answers are paid for: all but the controls.
func (x *execution) paid() map[string]bool {
	var paid map[string]bool
	if x.replay != nil {
		return nil
	}
	for _, m := range x.effective.models() {
		if !m.Control {
			if paid == nil {
				paid = map[string]bool{}
			}
			paid[m.Name] = true
		}
	}
	return paid
}

func (x *execution) manifest(instances []record.Instance) (record.Manifest, error) {
	config, err := json.Marshal(x.study)
	if err != nil {
		return record.Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	m := record.Manifest{
		Version:   record.Version,
		Program:   version(),
		Go:        runtime.Version(),
		Created:   x.env.now().UTC(),
		Study:     config,
		Models:    x.effective.models(),
		Prompts:   x.prompts.Sums(),
		Instances: map[string]string{},
	}
	if x.replay != nil {
		m.ReplayedFrom = x.replay.origins()
	}
	for i := range instances {
		name, sum, err := identify(&instances[i])
		if err != nil {
			return m, err
		}
		m.Instances[name] = sum
	}
	return m, nil
}

// run makes the trials that are left and prints the tables of all.
func (x *execution) run(w *store.Writer, instances []record.Instance) error {
	t, err := newTally(w, x.env, x.study, instances)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	t.paid, t.prices, t.all.limit = x.paid(), x.prices, (*price.USD)(x.flags.Budget)
	if err := errors.Join(x.recall(t), x.recallSpending(t)); err != nil {
		return errors.Join(err, w.Close())
	}
	if x.ledger != nil {
		defer x.ledger.close()
	}
	x.effective.write = func(models []record.ModelInfo) error { return w.Models(context.WithoutCancel(x.env.ctx), models) }
	if err := x.effective.write(x.effective.models()); err != nil {
		return errors.Join(err, w.Close())
	}
	for name := range t.paid {
		t.collector.PricedBy(x.prices.Dated(name))
	}
	x.tally.Store(t)
	stopProgress := t.showProgress(x.env.stderr, x.flags.JSON)
	ended := make(chan struct{})
	go func() {
		select {
		case <-x.env.stop:
			t.notice("Stopping: calls under way are waited for, and nothing new begins. Interrupt once more to give them up.")
		case <-ended:
		}
	}()
	controls, wired := x.flags.concurrency()
	sum, runErr := run.Trials(x.env.ctx, x.study, run.Workers{
		Models:      x.models,
		Paid:        x.paid(),
		Recorder:    t,
		Ended:       w.Ended,
		Stop:        x.env.stop,
		Prompts:     x.prompts,
		Concurrency: controls,
		Now:         x.env.now,

		PaidConcurrency: wired,
		MaxErrors:       x.asking.MaxErrors,
		GaveUp: func(g run.GivenUp) {
			t.notice(fmt.Sprintf("%s: %d trials failed in a row, so it is given up (--max-errors); the last: %v", g.Model, g.Failed, g.Err))
		},
	})
	close(ended)
	stopProgress()
	closeErr := w.Close()
	if x.replay != nil && (runErr != nil || closeErr != nil) {
		return x.discard(cmp.Or(runErr, closeErr))
	}
	broke := errors.Is(runErr, llm.ErrBudget)
	why := runErr
	stopped := errors.Is(runErr, run.ErrStopped) || errors.Is(runErr, context.Canceled) || broke
	done := sum.Before + sum.Finished + sum.Failed
	if runErr == nil || stopped {
		runErr = errors.Join(closeErr)
	}
	if runErr != nil {
		return x.brokenOff(runErr)
	}
	for _, m := range x.effective.models() {
		t.collector.AddModel(m)
	}
	if t.all.done == t.all.failed && x.flags.Format == "text" && !x.flags.JSON {
		x.say("\nNo trial finished, so there is no table to show.\n")
	} else if err := x.print(t.collector); err != nil {
		return err
	}
	x.say("\nRun folder: %s\n%sAll its tables: spatialstale report %s\nIts records as files: spatialstale export %s --format jsonl --out DIR\n", x.dir, x.writePage(t.collector), x.dir, x.dir)
	x.say("%s", x.bill(t))
	switch {
	case broke:
		return stoppedError{fmt.Errorf("stopped after %d of %d trials, because %w\nnothing is lost. Go on with: spatialstale resume %s --budget USD, where the sum counts all that the run has spent", done, sum.Planned, cause(why), x.dir)}
	case stopped:
		return stoppedError{fmt.Errorf("stopped after %d of %d trials; nothing is lost. Go on with: spatialstale resume %s", done, sum.Planned, x.dir)}
	case len(sum.GivenUp) > 0:
		return stoppedError{x.gaveUp(sum, done)}
	case t.all.failed > 0:
		err := x.failed(t.all.failed, sum.Planned)
		if sum.FirstError != nil {
			err = fmt.Errorf("%w\nthe first: %w", err, sum.FirstError)
		}
		return stoppedError{err}
	}
	return nil
}

// cause is what is behind the failure of a call for want of money, without the
// places that it passed through.
func cause(err error) error {
	var exhausted *price.ExhaustedError
	if errors.As(err, &exhausted) {
		return exhausted
	}
	return err
}

// pagedTrials is the size of a run that gets its page at once. A larger one
// waits for report, which has more to read.
const pagedTrials = 50_000

// writePage writes the page of a run into its folder and returns a line that
// says where it is. A run is no worse for a page that cannot be written.
func (x *execution) writePage(c *analysis.Collector) string {
	later := "spatialstale report " + x.dir + " --format html"
	if x.study.NumTrials() > pagedTrials {
		return "Its page, with figures and replays: " + later + "\n"
	}
	path, err := runPage(x.dir, c)
	if err != nil {
		return fmt.Sprintf("Its page could not be written: %v. Try again with: %s\n", err, later)
	}
	return "Its page, with figures and replays: " + path + "\n"
}

// print writes the tables of a run to whoever still reads them.
func (x *execution) print(c *analysis.Collector) error {
	format := x.flags.Format
	if x.flags.JSON {
		format = "json"
	}
	if err := printTables(x.env.stdout, endTables(c), format); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

// again prints the tables of a finished run. It needs no model.
func (x *execution) again() error {
	run, err := store.Open(x.dir)
	if err != nil {
		return err
	}
	defer run.Close()
	read := newRunReader()
	if err := read.price(x.flags.Prices); err != nil {
		return err
	}
	if err := read.run(run, x.dir); err != nil {
		return err
	}
	failed, err := run.Failed()
	if err != nil {
		return err
	}
	if err := x.print(read.collector); err != nil || failed == 0 {
		return err
	}
	return stoppedError{x.failed(failed, x.study.NumTrials())}
}

// failed is the error of a run some of whose trials failed.
func (x *execution) failed(n, planned int) error {
	return fmt.Errorf("%d of %d trials failed and are in no table; try them again with: spatialstale resume %s --retry-errors", n, planned, x.dir)
}

// gaveUp is the error of a run that has given up at least one of its models.
func (x *execution) gaveUp(sum run.Summary, done int) error {
	var lines []string
	for _, g := range sum.GivenUp {
		lines = append(lines, fmt.Sprintf("%s was given up after %d failed trials in a row; the last: %v", g.Model, g.Failed, g.Err))
	}
	return fmt.Errorf("%s\n%d of %d trials ended, %d of them failed; when the cause is mended, go on with: spatialstale resume %s --retry-errors",
		strings.Join(lines, "\n"), done, sum.Planned, sum.Failed, x.dir)
}

// brokenOff is the error of a run that could not go on. What the folder holds is
// looked up: after a failed write it may be less than was made.
func (x *execution) brokenOff(cause error) error {
	run, err := store.Open(x.dir)
	if err != nil {
		return errors.Join(cause, err)
	}
	defer run.Close()
	missing, err := run.Missing()
	if err != nil {
		return errors.Join(cause, err)
	}
	if llm.KindOf(cause) == llm.KindNoServer {
		cause = fmt.Errorf("%w; does the server run, and is this its address? spatialstale models names the variable that sets it", cause)
	}
	planned := x.study.NumTrials()
	err = fmt.Errorf("%w\n%d of %d trials are in %s; when the cause is mended, go on with: spatialstale resume %s", cause, planned-missing, planned, x.dir, x.dir)
	if llm.KindOf(cause).Fatal() {
		return err
	}
	return stoppedError{err}
}

// say tells a person something; programs read events instead.
func (x *execution) say(format string, args ...any) {
	if !x.flags.JSON {
		fmt.Fprintf(x.env.stderr, format, args...)
	}
}

// recall hands the tally what an earlier run of the program has done.
func (x *execution) recall(t *tally) error {
	run, err := store.Open(x.dir)
	if err != nil {
		return err
	}
	defer run.Close()
	for trial, err := range run.Trials() {
		if err != nil {
			return err
		}
		if err := t.note(trial, true); err != nil {
			return err
		}
	}
	return nil
}

// endTables are the tables at the end of a run: the short set, and those of what
// the study varies.
func endTables(c *analysis.Collector) []analysis.Table {
	tables := c.Tables()
	for _, t := range []analysis.Table{c.Batch(), c.Score(), c.Framing(), c.Sizes(), c.Models(), c.Costs()} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func printTables(w io.Writer, tables []analysis.Table, format string) error {
	switch format {
	case "md":
		return report.Markdown(w, tables)
	case "json":
		return report.JSON(w, tables)
	case "latex":
		return report.LaTeX(w, tables)
	}
	return report.Text(w, tables, report.TextOptions{Width: terminalWidth(w), Color: isTerminal(w) && os.Getenv("NO_COLOR") == ""})
}

// count writes "1 seed", "2 seeds".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
