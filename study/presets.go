package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
)

// A preset is a study that ships with the program: the paper's, changed. The
// regimes and sizes that it is about are asked for; its seeds are a number of
// draws that any others can stand for.
type preset struct {
	name, about string
	change      func(s *Study)
}

// presets are the studies that ship with the program, the default first.
var presets = []preset{
	{"paper", "the paper's study: detection from text and pictures, navigation from text (section 5)", func(*Study) {}},
	{"quick", "the same on 5 seeds with 2 episodes", func(s *Study) {
		s.Seeds = instance.Seeds(5)
		s.Navigation.Episodes = 2
	}},
	{"vision", "navigation from pictures, 10 seeds with 3 episodes (Table 2)", func(s *Study) {
		s.Seeds = instance.Seeds(10)
		s.Detection = nil
		s.Navigation.Modalities = []string{record.Vision}
		s.Navigation.Episodes = 3
	}},
	{"batch", "detection with 1, 5, 10 and 20 entries a call, L1 from text (Table 5)", func(s *Study) {
		s.Navigation = nil
		s.AskRegimes([]instance.Regime{instance.L1})
		s.Detection.Modalities = []string{record.Text}
		s.Detection.Detectors = nil
		for _, b := range []int{1, 5, 10, 20} {
			by := OMCD
			by.Batch = b
			s.Detection.Detectors = append(s.Detection.Detectors, by)
		}
	}},
	{"score", "detection by a number in [0,1] beside the yes-or-no judgment, L1 from text (Table 4)", func(s *Study) {
		s.Navigation = nil
		s.AskRegimes([]instance.Regime{instance.L1})
		s.Detection.Modalities = []string{record.Text}
		s.Detection.Detectors = []Strategy{OMCD, Score}
	}},
	{"framing", "three wordings of what the memory is, 10 seeds with 3 episodes, from text", func(s *Study) {
		s.Seeds = instance.Seeds(10)
		s.Framings = []string{"neutral", "trusted", "warned"} // those of the paper's question, whichever others there are
		s.Detection.Modalities = []string{record.Text}
		s.Navigation.Episodes = 3
	}},
	{"paper-models", "the paper on its six models: four navigate, and Oracle is run for GPT-4o alone (section 5.1); it costs money", func(s *Study) {
		s.Models = slices.Clone(paperModels)
		s.Navigation.Models = slices.Clone(paperModels[:4])
		s.Navigation.Only = map[string][]string{Oracle.Name: {paperModels[0]}}
	}},
	{"small", "lakes of 4x4 cells, short answers, 3 seeds: what a model of 1.5B parameters finishes on two processors in minutes", func(s *Study) {
		s.Seeds = instance.Seeds(3)
		s.AskSizes([]Size{{4, 4}})
		s.AskRegimes([]instance.Regime{instance.L1})
		s.Params.MaxTokens = new(700)
		by := OMCD
		by.Batch = 8
		s.Detection = &Detection{Modalities: []string{record.Text}, Detectors: []Strategy{by}}
		s.Navigation = &Navigation{Modalities: []string{record.Text}, Strategies: []Strategy{NoMemory, NoFilter, by}, Episodes: 1}
	}},
	{"baselines", "what needs no model: an auditor that compares texts and an agent that plans by its memory, beside the controls, from text", func(s *Study) {
		planner, diff := BuiltinPlanner, &Method{Builtin: BuiltinDiff}
		s.Agents = map[string]*Method{planner: {Builtin: planner}}
		s.Models = append(s.Models, record.AgentPrefix+planner)
		by := Strategy{Name: BuiltinDiff, Memory: MemoryAll, Auditor: AuditMethod, When: OnEvent, Policy: Remove, Method: diff}
		s.Detection.Modalities = []string{record.Text}
		s.Detection.Detectors = append(s.Detection.Detectors, by)
		s.Navigation.Strategies = append(s.Navigation.Strategies, by)
		s.Contrasts = append(s.Contrasts, record.Contrast{A: by.Name, B: NoFilter.Name}, record.Contrast{A: OMCD.Name, B: by.Name})
	}},
	{"partial", "an agent that sees two cells far: audits at every change, and of what comes into view, navigation from text", func(s *Study) {
		s.Detection = nil
		s.ViewRadius = 2
		sight := OMCD
		sight.Name, sight.When = OMCD.Name+"-"+string(OnSight), OnSight
		s.Navigation.Strategies = []Strategy{NoMemory, NoFilter, OMCD, sight, Oracle}
		s.Contrasts = []record.Contrast{{A: OMCD.Name, B: NoFilter.Name}, {A: sight.Name, B: NoFilter.Name}, {A: sight.Name, B: OMCD.Name}}
		s.Equivalence = nil
	}},
	{"seeing", "what is seen apart from what is judged: the grid written down without a memory, beside the audit, from text and pictures", func(s *Study) {
		s.Navigation = nil
		s.Detection.Detectors = []Strategy{OMCD, Transcribe}
	}},
	{"distractors", "a memory that also holds what no observation can make stale: rules, history, other places; detection from text and pictures", func(s *Study) {
		s.Navigation = nil
		s.Detection.Distractors = 12
		s.Models = append(s.Models, "ref/always-stale")
	}},
	{"policies", "what becomes of stale entries: removed, marked, UNKNOWN or corrected, navigation from text", func(s *Study) {
		s.Detection = nil
		s.Navigation.Strategies = []Strategy{NoFilter, OMCD}
		s.Contrasts = []record.Contrast{{A: OMCD.Name, B: NoFilter.Name}}
		for _, policy := range []Policy{Mark, Unknown, Correct} {
			by := OMCD
			by.Name, by.Policy = OMCD.Name+"-"+string(policy), policy
			s.Navigation.Strategies = append(s.Navigation.Strategies, by)
			s.Contrasts = append(s.Contrasts, record.Contrast{A: by.Name, B: OMCD.Name})
		}
		s.Contrasts = append(s.Contrasts, record.Contrast{A: OMCD.Name + "-correct", B: OMCD.Name + "-unknown"})
		s.Equivalence = nil
	}},
	{"sizes", "lakes of 8x8, 16x16 and 32x32 cells, 10 seeds with 1 episode, from text", func(s *Study) {
		s.Seeds = instance.Seeds(10)
		s.AskSizes([]Size{{8, 8}, {16, 16}, {32, 32}})
		s.Detection.Modalities = []string{record.Text}
		s.Navigation.Episodes = 1
	}},
}

// Presets lists the names of the studies that ship with the program, the
// default first.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// AboutPresets lists the presets with what each is, a line each.
func AboutPresets() string {
	var b strings.Builder
	for _, p := range presets {
		fmt.Fprintf(&b, "  %-12s %s\n", p.name, p.about)
	}
	return b.String()
}

// DefaultModels are the controls that a preset runs on: a ceiling, a floor and
// a knob.
var DefaultModels = []string{
	"ref/reader",
	"ref/believer",
	"ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02",
}

// paperModels are the paper's models (section 5.1), the four that navigate
// first. The smaller two run on one's own server.
var paperModels = []string{
	"openai/gpt-4o", "anthropic/claude-sonnet-4-6", "qwen/qwen3.6-plus", "zai/glm-5.1",
	"vllm/OpenGVLab/InternVL3-8B", "vllm/OpenGVLab/InternVL3-2B",
}

// Preset returns the study of that name; its error lists what there is.
func Preset(name string) (*Study, error) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown study %q; there are %s", name, strings.Join(Presets(), ", "))
	}
	s := paperStudy()
	s.Name = name
	presets[i].change(s)
	return s, nil
}

// paperStudy is the paper's study at its scale (section 5.1).
func paperStudy() *Study {
	return &Study{
		Models:       slices.Clone(DefaultModels),
		Seeds:        instance.Seeds(50),
		Sizes:        []Size{{instance.DefaultSide, instance.DefaultSide}},
		HoleFraction: instance.DefaultHoleFraction,
		Regimes:      slices.Clone(instance.Regimes),
		Framings:     []string{Framings[0]},
		Detection:    paperDetection(),
		Navigation:   paperNavigation(),
		Tests:        record.PlannedTests(),
	}
}

func paperDetection() *Detection {
	return &Detection{Modalities: slices.Clone(Modalities), Detectors: []Strategy{OMCD}}
}

func paperNavigation() *Navigation {
	return &Navigation{Modalities: []string{record.Text}, Strategies: slices.Clone(Strategies), Episodes: 5}
}
