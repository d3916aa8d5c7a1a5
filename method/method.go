// Package method lets an auditor, an agent or a memory be another program: one
// that is started and spoken to by lines of JSON on its standard input and
// output, or one that answers the same requests over HTTP (docs/methods.md).
//
// To a run a method is a model: its requests have slots, its answers are stored
// before they are used, served again and never asked for twice. So a run with
// methods is resumed, replayed and checked like any other. What is sent says
// what is seen and remembered; no method is told what is true.
//
// It refuses to guess: an answer that is no JSON object, and a memory that cannot
// be read, fail their call; a verdict or an action that is not there is unanswered
// or a fallback step, as a model's is.
package method

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// Protocol is the version of the protocol, a member of every request.
const Protocol = 1

// A Config says where a method is and how it is asked.
type Config struct {
	Exec    []string // the program and its arguments
	HTTP    string   // or the address that requests are posted to
	Builtin string   // or one of Builtins
	Timeout time.Duration
	Workers int // requests at once
}

// Defaults of a Config.
const (
	DefaultTimeout = 60 * time.Second
	maxAnswer      = 4 << 20 // bytes of an answer
)

// A Model is a method ready to be asked. It is safe for concurrent use.
type Model struct {
	name  string
	turns chan struct{} // one for each request under way
	asked asker
}

// An asker takes one request and gives its answer, both without a line break.
type asker interface {
	ask(ctx context.Context, id string, request []byte) (answer []byte, err *llm.Error)
	close() error
}

// Open makes a method ready under the name by which its calls are recorded. A
// program is looked for, and started when it is first asked.
func Open(name string, c Config) (*Model, error) {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	m := &Model{name: name, turns: make(chan struct{}, max(1, c.Workers))}
	var err error
	if c.Builtin != "" {
		own := builtins[c.Builtin]
		if own == nil {
			return nil, fmt.Errorf("%s: unknown built-in method %q; there are %s", name, c.Builtin, strings.Join(Builtins(), ", "))
		}
		m.asked = own
	} else if c.HTTP != "" {
		m.asked = newService(c)
	} else if m.asked, err = newProgram(c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Close ends the programs that were started.
func (m *Model) Close() error { return m.asked.close() }

// Generate implements llm.Model: the text of the reply is the method's answer, a
// JSON object. A method has no tokens.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	fail := func(e *llm.Error) (*llm.Reply, error) {
		e.Model, e.Slot = m.name, req.Slot
		return nil, e
	}
	select {
	case m.turns <- struct{}{}:
		defer func() { <-m.turns }()
	case <-ctx.Done():
		return fail(&llm.Error{Kind: llm.KindCanceled, Err: context.Cause(ctx)})
	}
	id := req.Name()
	answer, failure := m.asked.ask(ctx, id, line(id, req.Parts))
	if failure != nil {
		if ctx.Err() != nil {
			failure.Kind = llm.KindCanceled
		}
		return fail(failure)
	}
	said, ok := readAnswer(answer)
	switch {
	case !ok:
		return fail(&llm.Error{Kind: llm.KindMalformed, Message: fmt.Sprintf("its answer is not one JSON object a line (%d bytes)", len(answer))})
	case !said.answers(id):
		return fail(&llm.Error{Kind: llm.KindMalformed, Message: otherRequest})
	case said.Error != "":
		return fail(&llm.Error{Kind: llm.KindServer, Message: "it says: " + brief(said.Error)})
	}
	if c := said.Cost; c != nil && (*c < 0 || *c > record.MostCost) {
		return fail(&llm.Error{Kind: llm.KindMalformed, Message: fmt.Sprintf("its cost is %v; want US dollars, from 0 to %d", *c, record.MostCost)})
	}
	if req.Purpose == purposeMemory { // an answer that is kept is one that can be used
		if _, err := readEntries(answer); err != nil {
			return fail(&llm.Error{Kind: llm.KindMalformed, Message: err.Error()})
		}
	}
	none := 0
	return &llm.Reply{Text: strings.TrimSpace(string(answer)), Finish: llm.FinishStop, Model: said.Method, Usage: llm.Usage{InputTokens: &none, OutputTokens: &none}}, nil
}

// envelope is what every answer may have beside what was asked.
type envelope struct {
	ID     *string `json:"id"`
	Method string  `json:"method"` // the method's own name and version
	Error  string  `json:"error"`

	Cost *float64 `json:"cost"` // of the answer, in US dollars (record.Call.Reported)
}

const otherRequest = "its answer is to another request; an answer has the id of the request, or none"

// readAnswer reads the envelope of an answer, which must be a JSON object.
func readAnswer(answer []byte) (e envelope, ok bool) {
	answer = bytes.TrimSpace(answer)
	ok = len(answer) > 0 && answer[0] == '{' && json.Unmarshal(answer, &e) == nil
	return e, ok
}

// answers reports whether it is the answer to a request.
func (e *envelope) answers(id string) bool { return e.ID == nil || *e.ID == id }

// line is a request as it is sent: the members that its text parts hold, with
// what is not a part of what is asked before them, and a picture behind them.
func line(id string, parts []llm.Part) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"protocol":%d,"id":%s,`, Protocol, encoded(id))
	for i := range parts {
		b.WriteString(parts[i].Text())
	}
	for i := range parts {
		if parts[i].IsImage() {
			b.WriteString(`,"png":"`)
			b.WriteString(base64.StdEncoding.EncodeToString(parts[i].PNG()))
			b.WriteByte('"')
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encoded writes a value that can always be written as JSON.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("method: " + err.Error()) // plain data: cannot happen
	}
	return string(b)
}

// brief is the last line that a method says of itself, where programs say what
// went wrong.
func brief(text string) string {
	const most = 200
	text = strings.TrimSpace(text)
	runes := []rune(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	return string(runes)
}
