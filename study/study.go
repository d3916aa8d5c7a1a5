// Package study says what an experiment is: a configuration, and the plan of
// trials that follows from it (paper, sections 4 and 5). Both are data: no model is
// asked, no clock read, and nothing is written. Package run does what a plan
// says.
package study

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// A Study is the whole configuration of an experiment.
type Study struct {
	Name         string             `json:"name"`
	Models       []string           `json:"models"` // provider/name, as in "ref/reader"
	Seeds        []int              `json:"seeds"`
	Sizes        []Size             `json:"sizes"`
	HoleFraction float64            `json:"hole_fraction"`
	Regimes      []instance.Regime  `json:"regimes"`
	Framings     []string           `json:"framings"`
	Detection    *Detection         `json:"detection,omitempty"`  // nil: no detection
	Navigation   *Navigation        `json:"navigation,omitempty"` // nil: no navigation
	Agents       map[string]*Method `json:"agents,omitempty"`     // agents in other programs, which walk as models (record.AgentPrefix)
	Params       llm.Params         `json:"params"`
	Again        bool               `json:"again"`           // ask once more for the verdicts that a reply left out
	ViewRadius   int                `json:"view_radius"`     // Manhattan; 0 for the whole lake
	Strict       bool               `json:"strict_schedule"` // apply every L3 flip to the letter, even under the agent

	// Prompts are prompt files, by name, that take the place of those that ship,
	// and the words of framings of the study's own. They are identified by their
	// hashes in a run's manifest and are no part of a trial's key.
	Prompts Prompts `json:"-"`

	// What is tested, declared before the run. It determines no trial.
	record.Tests

	// Dataset says that instances are not all those that the seeds give: Take
	// must hand them over before the study can run.
	Dataset bool `json:"dataset,omitempty"`

	// Shard says of which study the seeds are a part; nil for none.
	Shard *Shard `json:"shard,omitempty"`

	// Branch says of which episode the trials are continuations; nil for none.
	Branch *Branch `json:"branch,omitempty"`

	// Asked says which lakes were asked for by name. It determines no trial.
	Asked Asked `json:"-"`

	given map[place]*given // by Take
}

// Detection is the task of finding stale entries, with the agent at the start.
type Detection struct {
	Modalities []string   `json:"modalities"`
	Detectors  []Strategy `json:"detectors"`
	// Distractors are so many entries behind those of the lake that no observation
	// can make stale (memory.Distract).
	Distractors int `json:"distractors,omitempty"`
}

// Navigation is the task of walking to the goal.
type Navigation struct {
	Modalities []string   `json:"modalities"`
	Strategies []Strategy `json:"strategies"`
	Episodes   int        `json:"episodes"` // per seed, strategy, regime and model
	// Who walks, where not every model does all: the models that navigate, nil for
	// all, and strategies with the models that alone run them.
	Models []string            `json:"models,omitempty"`
	Only   map[string][]string `json:"only,omitempty"`
}

// detects reports whether a model's trials have a detection by a strategy: an
// agent in another program can judge nothing itself.
func (d *Detection) detects(model string, by Strategy) bool {
	return !IsAgent(model) || !by.AsksModel()
}

// walks reports whether a model navigates by a strategy.
func (n *Navigation) walks(model string, by Strategy) bool {
	only, restricted := n.Only[by.Name]
	return (len(n.Models) == 0 || slices.Contains(n.Models, model)) && (!restricted || slices.Contains(only, model)) && (!IsAgent(model) || !by.AsksModel())
}

// A Size is a lake's size in cells, written "8x8", rows first.
type Size struct{ Rows, Cols int }

// String returns "ROWSxCOLS".
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Rows, s.Cols) }

// MarshalText writes "ROWSxCOLS".
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "ROWSxCOLS" or one number for both sides.
func (s *Size) UnmarshalText(b []byte) error {
	rows, cols, both := strings.Cut(string(b), "x")
	if !both {
		cols = rows
	}
	var err1, err2 error
	s.Rows, err1 = strconv.Atoi(rows)
	s.Cols, err2 = strconv.Atoi(cols)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("size %q: write it as 16 or 8x12, rows first", b)
	}
	if err := lake.CheckSize(s.Rows, s.Cols); err != nil {
		return fmt.Errorf("size %q: %w", b, err)
	}
	return nil
}

// Framings are the wordings that introduce the memory in prompts and ship with
// the program; a study may have its own (Study.Prompts).
var Framings = record.Framings.Names()

// Tasks are what a study can do.
var Tasks = []string{record.Detect, record.Navigate}

// Modalities are the ways an observation is shown.
var Modalities = record.Modalities.Names()

var namePattern = regexp.MustCompile(`^[\pL\pN][\pL\pN ._-]{0,99}$`)

// Check returns an error that names everything wrong with the study, nil when
// it can be planned. Models are not looked up.
func (s *Study) Check() error {
	errs := s.checkFields()
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, size := range s.Sizes {
		if err := lake.CheckSize(size.Rows, size.Cols); err != nil {
			errs = append(errs, err)
		}
	}
	if !namePattern.MatchString(s.Name) {
		fail("name %q: it names the run's folder; use letters, digits, spaces, and . _ - behind the first", s.Name)
	}
	if s.Detection == nil && s.Navigation == nil {
		fail("no task; there are detect and navigate")
	}
	if d := s.Detection; d != nil {
		for _, st := range d.Detectors {
			if !st.Detects() {
				fail("detection: %s asks no model to judge the memory; use omcd or self-verify", st.Name)
			}
			if d.Distractors > 0 && st.Auditor == AuditTranscript {
				fail("detection: %s judges no entry that says nothing of a cell; leave it out, or distractors", st.Name)
			}
		}
	}
	errs = append(errs, s.checkMethods(), s.checkBranch(), s.checkShard())
	if n := s.Navigation; n != nil {
		for strategy, models := range n.Only {
			if !slices.ContainsFunc(n.Strategies, func(st Strategy) bool { return st.Name == strategy }) {
				fail("navigation.only: %s is none of the strategies that are run", strategy)
			}
			errs = append(errs, checkEach(models, s.known("navigation.only")))
		}
		errs = append(errs, checkEach(n.Models, s.known("navigation.models")))
	}
	if s.tooLarge() {
		fail("the study has more than %d trials, which are more than can be made; take fewer seeds, sizes, episodes or models", maxTrials)
	}
	return errors.Join(append(errs, s.checkTests()...)...)
}

// known returns a check that a model is one of the study's.
func (s *Study) known(key string) func(model string) error {
	return func(model string) error {
		if !slices.Contains(s.Models, model) {
			return fmt.Errorf("%s: %s is none of the study's models", key, model)
		}
		return nil
	}
}

// Shows reports whether any task shows the lake in that way.
func (s *Study) Shows(modality string) bool {
	return s.Detection != nil && slices.Contains(s.Detection.Modalities, modality) ||
		s.Navigation != nil && slices.Contains(s.Navigation.Modalities, modality)
}
