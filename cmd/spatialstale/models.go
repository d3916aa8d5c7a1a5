package main

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
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
	r.Add(ollama.Providers()...)
	return &r
}

// An opener makes models ready for calls.
type opener struct {
	getenv func(string) string
	waits  func(llm.Wait) // is told of each wait before a call is tried again; nil for nobody
}

// open makes the study's models ready and gives each its canonical name.
func (o opener) open(s *study.Study) (map[string]llm.Model, []record.ModelInfo, error) {
	if err := nameModels(s); err != nil {
		return nil, nil, err
	}
	models := map[string]llm.Model{}
	var infos []record.ModelInfo
	known := providers()
	for _, name := range s.Models {
		if strings.HasPrefix(name, reference.Prefix) {
			c, err := reference.New(name)
			if err != nil {
				return nil, nil, usageError{err}
			}
			models[name] = c
			infos = append(infos, record.ModelInfo{Name: name, Control: true, Note: "a built-in control, no language or vision model"})
			continue
		}
		m, err := known.Open(name, provider.Env{Getenv: o.getenv, Settings: provider.Settings{NameCalls: o.getenv(nameCallsVar) != ""}})
		if err != nil {
			return nil, nil, err
		}
		info := record.ModelInfo{Name: name}
		if d, ok := llm.Describe(m); ok {
			info.Note = "at " + d.Endpoint
		}
		// A call that waits before it is tried again leaves its place in flight
		// to another.
		models[name] = llm.Retry(llm.Limit(m, llm.LimitOptions{Model: name}), llm.RetryOptions{Notify: o.waits})
		infos = append(infos, info)
	}
	return models, infos, nil
}

// nameModels gives each of the study's models its canonical name. It wants no
// credential.
func nameModels(s *study.Study) error {
	known := providers()
	for i, name := range s.Models {
		if strings.HasPrefix(name, reference.Prefix) {
			c, err := reference.New(name)
			if err != nil {
				return usageError{err}
			}
			s.Models[i] = c.Name()
			continue
		}
		if _, _, err := known.Find(name); err != nil {
			return usageError{fmt.Errorf("%w; there are\n%s", err, listModels())}
		}
	}
	return nil
}

// listModels lists the models there are, two lines each.
func listModels() string {
	var b strings.Builder
	for _, a := range reference.About {
		fmt.Fprintf(&b, "  %s\n      %s\n", a.Name, a.Note)
	}
	return b.String() + providers().String()
}
