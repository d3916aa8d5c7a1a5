// Package anthropic speaks Anthropic's Messages protocol: one POST a call, no
// streaming. It marks where the part of the prompt ends that calls share, so
// that the server's cache is used.
//
// It refuses to try a failed call again and to wait; the wrappers of llm do.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Version is the protocol's version, sent with each request. The next one,
// 2026-10-21, takes no sampling parameters; a header of the settings can ask for
// it.
const Version = "2023-06-01"

// Options are what a Client is made of; its URL goes up to and with /messages.
type Options = provider.Options

// A Client is a model behind a server of this protocol.
type Client struct {
	*provider.Model
	model    string
	noSchema bool
	limit    atomic.Int64 // the most output tokens the model writes, where the server said so of our default; 0 else
}

// New returns a client for one model. It makes no request.
func New(o Options) (*Client, error) {
	c := &Client{model: o.Model, noSchema: o.Settings.NoSchema}
	header := http.Header{"Anthropic-Version": {Version}}
	if o.Key != "" {
		header.Set("X-Api-Key", o.Key)
	}
	m, err := provider.New(o, provider.Protocol{
		Header: header, Ours: []string{"model", "messages", "stream"},
		Encode: c.encode, Read: read, Batches: newBatches, Refuses: refuses, Instead: c.instead,
	})
	c.Model = m
	return c, err
}

// Generate implements llm.Model. A cap on output tokens that leaves no room for
// an answer beside the budget of thinking is an error without a request.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if most, budget := req.Params.MaxTokens, req.Params.Thinking; most != nil && budget != nil && *budget > 0 && *most <= *budget {
		return nil, c.Error(req, llm.KindBadRequest,
			fmt.Sprintf("a cap of %d output tokens leaves nothing for the answer, because the %d of thinking count as well; raise the cap or lower the budget", *most, *budget))
	}
	return c.Model.Generate(ctx, req)
}

var access = provider.Access{Credential: "ANTHROPIC_API_KEY", BaseURLVar: "ANTHROPIC_BASE_URL", BaseURL: "https://api.anthropic.com"}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	return []provider.Provider{provider.Of("anthropic/", "Anthropic (Claude)", access, func(o provider.Options) (llm.Model, error) {
		o.URL = address(o.URL)
		return provider.Opened(New(o))
	})}
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

// Parameters by their places in the body, where their names do not say it.
const (
	paramTokens   = "max_tokens"
	paramBudget   = "thinking.budget_tokens"
	paramAdaptive = "thinking.type.adaptive"
	paramDisabled = "thinking.type.disabled"
	paramSchema   = "output_config.format"
)

// encode writes a request's body.
func (c *Client) encode(req *llm.Request, b *provider.Body) {
	p := &req.Params
	b.Set("model", c.model)
	b.Set("messages", []message{{"user", blocks(req)}})
	most, limit := provider.DefaultCap(req), int(c.limit.Load())
	switch {
	case p.MaxTokens != nil:
		b.Set(paramTokens, *p.MaxTokens)
	case limit > 0:
		b.Set(paramTokens, min(most, limit))
	default:
		b.Try(paramTokens, most)
	}
	thinks := p.Thinking != nil && *p.Thinking > 0
	if t := p.Temperature; t != nil {
		if thinks && *t != 1 {
			b.Leave("temperature", "with thinking the protocol takes no temperature but 1")
		}
		b.Try("temperature", *t)
	}
	if t := p.TopP; t != nil {
		if thinks && *t < 0.95 {
			b.Leave("top_p", "with thinking the protocol takes no top_p below 0.95")
		}
		b.Try("top_p", *t)
	}
	switch {
	case p.Thinking == nil:
	case !thinks:
		b.TryAs("thinking", paramDisabled, map[string]any{"type": "disabled"})
	case !b.TryAs("thinking", paramBudget, enabled{"enabled", *p.Thinking}):
		b.TryAs("thinking", paramAdaptive, adaptive{"adaptive", "summarized"})
	}
	if p.Logprobs {
		b.Leave("logprobs", "the protocol has none")
	}
	config := b.Object("output_config")
	if s := req.Schema; s != nil && !c.noSchema {
		config.TryAs("format", paramSchema, format{"json_schema", b.Schema(s)})
	}
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type enabled struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type adaptive struct {
	Type    string `json:"type"`
	Display string `json:"display"` // else some models keep their thinking to themselves
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// A block is a piece of the prompt as it is sent: a picture, or neighbouring
// texts joined. The cache keeps the prompt up to the end of one that is marked.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"`
	Mark   *mark   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

type mark struct {
	Type string `json:"type"`
}

// maxMarks is how many marks the protocol takes.
const maxMarks = 4

// blocks cuts the prompt where pictures are and where shared parts end. The
// server takes no block of white space alone; it goes to the text before it, or
// is left out beside pictures.
func blocks(req *llm.Request) []block {
	all := []block{}
	joins := false // the next text belongs to the last block
	ends := slices.Compact(slices.Sorted(slices.Values(req.Shared)))
	ends = ends[max(0, len(ends)-maxMarks):]
	for i := range req.Parts {
		p := &req.Parts[i]
		switch {
		case p.IsImage():
			all, joins = append(all, block{Type: "image", Source: &source{"base64", "image/png", p.PNG()}}), false
		case joins, len(all) > 0 && all[len(all)-1].Source == nil && blank(p.Text()):
			all[len(all)-1].Text += p.Text()
		default:
			all, joins = append(all, block{Type: "text", Text: p.Text()}), true
		}
		last := &all[len(all)-1]
		whole := last.Source != nil || !blank(last.Text)
		if whole && i+1 < len(req.Parts) && slices.Contains(ends, i+1) {
			last.Mark, joins = &mark{"ephemeral"}, false
		}
	}
	return slices.DeleteFunc(all, func(b block) bool { return b.Source == nil && blank(b.Text) })
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// refuses reports whether a server refuses to take a parameter. Words on the
// temperature name thinking, and those on thinking name output_config.
func refuses(f *provider.Fault, param string, _ *llm.Request) bool {
	switch param {
	case paramTokens:
		return f.Status == http.StatusBadRequest && lowestCap(f.Message) > 0
	case paramBudget, paramAdaptive, paramDisabled:
		return f.Refuses("thinking") || f.Refuses("budget_tokens")
	case paramSchema:
		return f.RefusesSchema(paramSchema) || f.Refuses("output_config")
	}
	return f.Refuses(param)
}

var saysCap = regexp.MustCompile(`max_tokens: \d{1,9} > (\d{1,9})\b`)

// lowestCap returns the most output tokens that a model writes, out of words
// that refuse our default for it; 0 when they do not say.
func lowestCap(words string) int {
	m := saysCap.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // of at most nine digits
	return n
}

// instead learns what a refused parameter is sent as.
func (c *Client) instead(param, words string) (string, bool) {
	switch param {
	case paramTokens:
		limit := lowestCap(words)
		if limit > 0 { // else it is not among what is kept of the words
			c.limit.CompareAndSwap(0, int64(limit)) // another call may have learned the same
		}
		return strconv.Itoa(limit), limit > 0
	case paramBudget:
		return paramAdaptive, true
	}
	return "", true
}

// read reads a server's answer.
func read(_ *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	m, err := a.Decode("message")
	if err != nil {
		return nil, err
	}
	if m.At("error").IsSet() || m.At("type").Text() == "error" {
		return nil, provider.ErrorMember(m)
	}
	stop := m.At("stop_reason").Text()
	reply := &llm.Reply{Finish: finish(stop), Usage: usage(m.At("usage")), Model: m.At("model").Text()}
	blocks, given := m.At("content").List()
	known := 0 // blocks of text or thinking; those of tools have nothing for us
	for _, b := range blocks {
		switch b.At("type").Text() {
		case "text":
			if b.At("text").IsText() {
				known++
				reply.Text += b.At("text").Text()
			}
		case "redacted_thinking": // it has nothing for us but its tokens, which are in the usage
			known++
		case "thinking":
			known++
			thinking := b.At("thinking").Text()
			if reply.Reasoning != "" && thinking != "" {
				reply.Reasoning += "\n"
			}
			reply.Reasoning += thinking
		}
	}
	if reply.Text == "" && reply.Finish == llm.FinishRefusal {
		reply.Text = m.At("stop_details", "explanation").Text()
	}
	switch {
	case !given && stop == "":
		if f := provider.FindFault(m); f.Message != "" || f.Code != "" {
			return nil, f
		}
		return nil, provider.Malformed("an answer in JSON that is no message")
	case known > 0:
	case reply.Finish == llm.FinishLength, reply.Finish == llm.FinishRefusal:
	case given && len(blocks) == 0 && stop != "": // the model had nothing to say
	default:
		return nil, provider.Malformed("a reply without content")
	}
	return reply, nil
}

// usage counts tokens. The protocol's input is what was neither read from the
// cache nor written to it; ours is all of the prompt.
func usage(v provider.Value) llm.Usage {
	u := llm.Usage{
		InputTokens: v.At("input_tokens").Count(), CachedTokens: v.At("cache_read_input_tokens").Count(), CacheWriteTokens: v.At("cache_creation_input_tokens").Count(),
		OutputTokens: v.At("output_tokens").Count(), ReasoningTokens: v.At("output_tokens_details", "thinking_tokens").Count(),
	}
	for _, part := range []*int{u.CachedTokens, u.CacheWriteTokens} {
		if u.InputTokens != nil && part != nil {
			*u.InputTokens += *part
		}
	}
	return u
}

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch word {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	}
	return llm.Finish(word) // "refusal" is FinishRefusal
}
