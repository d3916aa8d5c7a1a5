package study

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
)

// ReadFile reads a study written in YAML (docs/studies.md). The file starts
// from a preset, its base, and says what differs. Its error names every mistake
// with file, line and column.
func ReadFile(path string) (*Study, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseFile(path, text)
}

// Parse reads a study's YAML.
func Parse(text string) (*Study, error) { return ParseFile("study", []byte(text)) }

// ParseFile reads a study's YAML; the name is for errors.
func ParseFile(name string, text []byte) (*Study, error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &fileReader{name: name}
	s := r.study(root)
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Set changes one setting of the study, as "navigation.episodes=3" or
// "seeds=[1734, 4810]": a path of keys as in a study file, and a YAML value.
func (s *Study) Set(setting string) error {
	path, value, ok := strings.Cut(setting, "=")
	if !ok {
		return fmt.Errorf("setting %q: write it as KEY=VALUE, as in navigation.episodes=3", setting)
	}
	name := "setting " + path
	node, err := parseYAML([]byte(value))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := &fileReader{name: name, noPlace: true}
	r.set(s, strings.Split(path, "."), node, node)
	return errors.Join(r.errs...)
}

func parseYAML(text []byte) (ast.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write one
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if root != nil {
			return nil, errors.New("it holds more than one document")
		}
		root = doc.Body
	}
	if root == nil {
		return nil, errors.New("it is empty")
	}
	return root, nil
}

// A fileReader walks a study's YAML and gathers mistakes with their places. The
// library's own decoder stops at the first mistake and cannot place those that
// are the study's, such as an unknown regime.
type fileReader struct {
	name    string
	noPlace bool // a setting has no lines
	errs    []error
}

func (r *fileReader) fail(n ast.Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.noPlace {
		r.errs = append(r.errs, fmt.Errorf("%s: %s", r.name, text))
		return
	}
	at := n.GetToken().Position
	r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: %s", r.name, at.Line, at.Column, text))
}

// A setter reads one key's value into the study.
type setter func(r *fileReader, s *Study, n ast.Node)

// settings are the keys of a study file. Those of a task or of a test stand
// below its name.
var settings = map[string]setter{
	"name":            func(r *fileReader, s *Study, n ast.Node) { s.Name = r.text(n) },
	"models":          func(r *fileReader, s *Study, n ast.Node) { s.Models = r.texts(n) },
	"seeds":           (*fileReader).seeds,
	"sizes":           func(r *fileReader, s *Study, n ast.Node) { s.AskSizes(list(r, n, (*fileReader).size)) },
	"hole_fraction":   func(r *fileReader, s *Study, n ast.Node) { s.HoleFraction = r.number(n) },
	"regimes":         func(r *fileReader, s *Study, n ast.Node) { s.AskRegimes(list(r, n, (*fileReader).regime)) },
	"framings":        func(r *fileReader, s *Study, n ast.Node) { s.Framings = list(r, n, oneOf(Framings)) },
	"tasks":           (*fileReader).tasks,
	"temperature":     func(r *fileReader, s *Study, n ast.Node) { v := r.number(n); s.Params.Temperature = &v },
	"top_p":           func(r *fileReader, s *Study, n ast.Node) { v := r.number(n); s.Params.TopP = &v },
	"max_tokens":      func(r *fileReader, s *Study, n ast.Node) { v := r.integer(n); s.Params.MaxTokens = &v },
	"thinking":        func(r *fileReader, s *Study, n ast.Node) { v := r.integer(n); s.Params.Thinking = &v },
	"logprobs":        func(r *fileReader, s *Study, n ast.Node) { s.Params.Logprobs = r.boolean(n) },
	"again":           func(r *fileReader, s *Study, n ast.Node) { s.Again = r.boolean(n) },
	"view_radius":     func(r *fileReader, s *Study, n ast.Node) { s.ViewRadius = r.integer(n) },
	"strict_schedule": func(r *fileReader, s *Study, n ast.Node) { s.Strict = r.boolean(n) },

	"detection.modalities": func(r *fileReader, s *Study, n ast.Node) { s.detection().Modalities = list(r, n, oneOf(Modalities)) },
	"detection.detectors": func(r *fileReader, s *Study, n ast.Node) {
		s.detection().Detectors = list(r, n, (*fileReader).strategy)
	},
	"navigation.modalities": func(r *fileReader, s *Study, n ast.Node) { s.navigation().Modalities = list(r, n, oneOf(Modalities)) },
	"navigation.strategies": func(r *fileReader, s *Study, n ast.Node) {
		s.navigation().Strategies = list(r, n, (*fileReader).strategy)
	},
	"navigation.episodes": func(r *fileReader, s *Study, n ast.Node) { s.navigation().Episodes = r.integer(n) },

	"contrasts":       func(r *fileReader, s *Study, n ast.Node) { s.Contrasts = list(r, n, (*fileReader).contrast) },
	"family.measures": func(r *fileReader, s *Study, n ast.Node) { s.family().Measures = list(r, n, oneOf(testedMeasures)) },
	"family.alpha":    func(r *fileReader, s *Study, n ast.Node) { s.family().Alpha = r.number(n) },
	"equivalence.contrasts": func(r *fileReader, s *Study, n ast.Node) {
		s.equivalence().Contrasts = list(r, n, (*fileReader).contrast)
	},
	"equivalence.margin":  func(r *fileReader, s *Study, n ast.Node) { s.equivalence().Margin = r.number(n) },
	"equivalence.alpha":   func(r *fileReader, s *Study, n ast.Node) { s.equivalence().Alpha = r.number(n) },
	"bootstrap.resamples": func(r *fileReader, s *Study, n ast.Node) { s.bootstrap().Resamples = r.integer(n) },
	"bootstrap.seed":      func(r *fileReader, s *Study, n ast.Node) { s.bootstrap().Seed = r.natural(n) },
	"bootstrap.level":     func(r *fileReader, s *Study, n ast.Node) { s.bootstrap().Level = r.number(n) },
}

// groups are the keys below which others stand.
var groups = []string{"detection", "navigation", "family", "equivalence", "bootstrap"}

// detection returns the detection task, with the paper's settings if the study
// had none.
func (s *Study) detection() *Detection {
	if s.Detection == nil {
		s.Detection = paperDetection()
	}
	return s.Detection
}

// navigation returns the navigation task, with the paper's settings if the
// study had none.
func (s *Study) navigation() *Navigation {
	if s.Navigation == nil {
		s.Navigation = paperNavigation()
	}
	return s.Navigation
}

// study reads the whole file.
func (r *fileReader) study(root ast.Node) *Study {
	members := r.members(root)
	base := "paper"
	for _, m := range members {
		if m.key == "base" {
			base = r.text(m.value)
		}
	}
	s, err := Preset(base)
	if err != nil {
		for _, m := range members {
			if m.key == "base" {
				r.fail(m.value, "unknown preset %q; there are %s", base, strings.Join(Presets(), ", "))
			}
		}
		s, _ = Preset("paper")
	}
	// Tasks first: they may take away what other keys then change.
	slices.SortStableFunc(members, func(a, b member) int { return taskFirst(a) - taskFirst(b) })
	for _, m := range members {
		if m.key != "base" {
			r.set(s, []string{m.key}, m.node, m.value)
		}
	}
	return s
}

func taskFirst(m member) int {
	if m.key == "tasks" {
		return 0
	}
	return 1
}

// set reads a value into the study at a path of keys, the last of which stands
// at the node key.
func (r *fileReader) set(s *Study, path []string, key, value ast.Node) {
	full := strings.Join(path, ".")
	if f, ok := settings[full]; ok {
		f(r, s, value)
		return
	}
	if slices.Contains(groups, full) {
		for _, m := range r.members(value) {
			r.set(s, []string{full, m.key}, m.node, m.value)
		}
		return
	}
	r.fail(key, "unknown key %q; there are %s", full, strings.Join(keysUnder(path[:len(path)-1]), ", "))
}

// keysUnder lists the keys that may stand under a path, in order.
func keysUnder(path []string) []string {
	prefix := strings.Join(append(slices.Clone(path), ""), ".")
	found := map[string]bool{}
	for key := range settings {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			first, _, _ := strings.Cut(rest, ".")
			found[first] = true
		}
	}
	if len(found) == 0 {
		return keysUnder(nil)
	}
	if prefix == "" {
		found["base"] = true
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// A member is one key of a mapping.
type member struct {
	key   string
	node  ast.Node // the key, for its place
	value ast.Node
}

// members returns the keys of a mapping in order; a repeated one is a mistake.
func (r *fileReader) members(n ast.Node) []member {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fail(n, "want keys with values, got %s", kindOf(n))
		return nil
	}
	var out []member
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		if slices.ContainsFunc(out, func(o member) bool { return o.key == key }) {
			r.fail(it.Key(), "key %q stands twice", key)
		}
		out = append(out, member{key, it.Key(), it.Value()})
	}
	return out
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "keys with values"
	case *ast.NullNode:
		return "nothing"
	}
	return fmt.Sprintf("%q", n.GetToken().Value)
}

// list reads a list; a single value stands for a list of one.
func list[T any](r *fileReader, n ast.Node, one func(*fileReader, ast.Node) T) []T {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		if _, null := n.(*ast.NullNode); null {
			r.fail(n, "want a list, got nothing")
			return nil
		}
		return []T{one(r, n)}
	}
	out := make([]T, len(seq.Values))
	for i, v := range seq.Values {
		out[i] = one(r, v)
	}
	return out
}

func (r *fileReader) texts(n ast.Node) []string { return list(r, n, (*fileReader).text) }

func (r *fileReader) text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value
	}
	r.fail(n, "want a text, got %s", kindOf(n))
	return ""
}

func (r *fileReader) integer(n ast.Node) int {
	if n, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.Atoi(n.GetToken().Value); err == nil {
			return v
		}
	}
	r.fail(n, "want a whole number, got %s", kindOf(n))
	return 0
}

// natural reads a whole number that is not negative.
func (r *fileReader) natural(n ast.Node) uint64 {
	if n, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.ParseUint(n.GetToken().Value, 10, 64); err == nil {
			return v
		}
	}
	r.fail(n, "want a whole number that is not negative, got %s", kindOf(n))
	return 0
}

func (r *fileReader) number(n ast.Node) float64 {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if v, err := strconv.ParseFloat(n.GetToken().Value, 64); err == nil && !math.IsInf(v, 0) {
			return v
		}
	}
	r.fail(n, "want a number, got %s", kindOf(n))
	return 0
}

func (r *fileReader) boolean(n ast.Node) bool {
	if b, ok := n.(*ast.BoolNode); ok {
		return b.Value
	}
	r.fail(n, "want true or false, got %s", kindOf(n))
	return false
}

// oneOf reads a text that is one of the given ones.
func oneOf(allowed []string) func(*fileReader, ast.Node) string {
	return func(r *fileReader, n ast.Node) string {
		v := r.text(n)
		if v != "" && !slices.Contains(allowed, v) {
			r.fail(n, "unknown value %q; there are %s", v, strings.Join(allowed, ", "))
		}
		return v
	}
}

// seeds reads a number, the first so many of the study's seeds, or a list.
func (r *fileReader) seeds(s *Study, n ast.Node) {
	if _, isList := n.(*ast.SequenceNode); isList {
		s.AskSeeds(list(r, n, (*fileReader).integer))
		return
	}
	before := len(r.errs)
	count := r.integer(n)
	switch {
	case len(r.errs) > before:
	case count < 1 || count > instance.MaxSeeds:
		r.fail(n, "%d seeds: a number takes the first 1 to %d of the study's seeds; a list names them", count, instance.MaxSeeds)
	default:
		s.AskFirst(count)
	}
}

func (r *fileReader) size(n ast.Node) Size {
	var s Size
	if err := s.UnmarshalText([]byte(r.text(n))); err != nil {
		r.fail(n, "%v", err)
	}
	return s
}

func (r *fileReader) regime(n ast.Node) instance.Regime {
	v, err := instance.ParseRegime(r.text(n))
	if err != nil {
		r.fail(n, "%v", err)
	}
	return v
}

// tasks keeps the named tasks and drops the other.
func (r *fileReader) tasks(s *Study, n ast.Node) {
	named := list(r, n, oneOf(Tasks))
	if slices.Contains(named, Tasks[0]) {
		s.detection()
	} else {
		s.Detection = nil
	}
	if slices.Contains(named, Tasks[1]) {
		s.navigation()
	} else {
		s.Navigation = nil
	}
}

// contrast reads "A minus B".
func (r *fileReader) contrast(n ast.Node) record.Contrast {
	var c record.Contrast
	if err := c.UnmarshalText([]byte(r.text(n))); err != nil {
		r.fail(n, "%v", err)
	}
	return c
}

// strategy reads a strategy's name, or one of the file's own.
func (r *fileReader) strategy(n ast.Node) Strategy {
	if _, isMap := n.(ast.MapNode); !isMap {
		s, err := NamedStrategy(r.text(n))
		if err != nil {
			r.fail(n, "%v", err)
		}
		return s
	}
	before := len(r.errs)
	members := r.members(n)
	var s Strategy
	for _, m := range members { // whatever follows starts from the strategy it is like
		if m.key == "like" {
			s = r.strategy(m.value)
		}
	}
	for _, m := range members {
		switch m.key {
		case "like":
		case "name":
			s.Name = r.text(m.value)
		case "memory":
			s.Memory = Memory(r.text(m.value))
		case "auditor":
			s.Auditor = Auditor(r.text(m.value))
		case "batch":
			s.Batch = r.integer(m.value)
		case "when":
			s.When = When(r.text(m.value))
		case "policy":
			s.Policy = Policy(r.text(m.value))
		default:
			r.fail(m.node, "unknown key %q; a strategy has like, name, memory, auditor, batch, when, policy", m.key)
		}
	}
	if err := s.check(); err != nil && len(r.errs) == before {
		r.fail(n, "%v", err)
	}
	return s
}
