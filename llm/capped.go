package llm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// CapOptions say how the cap on output tokens is chosen where nobody asked for
// one.
type CapOptions struct {
	// Thinking is the room for thinking beside the answer, in tokens; 0 for a
	// model that is not known to think. Thinking counts as output, so that a cap
	// without room for it would cut every answer short. A larger budget of the
	// request's takes its place; a smaller one does not, because a model may
	// think all the same, and only what is written is charged.
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

// DefaultThinking is the room for thinking of a model that thinks.
const DefaultThinking = 16384

// Capped returns a model whose requests have a cap on output tokens, so that
// none can cost more than is known and no server's own default, which may be a
// few tokens, cuts an answer: what an ample answer takes (Request.Answer), and
// room for thinking. A cap that was asked for is kept, and a request that says
// nothing of its answer is left alone.
//
// A server that refuses a cap as too large for the model, its context or the
// account is asked again with less room for thinking, down to none; and with
// less room for the answer, down to a quarter, where it says itself what would
// fit. Larger ones are not tried again. An answer that was cut is never asked
// for again; but a model that was cut while it was thinking has room for it from
// then on.
func Capped(m Model, o CapOptions) Model { return &capped{model: m, opts: o} }

type capped struct {
	model Model
	opts  CapOptions

	mu      sync.Mutex
	refused int    // the smallest size, prompt and cap together, that the server refused; 0 for none
	words   string // the server's, at that
	room    int    // for thinking, the least that was left
	thinks  bool   // an answer was cut while the model was thinking
}

// Unwrap returns the model that is capped.
func (m *capped) Unwrap() Model { return m.model }

// Describe implements Describer.
func (m *capped) Describe() Description {
	d, _ := Describe(m.model)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thinks {
		d.Changes = append(d.Changes, Change{Param: "cap of an answer without thinking", Instead: fmt.Sprintf("room for %d tokens of thinking", DefaultThinking), Words: "an answer was cut while the model was thinking"})
	}
	if m.refused > 0 {
		d.Changes = append(d.Changes, Change{Param: "default output cap", Instead: fmt.Sprintf("room for the answer and %d tokens of thinking", m.room), Words: m.words})
	}
	return d
}

func (m *capped) Generate(ctx context.Context, req *Request) (*Reply, error) {
	if req.Params.MaxTokens != nil || req.Answer == 0 {
		return m.model.Generate(ctx, req)
	}
	limit, answer := m.first(req)
	var refused error // the last refusal, and of what size
	tooLarge := 0
	for {
		with := *req
		with.Params.MaxTokens = &limit
		reply, err := m.model.Generate(ctx, &with)
		if err == nil {
			if tooLarge > 0 { // a prompt that is too long by itself says nothing of caps
				m.learn(tooLarge, limit-answer, refused)
			}
			if thinking := reply.Reasoning != "" || reply.Usage.ReasoningTokens != nil && *reply.Usage.ReasoningTokens > 0; thinking && reply.Finish == FinishLength && m.opts.Room(&req.Params) == 0 {
				m.mu.Lock()
				m.thinks = true
				m.mu.Unlock()
			}
			return reply, nil
		}
		next := less(limit, answer, err)
		if next == 0 {
			return nil, err
		}
		tooLarge, refused = sizeOf(req)+limit, err
		limit = next
	}
}

// first returns the cap to begin with, and how much of it is the answer's.
func (m *capped) first(req *Request) (limit, answer int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	room := m.opts.Room(&req.Params)
	if m.thinks {
		room = max(room, DefaultThinking)
	}
	most := func(n int) int {
		if m.opts.Most > 0 {
			return min(n, m.opts.Most)
		}
		return n
	}
	answer = most(req.Answer)
	limit = most(req.Answer + room)
	for limit > answer && m.refused > 0 && sizeOf(req)+limit >= m.refused {
		limit = answer + halved(limit-answer)
	}
	return limit, answer
}

// less is the next cap to try after a refusal, 0 when there is none. A server
// that says how much was too much is taken at its word.
func less(limit, answer int, err error) int {
	over, ok := refusesCap(err)
	switch {
	case !ok:
		return 0
	case over > 0 && limit-over < max(1, answer/4):
		return 0
	case over > 0:
		return limit - over
	case limit > answer:
		return answer + halved(limit-answer)
	}
	return 0
}

// halved is less room for thinking.
func halved(room int) int {
	if room /= 2; room < 512 {
		return 0
	}
	return room
}

func (m *capped) learn(size, room int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == 0 || size < m.refused {
		m.refused, m.room = size, max(0, room)
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

var (
	saysCap = regexp.MustCompile(`(?i)max_tokens|max_completion_tokens|max_output_tokens|maxoutputtokens|max_new_tokens|num_predict|` +
		`context length|context window|context size|context_length|exceed_context|request too large`)
	saysOver = regexp.MustCompile(`(?i)limit:? (\d{1,9})\b.{0,20}requested:? (\d{1,9})\b`)
)

// refusesCap reports whether a server refused a request because of its cap, or
// because prompt and cap are too large for its context or the account, and by
// how many tokens, where it says so.
func refusesCap(err error) (over int, ok bool) {
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindBadRequest || !saysCap.MatchString(e.Message) {
		return 0, false
	}
	if m := saysOver.FindStringSubmatch(e.Message); m != nil {
		limit, _ := strconv.Atoi(m[1]) // of at most nine digits
		requested, _ := strconv.Atoi(m[2])
		over = max(0, requested-limit)
	}
	return over, true
}
