package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spatialstale/spatialstale/study"
)

type planCmd struct {
	studyFlags
	JSON bool `name:"json" help:"Write the plan as JSON."`
}

// Run says what run would do. It asks no model and writes no file.
func (c *planCmd) Run(e *env) error {
	s, err := c.build()
	if err != nil {
		return err
	}
	if err := nameModels(s); err != nil {
		return err
	}
	if err := s.Check(); err != nil { // two names may turn out to be one model's
		return usageError{err}
	}
	calls, err := s.Calls()
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Study *study.Study  `json:"study"`
			Calls []study.Calls `json:"calls"`
		}{s, calls})
	}
	type line struct{ task, model string }
	var order []line
	sums := map[line]*study.Calls{}
	var total study.Calls
	for i := range calls {
		l := line{calls[i].Task, calls[i].Model}
		sum := sums[l]
		if sum == nil {
			sum = &study.Calls{}
			sums[l] = sum
			order = append(order, l)
		}
		for _, to := range []*study.Calls{sum, &total} {
			to.Trials += calls[i].Trials
			to.Least += calls[i].Least
			to.Most += calls[i].Most
		}
	}
	fmt.Fprintf(e.stdout, "Study %s: %s, %s, %s\n\n", s.Name, count(len(s.Models), "model"), count(len(s.Seeds), "seed"), count(len(s.Regimes), "regime"))
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "task\ttrials\tcalls\t  model\n")
	row := func(task string, c *study.Calls, model string) {
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
	_, err = fmt.Fprintf(e.stdout, "\nCalls of a detection are exact; an episode's depend on how long the model walks.\nNothing was spent. To do it, say run in place of plan.\n")
	return err
}
