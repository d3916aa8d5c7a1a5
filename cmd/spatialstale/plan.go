package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/results"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

type planCmd struct {
	studyFlags
	powerFlags
	Prices     string  `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	Budget     *amount `placeholder:"USD" help:"Say how far this would go."`
	BatchAPI   bool    `name:"batch-api" help:"Count the calls of detections at the price of batches, where the provider has some."`
	BatchSteps bool    `help:"With --batch-api, those of episodes too."`
	Detail     string  `enum:",low,high,auto" default:"" placeholder:"low|high|auto" help:"How closely pictures are to be looked at, where a protocol has it."`
	JSON       bool    `name:"json" help:"Write the plan as JSON."`
}

// Run says what run would do, and what it would cost. It asks no model and
// writes no file.
func (c *planCmd) Run(e *env) error {
	if err := c.powerFlags.check(); err != nil {
		return usageError{err}
	}
	s, err := c.build()
	if err != nil {
		return err
	}
	if err := run.NameStudy(s); err != nil {
		return err
	}
	if err := s.Check(); err != nil { // two names may turn out to be one model's
		return usageError{err}
	}
	if c.Power {
		t, err := c.powerFlags.table(s)
		if err != nil {
			return err
		}
		format := "text"
		if c.JSON {
			format = "json"
		}
		return printTables(e.stdout, []analysis.Table{t}, format)
	}
	prices, err := results.Prices(c.Prices)
	if err != nil {
		return err
	}
	calls, err := run.Volumes(s)
	if err != nil {
		return err
	}
	var batches *run.Batches
	if c.BatchAPI {
		batches = &run.Batches{Steps: c.BatchSteps}
	} else if c.BatchSteps {
		return usageError{errors.New("--batch-steps says how --batch-api asks; give it as well")}
	}
	models := run.EstimatesOf(s, calls, prices, c.Detail, batches)
	var affordable *run.Affordable
	if c.Budget != nil {
		affordable = new(run.AffordableWith(price.USD(*c.Budget), models, len(s.Seeds)))
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Study  *study.Study    `json:"study"`
			Calls  []run.Volume    `json:"calls"`
			Prices string          `json:"prices"` // the list's date
			Models []run.Estimate  `json:"models"`
			Budget *run.Affordable `json:"budget,omitempty"`
		}{s, calls, prices.Date, models, affordable})
	}
	type line struct{ task, model string }
	var order []line
	sums := map[line]*run.Calls{}
	var total run.Calls
	for i := range calls {
		l := line{calls[i].Task, calls[i].Model}
		sum := sums[l]
		if sum == nil {
			sum = &run.Calls{}
			sums[l] = sum
			order = append(order, l)
		}
		for _, to := range []*run.Calls{sum, &total} {
			to.Trials += calls[i].Trials
			to.Least += calls[i].Calls.Least
			to.Most += calls[i].Calls.Most
		}
	}
	fmt.Fprintf(e.stdout, "Study %s: %s, %s, %s\n\n", s.Name, count(len(s.Models), "model"), count(len(s.Seeds), "seed"), count(len(s.Regimes), "regime"))
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "task\ttrials\tcalls\t  model\n")
	row := func(task string, c *run.Calls, model string) {
		calls := fmt.Sprint(c.Least)
		if c.Most != c.Least {
			calls = fmt.Sprintf("%d to %d", c.Least, c.Most)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t  %s\n", task, c.Trials, calls, model)
	}
	for _, l := range order {
		row(l.task, sums[l], l.model)
	}
	row("all", &total, "")
	if err := w.Flush(); err != nil {
		return err
	}
	if err := c.bill(e, prices, models); err != nil {
		return err
	}
	if affordable != nil {
		fmt.Fprintf(e.stdout, "\n%v\n", *affordable)
	}
	if reach, compares := s.Reach(); compares && reach.Warning() != "" {
		fmt.Fprintf(e.stdout, "\n%s\n", reach.Warning())
	}
	_, err = fmt.Fprintf(e.stdout, "\nCalls of a detection are exact; an episode's depend on how long the model walks.\nNothing was spent. To do it, say run in place of plan.\n")
	return err
}

// bill writes what tokens and money the models would take; nothing for controls.
func (c *planCmd) bill(e *env, prices *price.List, models []run.Estimate) error {
	if controls(models) == len(models) {
		return nil
	}
	fmt.Fprintf(e.stdout, "\nTokens and dollars: likely (least to most)\n\n")
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "calls\tinput\tof it cached\toutput\tUSD\t  model\n")
	for i := range models {
		m := &models[i]
		if m.Control {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", spread(&m.Calls), spread(m.Input), cached(m), spread(&m.Output), money(m), m.Model)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(models)-controls(models) > 1 {
		fmt.Fprintf(e.stdout, "\nAll models together: %s\n", totalMoney(models))
	}
	in := ""
	switch {
	case c.BatchSteps:
		in = ", of calls in batches"
	case c.BatchAPI:
		in = ", of calls in batches for detections"
	}
	fmt.Fprintf(e.stdout, "\nBy the list of prices of %s%s. Tokens of texts are estimated; least has the shortest episodes and all that a cache may serve,\n"+
		"likely has episodes as long as the shortest way, most has the longest and writes to the cap on output in each call.\n", prices.Date, in)
	for _, n := range notes(models) {
		fmt.Fprintf(e.stdout, "- %s\n", n)
	}
	return nil
}
