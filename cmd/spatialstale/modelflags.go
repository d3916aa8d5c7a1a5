package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
)

// connectionFlags say how models are reached: their credentials, and how long a
// call may take. No result depends on them.
type connectionFlags struct {
	EnvFile        string        `placeholder:"FILE" help:"Take keys and addresses from this file of NAME=VALUE lines; the environment goes before it."`
	ConnectTimeout time.Duration `placeholder:"30s" help:"Longest wait for a connection."`
	IdleTimeout    time.Duration `placeholder:"1m" help:"Longest silence in the middle of an answer."`
	Timeout        time.Duration `placeholder:"10m" help:"Longest time that one attempt of a call may take."`
}

// Validate is called when the command line has been read.
func (f *connectionFlags) Validate() error {
	for name, d := range map[string]time.Duration{"connect-timeout": f.ConnectTimeout, "idle-timeout": f.IdleTimeout, "timeout": f.Timeout} {
		if d < 0 {
			return fmt.Errorf("--%s %v: it must not be negative", name, d)
		}
	}
	return nil
}

// environment returns the lookup of variables: the process's, then the file's.
func (f *connectionFlags) environment() (func(string) string, error) {
	if f.EnvFile == "" {
		return os.Getenv, nil
	}
	values, err := readEnvFile(f.EnvFile)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY":
			return nil, fmt.Errorf("%s: %s is taken from the environment only; export it there", f.EnvFile, name)
		}
	}
	return func(name string) string {
		if v := os.Getenv(name); v != "" {
			return v
		}
		return values[name]
	}, nil
}

func (f *connectionFlags) deadlines() provider.Deadlines {
	return provider.Deadlines{Connect: f.ConnectTimeout, Idle: f.IdleTimeout, Attempt: f.Timeout}
}

// requestFlags change what a server is sent, and with it what it may answer.
// They are part of the run.
type requestFlags struct {
	Detail    string   `enum:",low,high,auto" default:"" placeholder:"low|high|auto" help:"How closely pictures are to be looked at, where a protocol has it."`
	NoSchema  bool     `help:"Never ask for output that follows a schema."`
	ExtraBody []string `sep:"none" placeholder:"JSON" help:"A JSON object whose members are added to each request, or @FILE that holds one; MODEL=… for one model; repeat. It stands in the run's manifest: no secrets."`
	Header    []string `sep:"none" placeholder:"NAME=VALUE" help:"A header of each request; MODEL=NAME=VALUE for one model; repeat. The value is kept secret."`
}

// modelFlags say how models are reached, and how fast and how patiently they
// are asked.
type modelFlags struct {
	connectionFlags
	requestFlags
	RPM        []string `name:"rpm" sep:"none" placeholder:"N" help:"Most calls a minute of each model; MODEL=N for one; repeat."`
	TPM        []string `name:"tpm" sep:"none" placeholder:"N" help:"Most tokens a minute of each model, prompts and replies together; MODEL=N for one; repeat."`
	InFlight   []string `sep:"none" placeholder:"N" help:"Most calls of each model under way at once, 64 unless given; MODEL=N for one; repeat."`
	MaxRetries int      `default:"7" placeholder:"N" help:"How often a call that failed in a way that may pass is tried again; 7 unless given."`
	MaxErrors  int      `default:"20" placeholder:"N" help:"Give a model up after so many failed trials in a row; 20 unless given, 0 for never."`
}

// Validate is called when the command line has been read.
func (f *modelFlags) Validate() error {
	switch {
	case f.MaxRetries < 0:
		return fmt.Errorf("--max-retries %d: it must not be negative; 0 never tries again", f.MaxRetries)
	case f.MaxErrors < 0:
		return fmt.Errorf("--max-errors %d: it must not be negative; 0 never gives a model up", f.MaxErrors)
	}
	return f.connectionFlags.Validate()
}

// limits are what the flags say of one model.
func (f *modelFlags) limits(model string, models []string) (llm.LimitOptions, error) {
	o := llm.LimitOptions{Model: model}
	for _, flag := range []struct {
		name   string
		values []string
		into   *int
	}{{"rpm", f.RPM, &o.RPM}, {"tpm", f.TPM, &o.TPM}, {"in-flight", f.InFlight, &o.InFlight}} {
		text, ok, err := of(flag.name, flag.values, model, models)
		if err != nil {
			return o, err
		}
		if !ok {
			continue
		}
		if *flag.into, err = strconv.Atoi(text); err != nil || *flag.into < 1 {
			return o, usageError{fmt.Errorf("--%s %s: want a whole number of at least 1, or MODEL=N", flag.name, text)}
		}
	}
	return o, nil
}

// of returns what a repeatable flag says of one model: what names it goes
// before what is said of all. A value that begins with a name that is none of
// the models' is a mistake.
func of(flag string, values []string, model string, models []string) (value string, ok bool, err error) {
	named := false
	for _, v := range values {
		name, rest, err := forModel(flag, v, models)
		switch {
		case err != nil:
			return "", false, err
		case name == model:
			value, ok, named = rest, true, true
		case name == "" && !named:
			value, ok = rest, true
		}
	}
	return value, ok, nil
}

// forModel splits MODEL=… ; name is empty for a value that is said of all
// models.
func forModel(flag, value string, models []string) (name, rest string, err error) {
	for _, m := range models {
		if r, found := strings.CutPrefix(value, m+"="); found && len(m) > len(name) {
			name, rest = m, r
		}
	}
	if name != "" {
		return name, rest, nil
	}
	before, _, found := strings.Cut(value, "=")
	if found && strings.Contains(before, "/") && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "@") {
		return "", "", usageError{fmt.Errorf("--%s: %q is no model of this run; it has %s", flag, before, strings.Join(models, ", "))}
	}
	return "", value, nil
}

// settings are what the flags say of one model, and the part of it that belongs
// to the run's manifest; nil when they say nothing.
func (f *requestFlags) settings(model string, models []string) (s provider.Settings, asked *record.ModelSettings, err error) {
	s.Detail, s.NoSchema = f.Detail, f.NoSchema
	body, ok, err := of("extra-body", f.ExtraBody, model, models)
	if err != nil {
		return s, nil, err
	}
	if ok {
		if s.ExtraBody, err = readExtraBody(body); err != nil {
			return s, nil, err
		}
	}
	if s.Header, err = f.headers(model, models); err != nil {
		return s, nil, err
	}
	for name, value := range s.Header {
		if len(value) >= shortestSecret && bytes.Contains(s.ExtraBody, []byte(value)) {
			return s, nil, usageError{fmt.Errorf("--extra-body holds the value of the header %s; it stands in the run's manifest, and must hold no secret", name)}
		}
	}
	asked = &record.ModelSettings{Detail: s.Detail, NoSchema: s.NoSchema, ExtraBody: s.ExtraBody, Headers: slices.Sorted(maps.Keys(s.Header))}
	if asked.Detail == "" && !asked.NoSchema && asked.ExtraBody == nil && len(asked.Headers) == 0 {
		asked = nil
	}
	return s, asked, nil
}

// shortestSecret is the length below which a header's value may be an ordinary
// word.
const shortestSecret = 8

// readExtraBody reads a JSON object, or the file behind an @, and writes it
// compactly, so that the same members are the same text.
func readExtraBody(text string) (json.RawMessage, error) {
	from := "--extra-body"
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--extra-body: %w", err)
		}
		from, text = path, string(b)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return nil, usageError{fmt.Errorf(`%s: want a JSON object, as in '{"top_k": 20}', or @FILE`, from)}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", from, err)}
	}
	return b.Bytes(), nil
}

// headers are those of one model's requests. Errors do not show values.
func (f *requestFlags) headers(model string, models []string) (map[string]string, error) {
	var out map[string]string
	named := map[string]bool{} // headers that were given for this model alone
	for _, v := range f.Header {
		of, header, err := forModel("header", v, models)
		if err != nil {
			return nil, err
		}
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" || strings.TrimSpace(name) != name {
			return nil, usageError{errors.New("--header: want NAME=VALUE or MODEL=NAME=VALUE")}
		}
		name = http.CanonicalHeaderKey(name)
		if of != "" && of != model || of == "" && named[name] {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
		named[name] = of != ""
	}
	return out, nil
}

// keep goes on with the settings with which a run was made. What is not asked
// for is the run's, and anything else is refused; only the values of headers
// must be given again, because the run does not hold them.
func keep(model string, run, asked *record.ModelSettings, s *provider.Settings) (*record.ModelSettings, error) {
	was, now := cmp.Or(run, &record.ModelSettings{}), cmp.Or(asked, &record.ModelSettings{})
	differs := func(flag, was, now string) error {
		return usageError{fmt.Errorf("%s: the run was made with %s, not with %s; it changes what a model answers. Leave %s out, or make a new run", model, was, now, flag)}
	}
	switch {
	case now.Detail != "" && now.Detail != was.Detail:
		return nil, differs("--detail", "detail "+cmp.Or(was.Detail, "left to the provider"), now.Detail)
	case now.NoSchema && !was.NoSchema:
		return nil, differs("--no-schema", "output that follows a schema", "output that does not")
	case now.ExtraBody != nil && !bytes.Equal(now.ExtraBody, was.ExtraBody):
		return nil, differs("--extra-body", "the extra body "+cmp.Or(string(was.ExtraBody), "of nothing"), string(now.ExtraBody))
	}
	for _, name := range was.Headers {
		if !slices.Contains(now.Headers, name) {
			return nil, usageError{fmt.Errorf("%s: the run was made with the header %s, whose value it does not hold; give --header again", model, name)}
		}
	}
	for _, name := range now.Headers {
		if !slices.Contains(was.Headers, name) {
			return nil, differs("--header", "no header "+name, "one")
		}
	}
	s.Detail, s.NoSchema, s.ExtraBody = was.Detail, was.NoSchema, was.ExtraBody
	return run, nil
}

// isControl reports whether a model is a built-in control, which has no server.
func isControl(name string) bool { return strings.HasPrefix(name, reference.Prefix) }
