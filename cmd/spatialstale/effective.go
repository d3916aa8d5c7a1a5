package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// effective is what becomes of what was asked of the models of a run: where
// they are asked, which parameters their servers do not take, and under which
// names they answer. It is known only as answers come; what is new is told to
// the person at once, and written to the run's manifest before the answer that
// showed it.
type effective struct {
	say   func(line string)              // to the person; nil for nobody
	write func([]record.ModelInfo) error // to the manifest; nil until there is a run

	mu    sync.Mutex
	infos []record.ModelInfo
}

// add makes a model of the run known, and returns it so that it is watched. A
// control has nothing to watch.
func (e *effective) add(info record.ModelInfo, m llm.Model) llm.Model {
	if d, ok := llm.Describe(m); ok && d.Endpoint != "" && !slices.Contains(info.Endpoints, d.Endpoint) {
		if len(info.Endpoints) > 0 {
			e.tell("%s is asked at %s now; the run was begun at %s", info.Name, d.Endpoint, info.Endpoints[0])
		}
		info.Endpoints = append(slices.Clone(info.Endpoints), d.Endpoint)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.infos = append(e.infos, info)
	if m == nil {
		return nil
	}
	return &watched{m, e, len(e.infos) - 1}
}

func (e *effective) tell(format string, args ...any) {
	if e.say != nil {
		e.say(fmt.Sprintf(format, args...))
	}
}

// models returns what is known of the models so far.
func (e *effective) models() []record.ModelInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.infos)
}

// watched is a model whose answers are watched for what they say of it.
type watched struct {
	llm.Model
	effective *effective
	at        int
}

// Unwrap returns the model that is watched.
func (m *watched) Unwrap() llm.Model { return m.Model }

func (m *watched) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	reply, err := m.Model.Generate(ctx, req)
	server := ""
	if err == nil {
		server = reply.Model
	}
	d, _ := llm.Describe(m.Model)
	if written := m.effective.learn(m.at, d.Changes, server); written != nil && err == nil {
		return nil, fmt.Errorf("%w: %w", llm.ErrJournal, written)
	}
	return reply, err
}

// learn takes in what a call has shown of a model.
func (e *effective) learn(at int, changes []llm.Change, server string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	info := &e.infos[at]
	news := false
	for _, c := range changes {
		known := slices.ContainsFunc(info.Changes, func(k record.ParamChange) bool { return k.Param == c.Param && k.Instead == c.Instead })
		if known {
			continue
		}
		news = true
		change := record.ParamChange{Param: c.Param, Instead: c.Instead, Words: c.Words}
		info.Changes = append(slices.Clone(info.Changes), change)
		e.tell("%s: %s from now on, because it is not taken: %s", info.Name, strings.Replace(change.String(), "was", "is", 1), c.Words)
	}
	if server != "" && !slices.Contains(info.ServerModels, server) {
		news = true
		if n := len(info.ServerModels); n > 0 {
			e.tell("%s: the server now calls the model %s, and called it %s before: the run mixes two models", info.Name, server, info.ServerModels[n-1])
		}
		info.ServerModels = append(slices.Clone(info.ServerModels), server)
	}
	if !news || e.write == nil {
		return nil
	}
	return e.write(slices.Clone(e.infos))
}
