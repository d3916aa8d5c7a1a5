package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/study"
)

// ModelOptions say how one model is asked. The zero value leaves everything to
// the provider.
type ModelOptions struct {
	// The most calls a minute, the most tokens a minute, prompts and replies
	// together, and the most calls under way at once (64 when 0); 0 for no limit.
	RPM      int `json:"rpm,omitempty"`
	TPM      int `json:"tpm,omitempty"`
	InFlight int `json:"in_flight,omitempty"`
	// Endpoints are the addresses of a model that is served at several, in place of
	// the one that the environment names. They are no part of any trial, and are not
	// kept: an address may hold what is secret.
	Endpoints []string `json:"-"`
	// What a server is sent beside the study's parameters. It may change what a
	// model answers, stands in the manifest, and stays what it is when the run is
	// resumed. The values of headers are secret: only their names are kept, and
	// the values must be given again.
	Detail    string            `json:"-"` // of pictures: low, high or auto; empty leaves it to the provider
	NoSchema  bool              `json:"-"` // never ask for output that follows a schema
	ExtraBody json.RawMessage   `json:"-"` // a JSON object whose members are added to each request
	Header    map[string]string `json:"-"`
}

// NameCallsVar is the environment variable that, when it holds anything, sends
// trial and slot of each call along (llm.CallHeader), for servers that count
// calls.
const NameCallsVar = "SPATIALSTALE_NAME_CALLS"

var personName = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,63}$`)

// IsControl reports whether a model is a built-in control, which has no server.
func IsControl(name string) bool { return strings.HasPrefix(name, reference.Prefix) }

// NameModels gives each of the models its canonical name. It wants no
// credential; its error says which names there are.
func NameModels(names []string) error {
	for i, name := range names {
		if study.IsAgent(name) {
			continue // the study says what it is, and checks it
		}
		if person, ok := strings.CutPrefix(name, record.PersonPrefix); ok {
			if !personName.MatchString(person) {
				return UsageError{fmt.Errorf("%s: a person's name has letters, digits, and . _ - behind the first", name)}
			}
			continue
		}
		if IsControl(name) {
			c, err := reference.New(name)
			if err != nil {
				return UsageError{err}
			}
			names[i] = c.Name()
			continue
		}
		if err := models.Check(name, reference.Prefix); err != nil {
			return UsageError{err}
		}
	}
	return nil
}

// NameStudy gives all models that a study names their canonical names.
func NameStudy(s *study.Study) error {
	if err := NameModels(s.Models); err != nil {
		return err
	}
	if n := s.Navigation; n != nil {
		for _, models := range n.Only {
			if err := NameModels(models); err != nil {
				return err
			}
		}
		return NameModels(n.Models)
	}
	return nil
}

// isOllama reports whether a model is reached by Ollama's own protocol.
func isOllama(name string) bool { return strings.HasPrefix(name, "ollama/") }

// modelOptions are what the options say of one model: what names it goes before
// what is said of all.
func (o *Options) modelOptions(name string) ModelOptions {
	all, one := o.Models[""], o.Models[name]
	out := ModelOptions{
		RPM:       cmp.Or(one.RPM, all.RPM),
		TPM:       cmp.Or(one.TPM, all.TPM),
		InFlight:  cmp.Or(one.InFlight, all.InFlight),
		Detail:    cmp.Or(one.Detail, all.Detail),
		NoSchema:  one.NoSchema || all.NoSchema,
		Endpoints: one.Endpoints,
		Header:    map[string]string{},
	}
	if len(out.Endpoints) == 0 {
		out.Endpoints = all.Endpoints
	}
	if out.ExtraBody = one.ExtraBody; len(out.ExtraBody) == 0 {
		out.ExtraBody = all.ExtraBody
	}
	for _, header := range []map[string]string{all.Header, one.Header} {
		for name, value := range header {
			out.Header[http.CanonicalHeaderKey(name)] = value
		}
	}
	return out
}

// shortestSecret is the length below which a header's value may be an ordinary
// word.
const shortestSecret = 8

// recorded is the part of the options that belongs to the run's manifest; nil
// when they say nothing. The extra body is written compactly, so that the same
// members are the same text.
func (o *ModelOptions) recorded() (*record.ModelSettings, error) {
	if len(o.ExtraBody) > 0 {
		var members map[string]json.RawMessage
		var compact bytes.Buffer
		if err := errors.Join(json.Unmarshal(o.ExtraBody, &members), json.Compact(&compact, o.ExtraBody)); err != nil || members == nil {
			return nil, UsageError{errors.New(`the extra body must be a JSON object, as in {"top_k": 20}`)}
		}
		o.ExtraBody = compact.Bytes()
	}
	for name, value := range o.Header {
		if len(value) >= shortestSecret && bytes.Contains(o.ExtraBody, []byte(value)) {
			return nil, UsageError{fmt.Errorf("the extra body holds the value of the header %s; it stands in the run's manifest, and must hold no secret", name)}
		}
	}
	s := &record.ModelSettings{Detail: o.Detail, NoSchema: o.NoSchema, ExtraBody: o.ExtraBody, Headers: slices.Sorted(maps.Keys(o.Header))}
	if s.Detail == "" && !s.NoSchema && s.ExtraBody == nil && len(s.Headers) == 0 {
		return nil, nil
	}
	return s, nil
}

// keepSettings goes on with the settings with which a run was made. What is not
// asked for is the run's, and anything else is refused; only the values of
// headers must be given again, because the run does not hold them.
func keepSettings(model string, run, asked *record.ModelSettings, o *ModelOptions) error {
	was, now := cmp.Or(run, &record.ModelSettings{}), cmp.Or(asked, &record.ModelSettings{})
	differs := func(what, was, now string) error {
		return UsageError{fmt.Errorf("%s: the run was made with %s, not with %s; it changes what a model answers. Leave %s out, or make a new run", model, was, now, what)}
	}
	switch {
	case now.Detail != "" && now.Detail != was.Detail:
		return differs("--detail", "detail "+cmp.Or(was.Detail, "left to the provider"), now.Detail)
	case now.NoSchema && !was.NoSchema:
		return differs("--no-schema", "output that follows a schema", "output that does not")
	case now.ExtraBody != nil && !bytes.Equal(now.ExtraBody, was.ExtraBody):
		return differs("--extra-body", "the extra body "+cmp.Or(string(was.ExtraBody), "of nothing"), string(now.ExtraBody))
	}
	for _, name := range was.Headers {
		if !slices.Contains(now.Headers, name) {
			return UsageError{fmt.Errorf("%s: the run was made with the header %s, whose value it does not hold; give --header again", model, name)}
		}
	}
	for _, name := range now.Headers {
		if !slices.Contains(was.Headers, name) {
			return differs("--header", "no header "+name, "one")
		}
	}
	o.Detail, o.NoSchema, o.ExtraBody = was.Detail, was.NoSchema, was.ExtraBody
	return nil
}

// OpenModel makes one model ready for calls that belong to no run, without
// retries and without a budget. Info returns where it is asked and what its
// server has refused so far.
func OpenModel(name string, o Options) (m llm.Model, info func() record.ModelInfo, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if IsControl(name) {
		c, err := reference.New(name)
		return c, func() record.ModelInfo { return record.ModelInfo{Name: name, Control: true} }, err
	}
	var l learned
	if m, err = o.openModel(name, record.ModelInfo{}, nil, nil, &l); err != nil {
		return nil, nil, err
	}
	return m, func() record.ModelInfo { return l.models()[0] }, nil
}

// openModel makes a model with a server ready for single attempts. Before is
// what the manifest of a run that goes on says of it. Around, unless it is nil,
// puts around the provider's model what belongs to each attempt.
func (o *Options) openModel(name string, before record.ModelInfo, priced json.RawMessage, around func(*provider.Settings, llm.Model) (llm.Model, error), l *learned) (llm.Model, error) {
	asked := o.modelOptions(name)
	recorded, err := asked.recorded()
	if err != nil {
		return nil, err
	}
	info := record.ModelInfo{Name: name, Settings: recorded, Price: priced}
	if before.Name != "" {
		if err := keepSettings(name, before.Settings, recorded, &asked); err != nil {
			return nil, err
		}
		info.Settings, info.Endpoints, info.Changes, info.ServerModels = before.Settings, before.Endpoints, before.Changes, before.ServerModels
	}
	settings := provider.Settings{
		Detail: asked.Detail, NoSchema: asked.NoSchema, ExtraBody: asked.ExtraBody, Header: asked.Header,
		NameCalls: o.Getenv(NameCallsVar) != "", Deadlines: o.Deadlines, Stream: o.Stream, Batching: o.batching,
	}
	env := provider.Env{Getenv: o.Getenv, Settings: settings}
	var m llm.Model
	if len(asked.Endpoints) == 0 {
		m, err = models.Connect(name, env)
	} else {
		if settings.Batching != nil && len(asked.Endpoints) > 1 {
			return nil, UsageError{fmt.Errorf("%s: batches are kept at one address; give one --endpoint, or leave --batch-api out", name)}
		}
		var endpoints []string
		if m, endpoints, err = models.ConnectAt(name, asked.Endpoints, env, o.Now); err != nil {
			return nil, UsageError{err}
		}
		for _, e := range endpoints {
			if !slices.Contains(info.Endpoints, e) {
				info.Endpoints = append(slices.Clip(info.Endpoints), e)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if around != nil {
		if m, err = around(&settings, m); err != nil {
			return nil, err
		}
	}
	return l.add(info, m), nil
}
