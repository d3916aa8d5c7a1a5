package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/play"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type playCmd struct {
	Name     string     `default:"me" help:"What you are called in reports, behind human/: letters, digits, . - and _."`
	Task     string     `default:"navigate" enum:"navigate,detect" help:"navigate, walk to the goal; or detect, say which entries of the memory are stale."`
	Seed     []string   `placeholder:"SEED,…" help:"Lakes by their seeds; the first of a study unless given."`
	Regime   []string   `default:"L2" enum:"L1,L2,L3" help:"How the lake changes: L1, L2 or L3."`
	Strategy []string   `placeholder:"NAME,…" help:"The memory that you are told: no-memory, no-filter (unless given), oracle, or omcd, whose audits you make yourself. For detect: omcd, ten entries at a time, or self-verify, all at once."`
	Size     study.Size `default:"8x8" help:"Size of the lake, 4 to 64 cells a side."`
	Radius   int        `name:"view-radius" placeholder:"R" help:"See only cells within R moves of you."`
	Episodes int        `default:"1" help:"Episodes on each lake."`
	Out      string     `placeholder:"DIR" help:"Run folder; runs/play-NAME unless given. A game that is there already is gone on with."`
	Browser  bool       `help:"Play in a browser, where the lake can be a picture."`
}

// Run lets a person play.
func (c *playCmd) Run(e *env) error {
	dir := c.Out
	if dir == "" {
		dir = filepath.Join(runsFolder, "play-"+c.Name)
	}
	if c.Browser {
		return c.browse(e, dir)
	}
	ctx, leave := context.WithCancel(e.ctx)
	defer leave()
	person := play.New()
	session, err := play.Begin(ctx, dir, &play.Game{Name: c.Name, Task: c.Task, Seeds: c.Seed, Size: c.Size.String(), Regimes: c.Regime, Strategy: c.Strategy, Radius: c.Radius, Episodes: c.Episodes}, person)
	switch {
	case errors.Is(err, run.ErrFinished):
		return c.result(e, dir)
	case err != nil:
		return err
	}
	if c.Task == record.Navigate {
		fmt.Fprintln(e.stdout, "Reach the goal. What you remember was true once; the lake has changed since, or will. Nobody tells you more than a model is told.")
	} else {
		fmt.Fprintln(e.stdout, "What the memory says was true once; the lake has changed since. Nobody tells you more than a model is told.")
	}
	go person.Terminal(ctx, os.Stdin, e.stdout, isTerminal(e.stdout), leave)
	if _, err = session.Wait(); errors.Is(err, context.Canceled) && e.ctx.Err() == nil {
		return stoppedError{fmt.Errorf("stopped; go on with: %s", commandLine("play", "--name", c.Name, "--out", dir))}
	}
	if err != nil {
		return err
	}
	return c.result(e, dir)
}

// browse opens the page on which a game begins.
func (c *playCmd) browse(e *env, dir string) error {
	form := url.Values{"name": {c.Name}, "task": {c.Task}, "seeds": {strings.Join(c.Seed, ",")}, "regime": {c.Regime[0]}, "strategy": {strings.Join(c.Strategy, ",")},
		"size": {c.Size.String()}, "episodes": {strconv.Itoa(c.Episodes)}, "radius": {strconv.Itoa(c.Radius)}}
	if c.Out != "" {
		return usageError{errors.New("--browser keeps a game below the folder runs, under a name of its own; leave --out out")}
	}
	return serveView(e, "127.0.0.1:0", filepath.Dir(dir), "/play?"+form.Encode(), true)
}

// result tells how a game ended.
func (c *playCmd) result(e *env, dir string) error {
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	rows, _, err := stored.Rows(store.Query{})
	if err != nil {
		return err
	}
	ends, missed, flagged := map[string]int{}, 0, 0
	for i := range rows {
		ends[rows[i].Outcome]++
		missed, flagged = missed+rows[i].Counts.FN, flagged+rows[i].Counts.FP
	}
	if len(rows) > 0 && rows[0].Task == record.Detect {
		fmt.Fprintf(e.stdout, "\n%s: %d stale entries missed, %d valid ones called stale.\n", count(len(rows), "lake"), missed, flagged)
	} else {
		fmt.Fprintf(e.stdout, "\n%s: %d reached the goal, %d ended in a hole, %d took too long.\n", count(len(rows), "episode"), ends[record.Success], ends[record.Death], ends[record.Timeout])
	}
	fmt.Fprintf(e.stdout, "Beside models: %s; another --out plays again.\n", commandLine("report", dir, "OTHER-RUN"))
	return nil
}
