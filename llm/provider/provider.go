// Package provider is what all providers of models share: how a model's name
// leads to one, which credential it wants and where it is reached, and the HTTP
// under their protocols (deadlines, connections, what a server says when it
// fails). Each wire protocol is a package below this one; the command fills a
// Registry with their providers.
//
// It refuses to show a credential or the content of a prompt: neither is ever
// in an error, a description or anything else that it returns.
package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
)

// A Provider is a family of models whose names share a prefix.
type Provider struct {
	Prefix string // of its models' names, such as "openai/"
	Form   string // of its models' names, such as "openai/MODEL"
	Note   string // what it is, in a line
	Access Access // what reaching it takes
	// Check says what is wrong with the rest of a name; nil when any will do.
	Check func(model string) error
	// Open makes a model ready for calls. The model is the name without the
	// prefix. No request is made.
	Open func(model string, env Env) (llm.Model, error)
}

// Of returns a provider whose models are reached as access says. open is given
// the base URL in place of where requests go.
func Of(prefix, note string, access Access, open func(o Options) (llm.Model, error)) Provider {
	return Provider{
		Prefix: prefix, Form: prefix + "MODEL", Note: note, Access: access,
		Open: func(model string, env Env) (llm.Model, error) { return access.Open(prefix+model, model, env, open) },
	}
}

// Open opens a model by its whole name and the name that the server is told.
func (a Access) Open(name, model string, env Env, open func(o Options) (llm.Model, error)) (llm.Model, error) {
	key, err := a.Key(name, env)
	if err != nil {
		return nil, err
	}
	base, err := a.URL(name, env)
	if err != nil {
		return nil, err
	}
	return open(Options{Name: name, Model: model, URL: base, Key: key, Settings: env.Settings})
}

// A Registry finds the provider of a model. The zero value is empty.
type Registry struct{ providers []Provider }

// Add adds providers. Two with the same prefix are a mistake in the program,
// and panic.
func (r *Registry) Add(providers ...Provider) {
	for _, p := range providers {
		if slices.ContainsFunc(r.providers, func(q Provider) bool { return q.Prefix == p.Prefix }) {
			panic("provider: two providers of " + p.Prefix)
		}
		r.providers = append(r.providers, p)
	}
}

// All returns the providers in the order in which they were added.
func (r *Registry) All() []Provider { return slices.Clone(r.providers) }

// ErrUnknown is in the error of a name that begins with no provider.
var ErrUnknown = errors.New("unknown model")

// Find returns the provider of a model, by the longest prefix that fits, and
// the rest of the name. It asks for no credential.
func (r *Registry) Find(name string) (p Provider, model string, err error) {
	for _, q := range r.providers {
		if strings.HasPrefix(name, q.Prefix) && len(q.Prefix) > len(p.Prefix) {
			p = q
		}
	}
	if p.Prefix == "" {
		return Provider{}, "", fmt.Errorf("%w %q", ErrUnknown, name)
	}
	model = strings.TrimPrefix(name, p.Prefix)
	if strings.TrimSpace(model) != model || model == "" || strings.ContainsFunc(model, unicode.IsControl) {
		return Provider{}, "", fmt.Errorf("model %q: want %s", name, p.Form)
	}
	if p.Check != nil {
		if err := p.Check(model); err != nil {
			return Provider{}, "", fmt.Errorf("model %q: %w", name, err)
		}
	}
	return p, model, nil
}

// Open makes a model ready for calls.
func (r *Registry) Open(name string, env Env) (llm.Model, error) {
	p, model, err := r.Find(name)
	if err != nil {
		return nil, err
	}
	return p.Open(model, env)
}

// Opened returns a model for a caller that wants an llm.Model: nil with an
// error.
func Opened[M llm.Model](m M, err error) (llm.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
