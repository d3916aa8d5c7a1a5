package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
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
	Picture     string               `json:"picture,omitempty"` // "seen", "taken, not seen: …", "not taken: …", or "taken" where it was not asked after
	Schema      string               `json:"schema,omitempty"`  // "followed", "not asked for", "refused", "not followed"
	Answer      string               `json:"answer,omitempty"`  // its first words
	Finish      string               `json:"finish,omitempty"`
	Seconds     *float64             `json:"seconds,omitempty"`
	Input       *int                 `json:"input_tokens,omitempty"`
	Output      *int                 `json:"output_tokens,omitempty"`
	Changes     []record.ParamChange `json:"changes,omitempty"`
	// TokensPerSecond is how fast it wrote, by the server's clock where it tells,
	// else by ours, reading the prompt among it.
	TokensPerSecond *float64 `json:"tokens_per_second,omitempty"`
	TooSlow         string   `json:"too_slow,omitempty"` // what does not fit, and what helps
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
		requests, err := run.Requests(s, &t)
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

// ping asks a model one step, with a picture, and what only a picture answers;
// a model that takes none is asked once more, in text. There are no other
// attempts.
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
	if p.Picture == "taken" && !run.IsControl(name) {
		p.Picture = sightWord(llm.CheckSight(e.ctx, llm.Capped(m, llm.CapOptions{Thinking: pingTokens})))
	}
	p.measure(reply, models.CapOptions(price.Shipped(), name), &o)
	return p
}

// sightWord says what became of the picture.
func sightWord(err error) string {
	switch {
	case err == nil:
		return "seen"
	case errors.Is(err, llm.ErrBlind):
		return "taken, not seen: " + err.Error()
	}
	return "taken; whether it is seen could not be asked: " + bareError(err)
}

// pingBatch is how many entries a batch of an audit has, unless a study says
// otherwise.
const pingBatch = 10

// measure says how fast the model wrote, and whether an audit's answer that is
// as long as its cap would come in time.
func (p *pong) measure(reply *llm.Reply, caps llm.CapOptions, o *run.Options) {
	written, took := reply.Usage.OutputTokens, *p.Seconds
	if t := reply.Timings; t != nil && t.OutputTokens > 0 && t.Output > 0 {
		written, took = &t.OutputTokens, t.Output.Seconds()
	}
	if written == nil || *written == 0 || took <= 0 {
		return
	}
	speed := float64(*written) / took
	p.TokensPerSecond = &speed
	limit := o.Deadlines.Attempt
	if limit == 0 {
		limit = 10 * time.Minute
		if strings.HasPrefix(p.Model, "ollama/") {
			limit = ollama.Attempt
		}
	}
	most := judge.AnswerTokens(pingBatch) + caps.Thinking
	needs := time.Duration(float64(most) / speed * float64(time.Second))
	if o.Stream || needs <= limit {
		return
	}
	p.TooSlow = fmt.Sprintf("an answer to a batch of %d entries may have %d tokens and take %v, longer than the limit of %v for a call; --stream takes it as it comes (Chat Completions), --timeout allows longer, --max-tokens asks for less",
		pingBatch, most, needs.Round(time.Second), limit)
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
	if p.TokensPerSecond != nil {
		line("speed", fmt.Sprintf("%.3g tokens a second", *p.TokensPerSecond))
	}
	line("too slow", p.TooSlow)
	line("picture", p.Picture)
	line("schema", p.Schema)
	line("calls it", p.ServerModel)
	line("at", strings.Join(p.Endpoints, ", "))
	for _, c := range p.Changes {
		line("changed", c.String()+": "+c.Words)
	}
}
