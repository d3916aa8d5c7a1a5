package study

import (
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A Branch is an episode of another run that the study's trials continue from one
// step on, under something else. All trials of the study are such continuations.
type Branch struct {
	Run   string `json:"run"`   // the other run's folder, by its name; for people
	Trial string `json:"trial"` // the episode's key there
	At    int    `json:"at"`    // the first step that is not the episode's own, from 1
	// Steps are those before, as they were. They are empty where nothing but an
	// action is changed: then the steps before are made again from their replies, of
	// which so many audits are a part.
	Steps   []record.Step `json:"steps,omitempty"`
	Windows int           `json:"windows,omitempty"`
	Action  string        `json:"action,omitempty"` // what is done at step At, whoever decides after it; empty to ask
}

// checkBranch returns what is wrong with a study that branches.
func (s *Study) checkBranch() error {
	b := s.Branch
	if b == nil {
		return nil
	}
	n := s.Navigation
	_, known := lake.ParseAction(b.Action)
	switch {
	case n == nil || s.Detection != nil || len(s.Seeds) != 1 || len(s.Sizes) != 1 || len(s.Regimes) != 1 || len(s.Framings) != 1 || len(n.Modalities) != 1 || n.Episodes != 1:
		return fmt.Errorf("branch: it continues one episode, and the study plans others")
	case b.At < 1 || len(b.Steps) > 0 && len(b.Steps) != b.At-1:
		return fmt.Errorf("branch: step %d does not follow %d steps", b.At, len(b.Steps))
	case b.Action != "" && !known:
		return fmt.Errorf("branch: action %q; there are UP, DOWN, LEFT and RIGHT", b.Action)
	}
	return nil
}
