// Package anthropic speaks Anthropic's Messages protocol: one POST a call, no
// streaming.
//
// It asks for what the request wants and learns what a server refuses: an
// output schema, a sampling parameter or a form of thinking is left out or asked
// for otherwise after the 400 that says so, once, and the change is told
// (llm.Describe). It marks where the part of the prompt ends that calls share,
// so that the server's cache is used. It never tries a failed call again for any
// other reason and never waits; the wrappers of llm do.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Version is the protocol's version, sent with each request. The next one,
// 2026-10-21, takes no sampling parameters; a header of the settings can ask for
// it.
const Version = "2023-06-01"

// Options are what a Client is made of.
type Options struct {
	Name     string // the model's whole name, for errors
	Model    string // the name that the server is told
	URL      string // where requests go, up to and with /messages
	Key      string // the credential; empty for none
	Settings provider.Settings
}

// A Client is a model behind a server of this protocol. It is an llm.Model and
// an llm.Describer.
type Client struct {
	opts   Options
	http   *provider.Client
	extra  []provider.Member
	config []provider.Member // the user's members of output_config, such as the effort
	// setsFormat says that the format of the output is among them.
	setsFormat bool

	learned provider.Learned
	limit   atomic.Int64 // the most output tokens the model writes, where the server said so of our default; 0 else
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	extra, err := provider.ReadExtra(o.Settings.ExtraBody, "model", "messages", "stream")
	config, extra, configErr := provider.TakeObject(extra, "output_config")
	if err := errors.Join(err, configErr); err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	header := http.Header{}
	header.Set("Anthropic-Version", Version)
	var secrets []string
	if o.Key != "" {
		secrets = append(secrets, o.Key)
		header.Set("X-Api-Key", o.Key)
	}
	client, err := provider.NewClient(provider.ClientOptions{
		Model: o.Name, URL: o.URL, Header: header, Secrets: secrets, Settings: o.Settings,
	})
	if err != nil {
		return nil, err
	}
	o.Key, o.Settings.Header = "", nil // only the requests need them
	return &Client{
		opts: o, http: client, extra: extra, config: config,
		setsFormat: slices.ContainsFunc(config, func(m provider.Member) bool { return m.Name == "format" }),
	}, nil
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

// Generate implements llm.Model. A cap on output tokens that leaves no room for
// an answer beside the budget of thinking is an error without a request.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if most, budget := req.Params.MaxTokens, req.Params.Thinking; most != nil && budget != nil && *budget > 0 && *most <= *budget {
		return nil, c.http.Error(req, llm.KindBadRequest,
			fmt.Sprintf("a cap of %d output tokens leaves nothing for the answer, because the %d of thinking count as well; raise the cap or lower the budget", *most, *budget))
	}
	x := provider.Exchange{
		Client: c.http, NameCalls: c.opts.Settings.NameCalls, Encode: c.encode,
		Read:    func(_ *llm.Request, a *provider.Answer) (*llm.Reply, error) { return readAnswer(a) },
		Refused: refused, Change: c.change,
	}
	return x.Generate(ctx, req)
}

var access = provider.Access{Credential: "ANTHROPIC_API_KEY", BaseURLVar: "ANTHROPIC_BASE_URL", BaseURL: "https://api.anthropic.com"}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	return []provider.Provider{{
		Prefix: "anthropic/", Form: "anthropic/MODEL", Note: "Anthropic (Claude)", Access: access,
		Open: func(model string, env provider.Env) (llm.Model, error) {
			name := "anthropic/" + model
			key, err := access.Key(name, env)
			if err != nil {
				return nil, err
			}
			base, err := access.URL(name, env)
			if err != nil {
				return nil, err
			}
			c, err := New(Options{Name: name, Model: model, URL: address(base), Key: key, Settings: env.Settings})
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}}
}

// address returns where requests go. A base URL may end where the official
// clients' does, with /v1, or with the whole path.
func address(base string) string {
	path, _, _ := strings.Cut(base, "?")
	if path = strings.TrimRight(path, "/"); strings.HasSuffix(path, "/v1") || strings.HasSuffix(path, "/v1/messages") {
		return provider.WithPath(base, "/messages")
	}
	return provider.WithPath(base, "/v1/messages")
}
