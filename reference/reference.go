// Package reference holds the built-in agents: controls with known behaviour
// that answer by reading the prompt, as a model would, whether it shows the
// lake as text or as a picture. They implement llm.Model, and stand in the data
// flow wherever a model stands.
//
// They are a ceiling (reader), a floor (believer), a knob (mixed) and a few that
// isolate one thing each, and never a stand-in for a named model. The package is barred from instance and memory,
// so an agent here cannot know more than its prompt tells: a test of the
// project's imports sees to that.
package reference

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
)

// Prefix begins the name of every control.
const Prefix = "ref/"

// An agent decides; asking and answering is the same for all of them.
type agent interface {
	// judge returns the answer for each entry of an audit, in order.
	judge(p *prompt, d *dice) []judgment
	// act returns the action of a step.
	act(p *prompt, d *dice) lake.Action
}

// A dresser says its answers in its own form.
type dresser interface {
	// dress returns the reply to an audit; a step has no judgments.
	dressJudgments(entries []entry, js []judgment, d *dice) *llm.Reply
	dressAction(a lake.Action, d *dice) *llm.Reply
}

// A Control is a built-in agent.
type Control struct {
	name  string
	agent agent
	eyes  *eyes
}

// A Description tells what a control is for.
type Description struct{ Name, Note string }

// About describes the controls, for lists and notes.
var About = []Description{
	{"ref/reader", "a ceiling: finds exactly what contradicts the observation, walks a shortest safe route that it sees"},
	{"ref/believer", "a floor: never finds anything stale, walks by the memory wherever it has an entry"},
	{"ref/mixed?trust=…&tpr=…&fpr=…&vision_tpr=…&vision_fpr=…&slip=…", "a knob: trusts the memory, flags and slips with the given probabilities"},
	{"ref/always-stale", "flags every entry and walks by the memory: what emptying the memory buys, at a false-positive rate of 1"},
	{"ref/never-stale", "flags nothing and walks by what it sees: a memory that is never believed does no harm"},
	{"ref/random", "flags with probability 1/2 and walks at random: the level of chance"},
	{"ref/silent", "answers nothing: what the fallbacks do alone"},
	{"ref/messy", "the reader's answers in forms that models use, some of them incomplete: a test of how replies are read"},
}

// agents makes the controls without parameters.
var agents = map[string]agent{
	"reader":       reader{},
	"believer":     believer{},
	"always-stale": alwaysStale{},
	"never-stale":  neverStale{},
	"random":       random{},
	"silent":       silent{},
	"messy":        messy{},
}

// New returns the control of that name. Parameters that a name leaves out take
// their defaults; the error for an unknown name lists what there is.
func New(name string) (*Control, error) {
	kind, query, _ := strings.Cut(strings.TrimPrefix(name, Prefix), "?")
	if kind == "mixed" {
		m, err := parseMixed(query)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", name, err)
		}
		return &Control{name: m.name(), agent: m, eyes: sharedEyes}, nil
	}
	a, ok := agents[kind]
	if !ok {
		names := make([]string, len(About))
		for i, a := range About {
			names[i] = a.Name
		}
		return nil, fmt.Errorf("unknown control %q; there are %s", name, strings.Join(names, ", "))
	}
	if query != "" {
		return nil, fmt.Errorf("model %q: ref/%s takes no parameters", name, kind)
	}
	return &Control{name: Prefix + kind, agent: a, eyes: sharedEyes}, nil
}

// Name returns the canonical name: ref/mixed with all parameters in order.
func (c *Control) Name() string { return c.name }

// Generate answers an audit with judgments and anything else with an action.
// What it cannot read it says in plain words, as a model would. The answer
// depends on the prompt, the slot and the trial alone.
func (c *Control) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, &llm.Error{Kind: llm.KindCanceled, Model: c.name, Slot: req.Slot, Err: err}
	}
	p := c.eyes.read(req.Parts)
	if p.problem != "" {
		return &llm.Reply{Text: p.problem, Finish: llm.FinishStop, Model: c.name}, nil
	}
	d := newDice(req)
	dress, _ := c.agent.(dresser)
	if dress == nil {
		dress = plain{}
	}
	var reply *llm.Reply
	_, quiet := c.agent.(silent)
	if p.transcript && !p.audit && !quiet {
		reply = said(p.formatScene())
	} else if p.audit {
		reply = dress.dressJudgments(p.entries, p.asked(c.agent.judge(p, d)), d)
	} else {
		reply = dress.dressAction(c.agent.act(p, d), d)
	}
	reply.Model = c.name
	return reply, nil
}

// plain is the form that the prompt asks for.
type plain struct{}

func (plain) dressJudgments(entries []entry, js []judgment, _ *dice) *llm.Reply {
	return said(formatJudgments(entries, js))
}

func (plain) dressAction(a lake.Action, _ *dice) *llm.Reply { return said(formatAction(a)) }

// formatScene writes the grid down as it is seen, by any control: they differ in
// what they make of it.
func (p *prompt) formatScene() string {
	rows := p.scene.Grid.Rows()
	for r := range rows {
		row := []byte(rows[r])
		for c := range row {
			if p.scene.Unseen[r]>>uint(c)&1 != 0 {
				row[c] = '?'
			}
		}
		rows[r] = strconv.Quote(string(row))
	}
	return `{"rows": [` + strings.Join(rows, ", ") + "]}"
}

// said is a reply that came to its end.
func said(text string) *llm.Reply { return &llm.Reply{Text: text, Finish: llm.FinishStop} }

func formatAction(a lake.Action) string { return `{"action": "` + a.String() + `"}` }

// A judgment is the answer for one entry.
type judgment struct {
	stale      bool
	confidence float64
	reason     string
	score      *float64 // where scores are asked for
}

// asked completes judgments with scores where the prompt asks for them: 1 for
// stale and 0 for valid, unless the agent has chosen one.
func (p *prompt) asked(js []judgment) []judgment {
	for i := range js {
		switch {
		case !p.scores:
			js[i].score = nil
		case js[i].score == nil:
			score := 0.
			if js[i].stale {
				score = 1
			}
			js[i].score = &score
		}
	}
	return js
}

func formatJudgments(entries []entry, judgments []judgment) string {
	var b strings.Builder
	b.Grow(100 * (len(entries) + 1))
	b.WriteString(`{"judgments": [`)
	for i, j := range judgments {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + `{"memory_id": `)
		b.WriteString(strconv.Quote(entries[i].id))
		if j.score != nil {
			b.WriteString(`, "score": `)
			b.WriteString(strconv.FormatFloat(*j.score, 'g', -1, 64))
		} else {
			b.WriteString(`, "is_stale": `)
			b.WriteString(strconv.FormatBool(j.stale))
			b.WriteString(`, "confidence": `)
			b.WriteString(strconv.FormatFloat(j.confidence, 'g', -1, 64))
		}
		b.WriteString(`, "reasoning": `)
		b.WriteString(strconv.Quote(j.reason))
		b.WriteString("}")
	}
	b.WriteString("\n]}")
	return b.String()
}

// mixed is the knob. Each field is a probability.
type mixed struct {
	trust                float64 // at a step: walks by the memory, not by what it sees
	tpr, fpr             float64 // flags a contradicted, an uncontradicted entry; text
	visionTPR, visionFPR float64 // the same for pictures
	slip                 float64 // at a step: takes a uniformly random action
}

// params lists the knob's parameters in the order of its canonical name.
func (m *mixed) params() []param {
	return []param{
		{"trust", &m.trust}, {"tpr", &m.tpr}, {"fpr", &m.fpr},
		{"vision_tpr", &m.visionTPR}, {"vision_fpr", &m.visionFPR}, {"slip", &m.slip},
	}
}

type param struct {
	name  string
	value *float64
}

func parseMixed(query string) (*mixed, error) {
	m := &mixed{trust: 0.5, tpr: 0.9, fpr: 0.02, visionTPR: 0.6, visionFPR: 0.05, slip: 0.02}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("its parameters cannot be read: %w", err)
	}
	var names []string
	for _, p := range m.params() {
		names = append(names, p.name)
		given, ok := values[p.name]
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(given[0], 64)
		if err != nil || len(given) > 1 || !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("%s=%s: want one probability between 0 and 1", p.name, strings.Join(given, ","))
		}
		*p.value = v
	}
	unknown := make([]string, 0, len(values))
	for name := range values {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		return nil, fmt.Errorf("unknown parameter %s; there are %s", strings.Join(unknown, ", "), strings.Join(names, ", "))
	}
	return m, nil
}

func (m *mixed) name() string {
	parts := make([]string, 0, 6)
	for _, p := range m.params() {
		parts = append(parts, p.name+"="+strconv.FormatFloat(*p.value, 'g', -1, 64))
	}
	return Prefix + "mixed?" + strings.Join(parts, "&")
}
