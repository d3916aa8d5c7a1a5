package study_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/study"
)

func preset(t testing.TB, name string) *study.Study {
	t.Helper()
	s, err := study.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlan checks the scale of the paper (SPEC 7) and that keys are unique and
// do not move.
func TestPlan(t *testing.T) {
	plan := slices.Collect(preset(t, "paper").Plan())
	for _, name := range study.Presets() {
		if s := preset(t, name); len(slices.Collect(s.Plan())) != s.NumTrials() {
			t.Errorf("%s: NumTrials says %d", name, s.NumTrials())
		}
	}
	count := map[string]int{}
	keys := map[string]bool{}
	for _, p := range plan {
		count[p.Task+" "+p.Model[:8]]++
		if keys[p.Key] {
			t.Fatalf("key %s stands twice", p.Key)
		}
		keys[p.Key] = true
	}
	for _, model := range []string{"ref/read", "ref/beli", "ref/mixe"} {
		if d, n := count["detect "+model], count["navigate "+model]; d != 300 || n != 3750 {
			t.Errorf("%s has %d detections and %d episodes, want 300 and 3750", model, d, n)
		}
	}
	// A plan goes seed by seed.
	last, seen := -1, map[int]bool{}
	for _, p := range plan {
		if p.Seed != last {
			if seen[p.Seed] {
				t.Fatalf("the plan comes back to seed %d", p.Seed)
			}
			last, seen[p.Seed] = p.Seed, true
		}
	}
	if got := plan[0].Key + " " + plan[len(plan)-1].Key; got != goldenKeys {
		t.Errorf("the first and last key are %q: keys of stored runs would not be found again", got)
	}
}

const goldenKeys = "69e8dfa46f3231d9 bdcd0795f160c856"

// TestCheck lists everything that is wrong with a study, not the first thing.
func TestCheck(t *testing.T) {
	s := preset(t, "quick")
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	s.Seeds = []int{5, -1, 5}
	s.Regimes = append(s.Regimes, "L9")
	s.Framings = []string{"shouted"}
	s.HoleFraction = 1
	s.Sizes = []study.Size{{Rows: 3, Cols: 8}}
	s.Detection.Modalities = []string{"smell"}
	s.Navigation.Strategies = []study.Strategy{study.OMCD, study.OMCD}
	s.Navigation.Episodes = 0
	err := s.Check()
	for _, want := range []string{"seeds -1", "seeds: 5 is named twice", `regimes: unknown value "L9"`, "shouted", "hole_fraction 1", "3 rows", "smell", "navigation.strategies: omcd is named twice", "navigation.episodes 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := study.Preset("papper"); err == nil || !strings.Contains(err.Error(), "paper, quick") {
		t.Errorf("unknown preset: %v", err)
	}
	s = preset(t, "quick")
	s.Detection.Detectors = []study.Strategy{study.NoFilter}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "asks no model") {
		t.Errorf("a detector that detects nothing: %v", err)
	}
}

func TestStrategies(t *testing.T) {
	for name, s := range map[string]study.Strategy{
		"no memory to audit":        {Name: "x", Memory: study.MemoryNone, Auditor: study.AuditOracle, When: study.Once, Policy: study.Remove},
		"at least one entry a call": {Name: "x", Memory: study.MemoryAll, Auditor: study.AuditBatched, When: study.Once, Policy: study.Remove},
		"batched and score":         {Name: "x", Memory: study.MemoryAll, Auditor: study.AuditNone, Batch: 3},
		"unknown moment":            {Name: "x", Memory: study.MemoryAll, Auditor: study.AuditOracle, Policy: study.Remove},
		"unknown policy":            {Name: "x", Memory: study.MemoryAll, Auditor: study.AuditOracle, When: study.Once, Policy: "shred"},
		"unknown auditor":           {Name: "x", Memory: study.MemoryAll, Auditor: "guess", When: study.Once, Policy: study.Remove},
		"unknown memory":            {Name: "x", Memory: "some", Auditor: study.AuditNone},
		"has no name":               {},
	} {
		st := preset(t, "quick")
		st.Navigation.Strategies = []study.Strategy{s}
		if err := st.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want an error with %q", s, err, name)
		}
	}
}

func TestPrompts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prompts")
	if err := study.DefaultPrompts().Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := study.DefaultPrompts().Write(dir); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("written over: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "framing-neutral.txt"), []byte("NEUTRAL WORDS\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := preset(t, "quick")
	if err := s.ReadPrompts(dir); err != nil {
		t.Fatal(err)
	}
	if a, b := s.AllPrompts().Sums(), study.DefaultPrompts().Sums(); a["framing-neutral.txt"] == b["framing-neutral.txt"] || a["audit.txt"] != b["audit.txt"] {
		t.Errorf("sums %v and %v", a, b)
	}
	if err := os.WriteFile(filepath.Join(dir, "adit.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "adit.txt is none of") {
		t.Errorf("a misspelt file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "adit.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "audit.txt"), []byte("{{context}} {{observation}} {{entires}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "audit.txt") || !strings.Contains(err.Error(), "entires") {
		t.Errorf("a broken prompt file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "audit.txt"), []byte(" \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("an empty prompt file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "audit.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "framing-neutrl.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "framing-neutrl.txt") {
		t.Errorf("the framing of no study: %v", err)
	}
}

// Wordings of a study file must reach its prompts and name a framing of its own,
// and must not move the key of any trial that has the same settings.
func TestPromptsOfAFile(t *testing.T) {
	s, err := study.Parse("{framings: [neutral, blunt], base: quick, seeds: 1, prompts: {framing-blunt: Old notes., framing-neutral: Other words.}}")
	if err != nil {
		t.Fatal(err)
	}
	all := s.AllPrompts()
	if all.Framing("blunt") != "Old notes.\n" || all.Framing("neutral") != "Other words.\n" || all["audit.txt"] != study.DefaultPrompts()["audit.txt"] {
		t.Errorf("prompts: %q", all)
	}
	if c := s.Clone(); c.AllPrompts().Framing("blunt") != "Old notes.\n" {
		t.Error("a copy has lost its wordings")
	}
	plain := preset(t, "quick")
	plain.AskFirst(1)
	own := map[string]bool{}
	for spec := range s.Specs() {
		own[spec.Key] = true
	}
	for spec := range plain.Specs() {
		if !own[spec.Key] {
			t.Fatalf("the key of %+v has moved", spec)
		}
	}
	for text, want := range map[string]string{
		"{base: quick, framings: blunt}":                       `unknown value "blunt"; there are neutral, trusted, warned`,
		"{base: quick, prompts: {adit: x}}":                    "adit.txt is none of the prompt files",
		"{base: quick, prompts: {framing-x: '{{memory}}'}}":    "framing-x.txt: ",
		"{base: quick, prompts: {navigate: no places}}":        "navigate.txt: ",
		"{base: quick, prompts: {framing-../../x: words}}":     "none of the prompt files",
		"{base: quick, prompts: {audit@../x: words}}":          "none of the prompt files",
		"{base: quick, prompts: {framing@x: words}}":           "none of the prompt files",
		"{base: quick, prompts: {audit@x: no places}}":         "audit@x.txt: ",
		"{base: quick, prompts: {navigate@x: no places}}":      "navigate@x.txt: ",
		"{base: quick, prompts: {framing-x: ''}, framings: x}": "it is empty",
	} {
		if _, err := study.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The prompts that version 0.1 shipped must be found by their hashes, or its
// runs could not be checked any more.
func TestEarlierPrompts(t *testing.T) {
	sums := map[string]string{
		"framing-neutral.txt": "536f2dbcedcef4a35744cd333e91f175b0a2581f305cb043a8ce93567cc304c9",
		"audit.txt":           "92388530e5a710f24d1d8b362612c690b62793e90dc5860fafc2aa21fa5b0ca0",
		"navigate.txt":        "nothing",
	}
	got := study.EarlierPrompts(sums)
	if len(got) != 2 || !strings.Contains(got["framing-neutral.txt"], "one entry a cell") || got["audit.txt"] == "" {
		t.Errorf("found %q", got)
	}
}

// What would take more memory or time than a machine has must be refused where
// it is read.
func TestFileBounds(t *testing.T) {
	for name, text := range map[string]string{
		"flow":      "models: " + strings.Repeat("[", 200_000),
		"mappings":  "models: " + strings.Repeat("{a: ", 100_000),
		"sequences": strings.Repeat("- ", 200_000) + "a",
		"keys":      strings.Repeat("? ", 200_000) + "a",
		"blocks": func() string {
			var b strings.Builder
			for i := range 900 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(),
		"tags":      "name: " + strings.Repeat("!a ", 1000) + "x",
		"documents": strings.Repeat("---\na: b\n", 10_000),
		"size":      "name: " + strings.Repeat("x", 2<<20),
		"episodes":  "{base: quick, navigation: {episodes: 1000000000}}",
		"trials":    "{base: paper, seeds: 10000, navigation: {episodes: 10000}}",
	} {
		if _, err := study.Parse(text); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %.1000v", name, err)
		}
	}
	if _, err := study.ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that never ends: %v", err)
	}
}

// TestPaperModels would fail if the paper's study were planned on other models,
// or Oracle on another than GPT-4o, or a model that does not navigate walked.
func TestPaperModels(t *testing.T) {
	s := preset(t, "paper-models")
	count := map[string]int{}
	for spec := range s.Specs() {
		count[spec.Task+" "+spec.Model]++
		if spec.Strategy == "oracle" {
			count["oracle "+spec.Model]++
		}
	}
	if n := len(slices.Collect(s.Specs())); n != s.NumTrials() || n != 1800+12_000+750 {
		t.Errorf("%d trials, NumTrials says %d", n, s.NumTrials())
	}
	for what, want := range map[string]int{
		"oracle openai/gpt-4o": 750, "oracle zai/glm-5.1": 0, "navigate openai/gpt-4o": 3750, "navigate zai/glm-5.1": 3000,
		"navigate vllm/OpenGVLab/InternVL3-8B": 0, "detect vllm/OpenGVLab/InternVL3-2B": 300,
	} {
		if count[what] != want {
			t.Errorf("%s: %d trials, want %d", what, count[what], want)
		}
	}
	if s.SetFlag("model", []string{"ref/reader"}); s.NumTrials() != 300+3750 {
		t.Errorf("on another model: %d trials", s.NumTrials())
	}
	for text, want := range map[string]string{
		"{base: quick, navigation: {only: {oracle: openai/gpt-4o}}}":                 "openai/gpt-4o is none of the study's models",
		"{base: quick, navigation: {only: {orcle: ref/reader}}, models: ref/reader}": "orcle is none of the strategies",
		"{base: quick, navigation: {models: ref/believer}, models: [ref/reader]}":    "ref/believer is none of the study's models",
	} {
		if _, err := study.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
