package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

type showCmd struct {
	Seed       *int       `placeholder:"SEED" help:"Seed of the instance; the study's first unless given."`
	Regime     string     `default:"L1" help:"Regime of change: L1, L2 or L3."`
	Step       *int       `placeholder:"K" help:"Show the lake after K moves; after all changes unless given."`
	Size       study.Size `default:"8x8" help:"Size of the lake, 4 to 64 cells a side."`
	ViewRadius int        `placeholder:"R" help:"Show only cells within R moves of the agent."`
	Format     string     `enum:"auto,text,color,png,json" default:"auto" help:"text, color, png or json; color on a terminal and text elsewhere unless given."`
	Out        string     `placeholder:"FILE" help:"File to write; the standard output unless given."`

	Prompt       string `enum:"detect,navigate," default:"" placeholder:"TASK" help:"Show the prompts of a task instead: detect or navigate."`
	Modality     string `enum:"text,vision" default:"text" help:"With --prompt: how the lake is shown."`
	Strategy     string `default:"omcd" help:"With --prompt: whose prompts."`
	Framing      string `default:"neutral" help:"With --prompt: how the memory is introduced."`
	Prompts      string `placeholder:"DIR" help:"With --prompt: take prompt files from this folder."`
	WritePrompts string `placeholder:"DIR" help:"Write the prompt files that ship into this folder, to be changed and used with --prompts."`
}

// Run shows an instance or its prompts.
func (c *showCmd) Run(e *env) error {
	if c.WritePrompts != "" {
		if err := study.DefaultPrompts().Write(c.WritePrompts); err != nil {
			return err
		}
		fmt.Fprintln(e.stdout, c.WritePrompts)
		return nil
	}
	regime, err := instance.ParseRegime(c.Regime)
	switch {
	case err != nil:
		return usageError{err}
	case c.ViewRadius < 0:
		return usageError{fmt.Errorf("--view-radius %d: it must not be negative; 0 shows the whole lake", c.ViewRadius)}
	case c.Format == "json" && c.Step != nil:
		return usageError{errors.New("--format json shows the whole instance with its schedule; leave --step out")}
	case c.Prompt != "" && (c.Step != nil || c.Format != "auto"):
		return usageError{errors.New("--prompt shows the prompts of a trial's beginning as text; leave --step and --format out")}
	}
	if c.Seed == nil {
		c.Seed = &instance.Seeds(1)[0]
	}
	if *c.Seed < 0 {
		return usageError{fmt.Errorf("seed %d: it must not be negative", *c.Seed)}
	}
	w, err := c.writer(e)
	if err != nil {
		return err
	}
	if err := c.show(w, regime); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// writer opens the output. A file that is there already is not overwritten.
func (c *showCmd) writer(e *env) (io.WriteCloser, error) {
	if c.Format == "auto" {
		c.Format = "text"
		if c.Out == "" && colored(e.stdout) {
			c.Format = "color"
		}
	}
	if c.Out == "" {
		if c.Format == "png" && isTerminal(e.stdout) {
			return nil, usageError{errors.New("a picture is no text for a terminal; give --out FILE")}
		}
		return nopCloser{e.stdout}, nil
	}
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s is there already and is not overwritten; choose another name", c.Out)
	case err != nil:
		return nil, fmt.Errorf("%w; choose another place for --out", err)
	}
	return f, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (c *showCmd) show(w io.Writer, regime instance.Regime) error {
	if c.Prompt != "" {
		return c.showPrompts(w, regime)
	}
	in, err := instance.New(*c.Seed, regime, instance.Config{Rows: c.Size.Rows, Cols: c.Size.Cols})
	if err != nil {
		return err
	}
	now, when, err := c.lakeAt(in)
	if err != nil {
		return err
	}
	state := observe.State{Grid: now, Agent: now.Start(), Radius: c.ViewRadius}
	switch c.Format {
	case "png":
		data, err := observe.EncodePNG(observe.Render(&state, nil))
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case "json":
		s := c.study(regime)
		recs, err := s.Instances()
		if err != nil {
			return err
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(recs[0])
	}
	return c.describe(w, in, &state, when)
}

// lakeAt returns the lake after --step moves, and the words for that moment.
func (c *showCmd) lakeAt(in *instance.Instance) (lake.Grid, string, error) {
	if c.Step == nil {
		return in.Final(), "after all changes", nil
	}
	g, step := in.Begin(), *c.Step
	if step < 0 || step > g.StepBudget() {
		return g, "", usageError{fmt.Errorf("--step %d: an episode on this lake has moves 0 to %d", step, g.StepBudget())}
	}
	for _, e := range in.Events {
		if e.Step <= step {
			for _, f := range e.Flips {
				f.Apply(&g)
			}
		}
	}
	if step == 0 {
		return g, "before the first move", nil
	}
	return g, fmt.Sprintf("after move %d", step), nil
}

// describe shows the remembered lake beside the present one, and what of the
// memory no longer holds.
func (c *showCmd) describe(w io.Writer, in *instance.Instance, now *observe.State, when string) error {
	entries := memory.Take(in.Seed, &in.Original)
	remembered := observe.State{Grid: in.Original, Agent: in.Original.Start()}
	left, right := remembered.Grid.Rows(), now.Grid.Rows()
	if c.Format == "color" {
		left, right = splitLines(observe.ANSI(&remembered, nil)), splitLines(observe.ANSI(now, nil))
	} else if c.ViewRadius > 0 {
		right = masked(now)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Seed %d, %s, %s\n\n", in.Seed, regimeName(in.Regime), when)
	drawn := in.Original.NumCols() // columns that a drawn lake takes
	if c.Format == "color" {
		drawn = 3 * (drawn + 1)
	}
	width := max(len("remembered"), drawn)
	fmt.Fprintf(&b, "%-*s   %s\n", width, "remembered", "now")
	for i := range left {
		fmt.Fprintf(&b, "%s%*s   %s\n", left[i], width-drawn, "", right[i])
	}
	var lines []string
	thaw := 0
	for i := range entries {
		if e := &entries[i]; e.Stale(&now.Grid) {
			lines = append(lines, fmt.Sprintf("  %-58s now %v", e.Line(), now.Grid.At(e.Pos)))
			if e.Claim == memory.Safe {
				thaw++
			}
		}
	}
	fmt.Fprintf(&b, "\n%d of %d memory entries are stale (%.1f%%): %d thaw (says SAFE, now a hole), %d freeze (says DANGER, now ice)\n",
		len(lines), len(entries), 100*float64(len(lines))/float64(len(entries)), thaw, len(lines)-thaw)
	for _, line := range lines {
		fmt.Fprintln(&b, line)
	}
	if len(in.Events) > 0 {
		fmt.Fprintf(&b, "\nThe schedule of changes:\n")
		for _, e := range in.Events {
			fmt.Fprintf(&b, "  after move %2d:", e.Step)
			for _, f := range e.Flips {
				fmt.Fprintf(&b, " %v becomes %v ", f.Pos, f.Cell())
			}
			fmt.Fprintln(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func regimeName(r instance.Regime) string {
	return map[instance.Regime]string{
		instance.L1: "L1 (spot)", instance.L2: "L2 (cluster)", instance.L3: "L3 (online)",
	}[r]
}

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// masked writes the rows of a partial view with "?" for what is not seen.
func masked(s *observe.State) []string {
	rows := s.Grid.Rows()
	for r, mask := range s.Visible() {
		line := []byte(rows[r])
		for c := range line {
			if mask[c] == '0' {
				line[c] = '?'
			}
		}
		rows[r] = string(line)
	}
	return rows
}

// study is the study of one seed that the flags describe.
func (c *showCmd) study(regime instance.Regime) *study.Study {
	s, err := study.Preset("paper")
	if err != nil {
		panic(err) // the preset ships with the program
	}
	s.Models = s.Models[:1]
	s.Seeds = []int{*c.Seed}
	s.Regimes = []instance.Regime{regime}
	s.Sizes = []study.Size{c.Size}
	s.Framings = []string{c.Framing}
	s.ViewRadius = c.ViewRadius
	return s
}

// showPrompts writes the prompts of a task as a model is sent them.
func (c *showCmd) showPrompts(w io.Writer, regime instance.Regime) error {
	by, err := study.NamedStrategy(c.Strategy)
	if err != nil {
		return usageError{err}
	}
	s := c.study(regime)
	if c.Prompt == record.Detect {
		s.Navigation = nil
		s.Detection.Detectors = []study.Strategy{by}
		s.Detection.Modalities = []string{c.Modality}
	} else {
		s.Detection = nil
		s.Navigation.Strategies = []study.Strategy{by}
		s.Navigation.Modalities = []string{c.Modality}
	}
	if c.Prompts != "" {
		if err := s.ReadPrompts(c.Prompts); err != nil {
			return err
		}
	}
	if err := s.Check(); err != nil {
		return usageError{err}
	}
	var requests []*llm.Request
	for t := range s.Plan() { // the first trial stands for all
		if requests, err = run.Requests(s, &t); err != nil {
			return err
		}
		break
	}
	for _, req := range requests {
		fmt.Fprintf(w, "=== %s\n", req.Slot)
		for i := range req.Parts {
			if p := &req.Parts[i]; p.IsImage() {
				fmt.Fprintf(w, "[picture: PNG, %d bytes; see it with show --format png]\n", len(p.PNG()))
			} else if _, err := io.WriteString(w, p.Text()); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "--- reply schema %s: %s\n\n", req.Schema.Name, req.Schema.Sent())
	}
	return nil
}
