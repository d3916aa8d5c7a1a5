// Package ollama speaks Ollama's native protocol: one POST to /api/chat a call,
// no streaming, so that nothing is to come before the answer is whole and the
// idle deadline cannot end a slow generation.
//
// Its compatible endpoint cuts a prompt that does not fit the context without a
// word, and so may the native one. This client asks for a context that holds
// the prompt and the reply, asks the server to refuse rather than to cut, and
// compares the tokens that the server read with what was sent: a prompt that was
// cut is an error, never a result.
//
// Like its neighbours it learns what a server refuses, and neither tries a
// failed call again nor waits.
package ollama

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Attempt is the deadline for the whole of a request where the settings have
// none: a server of one's own first loads the model, and may have no graphics
// card.
const Attempt = 30 * time.Minute

// Options are what a Client is made of.
type Options struct {
	Name     string // the model's whole name, for errors
	Model    string // the name that the server is told, such as "qwen3-vl:8b"
	URL      string // where requests go, up to and with /api/chat
	Key      string // the credential; empty for none
	Settings provider.Settings
}

// A Client is a model behind an Ollama server. It is an llm.Model and an
// llm.Describer.
type Client struct {
	opts    Options
	http    *provider.Client
	extra   []provider.Member // of the body
	options []provider.Member // the user's, of the body's "options"
	fixed   int               // the context size that the user sets, 0 for none
	now     func() time.Time

	learned provider.Learned
	window  window
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	extra, err := provider.ReadExtra(o.Settings.ExtraBody, "model", "messages", "stream")
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	options, extra, err := provider.TakeObject(extra, "options")
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	if o.Settings.Deadlines.Attempt <= 0 {
		o.Settings.Deadlines.Attempt = Attempt
	}
	header := http.Header{}
	var secrets []string
	if o.Key != "" {
		secrets = append(secrets, o.Key)
		header.Set("Authorization", "Bearer "+o.Key)
	}
	client, err := provider.NewClient(provider.ClientOptions{
		Model: o.Name, URL: o.URL, Header: header, Secrets: secrets, Settings: o.Settings,
	})
	if err != nil {
		return nil, err
	}
	c := &Client{opts: o, http: client, extra: extra, options: options, now: o.Settings.Now}
	c.window.probing = make(chan struct{}, 1)
	for _, m := range options {
		if m.Name != "num_ctx" {
			continue
		}
		if c.fixed, err = strconv.Atoi(string(m.Value)); err != nil || c.fixed <= 0 {
			return nil, fmt.Errorf("model %q: num_ctx in the extra body is not a whole number above 0", o.Name)
		}
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.opts.Key, c.opts.Settings.Header = "", nil // only the requests need them
	return c, nil
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
	size := c.fixed
	if size == 0 {
		size = c.window.hold(req)
	}
	reply, err := c.exchange(func(req *llm.Request) ([]string, []byte) { return c.encode(req, size) }, c.opts.Settings.NameCalls).Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := c.checkWhole(ctx, req, reply, size); err != nil {
		return nil, err
	}
	return reply, nil
}

func (c *Client) exchange(encode func(*llm.Request) ([]string, []byte), nameCalls bool) *provider.Exchange {
	return &provider.Exchange{
		Client: c.http, NameCalls: nameCalls, Encode: encode, Read: read, Refused: refused,
		Change: func(param, words string) bool {
			c.learned.Refuse(llm.Change{Param: param, Words: words})
			return true
		},
	}
}
