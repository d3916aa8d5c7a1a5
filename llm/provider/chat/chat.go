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
	"errors"
	"fmt"
	"net/http"
	"sync"

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
	Settings    provider.Settings
}

// A Client is a model behind a Chat Completions server. It is an llm.Model and
// an llm.Describer.
type Client struct {
	opts  Options
	http  *provider.Client
	extra []member

	mu      sync.Mutex
	form    form
	changes []llm.Change
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	extra, err := readExtra(o.Settings.ExtraBody)
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
	return &Client{opts: o, http: client, extra: extra, form: newForm(&o)}, nil
}

// String returns the model's name, so that no way of printing shows more.
func (c *Client) String() string { return c.opts.Name }

// GoString returns the model's name.
func (c *Client) GoString() string { return c.opts.Name }

// Describe implements llm.Describer.
func (c *Client) Describe() llm.Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	return llm.Description{Endpoint: c.http.Endpoint(), Changes: append([]llm.Change(nil), c.changes...)}
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Generate implements llm.Model.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	var header http.Header
	if c.opts.Settings.NameCalls {
		header = http.Header{}
		header.Set(llm.CallHeader, req.Name())
	}
	for {
		sent, body := c.encode(req)
		answer, err := c.http.Post(ctx, req, body, header)
		if err != nil {
			return nil, err
		}
		reply, err := readAnswer(answer)
		if err == nil {
			markCut(reply, req.Params.MaxTokens)
			return reply, nil
		}
		var flt *fault
		if !errors.As(err, &flt) {
			return nil, c.http.Error(req, llm.KindMalformed, err.Error())
		}
		said := c.http.Words(req, flt.words())
		if param := refusedParam(flt, sent); param != "" && c.change(param, said) {
			continue
		}
		flt.message = c.http.Words(req, flt.message) // an echo of the prompt says nothing of the failure
		kind, filtered := classify(flt, c.opts.QuotaIsRate)
		if filtered {
			return &llm.Reply{Finish: llm.FinishContentFilter}, nil
		}
		e := c.http.Error(req, kind, said)
		e.RetryAfter = answer.RetryAfter
		return nil, e
	}
}

// change learns that the server refuses a parameter that it was sent. It
// returns false when that leaves nothing else to try. Another call may have
// learned the same meanwhile.
func (c *Client) change(param, words string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.form.sends(param) {
		return true
	}
	instead, ok := c.form.leave(param)
	if ok {
		c.changes = append(c.changes, llm.Change{Param: param, Instead: instead, Words: words})
	}
	return ok
}
