// Package serve puts an audit behind HTTP and the Model Context Protocol: the
// same request and the same answer by POST /v1/audit, with an OpenAPI
// description, and by the tool audit_memory, over HTTP or standard input and
// output.
//
// A request says what to audit and how, within what the operator allows. It
// never chooses an address, a key, a path or a model that is not listed. Who
// asks is known by a token, and each token has a spend cap, caches and a log of
// its own. The service keeps nothing but its caches, so that any number of them
// can stand behind one name.
//
// It refuses to log or to keep memories, observations and reasons; what it says
// of a model's failure is its kind, for a provider's words may name addresses.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm/price"
)

// A Model is one that requests may ask.
type Model struct {
	Name string // as requests name it
	// Open makes it ready; what it spends is counted in the budget.
	Open  func(*price.Budget) (audit.Model, error)
	Price *price.Price // nil where it is not known
}

// Options say what a service allows.
type Options struct {
	Models []Model // the first is the default; without any, rules alone judge
	Honour audit.Honour
	// Batch is how many entries a call of a model has, and Concurrency how many
	// calls of one audit are under way at once; 0 for the library's numbers.
	Batch, Concurrency int
	Limits             Limits
	Version            string       // of the program
	Log                *slog.Logger // of requests; nil for none
	Now                func() time.Time
	// Keep opens what an account's verdicts are kept in; nil for nothing.
	Keep func(account string) (Recorder, error)

	// For HTTP only.
	Accounts []Account
	Hosts    []string // names besides the loopback's that requests may be for, without a port
	Origins  []string // of pages that may ask, such as https://app.example.org
}

// Limits bound what a request may ask for and what all of them may take. What is
// 0 has the value of DefaultLimits.
type Limits struct {
	Body        int           // bytes of a request
	Memories    int           // entries of a request
	Observation int           // bytes of its text and facts
	Images      int           // of a request, entries' and observation's together
	ImageBytes  int           // of one image
	ImagePixels int           // of them together, by their headers
	BodyTime    time.Duration // for a request to arrive, and for an answer to be taken
	Time        time.Duration // for an audit
	Audits      int           // under way at once
	AuditsEach  int           // of one account, of these
	Waiting     int           // audits that wait for their turn, all accounts together
	WaitingEach int           // of one account, of these
	Connections int           // open at once
	Cache       int           // verdicts kept for each account and model; fewer where there are very many of these
}

// DefaultLimits are the limits unless told otherwise.
var DefaultLimits = Limits{
	Body: 8 << 20, Memories: 10_000, Observation: 256 << 10,
	Images: 16, ImageBytes: 4 << 20, ImagePixels: 10_000_000,
	BodyTime: 30 * time.Second, Time: 5 * time.Minute,
	Audits: 64, AuditsEach: 32, Waiting: 2048, WaitingEach: 1024, Connections: 4096,
	Cache: 20_000,
}

// Bounds that nobody wishes to change.
const (
	maxDepth    = 32 // of a request's JSON
	maxErrors   = 10 // of a request, that are told
	headerTime  = 15 * time.Second
	maxHeader   = 16 << 10
	retryPause  = 2 * time.Second // what a client is told to wait when the service is full
	minTokenLen = 16
)

func (l Limits) withDefaults() (Limits, error) {
	d := DefaultLimits
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Body, d.Body}, {&l.Memories, d.Memories}, {&l.Observation, d.Observation}, {&l.Images, d.Images}, {&l.ImageBytes, d.ImageBytes},
		{&l.ImagePixels, d.ImagePixels}, {&l.Audits, d.Audits}, {&l.AuditsEach, d.AuditsEach}, {&l.Waiting, d.Waiting},
		{&l.WaitingEach, d.WaitingEach}, {&l.Connections, d.Connections}, {&l.Cache, d.Cache},
	} {
		if *f.field < 0 {
			return l, errors.New("serve: a limit must not be negative")
		}
		*f.field = cmp.Or(*f.field, f.value)
	}
	if l.BodyTime < 0 || l.Time < 0 {
		return l, errors.New("serve: a limit must not be negative")
	}
	l.BodyTime, l.Time = cmp.Or(l.BodyTime, d.BodyTime), cmp.Or(l.Time, d.Time)
	return l, nil
}

// A Service answers audits. It is safe for concurrent use.
type Service struct {
	options  Options
	accounts []*account
	admit    *admission
	valid    *validator
	metrics  *metrics
	log      *slog.Logger
	stopping chan struct{} // closed once no new work is wanted
	stop     sync.Once
	requests sync.Map // the contexts of requests under way, by their keys
}

// New returns a service. A model that cannot be opened is an error.
func New(o Options) (*Service, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Limits = limits
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := audit.New(nil, audit.Options{RulesOnly: true, Batch: o.Batch, Concurrency: o.Concurrency}); err != nil {
		return nil, err
	}
	for i, m := range o.Models {
		if m.Name == noModel {
			return nil, fmt.Errorf("serve: no model can be called %q, which stands for rules alone", m.Name)
		}
		if m.Name == "" || slices.ContainsFunc(o.Models[:i], func(other Model) bool { return other.Name == m.Name }) {
			return nil, fmt.Errorf("serve: two models, or one without a name, are called %q", m.Name)
		}
	}
	stopping := make(chan struct{})
	s := &Service{options: o, admit: newAdmission(limits, stopping), valid: newValidator(), metrics: newMetrics(), log: o.Log, stopping: stopping}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.openAccounts(o.Accounts); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve answers on a listener until stop is closed: then no new connection is
// taken, what is under way is finished, and Serve returns. When ctx ends, it is
// dropped.
func (s *Service) Serve(ctx context.Context, l net.Listener, stop <-chan struct{}) error {
	under, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return under },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netutil.LimitListener(l, s.options.Limits.Connections)) }()
	select {
	case err := <-failed:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
	case <-stop:
	}
	s.stop.Do(func() { close(s.stopping) })
	s.log.Info("stopping", "under way", s.admit.running())
	err := server.Shutdown(ctx)
	if ctx.Err() != nil {
		err = errors.Join(server.Close(), errors.New("stopped at once; requests under way were dropped"))
	}
	return errors.Join(err, s.Close())
}

// Close closes the logs of verdicts.
func (s *Service) Close() (err error) {
	for _, a := range s.accounts {
		if c, ok := a.keep.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
