package study

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/record"
)

// A Field is one setting of a study. It is defined here and nowhere else: files
// and --set are read by it, flags, help and the schema made from it, and values
// checked against it.
type Field = field[Study]

type field[T any] struct {
	Key   string // in a file; below a group as in "navigation.episodes"
	Flag  string // on the command line; empty for none
	About string // in a line
	// What values there are: those that Of lists, or numbers from Least to Most,
	// without the two when they are Open. A list may be Empty only where it says
	// so.
	Of          func(*Study) []string
	Least, Most float64
	Open, Empty bool
	at          func(*T) any // points at the value; makes its group where there is none
}

// Bounds of what a study may hold: no study that anybody could pay for, or wait
// for, is larger, and none smaller can exhaust a machine.
const (
	maxTrials   = 10_000_000
	maxEpisodes = 10_000
	maxList     = 10_000 // values in a list
	maxTokens   = 10_000_000
)

func these(values []string) func(*Study) []string {
	return func(*Study) []string { return values }
}

// regimeNames lists the regimes.
var regimeNames = record.Regimes.Names()

// Fields are the settings of a study, in the order in which the documentation
// has them.
var Fields = []Field{
	{Key: "name", About: "the study's name, also of its run folder", at: func(s *Study) any { return &s.Name }},
	{Key: "models", Flag: "model", About: "models as provider/name (spatialstale models lists them)", at: func(s *Study) any { return &s.Models }},
	{Key: "seeds", Flag: "seeds", About: "a number takes the first so many of the study's seeds; a list names them", Most: math.MaxInt32, at: func(s *Study) any { return &s.Seeds }},
	{Key: "sizes", Flag: "size", About: "sizes of the lake in cells: 16, or 8x12 with rows first; 4 to 64 a side", at: func(s *Study) any { return &s.Sizes }},
	{Key: "hole_fraction", About: "probability that a cell is a hole", Most: 1, Open: true, at: func(s *Study) any { return &s.HoleFraction }},
	{Key: "regimes", Flag: "regime", About: "regimes of change: L1 (spot), L2 (cluster), L3 (online)", Of: these(regimeNames), at: func(s *Study) any { return &s.Regimes }},
	{Key: "framings", Flag: "framing", About: "wordings that introduce the memory: neutral, trusted, warned, or a framing of the study's prompts", Of: (*Study).framingNames, at: func(s *Study) any { return &s.Framings }},
	{Key: "tasks", Flag: "task", About: "the tasks to run, detect and navigate; the others are dropped", Of: these(Tasks), at: func(s *Study) any { return (*tasks)(s) }},
	{Key: "temperature", Flag: "temperature", About: "sampling temperature; the provider's default unless given", Most: math.MaxFloat32, at: func(s *Study) any { return &s.Params.Temperature }},
	{Key: "top_p", Flag: "top-p", About: "nucleus sampling; the provider's default unless given", Most: 1, at: func(s *Study) any { return &s.Params.TopP }},
	{Key: "max_tokens", Flag: "max-tokens", About: "cap on a reply's tokens, thinking as well; ample for the answer asked unless given", Least: 1, Most: maxTokens, at: func(s *Study) any { return &s.Params.MaxTokens }},
	{Key: "thinking", Flag: "thinking", About: "budget of thinking in tokens, where a protocol has one; 0 asks for none; the provider's default unless given", Most: maxTokens, at: func(s *Study) any { return &s.Params.Thinking }},
	{Key: "logprobs", Flag: "logprobs", About: "ask for the probabilities behind the verdicts, where a server gives them", at: func(s *Study) any { return &s.Params.Logprobs }},
	{Key: "again", Flag: "again", About: "ask once more for verdicts that a reply left out", at: func(s *Study) any { return &s.Again }},
	{Key: "view_radius", Flag: "view-radius", About: "show only cells within so many moves of the agent; 0 shows the whole lake", Most: 200, at: func(s *Study) any { return &s.ViewRadius }},
	{Key: "strict_schedule", Flag: "strict-schedule", About: "apply every L3 change to the letter, even under the agent", at: func(s *Study) any { return &s.Strict }},
	{Key: "prompts", About: "wordings by the names of prompt files: audit, audit-score, navigate, framing-NAME for a framing, and audit@NAME, audit-score@NAME, navigate@NAME for its own prompts", at: func(s *Study) any { return &s.Prompts }},
	{Key: "detection.modalities", Flag: "modality", About: "how observations are shown: text, vision", Of: these(Modalities), at: func(s *Study) any { return &s.detection().Modalities }},
	{Key: "detection.detectors", Flag: "strategy", About: "who audits: strategies that ask a model, omcd, self-verify, score, or one of the file's own", at: func(s *Study) any { return &s.detection().Detectors }},
	{Key: "detection.distractors", About: "so many entries more that no observation can make stale: rules, history, other places", Most: memory.MaxDistractors, at: func(s *Study) any { return &s.detection().Distractors }},
	{Key: "navigation.modalities", Flag: "modality", About: "how observations are shown: text, vision", Of: these(Modalities), at: func(s *Study) any { return &s.navigation().Modalities }},
	{Key: "navigation.strategies", Flag: "strategy", About: "what becomes of the memory: no-memory, no-filter, self-verify, omcd, oracle, score, or one of the file's own", at: func(s *Study) any { return &s.navigation().Strategies }},
	{Key: "navigation.episodes", Flag: "episodes", About: "episodes per seed, regime, strategy and model", Least: 1, Most: maxEpisodes, at: func(s *Study) any { return &s.navigation().Episodes }},
	{Key: "navigation.models", Empty: true, About: "the models that navigate; all unless given", at: func(s *Study) any { return &s.navigation().Models }},
	{Key: "navigation.only", About: "strategies that only some of the models run, as in {oracle: openai/gpt-4o}", at: func(s *Study) any { return &s.navigation().Only }},
	{Key: "agents", About: "agents in other programs by their names; the agent NAME walks as the model agent/NAME", at: func(s *Study) any { return &s.Agents }},
	{Key: "contrasts", About: "the strategies that are compared, declared before the run, as in omcd minus no-filter", Empty: true, at: func(s *Study) any { return &s.Contrasts }},
	{Key: "family.measures", About: "what is compared; each measure of a model is a family of its own", Of: these(testedMeasures), at: func(s *Study) any { return &s.family().Measures }},
	{Key: "family.alpha", About: "the chance of any false rejection in a family", Most: 1, Open: true, at: func(s *Study) any { return &s.family().Alpha }},
	{Key: "equivalence.contrasts", About: "tested for having no difference that matters", Empty: true, at: func(s *Study) any { return &s.equivalence().Contrasts }},
	{Key: "equivalence.margin", About: "the least difference of shares that matters", Most: 1, Open: true, at: func(s *Study) any { return &s.equivalence().Margin }},
	{Key: "equivalence.alpha", About: "level of each of the two one-sided tests", Most: 0.5, Open: true, at: func(s *Study) any { return &s.equivalence().Alpha }},
	{Key: "bootstrap.resamples", About: "how often intervals are drawn", Least: 100, Most: record.MostResamples, at: func(s *Study) any { return &s.bootstrap().Resamples }},
	{Key: "bootstrap.seed", About: "of the drawing of intervals", Most: math.MaxUint64, at: func(s *Study) any { return &s.bootstrap().Seed }},
	{Key: "bootstrap.level", About: "confidence of the intervals", Most: 1, Open: true, at: func(s *Study) any { return &s.bootstrap().Level }},
}

// strategyFields are the settings of a strategy of the file's own.
var strategyFields = []field[Strategy]{
	{Key: "name", About: "its name in tables and exports", at: func(s *Strategy) any { return &s.Name }},
	{Key: "memory", About: "which entries there are to begin with: none, all, or a program of your own (exec or http) that keeps them", Of: these(words(MemoryNone, MemoryAll)), at: func(s *Strategy) any { return (*remembering)(s) }},
	{Key: "auditor", About: "who judges the entries: none, whole-store, batched, score, transcript, oracle, or a program of your own (exec or http)", Of: these(words(AuditNone, AuditWholeStore, AuditBatched, AuditScore, AuditTranscript, AuditOracle)), at: func(s *Strategy) any { return (*auditing)(s) }},
	{Key: "batch", About: "entries a call; batched and score auditors only", Least: 1, Most: 4096, at: func(s *Strategy) any { return &s.Batch }},
	{Key: "when", About: "before the first step, also after every change, or whenever cells come into view", Of: these(words(Once, OnEvent, OnSight)), at: func(s *Strategy) any { return (*string)(&s.When) }},
	{Key: "policy", About: "what becomes of a stale entry", Of: these(record.Policies.Names()), at: func(s *Strategy) any { return (*string)(&s.Policy) }},
}

func words[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// auditing stands for a strategy's auditor, which is a word or a method.
type auditing Strategy

// remembering stands for a strategy's memory, which is one too.
type remembering Strategy

// tasks stands for the setting of that name, which is kept as the tasks
// themselves.
type tasks Study

// groups are the keys below which others are, and whether a study has them.
var groups = map[string]func(*Study) bool{
	"detection":   func(s *Study) bool { return s.Detection != nil },
	"navigation":  func(s *Study) bool { return s.Navigation != nil },
	"family":      func(s *Study) bool { return s.Family != nil },
	"equivalence": func(s *Study) bool { return s.Equivalence != nil },
	"bootstrap":   func(s *Study) bool { return s.Bootstrap != nil },
}

// cutKey parts a key into its group and the rest.
func cutKey(key string) (group, rest string, inGroup bool) { return strings.Cut(key, ".") }

// In reports whether the study has the group that the field belongs to.
func (f *field[T]) In(s *Study) bool {
	group, _, inGroup := cutKey(f.Key)
	return !inGroup || groups[group](s)
}

// Kind says what values the field takes on the command line.
func (f *field[T]) Kind() (list, boolean bool) {
	switch f.at(new(T)).(type) {
	case *bool:
		return false, true
	case *[]string, *[]int, *[]Size, *[]instance.Regime, *[]Strategy, *[]record.Contrast, *tasks:
		return true, false
	}
	return false, false
}

// bounded reports whether the field's numbers are bounded by it.
func (f *field[T]) bounded() bool { return f.Least != 0 || f.Most != 0 }

// check returns what is wrong with the value at a field.
func (f *field[T]) check(s *Study, v any) error {
	switch v := v.(type) {
	case *string:
		return f.oneOf(s, *v)
	case *int:
		return f.within(float64(*v), *v)
	case **int:
		if *v != nil {
			return f.within(float64(**v), **v)
		}
	case *float64:
		return f.within(*v, *v)
	case **float64:
		if *v != nil {
			return f.within(**v, **v)
		}
	case *[]int:
		return errors.Join(checkEach(*v, func(n int) error { return f.within(float64(n), n) }), checkList(f, *v))
	case *[]string:
		return errors.Join(checkEach(*v, func(text string) error { return f.oneOf(s, text) }), checkList(f, *v))
	case *[]instance.Regime:
		return errors.Join(checkEach(*v, func(r instance.Regime) error { return f.oneOf(s, string(r)) }), checkList(f, *v))
	case *[]Size:
		return checkList(f, *v)
	case *[]Strategy:
		return errors.Join(checkEach(*v, func(st Strategy) error { return st.check() }), checkList(f, *v))
	case *[]record.Contrast:
		return checkList(f, *v)
	}
	return nil
}

// within checks a number; not a number is in no range.
func (f *field[T]) within(v float64, shown any) error {
	switch {
	case !f.bounded():
		return nil
	case f.Open && !(v > f.Least && v < f.Most):
		return fmt.Errorf("%s %v: it must be between %v and %v", f.Key, shown, plain(f.Least), plain(f.Most))
	case !f.Open && !(v >= f.Least && v <= f.Most):
		if f.Most >= math.MaxInt32 {
			return fmt.Errorf("%s %v: it must be a number of at least %v", f.Key, shown, plain(f.Least))
		}
		return fmt.Errorf("%s %v: it must be from %v to %v", f.Key, shown, plain(f.Least), plain(f.Most))
	}
	return nil
}

// plain writes a bound without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (f *field[T]) oneOf(s *Study, v string) error {
	if f.Of == nil {
		return nil
	}
	if f.Key == "wants" && v == "truth" {
		return errors.New("wants: no method is told what is true")
	}
	if all := f.Of(s); !slices.Contains(all, v) {
		return fmt.Errorf("%s: unknown value %q; there are %s", f.Key, v, strings.Join(all, ", "))
	}
	return nil
}

// checkEach returns the first mistake among the values of a list.
func checkEach[V any](values []V, check func(V) error) error {
	for _, v := range values {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// checkList wants values in a list, and each once: the trials of two would be
// the same.
func checkList[T any, V comparable](f *field[T], values []V) error {
	switch {
	case len(values) == 0 && !f.Empty:
		return fmt.Errorf("%s: want at least one value", f.Key)
	case len(values) > maxList:
		return fmt.Errorf("%s: %d values; at most %d are taken", f.Key, len(values), maxList)
	}
	seen := make(map[V]bool, len(values))
	for _, v := range values {
		if seen[v] {
			return fmt.Errorf("%s: %v is named twice", f.Key, v)
		}
		seen[v] = true
	}
	return nil
}

// checkFields returns what is wrong with the study's settings, each by itself.
func (s *Study) checkFields() (errs []error) {
	for i := range Fields {
		if f := &Fields[i]; f.In(s) {
			if err := f.check(s, f.at(s)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}
