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
// It refuses to try a failed call again and to wait; the wrappers of llm do.
package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// Attempt is the deadline for the whole of a request where the settings have
// none: a server of one's own first loads the model, and may have no graphics
// card.
const Attempt = 30 * time.Minute

// Options are what a Client is made of; its URL goes up to and with /api/chat.
type Options = provider.Options

// A Client is a model behind an Ollama server.
type Client struct {
	*provider.Model
	name, model string
	noSchema    bool
	fixed       int // the context size that the user sets, 0 for none
	now         func() time.Time
	window      window
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	if o.Settings.Deadlines.Attempt <= 0 {
		o.Settings.Deadlines.Attempt = Attempt
	}
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	c := &Client{name: o.Name, model: o.Model, noSchema: o.Settings.NoSchema, now: o.Settings.Now}
	if c.now == nil {
		c.now = time.Now
	}
	c.window.probing = make(chan struct{}, 1)
	m, err := provider.New(o, provider.Protocol{
		Header: header, Ours: []string{"model", "messages", "stream"},
		Encode: func(req *llm.Request, b *provider.Body) { c.encode(req, b, 0) },
		Read:   read, Rules: rules, Refuses: refuses,
	})
	if err != nil {
		return nil, err
	}
	c.Model = m
	var extra struct {
		Options struct {
			Context json.RawMessage `json:"num_ctx"`
		} `json:"options"`
	}
	if len(o.Settings.ExtraBody) > 0 {
		_ = json.Unmarshal(o.Settings.ExtraBody, &extra) // it is an object, as New has seen
	}
	if size := extra.Options.Context; len(size) > 0 {
		if c.fixed, err = strconv.Atoi(string(size)); err != nil || c.fixed <= 0 {
			return nil, fmt.Errorf("model %q: num_ctx in the extra body is not a whole number above 0", o.Name)
		}
	}
	return c, nil
}

// Generate implements llm.Model.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	size := c.fixed
	if size == 0 {
		size = c.window.hold(req)
	}
	reply, err := c.Call(ctx, req, func(req *llm.Request, b *provider.Body) { c.encode(req, b, size) })
	if err != nil {
		return nil, err
	}
	if err := c.checkWhole(ctx, req, reply, size); err != nil {
		return nil, err
	}
	return reply, nil
}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	access := provider.Access{Credential: "OLLAMA_API_KEY", Optional: true, BaseURLVar: "OLLAMA_HOST", BaseURL: "http://127.0.0.1:11434", ReadURL: readHost}
	return []provider.Provider{provider.Of("ollama/", "an Ollama server of your own, by its native protocol", access, func(o provider.Options) (llm.Model, error) {
		o.URL += "/api/chat"
		return provider.Opened(New(o))
	})}
}

// readHost reads OLLAMA_HOST as Ollama does: a URL, host:port, host or :port.
// Where it says on which addresses a server listens, such as 0.0.0.0, the server
// is asked on this machine.
func readHost(host string) (base string, ok bool) {
	host = strings.Trim(host, `"' `)
	port := ""
	if !strings.Contains(host, "://") {
		scheme := "http://"
		if host == "ollama.com" {
			scheme = "https://"
		} else {
			port = "11434"
		}
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") { // an address of IPv6 by itself
			host = "[" + host + "]"
		}
		host = scheme + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	if u.Port() != "" {
		port = u.Port()
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return "", false
		}
	}
	at := u.Hostname()
	switch {
	case at == "" && u.Port() == "":
		return "", false
	case at == "", at == "0.0.0.0":
		at = "127.0.0.1"
	case at == "::":
		at = "::1"
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(at, port)
	case strings.Contains(at, ":"):
		u.Host = "[" + at + "]"
	default:
		u.Host = at
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/api/chat", "/api", "/v1"} { // the last is that of the compatible endpoint
		u.Path = strings.TrimSuffix(u.Path, end)
	}
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u.String(), true
}

// topLogprobs is how many tokens a place are asked for: the most that a server
// grants.
const topLogprobs = 20

// encode writes a request's body that asks for a context of so many tokens.
func (c *Client) encode(req *llm.Request, b *provider.Body, size int) {
	b.Set("model", c.model)
	b.Set("messages", []any{prompt(req.Parts)})
	b.Set("stream", false)
	// Refuse a prompt that does not fit, and stop at the end of the context
	// instead of forgetting the start of the prompt.
	b.Try("truncate", false)
	b.Try("shift", false)
	if n := req.Params.Thinking; n != nil {
		b.Try("think", *n > 0)
	}
	if s := req.Schema; s != nil && !c.noSchema {
		b.Try("format", b.Schema(s))
	}
	if req.Params.Logprobs && b.Try("logprobs", true) {
		b.Try("top_logprobs", topLogprobs)
	}
	options := b.Object("options")
	options.Set("num_ctx", size)
	options.Set("num_predict", outputCap(req))
	if t := req.Params.Temperature; t != nil {
		options.Try("temperature", *t)
	}
	if p := req.Params.TopP; p != nil {
		options.Try("top_p", *p)
	}
}

// outputCap returns the cap on output tokens, thinking among them. Without one a
// small model that repeats itself would go on to the end of the context.
func outputCap(req *llm.Request) int {
	if req.Params.MaxTokens != nil {
		return *req.Params.MaxTokens
	}
	return provider.DefaultCap(req)
}

// A message has its pictures in a list beside its text; the server puts them
// before it, in their order.
type message struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Images  [][]byte `json:"images,omitempty"`
}

func prompt(parts []llm.Part) message {
	var text strings.Builder
	m := message{Role: "user"}
	for i := range parts {
		text.WriteString(parts[i].Text())
		if parts[i].IsImage() {
			m.Images = append(m.Images, parts[i].PNG())
		}
	}
	m.Content = text.String()
	return m
}

// read reads a server's answer.
func read(req *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	r, err := a.Decode("chat response")
	if err != nil {
		return nil, err
	}
	if r.At("error").IsSet() {
		return nil, provider.ErrorMember(r.At("error"))
	}
	ended := r.At("done_reason").Text()
	content := r.At("message", "content")
	reply := &llm.Reply{
		Text: content.Text(), Reasoning: r.At("message", "thinking").Text(), Finish: llm.Finish(ended), // its words are ours
		Usage: usage(r), Model: r.At("model").Text(), Timings: timings(r),
		Booleans: provider.ReadTokens(r.At("logprobs")).Booleans(content.Text()), // none from servers before version 0.12.11
	}
	switch {
	case reply.Text == "" && (ended == "load" || ended == "unload"):
		return nil, provider.Malformed("the server " + ended + "ed the model and did not answer")
	case r.At("done").IsFalse():
		return nil, provider.Malformed("a part of a stream in place of an answer")
	case content.IsText(), reply.Reasoning != "", reply.Finish == llm.FinishLength:
	default:
		return nil, provider.Malformed("a reply without content")
	}
	if out := reply.Usage.OutputTokens; out != nil && *out >= outputCap(req) {
		reply.Finish = llm.FinishLength // older servers say stop of it
	}
	return reply, nil
}

// usage reads the counts of tokens. A prompt has some: a count of 0 is one
// that was left out.
func usage(r provider.Value) llm.Usage {
	u := llm.Usage{InputTokens: r.At("prompt_eval_count").Count(), CachedTokens: r.At("prompt_eval_cached_count").Count(), OutputTokens: r.At("eval_count").Count()}
	if u.InputTokens == nil || *u.InputTokens == 0 {
		u.InputTokens, u.CachedTokens = nil, nil
	}
	if c := u.CachedTokens; c != nil && *c > *u.InputTokens { // it was not counted in
		u.InputTokens = new(*u.InputTokens + *c)
	}
	return u
}

// timings reads what the server says of its time, in nanoseconds.
func timings(r provider.Value) *record.Timings {
	read, wrote, n, out := r.At("prompt_eval_duration").Number(), r.At("eval_duration").Number(), r.At("prompt_eval_count").Count(), r.At("eval_count").Count()
	if read == nil || wrote == nil || n == nil || out == nil {
		return nil
	}
	t := &record.Timings{PromptTokens: *n, OutputTokens: *out, Prompt: nanoseconds(*read), Output: nanoseconds(*wrote)}
	if load := r.At("load_duration").Number(); load != nil {
		t.Load = nanoseconds(*load)
	}
	return t
}

func nanoseconds(f float64) time.Duration { return time.Duration(min(max(f, 0), 1e18)) }

// rules are what this server's words mean, which has no codes.
var rules = []provider.Rule{
	{Words: regexp.MustCompile(`(?i)model\b.{0,200}\bnot found`), Kind: llm.KindUnknownModel},
	// No call of such a model can be answered.
	{Words: regexp.MustCompile(`(?i)requires more system memory|does not support chat|not supported by your version of ollama|this server cannot run this`), Kind: llm.KindUnknownModel},
	{Words: regexp.MustCompile(`(?i)server busy|maximum pending requests`), Kind: llm.KindRateLimit},
	{Words: regexp.MustCompile(`(?i)usage limit`), Status: []int{http.StatusTooManyRequests}, Kind: llm.KindQuota},
	{Words: regexp.MustCompile(`(?i)image input|does not support (images?|vision)|multimodal`), Kind: llm.KindBadRequest}, // with status 500 at times
}

// Words with which the server refuses a parameter.
var (
	saysThink  = regexp.MustCompile(`(?i)does not support thinking|think value .* is not supported`)
	saysFormat = regexp.MustCompile(`ChatRequest\.format|(?i)invalid format|required for format|\bgrammar\b|json[ _]?schema|structured outputs?`)
)

// refuses reports whether a server refuses to take a parameter.
func refuses(f *provider.Fault, param string, _ *llm.Request) bool {
	switch param {
	case "think":
		return f.Status == http.StatusBadRequest && saysThink.MatchString(f.Message) || f.Refuses(param)
	case "format":
		return (f.Status == http.StatusBadRequest || f.Status == http.StatusInternalServerError) && saysFormat.MatchString(f.Message)
	}
	return f.Refuses(param)
}
