package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type traceCmd struct {
	Dir      string `arg:"" name:"run" type:"run" help:"Run folder, or latest."`
	Trial    string `arg:"" optional:"" help:"The trial's key, or the beginning of it; the flags choose one otherwise."`
	Task     string `placeholder:"TASK" help:"Take a trial of this task: detect or navigate."`
	Model    string `placeholder:"NAME" help:"Take a trial of the model with this name, or one that begins so."`
	Regime   string `placeholder:"L1" help:"Take a trial of this regime."`
	Modality string `placeholder:"text" help:"Take a trial of this modality."`
	Strategy string `placeholder:"omcd" help:"Take a trial of this strategy."`
	Outcome  string `placeholder:"death" help:"Take a trial with this outcome: done, success, death, timeout or error."`
	Seed     *int   `placeholder:"SEED" help:"Take a trial of this seed."`
	Episode  int    `placeholder:"N" help:"Take this episode."`
	Cause    string `placeholder:"stale-shown" help:"Take a death of this cause (docs/export.md)."`
	Calls    bool   `help:"List the trial's calls instead."`
	Prompt   string `placeholder:"SLOT" help:"Show the exact prompt and reply of one of its calls instead, such as step1 or window0/batch0."`
	Color    string `enum:"auto,always,never" default:"auto" help:"Draw in colour: auto, always or never."`
}

// Run tells the first trial that fits.
func (c *traceCmd) Run(e *env) error {
	run, err := store.Open(c.Dir)
	if err != nil {
		return err
	}
	defer run.Close()
	t, others, err := c.find(run)
	if err != nil {
		return err
	}
	if others > 0 {
		fmt.Fprintf(e.stderr, "the first of %d trials that fit, in plan order\n", others+1)
	}
	switch {
	case c.Calls:
		return listCalls(e.stdout, run, t)
	case c.Prompt != "":
		return showCall(e.stdout, run, t, c.Prompt)
	}
	in, err := run.Instance(&t.Spec)
	if err != nil {
		return err
	}
	color := c.Color == "always" || c.Color == "auto" && colored(e.stdout)
	trace := report.Trace{Trial: t, Instance: &in}
	return trace.Write(e.stdout, report.TraceOptions{Color: color})
}

// find returns the first trial that fits and the number of others that do.
func (c *traceCmd) find(run *store.Run) (first *record.Trial, others int, err error) {
	if s, err := study.NamedStrategy(c.Strategy); err == nil {
		c.Strategy = s.Name // also as the paper writes it
	}
	if err := c.known(run); err != nil {
		return nil, 0, err
	}
	for t, err := range run.Trials() {
		if err != nil {
			return nil, 0, err
		}
		switch {
		case !c.fits(t):
		case first == nil:
			first = t
		default:
			others++
		}
	}
	if first == nil {
		return nil, 0, fmt.Errorf("no finished trial of %s fits; its keys stand in trials.jsonl of an export, and without any flag trace takes the first", c.Dir)
	}
	return first, others, nil
}

// known refuses a flag whose value no planned trial has: it is most likely a
// typo.
func (c *traceCmd) known(run *store.Run) error {
	type choice struct {
		flag, want string
		of         func(*record.Spec) string
		have       map[string]bool
	}
	choices := []*choice{
		{"--task", c.Task, func(s *record.Spec) string { return s.Task }, nil},
		{"--regime", c.Regime, func(s *record.Spec) string { return s.Regime }, nil},
		{"--modality", c.Modality, func(s *record.Spec) string { return s.Modality }, nil},
		{"--strategy", c.Strategy, func(s *record.Spec) string { return s.Strategy }, nil},
	}
	for spec, err := range run.Plan() {
		if err != nil {
			return err
		}
		for _, ch := range choices {
			if ch.have == nil {
				ch.have = map[string]bool{}
			}
			ch.have[ch.of(&spec)] = true
		}
	}
	outcomes := map[string]bool{record.Done: true, record.Success: true, record.Death: true, record.Timeout: true, record.Failed: true}
	choices = append(choices, &choice{"--outcome", c.Outcome, nil, outcomes})
	for _, ch := range choices {
		there := slices.Sorted(maps.Keys(ch.have))
		if ch.want != "" && !slices.ContainsFunc(there, func(v string) bool { return strings.EqualFold(v, ch.want) }) {
			return usageError{fmt.Errorf("%s %s: this run has %s", ch.flag, ch.want, strings.Join(there, ", "))}
		}
	}
	return nil
}

func (c *traceCmd) fits(t *record.Trial) bool {
	same := func(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
	return strings.HasPrefix(t.Key, c.Trial) && strings.HasPrefix(t.Model, c.Model) &&
		same(c.Task, t.Task) && same(c.Regime, t.Regime) && same(c.Modality, t.Modality) &&
		same(c.Strategy, t.Strategy) && same(c.Outcome, t.Outcome) &&
		(c.Cause == "" || t.Death != nil && same(c.Cause, t.Death.Cause)) &&
		(c.Seed == nil || *c.Seed == t.Seed) && (c.Episode == 0 || c.Episode == t.Episode)
}

func listCalls(w io.Writer, run *store.Run, t *record.Trial) error {
	calls, err := run.TrialCalls(t.Key)
	if err != nil {
		return err
	}
	for _, call := range calls {
		reply := strings.Join(strings.Fields(call.Reply), " ")
		if runes := []rune(reply); len(runes) > 60 {
			reply = string(runes[:59]) + "…"
		}
		if _, err := fmt.Fprintf(w, "%-18s %-8s %-8s %q\n", call.Slot, call.Purpose, call.Finish, reply); err != nil {
			return err
		}
	}
	return nil
}

// showCall writes one call as it was made.
func showCall(w io.Writer, run *store.Run, t *record.Trial, slot string) error {
	calls, err := run.TrialCalls(t.Key)
	if err != nil {
		return err
	}
	parts, err := run.Prompt(t.Key, slot)
	if err != nil {
		return err
	}
	for _, call := range calls {
		if call.Slot != slot {
			continue
		}
		fmt.Fprintf(w, "=== %s of trial %s, prompt %x\n", slot, t.Key, call.PromptSHA256)
		for _, p := range parts {
			if p.Kind == record.PartPNG {
				fmt.Fprintf(w, "[picture: PNG, %d bytes]\n", len(p.Data))
			} else if _, err := w.Write(p.Data); err != nil {
				return err
			}
		}
		if call.Reasoning != "" {
			fmt.Fprintf(w, "\n=== reasoning, kept apart\n%s\n", call.Reasoning)
		}
		_, err := fmt.Fprintf(w, "\n=== reply (%s)\n%s\n", call.Finish, call.Reply)
		return err
	}
	return nil
}
