package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Options say how a study is run. The zero value is right for most. No result
// depends on them, but on the settings of models that change what is asked
// (ModelOptions) and on the prompts.
type Options struct {
	// Dir is the run's folder, which is made; it may exist when it is empty.
	// Empty stands for runs/STUDY-TIME.
	Dir string
	Pace
	// Models say how models are asked, by their names; "" says it of all that do
	// not say otherwise.
	Models map[string]ModelOptions
	// Programs answer in place of the study's methods, by the names of study.Methods:
	// those that the caller has itself. The others are opened. They also answer
	// for people, by the names of their models.
	Programs map[string]llm.Model
	// Getenv looks up the variables that hold keys and addresses (EnvFile); nil
	// for the process's own.
	Getenv func(name string) string

	// Budget stops the run before a call could make it cost more, all its
	// sessions and models together; nil for none, or for the one that a resumed
	// run has. It needs the price of each model.
	Budget *price.USD
	// Prices are those of tokens; nil for the list that ships, and for those that
	// a resumed run was made with.
	Prices *price.List

	// Blind runs a vision study also on models that do not see what a picture
	// shows, when they are asked before the run begins.
	Blind bool

	// Now tells the time; nil for the machine's clock.
	Now func() time.Time

	batching *provider.Batching // of the session

	origin *replies // of the run that a branch comes from
}

// Pace is how fast and how patiently a run asks. A resumed run keeps its own,
// but for what is given.
type Pace struct {
	// Concurrency is how many trials are in progress at once: of each model with
	// a server, 16 unless given, and of the controls together, as many as there
	// are processors unless given.
	Concurrency int `json:"concurrency,omitempty"`
	// MaxRetries is how often a call that failed in a way that may pass is tried
	// again; nil for 7.
	MaxRetries *int `json:"max_retries,omitempty"`
	// MaxErrors gives a model up after so many failed trials in a row, 0 never;
	// nil for 20.
	MaxErrors *int `json:"max_errors,omitempty"`
	// Stream takes answers as they come, where the protocol can: a call lives
	// while tokens come, and ends once it has all that was asked.
	Stream    bool               `json:"stream,omitempty"`
	Deadlines provider.Deadlines `json:"deadlines,omitzero"`
	// Batches asks in the provider's batches where there are such; nil for calls
	// of their own.
	Batches *Batches `json:"batches,omitempty"`
}

// MaxConcurrency is the largest Pace.Concurrency: more trials at once than any
// server takes, and few enough for one process.
const MaxConcurrency = 4096

// serverConcurrency is how many trials of a model with a server are in progress
// at once unless the options say otherwise: they wait, and cost no processor.
const serverConcurrency = 16

// A UsageError is a mistake in what was asked for, found before anything was
// done.
type UsageError struct{ Err error }

// Error returns the mistake.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e UsageError) Unwrap() error { return e.Err }

func (o Options) withDefaults() (Options, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Concurrency < 0 || o.Concurrency > MaxConcurrency:
		return o, UsageError{fmt.Errorf("--concurrency %d: want a number of trials at once from 1 to %d", o.Concurrency, MaxConcurrency)}
	case o.MaxRetries != nil && *o.MaxRetries < 0:
		return o, UsageError{fmt.Errorf("--max-retries %d: it must not be negative; 0 never tries again", *o.MaxRetries)}
	case o.MaxErrors != nil && *o.MaxErrors < 0:
		return o, UsageError{fmt.Errorf("--max-errors %d: it must not be negative; 0 never gives a model up", *o.MaxErrors)}
	}
	return o, nil
}

// with fills in what the options leave open by how the run was made.
func (o *Options) with(text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	var was execution
	if err := json.Unmarshal(text, &was); err != nil {
		return fmt.Errorf("how the run was executed cannot be read from its manifest: %w", err)
	}
	o.Concurrency = cmp.Or(o.Concurrency, was.Concurrency)
	o.MaxRetries = cmp.Or(o.MaxRetries, was.MaxRetries)
	o.MaxErrors = cmp.Or(o.MaxErrors, was.MaxErrors)
	o.Stream = o.Stream || was.Stream
	o.Batches = cmp.Or(o.Batches, was.Batches)
	o.Deadlines.Connect = cmp.Or(o.Deadlines.Connect, was.Deadlines.Connect)
	o.Deadlines.Idle = cmp.Or(o.Deadlines.Idle, was.Deadlines.Idle)
	o.Deadlines.Attempt = cmp.Or(o.Deadlines.Attempt, was.Deadlines.Attempt)
	models := map[string]ModelOptions{}
	for name, m := range o.Models {
		models[name] = m
	}
	for name, m := range was.Models {
		asked := models[name]
		asked.RPM, asked.TPM, asked.InFlight = cmp.Or(asked.RPM, m.RPM), cmp.Or(asked.TPM, m.TPM), cmp.Or(asked.InFlight, m.InFlight)
		models[name] = asked
	}
	o.Models = models
	return nil
}

// execution is what a manifest keeps of the options, so that a run goes on as
// it was begun.
type execution struct {
	Pace
	Models map[string]ModelOptions `json:"models,omitempty"`
}

func (o *Options) execution() (json.RawMessage, error) {
	e := execution{Pace: o.Pace}
	for name, m := range o.Models {
		if m.RPM > 0 || m.TPM > 0 || m.InFlight > 0 {
			if e.Models == nil {
				e.Models = map[string]ModelOptions{}
			}
			e.Models[name] = m
		}
	}
	b, err := json.Marshal(e)
	if err != nil || string(b) == "{}" {
		return nil, err
	}
	return b, nil
}
