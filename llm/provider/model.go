package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
)

// Options are what a Model is made of.
type Options struct {
	Name     string // the model's whole name, for errors
	Model    string // the name that the server is told
	URL      string // where requests go
	Key      string // the credential; empty for none
	Settings Settings
}

// A Protocol is what differs from one wire protocol to the next that answers a
// POST with JSON: how a request is written, an answer read, and in which words
// servers fail. Everything else is in Model, once.
type Protocol struct {
	Header http.Header // sent with each request, the credential among it
	// Ours are members of the body that a user's extra body cannot set; one
	// within an object is "object.member".
	Ours []string
	// Encode writes a request's body. Bodies are written again after a server
	// refused a parameter.
	Encode func(req *llm.Request, b *Body)
	// Read reads an answer with a status of success. The error is a *Fault where
	// the server says that it failed, another where the answer cannot be read.
	Read func(req *llm.Request, a *Answer) (*llm.Reply, error)
	// Stream begins to gather an answer that comes in pieces; nil where there is
	// no such thing. ParamStream is then a parameter of the body.
	Stream func(ctx context.Context, req *llm.Request) *Stream

	// Batches makes an interface for batches of calls; nil where there is none.
	Batches func(c *Client) BatchService

	// Explain adds to a fault what servers say in ways of their own; may be nil.
	Explain func(f *Fault, req *llm.Request)
	// Rules say what faults mean before the rules of all protocols do.
	Rules []Rule
	// Refuses reports whether a server refuses to take a parameter; nil for
	// Fault.Refuses.
	Refuses func(f *Fault, param string, req *llm.Request) bool
	// Instead returns what a refused parameter is sent as from now on, "" when it
	// is left out; ok is false when that leaves nothing else to try. It may be
	// nil.
	Instead func(param, words string) (instead string, ok bool)
	// QuotaIsRate is for servers that speak of a quota where they mean a limit by
	// the minute.
	QuotaIsRate bool
}

// ParamStream asks for an answer that comes in pieces.
const ParamStream = "stream"

// A Stream gathers the pieces of an answer.
type Stream struct {
	// Add takes a piece and says whether it was one of the answer, and whether
	// more is wanted.
	Add func(data []byte) (piece, more bool)
	// Whole returns what came, as if the server had sent it at once.
	Whole func() (*llm.Reply, error)
}

// A Model is a model behind a server. It is an llm.Model and an llm.Describer.
// It learns what the server refuses to take, and makes errors of failures; it
// never tries again for another reason than a refused parameter, and never
// waits.
type Model struct {
	name      string
	nameCalls bool
	streams   bool
	protocol  Protocol
	client    *Client
	extra     []member
	learned   Learned
	batcher   *batcher // nil for none
}

// New returns a model. It makes no request.
func New(o Options, p Protocol) (*Model, error) {
	extra, err := readExtra(o.Settings.ExtraBody, p.Ours)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	client, err := NewClient(o, p.Header)
	if err != nil {
		return nil, err
	}
	m := &Model{name: o.Name, nameCalls: o.Settings.NameCalls, streams: o.Settings.Stream && p.Stream != nil, protocol: p, client: client, extra: extra}
	if o.Settings.Batching != nil && p.Batches != nil {
		m.batcher = newBatcher(o.Settings.Batching, o.Name, client, p.Batches(client))
	}
	m.protocol.Header = nil // only the requests need the key
	if p.Refuses == nil {
		m.protocol.Refuses = func(f *Fault, param string, _ *llm.Request) bool { return f.Refuses(param) }
	}
	probe := &Body{learned: &Learned{}} // for what the extra body puts where an object is
	p.Encode(&llm.Request{}, probe)
	if err := probe.put(extra); err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	return m, nil
}

// String returns the model's name, so that no way of printing shows more.
func (m *Model) String() string { return m.name }

// GoString returns the model's name.
func (m *Model) GoString() string { return m.name }

// Describe implements llm.Describer.
func (m *Model) Describe() llm.Description {
	return llm.Description{Endpoint: m.client.Endpoint(), Changes: m.learned.Changes()}
}

// CloseIdleConnections closes the connections that no call uses.
func (m *Model) CloseIdleConnections() { m.client.CloseIdleConnections() }

// Error returns the failure of a call with what we say of it.
func (m *Model) Error(req *llm.Request, kind llm.Kind, said string) *llm.Error {
	return m.client.Error(req, kind, said)
}

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	return m.Call(ctx, req, m.protocol.Encode)
}

// Call makes a call whose body another function writes.
func (m *Model) Call(ctx context.Context, req *llm.Request, encode func(*llm.Request, *Body)) (*llm.Reply, error) {
	header := http.Header{}
	if m.nameCalls && req.Trial != "" {
		header.Set(llm.CallHeader, req.Name())
	}
	for {
		body := &Body{learned: &m.learned}
		encode(req, body)
		if err := body.put(m.extra); err != nil {
			return nil, m.client.Error(req, llm.KindBadRequest, err.Error())
		}
		reply, answer, err := m.send(ctx, req, body, header)
		if err == nil {
			m.client.finish(req, reply)
			return reply, nil
		}
		var f *Fault
		if !errors.As(err, &f) {
			return nil, err
		}
		if m.protocol.Explain != nil {
			m.protocol.Explain(f, req)
		}
		said := m.client.Words(req, f.Words())
		if param := m.refused(f, body.sent(), req); param != "" {
			instead, ok := "", true
			if m.protocol.Instead != nil {
				instead, ok = m.protocol.Instead(param, said)
			}
			if ok {
				m.learned.Refuse(llm.Change{Param: param, Instead: instead, Words: said})
				continue
			}
		}
		f.Message = m.client.Words(req, f.Message) // an echo of the prompt says nothing of the failure
		kind, filtered := f.Kind(m.protocol.QuotaIsRate, m.protocol.Rules...)
		if filtered {
			return &llm.Reply{Finish: llm.FinishContentFilter}, nil
		}
		e := m.client.Error(req, kind, said)
		e.Answered, e.Usage = f.Begun, f.Usage
		e.RetryAfter = answer.RetryAfter
		if e.RetryAfter == 0 {
			e.RetryAfter = min(longestAsk, max(0, f.RetryAfter))
		}
		if e.RetryAfter == 0 && kind.Retryable() {
			e.RetryAfter = f.WaitInWords()
		}
		return nil, e
	}
}

// send sends a body and reads what comes back.
func (m *Model) send(ctx context.Context, req *llm.Request, body *Body, header http.Header) (*llm.Reply, *Answer, error) {
	var stream *Stream
	var events func([]byte) (piece, more bool)
	if m.streams && slices.Contains(body.sent(), ParamStream) {
		stream = m.protocol.Stream(ctx, req)
		events = stream.Add
	}
	var answer *Answer
	var err error
	if text := Compact(body); m.batcher.takes(req, text) {
		answer, err = m.batcher.post(ctx, req, text)
	} else {
		answer, err = m.client.post(ctx, req, text, header, events)
	}
	if err != nil {
		return nil, nil, err
	}
	var reply *llm.Reply
	switch {
	case answer.Status/100 != 2:
		return nil, answer, answer.Fault()
	case answer.Body == nil && stream != nil:
		reply, err = stream.Whole()
	default:
		reply, err = m.protocol.Read(req, answer)
	}
	if reply != nil {
		reply.Batch = answer.Batch
	}
	var f *Fault
	if err != nil && !errors.As(err, &f) {
		err = m.client.Error(req, llm.KindMalformed, err.Error())
	}
	return reply, answer, err
}

// refused returns which of the sent parameters a server refuses to take, ""
// when it refuses for another reason.
func (m *Model) refused(f *Fault, sent []string, req *llm.Request) string {
	bounded := req.Schema != nil && len(req.Schema.Bounded) > 0 && !m.learned.Refused(ParamBounds)
	for _, param := range sent {
		switch {
		case (param == "top_p" || param == "topP") && f.ofRequest() && saysOneOf.MatchString(f.Message):
			return param
		case !m.protocol.Refuses(f, param, req):
		case bounded && saysBounds.MatchString(f.Message) && isSchema(param):
			return ParamBounds
		default:
			return param
		}
	}
	return ""
}

func isSchema(param string) bool {
	return strings.Contains(strings.ToLower(param), "schema") || strings.Contains(param, "format")
}

// finish puts right what servers of all protocols get wrong, and hides in a
// reply what they repeat of what they were sent.
func (c *Client) finish(req *llm.Request, r *llm.Reply) {
	u := &r.Usage
	if u.InputTokens != nil && *u.InputTokens == 0 { // a prompt has some: it was not counted
		u.InputTokens, u.CachedTokens, u.CacheWriteTokens = nil, nil, nil
	}
	if u.OutputTokens != nil && *u.OutputTokens == 0 && (r.Text != "" || r.Reasoning != "") {
		u.OutputTokens, u.ReasoningTokens = nil, nil
	}
	// A reply as long as the cap was cut there, though some servers say stop of it.
	if most, out := req.Params.MaxTokens, u.OutputTokens; most != nil && out != nil && *out >= *most && (r.Finish == llm.FinishStop || r.Finish == "") {
		r.Finish = llm.FinishLength
	}
	if !req.Params.Logprobs { // some servers send them unasked
		r.Booleans = nil
	}
	c.hideIn(r)
}

// A Learned is what a server refuses to take, as far as is known. The zero
// value knows of nothing. It is safe for concurrent use.
type Learned struct {
	mu      sync.Mutex
	changes []llm.Change
}

// Refused reports whether the server refused the parameter.
func (l *Learned) Refused(param string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused(param)
}

func (l *Learned) refused(param string) bool {
	return slices.ContainsFunc(l.changes, func(c llm.Change) bool { return c.Param == param })
}

// Refuse keeps that the server refuses a parameter. Many calls may learn of it
// at once; it is told once.
func (l *Learned) Refuse(c llm.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.refused(c.Param) {
		l.changes = append(l.changes, c)
	}
}

// Changes returns what was learned, in the order in which it was.
func (l *Learned) Changes() []llm.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.changes)
}
