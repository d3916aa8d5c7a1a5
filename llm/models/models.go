// Package models opens a model by its name: it knows the providers of all wire
// protocols, what a name can begin with, and what goes around a model whose
// calls belong to no run. It stands between the protocols and whoever asks
// models (run, audit).
//
// It refuses to know what is asked, and never shows a credential.
package models

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
	"github.com/spatialstale/spatialstale/llm/provider/gemini"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

// Providers returns the providers of models with a server.
func Providers() *provider.Registry {
	var r provider.Registry
	r.Add(chat.Providers()...)
	r.Add(anthropic.Providers()...)
	r.Add(gemini.Providers()...)
	r.Add(ollama.Providers()...)
	return &r
}

// Check says what is wrong with the name of a model, and which names there are;
// besides are prefixes of names that the caller knows itself. It wants no
// credential.
func Check(name string, besides ...string) error {
	known := Providers()
	_, _, err := known.Find(name)
	if errors.Is(err, provider.ErrUnknown) {
		return fmt.Errorf("%w; %s", err, likelyNames(name, known, besides))
	}
	return err
}

// likelyNames says how names begin, and which of the models with a price may be
// meant by one that does not begin so.
func likelyNames(name string, known *provider.Registry, prefixes []string) string {
	meant := strings.ToLower(path.Base(name))
	var like []string
	for priced := range price.Shipped().Models {
		if path.Base(priced) == meant {
			like = append(like, priced)
		}
	}
	prefixes = slices.Clip(prefixes)
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

// CapOptions say how much a model may write where nobody else does.
func CapOptions(prices *price.List, model string) llm.CapOptions {
	var o llm.CapOptions
	if p, ok := prices.Of(model); ok {
		o.Most = p.MaxOutput
		if p.Thinks != nil && *p.Thinks { // others that do are found out, see llm.Capped
			o.Thinking = llm.DefaultThinking
		}
	}
	return o
}

// Connect makes a model ready for single attempts.
func Connect(name string, env provider.Env) (llm.Model, error) {
	m, err := Providers().Open(name, env)
	if err != nil && strings.HasSuffix(err.Error(), "is not set") {
		return nil, fmt.Errorf("%w; set it, or write it into a file and give --env-file FILE", err)
	}
	return m, err
}

// ConnectAt is Connect for a model that is reached at several addresses, in place of
// the one that the environment names (llm.Balance), with where requests go at each.
// Errors: those of Connect.
func ConnectAt(name string, addresses []string, env provider.Env, now func() time.Time) (llm.Model, []string, error) {
	var all []llm.Model
	var endpoints []string
	for _, address := range addresses {
		at := env
		at.Address = address
		m, err := Connect(name, at)
		if err != nil {
			return nil, nil, err
		}
		d, _ := llm.Describe(m)
		all, endpoints = append(all, m), append(endpoints, d.Endpoint)
	}
	return llm.Balance(all, now), endpoints, nil
}

// TakesBatches reports whether a provider has batches for a model's calls.
func TakesBatches(name string) bool {
	in := func(providers []provider.Provider) bool {
		return slices.ContainsFunc(providers, func(p provider.Provider) bool { return strings.HasPrefix(name, p.Prefix) })
	}
	return in(chat.Providers()) || in(anthropic.Providers())
}

// Options say how Open makes a model. The zero value takes keys and addresses
// from the process's environment and has the defaults of llm.
type Options struct {
	provider.Settings
	Getenv func(name string) string // nil for the process's environment
	Prices *price.List              // nil for the list that ships
	Budget *price.Budget            // what the calls may cost, together with others of this budget; nil for no limit
	Limit  llm.LimitOptions
	Retry  llm.RetryOptions
}

// Open makes a model ready for calls that belong to no run: with a cap on what
// it writes, a limit on calls under way, and retries. The name is as in
// "openai/gpt-4o" or "ollama/qwen3-vl:8b". No request is made.
func Open(name string, o Options) (llm.Model, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Prices == nil {
		o.Prices = price.Shipped()
	}
	m, err := Connect(name, provider.Env{Getenv: o.Getenv, Settings: o.Settings})
	if err != nil {
		return nil, err
	}
	if o.Budget != nil {
		p, _ := o.Prices.Of(name)
		if _, limited := o.Budget.Limit(); limited && p == nil {
			return nil, fmt.Errorf("%s: a budget needs the price of each model, and this one's is not known; give --prices FILE", name)
		}
		m = llm.Budgeted(m, o.Budget.For(name, p, price.Terms{Detail: o.Detail, Extra: len(o.ExtraBody), Twice: strings.HasPrefix(name, "ollama/")}))
	}
	o.Limit.Model = name
	return llm.Retry(llm.Limit(llm.Capped(m, CapOptions(o.Prices, name)), o.Limit), o.Retry), nil
}
