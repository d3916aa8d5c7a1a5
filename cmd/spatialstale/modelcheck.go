package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spatialstale/spatialstale/audit/check"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/stats"
	"github.com/spatialstale/spatialstale/study"
)

// A checked model is what models --check says of it.
type checked struct {
	Model string `json:"model"`
	*check.Result
	Lake    []lakeTally `json:"lake"`
	Sight   string      `json:"sight,omitempty"` // why there is no lake in pictures
	Error   string      `json:"error,omitempty"` // why the lake could not be audited
	CostUSD *float64    `json:"cost_usd,omitempty"`
}

// A lakeTally is what a model made of one seed of the benchmark.
type lakeTally struct {
	Modality string      `json:"modality"`
	Found    stats.Count `json:"found"`
	Flagged  stats.Count `json:"flagged"`
	Silent   stats.Count `json:"silent"`
}

// check says of each named model whether it can be trusted to audit.
func (c *modelsCmd) check(e *env) error {
	if err := run.NameModels(c.Model); err != nil {
		return err
	}
	if i := slices.IndexFunc(c.Model, run.IsControl); i >= 0 {
		return usageError{fmt.Errorf("%s is a control: it reads prompts of the lake only, and cannot audit a memory", c.Model[i])}
	}
	var o run.Options
	if err := c.fill(&o); err != nil {
		return err
	}
	var err error
	if o.Models, err = c.models(c.Model); err != nil {
		return err
	}
	worst := exitDone
	var all []checked
	for _, name := range c.Model {
		m, err := checkModel(e, o, name)
		if err != nil {
			return err
		}
		all = append(all, *m)
		if !c.JSON {
			if len(all) > 1 {
				fmt.Fprintln(e.stdout)
			}
			fmt.Fprint(e.stdout, m.text())
		}
		worst = max(worst, map[string]int{check.NotChecked: exitFailed, check.OnlyMark: exitMark, check.Unfit: exitUnfit}[m.Verdict])
	}
	if c.JSON {
		if err := writeJSON(e.stdout, all); err != nil {
			return err
		}
	}
	if worst != exitDone {
		return exitWith(worst)
	}
	return nil
}

// checkModel asks a model the built-in cases, and one seed of the benchmark in
// text and, if it sees, in pictures.
func checkModel(e *env, o run.Options, name string) (*checked, error) {
	single, _, err := run.OpenModel(name, o)
	if err != nil {
		return nil, err
	}
	var cost price.USD
	priced, known := price.Shipped().Of(name)
	m := llm.Retry(llm.Limit(llm.Capped(single, models.CapOptions(price.Shipped(), name)), llm.LimitOptions{Model: name}), llm.RetryOptions{})
	fmt.Fprintf(e.stderr, "%s: built-in cases, then one seed of the benchmark\n", name)
	result, err := check.Run(e.ctx, m, func(done, all int) {
		if isTerminal(e.stderr) && done%6 == 0 {
			fmt.Fprintf(e.stderr, "%d of %d cases\n", done, all)
		}
	})
	if err != nil {
		return nil, err
	}
	out := &checked{Model: name, Result: result}
	if known {
		for _, u := range result.Usage {
			cost += priced.Cost(u).USD
		}
	}
	if result.Verdict != check.NotChecked {
		var modalities string
		if modalities, out.Sight = out.modalities(e, m); out.Sight != "" {
			out.Sight = "no pictures: " + out.Sight
		}
		spent, err := out.lake(e, o, modalities)
		if cost += spent; err != nil {
			out.Error = bareError(err)
		}
	}
	if known {
		dollars := cost.Dollars()
		out.CostUSD = &dollars
	}
	return out, nil
}

// modalities are those in which the model can see a lake, and why it is not both.
func (c *checked) modalities(e *env, m llm.Model) (modalities, sight string) {
	switch err := llm.CheckSight(e.ctx, llm.Capped(m, llm.CapOptions{Thinking: pingTokens})); {
	case err == nil:
		return "[text, vision]", ""
	case errors.Is(err, llm.ErrBlind):
		return "[text]", err.Error()
	default:
		return "[text]", bareError(err)
	}
}

// lake runs one seed of the benchmark.
func (c *checked) lake(e *env, o run.Options, modalities string) (spent price.USD, err error) {
	s, err := study.Parse(fmt.Sprintf("{base: quick, seeds: 1, regimes: L1, tasks: detect, detection: {modalities: %s}, models: [%q]}", modalities, c.Model))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "spatialstale-check")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	o.Dir, o.Blind = filepath.Join(dir, "run"), true
	session, err := run.Start(e.ctx, s, o)
	if err != nil {
		return 0, err
	}
	if _, err = session.Wait(); err != nil {
		return 0, err
	}
	stored, err := run.Open(o.Dir)
	if err != nil {
		return 0, err
	}
	defer stored.Close()
	for call, err := range stored.Calls() {
		if err != nil {
			return spent, err
		}
		if cost := run.CostOf(price.Shipped(), call); cost != nil {
			spent += cost.USD
		}
	}
	for t, err := range stored.Trials() {
		if err != nil {
			return spent, err
		}
		l := lakeTally{Modality: t.Modality}
		for _, w := range t.Windows {
			for _, j := range w.Judgments {
				count := &l.Flagged
				if j.Truth {
					count = &l.Found
				}
				count.N++
				l.Silent.N++
				switch j.Verdict {
				case record.Stale:
					count.Hits++
				case record.Valid, record.NotCovered:
				default:
					l.Silent.Hits++
				}
			}
		}
		c.Lake = append(c.Lake, l)
	}
	return spent, nil
}

// text is the result for people.
func (c *checked) text() string {
	s := c.Model + " is " + c.Text()
	for _, l := range c.Lake {
		s += fmt.Sprintf("One seed of the frozen lake, %s: %s stale found, %s others flagged, %d without a verdict.\n",
			map[string]string{record.Text: "in text", record.Vision: "in pictures"}[l.Modality], check.Share(l.Found, true), check.Share(l.Flagged, true), l.Silent.Hits)
	}
	for _, why := range []string{c.Sight, c.Error} {
		if why != "" {
			s += why + "\n"
		}
	}
	if c.CostUSD != nil {
		s += fmt.Sprintf("It cost $%.4f.\n", *c.CostUSD)
	}
	return s
}
