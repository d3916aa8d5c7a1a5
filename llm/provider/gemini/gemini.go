// Package gemini speaks the generateContent protocol of Google's Gemini API: one
// POST a call, no streaming, the key in a header.
//
// Like its neighbours it learns what a server refuses to take, and neither tries
// a failed call again nor waits. Its errors tell a limit that passes within a
// minute from a quota that is gone for the day.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Options are what a Client is made of.
type Options struct {
	Name     string // the model's whole name, for errors
	Model    string // the name that the server is told, such as "gemini-2.5-pro"
	URL      string // the base URL, with the version or without it
	Key      string // the credential; empty for none
	Settings provider.Settings
}

// A Client is a model behind the Gemini API. It is an llm.Model and an
// llm.Describer.
type Client struct {
	opts   Options
	http   *provider.Client
	extra  []provider.Member // of the body
	config []provider.Member // the user's, of the body's "generationConfig"

	learned provider.Learned
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	extra, err := provider.ReadExtra(o.Settings.ExtraBody, "model", "contents")
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	config, extra, err := provider.TakeObject(extra, "generationConfig")
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	for _, m := range config {
		if m.Name == "candidateCount" {
			return nil, fmt.Errorf("model %q: the extra body cannot set %q", o.Name, m.Name)
		}
	}
	header := http.Header{}
	var secrets []string
	if o.Key != "" {
		secrets = append(secrets, o.Key)
		header.Set("X-Goog-Api-Key", o.Key)
	}
	client, err := provider.NewClient(provider.ClientOptions{
		Model: o.Name, URL: address(o.URL, o.Model), Header: header, Secrets: secrets, Settings: o.Settings,
	})
	if err != nil {
		return nil, err
	}
	o.Key, o.Settings.Header = "", nil // only the requests need them
	return &Client{opts: o, http: client, extra: extra, config: config}, nil
}

// address returns where requests for a model go. A tuned model has another
// collection before its name than "models/".
func address(base, model string) string {
	base, query, found := strings.Cut(base, "?")
	if found {
		query = "?" + query
	}
	base = strings.TrimRight(base, "/")
	if i := strings.LastIndex(base, "/"); !strings.HasPrefix(base[i+1:], "v1") {
		base += "/v1beta"
	}
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	parts := strings.Split(model, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return base + "/" + strings.Join(parts, "/") + ":generateContent" + query
}

// String returns the model's name, so that no way of printing shows more.
func (c *Client) String() string { return c.opts.Name }

// GoString returns the model's name.
func (c *Client) GoString() string { return c.opts.Name }

// Describe implements llm.Describer.
func (c *Client) Describe() llm.Description {
	return llm.Description{Endpoint: c.http.Endpoint(), Changes: c.learned.Changes()}
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Generate implements llm.Model.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	x := provider.Exchange{
		Client: c.http, NameCalls: c.opts.Settings.NameCalls, Encode: c.encode, Read: read,
		Refused: func(f *provider.Fault, sent []string) string { return refused(f, sent, req) },
		Change: func(param, words string) bool {
			c.learned.Refuse(llm.Change{Param: param, Words: words})
			return true
		},
	}
	return x.Generate(ctx, req)
}

const prefix = "google/"

var access = provider.Access{
	Credential: "GEMINI_API_KEY", Or: "GOOGLE_API_KEY", BaseURLVar: "GOOGLE_BASE_URL", BaseURL: "https://generativelanguage.googleapis.com/v1beta",
}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	return []provider.Provider{{
		Prefix: prefix, Form: prefix + "MODEL", Note: "Google Gemini", Access: access,
		Open: func(model string, env provider.Env) (llm.Model, error) {
			name := prefix + model
			key, err := access.Key(name, env)
			if err != nil {
				return nil, err
			}
			base, err := access.URL(name, env)
			if err != nil {
				return nil, err
			}
			c, err := New(Options{Name: name, Model: model, URL: base, Key: key, Settings: env.Settings})
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}}
}
