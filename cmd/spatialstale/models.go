package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/study"
)

// nameCallsVar is the environment variable that, when it holds anything, sends
// trial and slot of each call along (llm.CallHeader), for servers that count
// calls.
const nameCallsVar = "SPATIALSTALE_NAME_CALLS"

// providers are the providers of models, apart from the built-in controls.
func providers() *provider.Registry {
	var r provider.Registry
	r.Add(chat.Providers()...)
	r.Add(anthropic.Providers()...)
	r.Add(gemini.Providers()...)
	r.Add(ollama.Providers()...)
	return &r
}

// An opener makes models ready for calls.
type opener struct {
	flags  *modelFlags
	run    map[string]record.ModelInfo // what the models of a run that goes on were asked; nil for a new run
	waits  func(llm.Wait)              // is told of each wait before a call is tried again; nil for nobody
	prices *price.List                 // by which the run is counted; nil for none
	watch  *effective                  // learns what comes of the calls
	getenv func(string) string
	// paidFor puts around a provider's model what belongs to each of its
	// attempts; nil for nothing.
	paidFor func(name string, s *provider.Settings, m llm.Model) (llm.Model, error)
}

// open makes the study's models ready and gives each its canonical name.
func (o *opener) open(s *study.Study) (map[string]llm.Model, error) {
	if err := nameModels(s); err != nil {
		return nil, err
	}
	var err error
	if o.getenv, err = o.flags.environment(); err != nil {
		return nil, err
	}
	models := map[string]llm.Model{}
	for _, name := range s.Models {
		if models[name], err = o.openOne(name, s.Models); err != nil {
			return nil, err
		}
	}
	return models, nil
}

func (o *opener) openOne(name string, models []string) (llm.Model, error) {
	limits, err := o.flags.limits(name, models)
	if err != nil {
		return nil, err
	}
	settings, asked, err := o.flags.settings(name, models)
	if err != nil {
		return nil, err
	}
	if isControl(name) {
		c, err := reference.New(name)
		if err != nil {
			return nil, usageError{err}
		}
		o.watch.add(record.ModelInfo{Name: name, Control: true, Note: "a built-in control, no language or vision model"}, nil)
		return c, nil
	}
	info := record.ModelInfo{Name: name, Settings: asked}
	if o.prices != nil {
		if info.Price, err = priceOf(o.prices, name); err != nil {
			return nil, err
		}
	}
	if before, ok := o.run[name]; ok {
		if info.Settings, err = keep(name, before.Settings, asked, &settings); err != nil {
			return nil, err
		}
		info.Endpoints, info.Changes, info.ServerModels = before.Endpoints, before.Changes, before.ServerModels
	}
	settings.NameCalls = o.getenv(nameCallsVar) != ""
	settings.Deadlines = o.flags.deadlines()
	m, err := providers().Open(name, provider.Env{Getenv: o.getenv, Settings: settings})
	switch {
	case err != nil && strings.HasSuffix(err.Error(), "is not set"):
		return nil, fmt.Errorf("%w; set it, or write it into a file and give --env-file FILE", err)
	case err != nil:
		return nil, err
	}
	if o.paidFor != nil {
		if m, err = o.paidFor(name, &settings, m); err != nil {
			return nil, err
		}
	}
	m = o.watch.add(info, m)
	// A call that waits before it is tried again leaves its place in flight to
	// another.
	return llm.Retry(llm.Limit(m, limits), llm.RetryOptions{Attempts: o.flags.MaxRetries + 1, Notify: o.waits}), nil
}

// nameModels gives each of the study's models its canonical name. It wants no
// credential.
func nameModels(s *study.Study) error {
	known := providers()
	for i, name := range s.Models {
		if isControl(name) {
			c, err := reference.New(name)
			if err != nil {
				return usageError{err}
			}
			s.Models[i] = c.Name()
			continue
		}
		switch _, _, err := known.Find(name); {
		case errors.Is(err, provider.ErrUnknown):
			return usageError{fmt.Errorf("%w; %s", err, likelyNames(name, known))}
		case err != nil:
			return usageError{err}
		}
	}
	return nil
}

// likelyNames says how names begin, and which of the models with a price may be
// meant by one that does not begin so.
func likelyNames(name string, known *provider.Registry) string {
	meant := strings.ToLower(path.Base(name))
	var like []string
	for priced := range price.Shipped().Models {
		if path.Base(priced) == meant {
			like = append(like, priced)
		}
	}
	prefixes := []string{reference.Prefix}
	for _, p := range known.All() {
		prefixes = append(prefixes, p.Prefix)
	}
	all := fmt.Sprintf("a name begins with one of %s (spatialstale models tells of each)", strings.Join(prefixes, ", "))
	if len(like) == 0 {
		return all
	}
	slices.Sort(like)
	return fmt.Sprintf("did you mean %s? %s", strings.Join(like, " or "), all)
}
