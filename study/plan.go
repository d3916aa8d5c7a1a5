package study

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// A Trial is a planned trial: its place in the record, and the strategy behind
// the name that stands there.
type Trial struct {
	record.Spec
	By Strategy
}

// Plan lists the study's trials, made as they are asked for: a large plan is
// never held. It goes seed by seed, and within a seed every strategy and model
// before the next episode, so that a run that stops early is balanced. The
// order is part of the result: exports follow it.
func (s *Study) Plan() iter.Seq[Trial] {
	return func(yield func(Trial) bool) {
		for _, seed := range s.Seeds {
			for _, size := range s.Sizes {
				for _, regime := range s.Regimes {
					for _, framing := range s.Framings {
						spec := record.Spec{Seed: seed, Rows: size.Rows, Cols: size.Cols, Regime: string(regime), Framing: framing}
						if !s.planLake(spec, yield) {
							return
						}
					}
				}
			}
		}
	}
}

// planLake yields the trials on one instance under one framing, and reports
// whether to go on.
func (s *Study) planLake(spec record.Spec, yield func(Trial) bool) bool {
	add := func(by Strategy) bool {
		spec.Strategy, spec.Batch = by.Name, by.Batch
		for _, model := range s.Models {
			if spec.Task == record.Navigate && !s.Navigation.walks(model, by) || spec.Task == record.Detect && !s.Detection.detects(model, by) {
				continue
			}
			spec.Model = model
			t := Trial{spec, by}
			t.Key = s.key(&t)
			if !yield(t) {
				return false
			}
		}
		return true
	}
	if d := s.Detection; d != nil {
		spec.Task, spec.Episode = record.Detect, 0
		for _, spec.Modality = range d.Modalities {
			for _, by := range d.Detectors {
				if !add(by) {
					return false
				}
			}
		}
	}
	if n := s.Navigation; n != nil {
		spec.Task = record.Navigate
		for _, spec.Modality = range n.Modalities {
			for spec.Episode = 1; spec.Episode <= n.Episodes; spec.Episode++ {
				for _, by := range n.Strategies {
					if !add(by) {
						return false
					}
				}
			}
		}
	}
	return true
}

// tooLarge reports whether the plan has more trials than are taken, in numbers
// that no product overflows.
func (s *Study) tooLarge() bool {
	n := 0.0
	for _, model := range s.Models {
		n += s.lakes() * s.perLake(model)
	}
	return n > maxTrials
}

// NumTrials returns the length of the plan.
func (s *Study) NumTrials() int {
	n := 0
	for _, model := range s.Models {
		n += s.TrialsOf(model)
	}
	return n
}

// TrialsOf returns how many trials of the plan are a model's.
func (s *Study) TrialsOf(model string) int { return int(s.lakes() * s.perLake(model)) }

// lakes counts the instances under each framing.
func (s *Study) lakes() float64 {
	return float64(len(s.Seeds)) * float64(len(s.Sizes)) * float64(len(s.Regimes)) * float64(len(s.Framings))
}

// perLake counts the trials of a model on one instance under one framing.
func (s *Study) perLake(model string) float64 {
	n := 0.0
	if d := s.Detection; d != nil {
		for _, by := range d.Detectors {
			if d.detects(model, by) {
				n += float64(len(d.Modalities))
			}
		}
	}
	if t := s.Navigation; t != nil {
		for _, by := range t.Strategies {
			if t.walks(model, by) {
				n += float64(len(t.Modalities)) * float64(t.Episodes)
			}
		}
	}
	return n
}

// key hashes everything that determines a trial. What a study leaves at its
// default stays out of it, so that a later option does not move older keys.
func (s *Study) key(t *Trial) string {
	spec := t.Spec
	spec.Key = ""
	content := struct {
		Spec         record.Spec
		By           Strategy
		HoleFraction float64    `json:",omitzero"`
		Params       llm.Params `json:",omitzero"`
		Again        bool       `json:",omitzero"`
		ViewRadius   int        `json:",omitzero"`
		Strict       bool       `json:",omitzero"`
		Instance     string     `json:",omitzero"`
		Branch       *Branch    `json:",omitzero"`
		Distractors  int        `json:",omitzero"`
	}{Spec: spec, By: t.By, HoleFraction: s.HoleFraction, Params: s.Params, Again: s.Again, ViewRadius: s.ViewRadius, Strict: s.Strict}
	if g := s.given[place{t.Seed, Size{t.Rows, t.Cols}, instance.Regime(t.Regime)}]; g != nil {
		content.Instance = g.sum
	}
	if s.Branch != nil {
		branch := *s.Branch
		branch.Run = "" // which may be called otherwise
		content.Branch = &branch
	}
	if t.Task == record.Detect {
		content.Distractors = s.Detection.Distractors
	}
	content.By.Method = t.By.Method.identity()
	if content.HoleFraction == instance.DefaultHoleFraction {
		content.HoleFraction = 0
	}
	b, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("study: a trial does not marshal: %v", err)) // plain data: cannot happen
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Specs lists the records of the plan's trials.
func (s *Study) Specs() iter.Seq[record.Spec] {
	return func(yield func(record.Spec) bool) {
		for t := range s.Plan() {
			if !yield(t.Spec) {
				return
			}
		}
	}
}
