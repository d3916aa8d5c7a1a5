package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// lakeFlags choose among the lakes of a study.
type lakeFlags struct {
	Seeds  *int         `placeholder:"N" group:"What is run:" help:"Take the first N of the study's 50 seeds (more than 50 continues the same draw)."`
	Seed   []int        `placeholder:"SEED" group:"What is run:" help:"Take this seed; repeat for several."`
	Regime []string     `placeholder:"L1,L2,L3" group:"What is run:" help:"Regimes of change: L1 (spot), L2 (cluster), L3 (online)."`
	Size   []study.Size `placeholder:"ROWSxCOLS" group:"What is run:" help:"Size of the lake, 4 to 64 cells a side; one number for a square."`
}

// studyFlags choose a study and change it.
type studyFlags struct {
	Study string   `arg:"" optional:"" help:"Preset or YAML file (docs/studies.md); paper unless given. Presets: paper, quick, vision, batch, score, framing, sizes."`
	Set   []string `sep:"none" placeholder:"KEY=VALUE" group:"What is run:" help:"Change a setting of the study, as in navigation.episodes=3; repeat for several."`
	Model []string `sep:"none" placeholder:"NAME" group:"What is run:" help:"Model to run, as provider/name (spatialstale models lists them); repeat for several. Replaces the study's models."`
	lakeFlags
	Task       []string `placeholder:"detect,navigate" group:"What is run:" help:"Tasks to run."`
	Modality   []string `placeholder:"text,vision" group:"What is run:" help:"How observations are shown, in every task."`
	Strategy   []string `placeholder:"omcd,…" group:"What is run:" help:"Strategies: no-memory, no-filter, self-verify, omcd, oracle, score. Detection takes those that ask a model."`
	Episodes   *int     `placeholder:"N" group:"What is run:" help:"Episodes per seed, regime, strategy and model."`
	Framing    []string `placeholder:"neutral" group:"What is run:" help:"How the memory is introduced: neutral, trusted, warned."`
	ViewRadius int      `placeholder:"R" group:"What is run:" help:"Show only cells within R moves of the agent; 0 shows the whole lake."`
	Strict     bool     `name:"strict-schedule" group:"What is run:" help:"Apply every L3 change to the letter, even under the agent."`
	Again      bool     `group:"What is run:" help:"Ask once more for verdicts that a reply left out."`

	Temperature *float64 `placeholder:"T" group:"What models are asked for:" help:"Sampling temperature; the provider's default unless given."`
	TopP        *float64 `placeholder:"P" group:"What models are asked for:" help:"Nucleus sampling; the provider's default unless given."`
	MaxTokens   *int     `placeholder:"N" group:"What models are asked for:" help:"Cap on a reply's tokens, thinking as well; ample for the answer asked unless given."`
	Thinking    *int     `placeholder:"N" group:"What models are asked for:" help:"Budget of thinking in tokens, where a protocol has one; 0 asks for none."`
	Logprobs    bool     `group:"What models are asked for:" help:"The probabilities behind the verdicts, where a server gives them."`
}

// build returns the study that the flags describe.
func (f *studyFlags) build() (*study.Study, error) {
	s, err := f.base()
	if err != nil {
		return nil, usageError{err}
	}
	return f.change(s)
}

// change applies the flags to a study and returns it.
func (f *studyFlags) change(s *study.Study) (*study.Study, error) {
	for _, setting := range f.Set {
		if err := s.Set(setting); err != nil {
			return nil, usageError{err}
		}
	}
	if len(f.Model) > 0 {
		s.Models = f.Model
	}
	switch {
	case f.Seeds != nil && len(f.Seed) > 0:
		return nil, usageError{errors.New("--seeds takes the first seeds of the study and --seed names them; give one of the two")}
	case f.Seeds != nil && (*f.Seeds < 1 || *f.Seeds > instance.MaxSeeds):
		return nil, usageError{fmt.Errorf("--seeds %d: there are 1 to %d", *f.Seeds, instance.MaxSeeds)}
	case f.Seeds != nil:
		s.AskFirst(*f.Seeds)
	case len(f.Seed) > 0:
		s.AskSeeds(f.Seed)
	}
	if len(f.Regime) > 0 {
		var regimes []instance.Regime
		for _, name := range f.Regime {
			r, err := instance.ParseRegime(name)
			if err != nil {
				return nil, usageError{err}
			}
			regimes = append(regimes, r)
		}
		s.AskRegimes(regimes)
	}
	if err := f.chooseTasks(s); err != nil {
		return nil, usageError{err}
	}
	if len(f.Size) > 0 {
		s.AskSizes(f.Size)
	}
	if len(f.Framing) > 0 {
		s.Framings = f.Framing
	}
	if f.Temperature != nil {
		s.Params.Temperature = f.Temperature
	}
	if f.TopP != nil {
		s.Params.TopP = f.TopP
	}
	if f.MaxTokens != nil {
		s.Params.MaxTokens = f.MaxTokens
	}
	if f.Thinking != nil {
		s.Params.Thinking = f.Thinking
	}
	s.Params.Logprobs = s.Params.Logprobs || f.Logprobs
	if f.ViewRadius != 0 {
		s.ViewRadius = f.ViewRadius
	}
	s.Strict, s.Again = s.Strict || f.Strict, s.Again || f.Again
	if err := s.Check(); err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

// base is the study before the flags change it: a file where the name looks
// like one, a preset otherwise.
func (f *studyFlags) base() (*study.Study, error) {
	if f.Study == "" {
		return study.Preset("paper")
	}
	if strings.ContainsAny(f.Study, "./\\") {
		return study.ReadFile(f.Study)
	}
	s, err := study.Preset(f.Study)
	if err != nil {
		return nil, fmt.Errorf("%w; a file's name ends in .yaml", err)
	}
	return s, nil
}

// chooseTasks applies the flags that concern tasks.
func (f *studyFlags) chooseTasks(s *study.Study) error {
	for _, task := range f.Task {
		if task != record.Detect && task != record.Navigate {
			return fmt.Errorf("unknown task %q; there are %s and %s", task, record.Detect, record.Navigate)
		}
	}
	if len(f.Task) > 0 {
		if !slices.Contains(f.Task, record.Detect) {
			s.Detection = nil
		}
		if !slices.Contains(f.Task, record.Navigate) {
			s.Navigation = nil
		}
	}
	var all, detectors []study.Strategy
	for _, name := range f.Strategy {
		st, err := study.NamedStrategy(name)
		if err != nil {
			return err
		}
		all = append(all, st)
		if st.Detects() {
			detectors = append(detectors, st)
		}
	}
	if d := s.Detection; d != nil {
		if len(f.Modality) > 0 {
			d.Modalities = f.Modality
		}
		switch {
		case len(detectors) > 0:
			d.Detectors = detectors
		case len(all) > 0 && slices.Contains(f.Task, record.Detect):
			return fmt.Errorf("--strategy %s: a detection needs one that asks a model to judge the memory, such as omcd", strings.Join(f.Strategy, ","))
		}
	}
	if n := s.Navigation; n != nil {
		if len(f.Modality) > 0 {
			n.Modalities = f.Modality
		}
		if len(all) > 0 {
			n.Strategies = all
		}
		if f.Episodes != nil {
			n.Episodes = *f.Episodes
		}
	}
	return nil
}
