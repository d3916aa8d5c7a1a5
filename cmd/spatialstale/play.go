package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spatialstale/spatialstale/play"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type playCmd struct {
	Name     string   `default:"human" help:"What you are called in reports, behind agent/: letters, digits, - and _."`
	Seed     []string `placeholder:"SEED,…" help:"Lakes by their seeds; the first of the study's unless given."`
	Regime   []string `default:"L2" enum:"L1,L2,L3" help:"How the lake changes: L1, L2 or L3."`
	Strategy []string `default:"no-filter" help:"The memory that you are told: no-memory, no-filter or oracle."`
	Episodes int      `default:"1" help:"Episodes on each lake."`
	Out      string   `placeholder:"DIR" help:"Run folder; runs/play-NAME unless given. One that is there already is gone on with."`
}

// Run lets a person walk.
func (c *playCmd) Run(e *env) error {
	dir := c.Out
	if dir == "" {
		dir = filepath.Join(runsFolder, "play-"+c.Name)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	person := play.New(os.Stdin, e.stdout, isTerminal(e.stdout))
	address, err := person.Serve(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, "Reach the goal. What you remember was true once; the lake has changed since, or will. Nobody tells you more than a model is told.")
	session, err := c.begin(ctx, dir, address)
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-person.Left():
			session.Stop()
		case <-ctx.Done():
		}
	}()
	for event := range session.Events(0) {
		if event.Kind == run.TrialEnded && event.Trial.Error == "" {
			fmt.Fprintf(e.stdout, "\n%s after %d steps, on the lake of seed %d.\n", strings.ToUpper(event.Trial.Outcome), len(event.Trial.Steps), event.Trial.Seed)
		}
	}
	_, err = session.Wait()
	select {
	case <-person.Left():
		return stoppedError{fmt.Errorf("stopped; go on with: %s", commandLine("play", "--name", c.Name, "--out", dir))}
	default:
	}
	if err != nil {
		return err
	}
	stored, err := run.Open(dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	rows, _, err := stored.Rows(store.Query{})
	if err != nil {
		return err
	}
	ends := map[string]int{}
	for i := range rows {
		ends[rows[i].Outcome]++
	}
	fmt.Fprintf(e.stdout, "\n%s: %d reached the goal, %d ended in a hole, %d took too long.\nBeside models: %s; another --out plays again.\n",
		count(len(rows), "episode"), ends[record.Success], ends[record.Death], ends[record.Timeout], commandLine("report", dir, "OTHER-RUN"))
	return nil
}

// begin starts the run, or goes on with one that is there.
func (c *playCmd) begin(ctx context.Context, dir, address string) (*run.Session, error) {
	if _, err := os.Stat(filepath.Join(dir, "run.db")); err == nil {
		return run.Resume(ctx, dir, run.ResumeOptions{Methods: map[string]string{"agent/" + c.Name: address}, RetryErrors: true})
	}
	seeds := "1"
	if len(c.Seed) > 0 {
		seeds = "[" + strings.Join(c.Seed, ", ") + "]"
	}
	s, err := study.Parse(fmt.Sprintf("{base: quick, name: play, seeds: %s, regimes: [%s], tasks: navigate, models: [%q], agents: {%q: {http: %q, timeout: 86400, workers: 1}}, navigation: {modalities: text, strategies: [%s], episodes: %d}}",
		seeds, strings.Join(c.Regime, ", "), "agent/"+c.Name, c.Name, address, strings.Join(c.Strategy, ", "), c.Episodes))
	if err != nil {
		return nil, usageError{err}
	}
	return run.Start(ctx, s, run.Options{Dir: dir, Pace: run.Pace{Concurrency: 1}})
}
