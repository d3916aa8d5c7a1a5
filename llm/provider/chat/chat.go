// Package chat speaks the Chat Completions protocol, which OpenAI began and many
// servers understand: one POST a call, no streaming. Its Providers are the
// names under which such servers are reached.
//
// It asks for what the request wants and learns what a server refuses: an
// output schema, a sampling parameter or the name of the output cap is left out
// or renamed after the 400 that says so, once, and the change is told
// (llm.Describe). It never tries a failed call again for any other reason and
// never waits; the wrappers of llm do.
package chat

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Options are what a Client is made of.
type Options struct {
	Name  string // the model's whole name, for errors
	Model string // the name that the server is told
	URL   string // where requests go, up to and with /chat/completions
	Key   string // the credential; empty for none
	// KeyHeader is the header that carries the key by itself, such as
	// "api-key"; empty for "Authorization: Bearer KEY".
	KeyHeader string
	// CompletionCap names the cap on output tokens max_completion_tokens, not
	// max_tokens. A server that refuses the one is sent the other.
	CompletionCap bool
	// QuotaIsRate is for servers that say insufficient_quota of a limit by the
	// minute.
	QuotaIsRate bool
	// TopLogprobs is how many tokens a place to ask for where log-probabilities
	// are wanted; 0 stands for 5.
	TopLogprobs int
	Settings    provider.Settings
}

// A Client is a model behind a Chat Completions server. It is an llm.Model and
// an llm.Describer.
type Client struct {
	opts  Options
	http  *provider.Client
	extra []provider.Member

	learned provider.Learned
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	extra, err := provider.ReadExtra(o.Settings.ExtraBody, "model", "messages", "stream", "n")
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	header := http.Header{}
	var secrets []string
	if o.Key != "" {
		secrets = append(secrets, o.Key)
		if o.KeyHeader != "" {
			header.Set(o.KeyHeader, o.Key)
		} else {
			header.Set("Authorization", "Bearer "+o.Key)
		}
	}
	client, err := provider.NewClient(provider.ClientOptions{
		Model: o.Name, URL: o.URL, Header: header, Secrets: secrets, Settings: o.Settings,
	})
	if err != nil {
		return nil, err
	}
	o.Key, o.Settings.Header = "", nil // only the requests need them
	return &Client{opts: o, http: client, extra: extra}, nil
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
		Client: c.http, NameCalls: c.opts.Settings.NameCalls, Encode: c.encode, Read: read, Refused: refused, Change: c.change,
		QuotaIsRate: c.opts.QuotaIsRate,
	}
	return x.Generate(ctx, req)
}

func read(_ *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	return readAnswer(a)
}

// refused returns which of the sent parameters a server refuses to take.
func refused(f *provider.Fault, sent []string) string {
	for _, param := range sent {
		if param == paramSchema && f.RefusesSchema(param) || param != paramSchema && f.Refuses(param) {
			return param
		}
	}
	return ""
}

// change learns that the server refuses a parameter that it was sent. The cap on
// output tokens is sent under its other name then, once; everything else is
// left out.
func (c *Client) change(param, words string) bool {
	first, second := c.capNames()
	switch param {
	case second:
		return false
	case first:
		c.learned.Refuse(llm.Change{Param: first, Instead: second, Words: words})
	default:
		c.learned.Refuse(llm.Change{Param: param, Words: words})
	}
	return true
}

// capNames returns the names of the cap on output tokens, in the order in which
// they are tried.
func (c *Client) capNames() (first, second string) {
	if c.opts.CompletionCap {
		return paramCompletionCap, paramTokens
	}
	return paramTokens, paramCompletionCap
}
