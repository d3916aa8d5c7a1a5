package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// executionFlags say how a study is run; no result depends on them.
type executionFlags struct {
	Concurrency *int          `placeholder:"N" help:"Trials in progress at once: of each model with a server, 16 unless given; of the controls together, as many as there are processors. No result depends on it."`
	Format      string        `enum:"text,md,json" default:"text" help:"Form of the tables: text, md or json."`
	Prices      string        `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	Budget      *amount       `placeholder:"USD" help:"Stop, so that it can be resumed, before a call could make the run cost more than this, all its sessions and models together. Needs the price of each model."`
	JSON        bool          `name:"json" help:"For programs: progress as JSON lines on the standard error, tables as JSON."`
	View        bool          `help:"Show the run in a browser while it goes on (docs/view.md)."`
	Blind       bool          `help:"Run a study with pictures also on a model that does not see what a picture shows, when it is asked before the run."`
	BatchAPI    bool          `name:"batch-api" help:"Ask the calls of detections in the provider's batches (OpenAI, Anthropic and servers that copy OpenAI's): half the price, and answers that may take a day. resume collects them (docs/batches.md)."`
	BatchSteps  bool          `help:"With --batch-api, ask the calls of episodes in batches too: one batch for each step of all episodes. Without it they are calls of their own."`
	BatchPoll   time.Duration `placeholder:"1m" help:"How often a batch is asked whether it has ended."`
	BatchMost   int           `placeholder:"N" help:"Most calls of a batch; as many as the provider takes unless given."`
	MaxErrors   *int          `placeholder:"N" help:"Give a model up after so many failed trials in a row; 20 unless given, 0 for never."`
}

// connectionFlags say how models are reached: their credentials, and how long a
// call may take. No result depends on them.
type connectionFlags struct {
	EnvFile        string        `placeholder:"FILE" help:"Take keys and addresses from this file of NAME=VALUE lines; the environment goes before it."`
	ConnectTimeout time.Duration `placeholder:"30s" help:"Longest wait for a connection."`
	IdleTimeout    time.Duration `placeholder:"1m" help:"Longest silence in the middle of an answer; unless given, as long between two tokens of a stream as --timeout."`
	Timeout        time.Duration `placeholder:"10m" help:"Longest time that one attempt of a call may take; of a stream, until its first token."`
	Stream         bool          `help:"Take answers as they come, from servers of Chat Completions: a slow call lives while tokens come, and one that says more than was asked ends early."`
}

// requestFlags change what a server is sent, and with it what it may answer.
// They are part of the run.
type requestFlags struct {
	Detail    string   `enum:",low,high,auto" default:"" placeholder:"low|high|auto" help:"How closely pictures are to be looked at, where a protocol has it."`
	NoSchema  bool     `help:"Never ask for output that follows a schema."`
	ExtraBody []string `sep:"none" placeholder:"JSON" help:"A JSON object whose members are added to each request, or @FILE that holds one; MODEL=… for one model; repeat. It is in the run's manifest: no secrets."`
	Header    []string `sep:"none" placeholder:"NAME=VALUE" help:"A header of each request; MODEL=NAME=VALUE for one model; repeat. The value is kept secret."`
}

// modelFlags say how models are reached, and how fast and how patiently they
// are asked.
type modelFlags struct {
	connectionFlags
	requestFlags
	Endpoint   []string `sep:"none" placeholder:"URL" help:"An address of the model, in place of the one that its environment variable names; repeat for several, between which calls are balanced; MODEL=URL for one model."`
	RPM        []string `name:"rpm" sep:"none" placeholder:"N" help:"Most calls a minute of each model; MODEL=N for one; repeat."`
	TPM        []string `name:"tpm" sep:"none" placeholder:"N" help:"Most tokens a minute of each model, prompts and replies together; MODEL=N for one; repeat."`
	InFlight   []string `sep:"none" placeholder:"N" help:"Most calls of each model under way at once, 64 unless given; MODEL=N for one; repeat."`
	MaxRetries *int     `placeholder:"N" help:"How often a call that failed in a way that may pass is tried again; 7 unless given."`
}

// options are what the flags say of a run of these models.
func (f *executionFlags) options(asked *modelFlags, models []string) (o run.Options, err error) {
	if n := f.Concurrency; n != nil && *n < 1 {
		return o, usageError{fmt.Errorf("--concurrency %d: at least one trial must be in progress", *n)}
	}
	o.Pace = run.Pace{Concurrency: value(f.Concurrency), MaxRetries: asked.MaxRetries, MaxErrors: f.MaxErrors}
	if o.Batches, err = f.batches(); err != nil {
		return o, err
	}
	o.Budget, o.Blind = (*price.USD)(f.Budget), f.Blind
	if f.Prices != "" {
		if o.Prices, err = price.Read(f.Prices); err != nil {
			return o, err
		}
	}
	if err := asked.connectionFlags.fill(&o); err != nil {
		return o, err
	}
	o.Models, err = asked.models(models)
	return o, err
}

// batches are what the flags say of batches; nil where none are asked for.
func (f *executionFlags) batches() (*run.Batches, error) {
	b := &run.Batches{Steps: f.BatchSteps, Poll: f.BatchPoll, Most: f.BatchMost}
	switch {
	case f.BatchPoll < 0 || f.BatchMost < 0:
		return nil, usageError{errors.New("--batch-poll and --batch-most are a time and a number above 0")}
	case f.BatchAPI:
		return b, nil
	case *b != run.Batches{}:
		return nil, usageError{errors.New("--batch-steps, --batch-poll and --batch-most say how --batch-api asks; give it as well")}
	}
	return nil, nil
}

// value is what a flag says, the zero value when it was not given.
func value[T any](flag *T) (v T) {
	if flag != nil {
		v = *flag
	}
	return v
}

// fill sets what the flags say.
func (f *connectionFlags) fill(o *run.Options) (err error) {
	o.Deadlines = provider.Deadlines{Connect: f.ConnectTimeout, Idle: f.IdleTimeout, Attempt: f.Timeout}
	for name, d := range map[string]time.Duration{"connect-timeout": f.ConnectTimeout, "idle-timeout": f.IdleTimeout, "timeout": f.Timeout} {
		if d < 0 {
			return usageError{fmt.Errorf("--%s %v: it must not be negative", name, d)}
		}
	}
	o.Getenv, o.Stream = os.Getenv, f.Stream
	if f.EnvFile != "" {
		o.Getenv, err = run.EnvFile(f.EnvFile)
	}
	return err
}

// models are what the flags say of each of these models, and under "" of all.
func (f *modelFlags) models(names []string) (map[string]run.ModelOptions, error) {
	out, err := f.requestFlags.models(names)
	if err != nil {
		return nil, err
	}
	number := func(flag string, values []string, field func(*run.ModelOptions) *int) error {
		return forModels(out, flag, values, names, func(m *run.ModelOptions, value string) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("--%s %s: want a whole number of at least 1, or MODEL=N", flag, value)
			}
			*field(m) = n
			return nil
		})
	}
	return out, errors.Join(
		forModels(out, "endpoint", f.Endpoint, names, func(m *run.ModelOptions, value string) error {
			if slices.Contains(m.Endpoints, value) {
				return errors.New("--endpoint: an address is given twice")
			}
			m.Endpoints = append(m.Endpoints, value)
			return nil
		}),
		ownedAddresses(out, names),
		number("rpm", f.RPM, func(m *run.ModelOptions) *int { return &m.RPM }),
		number("tpm", f.TPM, func(m *run.ModelOptions) *int { return &m.TPM }),
		number("in-flight", f.InFlight, func(m *run.ModelOptions) *int { return &m.InFlight }))
}

// ownedAddresses refuses an address that is said of several models with servers: one
// would be asked at another's, with its own key.
func ownedAddresses(out map[string]run.ModelOptions, names []string) error {
	servers := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return run.IsControl(name) || !study.HasServer(name) })
	if all := out[""].Endpoints; len(all) > 0 && len(servers) > 1 {
		return usageError{fmt.Errorf("--endpoint %s: the run has several models with servers (%s); say whose address it is, as MODEL=URL", all[0], strings.Join(servers, ", "))}
	}
	return nil
}

func (f *requestFlags) models(names []string) (map[string]run.ModelOptions, error) {
	out := map[string]run.ModelOptions{"": {Detail: f.Detail, NoSchema: f.NoSchema}}
	err := forModels(out, "extra-body", f.ExtraBody, names, func(m *run.ModelOptions, value string) error {
		from := "--extra-body"
		if path, ok := strings.CutPrefix(value, "@"); ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("--extra-body: %w", err)
			}
			from, value = path, string(b)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(value), &members); err != nil || members == nil {
			return fmt.Errorf(`%s: want a JSON object, as in '{"top_k": 20}', or @FILE`, from)
		}
		m.ExtraBody = json.RawMessage(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, forModels(out, "header", f.Header, names, func(m *run.ModelOptions, header string) error {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" || strings.TrimSpace(name) != name {
			return errors.New("--header: want NAME=VALUE or MODEL=NAME=VALUE") // it does not show the value
		}
		if m.Header == nil {
			m.Header = map[string]string{}
		}
		m.Header[name] = value
		return nil
	})
}

// forModels reads a repeatable flag whose values are said of all models, or, as
// MODEL=…, of one. A value that begins with a name that is none of the models'
// is a mistake.
func forModels(out map[string]run.ModelOptions, flag string, values, names []string, set func(*run.ModelOptions, string) error) error {
	for _, v := range values {
		name, rest := "", v
		for _, n := range names {
			if r, found := strings.CutPrefix(v, n+"="); found && len(n) > len(name) {
				name, rest = n, r
			}
		}
		before, _, found := strings.Cut(v, "=")
		if name == "" && found && strings.Contains(before, "/") && !strings.HasPrefix(v, "{") && !strings.HasPrefix(v, "@") && !strings.Contains(before, "://") {
			return usageError{fmt.Errorf("--%s: %q is no model of this run; it has %s", flag, before, strings.Join(names, ", "))}
		}
		m := out[name]
		if err := set(&m, rest); err != nil {
			return usageError{err}
		}
		out[name] = m
	}
	return nil
}

// An amount is a sum of money on the command line, in dollars.
type amount price.USD

// UnmarshalText reads "5", "0.25" or "$5".
func (a *amount) UnmarshalText(text []byte) error {
	if strings.HasPrefix(string(text), "-") {
		return fmt.Errorf("%q: a budget is a sum from 0 to a million dollars", text)
	}
	var d float64
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "$")), &d); err != nil {
		return fmt.Errorf("%q is no sum of money; write it in dollars, as in 5 or 0.25", text)
	}
	u, ok := price.FromDollars(d)
	if !ok {
		return fmt.Errorf("%q: a budget is a sum from 0 to a million dollars", text)
	}
	*a = amount(u)
	return nil
}
