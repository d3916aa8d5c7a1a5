package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// CapOptions say how the cap on output tokens is chosen where nobody asked for
// one.
type CapOptions struct {
	// Thinking is the room for thinking beside the answer, in tokens; 0 for a
	// model that does not think. Thinking counts as output, so that a cap without
	// room for it would cut every answer short. A larger budget of the request's
	// takes its place; a smaller one does not, because a model may think all the
	// same, and only what is written is charged.
	Thinking int
	// Most is the largest cap that the model takes; 0 where it is unknown.
	Most int
}

// Room is the room for thinking that a request with these parameters is given.
func (o *CapOptions) Room(p *Params) int {
	if p.Thinking == nil {
		return o.Thinking
	}
	return max(o.Thinking, *p.Thinking)
}

// DefaultThinking is the room for thinking that a model is given when it thinks,
// or nobody knows whether it does.
const DefaultThinking = 16384

// Capped returns a model whose requests have a cap on output tokens, so that
// none can cost more than is known and no server's own default, which may be a
// few tokens, cuts an answer: what an ample answer takes (Request.Answer), and
// room for thinking. A cap that was asked for stands, and a request that says
// nothing of its answer is left alone.
//
// A server that refuses a cap as too large for the model or its context is
// asked again with less room for thinking, down to none, and larger ones are
// not tried again. Nothing of an answer's own room is given up, and an answer
// that was cut is never asked for again.
func Capped(m Model, o CapOptions) Model { return &capped{model: m, opts: o} }

type capped struct {
	model Model
	opts  CapOptions

	mu      sync.Mutex
	refused int    // the smallest size, prompt and cap together, that the server refused; 0 for none
	words   string // the server's, at that
	room    int    // for thinking, the least that was left
}

// Unwrap returns the model that is capped.
func (m *capped) Unwrap() Model { return m.model }

// Describe implements Describer.
func (m *capped) Describe() Description {
	d, _ := Describe(m.model)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused > 0 {
		d.Changes = append(d.Changes, Change{Param: "default output cap", Instead: fmt.Sprintf("room for the answer and %d tokens of thinking", m.room), Words: m.words})
	}
	return d
}

func (m *capped) Generate(ctx context.Context, req *Request) (*Reply, error) {
	if req.Params.MaxTokens != nil || req.Answer == 0 {
		return m.model.Generate(ctx, req)
	}
	room := m.opts.Room(&req.Params)
	size := sizeOf(req)
	tooLarge, words := 0, error(nil) // the last size that was refused, and why
	for {
		limit := req.Answer + room
		if m.opts.Most > 0 {
			limit = min(limit, m.opts.Most)
		}
		if room > 0 && m.knownTooLarge(size+limit) {
			room = less(room)
			continue
		}
		with := *req
		with.Params.MaxTokens = &limit
		reply, err := m.model.Generate(ctx, &with)
		switch {
		case err != nil && room > 0 && refusesCap(err):
			tooLarge, words = size+limit, err
			room = less(room)
			continue
		case err == nil && tooLarge > 0: // a prompt that is too long by itself says nothing of caps
			m.learn(tooLarge, room, words)
		}
		return reply, err
	}
}

// less is the next room for thinking to try.
func less(room int) int {
	if room /= 2; room < 512 {
		return 0
	}
	return room
}

func (m *capped) knownTooLarge(size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused > 0 && size >= m.refused
}

func (m *capped) learn(size, room int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == 0 || size < m.refused {
		m.refused, m.room = size, room
	}
	var e *Error
	if errors.As(err, &e) {
		m.words = e.Message
	}
}

// sizeOf is about how many tokens a prompt has, to compare prompts with each
// other.
func sizeOf(req *Request) int {
	n := 0
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			n += tokensPerImage
		} else {
			n += len(p.Text()) / 2
		}
	}
	return n
}

// refusesCap reports whether a server refused a request because of its cap, or
// because prompt and cap are too large for its context.
func refusesCap(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	for _, words := range []string{
		"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "max_new_tokens", "num_predict",
		"context length", "context window", "context size", "context_length", "exceed_context",
	} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}
