// Package analysis turns the records of runs into measures, tables, figures and
// findings: how much of the memory is stale, which stale entries a model finds,
// how its episodes end, what its deaths come from (paper, sections 3.4 and 5
// and appendices D to J). It stands between record, where producers end, and
// report, which lays out.
//
// Three things make every table:
//
//   - A Frame holds one row a trial: its setting (everything that changes what
//     it means), its seed, and what it says in integers (numbers.go).
//   - A measure is a quotient of two sums over rows, averaged over seeds or
//     pooled, with the range and the least difference that matters (measure.go).
//   - A table is a specification: rows by, columns of measures, a test (spec.go,
//     and the files named after what their tables are about). What is lost,
//     undefined or not in the run is said by the frame, for every table alike.
//
// It refuses to guess. What is undefined (precision without a flag) stays
// undefined and is left out of means, which say how many seeds they rest on;
// trials without a result are in no denominator and are counted in warnings;
// rows share a cell only if every setting behind them is equal; the paper's
// figures stand only next to the model and the setting that they are of. It
// draws nothing, reads no files but the lists that it carries, and calls no
// model. The same records give the same bytes in whatever order they come.
package analysis

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// A Frame holds the trials of one run, or of several taken together. Its zero
// value is empty and ready for use. It is not safe for concurrent use.
type Frame struct {
	runs      []frameRun
	trials    map[Setting]*Group // with their whole conditions
	histories map[lakeKey]*history
	order     appearance
	warnings  []string // that concern all tables
	pricedBy  []string // the dates of the lists of prices, ascending
	reader    reasonReader
	methods   map[string]*paid // calls of programs of one's own, by their names

	// What finish makes of them for tables.
	groups map[Setting]*Group // with what varies of their conditions, in words
	short  map[string]string  // models' names, where they are long
	owners map[string]int     // the run that a trial is taken from, by its key; made when first asked for
}

// A frameRun is a run of the frame.
type frameRun struct {
	name      string
	title     string // of its study
	models    []record.ModelInfo
	declared  record.Tests
	condition map[string]string
	lines     map[Setting]string // of the condition, by what it concerns
	shared    map[int]int        // trials that an earlier run has, by that run
	own       int
}

// A Setting is everything that changes what a trial means, but its seed and
// episode. Trials that differ in any of it never share a cell.
type Setting struct {
	Task, Model, Modality, Regime, Strategy, Framing string
	Batch, Rows, Cols                                int
	// Condition is the rest, a line each: sampling, prompts, what the strategy
	// is, what the server refused. People are shown what differs in it.
	Condition string
}

// A Group is the trials of one row of a table: a setting, or several of which
// only the fields that they have in common are set.
type Group struct {
	Setting
	Label string // of a row that is a part of its group, such as one repair
	Seeds []Seed // in ascending order
	runs  []int  // that plan any of it, ascending
	whole string // the conditions of its settings, a line each

	against map[*measure]*paired // a row of its table that it is compared with, by measure
}

// A Seed is the trials of one seed, by episode.
type Seed struct {
	Seed int
	Rows []*Row
}

// A lakeKey names a lake of a study.
type lakeKey struct {
	regime     string
	rows, cols int
	seed       int
	lakes      string // what instances were drawn by; see lakeCondition
}

// Begin begins a run, whose plan, instances and trials follow. Of several runs a
// trial that two plan alike is taken from the first. Errors: a manifest whose
// study cannot be read, or tests that cannot be made.
func (f *Frame) Begin(name string, m *record.Manifest) error {
	run := frameRun{name: name, models: m.Models, condition: map[string]string{}, lines: map[Setting]string{}, shared: map[int]int{}}
	var title struct {
		Name  string
		Shard *struct{ Index, Of int }
	}
	if len(m.Study) > 0 {
		if err := json.Unmarshal(m.Study, &title); err != nil {
			return fmt.Errorf("%s: its study: %w", name, err)
		}
		if err := json.Unmarshal(m.Study, &run.declared); err != nil {
			return fmt.Errorf("%s: the tests that its study declares: %w", name, err)
		}
		if err := readCondition(m, run.condition); err != nil {
			return fmt.Errorf("%s: its study: %w", name, err)
		}
	}
	if err := checkTests(run.declared.OrPlanned()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	run.title = title.Name
	f.runs = append(f.runs, run)
	if s := title.Shard; s != nil {
		f.warn(fmt.Sprintf("%s is shard %d of %d of its study and has the seeds of this part alone; spatialstale merge makes one run of all.", name, s.Index, s.Of))
	}
	if branch := run.condition["branch"]; branch != "" {
		f.warn(fmt.Sprintf("%s is a branch %s, chosen for what came of it: its rows are a case, no sample.", name, branch))
	}
	return nil
}

func (f *Frame) run() *frameRun {
	if len(f.runs) == 0 {
		f.runs = append(f.runs, frameRun{condition: map[string]string{}, lines: map[Setting]string{}, shared: map[int]int{}})
	}
	return &f.runs[len(f.runs)-1]
}

// Expect announces a trial of the run's plan. The order of announcements fixes
// the order of models in tables, and one that no trial follows counts as
// missing. It returns false when an earlier run plans the same trial, from which
// it is then taken. It is an error to announce a trial twice.
func (f *Frame) Expect(spec record.Spec) (own bool, err error) {
	row, at, err := f.rowOf(&spec)
	if err != nil {
		return false, err
	}
	run := f.run()
	here := len(f.runs) - 1
	g := f.trials[at]
	switch {
	case row.Key == "":
		row.Key, row.run = spec.Key, here
		run.own++
		f.order.add(&spec)
		if len(g.runs) == 0 || g.runs[len(g.runs)-1] != here {
			g.runs = append(g.runs, here)
		}
		return true, nil
	case row.Key == spec.Key && row.run != here:
		run.shared[row.run]++
		if g.runs[len(g.runs)-1] != here {
			g.runs = append(g.runs, here)
		}
		return false, nil
	}
	return false, fmt.Errorf("%s is planned twice, perhaps with a setting that tables cannot tell apart", describe(&spec))
}

// describe names a trial in errors.
func describe(s *record.Spec) string {
	return fmt.Sprintf("trial %s (%s, %s, %s, regime %s, seed %d, strategy %s, episode %d)",
		s.Key, s.Task, s.Model, s.Modality, s.Regime, s.Seed, s.Strategy, s.Episode)
}

// rowOf returns the row of a trial of the present run, a new one when there is
// none yet.
func (f *Frame) rowOf(s *record.Spec) (*Row, Setting, error) {
	if s.Task != record.Detect && s.Task != record.Navigate {
		return nil, Setting{}, fmt.Errorf("trial %s has the task %q; tables are made of %q and %q", s.Key, s.Task, record.Detect, record.Navigate)
	}
	at := Setting{s.Task, s.Model, s.Modality, s.Regime, s.Strategy, s.Framing, s.Batch, s.Rows, s.Cols, ""}
	at.Condition = f.conditionOf(&at)
	g := f.trials[at]
	if g == nil {
		if f.trials == nil {
			f.trials = map[Setting]*Group{}
		}
		g = &Group{Setting: at, whole: at.Condition}
		f.trials[at] = g
	}
	i, ok := slices.BinarySearchFunc(g.Seeds, s.Seed, func(x Seed, seed int) int { return x.Seed - seed })
	if !ok {
		g.Seeds = slices.Insert(g.Seeds, i, Seed{Seed: s.Seed})
	}
	rows := &g.Seeds[i].Rows
	k, ok := slices.BinarySearchFunc(*rows, s.Episode, func(r *Row, episode int) int { return r.Episode - episode })
	if !ok {
		*rows = slices.Insert(*rows, k, &Row{Seed: s.Seed, Episode: s.Episode, task: at.Task})
	}
	return (*rows)[k], at, nil
}

// AddInstance adds an instance. The same one may come again.
func (f *Frame) AddInstance(in record.Instance) error {
	h, err := newHistory(&in)
	if err != nil {
		return err
	}
	key := lakeKey{in.Regime, h.rows(), h.cols(), in.Seed, lakeCondition(f.run().condition)}
	if old := f.histories[key]; old != nil && old.text != h.text {
		return fmt.Errorf("instance of seed %d, regime %s: two different instances of %d×%d", in.Seed, in.Regime, h.rows(), h.cols())
	}
	if f.histories == nil {
		f.histories = map[lakeKey]*history{}
	}
	f.histories[key] = h
	return nil
}

// historyOf returns the history behind a trial, nil when its instance was not
// added.
func (f *Frame) historyOf(s *record.Spec) *history {
	return f.histories[lakeKey{s.Regime, s.Rows, s.Cols, s.Seed, lakeCondition(f.run().condition)}]
}

// AddTrial adds a finished or failed trial of the present run; one that an
// earlier run plans is left out. What it says of the memory can be set against
// the lake only when its instance was added before. It is an error when the
// record contradicts itself or its instance, is of a newer version, or repeats a
// trial.
func (f *Frame) AddTrial(t *record.Trial) error {
	if t.Version > record.Version {
		return fmt.Errorf("trial %s was written by a newer program: its record has version %d, this program reads up to %d", t.Key, t.Version, record.Version)
	}
	finished := t.Task == record.Navigate && record.Outcomes.Index(t.Outcome) >= 0 || t.Task == record.Detect && t.Outcome == record.Done
	if !finished && t.Outcome != record.Failed {
		return fmt.Errorf("trial %s: a %q trial cannot have the outcome %q", t.Key, t.Task, t.Outcome)
	}
	row, _, err := f.rowOf(&t.Spec)
	if err != nil {
		return err
	}
	here := len(f.runs) - 1
	switch {
	case row.Key == "":
		row.Key, row.run = t.Key, here
	case row.run != here:
		return nil
	}
	if !row.lost() || row.failed {
		return fmt.Errorf("%s was already added, perhaps with a setting that tables cannot tell apart", describe(&t.Spec))
	}
	if !finished {
		row.failed = true
		return nil
	}
	row.numbers, err = numbersOf(t, f.historyOf(&t.Spec), &f.reader)
	return err
}

// A paidCall is what tables take of a model call that was paid for. Nil is
// unknown.
type paidCall struct {
	Input, Cached, Output, Reasoning *int   // tokens
	Cost                             *int64 // in millionths of a millionth of a US dollar; nil where the model has no price
	Inexact                          bool   // the true cost may be another: not all tokens or prices are known
	Latency                          time.Duration
}

// paid adds up the calls of one trial.
type paid struct {
	calls                            int32
	input, cached, output, reasoning knownSum
	cost                             knownSum // in picodollars
	inexact                          int32    // calls
	latency                          knownSum // in nanoseconds; that of a call in a batch is not known
}

// seconds is the mean time of a call, nil where none is known.
func (p *paid) seconds() *float64 {
	mean := p.latency.mean()
	if mean == nil {
		return nil
	}
	return new(*mean / float64(time.Second))
}

// A knownSum is a sum over the calls where the number is known.
type knownSum struct {
	sum int64
	n   int32
}

func (s *knownSum) add(n *int) {
	if n != nil {
		s.sum, s.n = s.sum+int64(*n), s.n+1
	}
}

// addCall adds a call of a trial of the present run, also of one that has no
// result.
func (f *Frame) addCall(spec *record.Spec, call *paidCall) error {
	row, _, err := f.rowOf(spec)
	if err != nil {
		return err
	}
	if row.run != len(f.runs)-1 {
		return nil
	}
	if row.paid == nil {
		row.paid = &paid{}
	}
	row.paid.add(call)
	return nil
}

// add counts a call.
func (p *paid) add(call *paidCall) {
	p.calls++
	p.input.add(call.Input)
	p.cached.add(call.Cached)
	p.output.add(call.Output)
	p.reasoning.add(call.Reasoning)
	if call.Cost != nil {
		p.cost.sum, p.cost.n = p.cost.sum+*call.Cost, p.cost.n+1
		p.inexact += int32(index(call.Inexact))
	}
	if call.Latency > 0 {
		p.latency.add(new(int(call.Latency)))
	}
}

// PricedBy says of which day a list of prices is that costs are by. There may
// be several.
func (f *Frame) PricedBy(date string) {
	addNew(&f.pricedBy, date)
	slices.Sort(f.pricedBy)
}

// End ends the reading of runs. It is an error when a run adds no trial of its
// own to those before it.
func (f *Frame) End() error {
	for i := range f.runs {
		r := &f.runs[i]
		for _, first := range slices.Sorted(maps.Keys(r.shared)) {
			other := f.runs[first].name
			if r.own == 0 {
				return fmt.Errorf("all trials of %s are in the runs before it, such as %s: there is nothing to take together; set two runs side by side with: spatialstale compare %s %s", r.name, other, other, r.name)
			}
			f.warn(fmt.Sprintf("%s of %s are in %s as well; those of %s are taken, finished or not.", countOf(r.shared[first], "trial"), r.name, other, other))
		}
	}
	return nil
}

func (f *Frame) warn(text string) { addNew(&f.warnings, text) }

func addNew(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// readCondition reads from a manifest what changes what its trials mean and is
// in no field of their specs: of the study all that a list below does not have,
// so that a further option counts as well.
func readCondition(m *record.Manifest, into map[string]string) error {
	var study map[string]json.RawMessage
	if err := json.Unmarshal(m.Study, &study); err != nil {
		return err
	}
	elsewhere := []string{"name", "models", "seeds", "sizes", "regimes", "framings", "detection", "navigation", "contrasts", "family", "equivalence", "bootstrap", "shard"}
	for name, raw := range study {
		if !slices.Contains(elsewhere, name) {
			flatten(name, raw, into)
		}
	}
	if trial := into["branch.trial"]; trial != "" {
		words := strings.TrimSpace(fmt.Sprintf("of %.8s at step %s %s", trial, into["branch.at"], into["branch.action"]))
		maps.DeleteFunc(into, func(name, _ string) bool { return strings.HasPrefix(name, "branch.") })
		into["branch"] = words
	}
	for _, list := range []struct {
		task string
		by   string
	}{{"detection", "detectors"}, {"navigation", "strategies"}} {
		var task map[string]json.RawMessage
		var strategies []map[string]any
		if json.Unmarshal(study[list.task], &task) != nil || json.Unmarshal(task[list.by], &strategies) != nil {
			continue
		}
		if n := task["distractors"]; n != nil {
			flatten("distractors", n, into)
		}
		for _, s := range strategies {
			name := fmt.Sprint(s["name"])
			delete(s, "name")
			delete(s, "batch") // a field of specs
			text, err := json.Marshal(s)
			if err != nil {
				return err
			}
			into["strategy "+name] = string(text)
		}
	}
	for name, sum := range m.Prompts {
		into["prompt "+name] = sum
	}
	for _, model := range m.Models {
		words := settingWords(model.Settings)
		for _, c := range model.Changes {
			words = append(words, c.String())
		}
		if len(words) > 0 {
			into["asked of "+model.Name] = strings.Join(words, ", ")
		}
		if len(model.ServerModels) > 0 {
			into["server of "+model.Name] = strings.Join(model.ServerModels, ", ")
		}
	}
	return nil
}

// flatten writes a JSON value under dotted names, without what is empty.
func flatten(name string, raw json.RawMessage, into map[string]string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil && fields != nil {
		for k, v := range fields {
			flatten(name+"."+k, v, into)
		}
		return
	}
	switch text := string(raw); {
	case text == "0" && strings.HasPrefix(name, "params."): // a temperature of 0 is one that was sent
		into[name] = text
	case slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, text):
	default:
		into[name] = strings.Trim(text, `"`)
	}
}

// conditionOf returns what of the run's condition concerns a setting, a line
// each in the order of names.
func (f *Frame) conditionOf(s *Setting) string {
	run := f.run()
	if lines, ok := run.lines[*s]; ok {
		return lines
	}
	var lines []string
	for name, value := range run.condition {
		kind, of, _ := strings.Cut(name, " ")
		switch kind {
		case "strategy":
			if of != s.Strategy {
				continue
			}
			name = "strategy"
		case "asked", "server":
			if of, _ := strings.CutPrefix(of, "of "); of != s.Model {
				continue
			}
			name = kind
		case "distractors":
			if s.Task != record.Detect {
				continue
			}
		case "prompt":
			framing, framed := strings.CutPrefix(of, "framing-")
			switch {
			case framed && framing != s.Framing+".txt",
				strings.HasPrefix(of, "navigate") && s.Task != record.Navigate,
				strings.HasPrefix(of, "audit-score") && s.Strategy != scoreStrategy:
				continue
			}
		}
		lines = append(lines, name+"="+value)
	}
	slices.Sort(lines)
	run.lines[*s] = strings.Join(lines, "\n")
	return run.lines[*s]
}

// lakeCondition is the part of a condition that instances are drawn by.
func lakeCondition(condition map[string]string) string {
	return condition["hole_fraction"] + " " + condition["dataset"]
}

// value returns one line of a condition, empty when it is not set.
func (s *Setting) value(name string) string {
	for line := range strings.Lines(s.Condition) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && key == name {
			return value
		}
	}
	return ""
}

// conditionWords are the names of conditions for people, and what stands for one
// that is not set.
func conditionWords(name, value string) string {
	what := strings.TrimPrefix(name, "params.")
	kind, of, _ := strings.Cut(name, " ")
	switch {
	case kind == "prompt":
		return strings.TrimSuffix(of, ".txt") + " " + value[:min(8, len(value))]
	case name == "server":
		what = "server’s model"
	case name == "asked":
		what = "asked with"
	case name == "strategy":
		return "strategy " + definitionWords(value)
	}
	what = strings.ReplaceAll(what, "_", " ")
	switch value {
	case "":
		if strings.HasPrefix(name, "params.") {
			return what + " not set"
		}
		return "no " + what
	case "true":
		return what
	}
	return what + " " + value
}

// among names the settings that one part of a condition is compared among: those
// of the same model, of one strategy for what that is, and of one wording, task
// and strategy for prompts.
func among(s *Setting, name string) string {
	switch {
	case name == "branch":
		return ""
	case name == "strategy":
		return fmt.Sprint(s.Model, " ", s.Strategy)
	case strings.HasPrefix(name, "prompt "):
		return fmt.Sprint(s.Model, " ", s.Framing, " ", s.Task, " ", s.Strategy)
	}
	return s.Model
}

// finish makes what tables are made of: settings are told apart by what varies
// of their conditions, in words, and long names of models get numbers.
func (f *Frame) finish() {
	names, values := map[string]bool{}, map[[2]string]string{}
	for s := range f.trials {
		for line := range strings.Lines(s.Condition) {
			name, _, _ := strings.Cut(line, "=")
			names[name] = true
		}
	}
	varies := map[[2]string]bool{}
	for s := range f.trials {
		for name := range names {
			key, value := [2]string{among(&s, name), name}, s.value(name)
			if old, ok := values[key]; ok && old != value {
				varies[key] = true
			}
			values[key] = value
		}
	}
	f.groups = map[Setting]*Group{}
	models := map[string]bool{}
	for s, g := range f.trials {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if varies[[2]string{among(&s, name), name}] {
				words = append(words, conditionWords(name, s.value(name)))
			}
		}
		s.Condition = strings.Join(words, conditionsApart)
		one := *g
		one.Setting = s
		f.groups[s] = &one
		models[s.Model] = true
	}
	f.short = shortNames(slices.SortedFunc(maps.Keys(models), f.order.compareModels))
}

// conditionsApart stands between the words of a condition.
const conditionsApart = "; "

// A Source is a run as it is stored. Trials and calls come in the plan's order.
type Source interface {
	Manifest() record.Manifest
	Plan() iter.Seq2[record.Spec, error]
	Instances() iter.Seq2[record.Instance, error]
	Trials() iter.Seq2[*record.Trial, error]
	Calls() iter.Seq2[*record.Call, error]
}

// Read reads a whole run. Of models that have a server the calls are read as
// well where price is given, which says what one cost. Errors are those of the
// source, and of the methods that add what it holds.
func (f *Frame) Read(name string, s Source, price func(*record.Call) (cost *int64, inexact bool)) error {
	manifest := s.Manifest()
	if err := f.Begin(name, &manifest); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("%s: %w; report the runs one at a time", name, err) }
	paid := map[string]*record.Spec{}
	programs := map[string]bool{} // trials in which a program of a strategy may be asked
	hasPrograms := slices.ContainsFunc(manifest.Models, func(m record.ModelInfo) bool { return record.IsMethod(m.Name) })
	for spec, err := range s.Plan() {
		if err != nil {
			return err
		}
		own, err := f.Expect(spec)
		if err != nil {
			return fail(err)
		}
		if own && price != nil && !isControl(spec.Model) {
			paid[spec.Key] = &spec
		}
		if own && price != nil && hasPrograms {
			programs[spec.Key] = true
		}
	}
	for in, err := range s.Instances() {
		if err != nil {
			return err
		}
		if err := f.AddInstance(in); err != nil {
			return fail(err)
		}
	}
	for t, err := range s.Trials() {
		if err != nil {
			return err
		}
		if err := f.AddTrial(t); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(paid) == 0 && len(programs) == 0 {
		return nil
	}
	for c, err := range s.Calls() {
		if err != nil {
			return err
		}
		spec, method := paid[c.Trial], record.IsMethod(c.Model) && programs[c.Trial]
		if spec == nil && !method {
			continue
		}
		call := paidCall{Input: c.InputTokens, Cached: c.CachedTokens, Output: c.OutputTokens, Reasoning: c.ReasoningTokens, Latency: c.Latency}
		call.Cost, call.Inexact = price(c)
		if method {
			f.addMethodCall(c.Model, &call)
			continue
		}
		if err := f.addCall(spec, &call); err != nil {
			return err
		}
	}
	return nil
}

// Owns reports whether a trial of a run is taken from that run, of which Begin
// was told the name, and not from an earlier one.
func (f *Frame) Owns(name string, spec *record.Spec) bool {
	if len(f.runs) < 2 {
		return true
	}
	if f.owners == nil {
		f.owners = map[string]int{}
		for _, g := range f.trials {
			for _, s := range g.Seeds {
				for _, r := range s.Rows {
					f.owners[r.Key] = r.run
				}
			}
		}
	}
	return f.runs[f.owners[spec.Key]].name == name
}
