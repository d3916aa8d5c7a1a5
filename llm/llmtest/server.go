// Package llmtest is a model server for tests and rehearsals. It speaks Chat
// Completions, Anthropic Messages, Gemini's generateContent and Ollama's native
// protocol: it reads the prompt out of a request, hands it to a built-in
// control, and answers with what the control says. It takes the place of a provider's
// server, so that everything on this side of the wire is the real thing
// and costs nothing. Delays, and failures by a script that the seed and the call
// determine, make it as slow and as unreliable as wanted; a ledger keeps count
// of every call.
//
// It answers on loopback addresses only, and is no model.
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/reference"
)

// Options are what a Server is made of. The zero value answers as ref/reader,
// at once and without fail.
type Options struct {
	// Control answers requests whose model is not itself the name of a control;
	// empty for ref/reader.
	Control string
	// Delay is how long a request takes.
	Delay time.Duration
	// Faults choose what goes wrong; nil for nothing. See Script.
	Faults func(Asked) Fault
	// RetryAfter is what a refused request is told to wait; 0 stands for 1 s.
	RetryAfter time.Duration
	// Drip is the pause between the bytes of an answer that trickles; 0 stands
	// for 1 s.
	Drip time.Duration
	// Refuse are parameters that the server does not take, such as
	// "temperature", "response_format" or "max_tokens": a request with one is
	// answered with status 400.
	Refuse []string
	// Certainty is the probability that the server claims of each boolean that
	// it writes, below 1, where log-probabilities are asked for by Chat
	// Completions; 0 gives none. A control has no such thing of its own.
	Certainty float64
	// Blind drops the pictures of requests without a word, as some proxies do.
	Blind bool
	// Key is the credential that requests must carry; empty for none.
	Key string
	// Ledger is a file to which the ledger is appended, a JSON object a line;
	// empty for none. What it holds already is counted as asked before.
	Ledger string
	// BatchTime is how long a batch takes, and BatchMost the most calls that may
	// be in batches by OpenAI's interface at once; 0 for any number.
	BatchTime time.Duration
	BatchMost int
	// Seen, if not nil, is shown each request before it is answered.
	Seen func(r *http.Request, body []byte)
}

// An Asked is a request as far as the choice of a fault goes.
type Asked struct {
	ID      string // identifies the call: see Entry
	Call    string // trial and slot, where the client says
	Attempt int    // how often the call has been asked, from 1
}

// A Server answers requests. It is an http.Handler.
type Server struct {
	// URL is the base URL, such as "http://127.0.0.1:41234/v1"; empty for a
	// Server made by New.
	URL string

	opts     Options
	controls sync.Map // name → *reference.Control
	ledger   *ledger
	batches  batches
	inFlight atomic.Int32
	most     atomic.Int32
	done     chan struct{}
	close    func() error
}

// New returns a server that does not listen. It must be closed.
func New(o Options) (*Server, error) {
	if o.Control == "" {
		o.Control = "ref/reader"
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = time.Second
	}
	if !(o.Certainty >= 0 && o.Certainty < 1) {
		return nil, fmt.Errorf("certainty %v: want a probability from 0, for none, to below 1", o.Certainty)
	}
	if o.Drip <= 0 {
		o.Drip = time.Second
	}
	s := &Server{opts: o, done: make(chan struct{})}
	if _, err := s.control(o.Control); err != nil {
		return nil, err
	}
	var err error
	if s.ledger, err = openLedger(o.Ledger); err != nil {
		return nil, err
	}
	s.close = sync.OnceValue(func() error {
		close(s.done)
		return s.ledger.close()
	})
	return s, nil
}

// Listen returns a server at a loopback address such as "127.0.0.1:0", where
// port 0 takes a free one. It answers from the moment on that Listen returns,
// and must be closed.
func Listen(address string, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: want HOST:PORT, such as 127.0.0.1:0", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %q: it answers on this machine only; want 127.0.0.1, [::1] or localhost", address)
	}
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.URL = "http://" + l.Addr().String() + "/v1"
	// A server that fails in order to test its clients has nothing to say of it.
	web := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	closeHandler := s.close
	s.close = sync.OnceValue(func() error {
		err := closeHandler()
		closed := web.Close()
		if served := <-served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return errors.Join(err, closed)
	})
	return s, nil
}

// Close ends all requests and the ledger.
func (s *Server) Close() error { return s.close() }

// Entries returns the ledger so far, in the order of the answers. It holds what
// this server did, not what the file held before.
func (s *Server) Entries() []Entry { return s.ledger.all() }

// MostInFlight returns the most requests that were here at once. A client can
// see the end of a request a moment before the server does.
func (s *Server) MostInFlight() int { return int(s.most.Load()) }

// ServeHTTP answers POST …/chat/completions, …/messages, …/api/chat and
// …:generateContent, GET …/models, and what makes batches of the first two.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	d, known := dialectOf(r.URL.Path)
	switch {
	case s.opts.Key != "" && !s.hasKey(r):
		write(w, d.failed(d.failures[BadKey]))
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		s.listModels(w)
	case s.serveBatches(w, r):
	case r.Method == http.MethodPost && known:
		s.complete(w, r, d)
	default:
		write(w, d.failed(failure{status: http.StatusNotFound,
			words: "There is nothing at " + r.URL.Path + "; ask POST /v1/chat/completions, /v1/messages, /api/chat or /v1/models/NAME:generateContent."}))
	}
}

func (s *Server) hasKey(r *http.Request) bool {
	if r.Header.Get("Authorization") == "Bearer "+s.opts.Key {
		return true
	}
	for _, name := range []string{"api-key", "x-api-key", "x-goog-api-key"} {
		if r.Header.Get(name) == s.opts.Key {
			return true
		}
	}
	return false
}

func (s *Server) listModels(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	var list []model
	for _, a := range reference.About {
		id, _, _ := strings.Cut(a.Name, "?")
		list = append(list, model{id, "model"})
	}
	write(w, inJSON(http.StatusOK, map[string]any{"object": "list", "data": list}))
}

// maxBody bounds the size of a request, in bytes.
const maxBody = 64 << 20

// complete answers one request, or fails as the script says.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, d *dialect) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, d.failed(failure{status: http.StatusBadRequest, words: "the request's body cannot be read"}))
		return
	}
	if s.opts.Seen != nil {
		s.opts.Seen(r, body)
	}
	entry := s.ledger.ask(r.Header.Get(llm.CallHeader), body)
	if !s.wait(r.Context(), s.opts.Delay) {
		panic(http.ErrAbortHandler) // nobody is there any more, and nothing was answered
	}
	p, err := s.prepare(r, body, d)
	var refused failure
	if errors.As(err, &refused) {
		entry.Status = refused.status
		if s.enter(w, entry) {
			write(w, d.failed(refused))
		}
		return
	}
	entry.Model = p.control.Name()
	if s.opts.Faults != nil {
		entry.Fault = s.opts.Faults(Asked{entry.ID, entry.Call, entry.Attempt})
	}
	a, err := s.answer(r.Context(), p, d, entry.Fault)
	if err != nil { // the client has gone
		panic(http.ErrAbortHandler)
	}
	entry.Status = a.status
	if entry.Fault == Hang {
		entry.Status = 0
	}
	if s.enter(w, entry) {
		s.deliver(w, r, a, entry.Fault)
	}
}

// prepare reads a request's body. The error is a failure.
func (s *Server) prepare(r *http.Request, text []byte, d *dialect) (*prompt, error) {
	body, _ := provider.Parse(text) // what is no object the dialect refuses
	for _, param := range s.opts.Refuse {
		if err := d.refuses(param, body); err != nil {
			return nil, err
		}
	}
	p := &prompt{request: &llm.Request{}}
	p.request.Trial, p.request.Slot, _ = llm.ParseName(r.Header.Get(llm.CallHeader))
	if err := d.read(r, body, p); err != nil {
		return nil, err
	}
	if len(p.request.Parts) == 0 {
		return nil, failure{status: http.StatusBadRequest, words: "There is no message.", param: "messages"}
	}
	name := body.At("model").Text()
	if d == &gemini {
		name = geminiModel(r.URL.Path)
	}
	if name = controlName(name); name == "" {
		name = s.opts.Control
	}
	var err error
	if p.control, err = s.control(name); err != nil {
		missing := d.failures[NoModel]
		missing.words = err.Error()
		return nil, missing
	}
	return p, nil
}

// enter puts an entry into the ledger, before the answer leaves. An answer that
// cannot be counted is not given.
func (s *Server) enter(w http.ResponseWriter, e Entry) bool {
	if err := s.ledger.add(e); err != nil {
		write(w, chat.failed(failure{status: http.StatusInternalServerError, words: "the ledger cannot be written", kind: "server_error"}))
		return false
	}
	return true
}

// wait waits for d; it returns false when the client or the server ends before.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.done:
	}
	return false
}

// control returns the control of a name.
func (s *Server) control(name string) (*reference.Control, error) {
	if c, ok := s.controls.Load(name); ok {
		return c.(*reference.Control), nil
	}
	c, err := reference.New(name)
	if err != nil {
		return nil, err
	}
	s.controls.Store(name, c)
	return c, nil
}

// write sends a response without a fault.
func write(w http.ResponseWriter, a *response) {
	writeHeader(w, a)
	_, _ = w.Write(a.body) // the client may have gone
}

// controlName returns the name of a control out of a model's name in a request,
// "" when it names none.
func controlName(model string) string {
	name, err := url.PathUnescape(model)
	if err != nil || !strings.HasPrefix(name, reference.Prefix) {
		return ""
	}
	kind, _, _ := strings.Cut(name, "?")
	if !slices.ContainsFunc(reference.About, func(a reference.Description) bool {
		known, _, _ := strings.Cut(a.Name, "?")
		return known == kind
	}) {
		return ""
	}
	return name
}
