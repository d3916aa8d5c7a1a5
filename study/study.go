// Package study says what an experiment is: a configuration, and the plan of
// trials that follows from it (paper, section 4). Both are data: no model is
// asked, no clock read, and nothing is written. Package run does what a plan
// says.
package study

import (
	"errors"
	"fmt"
	"math"
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
	Name         string            `json:"name"`
	Models       []string          `json:"models"` // provider/name, as in "ref/reader"
	Seeds        []int             `json:"seeds"`
	Sizes        []Size            `json:"sizes"`
	HoleFraction float64           `json:"hole_fraction"`
	Regimes      []instance.Regime `json:"regimes"`
	Framings     []string          `json:"framings"`
	Detection    *Detection        `json:"detection,omitempty"`  // nil: no detection
	Navigation   *Navigation       `json:"navigation,omitempty"` // nil: no navigation
	Params       llm.Params        `json:"params"`
	Again        bool              `json:"again"`           // ask once more for the verdicts that a reply left out
	ViewRadius   int               `json:"view_radius"`     // Manhattan; 0 for the whole lake
	Strict       bool              `json:"strict_schedule"` // apply every L3 flip to the letter, even under the agent

	// What is tested, declared before the run. It determines no trial.
	record.Tests

	// Dataset says that instances are not all those that the seeds give: Take
	// must hand them over before the study can run.
	Dataset bool `json:"dataset,omitempty"`

	// Asked says which lakes were asked for by name. It determines no trial.
	Asked Asked `json:"-"`

	given map[place]*given // by Take
}

// Detection is the task of finding stale entries, with the agent at the start.
type Detection struct {
	Modalities []string   `json:"modalities"`
	Detectors  []Strategy `json:"detectors"`
}

// Navigation is the task of walking to the goal.
type Navigation struct {
	Modalities []string   `json:"modalities"`
	Strategies []Strategy `json:"strategies"`
	Episodes   int        `json:"episodes"` // per seed, strategy, regime and model
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

// Framings are the wordings that introduce the memory in prompts.
var Framings = []string{"neutral", "trusted", "warned"}

// Tasks are what a study can do.
var Tasks = []string{record.Detect, record.Navigate}

// Modalities are the ways an observation is shown.
var Modalities = []string{record.Text, record.Vision}

var namePattern = regexp.MustCompile(`^[\pL\pN][\pL\pN ._-]{0,99}$`)

// Check returns an error that names everything wrong with the study, nil when
// it can be planned. Models are not looked up.
func (s *Study) Check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(s.Models) == 0 {
		fail("no model; name at least one")
	}
	if len(s.Seeds) == 0 {
		fail("no seed; name at least one")
	}
	for _, seed := range s.Seeds {
		if seed < 0 {
			fail("seed %d: it must not be negative", seed)
		}
	}
	if len(s.Sizes) == 0 {
		fail("no size; name at least one")
	}
	for _, size := range s.Sizes {
		if err := lake.CheckSize(size.Rows, size.Cols); err != nil {
			errs = append(errs, err)
		}
	}
	if !(s.HoleFraction > 0 && s.HoleFraction < 1) {
		fail("hole fraction %v: it must lie between 0 and 1", s.HoleFraction)
	}
	if len(s.Regimes) == 0 {
		fail("no regime; there are L1, L2 and L3")
	}
	for _, r := range s.Regimes {
		if _, err := instance.ParseRegime(string(r)); err != nil {
			errs = append(errs, err)
		}
	}
	if len(s.Framings) == 0 {
		fail("no framing; there are %s", strings.Join(Framings, ", "))
	}
	for _, f := range s.Framings {
		if !slices.Contains(Framings, f) {
			fail("unknown framing %q; there are %s", f, strings.Join(Framings, ", "))
		}
	}
	if s.ViewRadius < 0 {
		fail("view radius %d: it must not be negative; 0 shows the whole lake", s.ViewRadius)
	}
	if !namePattern.MatchString(s.Name) {
		fail("name %q: it names the run's folder; use letters, digits, spaces, and . _ - behind the first", s.Name)
	}
	if p := s.Params; p.Temperature != nil && !(*p.Temperature >= 0 && *p.Temperature <= math.MaxFloat32) {
		fail("temperature %v: it must be a number that is not negative", *p.Temperature)
	}
	if p := s.Params; p.TopP != nil && !(*p.TopP >= 0 && *p.TopP <= 1) {
		fail("top_p %v: it must lie between 0 and 1", *p.TopP)
	}
	if p := s.Params; p.MaxTokens != nil && *p.MaxTokens < 1 {
		fail("max_tokens %d: at least one is needed", *p.MaxTokens)
	}
	if p := s.Params; p.Thinking != nil && *p.Thinking < 0 {
		fail("thinking %d: a budget of tokens must not be negative; 0 asks for none", *p.Thinking)
	}
	if s.Detection == nil && s.Navigation == nil {
		fail("no task; there are detect and navigate")
	}
	if d := s.Detection; d != nil {
		errs = append(errs, checkModalities("detection", d.Modalities))
		errs = append(errs, checkStrategies("detection", d.Detectors))
		for _, st := range d.Detectors {
			if !st.Detects() {
				fail("detection: %s asks no model to judge the memory; use omcd or self-verify", st.Name)
			}
		}
	}
	if n := s.Navigation; n != nil {
		errs = append(errs, checkModalities("navigation", n.Modalities))
		errs = append(errs, checkStrategies("navigation", n.Strategies))
		if n.Episodes < 1 {
			fail("navigation: %d episodes; at least one is needed", n.Episodes)
		}
	}
	errs = append(errs, s.checkTests()...)
	errs = append(errs, repeated("model", s.Models), repeated("seed", s.Seeds), repeated("regime", s.Regimes),
		repeated("size", s.Sizes), repeated("framing", s.Framings))
	return errors.Join(errs...)
}

// Shows reports whether any task shows the lake in that way.
func (s *Study) Shows(modality string) bool {
	return s.Detection != nil && slices.Contains(s.Detection.Modalities, modality) ||
		s.Navigation != nil && slices.Contains(s.Navigation.Modalities, modality)
}

func checkModalities(task string, modalities []string) error {
	if len(modalities) == 0 {
		return fmt.Errorf("%s: no modality; there are text and vision", task)
	}
	for _, m := range modalities {
		if !slices.Contains(Modalities, m) {
			return fmt.Errorf("%s: unknown modality %q; there are text and vision", task, m)
		}
	}
	return repeated("modality", modalities)
}

func checkStrategies(task string, strategies []Strategy) error {
	if len(strategies) == 0 {
		return fmt.Errorf("%s: no strategy; there are %s", task, strings.Join(StrategyNames(), ", "))
	}
	for _, st := range strategies {
		if err := st.check(); err != nil {
			return fmt.Errorf("%s: %w", task, err)
		}
	}
	return repeated("strategy", strategies)
}

// repeated returns an error for the first value that stands twice: its trials
// would be one.
func repeated[T comparable](what string, values []T) error {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("%s %v is named twice", what, v)
		}
	}
	return nil
}
