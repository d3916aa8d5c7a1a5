package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return ParseFile(path, text)
}

// maxFile is the largest study or prompt file, in bytes.
const maxFile = 256 << 10

// readBounded reads a file that people write: a larger one, or a device that
// never ends, is none.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: it is larger than %d bytes, which no study and no prompt is; is it the right file?", path, maxFile)
	}
	return text, nil
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
	return s.set("setting "+path, path, value)
}

// SetFlag changes the settings behind a flag, in those tasks that the study has.
// The values are as on the command line. Whoever names a strategy for a
// detection must name one that detects.
func (s *Study) SetFlag(flag string, values []string) error {
	if n := s.Navigation; flag == "model" && n != nil {
		n.Models, n.Only = nil, nil // other models than those that they were said of
	}
	for i := range Fields {
		f := &Fields[i]
		if f.Flag != flag || !f.In(s) {
			continue
		}
		chosen := values
		if f.Key == "detection.detectors" {
			if chosen = slices.DeleteFunc(slices.Clone(values), func(name string) bool {
				st, err := NamedStrategy(name)
				return err == nil && !st.Detects()
			}); len(chosen) == 0 {
				if s.Navigation == nil {
					return fmt.Errorf("--strategy %s: a detection needs one that asks a model to judge the memory, such as omcd", strings.Join(values, ","))
				}
				continue // it keeps its own
			}
		}
		if err := s.set("--"+flag, f.Key, f.yaml(chosen)); err != nil {
			return err
		}
	}
	return nil
}

// yaml writes values of the command line as a file has them.
func (f *field[T]) yaml(values []string) string {
	list, _ := f.Kind()
	if !list || f.Key == "seeds" {
		return strings.Join(values, " ")
	}
	b, _ := json.Marshal(values) // of texts: it cannot fail, and is YAML as well
	return string(b)
}

// set reads a value's YAML into the study; the name is for errors.
func (s *Study) set(name, path, value string) error {
	node, err := parseYAML([]byte(value))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := &fileReader{name: name, noPlace: true}
	r.set(s, strings.Split(path, "."), node, node)
	return errors.Join(r.errs...)
}

// How deep a study file may be nested (the deepest study has 5), and how many
// lines it may have.
const (
	maxNesting = 50
	maxLines   = 10_000
)

// checkNesting refuses a text whose shape alone would take a parser more time
// and memory than a machine has.
func checkNesting(text []byte) error {
	if n := bytes.Count(text, []byte("\n")); n > maxLines {
		return fmt.Errorf("it has %d lines; at most %d are taken", n, maxLines)
	}
	flow := 0
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		depth, indent := 0, len(line)-len(rest)
		for len(rest) > 1 && bytes.IndexByte([]byte("-?!&*:"), rest[0]) >= 0 && (rest[1] == ' ' || rest[0] != '-') {
			rest = bytes.TrimLeft(rest[1:], " \t")
			depth++
		}
		for i, c := range rest {
			if i > 0 && rest[i-1] == ' ' && bytes.IndexByte([]byte("!&*"), c) >= 0 {
				depth++
			}
			switch c {
			case '[', '{':
				flow++
			case ']', '}':
				flow = max(0, flow-1)
			}
			depth = max(depth, flow)
		}
		if depth > maxNesting || indent > 4*maxNesting {
			return fmt.Errorf("it is nested more than %d deep, which no study is", maxNesting)
		}
	}
	return nil
}

func parseYAML(text []byte) (ast.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write one
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes, which no study is", maxFile)
	}
	if err := checkNesting(text); err != nil {
		return nil, err
	}
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
	// First what others rest on: tasks that are there, framings that have words.
	slices.SortStableFunc(members, func(a, b member) int { return a.rank() - b.rank() })
	for _, m := range members {
		if m.key != "base" {
			r.set(s, []string{m.key}, m.node, m.value)
		}
	}
	return s
}

func (m *member) rank() int {
	if m.key == "tasks" || m.key == "prompts" {
		return 0
	}
	return 1
}

// set reads a value into the study at a path of keys, the last of which is the
// node key.
func (r *fileReader) set(s *Study, path []string, key, value ast.Node) {
	full := strings.Join(path, ".")
	if i := slices.IndexFunc(Fields, func(f Field) bool { return f.Key == full }); i >= 0 {
		f := &Fields[i]
		readInto(r, s, f, f.at(s), value)
		return
	}
	if _, group := groups[full]; group {
		for _, m := range r.members(value) {
			r.set(s, []string{full, m.key}, m.node, m.value)
		}
		return
	}
	r.fail(key, "unknown key %q; there are %s", full, strings.Join(keysUnder(path[:len(path)-1]), ", "))
}

// readInto reads a value to where a field points, and checks it.
func readInto[T any](r *fileReader, s *Study, f *field[T], into any, n ast.Node) {
	before := len(r.errs)
	value := func(r *fileReader, n ast.Node) string {
		text := r.text(n)
		if err := f.oneOf(s, text); err != nil && text != "" {
			r.fail(n, "%v", err)
		}
		return text
	}
	switch v := into.(type) {
	case *string:
		*v = r.text(n)
	case *int:
		*v = r.integer(n)
	case **int:
		*v = new(r.integer(n))
	case *uint64:
		*v = r.natural(n)
	case *float64:
		*v = r.number(n)
	case **float64:
		*v = new(r.number(n))
	case *bool:
		*v = r.boolean(n)
	case *[]string:
		*v = list(r, n, value)
	case *arguments:
		*v = list(r, n, (*fileReader).text)
	case *auditing:
		if _, isMap := n.(ast.MapNode); isMap {
			v.Auditor, v.Method, v.Batch = AuditMethod, r.method(n), 0
			v.Memory, v.When, v.Policy = cmp.Or(v.Memory, MemoryAll), cmp.Or(v.When, OnEvent), cmp.Or(v.Policy, Remove)
		} else {
			v.Auditor, v.Method = Auditor(value(r, n)), nil
		}
	case *remembering:
		if _, isMap := n.(ast.MapNode); isMap {
			v.Memory, v.Method, v.Auditor = MemoryMethod, r.method(n), cmp.Or(v.Auditor, AuditNone)
		} else {
			v.Memory = Memory(value(r, n))
		}
	case *map[string]*Method:
		*v = map[string]*Method{}
		for _, m := range r.members(n) {
			(*v)[m.key] = r.method(m.value)
		}
	case *[]int:
		r.seeds(s, n)
	case *[]Size:
		s.AskSizes(list(r, n, (*fileReader).size))
	case *[]instance.Regime:
		var regimes []instance.Regime
		for _, name := range list(r, n, value) {
			regimes = append(regimes, instance.Regime(name))
		}
		s.AskRegimes(regimes)
	case *[]Strategy:
		*v = list(r, n, (*fileReader).strategy)
	case *[]record.Contrast:
		*v = list(r, n, (*fileReader).contrast)
	case *tasks:
		s.keepTasks(list(r, n, value))
	case *Prompts:
		r.prompts(s, n)
	case *map[string][]string:
		*v = map[string][]string{}
		for _, m := range r.members(n) {
			(*v)[m.key] = list(r, m.value, (*fileReader).text)
		}
	default:
		panic(fmt.Sprintf("study: no way to read %T", into)) // a field of a new kind
	}
	if len(r.errs) > before {
		return
	}
	if err := f.check(s, into); err != nil {
		r.fail(n, "%v", err)
	}
}

// keysUnder lists the keys that may be under a path, in order.
func keysUnder(path []string) []string {
	prefix := strings.Join(append(slices.Clone(path), ""), ".")
	var keys []string
	for i := range Fields {
		if rest, ok := strings.CutPrefix(Fields[i].Key, prefix); ok {
			first, _, _ := strings.Cut(rest, ".")
			keys = append(keys, first)
		}
	}
	if len(keys) == 0 {
		return keysUnder(nil)
	}
	if prefix == "" {
		keys = append(keys, "base")
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		if seen[key] {
			r.fail(it.Key(), "key %q is there twice", key)
		}
		seen[key] = true
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

// keepTasks keeps the named tasks and drops the other.
func (s *Study) keepTasks(named []string) {
	if slices.Contains(named, record.Detect) {
		s.detection()
	} else {
		s.Detection = nil
	}
	if slices.Contains(named, record.Navigate) {
		s.navigation()
	} else {
		s.Navigation = nil
	}
}

// prompts reads texts by the names of prompt files.
func (r *fileReader) prompts(s *Study, n ast.Node) {
	for _, m := range r.members(n) {
		if err := s.SetPrompt(strings.TrimSuffix(m.key, ".txt")+".txt", r.text(m.value)); err != nil {
			r.fail(m.node, "prompt %v", err)
		}
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

// method reads a program of the user's own.
func (r *fileReader) method(n ast.Node) *Method {
	m := &Method{}
	before := len(r.errs)
	for _, member := range r.members(n) {
		if i := slices.IndexFunc(methodFields, func(f field[Method]) bool { return f.Key == member.key }); i >= 0 {
			f := &methodFields[i]
			readInto(r, nil, f, f.at(m), member.value)
		} else {
			r.fail(member.node, "unknown key %q; a method has exec, http, builtin, wants, version, timeout, workers", member.key)
		}
	}
	if err := m.check(); err != nil && len(r.errs) == before {
		r.fail(n, "%v", err)
	}
	return m
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
		i := slices.IndexFunc(strategyFields, func(f field[Strategy]) bool { return f.Key == m.key })
		switch {
		case i >= 0:
			f := &strategyFields[i]
			readInto(r, nil, f, f.at(&s), m.value)
		case m.key != "like":
			r.fail(m.node, "unknown key %q; a strategy has like, name, memory, auditor, batch, when, policy", m.key)
		}
	}
	if err := s.check(); err != nil && len(r.errs) == before {
		r.fail(n, "%v", err)
	}
	return s
}
