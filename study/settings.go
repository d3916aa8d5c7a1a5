package study

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Clone returns a copy that shares nothing that can be changed.
func (s *Study) Clone() *Study {
	b, err := json.Marshal(s)
	out := &Study{}
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		panic("study: " + err.Error()) // plain data: cannot happen
	}
	out.Asked, out.given, out.Prompts = s.Asked, s.given, maps.Clone(s.Prompts)
	return out
}

// Config is the study as a run's manifest has it.
func (s *Study) Config() (json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", s.Name, err)
	}
	return text, nil
}

// Settings returns the study's settings by the paths of their keys, as JSON;
// lists are values.
func (s *Study) Settings() map[string]string {
	var tree map[string]any
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &tree)
	}
	if err != nil {
		panic("study: " + err.Error()) // plain data: cannot happen
	}
	out := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok {
			for k, child := range m {
				walk(strings.TrimPrefix(prefix+"."+k, "."), child)
			}
			return
		}
		b, _ := json.Marshal(v) // it has just been read
		out[prefix] = string(b)
	}
	walk("", tree)
	return out
}

// Differences lists the settings in which another study differs from the one of
// a run, a line each.
func (s *Study) Differences(asked *Study) []string {
	a, b := s.Settings(), asked.Settings()
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("  %s: the run has %s, asked is %s", k, orNothing(a[k]), orNothing(b[k])))
		}
	}
	return out
}

func orNothing(v string) string {
	if v == "" {
		return "nothing"
	}
	return v
}

// growing are the settings in which a run can grow.
var growing = []string{
	"models", "seeds", "regimes", "sizes", "framings",
	"detection.modalities", "detection.detectors", "navigation.modalities", "navigation.strategies", "navigation.episodes",
}

// Enlarge returns the study changed by settings (Set) that may only add trials.
func (s *Study) Enlarge(settings []string) (*Study, error) {
	larger := s.Clone()
	for _, setting := range settings {
		key, _, _ := strings.Cut(setting, "=")
		if !slices.Contains(growing, key) {
			return nil, fmt.Errorf("--add %s: a run grows in %s; any other setting makes another study, which wants a run of its own", key, strings.Join(growing, ", "))
		}
		if err := larger.Set(setting); err != nil {
			return nil, err
		}
	}
	return larger, nil
}

// Lacks says what of another study this one does not have; nil when it has all.
func (s *Study) Lacks(run *Study) error {
	var lost []string
	lose(&lost, "model", run.Models, s.Models)
	lose(&lost, "seed", run.Seeds, s.Seeds)
	lose(&lost, "regime", run.Regimes, s.Regimes)
	lose(&lost, "size", run.Sizes, s.Sizes)
	lose(&lost, "framing", run.Framings, s.Framings)
	if len(lost) > 0 {
		return fmt.Errorf("--add makes a run larger, and this would take from it:\n  %s\nname what the run has as well", strings.Join(lost, "\n  "))
	}
	return nil
}

// lose notes the first of the values that another list lacks.
func lose[T comparable](lost *[]string, what string, values, others []T) {
	var gone []T
	for _, v := range values {
		if !slices.Contains(others, v) {
			gone = append(gone, v)
		}
	}
	switch len(gone) {
	case 0:
	case 1:
		*lost = append(*lost, fmt.Sprintf("%s %v", what, gone[0]))
	default:
		*lost = append(*lost, fmt.Sprintf("%s %v and %d more", what, gone[0], len(gone)-1))
	}
}
