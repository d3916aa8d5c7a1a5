package provider

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
)

// An Exchange is one call of a model, as all wire protocols have it that answer
// a POST with a JSON object. A protocol says how a request is written and an
// answer read; the exchange sends it, learns what the server refuses to take,
// and makes errors of failures. It never tries again for another reason than a
// refused parameter, and never waits.
type Exchange struct {
	Client    *Client
	NameCalls bool // Settings.NameCalls
	// Encode writes a request's body. sent names those of its parameters that
	// the server may refuse and that could be left out or sent otherwise.
	Encode func(req *llm.Request) (sent []string, body []byte)
	// Read reads an answer. The error is a *Fault where the server says that it
	// failed, another where the answer cannot be read.
	Read func(req *llm.Request, a *Answer) (*llm.Reply, error)
	// Refused returns which of the sent parameters a server refuses to take, ""
	// when it refuses for another reason.
	Refused func(f *Fault, sent []string) string
	// Change learns that the server refuses a parameter that it was sent, with
	// the server's words. It returns false when that leaves nothing else to
	// try.
	Change func(param, words string) bool
	// QuotaIsRate is for servers that say insufficient_quota of a limit by the
	// minute.
	QuotaIsRate bool
}

// Generate makes a call.
func (x *Exchange) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	var header http.Header
	if x.NameCalls {
		header = http.Header{}
		header.Set(llm.CallHeader, req.Name())
	}
	for {
		sent, body := x.Encode(req)
		answer, err := x.Client.Post(ctx, req, body, header)
		if err != nil {
			return nil, err
		}
		reply, err := x.Read(req, answer)
		if err == nil {
			markCut(reply, req.Params.MaxTokens)
			if !req.Params.Logprobs { // some servers send them unasked
				reply.Booleans = nil
			}
			x.Client.hideIn(reply)
			return reply, nil
		}
		var f *Fault
		if !errors.As(err, &f) {
			return nil, x.Client.Error(req, llm.KindMalformed, err.Error())
		}
		said := x.Client.Words(req, f.Words())
		if param := x.Refused(f, sent); param != "" && x.Change(param, said) {
			continue
		}
		f.Message = x.Client.Words(req, f.Message) // an echo of the prompt says nothing of the failure
		kind, filtered := f.Kind(x.QuotaIsRate)
		if filtered {
			return &llm.Reply{Finish: llm.FinishContentFilter}, nil
		}
		e := x.Client.Error(req, kind, said)
		e.Answered, e.Usage = f.Begun, f.Usage
		e.RetryAfter = answer.RetryAfter
		if e.RetryAfter == 0 {
			e.RetryAfter = min(longestAsk, max(0, f.RetryAfter))
		}
		return nil, e
	}
}

// markCut marks a reply that is as long as the cap as cut, because some servers
// say stop of it.
func markCut(r *llm.Reply, most *int) {
	if out := r.Usage.OutputTokens; most != nil && out != nil && *out >= *most && (r.Finish == llm.FinishStop || r.Finish == "") {
		r.Finish = llm.FinishLength
	}
}

// A Learned is what a server refuses to take, as far as is known. The zero
// value knows of nothing. It is safe for concurrent use.
type Learned struct {
	mu      sync.Mutex
	refused map[string]bool
	changes []llm.Change
}

// Refused reports whether the server refused the parameter.
func (l *Learned) Refused(param string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[param]
}

// Refuse keeps that the server refuses a parameter. Many calls may learn of it
// at once; it is told once.
func (l *Learned) Refuse(c llm.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused[c.Param] {
		return
	}
	if l.refused == nil {
		l.refused = map[string]bool{}
	}
	l.refused[c.Param] = true
	l.changes = append(l.changes, c)
}

// Changes returns what was learned, in the order in which it was.
func (l *Learned) Changes() []llm.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]llm.Change(nil), l.changes...)
}
