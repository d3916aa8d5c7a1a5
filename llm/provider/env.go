package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// An Env is what a provider takes from outside.
type Env struct {
	Getenv  func(name string) string // nil for an empty environment
	Address string                   // goes before the one that the environment names; empty for that
	Settings
}

// Settings are what a user can choose about the calls of a model. The zero
// value is what most want.
type Settings struct {
	// Detail is asked of pictures where the protocol has it, such as "low" or
	// "high"; empty leaves it to the provider.
	Detail string
	// NoSchema never asks for output that follows a schema.
	NoSchema bool
	// Stream takes answers as they come, where the protocol can (Chat
	// Completions): a call then lives while tokens come, and ends once it has all
	// that was asked (llm.Request.Done) or the answer repeats itself.
	Stream bool
	// ExtraBody is a JSON object whose members are added to each request's
	// body, or replace ours.
	ExtraBody json.RawMessage
	// Header is added to each request, or replaces ours. Its values are treated
	// as credentials.
	Header map[string]string
	// NameCalls sends trial and slot of each call in the header llm.CallHeader.
	NameCalls bool
	Deadlines Deadlines
	// Batching makes batches of the calls that ask for it, where the protocol has
	// such; nil for calls of their own only.
	Batching *Batching
	// Dial opens connections; nil for the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy finds the proxy for a request; nil for that of the environment
	// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
	Proxy func(*http.Request) (*url.URL, error)
	// Now tells the time, for dates that a server says to wait for; nil for the
	// machine's clock.
	Now func() time.Time
}

// Deadlines bound every wait. A zero field has its default.
type Deadlines struct {
	Connect time.Duration // for a connection, and again for its TLS handshake: 30 s
	Attempt time.Duration // for the whole of a request, or until the first token of a stream: 10 minutes
	// Idle is between two bytes of an answer that has begun: 1 minute. Between two
	// tokens of a stream it is Attempt unless given: a slow server that reads the
	// prompt of another call writes no token for minutes.
	Idle time.Duration

	token time.Duration // between two tokens
}

func (d Deadlines) withDefaults() Deadlines {
	fill := func(field *time.Duration, value time.Duration) {
		if *field <= 0 {
			*field = value
		}
	}
	fill(&d.Connect, 30*time.Second)
	fill(&d.Attempt, 10*time.Minute)
	fill(&d.token, cmp.Or(max(d.Idle, 0), d.Attempt))
	fill(&d.Idle, time.Minute)
	return d
}

// Get returns the value of an environment variable, empty when it is not set.
func (e Env) Get(name string) string {
	if e.Getenv == nil || name == "" {
		return ""
	}
	return strings.TrimSpace(e.Getenv(name))
}

// Access is what reaching a provider takes, by the names of environment
// variables.
type Access struct {
	Credential string // holds the key; empty when there is none
	Or         string // holds it where Credential does not; empty when there is no second name
	Optional   bool   // it also works without the key
	BaseURLVar string // moves the base URL
	BaseURL    string // where it is unless moved; empty when BaseURLVar must be set
	// ReadURL reads an address of a form that this provider has of its own; ok is
	// false when it is none. Nil for URLs.
	ReadURL func(text string) (base string, ok bool)
}

// Credentials names the variables that may hold the key: "A_KEY or B_KEY".
func (a Access) Credentials() string {
	if a.Or == "" {
		return a.Credential
	}
	return a.Credential + " or " + a.Or
}

// Found reports whether the credential is there.
func (a Access) Found(env Env) bool { return env.Get(a.Credential) != "" || env.Get(a.Or) != "" }

// Key returns the credential for the model of that name, empty when there is
// none and none is needed.
func (a Access) Key(name string, env Env) (string, error) {
	variable := a.Credential
	key := env.Get(variable)
	if key == "" && a.Or != "" {
		variable = a.Or
		key = env.Get(variable)
	}
	switch {
	case key == "" && a.Credential != "" && !a.Optional:
		return "", &llm.Error{Kind: llm.KindAuth, Model: name, Message: "it wants a key in the environment variable " + a.Credentials() + ", which is not set"}
	case !fitsHeader(key):
		return "", &llm.Error{Kind: llm.KindAuth, Model: name, Message: "the key in the environment variable " + variable + " has a character that no key has"}
	}
	return key, nil
}

// URL returns the base URL for the model of that name, without a slash at its
// end.
func (a Access) URL(name string, env Env) (string, error) {
	base := cmp.Or(env.Address, env.Get(a.BaseURLVar), a.BaseURL)
	if base == "" {
		return "", fmt.Errorf("model %q: it wants its address in the environment variable %s, which is not set", name, a.BaseURLVar)
	}
	if a.ReadURL != nil {
		if read, ok := a.ReadURL(base); ok {
			return read, nil
		}
		return "", fmt.Errorf("model %q: the address in %s is none; want one like %s or https://host", name, a.BaseURLVar, strings.TrimPrefix(a.BaseURL, "http://"))
	}
	// The cause would show the whole text, a password in it as well.
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return "", fmt.Errorf("model %q: the address in %s is none; want one like https://host/v1", name, a.BaseURLVar)
	}
	return strings.TrimRight(base, "/"), nil
}

// fitsHeader reports whether a value can be in an HTTP header.
func fitsHeader(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// WithPath adds a path to a base URL, before its query, unless it is there.
func WithPath(base, path string) string {
	base, query, found := strings.Cut(base, "?")
	if found {
		query = "?" + query
	}
	return strings.TrimSuffix(strings.TrimRight(base, "/"), path) + path + query
}
