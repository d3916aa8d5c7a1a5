package run

import (
	"encoding/json"
	"slices"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// Bounds are three numbers of one thing: at the least, at the most, and likely,
// which is as if each episode took as many steps as the shortest way across an
// open lake has.
type Bounds struct {
	Least  int `json:"least"`
	Likely int `json:"likely"`
	Most   int `json:"most"`
}

func (b *Bounds) add(c Bounds, times int) {
	b.Least += times * c.Least
	b.Likely += times * c.Likely
	b.Most += times * c.Most
}

// A Volume is what trials that are alike send and ask for. A detection's is that
// of its requests; an episode's rests on its first audit and first step, as they
// are asked when nothing is found stale.
type Volume struct {
	Calls
	Likely     int         `json:"likely"`     // calls
	Text       Bounds      `json:"text"`       // tokens of the prompts' texts, estimated (llm.EstimateTokens)
	Schema     int         `json:"schema"`     // tokens of reply schemas at the most, where a provider counts them
	Pictures   Bounds      `json:"pictures"`   // sent
	Width      int         `json:"width"`      // of a picture, in pixels; 0 without
	Height     int         `json:"height"`     // of a picture
	Verdicts   Bounds      `json:"verdicts"`   // asked for
	Actions    Bounds      `json:"actions"`    // asked for
	Answers    int         `json:"answers"`    // tokens of ample answers to all calls at the most (llm.Request.Answer)
	Beginnings []Beginning `json:"beginnings"` // what prompts share with earlier ones
}

// A Beginning is the part of a prompt that an earlier call began with as well,
// which a provider's prompt cache may serve.
type Beginning struct {
	Text     llm.Tokens `json:"text"`
	Pictures int        `json:"pictures"`
	Calls    Bounds     `json:"calls"` // that begin so
}

// Volumes measures what the plan's trials send, in the groups of Calls. No model
// is asked.
func Volumes(s *study.Study) ([]Volume, error) {
	calls, err := CallsOf(s)
	if err != nil {
		return nil, err
	}
	out := make([]Volume, len(calls))
	at := map[record.Spec]int{}
	for i, c := range calls {
		out[i].Calls = c
		at[c.group()] = i
	}
	models := slices.DeleteFunc(slices.Clone(s.Models), func(m string) bool { return !study.HasServer(m) }) // whose tokens nobody counts
	if len(models) == 0 || len(calls) == 0 {
		return out, nil
	}
	p, err := newPreview(only(s, models...))
	if err != nil {
		return nil, err
	}
	var previous record.Spec // of the trial that was measured last
	measured := map[record.Spec]*measure{}
	for t := range s.Plan() {
		if !study.HasServer(t.Model) {
			continue
		}
		if t.Seed != previous.Seed || t.Rows != previous.Rows || t.Cols != previous.Cols {
			clear(measured)
			clear(p.tokens)
		}
		previous = t.Spec
		same := t.Spec // all models are sent the same
		same.Key, same.Episode, same.Model = "", 0, ""
		m := measured[same]
		if m == nil {
			t := t
			t.Model = models[0] // which the preview has
			if m, err = p.measure(&t); err != nil {
				return nil, err
			}
			measured[same] = m
		}
		g := t.Spec
		g.Key, g.Seed, g.Episode = "", 0, 0
		m.addTo(&out[at[g]])
	}
	for i := range out {
		slices.SortFunc(out[i].Beginnings, func(a, b Beginning) int { return a.Text.High - b.Text.High })
	}
	return out, nil
}

// group is what the trials of a Calls have in common.
func (c *Calls) group() record.Spec {
	return record.Spec{
		Task: c.Task, Model: c.Model, Modality: c.Modality, Regime: c.Regime, Strategy: c.Strategy,
		Rows: c.Size.Rows, Cols: c.Size.Cols, Framing: c.Framing, Batch: c.Batch,
	}
}

// A preview makes requests without a model.
type preview struct {
	study  *study.Study
	runner *runner
	asked  *sent
	tokens map[[32]byte]llm.Tokens // of texts, by their sums
}

func newPreview(s *study.Study) (*preview, error) {
	alone := *s
	alone.Models = s.Models[:1]
	alone.Again = false
	p := &preview{study: s, asked: &sent{}, tokens: map[[32]byte]llm.Tokens{}}
	var err error
	p.runner, err = newRunner(&alone, Workers{
		Models:   map[string]llm.Model{s.Models[0]: p.asked},
		Methods:  methodsOf(&alone, &sent{}), // which has no part in what a model is sent
		Recorder: p.asked,
	})
	return p, err
}

// A measure is what one trial sends.
type measure struct {
	calls, text, pictures, verdicts, actions Bounds
	schema, answers, width, height           int
	beginnings                               []Beginning
}

func (m *measure) addTo(v *Volume) {
	v.Likely += m.calls.Likely
	v.Text.add(m.text, 1)
	v.Schema += m.schema
	v.Pictures.add(m.pictures, 1)
	v.Verdicts.add(m.verdicts, 1)
	v.Actions.add(m.actions, 1)
	v.Answers += m.answers
	if m.width > 0 {
		v.Width, v.Height = m.width, m.height
	}
	for _, b := range m.beginnings {
		i := slices.IndexFunc(v.Beginnings, func(c Beginning) bool { return c.Text == b.Text && c.Pictures == b.Pictures })
		if i < 0 {
			v.Beginnings = append(v.Beginnings, b)
			continue
		}
		v.Beginnings[i].Calls.add(b.Calls, 1)
	}
}

// measure measures a trial.
func (p *preview) measure(t *study.Trial) (*measure, error) {
	w, err := p.runner.worlds.get(t)
	if err != nil {
		return nil, err
	}
	requests, err := p.runner.requests(t, w, p.asked)
	if err != nil {
		return nil, err
	}
	in := w.Instances[t.Regime]
	m := &measure{}
	if t.Task == record.Detect {
		n := len(in.Windows())
		audits := Bounds{n, n, n}
		if p.study.Again {
			audits.Most *= 2
		}
		p.add(m, requests, audits)
		m.verdicts.add(audits, len(w.asked))
		return m, nil
	}
	budget := in.Original.StepBudget()
	direct := min(budget, t.Rows+t.Cols-2)
	audits := Bounds{1, 1, 1}
	entries := len(w.entries)
	switch t.By.When {
	case study.OnSight: // nearly every step brings cells into view
		var times int
		entries, times = p.inView(w, t)
		audits.Likely, audits.Most = direct, budget*times
	case study.OnEvent:
		for _, e := range in.Events {
			if e.Step < direct {
				audits.Likely++
			}
			if e.Step < budget {
				audits.Most++
			}
		}
	}
	if p.study.Again {
		audits.Most *= 2
	}
	m.actions = Bounds{1, direct, budget}
	p.add(m, requests[:len(requests)-1], audits)
	p.add(m, requests[len(requests)-1:], m.actions)
	if len(requests) > 1 {
		m.verdicts.add(audits, entries)
	}
	return m, nil
}

// inView counts the entries in view at the start, and how many times as many can
// be in view.
func (p *preview) inView(w *world, t *study.Trial) (entries, times int) {
	g := w.Instances[t.Regime].Begin()
	state := observe.State{Grid: g, Agent: g.Start(), Radius: p.study.ViewRadius}
	for i := range w.Memory {
		if state.Sees(w.Memory[i].Pos) {
			entries++
		}
	}
	most, r := len(w.Memory), state.Radius
	if r > 0 {
		most = min(most, 2*r*r+2*r+1)
	}
	return entries, (most + entries - 1) / entries
}

// add adds requests that are made so often.
func (p *preview) add(m *measure, requests []*llm.Request, often Bounds) {
	for i, req := range requests {
		shared := 0 // parts of the longest beginning that an earlier call had
		if n := len(req.Shared); n > 0 {
			shared = req.Shared[n-1]
			if i == 0 && req.Purpose == "audit" {
				shared = req.Shared[0] // the first of a window sees a new lake
			}
		}
		var text llm.Tokens
		var pictures int
		begins := Beginning{Calls: often}
		for k := range req.Parts {
			part := &req.Parts[k]
			if part.IsImage() {
				pictures++
				m.width, m.height = part.Size()
			} else {
				text = text.Plus(p.estimate(part))
			}
			if k+1 == shared {
				begins.Text, begins.Pictures = text, pictures
			}
		}
		m.calls.add(often, 1)
		m.text.add(Bounds{often.Least * text.Low, often.Likely * text.Middle(), often.Most * text.High}, 1)
		m.pictures.add(often, pictures)
		if req.Schema != nil {
			m.schema += often.Most * p.schema(req.Schema.Sent())
		}
		m.answers += often.Most * req.Answer
		if shared > 0 {
			m.beginnings = append(m.beginnings, begins)
		}
	}
}

func (p *preview) schema(text json.RawMessage) int {
	return llm.EstimateTokens(string(text)).High
}

// estimate returns the tokens of a text, each text's once.
func (p *preview) estimate(part *llm.Part) llm.Tokens {
	n, ok := p.tokens[part.Sum()]
	if !ok {
		n = llm.EstimateTokens(part.Text())
		p.tokens[part.Sum()] = n
	}
	return n
}
