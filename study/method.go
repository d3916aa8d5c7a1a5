package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/record"
)

// A Method is an auditor, an agent or a memory in another program
// (docs/methods.md): one that is started and spoken to by lines of JSON on its
// standard input and output, or one that answers the same over HTTP.
type Method struct {
	Exec []string `json:"exec,omitempty"` // the program and its arguments
	HTTP string   `json:"http,omitempty"` // the address that requests are posted to
	// Builtin is one of those that ship with the program, in place of another one.
	Builtin string `json:"builtin,omitempty"`
	// Wants is what it is sent beside what a model would be: "grid" for the
	// observation cell by cell.
	Wants []string `json:"wants,omitempty"`
	// Version tells methods of one name apart, as one at an address that is not
	// always the same program: those of another version have other trials.
	Version string `json:"version,omitempty"`
	Timeout int    `json:"timeout,omitempty"` // of one answer, in seconds; 0 is 60
	Workers int    `json:"workers,omitempty"` // processes at once, or requests; 0 is the number of processors
}

// WantsGrid asks for the observation cell by cell. A method that gets it may
// know what a model has to read or see, which tables say.
const WantsGrid = "grid"

// The methods that ship with the program: an auditor and an agent.
const (
	BuiltinDiff    = "diff"
	BuiltinPlanner = "planner"
)

// methodFields are the settings of a Method.
var methodFields = []field[Method]{
	{Key: "exec", About: "the program and its arguments, started in the current folder", Empty: true, at: func(m *Method) any { return (*arguments)(&m.Exec) }},
	{Key: "http", About: "the address that requests are posted to, in place of a program", at: func(m *Method) any { return &m.HTTP }},
	{Key: "builtin", About: "one that ships with the program, in place of another: diff, an auditor that compares texts, or planner, an agent that takes the shortest way by what it remembers", Of: these([]string{BuiltinDiff, BuiltinPlanner}), at: func(m *Method) any { return &m.Builtin }},
	{Key: "wants", About: "what it is sent beside what a model would be: grid, the observation cell by cell", Of: these([]string{WantsGrid}), Empty: true, at: func(m *Method) any { return &m.Wants }},
	{Key: "version", About: "what tells it from others of its name, as 1.2: each version has trials of its own", at: func(m *Method) any { return &m.Version }},
	{Key: "timeout", About: "the longest time for one answer, in seconds; 60 unless given", Most: 86_400, at: func(m *Method) any { return &m.Timeout }},
	{Key: "workers", About: "processes, or requests, at once; as many as there are processors unless given", Most: 1024, at: func(m *Method) any { return &m.Workers }},
}

// arguments are a list in which a value may be there more than once.
type arguments []string

func (m *Method) check() error {
	forms := 0
	for _, given := range []bool{len(m.Exec) > 0, m.HTTP != "", m.Builtin != ""} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		return errors.New("a method is either exec, a program with its arguments, or http, an address, or builtin, one that ships")
	case m.Builtin != "" && len(m.Wants) > 0:
		return errors.New("wants: what ships with the program reads what a model would")
	case len(m.Exec) > 0 && m.Exec[0] == "":
		return errors.New("exec: the program has no name")
	case len(m.Version) > 100 || strings.ContainsFunc(m.Version, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("version: want at most 100 characters that can be printed")
	case m.HTTP != "":
		if u, err := url.Parse(m.HTTP); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("http: want an address such as http://127.0.0.1:9000/audit")
		}
	}
	return nil
}

// String says where the method is.
func (m *Method) String() string {
	switch {
	case m.HTTP != "":
		return m.HTTP
	case m.Builtin != "":
		return "built in: " + m.Builtin
	}
	return strings.Join(m.Exec, " ")
}

// identity is what of a method determines a trial: not where it is served, nor
// how patiently it is asked.
func (m *Method) identity() *Method {
	if m == nil {
		return nil
	}
	return &Method{Exec: m.Exec, Builtin: m.Builtin, Wants: m.Wants, Version: m.Version}
}

// IsSent reports whether the method is sent what it wants beside what a model
// would be, as WantsGrid.
func (m *Method) IsSent(want string) bool { return slices.Contains(m.Wants, want) }

// IsAgent reports whether a model is an agent in another program, which walks
// and judges nothing.
func IsAgent(model string) bool { return strings.HasPrefix(model, record.AgentPrefix) }

// IsPerson reports whether a person answers in the model's place: to the same
// prompts, by the same strategies.
func IsPerson(model string) bool { return strings.HasPrefix(model, record.PersonPrefix) }

// HasServer reports whether a model may be paid for by its tokens: it is neither a
// program of one's own nor a person.
func HasServer(model string) bool { return !IsAgent(model) && !IsPerson(model) }

// Methods returns the study's methods by the names under which their calls are
// recorded.
func (s *Study) Methods() map[string]*Method {
	out := map[string]*Method{}
	for name, m := range s.Agents {
		out[record.AgentPrefix+name] = m
	}
	for _, by := range s.strategies() {
		if by.Method != nil {
			out[by.Program()] = by.Method
		}
	}
	return out
}

// MoveMethods changes where methods are that are asked over HTTP, by their names
// in Methods. No trial is another one for it.
func (s *Study) MoveMethods(to map[string]string) error {
	all := s.Methods()
	for _, name := range slices.Sorted(maps.Keys(to)) {
		switch m := all[name]; {
		case m == nil:
			return fmt.Errorf("method %s: the study has none of that name; there are %s", name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(all)), ", "), "none"))
		case m.HTTP == "":
			return fmt.Errorf("method %s: it is a program, %s, and has no address", name, m)
		}
		if err := (&Method{HTTP: to[name]}).check(); err != nil {
			return fmt.Errorf("method %s: %w", name, err)
		}
	}
	for name, m := range s.Agents {
		m.move(to[record.AgentPrefix+name])
	}
	for _, by := range s.strategies() { // detection and navigation each have their own
		if by.Method != nil {
			by.Method.move(to[by.Program()])
		}
	}
	return nil
}

func (m *Method) move(address string) {
	if address != "" {
		m.HTTP = address
	}
}

// strategies are those of both tasks.
func (s *Study) strategies() (all []Strategy) {
	if s.Detection != nil {
		all = append(all, s.Detection.Detectors...)
	}
	if s.Navigation != nil {
		all = append(all, s.Navigation.Strategies...)
	}
	return all
}

// Program is the name under which the calls of the strategy's own auditor or
// memory are recorded, empty where it has none.
func (s Strategy) Program() string {
	switch {
	case s.Method == nil:
		return ""
	case s.Memory == MemoryMethod:
		return record.MemoryPrefix + s.Name
	}
	return record.AuditorPrefix + s.Name
}

// checkMethods says what is wrong with the study's methods.
func (s *Study) checkMethods() error {
	var errs []error
	for name, m := range s.Agents {
		switch err := m.check(); {
		case !namePattern.MatchString(name):
			errs = append(errs, fmt.Errorf("agents: name %q: use letters, digits, spaces, and . _ - behind the first", name))
		case err != nil:
			errs = append(errs, fmt.Errorf("agents.%s: %w", name, err))
		case m.Builtin != "" && m.Builtin != BuiltinPlanner:
			errs = append(errs, fmt.Errorf("agents.%s: the built-in %s is no agent; planner is", name, m.Builtin))
		case !slices.Contains(s.Models, record.AgentPrefix+name):
			errs = append(errs, fmt.Errorf("agents.%s: no model walks by it; write %s%s among the models", name, record.AgentPrefix, name))
		}
	}
	for _, model := range s.Models {
		if name, ok := strings.CutPrefix(model, record.AgentPrefix); ok && s.Agents[name] == nil {
			errs = append(errs, fmt.Errorf("models: %s is no agent of the study; it has to be described under agents", model))
		}
	}
	byName := map[string]*Method{}
	for _, st := range s.strategies() {
		if st.Method != nil && st.Method.Builtin != "" && (st.Method.Builtin != BuiltinDiff || st.Auditor != AuditMethod) {
			errs = append(errs, fmt.Errorf("strategy %s: the built-in %s is none of its kind; diff is an auditor, planner an agent", st.Name, st.Method.Builtin))
		}
		if old := byName[st.Name]; st.Method != nil && old != nil && (old.String() != st.Method.String() || old.Version != st.Method.Version) {
			errs = append(errs, fmt.Errorf("two strategies are called %s and have programs of their own, %v and %v", st.Name, old, st.Method))
		}
		byName[st.Name] = st.Method
	}
	return errors.Join(errs...)
}
