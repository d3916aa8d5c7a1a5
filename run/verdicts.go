package run

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// Verdicts are judgments on a dataset's entries that were made elsewhere
// (docs/datasets.md). As a model they answer the audits of their study.
type Verdicts struct {
	path  string
	sum   string // of the file
	at    map[verdictPlace][]json.RawMessage
	costs map[verdictPlace]float64
	lines map[verdictPlace]int // the first line of each
	specs map[string]record.Spec
}

// A verdictPlace is a window of an instance in one modality.
type verdictPlace struct {
	seed             int
	size             string // empty for the only one of the dataset
	regime, modality string
	window           int
}

// verdictLine is what a line says beside the judgment itself.
type verdictLine struct {
	Seed     *int            `json:"seed"`
	Size     string          `json:"size"`
	Regime   string          `json:"regime"`
	Modality string          `json:"modality"`
	Window   int             `json:"window"`
	ID       string          `json:"memory_id"`
	Verdict  json.RawMessage `json:"verdict"`
	IsStale  json.RawMessage `json:"is_stale"`
	Cost     float64         `json:"cost"`
}

// maxVerdictLine is the longest line of a file of verdicts, in bytes.
const maxVerdictLine = 1 << 20

// ReadVerdicts reads a file of verdicts, a JSON object a line.
func ReadVerdicts(path string) (*Verdicts, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	v := &Verdicts{path: path, at: map[verdictPlace][]json.RawMessage{}, costs: map[verdictPlace]float64{}, lines: map[verdictPlace]int{}, specs: map[string]record.Spec{}}
	hash := sha256.New()
	in := bufio.NewScanner(file)
	in.Buffer(nil, maxVerdictLine)
	n := 0
	for in.Scan() {
		n++
		hash.Write(in.Bytes())
		hash.Write([]byte("\n"))
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		if err := v.add(bytes.Clone(in.Bytes()), n); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", path, n+1, err)
	}
	if len(v.at) == 0 {
		return nil, fmt.Errorf("%s has no verdicts", path)
	}
	v.sum = hex.EncodeToString(hash.Sum(nil)[:6])
	return v, nil
}

func (v *Verdicts) add(text []byte, number int) error {
	var l verdictLine
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("it is no verdict: %w", err)
	}
	modality := cmp.Or(l.Modality, record.Text)
	switch {
	case l.Seed == nil || l.Regime == "" || l.ID == "":
		return fmt.Errorf("a verdict names seed, regime and memory_id, and window where there are several")
	case len(l.Verdict) == 0 && len(l.IsStale) == 0:
		return fmt.Errorf("it has no verdict (stale, valid or not_covered) and no is_stale")
	case record.Regimes.Index(l.Regime) < 0:
		return fmt.Errorf("unknown regime %q", l.Regime)
	case record.Modalities.Index(modality) < 0:
		return fmt.Errorf("unknown modality %q", modality)
	case !(l.Cost >= 0 && l.Cost <= record.MostCost):
		return fmt.Errorf("its cost is %v; want US dollars, from 0 to %d", l.Cost, record.MostCost)
	}
	p := verdictPlace{*l.Seed, l.Size, l.Regime, modality, l.Window}
	v.at[p] = append(v.at[p], text)
	v.costs[p] += l.Cost
	if v.lines[p] == 0 {
		v.lines[p] = number
	}
	return nil
}

// Study returns the study whose detections the verdicts answer: the instances of
// a dataset whose seeds, regimes and sizes they name. Its only model is the
// agent of that name, and judges by a strategy of that name. unanswered counts
// the windows on which there is no verdict.
func (v *Verdicts) Study(name string, all []record.Instance) (s *study.Study, unanswered int, err error) {
	if s, err = study.Preset("paper"); err != nil {
		return nil, 0, err
	}
	m := &study.Method{Exec: []string{"spatialstale", "score", filepath.Base(v.path)}, Version: v.sum}
	s.Name, s.Models, s.Agents = name, []string{record.AgentPrefix + name}, map[string]*study.Method{name: m}
	s.Navigation = nil
	seeds, regimes, modalities := map[int]bool{}, map[instance.Regime]bool{}, map[string]bool{}
	var sizes []study.Size
	for p := range v.at {
		seeds[p.seed], regimes[instance.Regime(p.regime)], modalities[p.modality] = true, true, true
		if p.size != "" {
			var size study.Size
			if err := size.UnmarshalText([]byte(p.size)); err != nil {
				return nil, 0, v.wrong(p, err)
			}
			if !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
	}
	s.AskSeeds(slices.Sorted(maps.Keys(seeds)))
	s.AskRegimes(inOrder(instance.Regimes, regimes))
	if len(sizes) > 0 {
		s.AskSizes(sizes)
	}
	s.Detection = &study.Detection{Modalities: inOrder(study.Modalities, modalities), Detectors: []study.Strategy{
		{Name: name, Memory: study.MemoryAll, Auditor: study.AuditMethod, When: study.OnEvent, Policy: study.Remove, Method: m},
	}}
	if err := s.TakeAsked(all); err != nil {
		return nil, 0, fmt.Errorf("%s is on lakes that the dataset does not have: %w", v.path, err)
	}
	if err := s.Check(); err != nil {
		return nil, 0, UsageError{err}
	}
	unanswered, err = v.place(s)
	return s, unanswered, err
}

// place finds the windows that the verdicts are on, and counts those that none is
// on. A verdict on any other is a mistake in the file.
func (v *Verdicts) place(s *study.Study) (unanswered int, err error) {
	known := map[verdictPlace]bool{}
	for t := range s.Plan() {
		lake, err := s.Lake(t.Seed, study.Size{Rows: t.Rows, Cols: t.Cols})
		if err != nil {
			return 0, err
		}
		v.specs[t.Key] = t.Spec
		for window := range lake.Instances[t.Regime].Windows() {
			p := placeOf(&t.Spec, window)
			known[p] = true
			if len(v.at[p]) > 0 {
				continue
			}
			unsized := p
			unsized.size = ""
			if judged := v.at[unsized]; len(s.Sizes) == 1 && len(judged) > 0 {
				known[unsized] = true
				v.at[p], v.costs[p] = judged, v.costs[unsized]
				continue
			}
			unanswered++
		}
	}
	var wrong []verdictPlace
	for p := range v.lines {
		if !known[p] {
			wrong = append(wrong, p)
		}
	}
	if len(wrong) == 0 {
		return unanswered, nil
	}
	first := slices.MinFunc(wrong, func(a, b verdictPlace) int { return v.lines[a] - v.lines[b] })
	return 0, v.wrong(first, fmt.Errorf("the dataset has no window %d of seed %d under %s; where it has lakes of several sizes, a verdict names its size", first.window, first.seed, first.regime))
}

// wrong is an error about the first line that is on a window.
func (v *Verdicts) wrong(p verdictPlace, err error) error {
	return fmt.Errorf("%s, line %d: %w", v.path, v.lines[p], err)
}

func placeOf(spec *record.Spec, window int) verdictPlace {
	return verdictPlace{spec.Seed, study.Size{Rows: spec.Rows, Cols: spec.Cols}.String(), spec.Regime, spec.Modality, window}
}

// inOrder lists those of the values that are chosen.
func inOrder[T comparable](all []T, chosen map[T]bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !chosen[v] })
}

// Generate implements llm.Model: the judgments on the window of a request, in the
// order of the file, as a method gives them.
func (v *Verdicts) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	window := 0
	spec, ok := v.specs[req.Trial]
	if _, err := fmt.Sscanf(req.Slot, "window%d/", &window); err != nil || !ok {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Slot: req.Slot, Message: "verdicts that were made elsewhere answer the audits of their own study only"}
	}
	p := placeOf(&spec, window)
	answer := map[string]any{"judgments": append([]json.RawMessage{}, v.at[p]...)}
	if v.costs[p] > 0 {
		answer["cost"] = v.costs[p]
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	none := 0
	return &llm.Reply{Text: string(text), Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: &none, OutputTokens: &none}}, nil
}
