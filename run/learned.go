package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// learned is what shows of a run's models as they answer: where they are asked,
// which parameters their servers do not take, and under which names they
// answer. What is new is told to people at once, and written to the run's
// manifest before the answer that showed it.
type learned struct {
	tell  func(text string)              // to people
	write func([]record.ModelInfo) error // to the manifest; nil until there is a run

	mu    sync.Mutex
	infos []record.ModelInfo
}

// add makes a model of the run known, and returns it so that its answers are
// watched. A nil model, that of a control or a replay, has nothing to watch.
func (l *learned) add(info record.ModelInfo, m llm.Model) llm.Model {
	if d, ok := llm.Describe(m); ok && d.Endpoint != "" && !slices.Contains(info.Endpoints, d.Endpoint) {
		if len(info.Endpoints) > 0 {
			l.say("%s is asked at %s now; the run was begun at %s", info.Name, d.Endpoint, info.Endpoints[0])
		}
		info.Endpoints = append(slices.Clone(info.Endpoints), d.Endpoint)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.infos = append(l.infos, info)
	if m == nil {
		return nil
	}
	return &observed{m, l, len(l.infos) - 1}
}

func (l *learned) say(format string, args ...any) {
	if l.tell != nil {
		l.tell(fmt.Sprintf(format, args...))
	}
}

// models returns what is known of the models so far.
func (l *learned) models() []record.ModelInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.infos)
}

// observed is a model whose answers are watched for what they say of it.
type observed struct {
	llm.Model
	learned *learned
	at      int
}

// Unwrap returns the model that is watched.
func (m *observed) Unwrap() llm.Model { return m.Model }

func (m *observed) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	reply, err := m.Model.Generate(ctx, req)
	server := ""
	if err == nil {
		server = reply.Model
	}
	d, _ := llm.Describe(m.Model)
	if written := m.learned.learn(m.at, d.Changes, server); written != nil && err == nil {
		return nil, fmt.Errorf("%w: %w", llm.ErrJournal, written)
	}
	return reply, err
}

// learn takes in what a call has shown of a model.
func (l *learned) learn(at int, changes []llm.Change, server string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	info := &l.infos[at]
	news := false
	for _, c := range changes {
		known := slices.ContainsFunc(info.Changes, func(k record.ParamChange) bool { return k.Param == c.Param && k.Instead == c.Instead })
		if known {
			continue
		}
		news = true
		change := record.ParamChange{Param: c.Param, Instead: c.Instead, Words: c.Words}
		info.Changes = append(slices.Clone(info.Changes), change)
		l.say("%s: %s from now on, because it is not taken: %s", info.Name, strings.Replace(change.String(), "was", "is", 1), c.Words)
	}
	if server != "" && !slices.Contains(info.ServerModels, server) {
		news = true
		if n := len(info.ServerModels); n > 0 {
			l.say("%s: the server now calls the model %s, and called it %s before: the run mixes two models", info.Name, server, info.ServerModels[n-1])
		}
		info.ServerModels = append(slices.Clone(info.ServerModels), server)
	}
	if !news || l.write == nil {
		return nil
	}
	return l.write(slices.Clone(l.infos))
}
