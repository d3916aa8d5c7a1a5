package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// A pong is what one call to a model has shown.
type pong struct {
	Model       string               `json:"model"`
	OK          bool                 `json:"ok"`
	Error       string               `json:"error,omitempty"`
	Endpoints   []string             `json:"endpoints,omitempty"`
	ServerModel string               `json:"server_model,omitempty"`
	Picture     string               `json:"picture,omitempty"` // "taken", or why not
	Schema      string               `json:"schema,omitempty"`  // "followed", "not asked for", "refused", "not followed"
	Answer      string               `json:"answer,omitempty"`  // its first words
	Finish      string               `json:"finish,omitempty"`
	Seconds     *float64             `json:"seconds,omitempty"`
	Input       *int                 `json:"input_tokens,omitempty"`
	Output      *int                 `json:"output_tokens,omitempty"`
	Changes     []record.ParamChange `json:"changes,omitempty"`
}

// pingTrial is the smallest step that a study can ask: the first of an episode
// on a lake of 4×4 cells, without a memory.
func pingTrial(model, modality string) (*llm.Request, error) {
	s, err := study.Preset("quick")
	if err != nil {
		return nil, err
	}
	s.Models, s.Seeds, s.Sizes, s.Regimes = []string{model}, s.Seeds[:1], []study.Size{{Rows: 4, Cols: 4}}, s.Regimes[:1]
	noMemory, err := study.NamedStrategy("no-memory")
	if err != nil {
		return nil, err
	}
	s.Detection = nil
	s.Navigation = &study.Navigation{Modalities: []string{modality}, Strategies: []study.Strategy{noMemory}, Episodes: 1}
	for t := range s.Plan() {
		requests, err := run.Requests(s, &t, study.DefaultPrompts())
		if err != nil {
			return nil, err
		}
		return requests[len(requests)-1], nil
	}
	return nil, errors.New("the smallest study has no trial")
}

// pingTokens caps a ping's answer, thinking as well: enough for a model that
// thinks, and a bound for one that does not stop.
const pingTokens = 4096

// ping asks a model one step, with a picture; a model that takes none is asked
// once more, in text. There are no other attempts.
func ping(e *env, o run.Options, noSchema bool, name string) pong {
	p := pong{Model: name}
	m, info, err := run.OpenModel(name, o)
	if err != nil {
		p.Error = bareError(err)
		return p
	}
	var reply *llm.Reply
	for _, modality := range []string{record.Vision, record.Text} {
		req, err := pingTrial(name, modality)
		if err != nil {
			p.Error = err.Error()
			return p
		}
		req.Params.MaxTokens = new(pingTokens)
		began := e.now()
		reply, err = m.Generate(e.ctx, req)
		took := e.now().Sub(began).Seconds()
		if err == nil {
			p.Seconds = &took
			if modality == record.Vision {
				p.Picture = "taken"
			}
			break
		}
		if modality == record.Vision && mayBePicture(err) {
			p.Picture = "not taken: " + bareError(err)
			continue
		}
		p.Error = bareError(err)
		if modality == record.Text {
			p.Picture = ""
		}
		break
	}
	p.Endpoints, p.Changes = info().Endpoints, info().Changes
	if reply == nil {
		return p
	}
	p.OK, p.ServerModel, p.Finish = true, reply.Model, string(reply.Finish)
	p.Input, p.Output = reply.Usage.InputTokens, reply.Usage.OutputTokens
	p.Answer = firstWords(reply.Text)
	p.Schema = schemaWord(reply, noSchema, p.Changes)
	return p
}

// mayBePicture reports whether a failure may be about the picture: not that of
// a key, a quota or a connection.
func mayBePicture(err error) bool {
	switch llm.KindOf(err) {
	case llm.KindBadRequest, llm.KindUnknownModel, llm.KindServer, llm.KindMalformed:
		return true
	}
	return false
}

// bareError is an error without the model and the slot, which are known.
func bareError(err error) string {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	short := *e
	short.Model, short.Slot = "", ""
	return strings.TrimPrefix(short.Error(), ": ")
}

// schemaWord says what became of the output that was to follow a schema.
func schemaWord(r *llm.Reply, never bool, changes []record.ParamChange) string {
	if never {
		return "not asked for"
	}
	for _, c := range changes {
		for _, name := range []string{"format", "schema", "output_config"} {
			if strings.Contains(strings.ToLower(c.Param), name) {
				return "refused"
			}
		}
	}
	var answer struct {
		Action string `json:"action"`
	}
	dec := json.NewDecoder(strings.NewReader(r.Text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&answer); err != nil || dec.More() {
		return "not followed"
	}
	if _, reading := navigate.ParseAction(r); reading != "" {
		return "not followed"
	}
	return "followed"
}

// firstWords is the beginning of a reply on one line.
func firstWords(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// write shows a pong to a person.
func (p *pong) write(say func(format string, args ...any)) {
	if !p.OK {
		say("%s: %s\n", p.Model, p.Error)
		return
	}
	say("%s\n", p.Model)
	line := func(what, value string) {
		if value != "" {
			say("  %-9s %s\n", what, value)
		}
	}
	answer := p.Answer
	if answer == "" {
		answer = "nothing"
	}
	if p.Finish != "" && p.Finish != string(llm.FinishStop) {
		answer += " (ended by: " + p.Finish + ")"
	}
	line("answer", answer)
	line("took", fmt.Sprintf("%.3g s", *p.Seconds))
	tokens := func(n *int) string {
		if n == nil {
			return "unknown"
		}
		return fmt.Sprint(*n)
	}
	line("tokens", tokens(p.Input)+" in, "+tokens(p.Output)+" out")
	line("picture", p.Picture)
	line("schema", p.Schema)
	line("calls it", p.ServerModel)
	line("at", strings.Join(p.Endpoints, ", "))
	for _, c := range p.Changes {
		line("changed", c.String()+": "+c.Words)
	}
}
